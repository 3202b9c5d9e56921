# SPDX-License-Identifier: Apache-2.0
"""Dies at every failpoint, on either end; dies at random moments; is interrupted; resumes.

After each: the destination is the old or the new tree, `recover` succeeds, a rerun reaches exactly the new tree and
leaves nothing behind. NB_FULL=1 runs every failpoint at its first, second and fifth pass in every scenario.
"""
from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
import unittest
from pathlib import Path

from support import options as opt
from support import tree
from support.crash import ENDS, Scenario, build_scenarios, listed_failpoints, wait_gone, wait_stopped
from support.generations import assert_exact, kept, make_generations
from support.rot import flip
from support.run import FULL, PLAIN_USER, Case, Running, clone, remove_tree

COUNTS = (1, 2, 5)
_passed: set[str] = set()  # failpoints that tests of this process died at
_ran: set[str] = set()


def plan(scenario: Scenario, name: str) -> list[tuple[str, str, int]]:
    """(end, failpoint, pass) to die at: all of them, or each failpoint in the first scenario that passes it, and a
    seeded sample of the rest. Without privileges, where the same code runs a second time, a sample of all."""
    every = [(end, point, count) for end in ENDS for point in sorted(scenario.hits[end]) for count in COUNTS]
    if FULL:
        return every
    rng = random.Random(name)
    if name == "restore":  # a pull, but for what it reads
        first = [case for case in every if case[2] == 1]
        return [case for case in first if case[1].startswith("session.reader.")] + rng.sample(first, 10)
    if scenario.user:
        return rng.sample(every, min(len(every), 12))
    fresh = [case for case in every if case[2] == 1 and case[1] not in _passed]
    again = [case for case in every if case[2] == 1 and case[1] in _passed]
    rest = [case for case in every if case[2] > 1]
    return fresh + rng.sample(again, len(again) // 2) + rng.sample(rest, min(len(rest), 6))


class Matrix(Case):
    """Every failpoint that a scenario passes, on the end that passes it."""

    USER = ""
    SCENARIOS: tuple[str, ...] = ("push", "first", "inside", "pull", "restore", "resume", "recover")

    def test_every_failpoint(self) -> None:
        if self.USER:
            self.need_root()
        scenarios = build_scenarios(self, f"crash-{self.USER}", user=self.USER)
        for name in self.SCENARIOS:
            self.assertIn(name, scenarios, "no failpoint leads to this state")
            self._scenario(name, scenarios[name])
        _ran.add(type(self).__name__)

    def _scenario(self, name: str, scenario: Scenario) -> None:
        scenario.probe()
        for end, point, count in plan(scenario, name):
            with self.subTest(scenario=name, end=end, failpoint=point, at=count):
                note = f"{name}: {end} dies at {point}@{count}"
                target = scenario.fresh()
                outcome = scenario.crash(target, {end: f"{point}=abort@{count}"})
                if count == 1:
                    if not (end == "server" and point.startswith("txn.cleanup.")):  # the client has its answer by then
                        self.assertNotEqual(outcome.code, 0, f"{note}: did not die\n{outcome.text}")
                    _passed.add(point)
                scenario.judge(target, note, "new" if outcome.code == 0 and name != "recover" else "either")


class PlainUserMatrix(Matrix):
    """The same without privileges, over trees with 0555 directories."""

    USER = PLAIN_USER


class SecondCrash(Case):
    """Recovery itself dies, at each of its failpoints in turn, until one recovery gets through."""

    def test_recovery_dies_again_and_again(self) -> None:
        scenarios = build_scenarios(self, "second-crash")
        self.assertIn("recover", scenarios)
        scenario = scenarios["recover"]
        scenario.probe()
        target = scenario.fresh()
        deaths = 0
        for point, passes in scenario.hits["client"].items():
            for count in range(1, min(passes, 3) + 1):
                outcome = scenario.crash(target, {"client": f"{point}=abort@{count}"})
                self.assertIn(outcome.code, (0, -signal.SIGKILL), outcome.text)
                if outcome.code:
                    deaths += 1
                    _passed.add(point)
        self.assertGreater(deaths, 10, "one of the first has got through")
        scenario.judge(target, "after a chain of crashes", "new")


class Rollback(Case):
    """An apply that cannot go on (a file made immutable after the checks) is undone; and dies while it is undone."""

    def setUp(self) -> None:
        super().setUp()
        self.need_root()
        self.scenario = build_scenarios(self, "rollback", entries=40)["push"]
        self.scenario.probe()

    def _stop_and_freeze(self, extra: str) -> tuple[Path, Path, int]:
        """The server stands before its first apply operation, one target is immutable, and it goes on."""
        target = self.scenario.fresh()
        run, pid = start_to_commit_point(self, self.scenario, target, extra)
        victim = last_changed_file(self, self.scenario, target)
        chattr("+i", victim)
        os.kill(pid, signal.SIGCONT)
        code = run.wait().code
        wait_gone(pid)
        return target, victim, code

    def test_immutable_file_met_while_applying(self) -> None:
        target, victim, code = self._stop_and_freeze("")
        chattr("-i", victim)
        self.assertIn(code, (0, opt.ROLLED_BACK, opt.IO), "completed or rolled back, and said so")
        state = self.scenario.judge(target, "rolled back", "either")
        self.assertEqual(state, "new" if code == 0 else "old")

    def test_dies_while_undoing(self) -> None:
        for point in [p for p in listed_failpoints() if "undo" in p or "rollback" in p]:
            for count in (1, 2) if FULL else (1,):
                with self.subTest(failpoint=point, at=count):
                    target, victim, code = self._stop_and_freeze(f"{point}=abort@{count}")
                    chattr("-i", victim)
                    if code == opt.ROLLED_BACK and count > 1:
                        continue  # passed once
                    _passed.add(point)
                    self.assertNotIn(code, (0, opt.ROLLED_BACK, opt.IO), "it did not die")
                    self.scenario.judge(target, f"died at {point}")


class ForeignEdit(Case):
    """Someone replaces a file between the commit point and its turn: kept in .nbackup/conflict, the rest goes on."""

    FOREIGN = "written by someone else during the commit"

    def setUp(self) -> None:
        super().setUp()
        self.scenarios = build_scenarios(self, "foreign", entries=40)
        self.scenario = self.scenarios["push"]
        self.scenario.probe()

    def _edit(self, extra: str) -> tuple[Path, int]:
        target = self.scenario.fresh()
        run, pid = start_to_commit_point(self, self.scenario, target, extra)
        victim = last_changed_file(self, self.scenario, target, replaced=True)
        (self.dir / "foreign").write_text(self.FOREIGN)
        os.replace(self.dir / "foreign", victim)
        os.kill(pid, signal.SIGCONT)
        code = run.wait().code
        wait_gone(pid)
        return target, code

    def _check(self, target: Path) -> None:
        self.assert_same_tree(self.scenario.new, target, "all but the foreign file is the new tree")
        kept = [p for p in (target / ".nbackup/conflict").rglob("*") if p.is_file()]
        self.assertIn(self.FOREIGN, [p.read_text(errors="replace") for p in kept], "the foreign file is kept")

    def test_is_reported(self) -> None:
        target, code = self._edit("")
        self.assertEqual(code, opt.PARTIAL)
        self._check(target)

    def test_the_next_push_tells_what_recovery_found(self) -> None:
        target, code = self._edit("txn.finish.synced=abort")
        self.assertNotEqual(code, 0)
        again = self.world.run("push", "--delete", f"{self.scenario.source}/", target)
        self.assertEqual(again.code, opt.PARTIAL, again.text)
        self.assertIn("changed by someone else", again.text)
        self._check(target)

    def test_what_a_pull_kept_is_in_the_way_of_a_set(self) -> None:
        """The directory of a pull becomes a set by a push into it: not as long as it keeps what is somebody else's."""
        self.scenario = self.scenarios["pull"]
        target = self.scenario.fresh()
        run = self.scenario.start(target, {"client": "txn.commit.point=stop"})
        self.assertTrue(wait_stopped(run.process.pid))
        victim = last_changed_file(self, self.scenario, target, replaced=True)
        (self.dir / "foreign").write_text(self.FOREIGN)
        os.replace(self.dir / "foreign", victim)
        run.kill(signal.SIGCONT)
        self.assertEqual(run.wait().code, opt.PARTIAL)
        self._check(target)
        refused = self.world.run("push", f"{self.scenario.source}/", target)
        self.assertEqual(refused.code, opt.PATH, refused.text)
        self.assertIn(".nbackup/conflict keeps", refused.text)
        self._check(target)
        (target / ".nbackup/conflict").rename(self.dir / "aside")
        self.assertEqual(self.world.run("push", f"{self.scenario.source}/", target).code, 0)

    def test_dies_while_setting_it_aside(self) -> None:
        for point in [p for p in listed_failpoints() if "conflict" in p]:
            with self.subTest(failpoint=point):
                target, code = self._edit(f"{point}=abort")
                _passed.add(point)
                self.assertNotIn(code, (0, opt.PARTIAL), "it did not die")
                recovered = self.world.run("recover", target)
                self.assertIn(recovered.code, (0, opt.PARTIAL), recovered.text)
                self._check(target)


class Dropping(Case):
    """Generations are dropped by hand; what dies on the way is finished by the next one, and every other stays exact."""

    def setUp(self) -> None:
        super().setUp()
        self.made = make_generations(self, "dropping")
        self.count = 0

    def _fresh(self) -> Path:
        self.count += 1
        target = self.dir / f"dropping-{self.count}"
        clone(self.made.pool, target)
        return target

    def _die(self, target: Path, point: str, count: int, *command: str) -> None:
        outcome = self.world.run(*command, target, failpoint=f"{point}=abort@{count}")
        if outcome.code != 0:
            _passed.add(point)
        elif count == 1:
            self.fail(f"{point} is not passed")

    def test_dies_while_dropping(self) -> None:
        for point in self._points():
            for count in COUNTS if FULL else (1,):
                with self.subTest(failpoint=point, at=count):
                    target = self._fresh()
                    # Only what has something newer and something older beside it has files to be moved.
                    if point != "txn.thin.put_away":
                        self._die(target, point, count, "prune", "--keep-last", "3")
                    self._check(target, f"died at {point}@{count}")

    def test_dies_while_merging_after_a_push(self) -> None:
        (self.made.source / "moved").write_text("of 6")
        (self.made.source / "dir/sub/c").write_text("of 6, too")
        self.made.trees[6] = tree.snapshot(self.made.source)
        for point in self._points():
            for count in COUNTS if FULL else (1,):
                with self.subTest(failpoint=point, at=count):
                    self._push_and_die(point, count)

    def _points(self) -> list[str]:
        return [p for p in listed_failpoints() if p.startswith("txn.thin.") and p != "txn.thin.found"]

    def _push_and_die(self, point: str, count: int) -> None:
        target = self._fresh()
        log = self.dir / "scratch" / "passed"
        log.unlink(missing_ok=True)
        server = self.world.server(f"{point}=abort@{count}", log)
        # Its result may still be on the way.
        self.run_code((0, opt.PROTOCOL), "push", "--delete", "--no-history",
                      *self.world.carrier_options("fake", server), f"{self.made.source}/",
                      self.world.far(target, "fake"))
        wait_gone(self.world.server_pid())
        self.assertIn(point, log.read_text().split())
        _passed.add(point)
        note = f"died at {point}@{count} after a push"
        self.run_ok("generations", target)
        self.assertIn(kept(target), ([0, 1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 4, 6]), note)
        assert_exact(self, self.made, target, note)
        self.run_ok("push", "--delete", f"{self.made.source}/", target)
        self.assert_clean(target, note)
        remove_tree(target)

    def test_dies_while_finishing(self) -> None:
        for point in ("txn.thin.found", "txn.thin.op", "txn.thin.synced", "txn.thin.finished"):
            with self.subTest(failpoint=point):
                target = self._fresh()
                self._die(target, "txn.thin.renamed", 1, "prune", "--keep-last", "3")
                self._die(target, point, 1, "recover")
                self._check(target, f"died again at {point}")

    def test_dies_while_setting_the_policy(self) -> None:
        target = self._fresh()
        self._die(target, "txn.policy.written", 1, "policy", "--keep-last", "1")
        self.assertIn("(the default)", self.run_ok("policy", target).stdout.decode())
        self.run_ok("policy", "--keep-last", "1", target)

    def _check(self, target: Path, note: str) -> None:
        # A reader finishes it.
        self.run_ok("generations", target)
        self.assertIn(kept(target), ([0, 1, 2, 3, 4, 5], [3, 4, 5]), note)
        assert_exact(self, self.made, target, note)
        self.run_ok("prune", "--keep-last", "3", target)
        self.assertEqual(kept(target), [3, 4, 5], note)
        assert_exact(self, self.made, target, note)
        self.assert_clean(target, note)
        remove_tree(target)


class Scrubbing(Case):
    """Scrub and heal die anywhere: what they have found is found again, what they wrote is made whole the next time."""

    SIZE = 300_000

    def setUp(self) -> None:
        super().setUp()
        self.source, self.count = self.dir / "source", 0
        self.source.mkdir()
        (self.source / "big").write_bytes(random.Random(3).randbytes(self.SIZE))
        (self.source / "small").write_text("small")

    def _damaged(self) -> Path:
        self.count += 1
        target = self.dir / f"rotten-{self.count}"
        self.run_ok("push", f"{self.source}/", target)  # of a copy of a set a scrub knows nothing
        flip(target / "big", 70_000)
        flip(target / "small")
        return target

    def _die(self, point: str, *command: str | Path) -> None:
        outcome = self.world.run(*command, failpoint=f"{point}=abort")
        self.assertNotEqual(outcome.code, 0, f"{point} is not passed")
        _passed.add(point)

    def _points(self, kind: str) -> list[str]:
        return [p for p in listed_failpoints() if p.startswith(f"session.{kind}.")] + ["txn.damage.written"]

    def test_dies_while_scrubbing(self) -> None:
        for point in self._points("scrub"):
            with self.subTest(failpoint=point):
                target = self._damaged()
                self._die(point, "scrub", target)
                text = self.run_code(opt.DAMAGED, "scrub", target).stdout.decode()
                again = self.run_code(opt.DAMAGED, "scrub", target).stdout.decode()
                self.assertIn("damaged  big:", text + again)
                self.assertIn("2 damaged", again)
                self.assert_clean(target)

    def test_dies_while_healing(self) -> None:
        for point in self._points("heal"):
            with self.subTest(failpoint=point):
                target = self._damaged()
                self.run_code(opt.DAMAGED, "scrub", target)
                self._die(point, "heal", "--from", self.source, target)
                self.run_ok("heal", "--from", self.source, target)
                self.assert_same_tree(self.source, target, point)
                self.run_ok("scrub", target)
                self.assert_clean(target)

    def test_a_push_after_a_death_in_heal(self) -> None:
        target = self._damaged()
        self.run_code(opt.DAMAGED, "scrub", target)
        self._die("session.heal.writing", "heal", "--from", self.source, target)
        self.run_ok("push", f"{self.source}/", target)
        self.assert_same_tree(self.source, target)


def start_to_commit_point(case: Case, scenario: Scenario, target: Path, extra: str) -> tuple[Running, int]:
    """A push whose server has passed the commit point and applied nothing yet."""
    run = scenario.start(target, {"server": "txn.commit.point=stop" + (f",{extra}" if extra else "")})
    pid = case.world.server_pid()
    case.assertTrue(wait_stopped(pid), "does not stop at the commit point")
    return run, pid


def last_changed_file(case: Case, scenario: Scenario, target: Path, *, replaced: bool = False) -> Path:
    """The last file in order that the push replaces or removes, so that much is done before its turn comes."""
    for path, entry in sorted(scenario.old.items(), reverse=True):
        after = scenario.new.get(path)
        if entry.type != "file" or entry.links or (replaced and (after is None or after.links)):
            continue
        if after is None or (after.type == "file" and after.digest != entry.digest):
            live = target / os.fsdecode(path)
            if live.is_file() and not live.is_symlink():
                return live
    case.fail("the trees have no such file")


def chattr(flag: str, path: Path) -> None:
    subprocess.run(["chattr", flag, "--", str(path)], check=True, capture_output=True)


class Killed(Case):
    """SIGKILL at random moments, SIGINT, SIGTERM."""

    def setUp(self) -> None:
        super().setUp()
        self.scenario = build_scenarios(self, "killed", entries=800, changes=300)["push"]

    def test_kill_9_at_random_moments(self) -> None:
        begin = time.monotonic()
        self.scenario.probe()
        whole = time.monotonic() - begin
        rng = random.Random(9)
        killed = 0
        for number in range(150 if FULL else 8):
            end = ENDS[number % 2]
            delay = rng.uniform(0, whole)
            with self.subTest(end=end, number=number, delay=delay):
                target = self.scenario.fresh()
                run = self.scenario.start(target)
                pid = run.process.pid if end == "client" else self.world.server_pid()
                time.sleep(delay)  # the moment is the test's subject
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                outcome = run.wait()
                killed += outcome.code != 0
                self.scenario.wait_for_server()
                self.scenario.judge(target, f"{end} killed after {delay:.3f} s", "either" if outcome.code else "new")
        self.assertGreater(killed, 0)

    def test_interrupt_keeps_the_stage(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number):
                target = self.scenario.fresh()
                run = self.scenario.start(target, {"client": "session.source.range_sent=stop"})
                self.assertTrue(wait_stopped(run.process.pid), "no file comes in pieces")
                run.kill(number)
                run.kill(signal.SIGCONT)
                outcome = run.wait()
                self.assertEqual(outcome.code, opt.INTERRUPTED, outcome.text)
                self.scenario.wait_for_server()
                self.assertTrue(list((target / ".nbackup/tx").glob("*/new/*")), outcome.text)
                self.scenario.judge(target, "interrupted", "old")

    def test_interrupt_in_the_middle_of_a_file(self) -> None:
        """The file is not to blame: the run ends, and does not commit the rest."""
        for point in ("session.source.range_sent=stop", "session.source.range_sent=error"):
            with self.subTest(failpoint=point):
                target = self.scenario.fresh()
                run = self.scenario.start(target, {"client": point})
                if point.endswith("stop"):
                    self.assertTrue(wait_stopped(run.process.pid), "no file comes in pieces")
                    run.kill(signal.SIGINT)
                    run.kill(signal.SIGCONT)
                outcome = run.wait()
                if point.endswith("stop"):
                    self.assertEqual(outcome.code, opt.INTERRUPTED, outcome.text)
                self.assertNotIn(outcome.code, (0, opt.PARTIAL), outcome.text)
                self.scenario.wait_for_server()
                self.scenario.judge(target, point, "old")


class Resume(Case):
    """A first push of many files, killed at 90 %: the rerun sends under 12 % of the bytes."""

    FILES = 100_000 if FULL else 20_000

    def test_rerun_sends_the_rest_only(self) -> None:
        source, sink = self.dir / "source", self.dir / "sink"
        total = self._many_files(source)
        proxy = Path(__file__).parent / "support" / "proxy.py"
        counts = self.dir / "counts"
        server = self.world.server()
        options = ["--remote-path", str(server), "-e", f"python3 {proxy} --count {counts} -- {self.world.sshd.rsh}"]
        slow = ["--bwlimit", str(total // 1024 // 12)]
        run = self.world.spawn("push", *slow, *options, f"{source}/", f"nbtest:{sink}")
        pid = self.world.server_pid()
        self._wait_until_staged(sink, int(self.FILES * 0.9))
        run.kill()
        run.wait()
        wait_gone(pid)
        self.assertEqual([n for n in os.listdir(sink) if n != ".nbackup"], [], "killed before the commit")
        self.run_ok("push", *options, f"{source}/", f"nbtest:{sink}", timeout=600)
        sent = int(counts.read_text().split()[0])
        self.assertLess(sent, total * 0.12, f"sent {sent} of {total} bytes again")
        self.assert_same_tree(source, sink)
        self.assert_clean(sink)

    def _many_files(self, source: Path) -> int:
        rng, total = random.Random(90), 0
        for number in range(self.FILES):
            if number % 200 == 0:
                here = source / f"d{number // 200}"
                here.mkdir(parents=True)
            size = rng.randrange(2000, 14_000)
            (here / f"f{number}").write_bytes(rng.randbytes(size))
            total += size
        return total

    def _wait_until_staged(self, sink: Path, count: int) -> None:
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            stage = sink / ".nbackup" / "tx"
            if stage.exists() and sum(len(files) for _, _, files in os.walk(stage)) >= count:
                return
            time.sleep(0.1)
        self.fail(f"never {count} files in the stage")


class ZCoverage(unittest.TestCase):
    """Runs last: every failpoint in the sources was died at by a test above."""

    def test_every_failpoint_is_hit(self) -> None:
        if not {"Matrix", "PlainUserMatrix"} <= _ran:
            self.skipTest("the matrices did not run in this process")
        self.assertEqual([name for name in listed_failpoints() if name not in _passed], [])


if __name__ == "__main__":
    unittest.main()
