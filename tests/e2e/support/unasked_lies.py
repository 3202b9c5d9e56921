# SPDX-License-Identifier: Apache-2.0
"""What a hostile server may send to a pull that asked for something else; directories without end: see doctor.Lie."""
from __future__ import annotations

from typing import Any, Iterator

from . import peer
from .doctor import NOT_ASKED, Lie, Parts
from .doctor import altered, each, formed, get, put, root_listing, without_content
from .peer import Directory, Entry, Listing, Message, SmallFile, signed, varint, with_field

# A breach of the protocol, but not one that only the content shows: by then the names are planned.
UNASKED = f"(?s)^(?!.*({NOT_ASKED}|connection lost)).*the other side broke the protocol"


def unasked(parts: Parts, secret: bytes) -> Iterator[Lie]:
    """Of the server, to a pull of one file by its name: other names than those asked for, or flags that would let what
    is named replace the destination's whole content."""
    at, root = root_listing(parts)
    first = root.entries[0]
    name = first.name
    opened = each(parts, "opened", 1)[0]
    content = SmallFile.decode(get(parts, each(parts, "small_file", 1)[0]).body)

    def sent(note: str, files: tuple[tuple[int, int], ...], *extra: Listing, **fields: Any) -> Lie:
        """A whole session that sends this root, these files and these further listings."""
        doctored = put(without_content(parts, 0, 0), at, altered(root, **fields).message())
        doctored = _with_directories(doctored, extra)
        doctored += [[listing.message()] for listing in extra]
        doctored += [[altered(content, directory=d, index=i).message()] for d, i in files]
        return Lie("unasked", note, peer.settled(doctored, secret), UNASKED)

    for other in (b"authorized_keys", b".bashrc", name + b"x"):
        yield sent(f"{other!r} instead", ((0, 0),), entries=[altered(first, name=other)])
    yield sent("another name besides", ((0, 0), (0, 1)), entries=[first, altered(first, name=b"zzz")])
    for other in (b".ssh/id_rsa", b"secret"):
        yield sent(f"a link to {other!r}", (), entries=[altered(first, head=first.head | peer.LINKED, link_to=other)])
    meta = first.meta
    below = Listing(1, peer.LAST_PART | peer.OWN_METADATA, meta, [altered(first, name=b"authorized_keys")])
    folder = Entry(peer.SUBDIRECTORY, b".ssh")
    yield sent(".ssh besides", ((0, 1), (1, 0)), _named(below, b".ssh"), entries=[folder, first])
    yield sent(".ssh instead", ((1, 0),), _named(below, b".ssh"), entries=[folder])
    yield sent("a directory of that name", ((1, 0),), _named(below, name), entries=[Entry(peer.SUBDIRECTORY, name)])
    body = get(parts, opened).body
    for note, flags in (("no implied root", peer.SINGLE_FILE), ("no flags", 0)):
        # The root has metadata of its own then, and --delete would empty the destination.
        whole = put(parts, at, altered(root, own=meta, bits=root.bits | peer.OWN_METADATA).message())
        whole = put(whole, opened, formed("opened", with_field(body, peer.OPENED["flags"], varint(flags))))
        place = each(whole, "directory")[0]
        whole = put(whole, place, formed("directory", altered(Directory.decode(get(whole, place).body), flags=0)))
        yield Lie("unasked", f"opened with {note}", peer.settled(whole, secret), UNASKED)
    place = each(parts, "directory")[0]
    rooted = put(parts, at, altered(root, own=meta, bits=root.bits | peer.OWN_METADATA).message())
    rooted = put(rooted, place, formed("directory", altered(Directory.decode(get(parts, place).body), flags=0)))
    yield Lie("unasked", "a root that is not implied, after all", peer.settled(rooted, secret), UNASKED)


class _Named(Listing):
    path: bytes


def _named(listing: Listing, path: bytes) -> Listing:
    out = _Named(listing.id, listing.bits, listing.own, listing.entries)
    out.path = path
    return out


def _with_directories(parts: Parts, listings: tuple[Any, ...]) -> Parts:
    """With a Directory for each listing that was added."""
    end = each(parts, "scan_end")[0]
    added = [formed("directory", Directory(x.id, x.path, 0, len(x.entries), bytes(16))) for x in listings]
    return put(parts, end, *added, get(parts, end))


def whole_as_one(parts: Parts) -> Iterator[Lie]:
    """Of the server, to a pull of a directory's content: flags that say it is something else."""
    opened = each(parts, "opened", 1)[0]
    body = get(parts, opened).body
    for note, flags in (("a single file", peer.SINGLE_FILE | peer.IMPLIED_ROOT), ("single only", peer.SINGLE_FILE),
                        ("an implied root", peer.IMPLIED_ROOT)):
        changed = with_field(body, peer.OPENED["flags"], varint(flags))
        yield Lie("unasked", f"content opened as {note}", put(parts, opened, formed("opened", changed)),
                  UNASKED)


def flood(hello: Message, open_or_opened: Message, secret: bytes, count: int) -> Parts:
    """Directories without end and no listing but the root's, by a source that agreed to one listing at a time."""
    slow = Message(hello.type, with_field(hello.body, peer.HELLO["listing_credit_bytes"], varint(1)))
    meta = varint(0o755) + varint(0) * 2 + signed(0) + varint(0) * 2
    entries = [Entry(peer.SUBDIRECTORY, b"d%06d" % i) for i in range(count)]
    step = 16_000
    listing = [Listing(0, peer.LAST_PART if at + step >= count else 0, b"", entries[at : at + step])
               for at in range(0, count, step)]
    listing[0].own, listing[0].bits = meta, listing[0].bits | peer.OWN_METADATA
    empty = peer.listing_digest([Listing(0, 0, meta)], secret)
    out = [[slow], [open_or_opened],
           [formed("directory", Directory(0, b"", 0, count, peer.listing_digest(listing, secret)))]]
    out += [[part.message()] for part in listing]
    messages = [formed("directory", Directory(i + 1, e.name, 0, 0, empty)) for i, e in enumerate(entries)]
    return out + [messages[at : at + 1000] for at in range(0, count, 1000)]
