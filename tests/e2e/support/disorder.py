# SPDX-License-Identifier: Apache-2.0
"""Changes that are not lies, or not always: honest ones, disorder, damage."""
from __future__ import annotations

import copy
import random
from typing import Callable, Iterator

from . import peer
from .doctor import Parts, each, get, put, root_listing, with_entry
from .peer import Key, varint



def honest_change(parts: Parts, secret: bytes) -> tuple[Parts, bytes, int]:
    """No lie: a file of the root that is sent has another mode, and all sums fit. The parts, its path, its mode."""
    sent = {(k.directory, k.index) for at in each(parts, "small_file", 999)
            for k in (Key.decode(get(parts, at).body),)}
    at, root = root_listing(parts)
    index = next(i for i, e in enumerate(root.entries) if (0, i) in sent and i not in root.shared)
    reader = peer.Reader(root.entries[index].meta)
    mode = reader.varint() ^ 0o011
    changed = with_entry(root, index, meta=varint(mode) + reader.rest())
    return peer.settled(put(parts, at, changed.message()), secret), root.entries[index].name, mode


def shuffled(parts: Parts) -> Iterator[tuple[str, Parts]]:
    """One message dropped or doubled. Some of these are legal."""
    flat = [(i, j) for i, part in enumerate(parts) for j in range(len(part))]
    for at in flat:
        message = get(parts, at)
        yield f"without {message.name} {at}", put(parts, at)
        yield f"{message.name} {at} doubled", put(parts, at, message, message)
    places = each(parts, "listing", 99)
    for one, two in zip(places, places[1:]):
        yield f"listings {one} and {two} swapped", put(put(parts, one, get(parts, two)), two, get(parts, one))


def _destination(message: peer.Message, body: bytes) -> bytes | None:
    """Where a push goes; None where it cannot be told."""
    if message.name != "open":
        return None
    try:
        return dict(peer.fields(body)).get(peer.OPEN["destination"])
    except AssertionError:
        return None


def damaged(parts: Parts, seed: int, count: int) -> Iterator[tuple[str, Parts]]:
    """Random changes inside bodies, in frames with correct checks. A push to somewhere else is not among them: a server
    that is not confined makes a set there, as it is asked to."""
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
            meant = _destination(message, message.body)
            if _destination(message, bytes(body)) in (None, meant):
                message.body = bytes(body)
        yield f"damage {seed}.{number}", out
