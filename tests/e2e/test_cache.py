# SPDX-License-Identifier: Apache-2.0
"""What the client remembers of contents: it is used, it is never wrong, and losing it costs nothing but time."""
from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import time
import unittest
from pathlib import Path

from support import options as opt
from support.run import Case
from support.tree import wait_until_settled


def is_trusted(directory: Path) -> bool:
    """Whether its file system is one whose stat data are known to tell of every change."""
    kind = subprocess.run(["stat", "-f", "-c", "%T", directory], check=True, capture_output=True, text=True).stdout
    return kind.strip() in ("ext2/ext3", "xfs", "btrfs")


class HashCache(Case):
    def setUp(self) -> None:
        super().setUp()
        self.source = self.dir / "source"
        self.sink = self.dir / "sink"
        self.source.mkdir()
        for number in range(50):
            (self.source / f"f{number}").write_bytes(bytes([number]) * (1 + number * 4000))
        wait_until_settled(self.source)

    def remembered(self) -> dict[str, int]:
        return json.loads(self.run_ok("cache", "show", "--json").stdout)

    def database(self) -> Path:
        return Path(os.fsdecode(self.run_ok("cache", "path").stdout.rstrip(b"\n")))

    def change_behind(self, path: Path) -> None:
        """Another content, the size and mtime of before."""
        before = path.stat()
        path.write_bytes(b"\xee" * before.st_size)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def test_a_push_is_remembered_and_a_change_behind_it_is_found(self) -> None:
        self.run_ok("push", f"{self.source}/", self.sink)
        if not is_trusted(self.source):
            self.skipTest("a file system whose stat data promise nothing")
        self.assertEqual(self.remembered()["digests"], 50)
        self.run_ok("verify", f"{self.source}/", self.sink)
        self.change_behind(self.source / "f7")
        self.run_code(opt.DIFFERS, "verify", f"{self.source}/", self.sink)
        self.run_ok("push", "-c", f"{self.source}/", self.sink)
        self.assert_same_tree(self.source, self.sink, "-c repairs")
        self.run_ok("verify", "--paranoid", f"{self.source}/", self.sink)

    def test_damage_of_the_copy_is_found_with_a_warm_memory(self) -> None:
        self.run_ok("push", f"{self.source}/", self.sink)
        self.run_ok("verify", f"{self.source}/", self.sink)
        self.change_behind(self.sink / "f9")
        self.run_code(opt.DIFFERS, "verify", f"{self.source}/", self.sink)

    def test_a_damaged_or_missing_memory_costs_time_only(self) -> None:
        self.run_ok("push", f"{self.source}/", self.sink)
        database = self.database()
        database.write_bytes(os.urandom(20_000))
        for suffix in ("-wal", "-shm"):
            database.with_name(database.name + suffix).unlink(missing_ok=True)
        verified = self.run_ok("verify", f"{self.source}/", self.sink)
        self.assertIn("damaged-1", verified.stderr.decode())
        database.unlink()
        self.run_ok("verify", f"{self.source}/", self.sink)

    def test_the_command(self) -> None:
        self.run_ok("push", f"{self.source}/", self.sink)
        self.assertTrue(self.database().is_file())
        self.assertIn("digests", self.run_ok("cache", "show").stdout.decode())
        self.run_ok("cache", "prune")
        self.run_ok("cache", "clear")
        remembered = self.remembered()
        self.assertEqual((remembered["digests"], remembered["sets"]), (0, 1))
        self.assertIn(str(self.sink), self.run_ok("status").stdout.decode())
        self.run_code(1, "cache", "burn")
        self.run_code(1, "cache", "--max-age", "3d", "show")


class BareDirectories(Case):
    """Where no file of a directory had attributes, none is asked again until a ctime has moved."""

    def setUp(self) -> None:
        super().setUp()
        for tool in ("setfacl", "setfattr"):
            if shutil.which(tool) is None:
                self.skipTest(f"{tool} is not installed")
        self.source = self.dir / "source"
        self.sink = self.dir / "sink"
        self.source.mkdir()
        for number in range(20):
            (self.source / f"f{number}").write_bytes(bytes([number]))

    def learn(self, *options: str, sink: str) -> None:
        wait_until_settled(self.source)
        self.run_ok("push", *options, f"{self.source}/", sink)
        wait_until_settled(self.sink)
        self.run_ok("push", *options, f"{self.source}/", sink)
        remembered = json.loads(self.run_ok("cache", "show", "--json").stdout)["bare_directories"]
        if not is_trusted(self.source):
            self.skipTest("a file system where attributes may change and leave ctime alone")
        self.assertEqual((remembered, self.rows_at_sink()), (1, 1))

    def rows_at_sink(self) -> int:
        with sqlite3.connect(self.sink / ".nbackup/manifest.db") as database:
            return database.execute("SELECT COUNT(*) FROM bare_directories").fetchone()[0]

    def change_behind(self, path: Path, *command: str) -> None:
        """Runs `command` on the file; mode and times are as before then."""
        before = path.stat()
        subprocess.run([*command, str(path)], check=True)
        os.chmod(path, before.st_mode & 0o7777)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def check_changes(self, *options: str, sink: str) -> None:
        self.learn(*options, sink=sink)
        for name, command in (("f3", ("setfattr", "-n", "user.tag", "-v", "one")), ("f4", ("setfacl", "-m", "u:7:r")),
                              ("f3", ("setfattr", "-x", "user.tag")), ("f4", ("setfacl", "-b"))):
            with self.subTest(side="source", command=command):
                self.change_behind(self.source / name, *command)
                self.run_ok("push", *options, f"{self.source}/", sink)
                self.assert_same_tree(self.source, self.sink)
        self.learn(*options, sink=sink)
        for command in (("setfattr", "-n", "user.tag", "-v", "one"), ("setfacl", "-m", "u:7:r")):
            with self.subTest(side="sink", command=command):
                self.change_behind(self.sink / "f5", *command)
                self.run_ok("push", *options, f"{self.source}/", sink)
                self.assert_same_tree(self.source, self.sink)

    def test_what_setfattr_and_setfacl_change_is_found_by_the_next_push(self) -> None:
        self.check_changes(sink=str(self.sink))

    def test_the_same_through_ssh(self) -> None:
        carrier = "ssh"
        self.check_changes(*self.world.carrier_options(carrier), sink=self.world.far(self.sink, carrier))

    def test_a_lost_manifest_costs_time_only(self) -> None:
        self.learn(sink=str(self.sink))
        for path in (self.sink / ".nbackup").glob("manifest.db*"):
            path.unlink()
        self.change_behind(self.sink / "f5", "setfattr", "-n", "user.tag", "-v", "one")
        self.run_ok("push", f"{self.source}/", self.sink)
        self.assert_same_tree(self.source, self.sink)


if __name__ == "__main__":
    unittest.main()
