# SPDX-License-Identifier: Apache-2.0
"""An independent walker: what a directory tree holds, and how two trees differ.

It shares nothing with nbackup, so that a fault in nbackup's scan cannot hide behind itself. Paths are raw bytes,
relative to the root; the root itself is b"". Times are integers in ns.
"""
from __future__ import annotations

import errno
import hashlib
import os
import stat
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Callable, Iterable

CONTROL = b".nbackup"
HOLE_SLACK = 128 * 1024  # file systems round holes to their own block sizes

_TYPES = {
    stat.S_IFREG: "file", stat.S_IFDIR: "dir", stat.S_IFLNK: "symlink", stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket", stat.S_IFCHR: "char", stat.S_IFBLK: "block",
}


@dataclass
class Entry:
    """One name. `links` is the sorted group of names in this tree that share its inode (empty if it is alone)."""

    type: str
    mode: int
    uid: int
    gid: int
    mtime_ns: int
    size: int = 0
    rdev: int = 0
    target: bytes = b""
    digest: str = ""
    data_bytes: int = 0
    xattrs: dict[bytes, bytes] = field(default_factory=dict)
    links: tuple[bytes, ...] = ()


Tree = dict[bytes, Entry]

FIELDS = ("type", "mode", "uid", "gid", "mtime_ns", "size", "rdev", "target", "digest", "xattrs", "links")


def snapshot(root: str | bytes, *, contents: bool = True, keep: Callable[[bytes], bool] | None = None) -> Tree:
    """Everything below `root`; names for which keep() is false are left out with all below. `.nbackup` always is."""
    base = os.fsencode(root)
    tree: Tree = {}
    inodes: dict[tuple[int, int], list[bytes]] = {}
    todo = [b""]
    while todo:
        path = todo.pop()
        full = os.path.join(base, path) if path else base
        info = os.lstat(full)
        tree[path] = _entry(full, info, contents)
        if not stat.S_ISDIR(info.st_mode):
            inodes.setdefault((info.st_dev, info.st_ino), []).append(path)
            continue
        for name in os.listdir(full):
            child = os.path.join(path, name) if path else name
            if name != CONTROL and (keep is None or keep(child)):
                todo.append(child)
    for group in inodes.values():
        if len(group) > 1:
            for path in group:
                tree[path].links = tuple(sorted(group))
    return tree


def _entry(full: bytes, info: os.stat_result, contents: bool) -> Entry:
    kind = _TYPES[stat.S_IFMT(info.st_mode)]
    entry = Entry(kind, stat.S_IMODE(info.st_mode), info.st_uid, info.st_gid, info.st_mtime_ns)
    entry.xattrs = read_xattrs(full)
    if kind == "file":
        entry.size = info.st_size
        if contents:
            entry.digest, entry.data_bytes = _read(full, info.st_size)
    elif kind == "symlink":
        entry.target = os.readlink(full)
        entry.mode = 0o777
    elif kind in ("char", "block"):
        entry.rdev = info.st_rdev
    return entry


def read_xattrs(full: bytes) -> dict[bytes, bytes]:
    """All attributes this process may read, POSIX ACLs and capabilities among them."""
    try:
        names = os.listxattr(full, follow_symlinks=False)
    except OSError as error:
        if error.errno in (errno.ENOTSUP, errno.EPERM, errno.EACCES):
            return {}
        raise
    values = {}
    for name in names:
        if name == "security.selinux" or name.startswith("trusted.SGI_ACL_"):  # xfs shows its ACLs a second time
            continue
        try:
            values[os.fsencode(name)] = os.getxattr(full, name, follow_symlinks=False)
        except OSError as error:
            if error.errno not in (errno.ENODATA, errno.EACCES, errno.EPERM):
                raise
    return values


def _read(full: bytes, size: int) -> tuple[str, int]:
    """SHA-256 of the content and the bytes that are not in holes."""
    digest = hashlib.sha256()
    try:
        fd = os.open(full, os.O_RDONLY | os.O_NOFOLLOW)
    except PermissionError:
        return "unreadable", 0
    try:
        data, at = 0, 0
        while at < size:
            try:
                start = os.lseek(fd, at, os.SEEK_DATA)
            except OSError as error:
                if error.errno == errno.ENXIO:
                    break
                raise
            at = os.lseek(fd, start, os.SEEK_HOLE)
            data += at - start
        os.lseek(fd, 0, os.SEEK_SET)
        while block := os.read(fd, 1 << 20):
            digest.update(block)
        return digest.hexdigest(), data
    finally:
        os.close(fd)


def compare(
    want: Tree,
    have: Tree,
    *,
    ignore: Iterable[str] = (),
    ignore_root: bool = False,
    ignore_dir_times: bool = False,
    ignore_xattrs: Iterable[bytes] = (),
    holes: bool = False,
) -> list[str]:
    """Readable differences, [] if none. `ignore` names fields; `ignore_root` leaves the root's own metadata out.

    With `holes`, a file that lost more than HOLE_SLACK of its holes differs too.
    """
    fields = [name for name in FIELDS if name not in set(ignore)]
    dropped = set(ignore_xattrs)
    out = []
    for path in sorted(want.keys() | have.keys()):
        if path == b"" and ignore_root:
            continue
        if path not in have:
            out.append(f"missing: {path!r} ({want[path].type})")
        elif path not in want:
            out.append(f"extra: {path!r} ({have[path].type})")
        else:
            out += _differences(path, want[path], have[path], fields, ignore_dir_times, dropped, holes)
    return out


def _differences(
    path: bytes, want: Entry, have: Entry, fields: list[str], no_dir_times: bool, dropped: set[bytes], holes: bool
) -> list[str]:
    out = []
    for name in fields:
        if name == "mtime_ns" and no_dir_times and want.type == "dir":
            continue
        a, b = getattr(want, name), getattr(have, name)
        if name == "xattrs" and dropped:
            a = {key: value for key, value in a.items() if key not in dropped}
            b = {key: value for key, value in b.items() if key not in dropped}
        if name == "mode":
            a, b = oct(a), oct(b)
        if a != b:
            out.append(f"{name}: {path!r}: expected {a!r}, found {b!r}")
    if holes and want.type == have.type == "file" and have.data_bytes > want.data_bytes + HOLE_SLACK:
        out.append(f"holes: {path!r}: {want.data_bytes} data bytes became {have.data_bytes}")
    return out


def wait_until_settled(directory: Path) -> None:
    """Files whose times are younger than 2 s may not be recorded; see docs/decisions.md."""
    newest = max(entry.stat().st_ctime for entry in directory.iterdir())
    while time.time() < newest + 2.1:
        time.sleep(0.05)


def is_within(path: bytes, top: bytes) -> bool:
    return not top or path == top or path.startswith(top + b"/")


def grafted(base: Tree, scion: Tree, places: dict[bytes, bytes]) -> Tree:
    """`base` with parts of `scion` in place of what it has there: {where in the scion: where in the base}."""
    moved = {path: b"/".join(part for part in (to, path[len(top):].lstrip(b"/")) if part)
             for top, to in places.items() for path in scion if is_within(path, top)}
    kept = {path: path for path in base if not any(is_within(path, to) for to in places.values())}
    out: Tree = {}
    for names, old in ((kept, base), (moved, scion)):
        for path, name in names.items():
            group = tuple(sorted(names[each] for each in old[path].links if each in names))
            out[name] = replace(old[path], links=group if len(group) > 1 else ())
    return out


def leftovers(root: str | bytes) -> list[str]:
    """What a finished run must not leave in a set's control directory."""
    control = os.path.join(os.fsencode(root), CONTROL)
    if not os.path.isdir(control):
        return []
    out = []
    for name in (b"journal", b"conflict"):
        if os.path.lexists(os.path.join(control, name)):
            out.append(f"left over: {os.fsdecode(os.path.join(CONTROL, name))}")
    stage = os.path.join(control, b"tx")
    if os.path.isdir(stage):
        out += [f"left over: .nbackup/tx/{os.fsdecode(name)}" for name in os.listdir(stage)]
    known = {b"format", b"head", b"lock", b"tx", b"secret", b"spare", b"manifest.db", b"manifest.db-wal", b"manifest.db-shm",
             b"manifest.db.lock", b"kept.db", b"beside", b"past", b"kept.db.lock", b"journal", b"conflict", b"history",
             b"sidecar", b"policy", b"arrivals", b"scrub", b"damage", b"contents.db", b"contents.db-wal", b"contents.db-shm",
             b"contents.db.lock"}
    out += [f"unknown: .nbackup/{os.fsdecode(name)}" for name in os.listdir(control) if name not in known]
    return out


def control_files(root: str | bytes) -> list[bytes]:
    """Every `.nbackup` below root, at any depth."""
    found = []
    for here, names, _files in os.walk(os.fsencode(root)):
        if CONTROL in names:
            found.append(os.path.join(here, CONTROL))
            names.remove(CONTROL)
    return found
