# SPDX-License-Identifier: Apache-2.0
"""What the client remembers of contents: it is used, it is never wrong, and losing it costs nothing but time."""
from __future__ import annotations

import json
import os
import time
import unittest
from pathlib import Path

from support import options as opt
from support.run import Case


class HashCache(Case):
    def setUp(self) -> None:
        super().setUp()
        self.source = self.dir / "source"
        self.sink = self.dir / "sink"
        self.source.mkdir()
        for number in range(50):
            (self.source / f"f{number}").write_bytes(bytes([number]) * (1 + number * 4000))
        self.wait_until_settled(self.source)

    def wait_until_settled(self, directory: Path) -> None:
        """Files whose times are younger than 2 s may not be recorded; see docs/decisions.md."""
        newest = max(entry.stat().st_ctime for entry in directory.iterdir())
        while time.time() < newest + 2.1:
            time.sleep(0.05)

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
        if self.remembered()["digests"] == 0:
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


if __name__ == "__main__":
    unittest.main()
