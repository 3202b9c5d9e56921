# SPDX-License-Identifier: Apache-2.0
"""A destination that refuses: full, read-only, unwritable, immutable, or with another file system mounted inside."""
from __future__ import annotations

import os
import shutil
import signal
import subprocess
import unittest
from pathlib import Path

from support import loopfs, options as opt, tree
from support.crash import wait_gone, wait_stopped
from support.gen import Kinds, make_tree
from support.run import FULL, PLAIN_USER, Case, Outcome, clone

FULL_PHASES = ("session.sink.locked", "session.stage.file", "session.stage.file_written", "session.sink.planned")


class Refusing(Case):
    """A source, and its older state in dir/old; make_set() pushes the old state to a place."""

    def setUp(self) -> None:
        super().setUp()
        self.need_root()
        self.source = self.dir / "source"
        forest = make_tree(self.source, "faults", 40, Kinds(big_bytes=60_000))
        (self.source / "victim").write_text("old content of the victim")
        (self.source / "doomed").write_text("will be deleted")
        (self.source / "kept-dir").mkdir()
        (self.source / "kept-dir/a").write_text("a")
        clone(self.source, self.dir / "old")
        forest.mutate(12)
        (self.source / "doomed").unlink(missing_ok=True)
        for name in ("victim", "kept-dir/a", "kept-dir/b"):
            (self.source / "kept-dir").mkdir(exist_ok=True)
            (self.source / name).write_text(f"new content of {name}, longer than before")
        self.old, self.new = tree.snapshot(self.dir / "old"), tree.snapshot(self.source)

    def make_set(self, root: Path) -> None:
        self.run_ok("push", opt.NEW_SET, f"{self.dir}/old/", root)  # another file system at the same path
        self.assert_same_tree(self.old, root, "the old state")

    def push(self, root: Path, **options: object) -> Outcome:
        return self.world.run("push", "--delete", f"{self.source}/", root, **options)  # type: ignore[arg-type]

    def judge(self, root: Path, outcome: Outcome, codes: tuple[int, ...], note: str = "") -> None:
        """Either all of it is there and the exit code is 0, or none of it and the code and a message say so."""
        self.assertIn(outcome.code, (0, *codes), f"{note}\n{outcome.text}")
        have = tree.snapshot(root)
        if outcome.code == 0:
            self.assert_same_tree(self.new, have, note)
        else:
            self.assert_same_tree(self.old, have, f"{note}\n{outcome.text}")
            self.assertTrue(outcome.stderr.strip(), "an error is explained")

    def converge(self, root: Path) -> None:
        """The cause is gone: the next run does it."""
        self.run_ok("push", "--delete", f"{self.source}/", root)
        self.assert_same_tree(self.new, root, "after the cause is gone")
        self.assert_clean(root)


def _many_small(path: Path) -> None:
    """More than 24 MB have room for."""
    path.mkdir()
    for number in range(7000):
        (path / str(number)).write_bytes(b"%d" % number * 200)


class FullDisk(Refusing):
    def _small(self, kind: str):  # noqa: ANN202
        reason = loopfs.missing(kind)
        if reason:
            self.skipTest(reason)
        if kind == "tmpfs":
            return loopfs.Tmpfs(self.dir / "small", 16)
        return loopfs.LoopFs(self.dir, kind, 24, "small")

    def test_more_than_fits(self) -> None:
        (self.source / "huge").write_bytes(os.urandom(30 << 20))
        self.new = tree.snapshot(self.source)
        for kind in ("ext4", "tmpfs"):
            with self.subTest(fs=kind), self._small(kind) as disk:
                root = disk.mount / "set"
                self.make_set(root)
                self.judge(root, self.push(root), (opt.IO,), kind)
        (self.source / "huge").unlink()

    def test_what_was_staged_does_not_block_smaller_runs(self) -> None:
        """Nothing but the stage of runs that failed fills the disk: a source that fits again must get in."""
        for name, make in (("huge", lambda path: path.write_bytes(os.urandom(30 << 20))), ("many", _many_small)):
            with self.subTest(name), self._small("ext4") as disk:
                root = disk.mount / "set"
                self.make_set(root)
                make(self.source / name)
                for _ in range(2):
                    self.judge(root, self.push(root), (opt.IO,), name)
                path = self.source / name
                shutil.rmtree(path) if path.is_dir() else path.unlink()
                self.new = tree.snapshot(self.source)
                self.converge(root)

    def test_stage_that_left_nothing_of_a_btrfs(self) -> None:
        """There not even a byte can be written in place of another: what makes room must need none."""
        reason = loopfs.missing("btrfs")
        if reason:
            self.skipTest(reason)
        with loopfs.LoopFs(self.dir, "btrfs", 200, "small") as disk:
            root = disk.mount / "set"
            self.make_set(root)
            (self.source / "huge").write_bytes(os.urandom(125_000_000))
            # Where the manifest's shared memory gets no block, the kernel ends the server.
            self.judge(root, self.push(root), (opt.IO, opt.PROTOCOL))
            (self.source / "huge").unlink()
            self.run_ok("recover", root)
            self.new = tree.snapshot(self.source)
            self.converge(root)

    def test_filled_up_at_each_phase(self) -> None:
        for kind in ("ext4", "tmpfs"):
            for point in self._points():
                with self.subTest(fs=kind, failpoint=point), self._small(kind) as disk:
                    self._fill_at(disk.mount, point)

    def _points(self) -> list[str]:
        log = self.dir / "scratch" / "points"
        log.unlink(missing_ok=True)
        log.touch()
        probe = self.dir / "probe"
        if not probe.exists():
            self.make_set(probe)
        options = self.world.carrier_options("fake", self.world.server(log=log))
        self.run_ok("push", "--delete", opt.NEW_SET, *options, f"{self.source}/", f"nbtest:{probe}")
        passed = log.read_text().split()
        shutil.rmtree(probe)
        txn = [name for name in passed if name.startswith("txn.")]
        self.assertLessEqual(set(FULL_PHASES), set(passed))
        return [*FULL_PHASES, *(txn if FULL else txn[::4])]

    def _fill_at(self, mount: Path, point: str) -> None:
        root = mount / "set"
        self.make_set(root)
        options = self.world.carrier_options("fake", self.world.server(f"{point}=stop"))
        run = self.world.spawn("push", "--delete", opt.NEW_SET, *options, f"{self.source}/", f"nbtest:{root}")
        pid = self.world.server_pid()
        if not wait_stopped(pid):
            self.fail(f"never at {point}: {run.wait().text}")
        _fill(mount / "filler")
        os.kill(pid, signal.SIGCONT)
        outcome = run.wait()
        wait_gone(pid)
        note = f"full at {point}\n{outcome.text}"
        self.assertIn(outcome.code, (0, opt.IO, opt.ROLLED_BACK, opt.IN_DOUBT, opt.RECOVERY_FAILED), note)
        if outcome.code in (0, opt.IO, opt.ROLLED_BACK):
            self.judge(root, outcome, (0, opt.IO, opt.ROLLED_BACK), note)
        os.unlink(mount / "filler")
        self.run_ok("recover", root)
        state = tree.snapshot(root)
        if state != self.old:
            self.assert_same_tree(self.new, state, note)
        self.converge(root)

    def test_pull_to_a_full_disk(self) -> None:
        with self._small("tmpfs") as disk:
            target = disk.mount / "target"
            clone(self.dir / "old", target)
            before = tree.snapshot(target)
            _fill(disk.mount / "filler")
            outcome = self.run_code(opt.IO, "pull", "--delete", f"{self.source}/", target)
            self.assert_same_tree(before, target, outcome.text, ignore_root=True)
            os.unlink(disk.mount / "filler")
            self.run_ok("pull", "--delete", f"{self.source}/", target)
            self.assert_same_tree(self.new, target, ignore_root=True)
            self.assertEqual(tree.control_files(target), [])


class ReadOnly(Refusing):
    def test_read_only_mount(self) -> None:
        with loopfs.Tmpfs(self.dir / "disk", 16) as disk:
            root = disk.mount / "set"
            self.make_set(root)
            subprocess.run(["mount", "-o", "remount,ro", str(disk.mount)], check=True)
            self.judge(root, self.push(root), (opt.IO,))
            self.run_ok("verify", f"{self.dir}/old/", root)
            self.run_ok("pull", f"{root}/", self.dir / "back")
            self.assert_same_tree(self.old, self.dir / "back", "a read-only set can be read", ignore_root=True)
            subprocess.run(["mount", "-o", "remount,rw", str(disk.mount)], check=True)
            self.converge(root)

    def test_unwritable_destination(self) -> None:
        closed = self.dir / "closed"
        closed.mkdir(mode=0o755)
        os.chmod(self.dir / "scratch", 0o777)
        options = self.world.carrier_options("fake", self.world.server(user=PLAIN_USER))
        outcome = self.world.run("push", *options, f"{self.source}/", f"nbtest:{closed}")
        self.assertIn(outcome.code, (opt.IO, opt.PARTIAL, opt.PATH), outcome.text)
        self.assertIn(b"closed", outcome.stderr, outcome.text)
        self.assertEqual(os.listdir(closed), [])

    def test_set_of_another_user(self) -> None:
        root = self.dir / "root-set"
        self.make_set(root)
        os.chmod(self.dir / "scratch", 0o777)
        options = self.world.carrier_options("fake", self.world.server(user=PLAIN_USER))
        outcome = self.world.run("push", "--delete", *options, f"{self.source}/", f"nbtest:{root}")
        self.assertNotEqual(outcome.code, 0)
        self.assert_same_tree(self.old, root, outcome.text)


class MountedInside(Refusing):
    def test_nothing_changes_and_the_mount_is_named(self) -> None:
        root = self.dir / "set"
        self.make_set(root)
        inner = self.dir / "inner"
        clone(root / "kept-dir", inner)
        with loopfs.Tmpfs(root / "kept-dir", 4) as disk:
            shutil.copytree(inner, disk.mount, dirs_exist_ok=True)
            before = tree.snapshot(root)
            outcome = self.run_code(opt.CROSS_DEVICE, "push", "--delete", f"{self.source}/", root)
            self.assertIn(b"kept-dir", outcome.stderr, outcome.text)
            self.assert_same_tree(before, root, outcome.text)
        self.converge(root)

    def test_mount_where_a_directory_would_be_removed(self) -> None:
        root = self.dir / "set"
        (self.dir / "old/going").mkdir()
        self.make_set_again(root)
        with loopfs.Tmpfs(root / "going", 4) as disk:
            (disk.mount / "precious").write_text("on another file system")
            outcome = self.run_code(opt.PARTIAL, "push", "--delete", f"{self.source}/", root)
            self.assertIn(b"going", outcome.stderr, outcome.text)
            self.assertEqual((disk.mount / "precious").read_text(), "on another file system")
        self.converge(root)

    def make_set_again(self, root: Path) -> None:
        self.old = tree.snapshot(self.dir / "old")
        self.make_set(root)


class Immutable(Refusing):
    """chattr +i and +a on what a run must replace, remove or write into."""

    def _run(self, name: str, flag: str) -> None:
        root = self.dir / f"set-{name.replace('/', '-')}{flag}"
        self.make_set(root)
        target = str(root / name)
        if subprocess.run(["chattr", f"+{flag}", target], capture_output=True, check=False).returncode:
            self.skipTest("the file system has no chattr")
        try:
            outcome = self.push(root)
            have = tree.snapshot(root)
        finally:
            subprocess.run(["chattr", f"-{flag}", target], check=True)
        codes = (opt.IO, opt.PARTIAL, opt.ROLLED_BACK)
        self.assertIn(outcome.code, codes, outcome.text)
        self.assertIn(os.path.basename(name).encode() or b"set", outcome.stderr, outcome.text)
        if outcome.code != opt.PARTIAL:
            self.assert_same_tree(self.old, have, outcome.text)
        self.converge(root)

    def test_each(self) -> None:
        for name in ("victim", "doomed", "kept-dir", "kept-dir/a"):
            for flag in "ia":
                with self.subTest(target=name, flag=flag):
                    self._run(name, flag)


def _fill(path: Path) -> None:
    """Takes all space there is."""
    with open(path, "wb", buffering=0) as out:
        for size in (1 << 20, 1 << 16, 4096, 512):
            try:
                while True:
                    out.write(b"\xee" * size)
            except OSError:
                continue
    os.sync()


if __name__ == "__main__":
    unittest.main()
