# SPDX-License-Identifier: Apache-2.0
"""Transfers whose root is not the file set's: a new one enters with its generation, and the directories around it,
which are not transferred, keep their times in the generations before."""
from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import unittest
from pathlib import Path

from support import options as opt
from support import tree
from support.crash import own_by_plain_user, wait_stopped
from support.gen import make_tree
from support.run import PLAIN_GID, PLAIN_UID, PLAIN_USER, Case, Running, remove_tree

PLANNED = "session.sink.planned=abort"
LONG_AGO_NS = 1_000_000_000_000_000_001


def let_go(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


class Inside(Case):
    """A set `pool` of one generation, with old times everywhere."""

    def setUp(self) -> None:
        super().setUp()
        self.source, self.other, self.pool = self.dir / "source", self.dir / "other", self.dir / "pool"
        make_tree(self.source, "inside", 30)
        (self.other / "sub").mkdir(parents=True)
        (self.other / "sub/file").write_text("first")
        self._age(self.other)
        self.run_ok("push", f"{self.other}/", self.pool)
        self.first = tree.snapshot(self.pool)

    @staticmethod
    def _age(root: Path) -> None:
        for here, _, files in os.walk(root):
            for path in (here, *(os.path.join(here, name) for name in files)):
                os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))

    def dies(self, *command: str | Path, failpoint: str = PLANNED) -> None:
        """Right before it commits, unless told otherwise. What it has staged is there."""
        outcome = self.world.run(*command, failpoint=failpoint)
        self.assertIn(outcome.code, (-signal.SIGKILL, opt.PROTOCOL, opt.CONNECT, opt.IN_DOUBT), outcome.text)
        self.assertTrue(os.listdir(self.pool / ".nbackup/tx"), outcome.text)

    def stopped(self, *command: str | Path, failpoint: str) -> tuple[Running, int]:
        """A push to a server that stops there."""
        server = self.world.server(f"{failpoint}=stop")
        run = self.world.spawn(command[0], *self.world.carrier_options("fake", server), *command[1:])
        pid = self.world.server_pid()
        self.addCleanup(let_go, pid)  # a test that fails leaves nothing that stands
        self.assertTrue(wait_stopped(pid))
        return run, pid

    def assert_first_generation(self) -> None:
        back = self.dir / "back"
        self.run_ok("restore", f"{self.pool}/", back, "--at", "1")
        self.assert_same_tree(self.first, back)
        remove_tree(back)

    def generation(self) -> int:
        return max(int(path.name) for path in (self.pool / ".nbackup/history").iterdir() if path.name.isdigit())


class NewRoot(Inside):
    def test_it_enters_with_its_generation(self) -> None:
        for number, (name, carrier) in enumerate((("new", "local"), ("new/", "local"), ("sub/new", "local"),
                                                  ("far", "fake"))):
            with self.subTest(name=name, carrier=carrier):
                ends = (f"{self.source}/", self.world.far(f"{self.pool}/{name}", carrier))
                before = tree.snapshot(self.pool)
                self.dies("push", *self.world.carrier_options(carrier, self.world.server(PLANNED)), *ends)
                self.assert_same_tree(before, self.pool)
                options = self.world.carrier_options(carrier)
                self.run_ok("push", "-n", *options, *ends)
                self.assert_same_tree(before, self.pool)
                self.run_ok("push", *options, *ends)
                self.assert_same_tree(self.source, self.pool / name)
                self.assertEqual(self.generation(), (2, 2, 3, 4)[number])
                self.assert_first_generation()
        self.assert_clean(self.pool)

    def test_a_name_for_its_content(self) -> None:
        """The root is implied: nobody says what it is like."""
        self.need_root()
        os.chown(self.pool, -1, 4321)
        os.chmod(self.pool, 0o2775)
        for number, sources in enumerate(((self.source,), (self.source, self.other), (self.other / "sub/file",))):
            with self.subTest(sources=sources):
                place = self.pool / f"new{number}"
                self.dies("push", self.other, *sources, f"{place}/")
                self.assertFalse(place.exists())
                self.run_ok("push", *sources, f"{place}/")
                self.assertEqual(sorted(os.listdir(place)), sorted(path.name for path in sources))
                made, like = place.stat(), self.dir / f"like{number}"
                like.mkdir()
                self.assertEqual(made.st_mode & 0o7777, like.stat().st_mode & 0o777 | 0o2000)
                self.assertEqual(made.st_gid, 4321)
                self.assertLess(abs(made.st_mtime - like.stat().st_mtime), 3600)
        self.assert_same_tree(self.source, self.pool / "new0/source")
        self.assert_same_tree(self.source, self.pool / "new1/source")

    def test_default_acl_of_what_holds_it(self) -> None:
        if not shutil.which("setfacl"):
            self.skipTest("no setfacl here")
        subprocess.run(["setfacl", "-d", "-m", "u:1234:rwx,o::-", self.pool], check=True)
        self.run_ok("push", self.source, self.pool / "new")
        (self.pool / "like").mkdir()
        made, like = tree.snapshot(self.pool / "new"), tree.snapshot(self.pool / "like")
        self.assertEqual((made[b""].mode, made[b""].xattrs), (like[b""].mode, like[b""].xattrs))
        self.assertIn(b"system.posix_acl_access", made[b""].xattrs)
        self.assert_same_tree(self.source, self.pool / "new/source")

    def test_after_it_was_deleted(self) -> None:
        self.run_ok("push", f"{self.source}/", self.pool / "new")
        self.run_ok("push", "--delete", f"{self.other}/", self.pool)
        self.assertFalse((self.pool / "new").exists())
        self.run_ok("push", f"{self.source}/", self.pool / "new")
        self.assert_same_tree(self.source, self.pool / "new")

    def test_a_pull_into_the_set(self) -> None:
        self.run_ok("pull", f"{self.source}/", self.pool / "new")
        self.assert_same_tree(self.source, self.pool / "new")
        self.assert_first_generation()

    def test_what_holds_it_is_closed(self) -> None:
        self.need_root()
        own_by_plain_user(self.pool, self.source)
        os.chmod(self.pool / "sub", 0o555)
        self.run_ok("push", f"{self.source}/", self.pool / "sub/new", user=PLAIN_USER)
        self.assertEqual((self.pool / "sub").stat().st_mode & 0o7777, 0o555)
        self.assertTrue((self.pool / "sub/new").is_dir())
        os.chown(self.pool / "sub", 0, 0)
        before = tree.snapshot(self.pool)
        outcome = self.run_code(opt.IO, "push", f"{self.source}/", self.pool / "sub/other", user=PLAIN_USER)
        self.assertIn(b"what would hold it is of another owner or group", outcome.stderr)
        self.assertEqual(outcome.stderr.count(b"of another owner or group"), 1, outcome.text)
        self.assert_same_tree(before, self.pool)
        # The kernel would take the bit with the first change of mode.
        os.chown(self.pool / "sub", PLAIN_UID, 4321)
        os.chmod(self.pool / "sub", 0o2555)
        before = tree.snapshot(self.pool)
        self.run_code(opt.IO, "push", f"{self.source}/", self.pool / "sub/other", user=PLAIN_USER)
        self.assert_same_tree(before, self.pool)

    def test_interrupted_runs_of_other_sources(self) -> None:
        """What they staged and this one does not have must not enter."""
        place = self.pool / "new"
        for sources in ((self.source, self.other), (f"{self.source}/",), (self.other,)):
            self.dies("push", *sources, place)
        self.run_ok("push", self.source, place)
        self.assertEqual(os.listdir(place), ["source"])
        self.assert_same_tree(self.source, place / "source")

    def test_interrupted_run_that_had_what_is_excluded_now(self) -> None:
        """Cut off in the middle of it, too."""
        (self.source / "big").write_bytes(os.urandom(3 << 20))
        (self.source / "small").write_text("small")
        for failpoint in ("session.sink.data=abort@2", PLANNED):
            self.dies("push", f"{self.source}/", self.pool / "new", failpoint=failpoint)
        self.run_ok("push", "--exclude=big", "--exclude=small", f"{self.source}/", self.pool / "new")
        (self.source / "big").unlink(), (self.source / "small").unlink()
        self.assert_same_tree(self.source, self.pool / "new", ignore_root=True)

    def test_one_waits_for_another(self) -> None:
        """Each looks while nothing is there yet."""
        ends = (f"{self.source}/", self.world.far(self.pool / "new", "fake"))
        first, pid = self.stopped("push", *ends, failpoint="session.sink.locked")
        second = self.world.spawn("push", "-v", "--wait", "60", self.source, self.pool / "new/")
        single = self.world.spawn("push", "-v", "--wait", "60", "--delete", self.other / "sub/file", self.pool / "new")
        for each in (second, single):
            each.wait_for_message(b"waiting for the file set")
        os.kill(pid, signal.SIGCONT)
        self.assertEqual(first.wait().code, 0)
        self.assertEqual(second.wait().code, 0)
        refused = single.wait()
        self.assertNotEqual(refused.code, 0)
        self.assertIn(b"new is a directory now", refused.stderr)
        self.assert_same_tree(self.source, self.pool / "new/source")

    def test_a_set_was_made_meanwhile(self) -> None:
        """What it lies in, or itself, is another set by the time of the lock."""
        (self.pool / "inner").mkdir()
        run, pid = self.stopped("push", f"{self.source}/", self.world.far(self.pool / "sub", "fake"),
                                failpoint="session.sink.locked")
        late = [self.world.spawn("push", "-v", "--wait", "60", self.source, self.pool / place)
                for place in ("inner/new", "inner/")]
        for each in late:
            each.wait_for_message(b"waiting for the file set")
        self.run_ok("init", self.pool / "inner")
        os.kill(pid, signal.SIGCONT)
        self.assertEqual(run.wait().code, 0)
        for each in late:
            self.assertEqual(each.wait().code, opt.NESTED_SET)
        self.assertEqual(os.listdir(self.pool / "inner"), [".nbackup"])

    def test_verify_finishes_the_commit_that_makes_it(self) -> None:
        ends = (f"{self.source}/", self.pool / "new")
        self.assertIn(b"nothing to compare with", self.run_code(opt.PATH, "verify", *ends).stderr)
        self.dies("push", *ends, failpoint="txn.apply.op=abort@1")
        self.run_ok("verify", *ends)

    def test_below_what_a_pull_left(self) -> None:
        """It becomes a set of its own, and not what it lies in."""
        for name in ("new", "old"):
            with self.subTest(name=name):
                target = self.dir / f"target-{name}"
                (target / "old").mkdir(parents=True)
                options = self.world.carrier_options("fake")
                cut = self.world.run("pull", *options, f"nbtest:{self.source}/", target, failpoint="txn.apply.op=abort")
                self.assertNotEqual(cut.code, 0)
                self.assertTrue((target / ".nbackup").exists())
                for _ in range(2):
                    self.run_ok("push", f"{self.other}/", target / name)
                    self.assertFalse((target / ".nbackup").exists())
                    self.assertTrue((target / name / ".nbackup").exists())
                self.assert_same_tree(self.other, target / name)

    def test_symlink_that_leads_nowhere(self) -> None:
        os.symlink("nowhere", self.pool / "link")
        for options in ((), ("-n",)):
            outcome = self.run_code(opt.PATH, "push", *options, f"{self.source}/", self.pool / "link")
            self.assertIn(b"leads nowhere", outcome.stderr)
        self.assertFalse((self.pool / "nowhere").exists())


class Around(Inside):
    """Directories that are not transferred and get or lose names."""

    def test_names_come(self) -> None:
        for ends in ((self.source, self.pool), (self.other / "sub/file", self.pool / "sub/another"),
                     (self.other / "sub/file", f"{self.pool}/")):
            self.run_ok("push", *ends)
            self.assert_first_generation()
        self.assertNotEqual(self.pool.stat().st_mtime_ns, LONG_AGO_NS)
        before = self.generation()
        self.run_ok("push", self.source, self.pool)
        self.assertEqual(self.generation(), before)

    def test_names_go(self) -> None:
        """Of a directory that stays because it holds what is excluded."""
        (self.other / "gone/deeper").mkdir(parents=True)
        for name in ("gone/keep", "gone/rest", "gone/deeper/keep", "gone/deeper/rest"):
            (self.other / name).write_text(name)
        self._age(self.other)
        self.run_ok("push", f"{self.other}/", self.pool)
        second = tree.snapshot(self.pool)
        remove_tree(self.other / "gone")
        self.run_ok("push", "--delete", "--exclude=keep", f"{self.other}/", self.pool)
        self.assertEqual(sorted(os.listdir(self.pool / "gone")), ["deeper", "keep"])
        self.run_ok("restore", f"{self.pool}/", self.dir / "back", "--at", "2")
        self.assert_same_tree(second, self.dir / "back")

    def test_their_modes_are_somebody_elses(self) -> None:
        """What is done to them while a run goes on stays."""
        run, pid = self.stopped("push", self.source, self.world.far(self.pool, "fake"), failpoint="session.sink.planned")
        os.chmod(self.pool, 0o700)
        os.kill(pid, signal.SIGCONT)
        self.assertEqual(run.wait().code, 0)
        self.assertEqual(self.pool.stat().st_mode & 0o7777, 0o700)

    def test_what_cannot_be_sent_makes_no_generation(self) -> None:
        self.need_root()
        os.chmod(self.dir, 0o755)
        secret = self.dir / "secret"
        secret.write_text("secret")
        secret.chmod(0)
        whole = self.dir / "whole"
        (whole / "sub").mkdir(parents=True)
        (whole / "sub/secret").write_text("secret")
        (whole / "sub/secret").chmod(0)
        (whole / "sub").chmod(0o755)
        mine = self.dir / "mine"
        mine.mkdir()
        os.chmod(self.dir / "cache", 0o777)
        os.chown(mine, PLAIN_UID, PLAIN_GID)
        for sources in ((secret,), (f"{whole}/",)):
            pool = mine / f"pool{len(str(sources))}"
            self.run_ok("init", pool, user=PLAIN_USER)
            numbers = set()
            for _ in range(3):
                self.run_code(opt.PARTIAL, "push", *sources, f"{pool}/", user=PLAIN_USER)
                numbers.add(tuple(sorted(os.listdir(pool / ".nbackup/history"))) if
                            (pool / ".nbackup/history").exists() else ())
            self.assertEqual(len(numbers), 1, numbers)


if __name__ == "__main__":
    unittest.main()
