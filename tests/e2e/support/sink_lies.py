# SPDX-License-Identifier: Apache-2.0
"""What a hostile sink may say to a source: see doctor.Lie."""
from __future__ import annotations

import copy
from typing import Iterator

from . import peer
from .doctor import RANGE, Lie, Parts
from .doctor import altered, each, formed, get, put
from .peer import Listing, Reply, Want, varint, with_field
from .session_lies import BIG, keys, out_of_turn

_SINK_SAYS = {name: f"{name}: truncated" for name in (
    "directory_reply", "want", "directory_done", "problem", "item", "phase", "error")} | {"result": "result"}


def to_a_source(parts: Parts, heard: Parts) -> Iterator[Lie]:
    """Lies of a sink; `heard` is the source's recorded side."""
    yield from _replies(parts)
    yield from keys(parts, ("want",), "want: no such listing", "want: no such entry")
    yield from _wants(parts, heard)
    yield from _results(parts)
    yield from out_of_turn(parts, 2, "message not allowed from a sink", _SINK_SAYS)


def _replies(parts: Parts) -> Iterator[Lie]:
    places = each(parts, "directory_reply")
    for at in places:
        reply = Reply.decode(get(parts, at).body)
        for number in (77, *BIG):
            yield Lie("reply", f"reply {reply.id} is for {number}",
                      put(parts, at, formed("directory_reply", altered(reply, id=number))),
                      f"directory_reply: {RANGE}" if number > 1 << 48 else "reply out of order")
        for kind in (0, 6, 255):
            yield Lie("reply", f"reply {reply.id} is {kind}",
                      put(parts, at, formed("directory_reply", altered(reply, kind=kind))),
                      "directory_reply: unknown value")
        yield Lie("reply", f"reply {reply.id} twice", put(parts, at, *[get(parts, at)] * 2), "reply out of order")
    if len(places) > 1:
        swapped = put(put(parts, places[0], get(parts, places[1])), places[1], get(parts, places[0]))
        yield Lie("reply", "replies in the wrong order", swapped, "reply out of order")
    for at in each(parts, "directory_done"):
        done = peer.Reader(get(parts, at).body).varint()
        for number in (77, *BIG):
            yield Lie("done", f"done {done} is for {number}", put(parts, at, formed("directory_done", varint(number))),
                      f"directory_done: {RANGE}" if number > 1 << 48 else "done: no such listing")
        yield Lie("done", f"done {done} twice", put(parts, at, *[get(parts, at)] * 2), "done: no such listing")
    first = places[0]
    yield Lie("done", "done before the reply",
              put(parts, first, formed("directory_done", varint(0)), get(parts, first)), "done: no such listing")


def _wants(parts: Parts, heard: Parts) -> Iterator[Lie]:
    places = each(parts, "want")
    for at in places:
        want = Want.decode(get(parts, at).body)
        where = f"{want.directory}.{want.index}"
        for offset in (1, 4096, 1 << 40, 1 << 63):
            yield Lie("want offset", f"want {where} from {offset} on",
                      put(parts, at, formed("want", altered(want, offset=offset))), "want: ")
        yield Lie("want twice", f"want {where} twice", put(parts, at, *[get(parts, at)] * 2), "want: ")
        done = next(x for x in each(parts, "directory_done", 99)
                    if peer.Reader(get(parts, x).body).varint() == want.directory)
        yield Lie("want late", f"want {where} after its directory was done",
                  put(parts, done, get(parts, done), get(parts, at)), "want: no such listing")
    wanted = {Want.decode(get(parts, at).body).directory for at in places}
    for at in each(heard, "listing", 99):
        listing = Listing.decode(get(heard, at).body)
        place = next((x for x in places if Want.decode(get(parts, x).body).directory == listing.id), None)
        if place is None or listing.id not in wanted:
            continue
        for index, entry in enumerate(listing.entries):
            if entry.type == peer.REGULAR:
                continue
            extra = formed("want", Want(listing.id, index, 0))
            yield Lie("want kind", f"want {listing.id}.{index}, of type {entry.head:#x}",
                      put(parts, place, extra, get(parts, place)), "want: ")
    same = next((Reply.decode(get(parts, x).body) for x in each(parts, "directory_reply", 99)
                 if Reply.decode(get(parts, x).body).kind == peer.SAME), None)
    if same and places:
        yield Lie("want kind", f"want of directory {same.id}, which is the same",
                  put(parts, places[0], formed("want", Want(same.id, 0, 0))), "want: no such listing")


def _results(parts: Parts) -> Iterator[Lie]:
    """The source may have but one listing out, so its scan cannot have ended: nothing was answered yet."""
    first = each(parts, "directory_reply")[0]
    slow = copy.deepcopy(parts)
    hello = slow[0][0]
    hello.body = with_field(hello.body, peer.HELLO["listing_credit_bytes"], varint(1))
    early = slow[: first[0]] + [[formed("result", b"")]]
    yield Lie("result", "a result before the scan has ended", early, "result")
    committed = slow[: first[0]] + [[formed("result", peer.from_fields([(1, b"\1"), (2, b"\5")]))]]
    yield Lie("result", "a commit before the scan has ended", committed, "result")
    for at in each(parts, "result"):
        body = get(parts, at).body
        yield Lie("result", "a result with two commits", put(parts, at, formed("result", with_field(body, 1, b"\2"))),
                  "result: bad value of committed")
        yield Lie("result", "a result with an unknown field",
                  put(parts, at, formed("result", with_field(body, 99, b"x"))), "a newer nbackup asks")
