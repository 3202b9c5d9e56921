# SPDX-License-Identifier: Apache-2.0
"""What is transferred: the same bytes, names and times in every run of one scale, made when first asked for.

A case that changes its source changes it in place, as a user would, and the next round starts from there: the image
gets other pages, the insertion grows by another 1000 bytes, the renames go back and forth.
"""
from __future__ import annotations

import os
import random
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

import disk

MIB = 1 << 20
PAGE = 4096
EPOCH = 1_700_000_000  # mtimes start here, in the past: a file just written is never trusted by a cache
SETTLE_SECONDS = 3     # after a change, until a cache may trust the times of what was changed
_WORDS = ("connection session request worker buffer index table segment cache queue reader writer accepted closed "
          "timeout retry failed completed started scheduled user backup volume snapshot replica checkpoint").split()
_SERVICES = ("kernel sshd cron nginx postgres systemd dhcpd smartd postfix/smtpd named").split()


@dataclass
class Pool:
    """A file set with two generations, and what each of them is."""

    path: Path
    first: Path
    newest: Path


class Sources:
    """All source directories below one work directory."""

    def __init__(self, work: Path, scale: float) -> None:
        self.work, self.scale = work, scale
        self.work.mkdir()
        self._made: set[str] = set()
        self._changed: dict[Path, float] = {}
        self._version = 0
        self._pools: dict[str, Pool] = {}
        self._unsynced = False

    def get(self, name: str) -> Path:
        """The directory of a source; `name` is a key of MAKERS."""
        root = self.work / name
        if name not in self._made:
            root.mkdir()
            MAKERS[name](self, root)
            _settle_times(root)
            self._made.add(name)
            self._changed[root] = time.monotonic()
            self._unsynced = True
        return root

    def pool(self, name: str, how: str, push: Callable[[Path, Path], None]) -> Pool:
        """A source and a copy of it after one of CHANGES, as the two generations of a set; push(source, set) makes one."""
        key = f"{name}-{how}"
        if key not in self._pools:
            pool = Pool(self.work / f"pool-{key}", self.get(name), self.work / f"later-{key}")
            subprocess.run(["cp", "-a", str(pool.first), str(pool.newest)], check=True)
            self.change(pool.newest, how)
            self.settle(pool.newest)
            for generation in (pool.first, pool.newest):
                push(generation, pool.path)
            self._unsynced = True
            self._pools[key] = pool
        return self._pools[key]

    def settle(self, root: Path) -> None:
        """Waits until what was last changed there is old enough for a cache."""
        time.sleep(max(0.0, self._changed[root] + SETTLE_SECONDS - time.monotonic()))

    def change(self, root: Path, how: str) -> None:
        """One of CHANGES, applied to the whole source."""
        self._version += 1
        CHANGES[how](root, random.Random(f"{how} {self._version}"))
        self._changed[root] = time.monotonic()
        self._unsynced = True

    def flush(self) -> None:
        """What was written to the sources must not go to the disk while a tool is measured."""
        if self._unsynced:
            disk.sync(self.work)
            self._unsynced = False

    def bytes_of(self, full: int) -> int:
        return max(PAGE * 16, int(full * self.scale) // PAGE * PAGE)

    def count_of(self, full: int) -> int:
        return max(10, int(full * self.scale))


def _random_file(path: Path, size: int, seed: str) -> None:
    rng = random.Random(seed)
    with open(path, "wb") as out:
        for start in range(0, size, MIB):
            out.write(rng.randbytes(min(MIB, size - start)))


def log_line(rng: random.Random, clock: float) -> str:
    """One line as servers write them: mostly the same words, never the same numbers."""
    seconds = int(clock)
    stamp = f"2026-{seconds // 2592000 % 12 + 1:02}-{seconds // 86400 % 28 + 1:02}T{seconds // 3600 % 24:02}:" \
            f"{seconds // 60 % 60:02}:{clock % 60:06.3f}"
    bits = rng.getrandbits(96)
    word = _WORDS[bits % 26]
    return (f"{stamp} host{bits >> 8 & 7} {_SERVICES[(bits >> 11) % 10]}[{bits >> 16 & 32767}]: {word} "
            f"{_WORDS[(bits >> 32) % 26]} from 10.{bits >> 40 & 3}.{bits >> 42 & 255}.{bits >> 50 & 255} "
            f"id={bits >> 60:09x} bytes={bits >> 5 & 65535} status={(200, 200, 200, 304, 404, 500)[(bits >> 3) % 6]}\n")


def _text_file(path: Path, size: int, seed: str) -> None:
    rng, clock, written = random.Random(seed), 0.0, 0
    with open(path, "w", encoding="ascii") as out:
        while written < size:
            clock += rng.random()
            written += out.write(log_line(rng, clock))
        out.truncate(size)


def _tree(root: Path, files: int, sizes: Callable[[random.Random], int], a_directory: int, seed: str) -> None:
    """Files of text in a tree two levels deep, `a_directory` of them in each directory, give or take half."""
    rng = random.Random(seed)
    pool = "".join(log_line(rng, number * 0.7) for number in range(10_000)).encode()
    made = group = 0
    while made < files:
        here = root / "tree" / f"{_WORDS[group // 20 % 26]}{group // 20:03}" / f"{_WORDS[group % 26]}-{group:05}"
        here.mkdir(parents=True)
        for _ in range(min(files - made, rng.randint(a_directory // 2, a_directory * 3 // 2) or 1)):
            size, start = sizes(rng), rng.randrange(len(pool) - 10_000)
            name = f"{_WORDS[rng.randrange(26)]}_{made:06}.{('c', 'h', 'txt', 'json', 'py')[made % 5]}"
            (here / name).write_bytes((b"%d\n" % made + pool[start:start + size])[:size])
            made += 1
        group += 1


def _small_size(rng: random.Random) -> int:
    return int(300 * 30 ** rng.random())  # 300 to 9000 bytes, as many in each octave


def _tiny_size(rng: random.Random) -> int:
    return rng.randint(1, 200)


def _settle_times(root: Path) -> None:
    """Fixed mtimes with nanoseconds for everything, deepest first so that directories keep theirs."""
    number = 0
    for here, _, files in os.walk(root, topdown=False):
        for name in [*sorted(files), "."]:
            number += 1
            stamp = (EPOCH + number % 1_000_000) * 10**9 + number * 1_234_567 % 10**9
            os.utime(os.path.join(here, name), ns=(stamp, stamp))


def _only_file(root: Path) -> Path:
    return next(path for path in root.iterdir() if path.is_file())


def _change_pages(root: Path, rng: random.Random) -> None:
    """One page in a hundred, anywhere, in place."""
    with open(_only_file(root), "r+b") as image:
        pages = os.fstat(image.fileno()).st_size // PAGE
        for page in sorted(rng.sample(range(pages), max(1, pages // 100))):
            os.pwrite(image.fileno(), rng.randbytes(PAGE), page * PAGE)


def _insert_front(root: Path, rng: random.Random) -> None:
    """1000 bytes before all others, written as an editor does: a new file, renamed over the old one."""
    path, fresh = _only_file(root), root.parent / "insert.new"
    with open(path, "rb") as old, open(fresh, "wb") as new:
        new.write(rng.randbytes(1000))
        while data := old.read(4 * MIB):
            new.write(data)
    fresh.rename(path)


def _rewrite(root: Path, rng: random.Random) -> None:
    """One file in ten, chosen at random, gets other bytes of the same length, written as an editor does."""
    files = sorted(path for path in root.rglob("*") if path.is_file())
    for path in rng.sample(files, max(1, len(files) // 10)):
        fresh = path.with_name("rewrite.new")
        fresh.write_bytes(rng.randbytes(path.stat().st_size))
        fresh.rename(path)


def _rename(root: Path, _rng: random.Random) -> None:
    """The only thing in the source gets another name, and its old one the time after."""
    entry = next(root.iterdir())
    head, mark, tail = entry.name.partition("-renamed")
    entry.rename(root / (head + tail if mark else f"{entry.stem}-renamed{entry.suffix}"))


MAKERS: dict[str, Callable[[Sources, Path], None]] = {
    "bulk": lambda s, root: _random_file(root / "bulk.bin", s.bytes_of(1024 * MIB), "bulk"),
    "text": lambda s, root: _text_file(root / "service.log", s.bytes_of(512 * MIB), "text"),
    "small": lambda s, root: _tree(root, s.count_of(50_000), _small_size, 40, "small"),
    "tiny": lambda s, root: _tree(root, s.count_of(300_000), _tiny_size, 100, "tiny"),
    "image": lambda s, root: _random_file(root / "disk.raw", s.bytes_of(1024 * MIB), "image"),
    "insert": lambda s, root: _random_file(root / "disk.raw", s.bytes_of(1024 * MIB), "insert"),
    "rename-image": lambda s, root: _random_file(root / "disk.raw", s.bytes_of(1024 * MIB), "rename"),
    "rename-dir": lambda s, root: _tree(root, s.count_of(50_000), _small_size, 40, "rename-dir"),
    "link-text": lambda s, root: _text_file(root / "service.log", s.bytes_of(128 * MIB), "link-text"),
    "link-bulk": lambda s, root: _random_file(root / "bulk.bin", s.bytes_of(64 * MIB), "link-bulk"),
    "link-bulk-1g": lambda s, root: _random_file(root / "bulk.bin", s.bytes_of(512 * MIB), "link-bulk-1g"),
    "delay-small": lambda s, root: _tree(root, s.count_of(1000), _small_size, 40, "delay-small"),
    "delay-bulk": lambda s, root: _random_file(root / "bulk.bin", s.bytes_of(256 * MIB), "delay-bulk"),
}

CHANGES: dict[str, Callable[[Path, random.Random], None]] = {
    "pages": _change_pages,
    "insert": _insert_front,
    "rename": _rename,
    "rewrite": _rewrite,
}
