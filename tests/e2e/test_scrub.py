# SPDX-License-Identifier: Apache-2.0
"""Scrub and heal: what rots is found and named, in the live tree and in history, and healed where a sound copy is."""
from __future__ import annotations

import contextlib
import fcntl
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time
import unittest
from pathlib import Path

from support import loopfs, tree
from support import options as opt
from support.crash import wait_stopped
from support.gen import CAP_NET_RAW
from support.generations import assert_exact, make_generations
from support.rot import cut, flip
from support.run import BINARY, PLAIN_USER, Case, Outcome, clone

BIG = 300_000
READER_BYTE = 1  # of .nbackup/lock


class Scrubbed(Case):
    """A set of three generations: `text` and `big` have changed in each, `same` never."""

    def setUp(self) -> None:
        super().setUp()
        self.source, self.pool = self.dir / "source", self.dir / "pool"
        (self.source / "sub").mkdir(parents=True)
        rng = random.Random(7)
        self.bigs: list[bytes] = []
        for number in (1, 2, 3):
            (self.source / "sub/text").write_text(f"text of {number}")
            self.bigs.append(rng.randbytes(BIG))
            (self.source / "big").write_bytes(self.bigs[-1])
            if number == 1:
                (self.source / "same").write_bytes(rng.randbytes(200_000))
                (self.source / "small").write_text("small")
            self.push()

    def push(self) -> Outcome:
        return self.run_ok("push", "--delete", f"{self.source}/", self.pool)

    def kept(self, generation: int, path: str) -> Path:
        return self.pool / f".nbackup/history/{generation}/files" / path

    def scrub(self, code: int, *options: str, pool: Path | None = None) -> Outcome:
        return self.run_code(code, "scrub", *options, pool or self.pool)

    def events(self, outcome: Outcome) -> list[dict]:
        return [json.loads(line) for line in outcome.stdout.decode().splitlines()]

    def damaged(self, *options: str) -> dict[tuple[str, int | None], dict]:
        """What a scrub names, by path and generation."""
        found = self.events(self.scrub(opt.DAMAGED, "--json", *options))
        return {(event["path"], event["generation"]): event for event in found if event["event"] == "damaged"}


class Finds(Scrubbed):
    def test_a_sound_set_is_sound(self) -> None:
        done = self.scrub(0)
        self.assertRegex(done.stdout.decode(), r"scrubbed .*/pool: 8 files, .* none damaged")
        self.assertNotIn("not known", done.stdout.decode(), "a push says what it brings")
        self.assert_clean(self.pool)
        self.assert_same_tree(self.source, self.pool)
        self.assertEqual(os.listdir(self.pool / ".nbackup/arrivals"), [])

    def test_flipped_bytes_are_found_and_located(self) -> None:
        self.scrub(0)
        flip(self.pool / "big", 70_000)
        flip(self.pool / "small")
        flip(self.kept(2, "big"), 5)
        flip(self.kept(3, "sub/text"))
        found = self.damaged()
        self.assertEqual(set(found), {("big", None), ("small", None), ("big", 2), ("sub/text", 3)})
        self.assertEqual(found["big", None]["ranges"], [{"offset": 65536, "length": 65536}])
        self.assertEqual({event["reason"] for event in found.values()}, {"content changed"})
        text = self.scrub(opt.DAMAGED).stdout.decode()
        self.assertIn("damaged  big: content changed, bytes 65536-131071\n", text)
        self.assertIn("damaged  sub/text in generation 3: content changed\n", text)

    def test_rot_before_the_first_scrub_is_found(self) -> None:
        for path in (self.pool / "sub/text", self.pool / "same", self.kept(2, "big"), self.kept(2, "sub/text")):
            flip(path)
        self.assertEqual(set(self.damaged()), {("sub/text", None), ("same", None), ("big", 2), ("sub/text", 2)})

    def test_rot_before_a_file_went_to_history_is_found_there(self) -> None:
        self.scrub(0)
        flip(self.pool / "small")
        (self.source / "small").write_text("other")
        self.push()
        self.assertEqual(set(self.damaged()), {("small", 4)})

    def test_a_file_that_is_cut_off(self) -> None:
        cut(self.pool / "same", 1000)
        found = self.damaged()["same", None]
        self.assertEqual((found["reason"], found["size"], found["found_bytes"]), ("cut off", 200_000, 1000))
        self.assertIn("damaged  same: cut off, 1,000 of 200,000 bytes", self.scrub(opt.DAMAGED).stdout.decode())

    def test_a_time_that_a_push_has_set_is_no_edit(self) -> None:
        self.scrub(0)
        for name in ("small", "same"):
            os.utime(self.source / name, ns=(1, 1))
        self.run_ok("push", "-c", f"{self.source}/", self.pool)
        flip(self.pool / "small")
        flip(self.pool / "same")
        self.assertEqual(set(self.damaged()), {("small", None), ("same", None)})

    def test_an_edit_is_no_damage(self) -> None:
        self.scrub(0)
        (self.pool / "small").write_text("edited by somebody")
        os.utime(self.pool / "same")
        done = self.scrub(0)
        self.assertIn("edited   small\n", done.stdout.decode())
        self.assertIn("1 edited", done.stdout.decode())
        self.assertNotIn("edited", self.scrub(0).stdout.decode(), "told once")
        flip(self.pool / "small")
        self.assertEqual(set(self.damaged()), {("small", None)}, "what was found then is guarded from then on")

    def test_what_cannot_be_read_is_damaged(self) -> None:
        self.scrub(0)
        done = self.run_code(opt.DAMAGED, "scrub", self.pool, failpoint="session.scrub.read=error@2")
        self.assertIn("damaged  same: cannot be read\n", done.stdout.decode())
        self.assertIn("1 damaged", done.stdout.decode())
        self.assertIn("none damaged", self.scrub(0).stdout.decode(), "and sound again when it can be")

    def test_damage_stays_known(self) -> None:
        self.scrub(0)
        flip(self.pool / "small")
        self.damaged()
        (self.pool / ".nbackup/contents.db").unlink()
        self.assertEqual(set(self.damaged()), {("small", None)}, "the list says what the content was")

    def test_a_lost_list_of_damage(self) -> None:
        flip(self.kept(2, "sub/text"))
        with open(self.pool / "small", "r+") as file:
            file.truncate(2)
        os.utime(self.pool / "small", ns=(0, (self.source / "small").stat().st_mtime_ns))
        for _ in range(3):
            self.assertEqual(set(self.damaged()), {("small", None), ("sub/text", 2)}, "known beside the list")
            (self.pool / ".nbackup/damage").unlink()

    def test_a_lost_manifest_and_store(self) -> None:
        self.scrub(0)
        for path in (self.pool / ".nbackup").glob("*.db*"):
            path.unlink()
        self.assertIn("8 not known before", self.scrub(0).stdout.decode())
        flip(self.pool / "small")
        self.assertEqual(set(self.damaged()), {("small", None)}, "what was found is the measure")

    def test_a_lost_manifest_alone_costs_the_places_only(self) -> None:
        self.scrub(0)
        for path in (self.pool / ".nbackup").glob("manifest.db*"):
            path.unlink()
        flip(self.pool / "big", 70_000)
        self.assertEqual(self.damaged()["big", None]["ranges"], [])

    def test_lost_records_of_history(self) -> None:
        (self.pool / ".nbackup/history/3/changes").unlink()
        self.kept(2, "big").unlink()
        done = self.scrub(opt.DAMAGED)
        self.assertIn("history/3/changes is missing: what is older cannot be restored", done.stderr.decode())
        self.assertIn("history/2/files/big is missing", done.stderr.decode())
        self.assertIn("2 records damaged", done.stdout.decode())
        self.run_ok("restore", f"{self.pool}/", self.dir / "back")
        self.assert_same_tree(self.source, self.dir / "back", ignore_root=True)

    def test_a_damaged_head(self) -> None:
        head = self.pool / ".nbackup/head"
        head.write_bytes(head.read_bytes().replace(b"generation 3", b"generation 4"))
        self.assertIn("nbackup head: check does not match", self.scrub(opt.BAD_SET).stderr.decode())

    def test_thinning_takes_nothing_away(self) -> None:
        self.run_ok("prune", "--keep-last", "1", self.pool)
        self.assertNotIn("not known", self.scrub(0).stdout.decode())

    def test_many_generations_and_their_anchors(self) -> None:
        made = make_generations(self, "anchors")
        self.run_ok("scrub", made.pool)
        self.run_ok("prune", "--keep-last", "3", made.pool)
        self.assertNotIn("damaged:", self.run_ok("scrub", made.pool).stdout.decode())
        assert_exact(self, made, made.pool)


class Alike(Case):
    """Of one path there are many contents with one mtime: none is taken for another, whatever happens to inodes."""

    OLD = 499_162_500  # what npm gives to all files

    def setUp(self) -> None:
        super().setUp()
        self.source, self.pool = self.dir / "source", self.dir / "pool"
        self.source.mkdir()
        self.rng = random.Random(3)

    def put(self, name: str, size: int) -> None:
        (self.source / name).unlink(missing_ok=True)
        (self.source / name).write_bytes(self.rng.randbytes(size))
        os.utime(self.source / name, (self.OLD, self.OLD))

    def push(self, *options: str, failpoint: str = "", code: int = 0) -> None:
        self.run_code(code, "push", "--delete", *options, f"{self.source}/", self.pool, failpoint=failpoint)

    def assert_sound(self, pool: Path | None = None) -> None:
        pool = pool or self.pool
        before = tree.snapshot(pool)
        self.assertIn("none damaged", self.run_ok("scrub", pool).stdout.decode())
        self.run_ok("heal", pool)
        have = {path: entry for path, entry in tree.snapshot(pool).items() if not path.startswith(b".nbackup/")}
        self.assertFalse(tree.compare({p: e for p, e in before.items() if p in have}, have))

    def test_a_name_that_becomes_a_link(self) -> None:
        for size in (10, 100_000):
            self.put("a", size)
            self.put("p", size)
            self.push()
            (self.source / "p").unlink()
            os.link(self.source / "a", self.source / "p")
            self.push()
            self.assert_sound()
            self.assert_same_tree(self.source, self.pool)

    def test_a_time_that_is_set_back(self) -> None:
        self.put("f", 9)
        self.push()
        (self.source / "f").write_bytes(self.rng.randbytes(9))
        self.push()
        os.utime(self.source / "f", (self.OLD, self.OLD))
        self.push("-c")
        self.assert_sound()
        self.assert_same_tree(self.source, self.pool)

    def test_a_list_that_was_lost_in_a_crash(self) -> None:
        """Of what came with that generation nothing is known; what came before is not taken for it."""
        for failpoint in ("txn.apply.op", "txn.apply.linked", "txn.history.filed", "txn.cleanup.arrivals"):
            with self.subTest(failpoint=failpoint):
                self.pool = self.dir / f"pool of {failpoint}"
                for name in "abc":
                    self.put(name, 4000)
                self.push()
                self.put("c", 5000)
                self.dies("push", "--delete", f"{self.source}/", self.pool, failpoint=f"{failpoint}=abort")
                self.run_ok("recover", "--wait", "60", self.pool)
                self.assert_same_tree(self.source, self.pool)
                self.assert_sound()

    def test_what_recovery_has_finished_is_known(self) -> None:
        self.put("c", 4000)
        self.push()
        self.put("c", 5000)
        self.dies("push", "--delete", f"{self.source}/", self.pool, failpoint="txn.apply.op=abort")
        self.run_ok("recover", "--wait", "60", self.pool)
        flip(self.pool / "c")
        self.assertIn(b"damaged  c: content changed", self.run_code(opt.DAMAGED, "scrub", self.pool).stdout)

    def test_what_a_run_that_died_has_staged(self) -> None:
        self.put("c", 4000)
        self.push()
        old = (self.source / "c").read_bytes()
        self.put("c", 5000)
        self.dies("push", "--delete", f"{self.source}/", self.pool, failpoint="txn.commit.ready=abort")
        (self.source / "c").write_bytes(old)
        os.utime(self.source / "c", (self.OLD, self.OLD))
        (self.source / "n").write_text("new")
        self.push()
        self.assert_sound()

    def test_a_copy_of_the_pool(self) -> None:
        """Inode numbers fall on other versions of the same path."""
        for number in range(12):
            self.put("f", 4000 + number)
            self.push()
        self.assert_sound()
        for way in (["cp", "-a"], ["rsync", "-aH"]):
            with self.subTest(way=way[0]):
                copy = self.dir / f"by-{way[0]}"
                copy.mkdir()
                subprocess.run([*way, f"{self.pool}/.", copy], check=True)
                shutil.rmtree(self.pool)
                self.assert_sound(copy)
                copy.rename(self.pool)
                self.assert_sound()

    def test_where_nothing_tells_files_apart(self) -> None:
        """exFAT by FUSE gives out numbers anew with each mount, and tells mtime for ctime."""
        disk = loopfs.mounted_for(self, self.dir, "exfat", 64)
        self.pool = disk.mount / "pool"
        for number in range(31):
            self.put(f"f{number}", 1000 + 13 * number)
        self.push()
        self.assert_sound()
        disk.remount()
        (self.pool / "a by hand").write_text("moves all numbers")
        self.assert_sound()
        disk.remount()
        self.assert_sound()

    def test_numbers_that_are_given_out_anew(self) -> None:
        for number in range(8):
            self.put("f", 3000 + 30 * number)
            self.push()
        self.assert_sound()
        self.run_ok("prune", "--keep-last", "1", self.pool)
        for number in range(14):
            self.put("f", 4000 + 50 * number)
            for more in range(self.rng.randrange(4)):
                self.put(f"{number}.{more}", 10)
            self.push()
        self.assert_sound()


class Parts(Scrubbed):
    def setUp(self) -> None:
        super().setUp()
        for number in range(60):
            (self.source / f"sub/f{number:02}").write_text(f"content {number}")
        self.push()

    def test_parts_cover_all(self) -> None:
        flip(self.pool / "sub/f17")
        seen = 0
        found = []
        for part in range(1, 5):
            outcome = self.world.run("scrub", "--json", "--part", f"{part}/4", self.pool)
            events = self.events(outcome)
            seen += events[-1]["files"]
            found += [event["path"] for event in events if event["event"] == "damaged"]
            self.assertTrue(events[-1]["ended"])
        self.assertEqual((seen, found), (68, ["sub/f17"]))
        self.run_code(opt.USAGE, "scrub", "--part", "5/4", self.pool)

    def test_stops_when_the_time_is_over_and_goes_on(self) -> None:
        first = self.events(self.scrub(0, "--json", "--time", "0"))[-1]
        self.assertEqual((first["files"], first["ended"]), (1, False))
        self.assertIn("the next scrub goes on from there", self.scrub(0, "--time", "0").stdout.decode())
        last = self.events(self.scrub(0, "--json"))[-1]
        self.assertEqual((last["files"], last["ended"], last["resumed"]), (68, True, True))
        self.assertFalse(self.events(self.scrub(0, "--json"))[-1]["resumed"])

    def test_each_part_goes_on_when_its_turn_comes_again(self) -> None:
        nights = [self.events(self.scrub(0, "--json", "--part", f"{part}/2", "--time", "0"))[-1]
                  for part in (1, 2, 1, 2)]
        self.assertEqual([night["resumed"] for night in nights], [False, False, True, True])
        last = [self.events(self.scrub(0, "--json", "--part", f"{part}/2"))[-1] for part in (1, 2)]
        self.assertEqual([(night["resumed"], night["ended"]) for night in last], [(True, True)] * 2)
        self.assertEqual(sum(night["files"] for night in last), 68)

    def test_goes_on_after_a_kill(self) -> None:
        flip(self.pool / "big")
        died = self.world.run("scrub", self.pool, failpoint="session.scrub.file=abort@5")
        self.assertNotEqual(died.code, 0)
        last = self.events(self.scrub(opt.DAMAGED, "--json"))[-1]
        self.assertEqual((last["files"], last["damaged"], last["resumed"]), (68, 1, True))

    def test_goes_on_after_an_interrupt(self) -> None:
        run = self.world.spawn("scrub", self.pool, failpoint="session.scrub.file=stop@5")
        self.assertTrue(wait_stopped(run.process.pid))
        run.kill(signal.SIGINT)
        run.kill(signal.SIGCONT)
        self.assertEqual(run.wait().code, opt.INTERRUPTED)
        last = self.events(self.scrub(0, "--json"))[-1]
        self.assertEqual((last["files"], last["resumed"]), (68, True))

    def test_one_at_a_time_and_pushes_beside_it(self) -> None:
        run = self.world.spawn("scrub", self.pool, failpoint="session.scrub.file=stop@2")
        self.assertTrue(wait_stopped(run.process.pid))
        self.run_code(opt.LOCKED, "scrub", self.pool)
        self.run_code(opt.LOCKED, "heal", self.pool)
        for name in ("sub/f01", "sub/f02"):
            (self.source / name).write_text("other")
        (self.source / "sub/f03").unlink()
        self.push()
        run.kill(signal.SIGCONT)
        self.assertIn("none damaged", run.wait().stdout.decode())
        self.assertNotIn("not known", self.scrub(0).stdout.decode())

    def test_what_a_push_moves_past_it_stays_known(self) -> None:
        """A file that was not reached yet is replaced: it lies in a generation that this scrub does not know."""
        self.scrub(0)
        run = self.world.spawn("scrub", self.pool, failpoint="session.scrub.file=stop@2")
        self.assertTrue(wait_stopped(run.process.pid))
        (self.source / "sub/f59").write_text("other")
        self.push()
        run.kill(signal.SIGCONT)
        self.assertEqual(run.wait().code, 0)
        (kept,) = (self.pool / ".nbackup/history").glob("*/files/sub/f59")
        flip(kept)
        self.assertIn("sub/f59", self.scrub(opt.DAMAGED).text)

    def test_a_limited_rate(self) -> None:
        begin = time.monotonic()
        self.scrub(0, "--bwlimit", "1m")
        self.assertGreater(time.monotonic() - begin, 0.7, "1.1 MB at 1 MiB a second")


class Rights(Scrubbed):
    def test_on_another_host(self) -> None:
        flip(self.pool / "small")
        options = self.world.carrier_options("fake", self.world.server("", None))
        far = self.world.far(self.pool, "fake")
        self.assertIn("damaged  small: content changed",
                      self.run_code(opt.DAMAGED, "scrub", *options, far).stdout.decode())
        self.run_ok("heal", "--from", self.source, *options, far)
        self.assert_same_tree(self.source, self.pool)

    def test_restricted_keys(self) -> None:
        flip(self.pool / "small")
        outside = clone_to(self.source, self.dir / "inside")
        far = self.world.far(self.pool, "fake")
        for right, scrubs in (("--read-only", opt.IO), ("--append-only", opt.DAMAGED)):
            with self.subTest(right=right):
                server = self.dir / f"server{right}"
                server.write_text(f"#!/bin/sh\nexec {BINARY} serve {right} --root {self.pool.parent}\n")
                server.chmod(0o755)
                options = self.world.carrier_options("fake", server)
                self.run_code(scrubs, "scrub", *options, far)
                self.run_code(opt.IO, "heal", *options, far)
        dry = self.run_ok("heal", "-n", "--from", outside, *options, far)
        self.assertIn("could be healed  small: from", dry.stdout.decode())
        server.write_text(f"#!/bin/sh\nexec {BINARY} serve --root {self.pool}\n")
        self.run_code(opt.PATH, "heal", "--from", outside, *options, far)


def clone_to(source: Path, target: Path) -> Path:
    clone(source, target)
    return target


class PushHeals(Scrubbed):
    def test_a_push_brings_anew_what_its_source_has(self) -> None:
        flip(self.pool / "big", 70_000)
        flip(self.pool / "small")
        self.damaged()
        self.assertFalse(tree.compare(tree.snapshot(self.source, contents=False),
                                      tree.snapshot(self.pool, contents=False)))
        dry = self.run_ok("push", "-n", "-i", f"{self.source}/", self.pool)
        self.assertIn(" big\n", dry.stdout.decode())
        done = self.push()
        self.assert_same_tree(self.source, self.pool)
        # Where they were before they still are what they were.
        self.assertIn("2 files of this set are damaged", done.stderr.decode())
        self.assertIn("healed 2 files", self.run_ok("heal", self.pool).stdout.decode())
        self.assertIn("none damaged", self.scrub(0).stdout.decode())
        self.assertNotIn("damaged", self.push().stderr.decode())

    def test_a_damaged_file_is_no_basis_and_no_source_of_moves(self) -> None:
        flip(self.pool / "big", 70_000)
        flip(self.pool / "same", 5)
        self.damaged()
        with open(self.source / "big", "r+b") as file:
            file.seek(200_000)
            file.write(b"changed")
        (self.source / "same").rename(self.source / "renamed")
        self.run_ok("push", "--delete", "--no-whole-file", f"{self.source}/", self.pool)
        self.assert_same_tree(self.source, self.pool)

    def test_all_names_of_a_damaged_file(self) -> None:
        os.link(self.source / "small", self.source / "sub/second")
        self.push()
        flip(self.pool / "small")
        self.damaged()
        self.push()
        self.assert_same_tree(self.source, self.pool)

    def test_what_the_source_does_not_have_is_told(self) -> None:
        flip(self.kept(2, "big"))
        self.damaged()
        self.assertIn("1 file of this set is damaged", self.push().stderr.decode())
        self.assertIn("'nbackup heal'", self.push().stderr.decode())


class PassedOn(Scrubbed):
    """What is known to be damaged gets nowhere else as if it were good."""

    def setUp(self) -> None:
        super().setUp()
        flip(self.pool / "small")
        flip(self.kept(2, "big"))
        self.damaged()

    def test_a_restore_names_it(self) -> None:
        done = self.run_code(opt.PARTIAL, "restore", f"{self.pool}/", self.dir / "back")
        self.assertIn("small: content is damaged", done.stderr.decode())
        self.assert_same_tree({path: entry for path, entry in tree.snapshot(self.source).items() if path != b"small"},
                              self.dir / "back", ignore_root=True)
        self.run_code(opt.PARTIAL, "restore", "--at", "1", f"{self.pool}:big", self.dir / "old")
        self.assertFalse((self.dir / "old/big").exists())
        self.assertEqual(len(self.run_ok("cat", "--at", "1", f"{self.pool}:big").stdout), BIG)

    def test_a_restore_of_a_generation_with_another_time_names_it(self) -> None:
        """push -c sets the time alone: the inode of the live file is that of the generations before."""
        os.utime(self.source / "same", ns=(1, 1))
        self.run_ok("push", "-c", f"{self.source}/", self.pool)
        flip(self.pool / "same")
        self.damaged()
        for at in ("2", "latest"):
            done = self.run_code(opt.PARTIAL, "restore", "--at", at, f"{self.pool}:same", self.dir / f"at-{at}")
            self.assertIn(b"same: content is damaged", done.stderr, done.text)
            self.assertFalse((self.dir / f"at-{at}/same").exists())

    def test_another_name_of_a_file_whose_listed_name_goes(self) -> None:
        """History has large files that were renamed under all their names, in one inode."""
        for old, new in (("same", "b"), ("b", "c")):
            (self.source / old).rename(self.source / new)
            self.push()
        (self.source / "c").unlink()
        self.push()
        flip(self.kept(4, "same"))
        self.assertIn(("same", 4), self.damaged())
        self.run_ok("prune", "--keep-last", "3", self.pool)
        self.assertFalse(self.kept(4, "same").exists())
        done = self.run_code(opt.DAMAGED, "heal", self.pool)
        self.assertIn("b in generation 5: no sound copy", done.stdout.decode())
        self.run_code(opt.PARTIAL, "restore", "--at", "4", f"{self.pool}:b", self.dir / "old")
        self.assertEqual(set(self.damaged()), {("b", 5)})

    def test_a_list_that_cannot_be_read_is_told(self) -> None:
        listed = self.pool / ".nbackup/damage"
        os.truncate(listed, listed.stat().st_size - 1)
        outcome = self.run_code(opt.PARTIAL, "restore", f"{self.pool}/", self.dir / "back")
        self.assertIn(b"nbackup scrub makes it anew", outcome.stderr)
        self.damaged()
        outcome = self.run_code(opt.PARTIAL, "restore", f"{self.pool}/", self.dir / "again")
        self.assertIn(b"small: content is damaged", outcome.stderr)

    def test_a_rollback_leaves_it(self) -> None:
        self.run_code(opt.PARTIAL, "rollback", "--to", "1", self.pool)
        self.assertEqual((self.pool / "sub/text").read_text(), "text of 1")
        self.assertEqual((self.pool / "big").read_bytes(), self.bigs[2], "the live one, which is sound")
        self.assertEqual(set(self.damaged()), {("small", None), ("big", 2)})


class Heals(Scrubbed):
    def heal(self, code: int, *options: str | Path) -> str:
        return self.run_code(code, "heal", *options, self.pool).stdout.decode()

    def assert_sound(self) -> None:
        self.assertIn("none damaged", self.scrub(0).stdout.decode())
        self.assertEqual(self.kept(2, "big").read_bytes(), self.bigs[0])
        self.assertEqual(self.kept(3, "big").read_bytes(), self.bigs[1])
        self.assert_same_tree(self.source, self.pool)
        self.assertFalse((self.pool / ".nbackup/damage").exists())

    def test_needs_a_scrub(self) -> None:
        self.assertIn("run nbackup scrub first", self.run_code(opt.USAGE, "heal", self.pool).stderr.decode())
        self.scrub(0)
        self.assertIn("nothing is known to be damaged", self.heal(0))

    def test_from_a_copy_elsewhere_in_the_tree(self) -> None:
        for name in ("big", "small"):
            shutil.copy2(self.source / name, self.source / "sub" / f"copy of {name}")
        self.push()
        flip(self.pool / "big", 70_000)
        flip(self.pool / "small")
        self.damaged()
        before = tree.snapshot(self.pool, contents=False)
        self.assertIn("could be healed  big: from sub/copy of big", self.heal(0, "-n"))
        self.assertEqual(self.heal(0, "-n").count("could be healed"), 2)
        done = self.heal(0)
        self.assertIn("healed   big: from sub/copy of big\n", done)
        self.assertIn("healed   small: from sub/copy of small\n", done)
        self.assertFalse(tree.compare(before, tree.snapshot(self.pool, contents=False)), "names, times and modes stay")
        self.assert_sound()

    def test_readers_that_stay(self) -> None:
        """They end the run, which still says what it has done and left."""
        shutil.copy2(self.source / "small", self.source / "sub/copy of small")
        self.push()
        flip(self.pool / "small")
        self.damaged()
        with open(self.pool / ".nbackup/lock", "rb") as lock:
            fcntl.lockf(lock, fcntl.LOCK_SH, 1, READER_BYTE)
            outcome = self.run_code(opt.READERS_BUSY, "heal", "--wait-readers", "0", self.pool)
        self.assertIn("healed 0 files of", outcome.stdout.decode())
        self.assertIn("1 left", outcome.stdout.decode())
        self.heal(0)
        self.assert_sound()

    def test_from_history_and_back(self) -> None:
        old = (self.source / "small").stat()
        (self.source / "small").write_text("other")
        self.push()
        (self.source / "small").write_text("small")
        os.utime(self.source / "small", ns=(old.st_atime_ns, old.st_mtime_ns + 5))
        self.push()
        flip(self.pool / "small")
        self.damaged()
        self.assertIn("healed   small: from small in generation 4\n", self.heal(0))
        flip(self.kept(4, "small"))
        self.assertEqual(set(self.damaged()), {("small", 4)})
        self.assertIn("healed   small in generation 4: from small\n", self.heal(0))
        self.assert_sound()

    def test_from_a_source(self) -> None:
        cut(self.pool / "same", 70_000)
        flip(self.pool / "sub/text")
        flip(self.kept(3, "sub/text"))
        self.damaged()
        text = self.heal(opt.DAMAGED)
        self.assertEqual(text.count("no sound copy was found"), 3)
        self.assertIn("healed 0 files of", text)
        text = self.heal(opt.DAMAGED, "--from", self.source)
        self.assertIn(f"healed   same: from {self.source}/same\n", text)
        self.assertIn("damaged  sub/text in generation 3: no sound copy was found\n", text)
        self.assertIn("healed 2 files of", text)
        (self.dir / "older/sub").mkdir(parents=True)
        (self.dir / "older/sub/text").write_text("text of 2")
        self.heal(0, "--from", self.dir / "older")
        self.assert_sound()

    def test_from_another_set(self) -> None:
        other = self.dir / "other"
        self.run_ok("push", f"{self.source}/", other)
        flip(self.pool / "big", 0)
        self.damaged()
        flip(other / "big", 0)
        self.heal(opt.DAMAGED, "--from", other)
        flip(other / "big", 0)
        self.heal(0, "--from", other)
        self.assert_sound()

    def test_block_by_block_from_other_versions(self) -> None:
        versions = [bytearray(self.bigs[2]), bytearray(self.bigs[2])]
        versions[0][200_000:200_010] = b"0123456789"
        versions[1][10:20] = b"0123456789"
        for number, content in enumerate(versions):
            (self.dir / f"v{number}").mkdir()
            (self.dir / f"v{number}/big").write_bytes(content)
        flip(self.pool / "big", 70_000)
        flip(self.pool / "big", 299_999)
        self.damaged()
        self.assertIn("healed   big: from", self.heal(0, "--from", self.dir / "v0"))
        flip(self.pool / "big", 15)
        self.damaged()
        self.heal(opt.DAMAGED, "--from", self.dir / "v1")
        self.heal(0, "--from", self.dir / "v0")
        self.assert_sound()

    def test_holes_and_all_names(self) -> None:
        with open(self.source / "sparse", "wb") as file:
            file.write(b"begin")
            file.truncate(8 << 20)
        os.link(self.source / "sparse", self.source / "sub/sparse")
        self.push()
        flip(self.pool / "sparse", 4 << 20)
        self.damaged()
        self.heal(0, "--from", self.source)
        self.assert_sound()
        self.assertLess((self.pool / "sparse").stat().st_blocks * 512, 1 << 20)

    def test_cut_off_and_scrubbed(self) -> None:
        """The time that a heal is to give back is not taken from what it has begun to write."""
        for failpoint, source in (("session.heal.writing=abort@1", ["--from", self.source]),
                                  ("session.heal.reading_back=abort@1", [])):  # all is there but the time
            with self.subTest(failpoint=failpoint):
                flip(self.pool / "big", 70_000)
                self.damaged()
                self.dies("heal", "--from", self.source, self.pool, failpoint=failpoint)
                self.scrub(opt.DAMAGED)
                self.heal(0, *source)
                self.assert_sound()

    def test_from_history_where_live_copies_are_damaged_too(self) -> None:
        for name in ("second", "third"):
            shutil.copy(self.source / "same", self.source / name)
        self.push()
        (self.source / "third").unlink()
        self.push()
        for name in ("same", "second"):
            flip(self.pool / name, 5)
        self.assertEqual(set(self.damaged()), {("same", None), ("second", None)})
        self.assertIn("from third in generation 5", self.heal(0))
        self.assert_sound()

    def test_where_an_arrival_cannot_be_looked_at(self) -> None:
        """It is not read, and the others are."""
        pool = self.plain_users_directory("theirs")
        self.run_ok("push", f"{self.source}/", pool, user=PLAIN_USER)
        os.chmod(pool / "sub", 0)
        flip(pool / "small")
        for _ in range(2):
            done = self.run_code(opt.DAMAGED, "scrub", pool, user=PLAIN_USER)
            self.assertIn("damaged  small: content changed", done.stdout.decode(), done.text)
        os.chmod(pool / "sub", 0o755)
        self.run_ok("heal", "--from", self.source, pool, user=PLAIN_USER)
        self.run_ok("scrub", pool, user=PLAIN_USER)

    def test_where_the_memory_cannot_be_used(self) -> None:
        """What a push says of its files stays until a scrub could take it over."""
        (self.source / "small").write_text("other")
        self.push()
        lists = os.listdir(self.pool / ".nbackup/arrivals")
        memory = self.pool / ".nbackup/contents.db"
        with contextlib.closing(sqlite3.connect(memory)) as newer:
            newer.execute("PRAGMA user_version = 99")
        self.scrub(0)
        self.assertEqual(os.listdir(self.pool / ".nbackup/arrivals"), lists)
        memory.unlink()
        flip(self.pool / "small")
        self.assertEqual(set(self.damaged()), {("small", None)})

    def test_cut_off_with_what_writing_takes_away(self) -> None:
        """The second heal gives back what the first one's first write took from the file."""
        self.need_root()
        for name in ("big", "small"):
            os.chmod(self.source / name, 0o6755)
            os.setxattr(self.source / name, "security.capability", CAP_NET_RAW)
        self.push()
        for failpoint in ("session.heal.writing=abort@1", "session.heal.written=abort@1"):
            with self.subTest(failpoint=failpoint):
                flip(self.pool / "small")
                os.setxattr(self.pool / "small", "security.capability", CAP_NET_RAW)
                self.damaged()
                self.dies("heal", "--from", self.source, self.pool, failpoint=failpoint)
                self.heal(0, "--from", self.source)
                self.assert_sound()

    def test_a_plain_users_closed_file(self) -> None:
        self.need_root()
        (self.source / "closed").write_text("nobody may write")
        os.chmod(self.source / "closed", 0o4555)
        self.push()
        flip(self.pool / "closed")
        self.damaged()
        self.heal(0, "--from", self.source)
        self.assert_sound()
        self.assertEqual((self.pool / "closed").stat().st_mode & 0o7777, 0o4555)

    def test_json(self) -> None:
        flip(self.pool / "small")
        flip(self.kept(2, "sub/text"))
        self.damaged()
        done = self.events(self.run_code(opt.DAMAGED, "heal", "--json", "--from", self.source, self.pool))
        self.assertEqual([(event["event"], event.get("outcome")) for event in done],
                         [("heal", "healed"), ("heal", "no_source"), ("healed", None)])
        self.assertEqual((done[-1]["healed"], done[-1]["left"]), (1, 1))


if __name__ == "__main__":
    unittest.main()
