# SPDX-License-Identifier: Apache-2.0
"""Shared by the crash suites: scenarios that can be set up again and again, and the judge of what a crash left.

A Scenario owns an old tree, a new tree and one command that turns one into the other. fresh() gives a destination in
its old state; after a crash judge() demands the old or the new tree, then a rerun that reaches the new one.
"""
from __future__ import annotations

import os
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from . import tree
from .options import ROLLED_BACK
from .gen import Kinds, make_tree
from .run import PLAIN_GID, PLAIN_UID, Case, Outcome, Running, World, clone, remove_tree

REPO = Path(__file__).resolve().parents[3]
ENDS = ("client", "server")
NEW_CONTROL = b".nbackup.new"  # what dies while it makes a set leaves this; the next run removes it


def listed_failpoints() -> list[str]:
    """The generated list."""
    done = subprocess.run([str(REPO / "scripts/list-failpoints")], capture_output=True, text=True, check=True)
    return done.stdout.split()


@dataclass
class Scenario:
    """One command under test. `operation` is push, pull, recover or restore (of a set's first generation)."""

    case: Case
    operation: str
    source: Path
    base: Path | None  # the destination in its old state, to be cloned; None: there is nothing yet
    old: tree.Tree
    new: tree.Tree
    user: str = ""
    interrupted: tuple["Scenario", str] | None = None  # fresh() is what this scenario leaves when it dies there
    below: str = ""  # where in the destination a push goes to
    # How often each failpoint is passed, in the order of the first time.
    hits: dict[str, Counter[str]] = field(default_factory=lambda: {end: Counter() for end in ENDS})
    _count: int = 0

    @property
    def world(self) -> World:
        return self.case.world

    def fresh(self) -> Path:
        """A destination in its old state at a path never used before.

        An interrupted commit is made anew each time: its journal knows files by their inodes, which no copy keeps.
        """
        if self.interrupted:
            target = self.interrupted[0].fresh()
            self.interrupted[0].crash(target, {"server": self.interrupted[1]})
            return target
        self._count += 1
        target = self.case.dir / f"{self.operation}-{id(self):x}-{self._count}"
        if self.base:
            clone(self.base, target)
        return target

    def start(self, target: Path, failpoints: dict[str, str] | None = None,
              logs: dict[str, Path] | None = None) -> Running:
        """Starts the command with failpoints armed at one end or both."""
        points, files = failpoints or {}, logs or {}
        client = {"failpoint": points.get("client", ""), "log": files.get("client"), "user": self.user}
        if self.operation == "recover":
            return self.world.spawn("recover", target, **client)
        server = self.world.server(points.get("server", ""), files.get("server"))
        options = self.world.carrier_options("fake", server)
        if self.operation == "pull":
            ends = (self.world.far(f"{self.source}/", "fake"), target)
        elif self.operation == "restore":
            ends = ("--at", "1", self.world.far(f"{self.source}/", "fake"), target)
        else:
            ends = (f"{self.source}/", self.world.far(target / self.below, "fake"))
        return self.world.spawn(self.operation, "--delete", *options, *ends, **client)

    def crash(self, target: Path, failpoints: dict[str, str]) -> Outcome:
        """Runs with failpoints armed and waits until both ends are gone."""
        outcome = self.start(target, failpoints).wait()
        self.wait_for_server()
        return outcome

    def wait_for_server(self) -> None:
        pid_file = self.case.dir / "scratch" / "server.pid"
        if self.operation != "recover" and pid_file.exists():
            wait_gone(self.world.server_pid())

    def judge(self, target: Path, note: str, want: str = "either") -> str:
        """Recovers, demands old or new (`want` names one), reruns, demands new, no leftovers. Returns which it was."""
        self.recover(target, note)
        state = self.state_of(target, note)
        if want != "either":
            self.case.assertEqual(state, want, note)
        if self.operation == "recover":
            self.finish_push(target, note)
        else:
            outcome = self.start(target).wait()
            self.case.assertEqual(outcome.code, 0, f"{note}: rerun\n{outcome.text}")
        self.case.assert_same_tree(self.new, target, f"{note}: after the rerun", ignore_root=self.own_new_root())
        if self.below:
            self.judge_first_generation(target, note)
        if self.leaves_no_set():
            self.case.assertEqual(tree.control_files(target), [], note)
        else:
            self.case.assert_clean(target, note)
        remove_tree(target)
        return state

    def judge_first_generation(self, target: Path, note: str) -> None:
        """The root is not the source's, so only history knows what its time was."""
        back = self.case.dir / "back"
        outcome = self.world.run("restore", f"{target}/", back, "--at", "1", user=self.user)
        self.case.assertEqual(outcome.code, 0, f"{note}: restore\n{outcome.text}")
        self.case.assert_same_tree(self.old, back, f"{note}: the generation before")
        remove_tree(back)

    def finish_push(self, target: Path, note: str) -> None:
        outcome = self.world.run("push", "--delete", f"{self.source}/", target, user=self.user)
        self.case.assertEqual(outcome.code, 0, f"{note}: push after recover\n{outcome.text}")

    def recover(self, target: Path, note: str) -> None:
        if (target / ".nbackup").exists():
            outcome = self.world.run("recover", "--wait", "20", target, user=self.user)
            self.case.assertIn(outcome.code, (0, ROLLED_BACK), f"{note}: recover\n{outcome.text}")

    def state_of(self, target: Path, note: str) -> str:
        """'old', 'new', or a failed test."""
        have = tree.snapshot(target, keep=lambda path: path != NEW_CONTROL) if target.exists() else {}
        to_new = tree.compare(self.new, have, ignore_root=self.own_new_root())
        if not to_new:
            return "new"
        to_old = tree.compare(self.old, have, ignore_root=self.own_root())
        self.case.assertEqual(to_old, [], f"{note}: neither the old nor the new tree\n--- to old:\n"
                              + "\n".join(to_old[:15]) + "\n--- to new:\n" + "\n".join(to_new[:15]))
        return "old"

    def own_root(self) -> bool:
        """Whether the root's own time may differ: it changes when .nbackup comes and goes."""
        return self.base is None or self.leaves_no_set()

    def own_new_root(self) -> bool:
        """The same of the new state, where the root also is not the source's when a part is pushed."""
        return self.own_root() or bool(self.below)

    def leaves_no_set(self) -> bool:
        return self.operation in ("pull", "restore")

    def probe(self) -> Outcome:
        """An undisturbed run that records which failpoints each end passes."""
        logs = {end: self.case.dir / "scratch" / f"probe-{end}" for end in ENDS}
        for log in logs.values():
            log.unlink(missing_ok=True)
            log.touch()
            log.chmod(0o666)
        target = self.fresh()
        outcome = self.start(target, logs=logs).wait()
        self.wait_for_server()
        self.case.assertEqual(outcome.code, 0, outcome.text)
        for end, log in logs.items():
            self.hits[end] = Counter(log.read_text().split())
        remove_tree(target)
        return outcome


def wait_gone(pid: int, timeout: float = 60) -> None:
    """Until a process that is not our child has ended (a zombie nobody reaps counts as ended)."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return
        if state == "Z":
            return
        time.sleep(0.01)
    raise AssertionError(f"process {pid} does not end")


def wait_until_busy(pid: int) -> None:
    """Until a process has used a second of processor time."""
    ticks = os.sysconf("SC_CLK_TCK")
    deadline = time.monotonic() + 60
    while sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13])) < ticks:
        if time.monotonic() > deadline:
            raise AssertionError(f"process {pid} does nothing")
        time.sleep(0.02)


def wait_stopped(pid: int, timeout: float = 60) -> bool:
    """Until a process has stopped at a failpoint (true) or ended without it (false)."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return False
        if state in "Tt":
            return True
        if state == "Z":
            return False
        time.sleep(0.005)
    raise AssertionError(f"process {pid} neither stops nor ends")


def own_by_plain_user(*roots: Path) -> None:
    """Gives trees to the plain user; times stay."""
    for root in roots:
        for here, dirs, files in os.walk(os.fsencode(root)):
            for name in [b"", *dirs, *files]:
                os.chown(os.path.join(here, name) if name else here, PLAIN_UID, PLAIN_GID, follow_symlinks=False)


def build_scenarios(case: Case, seed: str, entries: int = 60, user: str = "", changes: int = 25) -> dict[str, Scenario]:
    """push, first, inside, pull, restore, resume and recover over one pair of trees."""
    kinds = Kinds(big_bytes=200_000) if not user else Kinds(devices=False, owners=False, big_bytes=200_000)
    source, old_copy = case.dir / "source", case.dir / "old"
    forest = make_tree(source, seed, entries, kinds)
    if user:
        own_by_plain_user(case.dir)
    base = case.dir / "base"
    done = case.world.run("push", f"{source}/", base, user=user)
    case.assertEqual(done.code, 0, done.text)
    case.assert_same_tree(source, base, "first push")
    clone(source, old_copy)
    forest.mutate(changes)
    if user:
        own_by_plain_user(source)
    old, new = tree.snapshot(old_copy), tree.snapshot(source)
    both = case.dir / "both"
    clone(old_copy, both), clone(source, both / "new")
    out = {
        "push": Scenario(case, "push", source, base, old, new, user),
        "first": Scenario(case, "push", source, None, {}, new, user),
        "inside": Scenario(case, "push", source, base, old, tree.snapshot(both), user, below="new"),
        "pull": Scenario(case, "pull", source, old_copy, old, new, user),
        "restore": Scenario(case, "restore", _two_generations(case, base, source, user), source, new, old, user),
    }
    for name, operation, failpoint in (("resume", "push", "session.sink.planned=abort"),
                                       ("recover", "recover", "txn.apply.op=abort@5")):
        out[name] = Scenario(case, operation, source, base, old, new, user, (out["push"], failpoint))
    _check_interruptions(case, out)
    return out


def _two_generations(case: Case, base: Path, source: Path, user: str) -> Path:
    """A set whose first generation is that of `base`, and whose second is `source`."""
    pool = case.dir / "pool"
    clone(base, pool)
    done = case.world.run("push", "--delete", f"{source}/", pool, user=user)
    case.assertEqual(done.code, 0, done.text)
    return pool


def _check_interruptions(case: Case, scenarios: dict[str, Scenario]) -> None:
    """What the interrupted scenarios begin with: a stage and no journal, or a journal."""
    for name, journal in (("resume", False), ("recover", True)):
        target = scenarios[name].fresh()
        case.assertTrue(os.listdir(target / ".nbackup/tx"), name)
        case.assertEqual((target / ".nbackup/journal").exists(), journal, name)
        remove_tree(target)
