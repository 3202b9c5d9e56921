# SPDX-License-Identifier: Apache-2.0
"""Mount points and other file systems below a source, and sources that can be read in part only."""
from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import unittest
from pathlib import Path

from support import loopfs, options as opt
from support.crash import wait_gone, wait_stopped
from support.gen import ACL_DEFAULT, acl
from support.run import BINARY, PLAIN_GID, PLAIN_UID, PLAIN_USER, Case


class Small(Case):
    def setUp(self) -> None:
        super().setUp()
        self.source, self.sink = self.dir / "source", self.dir / "sink"

    def put(self, path: Path, content: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        return path

    def as_plain_user(self) -> None:
        """Who may read the sources and write to the sink, by the modes alone."""
        self.need_root()
        self.sink.mkdir()
        os.chown(self.sink, PLAIN_UID, PLAIN_GID)
        for name in ("cache", "home"):
            os.chmod(self.dir / name, 0o777)

    def mount(self, path: Path, bind: Path | None = None) -> loopfs.Tmpfs:
        """Taken down at the end of the test, if it is still there."""
        self.need_root()
        self.addCleanup(subprocess.run, ["umount", "-q", path], capture_output=True, check=False)
        return loopfs.Tmpfs(path, 1, bind)


class Subvolumes(Small):
    """A device of their own, and mounted nowhere."""

    def setUp(self) -> None:
        super().setUp()
        if shutil.which("btrfs") is None:
            self.skipTest("no btrfs")
        self.disk = loopfs.mounted_for(self, self.dir, "btrfs", 128)
        self.source = self.disk.mount / "source"
        for name in ("top", "deep/below"):
            path = self.source / name
            path.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["btrfs", "-q", "subvolume", "create", path], check=True)
            (path / "inside").write_text(name)

    def test_one_is_no_mount_point(self) -> None:
        for _ in range(2):
            self.run_ok("push", "--delete", f"{self.source}/", self.sink)
            self.assertEqual((self.sink / "top/inside").read_text(), "top")
            self.assertEqual((self.sink / "deep/below/inside").read_text(), "deep/below")

    def test_one_that_an_earlier_version_took_for_a_mount_point(self) -> None:
        self.run_ok("push", f"{self.source}/", self.sink)
        (memory,) = (self.dir / "cache").rglob("cache.db")
        with sqlite3.connect(memory) as database:
            database.execute("INSERT INTO mounts SELECT destination, source, ? FROM known_sets",
                             (str(self.source / "deep/below"),))
        database.close()
        self.run_ok("push", f"{self.source}/", self.sink)
        subprocess.run(["btrfs", "-q", "subvolume", "delete", self.source / "deep/below"], check=True)
        self.run_ok("push", "--delete", f"{self.source}/", self.sink)

    def test_one_is_another_file_system_wherever_it_lies(self) -> None:
        self.run_ok("push", "-x", f"{self.source}/", self.sink)
        self.assertEqual(os.listdir(self.sink / "top"), [])
        self.assertEqual(os.listdir(self.sink / "deep/below"), [])


class Mounts(Small):
    def test_bind_mount_of_one_file_system_is_entered(self) -> None:
        """It is the device that counts, as for rsync: at the top of a source as below."""
        other = self.put(self.dir / "other/inside", "x").parent
        for name in ("top", "deep/below"):
            self.mount(self.source / name, other)
        self.run_ok("push", "-x", f"{self.source}/", self.sink)
        self.assertEqual(os.listdir(self.sink / "top"), ["inside"])
        self.assertEqual(os.listdir(self.sink / "deep/below"), ["inside"])

    def test_nothing_in_another_file_system_is_read(self) -> None:
        """A hole as large as that of /proc/kcore would take days to hash."""
        self.mount(self.source / "top")
        with open(self.source / "top/huge", "wb") as file:
            file.truncate(1 << 60)
        self.run_ok("push", "-x", "-c", f"{self.source}/", self.sink, timeout=60)
        self.run_ok("verify", "-x", f"{self.source}/", self.sink, timeout=60)
        self.assertEqual(os.listdir(self.sink / "top"), [])

    def test_a_file_that_is_too_large_is_told(self) -> None:
        self.mount(self.source)
        self.put(self.source / "other", "other")
        with open(self.source / "huge", "wb") as file:
            file.truncate(1 << 62 | 1)
        outcome = self.run_code(opt.PARTIAL, "push", f"{self.source}/", self.sink, timeout=60)
        self.assertIn(b"huge: File too large", outcome.stderr, outcome.text)
        self.assertEqual(sorted(os.listdir(self.sink)), [".nbackup", "other"])

    def test_bind_mount_that_is_gone(self) -> None:
        other = self.put(self.dir / "other/inside", "x").parent
        for name in ("top", "deep/below"):
            with self.subTest(name=name):
                mount = self.mount(self.source / name, other)
                self.run_ok("push", f"{self.source}/", self.sink)
                mount.close()
                self.run_code(opt.MOUNT_GONE, "push", "--delete", f"{self.source}/", self.sink)
                self.assertEqual((self.sink / name / "inside").read_text(), "x")
                (self.source / name).rmdir()

    def test_mount_point_of_the_second_source(self) -> None:
        """Where the first has a directory of that name, too."""
        first, second = self.dir / "first", self.dir / "second"
        for name in ("m", "d/m"):
            with self.subTest(name=name):
                self.put(first / name / "a", "a")
                mount = self.mount(second / name)
                self.put(second / name / "b", "b")
                self.run_ok("push", f"{first}/", f"{second}/", self.sink)
                mount.close()
                outcome = self.run_code(opt.MOUNT_GONE, "push", "--delete", f"{first}/", f"{second}/", self.sink)
                self.assertIn(f"{second}/{name}: a mount point of the last push".encode(), outcome.stderr)
                self.assertEqual((self.sink / name / "b").read_text(), "b")
                (second / name).rmdir()

    def test_mount_that_a_run_could_not_look_at(self) -> None:
        self.as_plain_user()
        closed = self.source / "closed"
        mount = self.mount(closed / "m")
        self.put(mount.mount / "x", "x")
        command = ("push", opt.NEW_SET, "--delete", f"{self.source}/", self.sink)
        self.run_ok(*command, user=PLAIN_USER)
        closed.chmod(0)
        self.run_code(opt.PARTIAL, *command, user=PLAIN_USER)
        closed.chmod(0o755)
        mount.close()
        self.run_code(opt.MOUNT_GONE, *command, user=PLAIN_USER)
        self.assertEqual((self.sink / "closed/m/x").read_text(), "x")
        # Once allowed it is no more asked for, though there is always something that cannot be read.
        (self.source / "never").mkdir(mode=0)
        self.run_code(opt.PARTIAL, *command, opt.ALLOW_UNMOUNTED, user=PLAIN_USER)
        self.run_code(opt.PARTIAL, *command, user=PLAIN_USER)
        self.assertEqual(os.listdir(self.sink / "closed/m"), [])

    def test_mount_that_goes_before_another_attempt(self) -> None:
        mount = self.mount(self.source / "m")
        self.put(mount.mount / "x", "x")
        rsh = self.world.script("rsh-once", f"""#!/bin/sh
if [ -e {self.dir}/goes ]; then
  rm {self.dir}/goes
  umount {mount.mount}
  exit 255
fi
exec {self.world.fake_rsh} "$@"
""")
        command = ("push", "--delete", "--retry", "1", "-e", rsh, "--remote-path", BINARY, f"{self.source}/",
                   f"nbtest:{self.sink}")
        self.run_ok(*command)
        (self.dir / "goes").touch()
        self.run_code(opt.MOUNT_GONE, *command)
        self.assertEqual((self.sink / "m/x").read_text(), "x")


    def test_mount_that_goes_while_the_source_is_read(self) -> None:
        mount = self.mount(self.source / "m")
        self.put(mount.mount / "x", "x")
        far = self.world.carrier_options("fake", self.world.server())
        command = ("push", "--delete", *far, f"{self.source}/", f"nbtest:{self.sink}")
        self.run_ok(*command)
        run = self.world.spawn(*command, failpoint="session.source.scan=stop")
        self.addCleanup(run.kill)  # if it has not ended: one that stands would stay
        self.assertTrue(wait_stopped(run.process.pid))
        mount.close()
        run.kill(signal.SIGCONT)
        outcome = run.wait()
        self.assertEqual(outcome.code, opt.MOUNT_GONE, outcome.text)
        self.assertEqual((self.sink / "m/x").read_text(), "x")

    def test_mount_that_may_not_be_listed(self) -> None:
        """By who pushes what lies in it; and an empty directory that is closed, as mount points may be."""
        self.as_plain_user()
        disk = self.dir / "disk"
        mount = self.mount(disk)
        self.put(disk / "mine/x", "x")
        disk.chmod(0o711)
        command = ("push", opt.NEW_SET, "--delete", f"{disk}/mine/", self.sink)
        self.run_ok(*command, user=PLAIN_USER)
        mount.close()
        self.put(disk / "mine/README", "mount the disk here")
        for mode in (0o755, 0o711):
            disk.chmod(mode)
            self.run_code(opt.MOUNT_GONE, *command, user=PLAIN_USER)
        self.assertEqual((self.sink / "x").read_text(), "x")


class Unreadable(Small):
    def test_directory_keeps_its_attributes(self) -> None:
        """Where they can be read without it, they are sent; else the destination's stay, and all else of it."""
        self.as_plain_user()
        for name in ("told", "untold"):
            self.put(self.source / name / "f", "f")
            os.chown(self.source / name, PLAIN_UID, PLAIN_GID)
            os.setxattr(self.source / name, ACL_DEFAULT, acl(1001, 7))
        os.setxattr(self.source / "untold", "user.note", b"1")
        command = ("push", opt.NEW_SET, "--delete", f"{self.source}/", self.sink)
        self.run_ok(*command, user=PLAIN_USER)
        for name in ("told", "untold"):
            os.setxattr(self.source / name, ACL_DEFAULT, acl(1001, 5))
            os.chmod(self.source / name, 0)
        self.run_code(opt.PARTIAL, *command, user=PLAIN_USER)
        self.assertEqual(os.getxattr(self.sink / "told", ACL_DEFAULT), acl(1001, 5))
        self.assertEqual(os.getxattr(self.sink / "untold", ACL_DEFAULT), acl(1001, 7))
        self.assertEqual(os.getxattr(self.sink / "untold", "user.note"), b"1")
        self.assertEqual((self.sink / "untold").stat().st_mode & 0o777, 0o755)
        for name in ("told", "untold"):
            self.assertEqual((self.sink / name / "f").read_text(), "f")


class Many(Small):
    def test_more_than_there_are_descriptors(self) -> None:
        names = [f"{number:03}" for number in range(300)]
        for name in names:
            self.put(self.source / name, name)
        # What a shell makes of "*".
        few = ["sh", "-c", 'ulimit -n 100; cd "$1" && shift && exec "$@"', "sh", self.source]
        push = [BINARY, "push", *names, self.sink]
        done = subprocess.run([*few, *push], env=self.world.env(), capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(set(os.listdir(self.sink)) - {".nbackup"}), names)


class OneOfTwo(Small):
    """What one of several sources cannot tell of, the other does not decide."""

    def setUp(self) -> None:
        super().setUp()
        self.first, self.second = self.dir / "first", self.dir / "second"
        for root in (self.first, self.second):
            self.put(root / "d/f", root.name)
            self.put(root / f"d/e/in-{root.name}", root.name)
            self.put(root / "z", root.name)
        self.put(self.second / "d/g", "second")

    def command(self, *options: str) -> list[str]:
        return ["push", opt.NEW_SET, "--delete", *options, f"{self.first}/", f"{self.second}/", str(self.sink)]

    def check_all_there(self) -> None:
        self.assertEqual((self.sink / "d/f").read_text(), "first")
        self.assertEqual((self.sink / "d/g").read_text(), "second")
        self.assertEqual(sorted(os.listdir(self.sink / "d/e")), ["in-first", "in-second"])

    def test_directory_that_cannot_be_read(self) -> None:
        self.as_plain_user()
        self.run_ok(*self.command(), user=PLAIN_USER)
        for root in (self.first, self.second):
            for path in ("d", "d/e"):
                with self.subTest(root=root.name, path=path):
                    (root / path).chmod(0)
                    (self.first / "z").write_text(f"{root.name} {path}")
                    outcome = self.run_code(opt.PARTIAL, *self.command(), user=PLAIN_USER)
                    self.assertIn(f"{path}/ in {root}".encode(), outcome.stderr, outcome.text)
                    self.assertEqual((self.sink / "z").read_text(), f"{root.name} {path}", "the rest goes on")
                    self.check_all_there()
                    (root / path).chmod(0o755)

    def test_mount_that_has_died(self) -> None:
        """A name that is there and cannot be looked at."""
        if reason := loopfs.missing("exfat"):
            self.skipTest(reason)
        for root in (self.first, self.second):
            shutil.rmtree(root / "d/e")
            with (self.subTest(root=root.name), loopfs.LoopFs(self.dir, "exfat", name=f"{root.name} disk") as disk,
                  loopfs.Tmpfs(root / "d/e", bind=disk.mount) as bound):
                self.put(bound.mount / f"in-{root.name}", root.name)
                self.run_ok(*self.command())
                self.end_program_behind(disk)
                outcome = self.run_code(opt.PARTIAL, *self.command())
                self.assertIn(b"read d/e: ", outcome.stderr)
                self.check_all_there()
            self.put(root / f"d/e/in-{root.name}", root.name)
            self.run_ok(*self.command(opt.ALLOW_UNMOUNTED))

    def end_program_behind(self, disk: loopfs.LoopFs) -> None:
        found = []
        for each in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):  # it has ended
                if disk.device.encode() in each.read_bytes().split(b"\0"):
                    found.append(int(each.parent.name))
        (program,) = found
        os.kill(program, signal.SIGKILL)
        wait_gone(program)

    def test_name_that_vanishes(self) -> None:
        """Then it is the other's."""
        for name, number in (("d/f", 3), ("z", 1)):
            with self.subTest(name=name):
                self.run_ok(*self.command())
                far = self.world.carrier_options("fake", self.world.server())
                run = self.world.spawn(*self.command(*far)[:-1], f"nbtest:{self.sink}",
                                       failpoint=f"scan.names_read=stop@{number}")
                self.addCleanup(run.kill)  # if it has not ended: one that stands would stay
                self.assertTrue(wait_stopped(run.process.pid))
                (self.first / name).unlink()
                run.kill(signal.SIGCONT)
                outcome = run.wait()
                self.assertEqual(outcome.code, opt.VANISHED, outcome.text)
                self.assertEqual((self.sink / name).read_text(), "second")
                self.put(self.first / name, "first")


if __name__ == "__main__":
    unittest.main()
