# SPDX-License-Identifier: Apache-2.0
"""Changed files travel as what differs from what the other side has; whatever is known or believed there, the content
that arrives is right."""
from __future__ import annotations

import contextlib
import os
import random
import signal
import sqlite3
import unittest
from collections.abc import Callable
from pathlib import Path

from support import loopfs
from support import options as opt
from support.run import BINARY, Case, Outcome
from support.tree import wait_until_settled

SUPPORT = Path(__file__).parent / "support"
MIB = 1 << 20


class Delta(Case):
    def setUp(self) -> None:
        super().setUp()
        self.source, self.sink = self.dir / "source", self.dir / "sink"
        self.source.mkdir()
        self.rng = random.Random(11)
        self.image = self.source / "image"
        self.image.write_bytes(self.rng.randbytes(8 * MIB))

    def run_counted(self, command: str, *options: str, sink: Path | None = None) -> tuple[int, int]:
        """Bytes that the source and the sink said."""
        sink = sink or self.sink
        counts = self.dir / "counts"
        rsh = f"python3 {SUPPORT}/proxy.py --count {counts} -- {self.world.fake_rsh}"
        push = command == "push"
        ends = [f"{self.source}/", f"nbtest:{sink}"] if push else [f"nbtest:{self.source}/", str(sink)]
        self.run_ok(command, "--no-compress", "--remote-path", BINARY, "-e", rsh, *options, *ends)
        self.assert_same_tree(self.source, sink, f"{command} {options}")
        up, down = (int(word) for word in counts.read_text().split())
        return (up, down) if push else (down, up)

    def change_pages(self, count: int) -> None:
        with open(self.image, "r+b") as file:
            for page in self.rng.sample(range(8 * MIB // 4096), count):
                file.seek(page * 4096)
                file.write(self.rng.randbytes(4096))

    def insert(self, at: int, count: int) -> None:
        content = self.image.read_bytes()
        self.image.write_bytes(content[:at] + self.rng.randbytes(count) + content[at:])

    def push_under(self, failpoint: str, *options: str) -> Outcome:
        return self.world.run("push", "--no-compress", "--remote-path", self.world.server(failpoint), "-e",
                              self.world.fake_rsh, *options, f"{self.source}/", f"nbtest:{self.sink}")

    def push_that_dies(self, failpoint: str, *options: str) -> None:
        run = self.push_under(failpoint, *options)
        self.assertNotEqual(run.code, 0, run.text)

    def test_changed_pages(self) -> None:
        self.run_counted("push")
        self.change_pages(20)
        self.assertLess(self.run_counted("push")[0], 1.2 * 20 * 4096)

    def test_kinds_of_change(self) -> None:
        self.run_counted("push")
        self.insert(0, 1000)
        self.assertLess(self.run_counted("push")[0], 80_000, "inserted at the front")
        self.insert(5 * MIB + 77, 3000)
        self.assertLess(self.run_counted("push")[0], 150_000, "inserted in the middle")
        with open(self.image, "ab") as file:
            file.write(self.rng.randbytes(10_000))
        self.assertLess(self.run_counted("push")[0], 80_000, "grown at the end")
        self.image.write_bytes(self.image.read_bytes()[3 * MIB + 5 :])
        self.assertLess(self.run_counted("push")[0], 150_000, "without its front")
        os.truncate(self.image, 2 * MIB)
        self.assertLess(self.run_counted("push")[0], 80_000, "cut off")
        self.image.write_bytes(self.rng.randbytes(2 * MIB))
        self.assertGreater(self.run_counted("push")[0], 2 * MIB, "all new")
        self.image.write_bytes(b"small")
        self.assertLess(self.run_counted("push")[0], 2000, "became small")
        self.image.write_bytes(self.rng.randbytes(MIB))
        self.assertGreater(self.run_counted("push")[0], MIB, "became large again")

    def test_basis_and_stage_that_cannot_be_read(self) -> None:
        """btrfs does not give back what does not fit its checksum: EIO, as of a bad sector."""
        disk = loopfs.mounted_for(self, self.dir, "btrfs", 256)
        pool = disk.mount / "pool"
        self.run_ok("push", f"{self.source}/", pool)
        disk.rot(self.image.read_bytes()[4 * MIB : 4 * MIB + 4096])
        with self.assertRaises(OSError), open(pool / "image", "rb") as old:
            old.read()
        self.insert(0, 1000)
        self.run_ok("push", f"{self.source}/", pool)
        self.assert_same_tree(self.source, pool)
        contents = {name: self.rng.randbytes(60_000) for name in ("f", "new/f")}
        (self.source / "new").mkdir()
        for name, content in contents.items():
            (self.source / name).write_bytes(content)
        dead = self.world.run("push", "-c", f"{self.source}/", pool, failpoint="session.sink.planned=error")
        self.assertNotEqual(dead.code, 0)
        for content in contents.values():
            disk.rot(content[:4096])
        self.run_ok("push", "-c", f"{self.source}/", pool)
        self.assert_same_tree(self.source, pool)

    def test_without_manifest_the_basis_is_read(self) -> None:
        self.run_counted("push")
        for name in ("manifest.db", "manifest.db-wal", "manifest.db-shm"):
            (self.sink / ".nbackup" / name).unlink(missing_ok=True)
        self.change_pages(20)
        self.assertLess(self.run_counted("push")[0], 1.2 * 20 * 4096)

    def test_garbage_for_a_manifest(self) -> None:
        self.run_counted("push")
        self.change_pages(20)
        (self.sink / ".nbackup/manifest.db").write_bytes(self.rng.randbytes(50_000))
        self.assertLess(self.run_counted("push")[0], 1.2 * 20 * 4096)

    def test_basis_edited_behind_our_back(self) -> None:
        self.run_counted("push")
        target = self.sink / "image"
        before = target.stat()
        with open(target, "r+b") as file:
            file.seek(MIB)
            file.write(self.rng.randbytes(2 * MIB))
        os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))
        self.change_pages(20)
        up, _down = self.run_counted("push")
        self.assertGreater(up, 2 * MIB, "the edit is not taken for what was there")

    def test_whole_file_and_paranoid(self) -> None:
        self.run_counted("push")
        self.change_pages(20)
        self.assertGreater(self.run_counted("push", "-W")[0], 8 * MIB)
        self.change_pages(20)
        self.assertLess(self.run_counted("push", "--paranoid")[0], 1.2 * 20 * 4096)

    def test_local_runs_send_whole_unless_asked(self) -> None:
        self.run_ok("push", f"{self.source}/", self.sink)
        self.change_pages(20)
        outcome = self.run_ok("push", "--stats", "--no-whole-file", f"{self.source}/", self.sink)
        self.assertIn(f"File content transferred: {20 * 4096:,} bytes", outcome.text)
        self.change_pages(20)
        outcome = self.run_ok("push", "--stats", f"{self.source}/", self.sink)
        self.assertIn(f"File content transferred: {8 * MIB:,} bytes", outcome.text)
        self.assert_same_tree(self.source, self.sink)

    def test_pull(self) -> None:
        self.run_counted("pull")
        self.change_pages(20)
        self.assertLess(self.run_counted("pull")[0], 1.2 * 20 * 4096)
        self.assert_clean(self.sink)
        self.assertFalse((self.sink / ".nbackup").exists())

    def test_many_files_at_once(self) -> None:
        for number in range(200):
            (self.source / f"f{number}").write_bytes(self.rng.randbytes(200_000))
        self.run_counted("push")
        for number in range(200):
            with open(self.source / f"f{number}", "r+b") as file:
                file.seek(100_000)
                file.write(b"changed")
        self.assertLess(self.run_counted("push")[0], 200 * 3 * 4096)

    def test_holes(self) -> None:
        with open(self.image, "wb") as file:
            file.truncate(64 * MIB)
            for place in (0, 20 * MIB, 40 * MIB, 63 * MIB):
                file.seek(place)
                file.write(self.rng.randbytes(100_000))
        self.run_counted("push")
        with open(self.image, "r+b") as file:
            file.seek(30 * MIB)
            file.write(self.rng.randbytes(100_000))
        self.assertLess(self.run_counted("push")[0], 150_000)
        self.assertLess((self.sink / "image").stat().st_blocks * 512, 2 * MIB)

    def test_killed_in_a_delta(self) -> None:
        self.run_counted("push")
        before = (self.sink / "image").read_bytes()
        self.insert(100, 100)
        self.push_that_dies("session.sink.data=abort")
        self.assertEqual((self.sink / "image").read_bytes(), before)
        self.assertLess(self.run_counted("push")[0], 80_000)
        self.assert_clean(self.sink)

    def test_a_large_file_goes_on_where_it_was_cut_off(self) -> None:
        """First in a new directory, then beside an old file, then with both ends on one machine."""
        self.image.write_bytes(self.rng.randbytes(24 * MIB))
        for carrier, times in (("fake", 2), ("local", 1)):
            for _ in range(times):
                self.push_that_dies("session.sink.data=abort@80")
                options = self.world.carrier_options(carrier)
                outcome = self.run_ok("push", "--stats", *options, f"{self.source}/", self.world.far(self.sink, carrier))
                sent = next(line for line in outcome.text.splitlines() if line.startswith("File content transferred"))
                self.assertLess(int(sent.split()[3].replace(",", "")), 8 * MIB, outcome.text)
                self.assert_same_tree(self.source, self.sink)
                self.assert_clean(self.sink)
                self.image.write_bytes(self.rng.randbytes(24 * MIB))

    def test_cut_off_twice(self) -> None:
        """What the first run saved of a large file is not lost with the second, which came less far: first in a new
        directory, then beside an old file."""
        for _ in range(2):
            self.image.write_bytes(self.rng.randbytes(24 * MIB))
            for dies_at in (80, 4):
                self.push_that_dies(f"session.sink.data=abort@{dies_at}")
                with open(self.image, "r+b") as file:
                    file.write(self.rng.randbytes(2 * MIB))
            self.assertLess(self.run_counted("push")[0], 12 * MIB)
            self.assert_clean(self.sink)

    def test_cut_off_ever_early_it_ends(self) -> None:
        """Each run comes as far as a fifth of what it sends, and nothing that is here resembles the file: first beside
        what a run saved of its content before, then beside an old file."""
        self.image.write_bytes(self.rng.randbytes(12 * MIB))
        self.push_that_dies("session.sink.data=abort@44")
        for _ in range(2):
            self.image.write_bytes(self.rng.randbytes(12 * MIB))
            codes = [self.push_under("session.sink.data=abort@10").code]
            while codes[-1] != 0 and len(codes) < 15:
                codes.append(self.push_under("session.sink.data=abort@10").code)
            self.assertEqual(codes[-1], 0, codes)
            self.assertGreater(len(codes), 3)
            self.assert_same_tree(self.source, self.sink)
            self.assert_clean(self.sink)

    def remembered(self) -> dict[str, tuple[int, int]]:
        """Of the manifest: ctime and number of signature pieces of each file, by its name."""
        name = f"file:{self.sink}/.nbackup/manifest.db?mode=ro"
        with contextlib.closing(sqlite3.connect(name, uri=True)) as manifest:
            rows = manifest.execute("SELECT CAST(name AS TEXT), ctime_ns, (SELECT COUNT(*) FROM pieces p"
                                    " WHERE p.signature = f.signature) FROM files f WHERE confirmed = 1")
            return {name: (ctime, pieces) for name, ctime, pieces in rows}

    def test_whole_files_of_an_interrupted_run_are_used_as_they_are(self) -> None:
        """First in a new directory, then in an old one."""
        directory = self.source / "d"
        directory.mkdir()
        for names in (("a", "b", "c"), ("e", "f", "g")):
            for name in names:
                (directory / name).write_bytes(self.rng.randbytes(3 * MIB))
            wait_until_settled(directory)  # in a new directory they are used if the client remembers them
            staged: set[int] = set()
            for dies_at in (26, 2):  # at the second piece of the third file
                self.push_that_dies(f"session.sink.data=abort@{dies_at}", "--exclude", "image")
                stage = next((self.sink / ".nbackup/tx").glob("*/new"))
                before = staged
                staged = {path.stat().st_ino for path in stage.rglob("*") if path.stat().st_size == 3 * MIB}
                self.assertLessEqual(before, staged)
            self.run_ok("push", "--exclude", "image", f"{self.source}/", self.sink)
            inodes = {(self.sink / "d" / name).stat().st_ino for name in names[:2]}
            self.assertLessEqual(inodes, staged)
            self.assertLessEqual(set(names), set(self.remembered()))
            self.assert_clean(self.sink)

    def test_hard_links_of_an_interrupted_run_are_not_sent_again(self) -> None:
        (self.source / "d").mkdir()
        self.image.rename(self.source / "d/first")
        os.link(self.source / "d/first", self.source / "d/second")
        self.push_that_dies("txn.prepare.synced=abort")
        self.assertLess(self.run_counted("push")[0], 1 * MIB)
        self.assert_clean(self.sink)

    def test_metadata_alone_cost_no_memory(self) -> None:
        self.run_counted("push")
        before = self.remembered()["image"]
        self.image.chmod(0o600)
        self.run_counted("push")
        after = self.remembered()["image"]
        self.assertEqual(after, ((self.sink / "image").stat().st_ctime_ns, before[1]))
        self.assertGreater(after[1], 0)
        self.assertNotEqual(after[0], before[0])
        self.change_pages(20)
        self.assertLess(self.run_counted("push")[0], 1.2 * 20 * 4096)

    def test_basis_changes_while_it_is_used(self) -> None:
        """Somebody writes to the live file between the signature and the end of the delta."""
        self.run_counted("push")
        self.insert(0, 100)
        server = self.world.server("session.sink.data=stop")
        run = self.world.spawn("push", "--no-compress", "--remote-path", server, "-e", self.world.fake_rsh,
                               f"{self.source}/", f"nbtest:{self.sink}")
        pid = self.world.server_pid()
        self.wait_for_stop(pid)
        with open(self.sink / "image", "r+b") as file:
            file.seek(4 * MIB)
            file.write(self.rng.randbytes(MIB))
        os.kill(pid, signal.SIGCONT)
        outcome = run.wait()
        # The whole came after all; the foreign edit of the replaced file is kept aside and told.
        self.assertIn(outcome.code, (0, 23), outcome.text)
        self.assert_same_tree(self.source, self.sink, outcome.text)

    def wait_for_stop(self, pid: int) -> None:
        while Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "T":
            if not Path(f"/proc/{pid}").exists():
                self.fail("the server ended")
            os.sched_yield()

    def on_sharing_file_systems(self, work: Callable[[loopfs.LoopFs], None]) -> None:
        for kind in ("xfs", "btrfs"):
            with self.subTest(kind=kind), loopfs.needed(self, self.dir, kind, 400) as disk:
                work(disk)

    def test_sharing_file_systems(self) -> None:
        """Where the file system shares blocks a delta takes no more room than what has changed."""
        self.on_sharing_file_systems(self._little_room)

    def _little_room(self, disk: loopfs.LoopFs) -> None:
        sink = disk.mount / "set"
        self.image.write_bytes(self.rng.randbytes(8 * MIB))
        self.run_counted("push", sink=sink)
        os.sync()
        before = os.statvfs(disk.mount)
        self.change_pages(5)
        self.run_counted("push", sink=sink)
        os.sync()
        after = os.statvfs(disk.mount)
        self.assertLess((before.f_bfree - after.f_bfree) * before.f_frsize, 4 * MIB)

    def test_a_content_that_was_given_up_leaves_no_signature(self) -> None:
        """Staged before the connection was lost, another one when it is back: that of a file which is here."""
        self.image.unlink()
        self.on_sharing_file_systems(self._given_up)

    def _given_up(self, disk: loopfs.LoopFs) -> None:
        sink = disk.mount / "set"
        q, p, given_up = self.source / "q", self.source / "p", self.rng.randbytes(10 * 65536)
        q.write_bytes(self.rng.randbytes(10 * 65536))
        q.chmod(0o644)
        p.write_bytes(self.rng.randbytes(700_000))
        self.run_ok("push", opt.NEW_SET, f"{self.source}/", sink)
        there = sink / "q"
        # Moves its ctime: the row of the manifest is not believed any more.
        os.utime(there, ns=(there.stat().st_atime_ns, there.stat().st_mtime_ns))
        p.write_bytes(given_up)
        (self.source / "z").write_bytes(self.rng.randbytes(3_000_000))
        rsh = self.world.script(f"rsh-{disk.mount.name}", f"""#!/bin/sh
if mkdir {self.dir}/once-{disk.mount.name} 2>/dev/null; then
  exec python3 {SUPPORT}/proxy.py --cut-up 1500000 -- {self.world.fake_rsh} "$@"
fi
cp {q} {p}
exec {self.world.fake_rsh} "$@"
""")
        self.run_ok("push", "-c", "-W", "--no-compress", "--retry", "3", "-e", rsh, "--remote-path", BINARY,
                    f"{self.source}/", f"nbtest:{sink}")
        self.assert_same_tree(self.source, sink)
        self.assertEqual(p.read_bytes(), q.read_bytes(), "the connection was lost, and made again")
        p.write_bytes(given_up)
        self.run_ok("push", "--no-whole-file", f"{self.source}/", sink)
        self.assert_same_tree(self.source, sink)
        self.assert_clean(sink)


if __name__ == "__main__":
    unittest.main()
