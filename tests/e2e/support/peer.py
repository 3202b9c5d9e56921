# SPDX-License-Identifier: Apache-2.0
"""Raw protocol bytes, written a second time after docs/protocol.md: frames, messages, and the fields worth attacking.

Used to take a recorded session apart, change something, and play it to a real nbackup. Checks and digests come from
libxxhash through ctypes, so that a lie is told in a well-formed frame. This is the only file of the suites that knows
the bytes. Sessions are recorded without features (proxy.py --plain), so frames hold their payload as it is.
"""
from __future__ import annotations

import ctypes
import functools
import struct
from dataclasses import dataclass, field

HEADER = 16
TYPES = {
    1: "hello", 2: "open", 3: "opened", 4: "error", 5: "problem", 6: "directory", 7: "directory_reply", 8: "listing",
    9: "directory_done", 10: "want", 11: "file_begin", 12: "data", 13: "hole", 14: "file_end", 15: "small_file",
    16: "scan_end", 17: "item", 18: "phase", 19: "result", 20: "keep_alive", 21: "query", 22: "query_reply",
    23: "goodbye",
}
NUMBERS = {name: number for number, name in TYPES.items()}

# Tags of the fields worth attacking.
HELLO = {"version_min": 1, "version_max": 3, "features": 4, "listing_credit_bytes": 10, "want_credit": 12,
         "inline_limit_bytes": 14}
OPEN = {"operation": 1, "transaction": 3, "flags": 5, "destination": 7, "sources": 11,
        "filter_rules": 13, "max_delete": 15, "expected_set": 19, "secret": 21, "at_kind": 23, "at_value": 25}
OPENED = {"secret": 3, "flags": 7}
PUSH, PULL = 1, 2
SINGLE_FILE, IMPLIED_ROOT = 1 << 9, 1 << 10  # bits of the flags of Open and Opened
DRY_RUN = 1 << 0
IMPLIED = 1  # bit of a Directory's flags
LAST_PART, OWN_METADATA, SHARED = 1, 2, 4  # bits of a Listing
LINKED = 0x10  # bit of an entry's head
REGULAR, SUBDIRECTORY = 1, 2  # types of entries
SAME, LIST, ALL = 1, 2, 3  # kinds of a DirectoryReply
COMPLETE = 1  # outcome of a FileEnd
BLOCK = 64 * 1024  # a file's digest above this size is that of its blocks' digests


class _Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def _library() -> ctypes.CDLL | None:
    try:
        lib = ctypes.CDLL("libxxhash.so.0")
    except OSError:
        return None
    lib.XXH3_64bits.restype = ctypes.c_uint64
    lib.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    lib.XXH3_64bits_withSeed.restype = ctypes.c_uint64
    lib.XXH3_64bits_withSeed.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
    lib.XXH3_128bits_withSecret.restype = _Hash128
    lib.XXH3_128bits_withSecret.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    return lib


_XXH = _library()


def missing() -> str | None:
    return None if _XXH else "no libxxhash.so.0"


def check_of(data: bytes) -> int:
    assert _XXH
    return _XXH.XXH3_64bits(data, len(data))


@functools.cache
def _expanded(secret: bytes) -> bytes:
    """The 192 bytes that XXH3 is keyed with: word i is the XXH3-64 of the secret with seed i."""
    assert _XXH and len(secret) == 32, len(secret)
    return b"".join(struct.pack("<Q", _XXH.XXH3_64bits_withSeed(secret, 32, seed)) for seed in range(24))


def digest_of(data: bytes, secret: bytes) -> bytes:
    """The keyed 128-bit digest, big-endian; `secret` is the 32 bytes of the set."""
    assert _XXH
    value = _XXH.XXH3_128bits_withSecret(data, len(data), _expanded(secret), 192)
    return struct.pack(">QQ", value.high, value.low)


def content_digest(data: bytes, secret: bytes) -> bytes:
    """Of a file's content, or of the plan: in blocks."""
    if len(data) <= BLOCK:
        return digest_of(data, secret)
    blocks = [digest_of(data[at : at + BLOCK], secret) for at in range(0, len(data), BLOCK)]
    return digest_of(b"".join(blocks), secret)


def secret_in(text: bytes) -> bytes:
    """From a set's secret file, which is a text record."""
    lines = dict(line.split(b" ", 1) for line in text.splitlines()[1:])
    return bytes.fromhex(lines[b"key"].decode("ascii"))


# --- primitives -----------------------------------------------------------------------------------------------------
def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def string(text: bytes) -> bytes:
    return varint(len(text)) + text


def signed(value: int) -> bytes:
    """An svarint."""
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


def strings(values: list[bytes]) -> bytes:
    return varint(len(values)) + b"".join(string(value) for value in values)


class Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def raw(self, count: int) -> bytes:
        piece = self.data[self.at : self.at + count]
        assert len(piece) == count, "truncated"
        self.at += count
        return piece

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.raw(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def string(self) -> bytes:
        return self.raw(self.varint())

    def rest(self) -> bytes:
        return self.raw(len(self.data) - self.at)


# --- frames ---------------------------------------------------------------------------------------------------------
@dataclass
class Message:
    type: int
    body: bytes

    @property
    def name(self) -> str:
        return TYPES.get(self.type, str(self.type))

    def encoded(self) -> bytes:
        return struct.pack("<BI", self.type, len(self.body)) + self.body


def frame(payload: bytes, *, flags: int = 0, length: int | None = None, check: int | None = None) -> bytes:
    """One frame; `length` and `check` can lie."""
    head = b"nB" + bytes([flags, 0]) + struct.pack("<I", len(payload) if length is None else length)
    return head + struct.pack("<Q", check_of(head + payload) if check is None else check) + payload


def frames(stream: bytes) -> list[list[Message]]:
    """A recorded direction, taken apart. What follows the last whole frame is dropped."""
    out, at = [], 0
    while at + HEADER <= len(stream):
        head = stream[at : at + HEADER]
        assert head[:2] == b"nB", f"no frame at {at}"
        size, check = struct.unpack_from("<IQ", head, 4)
        payload = stream[at + HEADER : at + HEADER + size]
        if len(payload) < size:
            break
        assert check == check_of(head[:8] + payload), f"bad check at {at}"
        out.append(messages(payload))
        at += HEADER + size
    return out


def messages(payload: bytes) -> list[Message]:
    out, at = [], 0
    while at < len(payload):
        kind, size = struct.unpack_from("<BI", payload, at)
        out.append(Message(kind, payload[at + 5 : at + 5 + size]))
        at += 5 + size
    return out


def boundaries(stream: bytes) -> list[int]:
    """The offset after each frame of a recorded direction, 0 first."""
    out, at = [0], 0
    while at + HEADER <= len(stream):
        at += HEADER + struct.unpack_from("<I", stream, at + 4)[0]
        if at <= len(stream):
            out.append(at)
    return out


def joined(parts: list[list[Message]]) -> bytes:
    return b"".join(frame(b"".join(message.encoded() for message in part)) for part in parts)


# --- the messages that name things ----------------------------------------------------------------------------------
@dataclass
class Directory:
    id: int
    path: bytes
    flags: int
    entries: int
    digest: bytes

    @staticmethod
    def decode(body: bytes) -> "Directory":
        r = Reader(body)
        return Directory(r.varint(), r.string(), r.varint(), r.varint(), r.raw(16))

    def encode(self) -> bytes:
        return varint(self.id) + string(self.path) + varint(self.flags) + varint(self.entries) + self.digest


@dataclass
class Entry:
    head: int  # type in the low four bits, 0x10: linked, 0x20: digest
    name: bytes
    meta: bytes = b""  # encoded
    size: int = 0
    target: bytes = b""
    device: bytes = b""  # encoded
    link_to: bytes = b""
    digest: bytes = b""

    @property
    def type(self) -> int:
        return self.head & 0x0F

    def encode(self) -> bytes:
        out = bytes([self.head]) + string(self.name)
        if self.type == 2:
            return out
        out += self.meta
        if self.type == 1:
            out += varint(self.size)
        if self.type == 3:
            out += string(self.target)
        out += self.device
        if self.head & 0x10:
            out += string(self.link_to)
        return out + self.digest

    @staticmethod
    def decode(r: Reader) -> "Entry":
        entry = Entry(r.raw(1)[0], r.string())
        if entry.type == 2:
            return entry
        entry.meta = _metadata(r)
        if entry.type == 1:
            entry.size = r.varint()
        if entry.type == 3:
            entry.target = r.string()
        if entry.type in (6, 7):
            entry.device = varint(r.varint()) + varint(r.varint())
        if entry.head & 0x10:
            entry.link_to = r.string()
        if entry.head & 0x20:
            entry.digest = r.raw(16)
        return entry


def _metadata(r: Reader) -> bytes:
    begin = r.at
    for _ in range(5):
        r.varint()
    for _ in range(r.varint()):
        r.string()
        r.string()
    return r.data[begin : r.at]


@dataclass
class Listing:
    id: int
    bits: int  # LAST_PART, OWN_METADATA, SHARED
    own: bytes
    entries: list[Entry] = field(default_factory=list)
    shared: list[int] = field(default_factory=list)

    @staticmethod
    def decode(body: bytes) -> "Listing":
        r = Reader(body)
        listing = Listing(r.varint(), r.raw(1)[0], b"")
        if listing.bits & OWN_METADATA:
            listing.own = _metadata(r)
        listing.entries = [Entry.decode(r) for _ in range(r.varint())]
        if listing.bits & SHARED:
            listing.shared = [r.varint() for _ in range(r.varint())]
        assert r.at == len(body), "listing: bytes left over"
        return listing

    def encode(self, count: int | None = None) -> bytes:
        """`count` can lie about the number of entries."""
        out = (varint(self.id) + bytes([self.bits]) + self.own
               + varint(len(self.entries) if count is None else count) + b"".join(e.encode() for e in self.entries))
        if self.bits & SHARED:
            out += varint(len(self.shared)) + b"".join(map(varint, self.shared))
        return out

    def message(self) -> Message:
        return Message(NUMBERS["listing"], self.encode())


def listing_digest(parts: list[Listing], secret: bytes) -> bytes:
    """Of a whole listing, as the Directory message carries it."""
    whole = (parts[0].own or b"\0") + b"".join(e.encode() for part in parts for e in part.entries)
    return content_digest(whole, secret)


@dataclass
class Key:
    """The begin of Want, FileBegin, FileEnd and SmallFile, and what follows it."""

    directory: int
    index: int
    rest: bytes

    @staticmethod
    def decode(body: bytes) -> "Key":
        r = Reader(body)
        return Key(r.varint(), r.varint(), r.rest())

    def encode(self) -> bytes:
        return varint(self.directory) + varint(self.index) + self.rest


@dataclass
class SmallFile:
    directory: int
    index: int
    meta: bytes  # encoded, empty if the listing's holds
    digest: bytes
    content: bytes

    @staticmethod
    def decode(body: bytes) -> "SmallFile":
        r = Reader(body)
        directory, index, bits = r.varint(), r.varint(), r.raw(1)[0]
        return SmallFile(directory, index, _metadata(r) if bits & 1 else b"", r.raw(16), r.rest())

    def encode(self) -> bytes:
        return (varint(self.directory) + varint(self.index) + bytes([1 if self.meta else 0]) + self.meta + self.digest
                + self.content)

    def message(self) -> Message:
        return Message(NUMBERS["small_file"], self.encode())


@dataclass
class FileBegin:
    directory: int
    index: int
    size: int
    meta: bytes

    @staticmethod
    def decode(body: bytes) -> "FileBegin":
        r = Reader(body)
        return FileBegin(r.varint(), r.varint(), r.varint(), r.rest())

    def encode(self) -> bytes:
        return varint(self.directory) + varint(self.index) + varint(self.size) + self.meta


@dataclass
class FileEnd:
    directory: int
    index: int
    outcome: int
    errno: int
    digest: bytes

    @staticmethod
    def decode(body: bytes) -> "FileEnd":
        r = Reader(body)
        return FileEnd(r.varint(), r.varint(), r.raw(1)[0], r.varint(), r.rest())

    def encode(self) -> bytes:
        return (varint(self.directory) + varint(self.index) + bytes([self.outcome]) + varint(self.errno) + self.digest)


@dataclass
class Want:
    directory: int
    index: int
    offset: int
    rest: bytes = b"\0"  # without a basis

    @staticmethod
    def decode(body: bytes) -> "Want":
        r = Reader(body)
        return Want(r.varint(), r.varint(), r.varint(), r.rest())

    def encode(self) -> bytes:
        return varint(self.directory) + varint(self.index) + varint(self.offset) + self.rest


@dataclass
class Reply:
    id: int
    kind: int

    @staticmethod
    def decode(body: bytes) -> "Reply":
        r = Reader(body)
        return Reply(r.varint(), r.raw(1)[0])

    def encode(self) -> bytes:
        return varint(self.id) + bytes([self.kind])


@dataclass
class ScanEnd:
    directories: int
    entries: int
    bytes: int
    plan: bytes

    @staticmethod
    def decode(body: bytes) -> "ScanEnd":
        r = Reader(body)
        return ScanEnd(r.varint(), r.varint(), r.varint(), r.rest())

    def encode(self) -> bytes:
        return varint(self.directories) + varint(self.entries) + varint(self.bytes) + self.plan


@dataclass
class Error:
    code: int
    errno: int
    context: bytes

    @staticmethod
    def decode(body: bytes) -> "Error":
        r = Reader(body)
        return Error(r.varint(), r.varint(), r.string())

    def encode(self) -> bytes:
        return varint(self.code) + varint(self.errno) + string(self.context)


CODECS = {"directory": Directory, "directory_reply": Reply, "listing": Listing, "want": Want, "file_begin": FileBegin,
          "file_end": FileEnd, "small_file": SmallFile, "scan_end": ScanEnd, "error": Error}
TAGGED = ("hello", "open", "opened", "result")


def recoded(message: Message) -> Message:
    """Taken apart and put together again: the control of this file."""
    if message.name in TAGGED:
        return Message(message.type, from_fields(fields(message.body)))
    codec = CODECS.get(message.name)
    return Message(message.type, codec.decode(message.body).encode()) if codec else message


def settled(parts: list[list[Message]], secret: bytes, doctored: Listing | None = None) -> list[list[Message]]:
    """A source's side whose sums are right again after a change: each Directory has the count and the digest of the
    listing that is sent for it (if one is), ScanEnd the counts and the digest of all Directories. `doctored` is one of
    the listings and need not be decodable."""
    listings: dict[int, list[Listing]] = {}
    for message in (m for part in parts for m in part if m.name == "listing"):
        is_doctored = doctored and message.body == doctored.encode()
        listing = doctored if doctored and is_doctored else Listing.decode(message.body)
        listings.setdefault(listing.id, []).append(listing)
    return with_plan([[_settled(m, listings, secret) for m in part] for part in parts], secret)


def _settled(message: Message, listings: dict[int, list[Listing]], secret: bytes) -> Message:
    if message.name != "directory":
        return message
    directory = Directory.decode(message.body)
    if directory.id in listings:
        found = listings[directory.id]
        directory.entries, directory.digest = sum(len(p.entries) for p in found), listing_digest(found, secret)
    return Message(message.type, directory.encode())


def with_plan(parts: list[list[Message]], secret: bytes) -> list[list[Message]]:
    """A source's side whose ScanEnd fits what its Directories announce."""
    announced = [Directory.decode(m.body) for part in parts for m in part if m.name == "directory"]
    out = []
    for part in parts:
        out.append([])
        for message in part:
            if message.name == "scan_end":
                end = ScanEnd.decode(message.body)
                end.directories, end.entries = len(announced), sum(d.entries for d in announced)
                end.plan = content_digest(b"".join(d.digest for d in announced), secret)
                message = Message(message.type, end.encode())
            out[-1].append(message)
    return out


def fields(body: bytes) -> list[tuple[int, bytes]]:
    """The tagged fields of hello, open, opened and result."""
    r, out = Reader(body), []
    while r.at < len(body):
        out.append((r.varint(), r.string()))
    return out


def from_fields(values: list[tuple[int, bytes]]) -> bytes:
    return b"".join(varint(tag) + string(value) for tag, value in values)


def number_field(body: bytes, tag: int) -> int:
    """The value of a field that holds a varint, 0 if it is left out."""
    return next((Reader(value).varint() for t, value in fields(body) if t == tag), 0)


def hello(**numbers: int) -> Message:
    """A plain client's first words."""
    values = {"version_min": 1, "version_max": 1} | numbers
    return Message(NUMBERS["hello"], from_fields(sorted((HELLO[k], varint(v)) for k, v in values.items())))


def opening(operation: int, **values: bytes) -> Message:
    """An Open with the required fields and those given, encoded."""
    known = {"operation": varint(operation), "transaction": b"\x17" * 16, "max_delete": signed(-2)} | values
    return Message(NUMBERS["open"], from_fields(sorted((OPEN[k], v) for k, v in known.items())))


def plain_hello(stream: bytes) -> tuple[bytes, int] | None:
    """The first frame of a direction without features, and its length before; None until it is whole."""
    if len(stream) < HEADER or len(stream) < HEADER + struct.unpack_from("<I", stream, 4)[0]:
        return None
    end = HEADER + struct.unpack_from("<I", stream, 4)[0]
    first = messages(stream[HEADER:end])
    first[0].body = with_field(first[0].body, HELLO["features"], None)
    return frame(b"".join(m.encoded() for m in first)), end


def with_field(body: bytes, tag: int, value: bytes | None) -> bytes:
    """One field replaced, added, or (None) removed."""
    kept = [(t, v) for t, v in fields(body) if t != tag]
    return from_fields(sorted(kept + ([(tag, value)] if value is not None else [])))
