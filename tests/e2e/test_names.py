# SPDX-License-Identifier: Apache-2.0
"""Destinations that ignore the case of names: a name that changes nothing else comes over without anything being lost in
between, and nothing gets into the control directory by another spelling of its name."""
from __future__ import annotations

import os
import subprocess
import unittest
from pathlib import Path

from support import loopfs, tree
from support.run import Case

DEATHS = ("session.sink.planned", "txn.commit.journal_written", "txn.apply.op", "txn.finish.synced", "txn.finish.head")


class Names(Case):
    """On exFAT; the classes below it elsewhere."""

    kind = "exfat"

    def setUp(self) -> None:
        super().setUp()
        reason = loopfs.missing(self.kind)
        if reason:
            self.skipTest(reason)
        self.source = self.dir / "source"
        (self.source / "photos/deep").mkdir(parents=True)
        (self.source / "photos/deep/one").write_text("one")
        (self.source / "photos/large").write_bytes(os.urandom(300_000))
        (self.source / "LOUD").write_text("loud")
        (self.source / "quiet").write_text("quiet")
        disk = loopfs.LoopFs(self.dir, self.kind, size_mb=64)
        self.addCleanup(disk.close)
        self.disk = disk
        self.pool = self.make_pool("pool")

    def make_pool(self, name: str) -> Path:
        pool = self.disk.mount / name
        pool.mkdir()
        if self.kind == "casefold":
            subprocess.run(["chattr", "+F", str(pool)], check=True)
        return pool

    def push(self, code: int = 0, pool: Path | None = None) -> str:
        return self.run_code(code, "push", "--delete", f"{self.source}/", pool or self.pool).text

    def rename(self) -> None:
        os.rename(self.source / "photos", self.source / "Photos")
        os.rename(self.source / "LOUD", self.source / "loud")
        os.rename(self.source / "quiet", self.source / "QUIET")

    def pulled(self, pool: Path | None = None) -> tree.Tree:
        back = self.dir / "back"
        subprocess.run(["rm", "-rf", str(back)], check=True)
        self.run_ok("pull", f"{pool or self.pool}/", back)
        return tree.snapshot(back)

    def contents(self, pool: Path | None = None) -> list[bytes]:
        return sorted(path.read_bytes() for path in (pool or self.pool).rglob("*")
                      if path.is_file() and ".nbackup" not in path.parts)

    def test_a_change_of_case_loses_nothing_and_converges(self) -> None:
        self.push()
        before = self.contents()
        self.rename()
        for _ in range(2):  # a directory may have to wait for the run after the next listing
            outcome = self.run_code((0, 23), "push", "--delete", f"{self.source}/", self.pool)
            self.assertEqual(self.contents(), before, outcome.text)
        self.assertEqual(outcome.code, 0, outcome.text)
        self.assert_same_tree(self.source, self.pulled())
        self.assertIn("nothing to do", self.push())
        self.assert_clean(self.pool)

    def test_files_change_their_case_in_one_run(self) -> None:
        self.push()
        os.rename(self.source / "LOUD", self.source / "loud")
        os.rename(self.source / "quiet", self.source / "QUIET")
        os.rename(self.source / "photos/large", self.source / "photos/LARGE")
        self.push()
        self.assertEqual(sorted(os.listdir(self.pool)), [".nbackup", "QUIET", "loud", "photos"])
        self.assert_same_tree(self.source, self.pulled())

    def test_what_the_source_has_twice_stays_as_it_was(self) -> None:
        self.push()
        (self.source / "Quiet").write_text("another")
        (self.source / "PHOTOS").mkdir()
        (self.source / "PHOTOS/x").write_text("x")
        before = self.contents()
        for _ in range(3):
            text = self.push(23)
            self.assertIn("Quiet at the destination, where quiet is the same name", text)
            self.assertIn("PHOTOS at the destination, where photos is the same name", text)
            self.assertEqual(self.contents(), before)
            self.assert_clean(self.pool)

    def test_new_names_that_are_the_same_in_several_directories(self) -> None:
        """The listings of one come between those of another."""
        for name in ("one", "two"):
            (self.source / name).mkdir()
        self.push()
        for directory, file in (("one/same", "one/SAME"), ("two/same", "two/SAME")):
            (self.source / directory).mkdir()
            (self.source / directory / "below").write_text("below")
            (self.source / file).write_text("file")
        for _ in range(2):
            self.assertIn("SAME", self.push(23))
            self.assert_clean(self.pool)
        self.assertEqual((self.pool / "two/same/below").read_text(), "below")

    def test_a_run_that_goes_on_keeps_names_apart(self) -> None:
        for name, content in (("Twice", "capital"), ("twice", "small")):
            (self.source / "new" / name).mkdir(parents=True)
            (self.source / "new" / name / content).write_text(content)
            (self.source / "new" / name / "both").write_text(content)
        for number in range(2, 7):
            server = self.world.server(f"session.sink.directory=abort@{number}")
            died = self.world.run("push", *self.world.carrier_options("fake", server), f"{self.source}/",
                                  self.world.far(self.pool, "fake"))
            self.assertNotEqual(died.code, 0, died.text)
        for _ in range(2):
            self.assertIn("new/twice", self.push(23))
            self.assert_clean(self.pool)
        found = {path.name: path.read_text() for path in (self.pool / "new/Twice").iterdir()}
        self.assertIn(found, ({"capital": "capital", "both": "capital"}, {"small": "small", "both": "small"}))

    def test_sources_named_one_by_one(self) -> None:
        (self.source / "Quiet").write_text("another")
        names = [self.source / "quiet", self.source / "Quiet"]
        for _ in range(3):
            self.assertIn("uiet at the destination", self.run_code(23, "push", *names, self.pool).text)
            self.assertEqual(self.contents(), [b"another"])

    def test_a_directory_of_the_set_by_another_spelling(self) -> None:
        os.chmod(self.source / "quiet", 0o400)
        os.chmod(self.source / "photos/deep/one", 0o640)
        self.run_ok("push", self.source, self.pool)
        for place in ("SOURCE", "Source/Photos/../../sourcE"):
            self.assertIn("nothing to do", self.run_ok("push", f"{self.source}/", self.pool / place).text)
        os.chmod(self.source / "quiet", 0o440)
        self.run_ok("push", f"{self.source}/photos/", self.pool / "Source/PHOTOS")
        self.run_ok("push", f"{self.source}/", self.pool / "SOURCE")
        self.run_ok("verify", f"{self.source}/", self.pool / "SOURCE")
        self.assert_same_tree(self.source, self.pulled(self.pool / "source"))
        self.assert_same_tree(self.source, self.pulled(self.pool / "SOURCE"))
        self.assertEqual(sorted(os.listdir(self.pool)), [".nbackup", "source"])
        for name, listed in (("SOURCE", "source"), ("source/QUIET", "quiet"), ("Source/PHOTOS", "photos")):
            text = self.run_code(3, "pull", self.pool / name, self.dir / "named").text
            self.assertIn(f"{name}: its name there is {listed}, use that", text)

    def test_what_is_excluded_stays(self) -> None:
        push = ("push", "--exclude", "mine/", f"{self.source}/", self.pool)
        self.run_ok(*push)
        (self.pool / "mine").mkdir()
        (self.pool / "mine/data").write_text("precious")
        (self.source / "mine").write_text("a file")
        self.assertIn("mine", self.run_code(23, *push).text)
        self.assertEqual((self.pool / "mine/data").read_text(), "precious")

    def test_what_the_rules_keep_is_not_half_removed_for_another_case(self) -> None:
        (self.source / "photos/keep.o").write_text("kept by a rule")
        self.push()
        os.rename(self.source / "photos", self.source / "Photos")
        for _ in range(3):
            text = self.run_code(23, "push", "--delete", "--exclude", "*.o", f"{self.source}/", self.pool).text
            self.assertIn("Photos", text)
            self.assertEqual((self.pool / "photos/deep/one").read_text(), "one")

    def test_without_delete_the_old_name_stays(self) -> None:
        self.push()
        before = self.contents()
        self.rename()
        self.run_code(23, "push", f"{self.source}/", self.pool)
        self.assertEqual(self.contents(), before)

    def test_a_dry_run_and_verify_see_the_new_name(self) -> None:
        self.push()
        self.rename()
        text = self.run_ok("push", "-n", "-i", "--delete", f"{self.source}/", self.pool).text
        for line in ("*deleting   photos", "*deleting   quiet", "Photos/", "QUIET"):
            self.assertIn(line, text)
        self.run_code(40, "verify", f"{self.source}/", self.pool)

    def test_old_or_new_wherever_it_dies(self) -> None:
        for number, point in enumerate(DEATHS):
            with self.subTest(failpoint=point):
                pool = self.make_pool(f"pool{number}")
                (self.source / "NAME").unlink(missing_ok=True)
                (self.source / "name").write_text(point)
                self.push(pool=pool)
                os.rename(self.source / "name", self.source / "NAME")
                server = self.world.server(f"{point}=abort")
                died = self.world.run("push", "--delete", *self.world.carrier_options("fake", server),
                                      f"{self.source}/", self.world.far(pool, "fake"))
                self.assertNotEqual(died.code, 0, died.text)
                self.run_code((0, 46), "recover", "--wait", "20", pool)
                self.assertEqual((self.pool.parent / pool / "name").read_text(), point)
                self.push(pool=pool)
                self.assert_same_tree(self.source, self.pulled(pool), point)

    def test_the_control_directory_by_another_spelling(self) -> None:
        self.push()
        control = tree.snapshot(self.pool / ".nbackup")
        for name in (".NBACKUP", ".nBackup"):
            evil = self.source / name
            evil.mkdir()
            (evil / "head").write_text("mine")
            (evil / "new").write_text("mine")
            text = self.push(23)
            self.assertIn(f"{name} at the destination", text)
            self.run_code(3, "push", evil, self.pool)
            self.run_ok("push", "-n", f"{self.source}/", self.pool)
            subprocess.run(["rm", "-rf", str(evil)], check=True)
            for command in (("push", f"{self.source}/", self.pool / name), ("push", self.source, self.pool / name / "tx"),
                            ("push", self.source / "quiet", self.pool / name / "head"),
                            ("push", self.source / "quiet", self.pool / name),
                            ("pull", self.pool / name / "secret", self.dir / "stolen"),
                            ("pull", f"{self.pool / name}/", self.dir / "stolen")):
                outcome = self.run_code(3, *command)
                self.assertIn("what nbackup keeps beside a file set", outcome.text)
            self.assertFalse((self.dir / "stolen").exists() and os.listdir(self.dir / "stolen"))
        after = tree.snapshot(self.pool / ".nbackup")
        kept = {path for path in after if path.startswith(b"history/") and path.count(b"/") == 1}
        accounts = {path + name for path in kept for name in (b"", b"/generation", b"/changes")}
        self.assertEqual(sorted(control), sorted(set(after) - accounts - {b"past"} | set(control)))


class CaseFold(Names):
    kind = "casefold"


if __name__ == "__main__":
    unittest.main()
