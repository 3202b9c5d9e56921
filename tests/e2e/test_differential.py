# SPDX-License-Identifier: Apache-2.0
"""rsync and nbackup on the same seeded scenario: the same tree and the same class of exit code.

A scenario is all in its seed: the tree, the options, the filters, the changes between the runs, foreign changes at the
destination. NB_SEEDS=17,99 runs just these; NB_FULL=1 runs all 300, otherwise a fixed sample.
"""
from __future__ import annotations

import os
import random
import shutil
import subprocess
import time
import unittest
from dataclasses import replace
from pathlib import Path

from support import tree
from support.gen import Forest, Kinds, make_tree
from support.loopfs import Tmpfs
from support.run import Case, Outcome, chosen_seeds, clone

ALL_SEEDS = range(300)
RSYNC_PATIENCE = 60  # seconds; of one scenario in 300 it makes a run that stands still
SAMPLE = sorted(random.Random(1).sample(ALL_SEEDS, 40))
# Failures of rsync itself that nbackup does not share: default ACLs of names that were just replaced by something that
# is no directory, and a generator that gives up when a hard link must replace a filled directory.
RSYNC_FAULTS = (b"ACL_TYPE_DEFAULT", b"protocol incompatibility", b"errors with program diagnostics")
PATTERNS = ("*.tmp", "*.o", "doc*", "/f*", "x-*/", "*1*", "*[0-5].txt", ".hidden", "Img ?*", "**.jpg", "/doc*/", "f??")


class Scenario:
    """What one seed stands for."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(f"scenario-{seed}")
        self.seed = seed
        self.apart: set[bytes] = set()  # extras that both sides have otherwise since some round
        self.began = time.time_ns() - 10**8  # the kernel's clock for files is a little behind
        self.entries = rng.choice((5, 30, 80, 150))
        self.changes = rng.choice((1, 5, 20, 50))
        self.rounds = rng.choice((1, 2, 2, 3))
        self.delete = rng.random() < 0.6
        self.checksum = rng.random() < 0.2
        self.one_file_system = rng.random() < 0.1 and os.geteuid() == 0
        self.foreign = rng.random() < 0.3
        self.slash = rng.random() < 0.8
        self.several = rng.random() < 0.15
        self.filters: list[str] = []
        if rng.random() < 0.35:
            for _ in range(rng.randrange(1, 4)):
                self.filters += [rng.choice(("--exclude", "--exclude", "--include")), rng.choice(PATTERNS)]

    def options(self) -> list[str]:
        return ((["--delete"] if self.delete else []) + (["-c"] if self.checksum else [])
                + (["-x"] if self.one_file_system else []) + self.filters)

    def __str__(self) -> str:
        return f"seed {self.seed}: {self.entries} entries, {self.changes} changes x {self.rounds}, {self.options()}"


class Differential(Case):
    def setUp(self) -> None:
        super().setUp()
        if shutil.which("rsync") is None:
            self.skipTest("no rsync")

    def test_scenarios(self) -> None:
        for seed in chosen_seeds(SAMPLE, ALL_SEEDS):
            scenario = Scenario(seed)
            with self.subTest(scenario=str(scenario)):
                self._run(scenario)

    def _run(self, scenario: Scenario) -> None:
        base = self.dir / f"s{scenario.seed}"
        base.mkdir()
        forest = make_tree(base / "source", f"diff-{scenario.seed}", scenario.entries, Kinds(big_bytes=150_000))
        sources = [f"{base}/source" + ("/" if scenario.slash else "")]
        if scenario.several:
            make_tree(base / "second", f"second-{scenario.seed}", 10)
            sources.append(f"{base}/second")
        mount = Tmpfs(base / "source" / "mounted", 4) if scenario.one_file_system else None
        try:
            if mount:
                (mount.mount / "inside").write_text("another file system\n")
            self._round(scenario, base, sources)
            for number in range(scenario.rounds):
                if not mount:
                    forest.mutate(scenario.changes)
                if scenario.foreign:
                    self._foreign(base, scenario, number)
                self._round(scenario, base, sources)
        finally:
            if mount:
                mount.close()

    @staticmethod
    def _foreign(base: Path, scenario: Scenario, number: int) -> None:
        """The same changes to both destinations: they hold the same tree, so the same seed does the same."""
        for side in ("by-rsync", "by-nbackup"):
            Forest(base / side, f"foreign-{scenario.seed}-{number}", Kinds(hard_links=False)).mutate(3)

    def _round(self, scenario: Scenario, base: Path, sources: list[str]) -> None:
        before = tree.snapshot(base / "by-nbackup") if (base / "by-nbackup").exists() else {}
        # --modify-window=-1: without it rsync compares whole seconds.
        command = ["rsync", "-aHAXS", "--numeric-ids", "--modify-window=-1",
                   *scenario.options(), *sources, str(base / "by-rsync")]
        try:
            rsync = subprocess.run(command, capture_output=True, check=False, timeout=RSYNC_PATIENCE,
                                   env={**os.environ, "LC_ALL": "C.UTF-8"})
        except subprocess.TimeoutExpired:
            rsync = None
        ours = self.world.run("push", "--max-delete", "-1", *scenario.options(), *sources, base / "by-nbackup")
        if rsync is None or any(fault in rsync.stderr for fault in RSYNC_FAULTS):
            self._without_rsync(scenario, base, ours)
            return
        self.assertEqual(exit_class(rsync.returncode), exit_class(ours.code),
                         f"rsync exits {rsync.returncode}: {rsync.stderr.decode(errors='replace')}\n{ours.text}")
        want, have = tree.snapshot(base / "by-rsync"), tree.snapshot(base / "by-nbackup")
        sent = sent_names(sources)
        scenario.apart = (scenario.apart | extras_linked_to(sent, want)) - sent.keys()
        for path in scenario.apart.intersection(want, have, before):
            either = [replace(side[path], links=()) for side in (before, want)]
            self.assertIn(replace(have[path], links=()), either, path)
            want[path] = replace(have[path])
        for side in (want, have):
            only_sent_links(side, sent)
        same_moments(want, have, sent, scenario.began)
        if scenario.one_file_system:  # rsync leaves the time of a mount point, and so of what holds it, to chance
            for path in (b"", b"mounted", b"source", b"source/mounted"):
                if path in want and path in have:
                    want[path].mtime_ns = have[path].mtime_ns
        self.assert_same_tree(want, have, f"{scenario}\n{ours.text}", holes=True, ignore_root=not scenario.slash)
        self.assert_clean(base / "by-nbackup", str(scenario))
        self._second_is_silent(scenario, sources, base, ours)

    def _without_rsync(self, scenario: Scenario, base: Path, ours: Outcome) -> None:
        """rsync failed by a fault of its own: the source is the judge, where it can be."""
        if scenario.delete and not scenario.filters and not scenario.several and not scenario.one_file_system:
            self.assertEqual(ours.code, 0, ours.text)
            below = base / "by-nbackup" / ("" if scenario.slash else "source")
            self.assert_same_tree(base / "source", below, f"{scenario}\n{ours.text}", holes=True)
        else:
            self.assertIn(exit_class(ours.code), ("success", "partial"), ours.text)
        shutil.rmtree(base / "by-rsync", ignore_errors=True)  # the next round begins with two equal trees
        clone(base / "by-nbackup", base / "by-rsync")
        shutil.rmtree(base / "by-rsync/.nbackup")

    def _second_is_silent(self, scenario: Scenario, sources: list[str], base: Path, first: Outcome) -> None:
        """What was just made equal needs nothing more."""
        if first.code != 0 or scenario.seed % 4:
            return
        again = self.run_ok("push", "-i", "-n", "--max-delete", "-1", *scenario.options(), *sources,
                            base / "by-nbackup")
        lines = [line for line in again.stdout.splitlines() if line[11:12] == b" " and line[:1] in b"<>ch.*"]
        self.assertEqual(lines, [], again.text)


def sent_names(sources: list[str]) -> dict[bytes, str]:
    """The names at the destination that stand for something in a source, and its type."""
    names: dict[bytes, str] = {}
    for source in sources:
        prefix = b"" if source.endswith("/") else os.fsencode(os.path.basename(source))
        for path, entry in tree.snapshot(source, contents=False).items():
            names[os.path.join(prefix, path) if path else prefix] = entry.type
    return names


def same_moments(want: tree.Tree, have: tree.Tree, sent: dict[bytes, str], began: int) -> None:
    """A directory that only --delete has changed, which stays for what the rules protect, has the time of that."""
    for path in want.keys() & have.keys():
        own = want[path].type == have[path].type == "dir" and sent.get(path) != "dir"
        if own and min(want[path].mtime_ns, have[path].mtime_ns) >= began:
            have[path].mtime_ns = want[path].mtime_ns


def extras_linked_to(sent: dict[bytes, str], side: tree.Tree) -> set[bytes]:
    """rsync changes metadata through a shared inode, so that an extra stays linked to what changed, and changes too;
    nbackup does so only where the source has a group there too, else it puts a new file in place and leaves the extra
    as it was."""
    return {path for path, entry in side.items() if path not in sent and any(name in sent for name in entry.links)}


def only_sent_links(side: tree.Tree, sent: dict[bytes, str]) -> None:
    """Leaves extras out of the groups of hard links."""
    for path, entry in side.items():
        group = tuple(name for name in entry.links if name in sent)
        entry.links = group if path in sent and len(group) > 1 else ()


def exit_class(code: int) -> str:
    return {0: "success", 23: "partial", 24: "vanished", 25: "max-delete"}.get(code, "error")


if __name__ == "__main__":
    unittest.main()
