# SPDX-License-Identifier: Apache-2.0
"""What a push keeps of the generation before it, as a person finds it without nbackup; and keys that may only add."""
from __future__ import annotations

import os
import random
import shutil
import unittest
from dataclasses import replace
from pathlib import Path

from support import options as opt
from support import tree
from support.crash import listed_failpoints
from support.gen import make_tree
from support.run import Case, chosen_seeds, remove_tree


class Pushing(Case):
    def setUp(self) -> None:
        super().setUp()
        self.source, self.sink = self.dir / "source", self.dir / "sink"
        self.source.mkdir()
        self.history = self.sink / ".nbackup/history"

    def put(self, name: str, content: bytes) -> Path:
        path = self.source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def push(self, *options: str) -> None:
        self.run_ok("push", "--delete", *options, f"{self.source}/", self.sink)

    def generations(self) -> list[int]:
        names = [path.name for path in self.history.iterdir()] if self.history.exists() else []
        return sorted(int(name) for name in names if name.isdecimal())

    def files(self, generation: int) -> Path:
        return self.history / str(generation) / "files"


class Kept(Pushing):
    def test_replaced_and_deleted_files_are_there_under_their_names(self) -> None:
        self.put("dir/changed", b"before")
        self.put("dir/deep/gone", b"gone")
        self.put("whole/a", b"a"), self.put("whole/sub/b", b"b")
        os.symlink("target", self.source / "link")
        self.push()
        old = tree.snapshot(self.source)
        self.put("dir/changed", b"after it")
        (self.source / "dir/deep/gone").unlink()
        (self.source / "link").unlink()
        shutil.rmtree(self.source / "whole")
        self.push()
        kept = tree.snapshot(self.files(2))
        for path in (b"dir/changed", b"dir/deep/gone", b"whole", b"whole/a", b"whole/sub", b"whole/sub/b", b"link"):
            self.assertEqual(tree.compare({path: old[path]}, {path: kept[path]}), [])
        self.assertEqual(self.generations(), [0, 1, 2])
        self.assert_same_tree(self.source, self.sink)

    def test_a_run_that_changes_nothing_makes_no_generation(self) -> None:
        self.put("a", b"a")
        self.push()
        self.push()
        self.assertEqual(self.generations(), [0, 1])

    def test_what_was_renamed_or_changed_only_in_its_metadata_takes_no_space(self) -> None:
        path = self.put("large", os.urandom(3 << 20))
        self.push()
        path.rename(self.source / "renamed")
        self.push()
        inode = (self.sink / "renamed").stat().st_ino
        self.assertEqual((self.files(2) / "large").stat().st_ino, inode)
        self.put("other", b"with other attributes")
        self.push()
        (self.source / "other").chmod(0o600)
        self.push()
        self.assertFalse(self.files(4).exists())

    def test_without_history_nothing_is_kept(self) -> None:
        self.put("a", b"before")
        self.push("--no-history")
        self.put("a", b"after that")
        self.push("--no-history")
        self.assertEqual(self.generations(), [])
        self.assert_same_tree(self.source, self.sink)
        self.assert_clean(self.sink)

    def test_a_pull_keeps_none(self) -> None:
        self.put("a", b"before")
        self.push()
        back = self.dir / "back"
        self.run_ok("pull", f"{self.sink}/", back)
        self.put("a", b"after that")
        self.push()
        self.run_ok("pull", f"{self.sink}/", back)
        self.assertFalse((back / ".nbackup").exists())
        self.assert_same_tree(self.source, back)


class AppendOnly(Pushing):
    def setUp(self) -> None:
        super().setUp()
        self.pool = self.dir / "pool"
        self.pool.mkdir()
        self.sink = self.pool / "set"
        self.history = self.sink / ".nbackup/history"
        forced = self.world.script(
            "forced", f"#!/bin/sh\nexec {os.environ['NBACKUP']} serve --append-only --root {self.pool}\n")
        self.far = ["-e", str(self.world.fake_rsh), "--remote-path", str(forced)]
        self.put("a", b"before")
        self.run_ok("push", *self.far, f"{self.source}/", "nbtest:set")

    def refused(self, code: int, *words: str) -> None:
        before = tree.snapshot(self.pool)
        self.run_code(code, "push", *self.far, *words)
        self.assert_same_tree(before, self.pool)

    def test_adds_and_restores(self) -> None:
        self.put("a", b"after that")
        self.put("b", b"new")
        self.run_ok("push", "--delete", *self.far, f"{self.source}/", "nbtest:set")
        self.assertEqual((self.files(2) / "a").read_bytes(), b"before")
        self.run_ok("pull", *self.far, "nbtest:set/", self.dir / "back")
        self.assert_same_tree(self.source, self.dir / "back")

    def test_refuses_no_history(self) -> None:
        self.put("a", b"after that")
        self.refused(opt.IO, "--no-history", f"{self.source}/", "nbtest:set")

    def test_refuses_where_nothing_would_be_kept(self) -> None:
        (self.pool / "plain").write_bytes(b"precious")
        self.refused(opt.IO, str(self.put("plain", b"other")), "nbtest:plain")
        self.refused(opt.IO, str(self.source / "plain"), "nbtest:new")

    def test_a_single_file_within_the_set_is_kept(self) -> None:
        self.put("a", b"after that")
        self.run_ok("push", *self.far, str(self.source / "a"), "nbtest:set/")
        self.assertEqual((self.files(2) / "a").read_bytes(), b"before")

    def test_many_pushes_push_nothing_out(self) -> None:
        self.run_ok("policy", "--keep-last", "2", self.sink)
        for number in range(4):
            self.put("a", b"junk %d" % number)
            self.run_ok("push", *self.far, f"{self.source}/", "nbtest:set")
        self.run_ok("recover", "--wait", "60", self.sink)  # the client has its answer before the sink is done
        self.assertEqual((self.files(2) / "a").read_bytes(), b"before")
        # With all rights the policy is applied.
        self.run_ok("prune", self.sink)
        self.assertFalse((self.history / "2").exists())

    def test_the_policy_limits_deletions(self) -> None:
        for number in range(4):
            self.put(f"many/{number}", b"")
        self.run_ok("push", *self.far, f"{self.source}/", "nbtest:set")
        self.run_ok("policy", "--wait", "60", "--max-delete", "2", self.sink)
        for number in range(3):
            (self.source / f"many/{number}").unlink()
        for limit in ((), ("--max-delete", "-1"), ("--max-delete", "3")):
            self.refused(opt.MAX_DELETE, "--delete", *limit, f"{self.source}/", "nbtest:set")
        # Whoever has all rights is asked for more only where nothing else was said.
        self.run_code(opt.MAX_DELETE, "push", "--delete", f"{self.source}/", self.sink)
        self.put("many/0", b"")
        self.run_ok("push", "--delete", *self.far, f"{self.source}/", "nbtest:set")
        (self.source / "many/0").unlink()
        self.run_code(opt.MAX_DELETE, "push", "--delete", "--max-delete", "0", f"{self.source}/", self.sink)
        self.run_ok("push", "--delete", f"{self.source}/", self.sink)

    def test_a_damaged_policy_allows_no_deletion(self) -> None:
        (self.source / "a").unlink()
        self.put("b", b"")
        (self.sink / ".nbackup/policy").write_bytes(b"nonsense")
        self.refused(opt.BAD_SET, "--delete", "--max-delete", "9", f"{self.source}/", "nbtest:set")
        self.run_ok("push", "--delete", f"{self.source}/", self.sink)
        self.run_code(opt.BAD_SET, "policy", "--max-delete", "3", self.sink)
        done = self.run_ok("policy", "--wait", "60", "--keep-last", "3", self.sink)
        self.assertIn(b"the policy was damaged", done.stderr)

    def test_the_limit_of_deletions_holds(self) -> None:
        for number in range(1200):
            self.put(f"many/{number}", b"")
        self.run_ok("push", *self.far, f"{self.source}/", "nbtest:set")
        shutil.rmtree(self.source / "many")
        for limit in ("-1", "5000"):
            self.refused(opt.MAX_DELETE, "--delete", "--max-delete", limit, f"{self.source}/", "nbtest:set")


class ByChance(Case):
    """Seeded histories of every kind of change, with pushes of parts, prunes, pushes without history, rollbacks and
    deaths in each of them: after each step every generation that is kept restores as the copy that was made of it says.
    NB_SEEDS=0-99 runs just these."""

    STEPS = 7

    def test_every_kept_generation_restores(self) -> None:
        for seed in chosen_seeds(range(4), range(2000)):
            with self.subTest(seed=seed):
                self._history(seed)

    def _history(self, seed: int) -> None:
        rng = random.Random(f"history-{seed}")
        base = self.dir / str(seed)
        source, pool = base / "source", base / "pool"
        source.parent.mkdir()
        forest = make_tree(source, f"history-{seed}", 30)
        trees: dict[int, tree.Tree] = {}
        for step in range(self.STEPS):
            if step:
                forest.mutate(rng.randrange(1, 12))
            options = ["--no-history"] if step > 1 and rng.random() < 0.2 else []
            self._run(rng, "push", "--delete", "--max-delete", "-1", *options, f"{source}/", pool)
            trees[max(self._numbers(pool))] = tree.snapshot(source)
            if rng.random() < 0.2:
                self._push_part(source, pool, rng, trees)
            if rng.random() < 0.3:
                self._run(rng, "prune", *self._policy(rng), pool)
            if rng.random() < 0.2:
                self._roll_back(pool, rng, trees)
            self._judge(pool, base / "back", trees)
        remove_tree(base)

    def _push_part(self, source: Path, pool: Path, rng: random.Random, trees: dict[int, tree.Tree]) -> None:
        """The source, or a name of it, into a directory that is not the set's root: new, there, or an entry of it."""
        directories = [path for path, entry in trees[max(trees)].items() if entry.type == "dir"]
        place = pool / os.fsdecode(rng.choice(directories)) / rng.choice(("", "part", "part"))
        sources = rng.choice(([f"{source}/"], [source], sorted(source.iterdir())[:2]))
        if not sources:
            return
        before = trees[max(trees)]
        at = os.fsencode(place.relative_to(pool)) if place != pool else b""
        into = at + b"/" if at else b""
        if sources == [f"{source}/"]:
            places = {b"": at}
        elif sources == [source]:
            places = {b"": into + os.fsencode(source.name)}
        else:
            places = {os.fsencode(path.name): into + os.fsencode(path.name) for path in sources}
        self._run(rng, "push", "--delete", "--max-delete", "-1", *sources, f"{place}/")
        found = tree.snapshot(pool)
        expected = tree.grafted(before, tree.snapshot(source), places)
        # Nobody says what time they are to have, or what a new one is to be like.
        bystanders = {at, os.path.dirname(at) if at not in before else at} - set(places.values())
        for path in bystanders:
            expected[path] = replace(before[path], mtime_ns=found[path].mtime_ns) if path in before else found[path]
        # What is as it should be stays, with a hard link to what is not transferred.
        self.assertEqual(tree.compare(expected, found, ignore=("links",)), [])
        trees[max(self._numbers(pool))] = {path: replace(entry, links=found[path].links)
                                           for path, entry in expected.items()}

    def _run(self, rng: random.Random, *command: str | Path) -> None:
        """To its end, after it has perhaps died on the way."""
        if rng.random() < 0.3:
            self.world.run(*command, failpoint=f"{rng.choice(self._points())}=abort@{rng.randrange(1, 4)}")
        self.run_ok(*command)

    @staticmethod
    def _policy(rng: random.Random) -> tuple[str, ...]:
        count = str(rng.randrange(1, 5))
        return rng.choice((("--keep-last", count), ("--keep-last", count), ("--keep-hourly", count),
                           ("--keep-daily", count, "--keep-last", "2"), ("--keep-within", count + "s")))

    def _roll_back(self, pool: Path, rng: random.Random, trees: dict[int, tree.Tree]) -> None:
        """And forth, so that the next push starts from what the source had."""
        numbers = [number for number in self._numbers(pool) if number in trees]
        to = rng.choice(numbers)
        self._run(rng, "rollback", pool, "--to", str(to))
        trees[max(self._numbers(pool))] = trees[to]

    @staticmethod
    def _numbers(pool: Path) -> list[int]:
        return [int(path.name) for path in (pool / ".nbackup/history").iterdir() if path.name.isdigit()]

    @staticmethod
    def _points() -> list[str]:
        return [point for point in listed_failpoints() if point.startswith(("txn.history.", "txn.apply.", "txn.finish.",
                                                                            "txn.commit.", "txn.thin."))]

    def _judge(self, pool: Path, back: Path, trees: dict[int, tree.Tree]) -> None:
        self.assert_same_tree(trees[max(self._numbers(pool))], pool)
        for number in sorted(self._numbers(pool)):
            if number not in trees:
                continue
            self.run_ok("restore", f"{pool}/", back, "--at", str(number))
            found = tree.snapshot(back)
            self.assertEqual(tree.compare(trees[number], found), [], f"generation {number}")
            remove_tree(back)


if __name__ == "__main__":
    unittest.main()
