# SPDX-License-Identifier: Apache-2.0
"""Power cuts on real file systems.

At every failpoint of the transaction the server is stopped, the image of the loop-mounted file system is copied as it
is on the medium at that instant, and the server is killed. The copy is mounted: after `nbackup recover` it must hold
the old or the new tree, whole, and a rerun must reach the new one. What the kernel had not written yet is lost, which
is the point. Once the client was told of success, the copy must hold the new tree.

The push makes generation 3 of a set whose policy keeps two, so that dropping generations is cut too. Whatever the
history of the copy has after the recovery restores as it was.
"""
from __future__ import annotations

import os
import random
import shutil
import signal
import unittest
from dataclasses import dataclass
from pathlib import Path

from support import loopfs, tree
from support.crash import wait_gone, wait_stopped
from support.gen import Kinds, make_tree
from support.run import FULL, Case, clone

SAMPLE = {"ext4": 12, "xfs": 6, "btrfs": 6}
COUNTS = (1, 2, 4) if FULL else (1,)


@dataclass
class Trees:
    source: Path
    by_generation: list[tree.Tree]  # from 0, the empty set

    @property
    def old(self) -> tree.Tree:
        return self.by_generation[-2]

    @property
    def new(self) -> tree.Tree:
        return self.by_generation[-1]


class PowerCut(Case):
    """One file system kind per test; each point in a subtest of its own."""

    def setUp(self) -> None:
        super().setUp()
        self.need_root()
        source = self.dir / "source"
        forest = make_tree(source, "power", 50, Kinds(big_bytes=100_000))
        empty = self.dir / "empty"
        empty.mkdir()
        self.earlier = [self.dir / "oldest", self.dir / "old"]
        for copy in self.earlier:
            clone(source, copy)
            forest.mutate(25)
        self.trees = Trees(source, [tree.snapshot(each) for each in (empty, *self.earlier, source)])

    def test_ext4(self) -> None:
        self._file_system("ext4")

    def test_xfs(self) -> None:
        self._file_system("xfs")

    def test_btrfs(self) -> None:
        self._file_system("btrfs")

    def _file_system(self, kind: str) -> None:
        reason = loopfs.missing(kind)
        if reason:
            self.skipTest(reason)
        base = self._base_image(kind)
        points = self._points(kind, base)
        self.assertGreater(len(points), 3, "no failpoints: was nbackup built with NB_FAILPOINTS?")
        chosen = points if FULL else sorted(random.Random(kind).sample(points, min(SAMPLE[kind], len(points))))
        for point in chosen:
            for count in COUNTS:
                with self.subTest(fs=kind, failpoint=point, at=count):
                    self._cut(kind, base, point, count)
        with self.subTest(fs=kind, after="success"):
            self._cut_after_success(kind, base)

    def _base_image(self, kind: str) -> Path:
        """A clean, unmounted image whose set holds the old tree and the one before it."""
        disk = loopfs.LoopFs(self.dir, kind, 96, "base")
        try:
            for each in self.earlier:
                self.run_ok("push", "--delete", "--max-delete", "-1", f"{each}/", disk.mount / "set")
            self.run_ok("policy", "--wait", "60", "--keep-last", "2", disk.mount / "set")
            self.assert_same_tree(self.trees.old, disk.mount / "set", kind)
        finally:
            disk.close(keep_image=True)
        return disk.image

    def _fresh(self, kind: str, base: Path) -> loopfs.LoopFs:
        image = self.dir / "work.img"
        loopfs._run("cp", "--sparse=always", "--reflink=auto", str(base), str(image))
        return loopfs.LoopFs(self.dir, kind, name="work", image=image)

    def _start(self, disk: loopfs.LoopFs, failpoint: str = "", log: Path | None = None):  # noqa: ANN202
        server = self.world.server(failpoint, log)
        options = self.world.carrier_options("fake", server)
        return self.world.spawn("push", "--delete", *options, f"{self.trees.source}/", f"nbtest:{disk.mount}/set")

    def _points(self, kind: str, base: Path) -> list[str]:
        log = self.dir / "scratch" / "points"
        log.touch()
        with self._fresh(kind, base) as disk:
            outcome = self._start(disk, log=log).wait()
            self.assertEqual(outcome.code, 0, outcome.text)
            self.assert_same_tree(self.trees.new, disk.mount / "set", kind)
        names = [name for name in log.read_text().split() if name.startswith("txn.")]
        log.unlink()
        return sorted(names)

    def _cut(self, kind: str, base: Path, point: str, count: int) -> None:
        disk = self._fresh(kind, base)
        copy = None
        try:
            run = self._start(disk, f"{point}=stop@{count}")
            pid = self.world.server_pid()
            if wait_stopped(pid):
                copy = disk.copy_image("cut")
                os.kill(pid, signal.SIGKILL)
            run.wait()
            wait_gone(pid)
        finally:
            disk.close()
        if count == 1:
            self.assertIsNotNone(copy, f"never at {point}")
        if copy:
            self._judge(kind, copy, f"{kind}: power cut at {point}@{count}", ("old", "new"))

    def _cut_after_success(self, kind: str, base: Path) -> None:
        """The answer was given: the new generation is on the medium, whatever the kernel still holds."""
        disk = self._fresh(kind, base)
        try:
            outcome = self._start(disk).wait()
            self.assertEqual(outcome.code, 0, outcome.text)
            copy = disk.copy_image("cut")
        finally:
            disk.close()
        self._judge(kind, copy, f"{kind}: power cut after success", ("new",))

    def _judge(self, kind: str, image: Path, note: str, allowed: tuple[str, ...]) -> None:
        with loopfs.LoopFs(self.dir, kind, name="cut", image=image) as disk:
            root = disk.mount / "set"
            recovered = self.world.run("recover", root)
            self.assertEqual(recovered.code, 0, f"{note}\n{recovered.text}")
            have = tree.snapshot(root)
            far_off = {"old": tree.compare(self.trees.old, have), "new": tree.compare(self.trees.new, have)}
            states = [name for name, found in far_off.items() if not found]
            self.assertTrue(set(states) & set(allowed), f"{note}: neither of {allowed}\n" + "\n".join(
                f"to {name}: {line}" for name, found in far_off.items() for line in found[:12]))
            self._judge_history(root, note, states)
            self.run_ok("push", "--delete", f"{self.trees.source}/", root)
            self.assert_same_tree(self.trees.new, root, f"{note}: after the rerun")
            self.run_ok("recover", "--wait", "60", root)  # the client has its answer before the sink is done
            self.assert_clean(root, note)

    def _judge_history(self, root: Path, note: str, states: list[str]) -> None:
        """All that is kept restores; of the newest two nothing is missing."""
        kept = sorted(int(each.name) for each in (root / ".nbackup/history").iterdir() if each.name.isdigit())
        newest = 3 if "new" in states else 2
        self.assertEqual(kept[-2:], [newest - 1, newest], note)
        for number in kept:
            back = self.dir / "back"
            self.run_ok("restore", "--at", str(number), f"{root}/", back)
            self.assert_same_tree(self.trees.by_generation[number], back, f"{note}: generation {number}",
                                  ignore_root=number == 0)  # of the directory that the first push has made
            shutil.rmtree(back)


if __name__ == "__main__":
    unittest.main()
