# SPDX-License-Identifier: Apache-2.0
"""What a hostile source may say to a sink: see doctor.Lie."""
from __future__ import annotations

import copy
from typing import Any, Iterator

from . import peer
from .doctor import MAX_FILE, NOT_ASKED, RANGE, UNSAFE, At, Lie, Parts
from .doctor import altered, each, formed, get, listed, put, with_entry, without_content
from .peer import Directory, FileBegin, FileEnd, Listing, Message, ScanEnd, SmallFile, signed, string, varint
from .session_lies import BIG, keys, out_of_turn

BAD_NAMES = (b"..", b".", b"", b"a/b", b"/etc", b"a\0b", b".nbackup", b"x" * 256, b"../../../escape")
BAD_PATHS = (b"..", b"../escape", b"/tmp/escape", b"a//b", b"a/../../b", b"a\0b", b".nbackup", b"./a", b"a/",
             b"x" * 5000, b".nbackup/tx")

_SOURCE_SAYS = {name: f"{name}: truncated" for name in (
    "directory", "listing", "small_file", "file_begin", "data", "hole", "file_end", "scan_end", "problem", "error",
    "phase")}


def to_a_sink(parts: Parts, secret: bytes) -> Iterator[Lie]:
    """Lies of a source."""
    yield from _directories(parts, secret)
    yield from _listings(parts, secret)
    yield from _order_of_listings(parts, secret)
    yield from _small_files(parts, secret)
    yield from keys(parts, ("small_file", "file_begin", "file_end"), NOT_ASKED, NOT_ASKED)
    yield from _pieces(parts)
    yield from _scan_end(parts, secret)
    yield from out_of_turn(parts, 2, "message not allowed from a source", _SOURCE_SAYS)


def _directories(parts: Parts, secret: bytes) -> Iterator[Lie]:
    for at in listed(parts)[:3]:
        original = Directory.decode(get(parts, at).body)

        def lie(note: str, why: str, at: At = at, original: Directory = original, **fields: Any) -> Lie:
            doctored = put(parts, at, formed("directory", altered(original, **fields)))
            return Lie("directory", f"directory {original.id} {note}", peer.with_plan(doctored, secret), why)

        for path in BAD_PATHS:
            yield lie(f"is {path[:20]!r}", f"directory: .*({UNSAFE})", path=path)
        for number in BIG:
            yield lie(f"has id {number}", f"directory: ({RANGE}|out of turn)", id=number)
            yield lie(f"has {number} entries", f"directory: ({RANGE}|more than the credit)|entries are missing",
                      entries=number)
        yield lie("has an entry less", "listing: too many entries", entries=max(0, original.entries - 1))
        yield lie("has unknown flags", f"directory: {RANGE}", flags=16)
        wrong = altered(original, digest=bytes(15) + bytes([original.digest[15] ^ 1]))
        yield Lie("listing digest", f"directory {original.id} has another digest than its listing",
                  peer.with_plan(put(parts, at, formed("directory", wrong)), secret), "listing.*digest|digest.*listing")
        if original.id == 0:
            yield lie("is not the root", "directory: the first is not the root", path=b"zz")
        else:
            yield lie("is the root again", "directory: out of order", path=b"")
            yield lie("has no parent", "directory: out of order", path=b"zzz/not/there")
        if original.id > 1:
            yield lie("comes after its elder sibling", "directory: out of order", path=b"\1")
    yield from _implied(parts, secret)
    yield from _unlisted(parts, secret)


def _implied(parts: Parts, secret: bytes) -> Iterator[Lie]:
    """Directories below the root that have no metadata of their own, and say so."""
    for at in each(parts, "listing"):
        listing = Listing.decode(get(parts, at).body)
        if listing.id == 0:
            continue
        bare = altered(listing, own=b"", bits=listing.bits & ~peer.OWN_METADATA)
        doctored = put(parts, at, bare.message())
        for place in each(parts, "directory", 10_000):
            directory = Directory.decode(get(parts, place).body)
            if directory.id == listing.id:
                doctored = put(doctored, place, formed("directory", altered(directory, flags=peer.IMPLIED)))
        yield Lie("implied", f"directory {listing.id} is implied", peer.settled(doctored, secret),
                  "directory: implied below the root")


def _unlisted(parts: Parts, secret: bytes) -> Iterator[Lie]:
    """A directory that its parent's listing does not name, and one that it names as a file."""
    end = each(parts, "scan_end")[0]
    after = max(Directory.decode(get(parts, at).body).id for at in each(parts, "directory", 10_000)) + 1
    root = next(x for x in map(lambda at: Listing.decode(get(parts, at).body), each(parts, "listing", 99)) if not x.id)
    own = root.own
    inside = Listing(after, peer.LAST_PART | peer.OWN_METADATA, own)
    digest = peer.listing_digest([inside], secret)
    for path in (b"zzz-not-listed", *(e.name for e in root.entries[-1:] if e.type != peer.SUBDIRECTORY)):
        extra = Directory(after, path, 0, 0, digest)
        doctored = put(parts, end, formed("directory", extra), get(parts, end))
        goodbye = len(doctored) - (doctored[-1][-1].name == "goodbye")
        doctored.insert(goodbye, [inside.message()])
        yield Lie("unlisted", f"directory {path!r} is not in its parent's listing", peer.settled(doctored, secret),
                  "(?!listing: not asked)(directory|listing)")


def _listings(parts: Parts, secret: bytes) -> Iterator[Lie]:
    for at in each(parts, "listing"):
        message = get(parts, at)
        original = Listing.decode(message.body)
        for count in (1 << 40, (1 << 64) - 1, len(original.entries) + 1):
            yield Lie("listing count", f"listing {original.id} counts {count}",
                      put(parts, at, Message(message.type, original.encode(count))),
                      f"listing: ({RANGE}|truncated|unknown)")
        for kind, what, why, changed in _listing_lies(original):
            doctored = put(parts, at, changed.message())
            yield Lie(kind, f"listing {original.id}: {what}", peer.settled(doctored, secret, changed), why)
        for index, entry in enumerate(original.entries):
            if entry.type != peer.REGULAR or entry.head & peer.LINKED or index in original.shared:
                continue
            changed = copy.deepcopy(original)
            changed.entries[index].head |= peer.LINKED
            changed.entries[index].link_to = b"zzz/not/there"
            doctored = without_content(put(parts, at, changed.message()), original.id, index)
            yield Lie("entry link", f"listing {original.id}: entry {index} is linked to nothing",
                      peer.settled(doctored, secret), "which was not sent", 23, keeps_tree=False)
            break


BAD_METADATA = {
    "mode": (varint(0o10000) + varint(0) * 2 + signed(0) + varint(0) * 2, RANGE),
    "uid": (varint(0o644) + varint(1 << 32) + varint(0) + signed(0) + varint(0) * 2, RANGE),
    "nanoseconds": (varint(0o644) + varint(0) * 2 + signed(0) + varint(10**9) + varint(0), RANGE),
    "an attribute's name": (varint(0o644) + varint(0) * 2 + signed(0) + varint(0) + varint(1) + string(b"nodot")
                            + string(b""), "bad attribute name"),
    "attributes twice": (varint(0o644) + varint(0) * 2 + signed(0) + varint(0) + varint(2)
                         + (string(b"user.a") + string(b"")) * 2, "attribute out of order"),
}


def _listing_lies(original: Listing) -> Iterator[tuple[str, str, str, Listing]]:
    """Kind, what, why, and the listing."""
    for index, entry in list(enumerate(original.entries))[:4]:
        for name in BAD_NAMES:
            yield ("entry name", f"entry {index} is named {name[:20]!r}", f"listing: ({UNSAFE})",
                   with_entry(original, index, name=name))
        for kind in (0, 8, 15, 0x40 | entry.type):
            yield ("entry type", f"entry {index} has type {kind}", "listing: unknown",
                   with_entry(original, index, head=kind))
        if entry.type == peer.SUBDIRECTORY:
            continue
        for target in BAD_PATHS[:6]:
            yield ("entry link", f"entry {index} is linked to {target!r}", f"listing: .*({UNSAFE})",
                   with_entry(original, index, head=entry.head | peer.LINKED, link_to=target))
        for what, (meta, why) in BAD_METADATA.items():
            yield "metadata", f"entry {index} has bad {what}", f"listing: {why}", with_entry(original, index, meta=meta)
        if entry.type == peer.REGULAR:
            yield ("entry size", f"entry {index} is endless", f"listing: {RANGE}",
                   with_entry(original, index, size=1 << 63))
    for what, (meta, why) in BAD_METADATA.items():
        if original.own:
            yield "metadata", f"own metadata have bad {what}", f"listing: {why}", altered(original, own=meta)
    if original.own:
        yield ("own metadata", "without its own metadata", "listing: own metadata",
               altered(original, own=b"", bits=original.bits & ~peer.OWN_METADATA))
    if len(original.entries) > 1:
        yield ("entry order", "in the wrong order", "listing: name out of order",
               altered(original, entries=original.entries[::-1], shared=[], bits=original.bits & ~peer.SHARED))
        yield ("entry order", "with a name twice", "listing: name out of order",
               altered(original, entries=[*original.entries, original.entries[-1]]))
    for shared, why in (([len(original.entries)], f"no such entry|{RANGE}"), ([0, 0], "out of order"),
                        ([next((i for i, e in enumerate(original.entries) if e.type == peer.SUBDIRECTORY), 1 << 20)],
                         "not a first name|no such entry")):
        yield ("shared", f"shares {shared}", f"listing: ({why}|not a first name|{RANGE}|no such)",
               altered(original, shared=shared, bits=original.bits | peer.SHARED))


def _order_of_listings(parts: Parts, secret: bytes) -> Iterator[Lie]:
    places = each(parts, "listing", 99)
    first = Listing.decode(get(parts, places[0]).body)
    foreign = altered(first, id=999)
    yield Lie("listing order", "a listing of no directory", put(parts, places[0], foreign.message()),
              "listing: not asked for")
    yield Lie("listing order", "a listing twice", put(parts, places[0], *[get(parts, places[0])] * 2),
              "listing: not asked for")
    before = each(parts, "directory")[0]
    yield Lie("listing order", "a listing before its directory",
              put(parts, before, first.message(), get(parts, before)), "listing: not asked for")
    if len(first.entries) > 1:
        halves = [altered(first, bits=first.bits & ~(peer.LAST_PART | peer.SHARED), entries=first.entries[1:],
                           shared=[]),
                  Listing(first.id, peer.LAST_PART, b"", first.entries[:1])]
        doctored = put(parts, places[0], *(half.message() for half in halves))
        yield Lie("listing order", "a second part that begins before the first ends", peer.settled(doctored, secret),
                  "listing: name out of order")


def _small_files(parts: Parts, secret: bytes) -> Iterator[Lie]:
    for at in each(parts, "small_file"):
        small = SmallFile.decode(get(parts, at).body)

        def lie(note: str, why: str, at: At = at, small: SmallFile = small, **fields: Any) -> Lie:
            return Lie("small file", f"small file {small.directory}.{small.index} {note}",
                       put(parts, at, altered(small, **fields).message()), why)

        longer = small.content + b"x"
        yield lie("is longer than listed", "small file: wrong size", content=longer,
                  digest=peer.content_digest(longer, secret))
        yield lie("has another content", "small file: content does not fit its digest",
                  digest=peer.content_digest(longer, secret))
        for what, (meta, why) in BAD_METADATA.items():
            yield lie(f"has bad {what}", f"small_file: {why}", meta=meta)
        yield Lie("small file", "a small file twice", put(parts, at, *[get(parts, at)] * 2), NOT_ASKED)


def _pieces(parts: Parts) -> Iterator[Lie]:
    begins, ends = each(parts, "file_begin", 9), each(parts, "file_end", 9)

    def lie(note: str, at: At, why: str, *new: Message) -> Lie:
        return Lie("pieces", note, put(parts, at, *new), why)

    for at in each(parts, "data", 2):
        r = peer.Reader(get(parts, at).body)
        offset, rest = r.varint(), r.rest()
        for number in (offset + 1, 1 << 40, MAX_FILE - 1, (1 << 64) - 1):
            yield lie(f"data at {number}", at, f"data: (wrong offset|{RANGE})", formed("data", varint(number) + rest))
        yield lie("wrong content", at, "file end: content does not fit its digest",
                  formed("data", varint(offset) + bytes([rest[0] ^ 1]) + rest[1:]))
        yield lie("no content", at, "data: empty", formed("data", varint(offset)))
        yield lie("too much content at once", at, "data: too long", formed("data", varint(offset) + bytes(262_145)))
        yield lie("missing content", at, "(data|hole): wrong offset|file end: content is missing")
        yield lie("content twice", at, "data: wrong offset", *[get(parts, at)] * 2)
    for at in each(parts, "hole", 2):
        r = peer.Reader(get(parts, at).body)
        offset, length = r.varint(), r.varint()
        for begin, size, why in ((offset, MAX_FILE // 2, "wrong offset"), (offset, MAX_FILE - offset, "wrong offset"),
                                 (offset, 0, "empty"), (offset + 1, length, "wrong offset"), (MAX_FILE, 1, RANGE)):
            yield lie(f"a hole at {begin} of {size}", at, f"hole: {why}", formed("hole", varint(begin) + varint(size)))
    first, begun = begins[0], FileBegin.decode(get(parts, begins[0]).body)
    yield lie("data without a file", first, "data without a file", formed("data", b"\0x"), get(parts, first))
    yield lie("a hole without a file", first, "hole without a file", formed("hole", b"\0\1"), get(parts, first))
    for size, why in ((begun.size + 1, "content is missing"), (begun.size - 1, "wrong offset"), (1 << 63, RANGE)):
        yield lie(f"a file of {size}", first, why, formed("file_begin", altered(begun, size=size)))
    small = SmallFile(begun.directory, begun.index, b"", bytes(16), b"")
    yield lie("a small file in a file", first, "small file in the middle of another", get(parts, first),
              small.message())
    end = FileEnd(begun.directory, begun.index, peer.COMPLETE, 0, bytes(16))
    yield lie("a file without content", first, "file end: content is missing", get(parts, first),
              formed("file_end", end))
    yield lie("a file's end without its begin", first, "file end: content is missing", formed("file_end", end),
              get(parts, first))
    if len(begins) > 1:
        yield lie("two files at once", first, "file begun in the middle of another", get(parts, first),
                  get(parts, begins[1]))
        yield lie("the end of another file", first, "file end: another file", get(parts, first), get(parts, ends[1]))
    last = FileEnd.decode(get(parts, ends[0]).body)
    for outcome in (0, 5, 255):
        yield lie(f"file end {outcome}", ends[0], "file_end: unknown value",
                  formed("file_end", altered(last, outcome=outcome)))
    yield lie("a file's end twice", ends[0], NOT_ASKED, *[get(parts, ends[0])] * 2)


def _scan_end(parts: Parts, secret: bytes) -> Iterator[Lie]:
    at = each(parts, "scan_end")[0]
    end = ScanEnd.decode(get(parts, at).body)
    for note, fields in (("another plan", {"plan": end.plan[:15] + bytes([end.plan[15] ^ 1])}),
                         ("a directory more", {"directories": end.directories + 1}),
                         ("an entry less", {"entries": end.entries - 1})):
        yield Lie("scan end", f"scan end with {note}", put(parts, at, formed("scan_end", altered(end, **fields))),
                  "scan end: does not fit what was announced")
    yield Lie("scan end", "scan end twice", put(parts, at, *[get(parts, at)] * 2), "scan end: sent twice")
    last = each(parts, "directory", 10_000)[-1]
    early = copy.deepcopy(parts)
    moved = early[at[0]].pop(at[1])
    held = early[last[0]].pop(last[1])
    early[last[0]][last[1] : last[1]] = [moved]
    early = peer.with_plan(early, secret)
    early[last[0]].insert(last[1] + 1, held)
    yield Lie("scan end", "a directory after the scan's end", [p for p in early if p], "directory: out of turn")
