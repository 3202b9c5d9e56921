# SPDX-License-Identifier: Apache-2.0
"""The tools of a forger: messages found, replaced and dropped in a recorded direction, and what a lie is."""
from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

from .peer import Directory, Key, Listing, Message, NUMBERS

Parts = list[list[Message]]
At = tuple[int, int]

UNSAFE = "unsafe name|unsafe path|control directory|value out of range|empty"
RANGE = "value out of range"
MAX_FILE = 1 << 53  # what a file may have, in bytes
NOT_ASKED = "content that was not asked for"


@dataclass(frozen=True)
class Lie:
    kind: str  # of which a sample takes a few each
    note: str
    parts: Parts
    why: str  # a regular expression; empty: this is no lie and must be accepted
    code: int = 12
    keeps_tree: bool = True  # what is refused changes nothing; False: one name's problem, the rest goes on


def each(parts: Parts, name: str, limit: int = 3) -> list[At]:
    """Where messages of this kind are; the first few are enough."""
    found = [(i, j) for i, part in enumerate(parts) for j, m in enumerate(part) if m.name == name]
    return found[:limit]


def put(parts: Parts, at: At, *new: Message) -> Parts:
    """Another message, several or none in the place of one."""
    out = copy.deepcopy(parts)
    out[at[0]][at[1] : at[1] + 1] = list(new)
    if not out[at[0]]:
        del out[at[0]]
    return out


def get(parts: Parts, at: At) -> Message:
    return parts[at[0]][at[1]]


def formed(name: str, value: Any) -> Message:
    return Message(NUMBERS[name], value if isinstance(value, bytes) else value.encode())


def altered(value: Any, **fields: Any) -> Any:
    out = copy.deepcopy(value)
    for name, new in fields.items():
        setattr(out, name, new)
    return out


def listed(parts: Parts) -> list[At]:
    """The directories whose listings are sent in one part."""
    ids = [Listing.decode(get(parts, at).body).id for at in each(parts, "listing", 10_000)]
    return [at for at in each(parts, "directory", 10_000)
            if ids.count(Directory.decode(get(parts, at).body).id) == 1]


def without_content(parts: Parts, directory: int, index: int) -> Parts:
    """No content for one file: for lies after which it is not wanted."""
    out: Parts = []
    skipping = False
    for part in parts:
        out.append([])
        for message in part:
            if message.name in ("small_file", "file_begin", "file_end"):
                key = Key.decode(message.body)
                mine = (key.directory, key.index) == (directory, index)
                skipping = mine and message.name == "file_begin"
                if mine:
                    continue
            if not (skipping and message.name in ("data", "hole")):
                out[-1].append(message)
    return [part for part in out if part]


def root_listing(parts: Parts) -> tuple[At, Listing]:
    return next((at, listing) for at in each(parts, "listing", 99)
                if (listing := Listing.decode(get(parts, at).body)).id == 0)


def with_entry(listing: Listing, index: int, **fields: Any) -> Listing:
    out = copy.deepcopy(listing)
    out.entries[index] = altered(out.entries[index], **fields)
    return out
