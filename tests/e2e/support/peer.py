# SPDX-License-Identifier: Apache-2.0
"""Raw protocol bytes, written a second time after docs/protocol.md: frames, messages, and the fields worth attacking.

Used to take a recorded session apart, change something, and play it to a real nbackup. Checks and digests come from
libxxhash through ctypes, so that a lie is told in a well-formed frame.
"""
from __future__ import annotations

import ctypes
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


class _Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


def _library() -> ctypes.CDLL | None:
    try:
        lib = ctypes.CDLL("libxxhash.so.0")
    except OSError:
        return None
    lib.XXH3_64bits.restype = ctypes.c_uint64
    lib.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    lib.XXH3_128bits_withSecret.restype = _Hash128
    lib.XXH3_128bits_withSecret.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    lib.XXH3_generateSecret.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    return lib


_XXH = _library()


def missing() -> str | None:
    return None if _XXH else "no libxxhash.so.0"


def check_of(data: bytes) -> int:
    assert _XXH
    return _XXH.XXH3_64bits(data, len(data))


def digest_of(data: bytes, secret: bytes) -> bytes:
    """The keyed 128-bit digest, big-endian; `secret` is the 32 bytes of the set."""
    assert _XXH
    expanded = ctypes.create_string_buffer(192)
    _XXH.XXH3_generateSecret(expanded, 192, secret, len(secret))
    value = _XXH.XXH3_128bits_withSecret(data, len(data), expanded.raw, 192)
    return struct.pack(">QQ", value.high, value.low)


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
    bits: int  # 1: last part, 2: own metadata
    own: bytes
    entries: list[Entry] = field(default_factory=list)

    @staticmethod
    def decode(body: bytes) -> "Listing":
        r = Reader(body)
        listing = Listing(r.varint(), r.raw(1)[0], b"")
        if listing.bits & 2:
            listing.own = _metadata(r)
        listing.entries = [Entry.decode(r) for _ in range(r.varint())]
        return listing

    def encode(self, count: int | None = None) -> bytes:
        """`count` can lie about the number of entries."""
        return (varint(self.id) + bytes([self.bits]) + self.own
                + varint(len(self.entries) if count is None else count) + b"".join(e.encode() for e in self.entries))

    def digest(self, secret: bytes) -> bytes:
        """Of a listing in one part, as DirectoryMessage carries it."""
        return digest_of((self.own or b"\0") + b"".join(e.encode() for e in self.entries), secret)


def fields(body: bytes) -> list[tuple[int, bytes]]:
    """The tagged fields of hello, open, opened and result."""
    r, out = Reader(body), []
    while r.at < len(body):
        out.append((r.varint(), r.string()))
    return out


def from_fields(values: list[tuple[int, bytes]]) -> bytes:
    return b"".join(varint(tag) + string(value) for tag, value in values)


def with_field(body: bytes, tag: int, value: bytes | None) -> bytes:
    """One field replaced, added, or (None) removed."""
    kept = [(t, v) for t, v in fields(body) if t != tag]
    return from_fields(sorted(kept + ([(tag, value)] if value is not None else [])))
