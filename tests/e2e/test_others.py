# SPDX-License-Identifier: Apache-2.0
"""What others do at the destination, or own there, while or before a run: nothing of theirs is lost without a word."""
from __future__ import annotations

import os
import signal
import subprocess
import unittest
from pathlib import Path

from support import options as opt
from support.crash import wait_gone, wait_stopped
from support.run import PLAIN_GID, PLAIN_UID, PLAIN_USER, Case, Running


class Others(Case):
    def setUp(self) -> None:
        super().setUp()
        self.source, self.sink = self.dir / "source", self.dir / "sink"
        self.source.mkdir()
        (self.source / "stays").write_text("stays")

    def start(self, *args: str | Path, failpoint: str = "") -> Running:
        """A run that does not outlive a test that fails."""
        run = self.world.spawn(*args, failpoint=failpoint)
        self.addCleanup(lambda: run.kill() if run.process.poll() is None else None)
        return run

    def go_on(self, run: Running) -> None:
        run.kill(signal.SIGCONT)


class Added(Others):
    """To a directory that is to go as a whole, after it was looked at."""

    def setUp(self) -> None:
        super().setUp()
        (self.sink / "goes/deep").mkdir(parents=True)
        (self.sink / "goes/deep/old").write_text("old")
        (self.sink / "stays").write_text("before")

    def pull(self) -> Running:
        run = self.start("pull", "--delete", *self.world.carrier_options("libssh"), f"nbtest:{self.source}/",
                               self.sink, failpoint="session.sink.planned=stop@1")
        self.assertTrue(wait_stopped(run.process.pid))
        return run

    def test_nothing_is_done_and_the_next_run_does_it(self) -> None:
        for change in ("goes/new", "goes/deep/new", "goes/deep/old"):
            with self.subTest(change=change):
                run = self.pull()
                (self.sink / change).write_text("written meanwhile")
                self.go_on(run)
                outcome = run.wait()
                self.assertEqual(outcome.code, 11, outcome.text)
                self.assertIn(b"goes/ at the destination, which was to be deleted", outcome.stderr)
                self.assertEqual((self.sink / change).read_text(), "written meanwhile")
                self.assertEqual((self.sink / "stays").read_text(), "before")
        self.run_ok("pull", "--delete", *self.world.carrier_options("libssh"), f"nbtest:{self.source}/", self.sink)
        self.assert_same_tree(self.source, self.sink)

    def test_where_a_file_comes(self) -> None:
        (self.source / "goes").write_text("a file now")
        run = self.pull()
        (self.sink / "goes/new").write_text("written meanwhile")
        self.go_on(run)
        self.assertEqual(run.wait().code, 11)
        self.assertEqual((self.sink / "goes/new").read_text(), "written meanwhile")

    def test_gone_by_itself(self) -> None:
        run = self.pull()
        (self.sink / "goes").rename(self.dir / "elsewhere")
        self.go_on(run)
        outcome = run.wait()
        self.assertEqual(outcome.code, 0, outcome.text)
        self.assert_same_tree(self.source, self.sink)


class Owned(Others):
    def test_a_directory_of_another_user_stays(self) -> None:
        """Moving it would need its own permission: such a push was undone each time."""
        self.need_root()
        for path in (self.dir, self.source, self.source / "stays"):
            os.chown(path, PLAIN_UID, PLAIN_GID)
        push = ("push", "--delete", f"{self.source}/", self.sink)
        self.run_ok(*push, user=PLAIN_USER)
        (self.sink / "mine/theirs").mkdir(parents=True)
        (self.sink / "mine/theirs/file").write_text("root's")
        (self.sink / "mine/also").write_text("goes")
        for path in (self.sink / "mine", self.sink / "mine/also"):
            os.chown(path, PLAIN_UID, PLAIN_GID)
        (self.source / "stays").write_text("changed")
        outcome = self.run_code(opt.PARTIAL, *push, user=PLAIN_USER)
        self.assertIn(b"delete mine/theirs/: it belongs to another user", outcome.stderr)
        self.assertEqual((self.sink / "stays").read_text(), "changed")
        self.assertEqual((self.sink / "mine/theirs/file").read_text(), "root's")
        self.assertFalse((self.sink / "mine/also").exists())

    def test_what_another_user_owns_counts_as_no_change(self) -> None:
        self.need_root()
        (self.source / "goes").mkdir()
        for path in (self.dir, self.source, self.source / "goes"):
            os.chown(path, PLAIN_UID, PLAIN_GID)
        push = ("push", "-i", f"{self.source}/", self.sink)
        self.run_ok(*push, user=PLAIN_USER)
        os.chown(self.sink / "goes", 0, 0)
        for option in ("-n", "-v"):
            outcome = self.run_code(opt.PARTIAL, *push, option, user=PLAIN_USER)
            self.assertIn("goes/: owned by someone else here", outcome.text)
            self.assertIn("nothing to do", outcome.text)
            self.assertNotRegex(outcome.stdout.decode(), r"(?m)^\.d.* goes/$")
        (self.sink / "goes/extra").touch()
        outcome = self.run_code(opt.PARTIAL, *push, "--delete", user=PLAIN_USER)
        self.assertIn("goes/ at the destination: of another owner or group", outcome.text)
        self.assertIn("nothing to do", outcome.text)
        self.assertTrue((self.sink / "goes/extra").exists())
        outcome = self.run_code(40, "verify", f"{self.source}/", self.sink, user=PLAIN_USER)
        self.assertRegex(outcome.stdout.decode(), r"(?m)^\.d.* goes/$")


class Immutable(Others):
    def test_trash_that_cannot_be_emptied(self) -> None:
        """It is no trace of a lost journal, however many commits come after it."""
        self.need_root()
        push = ("push", "--delete", "--no-history", f"{self.source}/", self.sink)
        (self.source / "goes/deep").mkdir(parents=True)
        (self.source / "goes/deep/file").write_text("immutable at the destination")
        self.run_ok(*push)
        victim = self.sink / "goes/deep/file"
        inode = victim.stat().st_ino
        subprocess.run(["chattr", "+i", str(victim)], check=True)
        try:
            (self.source / "goes/deep/file").unlink()
            (self.source / "goes/deep").rmdir()
            (self.source / "goes").rmdir()
            for number in range(66):
                (self.source / "stays").write_text(f"{number}")
                self.run_ok(*push)
        finally:
            for path in self.sink.rglob("*"):
                if path.is_file() and path.stat().st_ino == inode:
                    subprocess.run(["chattr", "-i", str(path)], check=True)
        self.assertNotEqual(os.listdir(self.sink / ".nbackup/tx"), [])
        (self.source / "stays").write_text("last")
        self.run_ok(*push)
        self.assertEqual(os.listdir(self.sink / ".nbackup/tx"), [])


class Waiting(Others):
    def test_for_a_run_that_takes_its_set_with_it(self) -> None:
        (self.source / "more").write_text("more")
        self.sink.mkdir()
        options = self.world.carrier_options("libssh")
        first = self.start("pull", *options, f"nbtest:{self.source}/stays", f"{self.sink}/",
                                 failpoint="session.sink.planned=stop@1")
        self.assertTrue(wait_stopped(first.process.pid))
        second = self.start("pull", "-v", "--wait=60", *options, f"nbtest:{self.source}/more", f"{self.sink}/")
        second.wait_for_message(b"waiting for the file set")
        self.go_on(first)
        for run in (first, second):
            outcome = run.wait()
            self.assertEqual(outcome.code, 0, outcome.text)
        self.assertEqual(sorted(os.listdir(self.sink)), ["more", "stays"])

    def stopped_push(self, failpoint: str = "session.sink.planned", *options: str) -> tuple[Running, int]:
        """A push, and its server, which stands where it is about to commit to the set, or at another failpoint."""
        server = self.world.server(f"{failpoint}=stop@1")
        run = self.start("push", *self.world.carrier_options("fake", server), *options, f"{self.source}/",
                         f"nbtest:{self.sink}")
        pid = self.world.server_pid()
        self.assertTrue(wait_stopped(pid))
        return run, pid

    def all_end_well(self, *runs: Running) -> None:
        for run in runs:
            outcome = run.wait()
            self.assertEqual(outcome.code, 0, outcome.text)

    def test_for_a_commit_to_what_is_read(self) -> None:
        """Whoever waits to write must not keep it from being applied."""
        (self.source / "dir").mkdir()
        self.run_ok("push", f"{self.source}/", self.sink)
        for name, command, ends in (
                ("a rollback", "rollback", ("--to=1", self.sink)),
                ("a push within the set", "push", ("-v", f"{self.sink}/dir", f"{self.sink}/copy/"))):
            with self.subTest(waits=name):
                (self.source / "dir/new").write_text(name)
                first, server = self.stopped_push()
                second = self.start(command, "--wait=60", "--wait-readers=5", *ends)
                second.wait_for_message(b"waiting for the file set")
                os.kill(server, signal.SIGCONT)
                self.all_end_well(first, second)

    def test_a_source_may_change(self) -> None:
        """While the destination is waited for, others commit to the set that is to be read."""
        other, far = self.dir / "other", self.world.carrier_options("fake")
        feed = ("push", "--wait-readers=0", f"{self.source}/stays", f"{other}/")
        self.run_ok("push", f"{self.source}/", other)
        self.run_ok("push", f"{self.source}/", self.sink)
        for name, command, ends in (("a push", "push", (f"{other}/stays", self.sink)),
                                    ("a pull", "pull", (*far, self.world.far(f"{other}/stays", "fake"), self.sink)),
                                    ("a restore", "restore", (f"{other}:stays", f"{self.sink}/restored"))):
            with self.subTest(waits=name):
                (self.source / "new").write_text(name)
                first, server = self.stopped_push()
                second = self.start(command, "-v", "--wait=60", *ends)
                second.wait_for_message(b"waiting for the file set")
                (self.source / "stays").write_text(f"fed before {name}")
                self.run_ok(*feed)
                os.kill(server, signal.SIGCONT)
                self.all_end_well(first, second)
                written = self.sink / ("restored" if command == "restore" else "stays")
                self.assertEqual(written.read_text(), f"fed before {name}")

    def test_a_rollback_plans_again(self) -> None:
        """What was committed while it waited may differ in ways that were not to be expected before."""
        same = self.source / "stays"
        same.write_text("first")
        os.utime(same, (1000, 1000))
        self.run_ok("push", f"{self.source}/", self.sink)
        same.write_text("second, and longer")
        self.run_ok("push", f"{self.source}/", self.sink)
        same.write_text("third")
        os.utime(same, (1000, 1000))
        first, server = self.stopped_push()
        second = self.start("rollback", "--wait=60", "--to=1", self.sink)
        second.wait_for_message(b"waiting for the file set")
        os.kill(server, signal.SIGCONT)
        self.all_end_well(first, second)
        self.assertEqual((self.sink / "stays").read_text(), "first")
        self.assertRegex(self.run_ok("generations", self.sink).stdout.splitlines()[-1], rb"^ *4 ")

    def test_for_one_that_makes_the_set(self) -> None:
        # The other one may be quicker once the set is there.
        first, server = self.stopped_push("txn.create.filled", "--wait=60")
        self.run_code(opt.LOCKED, "push", f"{self.source}/", self.sink)
        second = self.start("push", "-v", "--wait=60", f"{self.source}/", self.sink)
        second.wait_for_message(b"which another process is making")
        os.kill(server, signal.SIGCONT)
        self.all_end_well(first, second)
        self.assert_same_tree(self.source, self.sink, ignore_root=True)

    def test_what_was_begun_is_made_by_another(self) -> None:
        first, server = self.stopped_push("txn.create.made", "--wait=60")
        self.run_ok("push", f"{self.source}/", self.sink)
        os.kill(server, signal.SIGCONT)
        self.all_end_well(first)
        self.assert_same_tree(self.source, self.sink, ignore_root=True)
        self.assertRegex(self.run_ok("generations", self.sink).stdout.splitlines()[-1], rb"^ *1 ")

    def test_nobody_waits_for_a_client_that_is_gone(self) -> None:
        self.run_ok("push", f"{self.source}/", self.sink)
        (self.source / "more").write_text("more")
        holder = self.start("pull", *self.world.carrier_options("libssh"), f"nbtest:{self.source}/", self.sink,
                            failpoint="session.sink.planned=stop@1")
        self.assertTrue(wait_stopped(holder.process.pid))
        options = self.world.carrier_options("fake", self.world.server())
        waiting = self.start("push", "-v", "--wait=600", *options, f"{self.source}/", f"nbtest:{self.sink}")
        waiting.wait_for_message(b"waiting for the file set")
        server = self.world.server_pid()
        waiting.kill()
        waiting.wait()
        wait_gone(server, timeout=30)
        self.go_on(holder)
        self.assertEqual(holder.wait().code, 0)


if __name__ == "__main__":
    unittest.main()
