# SPDX-License-Identifier: Apache-2.0
"""Metadata: everything as root; and what a plain user's sink cannot set, kept aside and restored by a pull as root."""
from __future__ import annotations

import os
import shutil
import socket
import stat
import subprocess
import unittest
from pathlib import Path

from support import loopfs, tree
from support.gen import ACL_ACCESS, ACL_DEFAULT, CAP_NET_RAW, acl
from support.run import PLAIN_GID, PLAIN_UID, PLAIN_USER, Case

STAT_KEY = b"user.rsync.%stat"


def build(root: Path) -> None:
    """One of each kind of thing, with every kind of metadata."""
    (root / "dir").mkdir(parents=True)
    for name, mode in (("plain", 0o644), ("setuid", 0o4755), ("setgid", 0o2755), ("none", 0o000), ("sticky", 0o1644)):
        (root / name).write_text(f"content of {name}\n")
        os.chown(root / name, 1234, 4321)
        os.chmod(root / name, mode)
    os.symlink("nowhere/at all", root / "dangling")
    os.symlink("/etc/passwd", root / "outside")
    os.chown(root / "dangling", 77, 88, follow_symlinks=False)
    os.mkfifo(root / "fifo", 0o620)
    with socket.socket(socket.AF_UNIX) as sock:
        here = os.getcwd()
        os.chdir(root)
        sock.bind("socket")
        os.chdir(here)
    os.mknod(root / "char", stat.S_IFCHR | 0o640, os.makedev(300, 70000))
    os.mknod(root / "block", stat.S_IFBLK | 0o660, os.makedev(7, 3))
    os.chmod(root / "block", 0o660)  # whatever the umask is
    os.chown(root / "block", 5, 6)
    os.link(root / "plain", root / "dir/linked")
    os.link(root / "fifo", root / "dir/linked-fifo")
    os.link(root / "dangling", root / "dir/linked-symlink", follow_symlinks=False)
    (root / "attrs").write_text("x")
    os.setxattr(root / "attrs", "user.text", b"value")
    os.setxattr(root / "attrs", "user.empty", b"")
    os.setxattr(root / "attrs", "user.binary", bytes(range(256)))
    os.setxattr(root / "attrs", "trusted.ours", b"for root only")
    os.setxattr(root / "attrs", ACL_ACCESS, acl(1000, 4))
    os.setxattr(root / "dir", ACL_DEFAULT, acl(1001, 7))
    os.setxattr(root / "dir", "user.on-directory", b"yes")
    (root / "capable").write_text("#!")
    os.setxattr(root / "capable", "security.capability", CAP_NET_RAW)
    with open(root / "holes", "wb") as out:
        out.seek(5 << 20)
        out.write(b"island")
        out.truncate(9 << 20)
    with open(root / "all-hole", "wb") as out:
        out.truncate(3 << 20)
    # None is left at this very second: rsync does not set such a time on what it has just made.
    times = {"plain": -1, "setuid": -(2 * 10**18), "setgid": 5 * 10**18 + 123456789, "attrs": 1, "dangling": 10**18 + 7,
             "fifo": 2 * 10**18 + 1, "char": 3, "block": 4, "outside": 5, "socket": 10**9,
             "holes": 4_300_000_000 * 10**9 + 999_999_999}
    for name, when in times.items():
        os.utime(root / name, ns=(when, when), follow_symlinks=False)
    for name, mode in (("closed", 0o000), ("read-only", 0o555), ("shared", 0o1777), ("group", 0o2775)):
        (root / name).mkdir()
        (root / name / "inside").write_text(name)
        os.chmod(root / name, mode)
        os.utime(root / name, ns=(10**18 + 1, 10**18 + 1))
    os.utime(root / "dir", ns=(-5, -5))
    os.utime(root, ns=(10**18 + 123, 10**18 + 123))


class AsRoot(Case):
    def setUp(self) -> None:
        super().setUp()
        self.need_root()
        self.source, self.sink = self.dir / "source", self.dir / "sink"
        build(self.source)

    def test_everything_arrives(self) -> None:
        self.run_ok("push", f"{self.source}/", self.sink)
        self.assert_same_tree(self.source, self.sink, holes=True)
        back = self.dir / "back"
        self.run_ok("pull", f"{self.sink}/", back)
        self.assert_same_tree(self.source, back, holes=True)

    def test_each_change_of_metadata_alone(self) -> None:
        """Changes without new content: noticed, carried, the content's inode left alone."""
        self.run_ok("push", f"{self.source}/", self.sink)
        changes = {
            "mode": lambda: os.chmod(self.source / "plain", 0o600),
            "owner": lambda: os.chown(self.source / "attrs", 9, 9),
            "time": lambda: os.utime(self.source / "fifo", ns=(4 * 10**17, 4 * 10**17)),
            "symlink time": lambda: os.utime(self.source / "outside", ns=(7, 7), follow_symlinks=False),
            "symlink owner": lambda: os.chown(self.source / "outside", 3, 3, follow_symlinks=False),
            "symlink target": lambda: _retarget(self.source / "outside", "elsewhere"),
            "new xattr": lambda: os.setxattr(self.source / "attrs", "user.new", b"1"),
            "changed xattr": lambda: os.setxattr(self.source / "attrs", "user.text", b"other"),
            "removed xattr": lambda: os.removexattr(self.source / "attrs", "user.empty"),
            "acl": lambda: os.setxattr(self.source / "attrs", ACL_ACCESS, acl(1000, 6)),
            "no acl": lambda: os.removexattr(self.source / "attrs", ACL_ACCESS),
            "default acl": lambda: os.removexattr(self.source / "dir", ACL_DEFAULT),
            "directory mode": lambda: os.chmod(self.source / "closed", 0o755),
            "directory time": lambda: os.utime(self.source / "shared", ns=(1, 1)),
            "device number": lambda: _renumber(self.source / "char"),
            "root": lambda: os.chmod(self.source, 0o750),
        }
        for name, change in changes.items():
            with self.subTest(change=name):
                change()
                inodes = self.inodes()
                self.run_ok("push", f"{self.source}/", self.sink)
                self.assert_same_tree(self.source, self.sink, name, holes=True)
                self.assert_clean(self.sink)
                self.assertEqual(self.inodes(), inodes)

    def inodes(self) -> dict[str, int]:
        """Of the files that are there; what was made anew has another."""
        return {name: (self.sink / name).stat().st_ino for name in ("plain", "attrs", "holes", "closed", "shared")}

    def test_metadata_of_a_hard_link_reaches_all_names(self) -> None:
        self.run_ok("push", f"{self.source}/", self.sink)
        os.chmod(self.source / "plain", 0o611)
        self.run_ok("push", f"{self.source}/", self.sink)
        self.assert_same_tree(self.source, self.sink)
        self.assertEqual(os.lstat(self.sink / "plain").st_ino, os.lstat(self.sink / "dir/linked").st_ino)

    def test_content_below_a_closed_directory(self) -> None:
        self.run_ok("push", f"{self.source}/", self.sink)
        (self.source / "closed/inside").write_text("new content")
        (self.source / "read-only/second").write_text("added")
        self.run_ok("push", f"{self.source}/", self.sink)
        self.assert_same_tree(self.source, self.sink)

    def test_many_and_large_attributes(self) -> None:
        for number in range(20):
            os.setxattr(self.source / "attrs", f"user.n{number}", b"v" * 60)
        try:
            os.setxattr(self.source / "plain", "user.large", b"L" * 3000)
        except OSError:
            self.skipTest("the file system holds no such attribute")
        self.run_ok("push", f"{self.source}/", self.sink)
        self.assert_same_tree(self.source, self.sink)


class RsyncStore(Case):
    """What rsync --fake-super keeps in attributes is a source's own: other programs must find it again."""

    def test_comes_back_under_its_own_names(self) -> None:
        store = self.dir / "store"
        (store / "dir").mkdir(parents=True)
        for name in ("dir/device", "plain", "rounded"):
            (store / name).touch()
        (store / "plain").write_text("content\n")
        os.setxattr(store / "dir", STAT_KEY, b"40750 0,0 77:88")
        os.setxattr(store / "dir/device", STAT_KEY, b"60660 7,3 5:6")
        (store / "link").write_text("where it leads")
        os.setxattr(store / "link", STAT_KEY, b"120777 0,0 5:6")
        os.setxattr(store / "plain", STAT_KEY, b"104755 0,0 77:88")
        os.setxattr(store / "plain", "user.rsync.%aacl", b"1")
        os.setxattr(store / "plain", "user.rsync.user.a", b"2")
        os.setxattr(store / "rounded", "user.nbackup.mtime", b"1.5 2.0")
        back = self.dir / "back"
        self.run_ok("push", f"{store}/", self.dir / "set")
        for command in (("pull",), ("restore",)):
            self.run_ok(*command, f"{self.dir}/set/", back)
            self.assert_same_tree(store, back)
            again = self.run_ok(*command, f"{self.dir}/set/", back)
            self.assertIn(b"nothing to do", again.stdout)
            self.run_ok("verify", f"{self.dir}/set/", back)
            self.run_ok("verify", f"{back}/", self.dir / "set")
            when = (back / "link").stat().st_mtime_ns
            (back / "link").write_text("where it lead?")
            os.utime(back / "link", ns=(when, when))
            self.run_code(40, "verify", f"{self.dir}/set/", back)
            (back / "link").write_text("elsewhere")
            self.assertIn(b"1 changed", self.run_ok(*command, f"{self.dir}/set/", back).stdout)
            self.assert_same_tree(store, back)
            os.removexattr(back / "plain", "user.rsync.user.a")
            shutil.rmtree(back / "dir")
            self.run_code(40, "verify", f"{self.dir}/set/", back)


class Crowded(Case):
    def test_attributes_that_do_not_fit_one_inode(self) -> None:
        """xfs holds 64 KiB of them, ext4 one block: what does not fit is kept beside the tree, and nothing else stops."""
        for kind in ("xfs", "ext4"):
            reason = loopfs.missing(kind)
            if reason:
                self.skipTest(reason)
        with loopfs.LoopFs(self.dir, "xfs", name="source") as source, loopfs.LoopFs(self.dir, "ext4", name="sink") as sink:
            tree_dir = source.mount / "tree"
            tree_dir.mkdir()
            for name in ("before", "crowded", "later"):
                (tree_dir / name).write_text(name)
            for number in range(6):
                os.setxattr(tree_dir / "crowded", f"user.a{number}", bytes([65 + number]) * 1500)
            back = source.mount / "back"
            for arguments in (("push", f"{tree_dir}/", sink.mount / "pool"), ("pull", f"{sink.mount}/pool/", back),
                              ("verify", f"{tree_dir}/", sink.mount / "pool")):
                outcome = self.world.run(*map(str, arguments))
                self.assertEqual(outcome.code, 0, outcome.text)
            for number in range(6):
                self.assertEqual(os.getxattr(back / "crowded", f"user.a{number}"), bytes([65 + number]) * 1500)
            self.assertEqual((sink.mount / "pool/later").read_text(), "later")


class OnEachFileSystem(Case):
    """What one file system shows differently (xfs its ACLs twice, under a second name) is no change and no loss."""

    def test_all_kinds(self) -> None:
        self.need_root()
        source = self.dir / "source"
        build(source)
        for kind in loopfs.TYPES:
            with self.subTest(fs=kind):
                reason = loopfs.missing(kind)
                if reason:
                    self.skipTest(reason)
                with loopfs.LoopFs(self.dir, kind, name=kind) as disk:
                    self._round(source, disk.mount / "set")

    def _round(self, source: Path, sink: Path) -> None:
        self.run_ok("push", f"{source}/", sink)
        self.assert_same_tree(source, sink)
        again = self.run_ok("push", "-i", f"{source}/", sink)
        self.assertEqual([line for line in again.stdout.splitlines() if line[11:12] == b" "], [], again.text)
        self.assert_same_tree(source, sink, "after a second push")
        back = sink.parent / "back"
        self.run_ok("pull", f"{sink}/", back)
        self.assert_same_tree(source, back, "pulled back", ignore_root=True)


class PlainSink(Case):
    """The sink runs as a plain user: owners, devices, capabilities and trusted attributes cannot be set there."""

    def setUp(self) -> None:
        super().setUp()
        self.need_root()
        self.source, self.pool = self.dir / "source", self.dir / "pool"
        build(self.source)
        for path in self._without_attributes():  # those of others are a test of their own
            os.chown(path, PLAIN_UID, PLAIN_GID, follow_symlinks=False)
        self.pool.mkdir()
        os.chown(self.pool, PLAIN_UID, PLAIN_GID)
        os.chmod(self.dir / "scratch", 0o777)
        self.options = self.world.carrier_options("fake", self.world.server(user=PLAIN_USER))
        self.far = f"nbtest:{self.pool}/set"

    def test_kept_aside_and_restored(self) -> None:
        first = self.run_ok("push", *self.options, f"{self.source}/", self.far)
        self._check_stored_form()
        again = self.run_ok("push", "-i", *self.options, f"{self.source}/", self.far)
        changed = [line for line in again.stdout.splitlines() if line[11:12] == b" "]
        self.assertEqual(changed, [], f"kept metadata is no change\n{first.text}\n{again.text}")
        self.run_ok("verify", *self.options, f"{self.source}/", self.far)
        self.run_ok("pull", *self.options, f"{self.far}/", self.dir / "back")
        self.assert_same_tree(self.source, self.dir / "back", "pulled back as root", holes=True, ignore_root=True)

    def _without_attributes(self) -> list[Path]:
        """Symlinks, FIFOs and sockets: the kernel allows no user attributes on them."""
        return [path for path in sorted(self.source.rglob("*"))
                if path.is_symlink() or path.is_fifo() or path.is_socket()]

    def test_owner_of_what_takes_no_attributes(self) -> None:
        """It is kept elsewhere, and restored."""
        for path in self._without_attributes():
            os.chown(path, 77, 88, follow_symlinks=False)
        self.run_ok("push", *self.options, f"{self.source}/", self.far)
        self.run_ok("pull", *self.options, f"{self.far}/", self.dir / "back")
        self.assert_same_tree(self.source, self.dir / "back", ignore_root=True)

    def test_change_of_kept_metadata(self) -> None:
        self.run_ok("push", *self.options, f"{self.source}/", self.far)
        os.chown(self.source / "plain", 42, 43)
        os.chmod(self.source / "block", 0o600)
        os.removexattr(self.source / "attrs", "trusted.ours")
        self.run_ok("push", *self.options, f"{self.source}/", self.far)
        self.run_ok("pull", *self.options, f"{self.far}/", self.dir / "back")
        self.assert_same_tree(self.source, self.dir / "back", ignore_root=True)

    def test_acl_that_takes_away_writing(self) -> None:
        """The attributes of its owner's closed file can be set before its ACL, and not after."""
        for name in ("plain", "fresh"):
            path = self.source / name
            path.write_text("content\n")
            os.chown(path, PLAIN_UID, PLAIN_GID)
        self.run_ok("push", *self.options, f"{self.source}/", self.far)
        for name in ("plain", "."):
            os.setxattr(self.source / name, "user.z", b"1")
            subprocess.run(["setfacl", "-m", "u:5:r", self.source / name], check=True)
            os.chmod(self.source / name, 0o555)
        self.run_ok("push", *self.options, f"{self.source}/", self.far)
        self.run_ok("pull", *self.options, f"{self.far}/", self.dir / "back")
        self.assert_same_tree(self.source, self.dir / "back")

    def test_acl_of_what_is_closed_to_its_owner(self) -> None:
        (self.source / "inside").mkdir()
        for name in ("inside", "plain"):
            os.chown(self.source / name, PLAIN_UID, PLAIN_GID)
            subprocess.run(["setfacl", "-m", "u:5:rwx,g::---", self.source / name], check=True)
            os.chmod(self.source / name, 0o070)  # the mask: user 5 may, the group may not
        self.run_ok("push", *self.options, f"{self.source}/", self.far)
        self.assertEqual((self.pool / "set/plain").stat().st_mode & 0o077, 0)
        again = self.run_ok("push", *self.options, f"{self.source}/", self.far)
        self.assertIn(b"nothing to do", again.stdout)
        self.run_ok("verify", *self.options, f"{self.source}/", self.far)
        self.run_ok("pull", *self.options, f"{self.far}/", self.dir / "back")
        self.assert_same_tree(self.source, self.dir / "back", ignore_root=True)

    def _check_stored_form(self) -> None:
        """As rsync --fake-super writes it: an independent reader must be able to restore from it."""
        kept = tree.snapshot(self.pool / "set")
        self.assertEqual(kept[b"plain"].uid, PLAIN_UID)
        self.assertEqual(kept[b"plain"].xattrs.get(STAT_KEY), b"100644 0,0 1234:4321")
        self.assertEqual(kept[b"block"].type, "file")
        self.assertEqual(kept[b"block"].xattrs.get(STAT_KEY), b"60660 7,3 5:6")

    def test_rsync_reads_it(self) -> None:
        if shutil.which("rsync") is None:
            self.skipTest("no rsync")
        for name in ("closed", "none"):  # rsync as a plain user keeps these too, but cannot read them here
            _remove(self.source / name)
        self.run_ok("push", *self.options, f"{self.source}/", self.far)
        back = self.dir / "by-rsync"
        subprocess.run(["rsync", "-aHAXS", "--numeric-ids", "-M--fake-super", "-e", str(self.world.fake_rsh),
                        "--exclude=.nbackup", f"nbtest:{self.pool}/set/", str(back)], check=True)
        found = tree.compare(tree.snapshot(self.source), tree.snapshot(back), ignore_root=True, ignore=("xattrs",))
        self.assertEqual(found, [])


def _retarget(path: Path, target: str) -> None:
    path.unlink()
    os.symlink(target, path)


def _renumber(path: Path) -> None:
    path.unlink()
    os.mknod(path, stat.S_IFCHR | 0o640, os.makedev(300, 70001))


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


if __name__ == "__main__":
    unittest.main()
