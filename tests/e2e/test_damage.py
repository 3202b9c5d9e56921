# SPDX-License-Identifier: Apache-2.0
"""Damage to what a set keeps beside its tree: each of its files missing, cut off, with a bit flipped, full of garbage.

Every command either works or ends with a documented code and a line that names the file. Nothing takes the live tree
away, nor a generation that can still be restored; `recover` mends what can be mended, and afterwards a push works.
"""
from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from support import options as opt, tree
from support.generations import kept, make_generations
from support.run import FULL, Case, Outcome, clone

DAMAGES = ("gone", "cut", "flipped", "garbage")
NEWEST = 5  # of make_generations

# Codes that a command on a damaged set may end with.
ALLOWED = {0, opt.USAGE, opt.PATH, opt.IO, opt.PARTIAL, opt.RECOVERY_FAILED, opt.BAD_SET}


@dataclass
class Spot:
    """A file of `.nbackup`, and what its damage may cost."""

    name: str
    stops: bool = False  # nothing works until `recover` has mended it
    lost_below: int = -1  # generations below this one cannot be restored any more
    tells: bool = True   # recover names it


SPOTS = [
    Spot("format", stops=True),
    Spot("secret", stops=True),
    Spot("head", stops=True),
    Spot("spare", tells=False),
    Spot("lock", tells=False),
    Spot("policy", tells=False),
    Spot("manifest.db", tells=False),
    Spot("history/5/generation"),
    Spot("history/3/generation"),
    Spot("history/0/generation"),
    Spot("history/5/changes", lost_below=5),
    Spot("history/3/changes", lost_below=3),
    Spot("history/1/changes", lost_below=1),
]


def damage(path: Path, kind: str) -> None:
    if kind == "gone":
        path.unlink()
        return
    data = path.read_bytes()
    if kind == "cut":
        data = data[:len(data) // 2]
    elif kind == "flipped":
        at = len(data) // 2
        data = data[:at] + bytes([data[at] ^ 1]) + data[at + 1:]
    else:
        data = os.urandom(max(len(data), 100))
    path.write_bytes(data)


class Bookkeeping(Case):
    def setUp(self) -> None:
        super().setUp()
        self.made = make_generations(self, "set")
        self.run_ok("policy", "--keep-last", "all", self.made.pool)

    def test_every_file(self) -> None:
        for number, spot in enumerate(SPOTS):
            for kind in DAMAGES if FULL else (DAMAGES[number % len(DAMAGES)],):
                with self.subTest(file=spot.name, damage=kind):
                    self.one(spot, kind)

    def test_whole_generation_gone(self) -> None:
        for number in (NEWEST, 3):
            with self.subTest(number):
                pool = self.dir / "damaged"
                clone(self.made.pool, pool)
                shutil.rmtree(pool / f".nbackup/history/{number}")
                outcome = self.run_code(opt.DAMAGED, "scrub", "-q", pool)
                self.assertIn(f"history/{number} is missing", outcome.stderr.decode(), outcome.text)
                if number == NEWEST:
                    self.newest_gone(pool)
                outcome = self.run_code(opt.BAD_SET, "recover", pool)
                self.assertRegex(outcome.stderr.decode(), f"history/{number}(/changes)?: missing", outcome.text)
                self.run_ok("prune", "--damaged", pool)
                self.run_ok("push", "--delete", f"{self.made.source}/", pool)
                self.run_ok("scrub", "-q", pool)
                self.run_ok("recover", pool)
                self.assertEqual(kept(pool)[0], NEWEST if number == NEWEST else number + 1)
                shutil.rmtree(pool)

    def test_whole_history_gone(self) -> None:
        """Which looks as if there had never been one."""
        pool = self.made.pool
        shutil.rmtree(pool / ".nbackup/history")
        outcome = self.run_code(opt.DAMAGED, "scrub", "-q", pool)
        self.assertIn(f"history/{NEWEST} is missing", outcome.stderr.decode(), outcome.text)
        self.newest_gone(pool)
        outcome = self.run_code(opt.BAD_SET, "recover", pool)
        self.assertIn(f"no generation before {NEWEST} can be restored any more", outcome.text)
        self.run_ok("recover", pool)
        self.run_ok("push", "--delete", f"{self.made.source}/", pool)
        self.run_ok("scrub", "-q", pool)

    def test_history_gone_beside_an_interrupted_commit(self) -> None:
        """Finishing it would make the history anew."""
        pool = self.made.pool
        (self.made.source / "more").write_text("more")
        push = ("push", "--delete", f"{self.made.source}/", pool)
        self.dies(*push, failpoint="txn.commit.point=abort")
        shutil.rmtree(pool / ".nbackup/history")
        outcome = self.run_code(opt.BAD_SET, *push)
        self.assertIn(f"history/{NEWEST}: missing", outcome.stderr.decode(), outcome.text)
        outcome = self.run_code(opt.BAD_SET, "recover", pool)
        self.assertIn(f"no generation before {NEWEST} can be restored any more", outcome.text)
        self.assertEqual((pool / "more").read_text(), "more")
        self.run_ok(*push)
        self.assertEqual(kept(pool), [NEWEST, NEWEST + 1])

    def newest_gone(self, pool: Path) -> None:
        """A push would make it anew without its way back, and nobody would hear of the loss."""
        live = tree.snapshot(pool)
        for command in ("push", "--delete", f"{self.made.source}/", pool), ("generations", pool):
            outcome = self.run_code((opt.BAD_SET, opt.PARTIAL), *command)
            self.assertIn(f"history/{NEWEST}: missing", outcome.stderr.decode(), outcome.text)
        self.assert_same_tree(live, pool, "after a push that was refused")

    def test_no_way_back(self) -> None:
        """To a generation that was dropped, and which somebody has put back."""
        pool = self.made.pool
        history = pool / ".nbackup/history"
        shutil.copytree(history / "0", self.dir / "aside", symlinks=True)
        self.run_ok("prune", "--keep-last", "3", pool)
        oldest = kept(pool)[0]
        shutil.copytree(self.dir / "aside", history / "0", symlinks=True)
        outcome = self.run_code(opt.DAMAGED, "scrub", "-q", pool)
        self.assertIn(f"history/{oldest} has no way back", outcome.stderr.decode(), outcome.text)
        outcome = self.run_code(opt.BAD_SET, "recover", pool)
        self.assertIn(f"history/{oldest}: does not lead to the generation before", outcome.stderr.decode(), outcome.text)
        self.run_ok("prune", "--damaged", pool)
        self.run_ok("recover", pool)
        self.assertEqual(kept(pool)[0], oldest)

    # --- One damaged copy of the set.

    def one(self, spot: Spot, kind: str) -> None:
        self.pool = self.dir / "damaged"
        clone(self.made.pool, self.pool)
        damage(self.pool / ".nbackup" / spot.name, kind)
        live = tree.snapshot(self.pool)
        self.look(spot)
        self.assert_same_tree(live, self.pool, "after looking")
        if spot.stops:
            self.refused_and_named(spot, "push", "--delete", f"{self.made.source}/", self.pool)
            self.assert_same_tree(live, self.pool, "after a push that was refused")
        self.recover(spot)
        self.assert_same_tree(live, self.pool, "after recover")
        self.restore_all(spot)
        self.go_on(spot)
        shutil.rmtree(self.pool)

    def tolerant(self, *args: str | os.PathLike[str]) -> Outcome:
        outcome = self.world.run(*args)
        self.assertIn(outcome.code, ALLOWED, outcome.text)
        if outcome.code != 0:
            self.assertTrue(outcome.stderr.startswith(b"nbackup: "), outcome.text)
            self.assertLessEqual(len(outcome.stderr.splitlines()), 4, outcome.text)
        return outcome

    def refused_and_named(self, spot: Spot, *args: str | os.PathLike[str]) -> None:
        outcome = self.run_code(opt.BAD_SET, *args)
        self.assertIn(f".nbackup/{spot.name}", outcome.stderr.decode(), outcome.text)
        self.assertIn("nbackup recover", outcome.stderr.decode(), outcome.text)

    def look(self, spot: Spot) -> None:
        out = self.dir / "out"
        commands: list[list[str | Path]] = [
            ["generations", self.pool], ["ls", "-R", self.pool], ["cat", f"{self.pool}:moved"],
            ["diff", "--from", "4", self.pool], ["ls", "--at", "1", self.pool], ["prune", "-n", self.pool],
            ["policy", self.pool], ["rollback", "-n", "--to", "4", self.pool],
            ["verify", f"{self.made.source}/", self.pool], ["drill", "--at", "latest", self.pool],
            ["pull", f"{self.pool}/", out], ["restore", "--at", "4", f"{self.pool}/", out],
            ["push", "-n", f"{self.made.source}/", self.pool]]
        # In a sample each command meets some of the files.
        for args in commands if FULL else commands[SPOTS.index(spot) % 3::3]:
            with self.subTest(command=args[0]):
                if spot.stops:
                    self.refused_and_named(spot, *args)
                else:
                    self.tolerant(*args)
            shutil.rmtree(out, ignore_errors=True)
        self.run_ok("status")

    def recover(self, spot: Spot) -> None:
        outcome = self.run_code((0, opt.BAD_SET) if spot.lost_below >= 0 else 0, "recover", self.pool)
        if spot.tells:
            self.assertIn(spot.name, outcome.stderr.decode(), outcome.text)
        again = self.world.run("recover", self.pool)
        self.assertEqual(again.code, outcome.code, "once is enough\n" + again.text)

    def restore_all(self, spot: Spot) -> None:
        """Whatever the damage leaves, exactly."""
        for number, want in self.made.trees.items():
            if not FULL and number not in (1, 3, NEWEST - 1):
                continue
            back = self.dir / "back"
            if number < spot.lost_below:
                outcome = self.run_code(opt.BAD_SET, "restore", "--at", str(number), f"{self.pool}/", back)
                self.assertIn(spot.name, outcome.stderr.decode())
                continue
            self.run_ok("restore", "--at", str(number), f"{self.pool}/", back)
            self.assert_same_tree(want, back, f"generation {number}", ignore_root=True)
            shutil.rmtree(back)

    def go_on(self, spot: Spot) -> None:
        """Life goes on: what is lost can be dropped, a push makes the next generation, and none that was there goes."""
        if spot.lost_below >= 0:
            outcome = self.run_ok("prune", "--damaged", self.pool)
            self.assertIn("dropped", outcome.stdout.decode())
            self.assertEqual(kept(self.pool), list(range(spot.lost_below, NEWEST + 1)), outcome.text)
            self.run_ok("recover", self.pool)
        source = self.dir / "changed"
        clone(self.made.source, source)
        (source / "after the damage").write_text("new\n")
        self.run_ok("push", "--delete", f"{source}/", self.pool)
        self.assert_same_tree(source, self.pool, "the new generation", ignore_root=True)
        if FULL and spot.lost_below < 0:
            self.restore_all(spot)
        shutil.rmtree(source)


class LeftOver(Case):
    """A journal that a crash has left, and that is damaged as well: nothing is made worse."""

    def interrupted(self, point: str = "txn.apply.op=abort@3") -> Path:
        """A set whose second commit died on its way."""
        source, pool = self.dir / "source", self.dir / "pool"
        source.mkdir()
        for name in "abcdef":
            (source / name).write_text(f"first {name}\n")
        self.run_ok("push", "--new-set", f"{source}/", pool)
        for name in "abcdef":
            (source / name).write_text(f"second {name}, longer\n")
        outcome = self.world.run("push", f"{source}/", *self.world.carrier_options("fake", self.world.server(
            point)), self.world.far(pool, "fake"))
        self.assertNotEqual(outcome.code, 0)
        self.assertTrue((pool / ".nbackup/journal").exists())
        return pool

    def test_sound_with_a_damaged_head(self) -> None:
        """The journal says what head was."""
        for kind in DAMAGES if FULL else ("flipped",):
            with self.subTest(damage=kind):
                pool = self.interrupted()
                damage(pool / ".nbackup/head", kind)
                outcome = self.run_ok("recover", pool)
                self.assertIn("head was damaged or missing", outcome.stderr.decode())
                self.assertIn("completed, generation 2", outcome.stdout.decode())
                self.assert_same_tree(self.dir / "source", pool, ignore_root=True)
                self.run_ok("restore", "--at", "1", f"{pool}/", self.dir / "back")
                self.assertEqual((self.dir / "back/a").read_text(), "first a\n")
                for path in (pool, self.dir / "source", self.dir / "back"):
                    shutil.rmtree(path)

    def test_damaged(self) -> None:
        for kind in ("cut", "flipped", "garbage") if FULL else ("flipped",):
            with self.subTest(damage=kind):
                pool = self.interrupted()
                damage(pool / ".nbackup/journal", kind)
                before = tree.snapshot(pool)
                for args in (["push", f"{self.dir}/source/", pool], ["recover", pool], ["ls", pool],
                             ["restore", f"{pool}/", self.dir / "out"], ["generations", pool]):
                    outcome = self.run_code(opt.RECOVERY_FAILED, *args)
                    self.assertIn(".nbackup/journal is damaged", outcome.stderr.decode(), outcome.text)
                self.assert_same_tree(before, pool, "nothing was made worse")
                # What the manual says to do then.
                (pool / ".nbackup/journal").rename(self.dir / "journal")
                self.set_aside(pool)
                for path in (pool, self.dir / "source"):
                    shutil.rmtree(path)

    def test_gone(self) -> None:
        """What the commit had replaced is not taken for trash, wherever it was on its way into history."""
        for point, filed in (("txn.apply.op=abort@3", 0), ("txn.history.entry=abort@2", 1),
                             ("txn.history.filed=abort@1", 6), ("txn.finish.synced=abort@1", 6)):
            with self.subTest(point):
                pool = self.interrupted(point)
                (pool / ".nbackup/journal").unlink()
                self.set_aside(pool, filed)
                for path in (pool, self.dir / "source"):
                    shutil.rmtree(path)

    def set_aside(self, pool: Path, filed: int = 0) -> None:
        """`filed`: how many of its old files have their names already."""
        outcome = self.run_code(opt.RECOVERY_FAILED, "push", f"{self.dir}/source/", pool)
        self.assertIn("the journal of an interrupted commit is missing", outcome.stderr.decode())
        outcome = self.run_code(opt.RECOVERY_FAILED, "recover", pool)
        self.assertIn(".nbackup/lost/", outcome.stderr.decode())
        lost = pool / ".nbackup/lost"
        named = {path.name: path.read_text() for path in lost.glob("*/files/*")}
        self.assertGreaterEqual(len(named), filed, named)
        self.assertEqual(named, {name: f"first {name}\n" for name in named})
        saved = [path.read_text() for path in (*lost.glob("*/old/*"), *lost.glob("*/files/*"))]
        self.assertTrue(saved and all(text.startswith("first ") for text in saved), saved)
        if filed:
            self.assertEqual(len(saved), 6)
        self.run_ok("recover", pool)
        self.run_ok("push", f"{self.dir}/source/", pool)
        self.assert_same_tree(self.dir / "source", pool, ignore_root=True)
        self.assertEqual([path.read_text() for path in (*lost.glob("*/old/*"), *lost.glob("*/files/*"))], saved)
