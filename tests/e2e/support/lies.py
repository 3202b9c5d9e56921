# SPDX-License-Identifier: Apache-2.0
"""What a hostile peer may send: doctored versions of a recorded direction, each with a name.

Where a listing is doctored, the digest that announced it is computed anew, so that the lie is found for itself and not
for a wrong sum.
"""
from __future__ import annotations

import copy
import random
from typing import Callable, Iterator

from .peer import Directory, Listing, Message, NUMBERS, Reader, string, varint, with_field

Parts = list[list[Message]]
Lie = tuple[str, Parts]

BAD_NAMES = (b"..", b".", b"", b"a/b", b"/etc", b"a\0b", b".nbackup", b"x" * 256, b"../../../escape")
BAD_PATHS = (b"..", b"../escape", b"/tmp/escape", b"a//b", b"a/../../b", b"a\0b", b".nbackup", b"./a", b"a/",
             b"x" * 5000, b".nbackup/tx")
BIG = (1 << 32, 1 << 48, (1 << 63) - 1, (1 << 64) - 1)


def lies(parts: Parts, secret: bytes) -> Iterator[Lie]:
    """All named lies about this direction."""
    yield from _paths(parts)
    yield from _listings(parts, secret)
    yield from _content(parts)
    yield from _session(parts)


def _each(parts: Parts, name: str, limit: int = 3) -> list[tuple[int, int]]:
    """Where messages of this kind are; the first few are enough."""
    found = [(i, j) for i, part in enumerate(parts) for j, m in enumerate(part) if m.name == name]
    return found[:limit]


def _with(parts: Parts, at: tuple[int, int], *new: Message) -> Parts:
    out = copy.deepcopy(parts)
    out[at[0]][at[1] : at[1] + 1] = list(new)
    if not out[at[0]]:
        del out[at[0]]
    return out


def _paths(parts: Parts) -> Iterator[Lie]:
    for at in _each(parts, "directory"):
        message = parts[at[0]][at[1]]
        original = Directory.decode(message.body)
        for path in BAD_PATHS:
            changed = copy.copy(original)
            changed.path = path
            yield f"directory {original.id} is {path[:20]!r}", _with(parts, at, Message(message.type, changed.encode()))
        for number in BIG:
            for field in ("id", "entries"):
                changed = copy.copy(original)
                setattr(changed, field, number)
                yield (f"directory {original.id} has {field} {number}",
                       _with(parts, at, Message(message.type, changed.encode())))


def _listings(parts: Parts, secret: bytes) -> Iterator[Lie]:
    for at in _each(parts, "listing"):
        message = parts[at[0]][at[1]]
        original = Listing.decode(message.body)
        for count in (1 << 40, (1 << 64) - 1, len(original.entries) + 1):
            yield (f"listing {original.id} counts {count}",
                   _with(parts, at, Message(message.type, original.encode(count))))
        for what, changed in _entry_lies(original):
            doctored = _with(parts, at, Message(message.type, changed.encode()))
            yield f"listing {original.id}: {what}", _announced(doctored, changed, secret)


def _entry_lies(original: Listing) -> Iterator[tuple[str, Listing]]:
    for index, entry in list(enumerate(original.entries))[:4]:
        for name in BAD_NAMES:
            changed = copy.deepcopy(original)
            changed.entries[index].name = name
            yield f"entry {index} is named {name[:20]!r}", changed
        if entry.type != 2:
            for target in (*BAD_PATHS[:6], b"zzz/not/there"):
                changed = copy.deepcopy(original)
                changed.entries[index].head |= 0x10
                changed.entries[index].link_to = target
                yield f"entry {index} is linked to {target!r}", changed
    if len(original.entries) > 1:
        changed = copy.deepcopy(original)
        changed.entries.reverse()
        yield "in the wrong order", changed
        changed = copy.deepcopy(original)
        changed.entries.append(changed.entries[-1])
        yield "with a name twice", changed


def _announced(parts: Parts, listing: Listing, secret: bytes) -> Parts:
    """The directory message before it carries the digest and the count of the doctored listing."""
    for part in parts:
        for message in part:
            if message.name == "directory":
                directory = Directory.decode(message.body)
                if directory.id == listing.id:
                    directory.digest, directory.entries = listing.digest(secret), len(listing.entries)
                    message.body = directory.encode()
    return parts


def _content(parts: Parts) -> Iterator[Lie]:
    for name in ("small_file", "file_begin", "file_end", "want", "directory_reply", "directory_done"):
        for at in _each(parts, name, 2):
            message = parts[at[0]][at[1]]
            reader = Reader(message.body)
            reader.varint()
            tail = reader.rest()
            for number in (77, *BIG):
                yield f"{name} for directory {number}", _with(parts, at, Message(message.type, varint(number) + tail))
            if name in ("directory_reply", "directory_done"):
                continue
            reader = Reader(message.body)
            first, _index, rest = varint(reader.varint()), reader.varint(), reader.rest()
            for number in (99_999, *BIG):
                yield (f"{name} for entry {number}",
                       _with(parts, at, Message(message.type, first + varint(number) + rest)))
    for at in _each(parts, "data"):
        message = parts[at[0]][at[1]]
        reader = Reader(message.body)
        offset, rest = reader.varint(), reader.rest()
        for number in (offset + 1, 1 << 40, (1 << 62) - 1, (1 << 64) - 1):
            yield f"data at {number}", _with(parts, at, Message(message.type, varint(number) + rest))
        yield "wrong content", _with(parts, at, Message(message.type, varint(offset) + bytes([rest[0] ^ 1]) + rest[1:]))
    for at in _each(parts, "hole"):
        yield "an endless hole", _with(parts, at, Message(NUMBERS["hole"], varint(0) + varint((1 << 62) - 1)))


def _session(parts: Parts) -> Iterator[Lie]:
    for at in _each(parts, "hello"):
        body = parts[at[0]][at[1]].body
        hello = NUMBERS["hello"]
        yield "versions of the future", _with(parts, at, Message(hello, with_field(with_field(body, 1, varint(900)), 3,
                                                                                   varint(901))))
        yield "an unknown feature that must be known", _with(parts, at, Message(hello, with_field(body, 99, b"x")))
        yield "no hello", _with(parts, at)
    yield "hello twice", [parts[0], parts[0], *parts[1:]]
    for at in _each(parts, "open", 1):
        body = parts[at[0]][at[1]].body
        for value in (b"\0", b"a\0b", b"x" * 100_000):
            yield (f"open: destination {value[:9]!r}",
                   _with(parts, at, Message(NUMBERS["open"], with_field(body, 7, value))))
        yield "open: unknown flags", _with(parts, at, Message(NUMBERS["open"], with_field(body, 5, varint(1 << 40))))
        yield "open: operation 9", _with(parts, at, Message(NUMBERS["open"], with_field(body, 1, varint(9))))
        yield "open: a short secret", _with(parts, at, Message(NUMBERS["open"], with_field(body, 21, b"short")))
    for at in _each(parts, "opened", 1):
        body = parts[at[0]][at[1]].body
        for value in (b"..", b"a/b", b"/x"):
            yield (f"opened: rename to {value!r}",
                   _with(parts, at, Message(NUMBERS["opened"], with_field(body, 5, value))))
        yield "opened: a short secret", _with(parts, at, Message(NUMBERS["opened"], with_field(body, 3, b"short")))
    for at in _each(parts, "scan_end", 1):
        body = parts[at[0]][at[1]].body
        other = Message(NUMBERS["scan_end"], body[:-1] + bytes([body[-1] ^ 1]))
        yield "scan_end with another plan", _with(parts, at, other)
        yield "scan_end twice", _with(parts, at, parts[at[0]][at[1]], parts[at[0]][at[1]])
    for kind in (0, 24, 31, 255):
        yield f"message type {kind}", [*parts[:1], [Message(kind, b"")], *parts[1:]]
    for name in NUMBERS:
        yield f"an empty {name} out of turn", [*parts[:1], [Message(NUMBERS[name], b"")], *parts[1:]]
    yield "open out of turn", [*parts, [Message(NUMBERS["query"], b"\0" * 16 + string(b"../.."))]]


def shuffled(parts: Parts) -> Iterator[Lie]:
    """One message dropped, doubled, or changed with its neighbour. Some of these are legal."""
    flat = [(i, j) for i, part in enumerate(parts) for j in range(len(part))]
    for at in flat:
        message = parts[at[0]][at[1]]
        yield f"without {message.name} {at}", _with(parts, at)
        yield f"{message.name} {at} doubled", _with(parts, at, message, message)


def damaged(parts: Parts, seed: int, count: int) -> Iterator[Lie]:
    """Random changes inside bodies, in frames with correct checks."""
    rng = random.Random(f"damage-{seed}")
    change: tuple[Callable[[bytearray, int], None], ...] = (
        lambda b, i: b.__setitem__(i, rng.randrange(256)),
        lambda b, i: b.__setitem__(i, b[i] ^ (1 << rng.randrange(8))),
        lambda b, i: b.__delitem__(slice(i, i + rng.randrange(1, 5))),
        lambda b, i: b.__setitem__(slice(i, i), rng.randbytes(rng.randrange(1, 12))),
    )
    for number in range(count):
        out = copy.deepcopy(parts)
        for _ in range(rng.choice((1, 1, 2, 5))):
            message = rng.choice([m for part in out for m in part])
            body = bytearray(message.body)
            if body:
                rng.choice(change)(body, rng.randrange(len(body)))
            message.body = bytes(body)
        yield f"damage {seed}.{number}", out
