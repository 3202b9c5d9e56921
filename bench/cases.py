# SPDX-License-Identifier: Apache-2.0
"""The cases: what is transferred, in which state the destination is before, over which route, and by which tools.

rsync appears with every set of flags that can be its best for the case; the fastest of them is what the others are
compared with. Its -a leaves out what nbackup always looks for (hard links, ACLs, attributes), which favours rsync.
"""
from __future__ import annotations

from dataclasses import dataclass, field

NO_UPDATE = "cannot update: everything again, as in a first push"
BARE = ("-a",)
UPDATES = {"scp": NO_UPDATE, "tar": NO_UPDATE}


@dataclass
class Case:
    """One table. `skipped` says of a tool that could be there why it is not."""

    name: str
    title: str
    source: str
    rsync: tuple[str, ...]                     # sets of flags
    others: tuple[str, ...] = ("scp", "tar")   # scp, scp-old, tar, cat, cat-null
    operation: str = "push"                    # push, pull, verify or restore
    route: str = "loopback"
    seeded: bool = False                       # the destination has the state before the change
    change: str = ""                           # a key of sources.CHANGES, done after seeding
    rested: bool = False                       # the same command has run once before, and changed nothing either
    nbackup: tuple[str, ...] = ()              # flags
    also: tuple[str, ...] = ()                 # those of one more row of nbackup
    pool: str = ""                             # comes from a file set with two generations, that change between them
    after: str = ""                            # goes on where that case ended, if both are run
    skipped: dict[str, str] = field(default_factory=dict)


FILES = ("scp-old", "tar")  # for many files scp's old protocol costs less
CATS = ("scp", "tar", "cat", "cat-null")
DELETE = ("--delete", "--max-delete=-1")
ZSTD = "-a -z --zc=zstd"
POOL = "-a --exclude=/.nb*"
OLD = ("--at", "1")
RESTORES = {"scp, tar": "copy a tree as it is; see pull"}

CASES = (
    Case("bulk", "first push, 1 GiB of random data", "bulk", ("-a", "-a -W --inplace"), CATS),
    Case("text", "first push, 512 MiB of log lines", "text", ("-a", ZSTD), CATS),
    Case("small", "first push, 50,000 files of 0.3-9 KB", "small", ("-a", ZSTD), FILES),
    Case("tiny", "first push, 300,000 files of 1-200 bytes", "tiny", BARE, ("tar",),
         skipped={"scp": "takes minutes; see small"}),
    Case("unchanged", "the same 300,000 files again, nothing changed", "tiny", BARE, (), seeded=True, rested=True,
         after="tiny", skipped=UPDATES),
    Case("image", "1 GiB image, 1 % of its 4 KiB pages changed", "image", ("-a", "-a --inplace", "-a -W"), (),
         seeded=True, change="pages", skipped=UPDATES),
    Case("insert", "1 GiB image, 1000 bytes inserted at its front", "insert", ("-a", "-a --inplace", "-a -W"), (),
         seeded=True, change="insert", skipped=UPDATES),
    Case("rename-image", "1 GiB image renamed", "rename-image",
         ("-a -y --delete-after", "-a --delete"), (), seeded=True, change="rename", nbackup=DELETE,
         skipped=UPDATES),
    Case("rename-dir", "directory of 50,000 files renamed", "rename-dir", ("-a --delete",), (),
         seeded=True, change="rename", nbackup=DELETE, skipped=UPDATES),
    Case("pull-bulk", "pull, 1 GiB of random data", "bulk", BARE, CATS, operation="pull"),
    Case("pull-text", "pull, 512 MiB of log lines", "text", ("-a", ZSTD), CATS, operation="pull"),
    Case("pull-small", "pull, 50,000 files of 0.3-9 KB", "small", ("-a", ZSTD), FILES, operation="pull"),
    Case("restore-small", "restore, 50,000 files, one in ten changed since generation 1", "small", (POOL,), (),
         operation="restore", pool="rewrite", also=OLD, skipped=RESTORES),
    Case("restore-image", "restore, 1 GiB image, 1 % of its pages changed since generation 1", "bulk", (POOL,), (),
         operation="restore", pool="pages", also=OLD, skipped=RESTORES),
    Case("verify-bulk", "verify, 1 GiB of random data", "bulk", ("-anci --delete",), (), operation="verify",
         seeded=True, skipped={"scp": "cannot compare", "tar": "compares (tar -d) with everything sent"}),
    Case("verify-small", "verify, 50,000 files of 0.3-9 KB", "small", ("-anci --delete",), (), operation="verify",
         seeded=True, skipped={"scp": "cannot compare", "tar": "compares (tar -d) with everything sent"}),
    Case("link100-text", "100 Mbit/s link, 128 MiB of log lines", "link-text", ("-a", ZSTD), ("tar",),
         route="link 100", skipped={"scp": "as tar: the link binds"}),
    Case("link100-bulk", "100 Mbit/s link, 64 MiB of random data", "link-bulk", BARE, ("tar", "cat"),
         route="link 100", skipped={"scp": "as tar: the link binds"}),
    Case("link1g-text", "1 Gbit/s link, 512 MiB of log lines", "text", ("-a", ZSTD), CATS, route="link 1000"),
    Case("link1g-bulk", "1 Gbit/s link, 512 MiB of random data", "link-bulk-1g", BARE, CATS, route="link 1000"),
    Case("link1g-small", "1 Gbit/s link, 50,000 files of 0.3-9 KB", "small", ("-a", ZSTD), FILES, route="link 1000"),
    Case("delay-small", "40 ms round trip, 1,000 files of 0.3-9 KB", "delay-small", ("-a", ZSTD), ("tar",),
         route="delay", skipped={"scp": "takes minutes: several round trips for each file"}),
    Case("delay-bulk", "40 ms round trip, 256 MiB of random data", "delay-bulk", BARE, CATS, route="delay"),
    Case("delay-pull", "40 ms round trip, pull of 256 MiB of random data", "delay-bulk", BARE, CATS,
         operation="pull", route="delay"),
)

GROUPS = {
    "push": ("bulk", "text", "small", "tiny", "unchanged"),
    "update": ("unchanged", "image", "insert", "rename-image", "rename-dir"),
    "pull": ("pull-bulk", "pull-text", "pull-small"),
    "restore": ("restore-small", "restore-image"),
    "verify": ("verify-bulk", "verify-small"),
    "link": tuple(case.name for case in CASES if case.name.startswith("link")),
    "delay": ("delay-small", "delay-bulk", "delay-pull"),
    "all": tuple(case.name for case in CASES),
}


def select(words: str) -> list[Case]:
    """The cases of a list of names and groups, in the order of CASES. ValueError names what is not known."""
    names = {case.name for case in CASES}
    wanted: set[str] = set()
    for word in filter(None, words.split(",")):
        if word not in names and word not in GROUPS:
            raise ValueError(f"no case or group {word}; there are {', '.join([*sorted(names), *GROUPS])}")
        wanted.update(GROUPS.get(word, (word,)) if word not in names else (word,))
    return [case for case in CASES if case.name in wanted]
