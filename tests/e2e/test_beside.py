# SPDX-License-Identifier: Apache-2.0
"""A destination without attributes, owners, modes, symlinks and devices (exFAT): what it cannot hold is kept beside the
tree, comes back with a pull, follows every change, and belongs to the generation when a run dies."""
from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import unittest
from pathlib import Path

from support import loopfs, tree
from support.gen import ACL_ACCESS, acl
from support.run import Case

# On both sides of the commit point, and where the rows are written and settled.
DEATHS = ("session.sink.planned", "txn.commit.locked", "txn.commit.journal_written", "txn.apply.kept_old",
          "txn.finish.synced", "txn.finish.head", "txn.finish.journal_removed", "session.sink.committed")


def build(root: Path) -> None:
    (root / "dir/deep").mkdir(parents=True)
    for name, mode, owner in (("plain", 0o640, 1234), ("dir/setuid", 0o4755, 0), ("dir/deep/none", 0o000, 7)):
        (root / name).write_text(f"content of {name}\n")
        os.chown(root / name, owner, owner)
        os.chmod(root / name, mode)
    os.symlink("plain", root / "link")
    os.symlink("x" * 300, root / "dir/dangling")
    os.mkfifo(root / "dir/fifo", 0o620)
    os.mknod(root / "dir/char", stat.S_IFCHR | 0o640, os.makedev(300, 70000))
    os.setxattr(root / "plain", "user.text", b"value")
    os.setxattr(root / "plain", ACL_ACCESS, acl(1000, 4))
    os.setxattr(root / "dir", "user.on-directory", b"yes")
    os.chmod(root / "dir/deep", 0o1750)
    for path in [*root.rglob("*"), root]:
        os.utime(path, ns=(10**18, 10**18 + 123456789 + len(str(path))), follow_symlinks=False)


def change(root: Path) -> None:
    """One of each kind of change to what is kept."""
    os.unlink(root / "link")
    (root / "link").write_text("a file now")
    os.unlink(root / "dir/fifo")
    os.symlink("elsewhere", root / "dir/fifo")
    os.chown(root / "plain", 5, 6)
    os.setxattr(root / "dir", "user.on-directory", b"no")
    os.rename(root / "dir/char", root / "dir/char2")
    shutil.rmtree(root / "dir/deep")
    (root / "dir/setuid").write_text("other content")
    os.chmod(root / "dir/setuid", 0o700)


class Beside(Case):
    def setUp(self) -> None:
        super().setUp()
        self.disk = loopfs.mounted_for(self, self.dir, "exfat", 64)
        self.source = self.dir / "source"
        build(self.source)
        self.pool = self.disk.mount / "pool"

    def pulled(self, pool: Path | None = None) -> tree.Tree:
        back = self.dir / "back"
        shutil.rmtree(back, ignore_errors=True)
        self.run_ok("pull", f"{pool or self.pool}/", back)
        return tree.snapshot(back)

    def push(self, pool: Path | None = None) -> str:
        return self.run_ok("push", "--delete", f"{self.source}/", pool or self.pool).stdout.decode()

    def rows(self) -> int:
        with sqlite3.connect(self.pool / ".nbackup/kept.db") as database:
            return database.execute("SELECT COUNT(*) FROM kept").fetchone()[0]

    def test_everything_comes_back(self) -> None:
        self.assertIn("kept aside", self.push())
        self.assertFalse((self.pool / "link").is_symlink())
        self.assert_same_tree(self.source, self.pulled())
        self.assertIn("nothing to do", self.push())
        self.run_ok("verify", f"{self.source}/", self.pool)
        self.disk.remount()
        self.assertIn("nothing to do", self.push())
        self.assert_same_tree(self.source, self.pulled())

    def test_an_earlier_generation_says_that_it_lacks_what_is_kept(self) -> None:
        """What is kept belongs to the live tree; contents come back, and nothing passes for complete."""
        self.push()
        change(self.source)
        self.push()
        back, now = self.dir / "earlier", self.dir / "now"
        outcome = self.run_code(23, "restore", "--at", "1", f"{self.pool}/", back)
        self.assertIn(b"cannot hold are kept for the live one only", outcome.stderr, outcome.text)
        self.assertEqual((back / "dir/setuid").read_text(), "content of dir/setuid\n")
        self.assertEqual((back / "plain").stat().st_uid, (self.pool / "plain").stat().st_uid, "not the owner of today")
        self.run_ok("restore", "--at", "2", f"{self.pool}/", now)
        outcome = self.run_code(23, "restore", "--at", "1", f"{self.pool}:plain", "-")
        self.assertEqual(outcome.stdout, b"content of plain\n", outcome.text)
        self.assert_same_tree(self.source, now)

    def test_it_follows_every_change_and_leaves_nothing_behind(self) -> None:
        self.push()
        change(self.source)
        self.push()
        self.assert_same_tree(self.source, self.pulled())
        self.assertIn("nothing to do", self.push())
        self.assertEqual(self.rows(), len(list(self.source.rglob("*"))) + 1)
        for path in self.source.iterdir():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        self.run_ok("push", "--delete", "--allow-empty", "--max-delete", "-1", f"{self.source}/", self.pool)
        self.assertEqual(self.rows(), 1)

    def test_a_directory_that_changes_alone(self) -> None:
        self.push()
        os.chmod(self.source / "dir", 0o1711)
        os.chown(self.source / "dir", 7, 8)
        self.assertNotIn("nothing to do", self.push())
        self.assertIn("nothing to do", self.push())
        self.assert_same_tree(self.source, self.pulled())

    def test_a_named_source_and_a_part_of_the_set(self) -> None:
        self.push()
        self.run_ok("pull", self.pool, self.dir / "named")
        self.assert_same_tree(self.source, self.dir / "named/pool")
        self.run_ok("pull", self.pool / "dir", self.dir / "part")
        self.assert_same_tree(self.source / "dir", self.dir / "part/dir")
        self.run_ok("pull", f"{self.pool}/dir/", self.dir / "content")
        self.assert_same_tree(self.source / "dir", self.dir / "content")
        self.run_ok("pull", self.pool / "dir/dangling", self.dir / "one")
        self.assertEqual(os.readlink(self.dir / "one"), "x" * 300)

    def test_a_dry_run_sees_it_and_writes_nothing(self) -> None:
        self.push()
        before = (self.pool / ".nbackup/kept.db").read_bytes()
        change(self.source)
        self.run_ok("push", "-n", "--delete", f"{self.source}/", self.pool)
        self.assertEqual((self.pool / ".nbackup/kept.db").read_bytes(), before)

    def test_a_damaged_store_is_told_and_healed(self) -> None:
        self.push()
        (self.pool / ".nbackup/kept.db").write_bytes(b"x" * 8192)
        outcome = self.run_code(23, "pull", f"{self.pool}/", self.dir / "back")
        self.assertIn(b"kept beside the tree", outcome.stderr)
        outcome = self.run_code(23, "push", "--delete", f"{self.source}/", self.pool)
        self.assertIn(f"{self.pool}/.nbackup/kept.db was damaged".encode(), outcome.stderr)
        self.assertNotIn(b"/proc/self", outcome.stderr)
        self.assert_same_tree(self.source, self.pulled())

    def test_a_store_that_is_gone_is_told_and_made_anew(self) -> None:
        self.push()
        (self.pool / ".nbackup/kept.db").unlink()
        path = f"{self.pool}/.nbackup/kept.db is missing".encode()
        self.assertIn(path, self.run_code(23, "pull", f"{self.pool}/", self.dir / "back").stderr)
        self.assertIn(path, self.run_code(23, "push", "-n", f"{self.source}/", self.pool).stderr)
        self.assertIn(path, self.run_code(23, "push", "--delete", f"{self.source}/", self.pool).stderr)
        self.assert_same_tree(self.source, self.pulled())
        self.assertIn("nothing to do", self.push())

    def test_damaged_rows_are_told_and_healed(self) -> None:
        for sql in ("UPDATE kept SET gone = gone - 1 WHERE path = CAST('plain' AS BLOB)",
                    "UPDATE kept SET gone = 1 WHERE path = CAST('plain' AS BLOB)",
                    "UPDATE kept SET since = since + 1000 WHERE path = CAST('plain' AS BLOB)",
                    "UPDATE kept SET attributes = x'00' WHERE path = CAST('plain' AS BLOB)",
                    "UPDATE kept SET path = CAST('plaim' AS BLOB) WHERE path = CAST('plain' AS BLOB)"):
            with self.subTest(sql):
                self.push()
                with sqlite3.connect(self.pool / ".nbackup/kept.db") as database:
                    self.assertEqual(database.execute(sql).rowcount, 1)
                told = f"in {self.pool}/.nbackup/kept.db was damaged, 1 row".encode()
                self.assertIn(told, self.run_code(23, "pull", f"{self.pool}/", self.dir / "back").stderr)
                self.assertIn(told, self.run_code(23, "push", "--delete", f"{self.source}/", self.pool).stderr)
                self.assert_same_tree(self.source, self.pulled())
                self.assertIn("nothing to do", self.push())

    def test_names_that_are_refused_are_told_and_the_rest_is_committed(self) -> None:
        self.push()
        (self.source / "a:b").write_text("no colon there")
        (self.source / "PLAIN").write_text("the same name there")
        (self.source / "new").write_text("one")
        (self.source / "NEW").write_text("two")
        (self.source / "DIR").mkdir()
        (self.source / "DIR/inside").write_text("x")
        (self.source / "good").write_text("good")
        (self.source / "c:d").mkdir()
        (self.source / "c:d/inside").write_text("x")
        before = (self.pool / "plain").read_text()
        for _ in range(2):
            outcome = self.run_code(23, "push", "--delete", f"{self.source}/", self.pool)
            for name in (b"a:b", b"PLAIN", b"new", b"DIR", b"c:d"):
                self.assertIn(b"nbackup: " + name, outcome.stderr, outcome.text)
            self.assertEqual((self.pool / "good").read_text(), "good")
            self.assertEqual((self.pool / "plain").read_text(), before)
            self.assertEqual((self.pool / "NEW").read_text(), "two")
            self.assertEqual(sorted(os.listdir(self.pool)), [".nbackup", "NEW", "dir", "good", "link", "plain"])
            self.assert_clean(self.pool)

    def test_old_or_new_wherever_it_dies(self) -> None:
        seen = set()
        for number, point in enumerate(DEATHS):
            with self.subTest(failpoint=point):
                pool = self.disk.mount / f"pool{number}"
                shutil.rmtree(self.source)
                build(self.source)
                old = tree.snapshot(self.source)
                self.push(pool)
                change(self.source)
                new = tree.snapshot(self.source)
                server = self.world.server(f"{point}=abort")
                died = self.world.run("push", "--delete", *self.world.carrier_options("fake", server),
                                      f"{self.source}/", self.world.far(pool, "fake"))
                self.assertNotEqual(died.code, 0, died.text)
                self.run_code((0, 46), "recover", "--wait", "20", pool)
                have = self.pulled(pool)
                is_old = not tree.compare(old, have)
                seen.add(is_old)
                if not is_old:
                    self.assert_same_tree(new, have, point)
                self.push(pool)
                self.assert_same_tree(new, self.pulled(pool), point)
        self.assertEqual(seen, {True, False})


if __name__ == "__main__":
    unittest.main()
