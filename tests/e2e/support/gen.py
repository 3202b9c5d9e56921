# SPDX-License-Identifier: Apache-2.0
"""Seeded random trees and seeded changes to them.

The same seed on the same tree makes the same result, byte for byte and nanosecond for nanosecond (directories last, so
that nothing depends on when a test ran). Everything is bytes: names may be invalid UTF-8.
"""
from __future__ import annotations

import os
import random
import shutil
import socket
import stat
import struct
from dataclasses import dataclass

ODD_NAMES = (
    b"new\nline", b"invalid-\xff\xfe-utf8", b"-leading-dash", b"trailing space ", b"n" * 255, b"quo'te\"d",
    b"back\\slash", b" leading", b"tab\there", b"star*?[x]", b"#hash", b"~tilde", b"\xc3\xa9-nfc", b"e\xcc\x81-nfd",
    b"...", b".hidden", b"CASE", b"case", b"$HOME", b"semi;colon", b"\x01control", b"col:on", b"--delete",
)
YEAR_NS = 31_556_952 * 10**9
ACL_ACCESS, ACL_DEFAULT = "system.posix_acl_access", "system.posix_acl_default"
CAP_NET_RAW = struct.pack("<5I", 0x0200_0001, 1 << 13, 0, 0, 0)  # security.capability: permitted and effective


@dataclass
class Kinds:
    """What the generator may make; what the test's user or file system cannot do is switched off."""

    devices: bool = os.geteuid() == 0
    sockets: bool = True
    xattrs: bool = True
    acls: bool = True
    owners: bool = os.geteuid() == 0
    hard_links: bool = True
    odd_names: bool = True
    read_only_dirs: bool = True
    special_modes: bool = True
    far_times: bool = True
    big_bytes: int = 300_000


def acl(user: int, perm: int) -> bytes:
    """A POSIX ACL in the kernel's xattr form: owner rwx, one named user, group r-x, mask, others."""
    entries = [(0x01, 7, 0xFFFFFFFF), (0x02, perm, user), (0x04, 5, 0xFFFFFFFF), (0x10, 7, 0xFFFFFFFF),
               (0x20, 4, 0xFFFFFFFF)]
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


class Forest:
    """One tree under one root, made and changed by one random stream."""

    def __init__(self, root: str | bytes, seed: int | str, kinds: Kinds | None = None) -> None:
        self.root = os.fsencode(root)
        self.rng = random.Random(f"nbackup-{seed}")
        self.kinds = kinds or Kinds()
        self.counter = 0
        self._dir_meta: dict[bytes, tuple[int, int]] = {}

    # --- building ---------------------------------------------------------------------------------------------------
    def build(self, entries: int) -> None:
        """Makes about `entries` names below the root, which is made too."""
        os.makedirs(self.root, exist_ok=True)
        dirs = [self.root]
        for _ in range(entries):
            parent = self.rng.choice(dirs[-12:] if self.rng.random() < 0.5 else dirs)
            made = self.make_one(parent)
            if made and os.path.isdir(made) and not os.path.islink(made):
                dirs.append(made)
        for path in dirs:
            self._plan_dir(path)
        self.settle()

    def make_one(self, parent: bytes) -> bytes | None:
        """Makes one random thing in `parent`; returns its path, or nothing if the name was taken."""
        path = os.path.join(parent, self._name())
        if os.path.lexists(path) or len(path) > 3000:
            return None
        self._open_up(parent)
        roll = self.rng.random()
        if roll < 0.22:
            os.mkdir(path)
            self._plan_dir(path)
            self._attributes(path, is_dir=True)
        elif roll < 0.74:
            self._file(path)
        elif roll < 0.84:
            os.symlink(self._target(), path)
            self._time(path)
        elif roll < 0.92 and self.kinds.hard_links:
            self._link(path)
        else:
            self._node(path)
        return path if os.path.lexists(path) else None

    def _name(self) -> bytes:
        self.counter += 1
        if self.kinds.odd_names and self.rng.random() < 0.15:
            return self.rng.choice(ODD_NAMES)
        return b"%s%d%s" % (self.rng.choice((b"f", b"doc", b"Img ", b"x-")), self.rng.randrange(10_000),
                            self.rng.choice((b"", b".txt", b".tmp", b".o", b".jpg")))

    def _file(self, path: bytes) -> None:
        with open(path, "wb") as out:
            roll = self.rng.random()
            if roll < 0.15:
                pass
            elif roll < 0.75:
                out.write(self.rng.randbytes(self.rng.randrange(1, 3000)))
            elif roll < 0.9:
                out.write(self.rng.randbytes(self.rng.randrange(3000, self.kinds.big_bytes)))
            else:
                self._sparse(out)
        self._attributes(path, is_dir=False)
        self._mode_owner_time(path)

    def _sparse(self, out) -> None:  # noqa: ANN001
        for _ in range(self.rng.randrange(1, 4)):
            out.seek(self.rng.randrange(0, 40) * 65536, os.SEEK_SET)
            out.write(self.rng.randbytes(self.rng.randrange(1, 9000)))
        if self.rng.random() < 0.5:
            out.truncate(self.rng.randrange(3, 60) * 65536)

    def _target(self) -> bytes:
        return self.rng.choice((b"nowhere", b"../..", b"/etc/passwd", b"../../../../../../etc", b".", b"f1",
                                b"dang\xffling", b"x" * 200))

    def _link(self, path: bytes) -> None:
        files = [p for p in self.paths() if stat.S_ISREG(os.lstat(p).st_mode)]
        if files:
            os.link(self.rng.choice(files), path)

    def _node(self, path: bytes) -> None:
        roll = self.rng.random()
        if roll < 0.4:
            os.mkfifo(path)
        elif roll < 0.7 and self.kinds.sockets:
            here = os.open(os.path.dirname(path), os.O_RDONLY)
            try:  # a socket address holds 107 bytes: bind by a short name through the descriptor, then rename
                short = b"/proc/self/fd/%d/sk%d" % (here, self.counter)
                with socket.socket(socket.AF_UNIX) as sock:
                    sock.bind(short)
                os.rename(short, path)
            finally:
                os.close(here)
        elif self.kinds.devices:
            kind = self.rng.choice((stat.S_IFCHR, stat.S_IFBLK))
            number = os.makedev(self.rng.randrange(1, 500), self.rng.randrange(1, 70000))  # xfs: no major over 511
            os.mknod(path, kind | 0o600, number)
        else:
            os.mkfifo(path)
        self._mode_owner_time(path)

    # --- metadata ---------------------------------------------------------------------------------------------------
    def _time_ns(self) -> int:
        roll = self.rng.random()
        if self.kinds.far_times and roll < 0.1:
            return -self.rng.randrange(1, 60 * YEAR_NS)
        if self.kinds.far_times and roll < 0.2:
            return self.rng.randrange(140 * YEAR_NS, 400 * YEAR_NS)
        return self.rng.randrange(30 * YEAR_NS, 54 * YEAR_NS)

    def _time(self, path: bytes) -> None:
        when = self._time_ns()
        os.utime(path, ns=(when, when), follow_symlinks=False)

    def _mode_owner_time(self, path: bytes) -> None:
        if self.kinds.owners and self.rng.random() < 0.4:
            os.chown(path, self.rng.choice((0, 1, 1234, 65534)), self.rng.choice((0, 2, 4321)), follow_symlinks=False)
        modes = [0o644, 0o600, 0o755, 0o444, 0o400, 0o664]
        if self.kinds.special_modes:
            modes += [0o4755, 0o2755, 0o1644]
        if not self._has_acl(path):
            os.chmod(path, self.rng.choice(modes))
        self._time(path)

    @staticmethod
    def _has_acl(path: bytes) -> bool:
        return ACL_ACCESS in os.listxattr(path, follow_symlinks=False)

    def _attributes(self, path: bytes, *, is_dir: bool) -> None:
        if self.kinds.xattrs and self.rng.random() < 0.2:
            for _ in range(self.rng.randrange(1, 4)):
                os.setxattr(path, b"user.k%d" % self.rng.randrange(5), self.rng.randbytes(self.rng.randrange(0, 300)))
        if self.kinds.acls and self.rng.random() < 0.12:
            os.setxattr(path, ACL_ACCESS, acl(self.rng.choice((1, 1000, 4000)), self.rng.randrange(8)))
            if is_dir and self.rng.random() < 0.5:
                os.setxattr(path, ACL_DEFAULT, acl(1000, self.rng.randrange(8)))

    def _plan_dir(self, path: bytes) -> None:
        modes = [0o755, 0o700, 0o750] + ([0o555, 0o500] if self.kinds.read_only_dirs else [])
        if self.kinds.special_modes:
            modes += [0o1777, 0o2755]
        self._dir_meta[path] = (self.rng.choice(modes), self._time_ns())

    def settle(self) -> None:
        """Final modes and times of directories, deepest first. Called by build() and mutate()."""
        for path in sorted(self._dir_meta, key=lambda p: (-p.count(b"/"), p)):
            if os.path.isdir(path) and not os.path.islink(path):
                mode, when = self._dir_meta[path]
                if not self._has_acl(path):
                    os.chmod(path, mode)
                os.utime(path, ns=(when, when))
        self._dir_meta.clear()

    def _open_up(self, directory: bytes) -> None:
        """Lets us write into `directory`; settle() gives it its mode back, and a time of its own."""
        info = os.lstat(directory)
        self._dir_meta.setdefault(directory, (stat.S_IMODE(info.st_mode), self._time_ns()))
        if info.st_mode & 0o300 != 0o300:
            os.chmod(directory, stat.S_IMODE(info.st_mode) | 0o700)

    # --- changing ---------------------------------------------------------------------------------------------------
    def paths(self) -> list[bytes]:
        """All names below the root in a fixed order, `.nbackup` left out."""
        out = []
        for here, dirs, files in os.walk(self.root):
            dirs[:] = sorted(name for name in dirs if name != b".nbackup")
            out += [os.path.join(here, name) for name in sorted(dirs + files) if name != b".nbackup"]
        return out

    def mutate(self, count: int) -> None:
        """`count` random changes, each of any kind in CHANGES."""
        for _ in range(count):
            paths = self.paths()
            if len(paths) < 3:
                self.make_one(self.root)
                continue
            self.rng.choice(self.CHANGES)(self, self.rng.choice(paths))
        self.settle()

    def _add(self, path: bytes) -> None:
        self.make_one(path if os.path.isdir(path) and not os.path.islink(path) else os.path.dirname(path))

    def _remove(self, path: bytes) -> None:
        self._open_up(os.path.dirname(path))
        if os.path.isdir(path) and not os.path.islink(path):
            for here, dirs, _files in os.walk(path):
                for name in dirs:
                    if not os.path.islink(os.path.join(here, name)):
                        os.chmod(os.path.join(here, name), 0o700)
            os.chmod(path, 0o700)
            shutil.rmtree(path)
        else:
            os.unlink(path)

    def _rename(self, path: bytes) -> None:
        new = os.path.join(os.path.dirname(path), self._name())
        if not os.path.lexists(new):
            self._move(path, new)

    def _move(self, old: bytes, new: bytes) -> None:
        self._open_up(os.path.dirname(old))
        self._open_up(os.path.dirname(new))
        if os.path.isdir(old) and not os.path.islink(old):
            self._open_up(old)  # '..' inside it changes
        os.rename(old, new)
        for known in [p for p in self._dir_meta if p == old or p.startswith(old + b"/")]:
            self._dir_meta[new + known[len(old):]] = self._dir_meta.pop(known)

    def _swap(self, path: bytes) -> None:
        siblings = [p for p in self.paths() if os.path.dirname(p) == os.path.dirname(path) and p != path]
        if siblings:
            other = self.rng.choice(siblings)
            spare = os.path.join(os.path.dirname(path), b".swap%d" % self.counter)
            self._move(path, spare)
            self._move(other, path)
            self._move(spare, other)

    def _edit(self, path: bytes) -> None:
        """New content: same size, shorter or longer. Only for regular files; others get a new time."""
        info = os.lstat(path)
        if not stat.S_ISREG(info.st_mode):
            return self._touch(path)
        mode = stat.S_IMODE(info.st_mode)
        os.chmod(path, mode | 0o600)
        roll = self.rng.random()
        with open(path, "r+b") as out:
            if roll < 0.4 and info.st_size:
                at = self.rng.randrange(info.st_size)
                out.seek(at)
                out.write(self.rng.randbytes(min(info.st_size - at, 700)))
            elif roll < 0.7:
                out.truncate(self.rng.randrange(info.st_size + 1))
            else:
                out.seek(0, os.SEEK_END)
                out.write(self.rng.randbytes(self.rng.randrange(1, 5000)))
        os.chmod(path, mode)
        self._time(path)
        return None

    def _touch(self, path: bytes) -> None:
        if os.path.isdir(path) and not os.path.islink(path):
            self._dir_meta[path] = (self._dir_meta.get(path, (stat.S_IMODE(os.lstat(path).st_mode), 0))[0],
                                    self._time_ns())
        else:
            self._time(path)

    def _chmod(self, path: bytes) -> None:
        if os.path.islink(path):
            return self._touch(path)
        if os.path.isdir(path):
            return self._plan_dir(path)
        return self._mode_owner_time(path)

    def _retype(self, path: bytes) -> None:
        """The name stays, its type changes."""
        was_dir = os.path.isdir(path) and not os.path.islink(path)
        self._remove(path)
        roll = self.rng.random()
        if roll < 0.4 and not was_dir:
            os.mkdir(path)
            self._plan_dir(path)
            self.make_one(path)
        elif roll < 0.7:
            os.symlink(self._target(), path)
            self._time(path)
        else:
            self._file(path)

    def _relink(self, path: bytes) -> None:
        """Splits a group of hard links (with new content), or joins one."""
        info = os.lstat(path)
        if not stat.S_ISREG(info.st_mode):
            return
        self._open_up(os.path.dirname(path))
        os.unlink(path)
        if info.st_nlink > 1 or self.rng.random() < 0.5:
            self._file(path)
        else:
            self._link(path)

    def _attr(self, path: bytes) -> None:
        """A file or directory gets, changes or loses an attribute or its ACL, and nothing else of it changes."""
        info = os.lstat(path)
        if not self.kinds.xattrs or not (stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode)):
            return
        os.chmod(path, stat.S_IMODE(info.st_mode) | 0o600)
        known = sorted(name for name in os.listxattr(path) if name.startswith("user."))
        roll = self.rng.random()
        if roll < 0.3 and known:
            os.removexattr(path, self.rng.choice(known))
        elif roll < 0.6 and self.kinds.acls:
            if self._has_acl(path):
                os.removexattr(path, ACL_ACCESS)
            else:
                os.setxattr(path, ACL_ACCESS, acl(self.rng.choice((1, 1000, 4000)), self.rng.randrange(8)))
        else:
            os.setxattr(path, b"user.changed", self.rng.randbytes(8))
        os.chmod(path, stat.S_IMODE(info.st_mode))

    CHANGES = (_add, _add, _remove, _rename, _edit, _edit, _edit, _touch, _chmod, _retype, _relink, _swap, _attr)


def make_tree(root: str | bytes, seed: int | str, entries: int, kinds: Kinds | None = None) -> Forest:
    """A new seeded tree at `root`."""
    forest = Forest(root, seed, kinds)
    forest.build(entries)
    return forest
