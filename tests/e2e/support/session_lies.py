# SPDX-License-Identifier: Apache-2.0
"""What a hostile client or server may say before the run, and what either may say out of turn: see doctor.Lie."""
from __future__ import annotations

from typing import Iterator

from . import peer
from .doctor import RANGE, Lie, Parts
from .doctor import altered, each, formed, get, put
from .peer import Key, Message, NUMBERS, signed, strings, varint, with_field

BIG = (1 << 32, 1 << 48, (1 << 63) - 1, (1 << 64) - 1)


def to_a_server(parts: Parts) -> Iterator[Lie]:
    """Lies of a client before the run."""
    yield from _hellos(parts)
    yield from _opens(parts)
    yield from out_of_turn(parts, 1, "message of an unexpected type", {
        "open": "open: field missing: operation", "query": "query: truncated", "error": "error: truncated",
        "goodbye": "goodbye before anything was asked for"})


def to_a_client(parts: Parts, second_opened: str) -> Iterator[Lie]:
    """Lies of a server before the run. An Opened without fields is valid in a pull, which then stumbles over the next:
    `second_opened`."""
    yield from _hellos(parts)
    yield from _openeds(parts)
    yield from out_of_turn(parts, 1, "message of an unexpected type", {
        "opened": second_opened, "error": "error: truncated"})


def keys(parts: Parts, names: tuple[str, ...], no_directory: str, no_entry: str) -> Iterator[Lie]:
    """Files nobody asked for, or which do not exist."""
    for name in names:
        for at in each(parts, name, 2):
            key = Key.decode(get(parts, at).body)
            for number in (77, *BIG):
                why = f"{name}: {RANGE}" if number > 1 << 48 else no_directory
                yield Lie(f"{name} key", f"{name} for directory {number}",
                          put(parts, at, formed(name, altered(key, directory=number))), why)
            for number in (99_999, *BIG):
                why = f"{name}: {RANGE}" if number > 1 << 32 else no_entry
                yield Lie(f"{name} key", f"{name} for entry {number}",
                          put(parts, at, formed(name, altered(key, index=number))), why)


def out_of_turn(parts: Parts, place: int, otherwise: str, known: dict[str, str]) -> Iterator[Lie]:
    """Every type, without a body, before the frame `place`; and types that do not exist."""
    def at(message: Message) -> Parts:
        return [*parts[:place], [message], *parts[place:]]

    for name, number in NUMBERS.items():
        if name == "keep_alive":
            yield Lie("turn", f"keep_alive before frame {place}", at(Message(number, b"")), "")
        elif not (name == "result" and place == 2 and "result" in known):  # an empty one is valid: see _results
            yield Lie("turn", f"an empty {name} before frame {place}", at(Message(number, b"")),
                      known.get(name, otherwise))
    for kind in (0, 40, 200, 255):
        yield Lie("turn", f"message type {kind} before frame {place}", at(Message(kind, b"")), "unknown message type")
    said = peer.Error(3, 0, b"told \x1b]0;you\x07 so")
    yield Lie("turn", f"an error before frame {place}", at(formed("error", said)), "told .* so", 3)
    yield Lie("turn", f"an unknown error before frame {place}", at(formed("error", altered(said, code=9999))),
              "told .* so .error 9999, of a newer version", 2)


def _hellos(parts: Parts) -> Iterator[Lie]:
    at, tags = (0, 0), peer.HELLO
    body = get(parts, at).body

    def lie(note: str, why: str, changed: bytes, code: int = 12) -> Lie:
        return Lie("hello", note, put(parts, at, formed("hello", changed)), why, code)

    later = with_field(with_field(body, tags["version_min"], varint(100)), tags["version_max"], varint(200))
    yield lie("hello: versions from 100 on", "speaks versions 100 to 200", later, 2)
    yield lie("hello: no version", "hello: (field missing|bad value)", with_field(body, tags["version_min"], None))
    yield lie("hello: version 0", "version_min above|bad value", with_field(body, tags["version_min"], b"\0"))
    yield lie("hello: versions from 9 to 1", "version_min above", with_field(body, tags["version_min"], b"\x09"))
    yield lie("hello: an unknown field that must be known", "a newer nbackup asks", with_field(body, 99, b"x"))
    yield lie("hello: a field that may be unknown", "", with_field(body, 98, b"x"))
    yield lie("hello: an endless name", "too long: software", with_field(body, 6, b"x" * 100_000))
    yield Lie("hello", "no hello", put(parts, at), "message of an unexpected type")
    yield Lie("hello", "hello twice", [parts[0], parts[0], *parts[1:]], "message of an unexpected type")


def _opens(parts: Parts) -> Iterator[Lie]:
    at = each(parts, "open", 1)[0]
    body, tags = get(parts, at).body, peer.OPEN

    def lie(note: str, why: str, tag: str, value: bytes | None, code: int = 12) -> Lie:
        return Lie("open", f"open: {note}", put(parts, at, formed("open", with_field(body, tags[tag], value))), why,
                   code)

    for value, why in ((b"\0", "NUL byte in"), (b"a\0b", "NUL byte in"), (b"x" * 100_000, "too long:")):
        yield lie(f"destination {value[:9]!r}", f"open: {why} destination", "destination", value)
    yield lie("unknown flags", "unknown bits in flags", "flags", varint(1 << 40))
    for number in (0, 9):
        yield lie(f"operation {number}", "bad value of operation", "operation", varint(number))
    yield lie("no transaction", "field missing: transaction", "transaction", None)
    yield lie("a short transaction", "bad length of transaction", "transaction", b"short")
    yield lie("a short secret", "bad length of secret", "secret", b"short")
    yield lie("max_delete -3", "bad value of max_delete", "max_delete", signed(-3))
    yield lie("an endless list of rules", RANGE, "filter_rules", varint(1 << 40))
    yield lie("an empty source", "empty", "sources", strings([b""]))
    pull = peer.number_field(body, tags["operation"]) == peer.PULL
    for kind in (1, 2, 3):
        yield lie(f"a moment of kind {kind}", "is not in a file set" if pull else "at_kind without pull", "at_kind",
                  varint(kind), 3 if pull else 12)
    yield lie("a moment of no known kind", "bad value of at_kind", "at_kind", varint(4))
    yield lie("a moment without a kind", "at_value without at_kind", "at_value", varint(7))
    yield lie("a moment beyond all time", "bad value of at_value", "at_value", varint(1 << 63))
    for rule in (b"garbage", b"- ", b"!x", b"merge /etc/passwd", b". /etc/passwd", b": .rules", b"\xff\xfe"):
        yield lie(f"rule {rule!r}", "filter rule", "filter_rules", strings([rule]))


def _openeds(parts: Parts) -> Iterator[Lie]:
    at = each(parts, "opened", 1)[0]
    body, tags = get(parts, at).body, peer.OPENED

    def lie(note: str, why: str, tag: str, value: bytes | None) -> Lie:
        return Lie("opened", f"opened: {note}", put(parts, at, formed("opened", with_field(body, tags[tag], value))),
                   why)

    yield lie("a short secret", "opened: bad length of secret", "secret", b"short")
    yield lie("unknown flags", "opened: unknown bits in flags", "flags", varint(1 << 40))
    yield lie("a flag of Open", "opened: unknown bits in flags", "flags", varint(peer.DRY_RUN))
