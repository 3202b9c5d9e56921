# SPDX-License-Identifier: Apache-2.0
"""Transfers whose root is not the file set's: a new one enters with its generation, and the directories around it,
which are not transferred, keep their times in the generations before."""
from __future__ import annotations

import os
import subprocess
import unittest
from pathlib import Path

from support import options as opt
from support import tree
from support.crash import own_by_plain_user
from support.gen import make_tree
from support.run import PLAIN_USER, Case, remove_tree

PLANNED = "session.sink.planned=abort"
LONG_AGO_NS = 1_000_000_000_000_000_001


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

    def dies(self, *command: str | Path) -> None:
        """Right before it commits."""
        outcome = self.world.run(*command, failpoint=PLANNED)
        self.assertNotEqual(outcome.code, 0, outcome.text)

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
                self.assertEqual(made.st_gid, self.pool.stat().st_gid)
                self.assertLess(abs(made.st_mtime - like.stat().st_mtime), 3600)
        self.assert_same_tree(self.source, self.pool / "new0/source")
        self.assert_same_tree(self.source, self.pool / "new1/source")

    def test_default_acl_of_what_holds_it(self) -> None:
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
        self.assertIn(b"sub/", outcome.stderr)
        self.assert_same_tree(before, self.pool)

    def test_interrupted_runs_of_other_sources(self) -> None:
        """What they staged and this one does not have must not enter."""
        place = self.pool / "new"
        for sources in ((self.source, self.other), (f"{self.source}/",), (self.other,)):
            self.dies("push", *sources, place)
        self.run_ok("push", self.source, place)
        self.assertEqual(os.listdir(place), ["source"])
        self.assert_same_tree(self.source, place / "source")


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


if __name__ == "__main__":
    unittest.main()
