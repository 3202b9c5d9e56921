# SPDX-License-Identifier: Apache-2.0
"""Hard-link groups whose first name is not what it was, or not sent; and what only looks like what was asked for: names
that are excluded at the destination, resume data of other contents, sources on several file systems."""
from __future__ import annotations

import os
import shutil
import signal
import unittest
from pathlib import Path

from support import loopfs, options as opt
from support.crash import wait_stopped
from support.run import PLAIN_USER, Case, Running


class Small(Case):
    def setUp(self) -> None:
        super().setUp()
        self.source, self.sink = self.dir / "source", self.dir / "sink"
        self.source.mkdir()

    def put(self, name: str, content: str | bytes) -> Path:
        path = self.source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def stopped(self, failpoint: str, *options: str) -> Running:
        """A push that stands there; the far end goes on."""
        run = self.world.spawn("push", *self.world.carrier_options("fake", self.world.server()), *options,
                               f"{self.source}/", f"nbtest:{self.sink}", failpoint=failpoint)
        self.addCleanup(run.kill)  # if it has not ended: one that stands would stay
        self.assertTrue(wait_stopped(run.process.pid), f"never at {failpoint}")
        return run

    def go_on(self, run: Running) -> int:
        run.kill(signal.SIGCONT)
        return run.wait().code


class ChangedMeanwhile(Small):
    def test_first_name_is_replaced(self) -> None:
        """As an editor does it: the other names are still the old file."""
        for content in ("old", "old" * 100_000):
            for there in (False, True):
                with self.subTest(bytes=len(content), there=there):
                    shutil.rmtree(self.source), self.source.mkdir()
                    self.sink = self.dir / f"sink{len(content)}{there}"
                    os.link(self.put("a", "before" if there else content), self.source / "b")
                    self.put("z/y/x", "more to scan")
                    if there:
                        self.run_ok("push", f"{self.source}/", self.sink)
                        self.put("a", content)
                    run = self.stopped("session.source.scan=stop@2")
                    self.put("new", "edited")
                    os.rename(self.source / "new", self.source / "a")
                    code = self.go_on(run)
                    self.assertIn(code, (opt.PARTIAL, opt.VANISHED))
                    found = (self.sink / "b").read_text() if (self.sink / "b").exists() else None
                    self.assertIn(found, (content, "before") if there else (content, None))
                    self.run_ok("push", f"{self.source}/", self.sink)
                    self.assertEqual((self.sink / "a").read_text(), "edited")
                    self.assertEqual((self.sink / "b").read_text(), content)

    def test_inode_is_given_to_another_file(self) -> None:
        os.link(self.put("a/x", "first"), self.source / "a/y")
        (self.source / "z").mkdir()
        inode = (self.source / "a/x").stat().st_ino
        self.run_ok("push", f"{self.source}/", self.sink)
        run = self.stopped("session.source.scan=stop@3")
        os.unlink(self.source / "a/x"), os.unlink(self.source / "a/y")
        for number in range(64):
            if self.put(f"z/f{number}", "other").stat().st_ino == inode:
                os.link(self.source / f"z/f{number}", self.source / "z/g")
                break
        else:
            self.go_on(run)
            self.skipTest("this file system gave the inode to nobody")
        self.assertIn(self.go_on(run), (0, opt.PARTIAL, opt.VANISHED))
        self.assertIn("g", os.listdir(self.sink / "z"))
        for path in (self.sink / "z").iterdir():
            self.assertEqual(path.read_text(), "other", path)


class NotSent(Small):
    def test_first_name_lies_in_a_mount_that_is_not_entered(self) -> None:
        self.need_root()
        disk = self.dir / "disk"
        self.addCleanup(loopfs.Tmpfs(disk, 1).close)
        for name in ("other", "second/n"):
            (disk / name).mkdir(parents=True)
        (disk / "other/f").write_text("new")
        os.link(disk / "other/f", disk / "second/n/z")
        (self.sink / "m").mkdir(parents=True)
        (self.sink / "m/f").write_text("stale")
        self.addCleanup(loopfs.Tmpfs(self.source / "m", bind=disk / "other").close)
        self.run_ok("push", "-x", f"{self.source}/", f"{disk}/second/", self.sink)
        self.assertEqual((self.sink / "n/z").read_text(), "new")
        self.assertEqual((self.sink / "m/f").read_text(), "stale")

    def test_directory_of_one_source_that_cannot_be_read(self) -> None:
        """What the other source has there is sent all the same."""
        self.need_root()
        first, second = self.dir / "first", self.dir / "second"
        for root in (first, second):
            (root / "d").mkdir(parents=True)
        (first / "d/f").write_text("new")
        (first / "e").mkdir()
        os.link(first / "d/f", first / "e/g")
        (second / "d").chmod(0)
        for path in (self.dir, first, first / "d", first / "e", second):
            os.chmod(path, 0o755)
        pool = self.plain_users_directory("pool")
        outcome = self.run_code(opt.PARTIAL, "push", opt.NEW_SET, f"{first}/", f"{second}/", pool, user=PLAIN_USER)
        self.assertIn(b"second", outcome.stderr)
        self.assertEqual((pool / "d/f").read_text(), "new")
        self.assertEqual((pool / "e/g").read_text(), "new")


class Excluded(Small):
    def test_directory_here_of_a_name_that_is_a_file_there(self) -> None:
        self.put("c/f", "one")
        self.run_ok("push", f"{self.source}/", self.sink)
        shutil.rmtree(self.source / "c")
        self.put("c", "a file now")
        for options in (("-n",), (), ("--delete",)):
            outcome = self.run_code(opt.PARTIAL, "push", *options, "--exclude=c/", f"{self.source}/", self.sink)
            self.assertIn(b"c at the destination, where the name is excluded", outcome.stderr)
            self.assertEqual((self.sink / "c/f").read_text(), "one")
        self.assert_clean(self.sink)

    def test_file_here_of_a_name_that_is_a_directory_there(self) -> None:
        self.put("c", "one")
        self.run_ok("push", f"{self.source}/", self.sink)
        (self.source / "c").unlink()
        self.put("c/f", "in a directory now")
        for options in (("-n",), (), ("--delete",)):
            outcome = self.run_code(opt.PARTIAL, "push", *options, "--include=c/", "--exclude=c", f"{self.source}/",
                                    self.sink)
            self.assertIn(b"c/ at the destination, where the name is excluded", outcome.stderr)
            self.assertEqual((self.sink / "c").read_text(), "one")
        self.assert_clean(self.sink)
        self.run_ok("push", "--exclude=c", self.source / "c", self.sink)  # nothing is left to send
        self.assertEqual((self.sink / "c").read_text(), "one")
        self.run_ok("push", self.source / "c", self.sink)
        self.assertEqual((self.sink / "c/f").read_text(), "in a directory now")


class Resumed(Small):
    def test_attributes_that_were_staged_and_are_gone(self) -> None:
        for options in ((), ("-c",)):
            with self.subTest(options=options):
                self.put("new/f", os.urandom(300_000)), self.put("f", os.urandom(300_000))
                places = [self.source / name for name in ("new", "new/f", "f")]
                for place in places:
                    os.setxattr(place, "user.gone", b"by then")
                    os.setxattr(place, "user.other", b"before")
                (self.source / "f").chmod(0o444)
                dead = self.world.run("push", *options, f"{self.source}/", self.sink,
                                      failpoint="session.sink.planned=error")
                self.assertNotEqual(dead.code, 0)
                for place in places:
                    os.removexattr(place, "user.gone")
                    os.setxattr(place, "user.other", b"after")
                self.run_ok("push", *options, f"{self.source}/", self.sink)
                self.assert_same_tree(self.source, self.sink)
                shutil.rmtree(self.source), self.source.mkdir()
                self.run_ok("push", "--allow-empty", "--delete", f"{self.source}/", self.sink)

    def test_content_that_was_staged_and_is_another_now(self) -> None:
        """Of the same size and time: it was never committed, so nobody has taken it for good."""
        for size in (100, 300_000):
            for place in ("f", "new/f"):
                for options in ((), ("-c",)):
                    with self.subTest(size=size, place=place, options=options):
                        self.put("other", "there already")
                        self.run_ok("push", "--delete", f"{self.source}/", self.sink)
                        os.utime(self.put(place, os.urandom(size)), (1_500_000_000, 1_500_000_000))
                        dead = self.world.run("push", *options, f"{self.source}/", self.sink,
                                              failpoint="session.sink.planned=error")
                        self.assertNotEqual(dead.code, 0)
                        os.utime(self.put(place, os.urandom(size)), (1_500_000_000, 1_500_000_000))
                        self.run_ok("push", *options, f"{self.source}/", self.sink)
                        self.assert_same_tree(self.source, self.sink)
                        shutil.rmtree(self.source), self.source.mkdir()


class SeveralFileSystems(Small):
    def test_one_file_system_for_each_source(self) -> None:
        disk = loopfs.mounted_for(self, self.dir, "ext4", 16)
        other = disk.mount / "other"
        (other / "x/y").mkdir(parents=True)
        (other / "x/y/deep").write_text("deep")
        (self.source / "x").mkdir()
        (self.source / "m").mkdir()
        (other / "m").mkdir()
        (other / "m/plain").write_text("plain")
        small = loopfs.Tmpfs(self.source / "m", 1)
        self.addCleanup(small.close)
        (small.mount / "mounted").write_text("mounted")
        for number, ends in enumerate(((self.source, other), (other, self.source))):
            sink = self.dir / f"sink{number}"
            for _ in range(2):
                self.run_ok("push", "-x", *(f"{each}/" for each in ends), sink)
            self.assertEqual((sink / "x/y/deep").read_text(), "deep")
            self.assertEqual(os.listdir(sink / "m"), ["plain"])


if __name__ == "__main__":
    unittest.main()
