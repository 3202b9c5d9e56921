# SPDX-License-Identifier: Apache-2.0
"""Which generations stay: policies, prune by hand, after a push, on another host, and by keys that may not."""
from __future__ import annotations

import contextlib
import json
import os
import subprocess
import unittest

from support import options as opt
from support.generations import assert_exact, kept, make_generations
from support.loopfs import mounted_for
from support.run import BINARY, Case


class Prune(Case):
    def setUp(self) -> None:
        super().setUp()
        self.made = make_generations(self, "prune")
        self.pool = self.made.pool

    def test_drops_what_no_rule_keeps_and_says_why(self) -> None:
        dry = self.run_ok("prune", "-n", "--keep-last", "2", self.pool)
        self.assertEqual(kept(self.pool), [0, 1, 2, 3, 4, 5])
        lines = dry.stdout.decode().splitlines()
        self.assertRegex(lines[3], r"^drop  3  .*  no rule keeps it$")
        self.assertRegex(lines[5], r"^keep  5  .*  newest, last 2$")
        self.assertIn("would drop 4 generations, 2 kept (last 2)", lines[6])
        done = self.run_ok("prune", "--keep-last", "2", self.pool)
        self.assertIn("dropped 4 generations, 2 kept", done.stdout.decode())
        self.assertEqual(kept(self.pool), [4, 5])
        assert_exact(self, self.made, self.pool)
        self.assert_clean(self.pool)

    def test_a_part_of_a_set_is_refused(self) -> None:
        """Rather than taken for the whole."""
        (self.pool / "part").mkdir()
        for command in (("prune", "--keep-last", "1"), ("prune", "-n"), ("policy", "--keep-last", "1"), ("heal",),
                        ("rollback", "--to", "1")):
            outcome = self.run_code(opt.USAGE, *command, self.pool / "part")
            self.assertIn(f"{command[0]} takes a whole set: name {self.pool}", outcome.stderr.decode())
        self.assertEqual(kept(self.pool), [0, 1, 2, 3, 4, 5])

    def test_all_others_stay_exact(self) -> None:
        for policy, left in ((("--keep-last", "3"), [3, 4, 5]), (("--keep-last", "1"), [5])):
            with self.subTest(policy=policy):
                self.run_ok("prune", *policy, self.pool)
                self.assertEqual(kept(self.pool), left)
                assert_exact(self, self.made, self.pool)
                self.assert_same_tree(self.made.source, self.pool)

    def test_without_rules_the_default_holds(self) -> None:
        done = self.run_ok("prune", self.pool)
        self.assertIn("dropped 0 generations, 6 kept (last 7, within 30 days)", done.stdout.decode())

    def test_on_a_full_disk(self) -> None:
        """Where it is needed most: what only saves work makes room."""
        disk = mounted_for(self, self.dir, "ext4", 12)
        source, pool = self.dir / "source", disk.mount / "pool"
        source.mkdir()
        for _ in range(3):
            (source / "f").write_bytes(os.urandom(1 << 20))
            self.run_ok("push", f"{source}/", pool)
        for number, piece in enumerate((1 << 16, 1 << 10)):
            with open(disk.mount / f"fill{number}", "wb", buffering=0) as fill, contextlib.suppress(OSError):
                while fill.write(bytes(piece)):
                    pass
        self.run_ok("prune", "--keep-last", "1", pool)
        self.assertEqual(kept(pool), [3])
        self.assert_same_tree(source, pool, ignore_root=True)

    def test_what_cannot_be_removed_is_told(self) -> None:
        source, pool = self.dir / "held", self.dir / "held-pool"
        source.mkdir()
        for content in ("one", "two"):
            (source / "file").write_text(content)
            self.run_ok("push", "--delete", f"{source}/", pool)
        (held,) = (pool / ".nbackup/history").glob("*/files/file")
        if subprocess.run(["chattr", "+i", held], capture_output=True, check=False).returncode:
            self.skipTest("the file system has no chattr")
        try:
            for _ in range(2):
                told = self.run_code(opt.PARTIAL, "prune", "--keep-last", "1", pool).text
                self.assertRegex(told, r"\.nbackup/tx/thin-\d.*file")
            self.run_ok("policy", "--keep-last", "1", pool)
            (source / "file").write_text("three")
            self.assertIn(".nbackup/tx/thin-", self.run_ok("push", f"{source}/", pool).text)
        finally:
            for path in (pool / ".nbackup").rglob("file"):
                subprocess.run(["chattr", "-i", path], check=True)
        self.run_ok("prune", "--keep-last", "1", pool)
        self.assert_clean(pool)

    def test_json(self) -> None:
        done = self.run_ok("prune", "-n", "--json", "--keep-last", "1", self.pool)
        events = [json.loads(line) for line in done.stdout.decode().splitlines()]
        self.assertEqual([event["event"] for event in events], ["decision"] * 6 + ["pruned"])
        self.assertEqual(events[5]["reasons"], ["newest", "last 1"])
        self.assertFalse(events[0]["keep"])
        self.assertEqual((events[6]["dropped"], events[6]["kept"], events[6]["dry_run"]), (5, 1, True))

    def test_a_policy_is_shown_set_and_forgotten(self) -> None:
        self.assertIn("keeps: last 7, within 30 days (the default)", self.run_ok("policy", self.pool).stdout.decode())
        self.run_ok("policy", "--keep-daily", "7", "--keep-yearly", "all", self.pool)
        shown = self.run_ok("policy", "--json", self.pool).stdout.decode()
        self.assertEqual({key: json.loads(shown)[key] for key in ("default", "last", "daily", "yearly")},
                         {"default": False, "last": 0, "daily": 7, "yearly": "all"})
        # What is not named stays as it was.
        self.assertIn("daily 7, yearly all; a push may delete 3 entries",
                      self.run_ok("policy", "--max-delete", "3", self.pool).stdout.decode())
        self.assertIn("keeps: last 2; a push may delete 3 entries",
                      self.run_ok("policy", "--keep-last", "2", self.pool).stdout.decode())
        self.assertEqual(json.loads(self.run_ok("policy", "--json", self.pool).stdout)["max_delete"], 3)
        self.assertIn("any number", self.run_ok("policy", "--max-delete", "-1", self.pool).stdout.decode())
        self.run_ok("policy", "--default", self.pool)
        self.assertIn("(the default)", self.run_ok("policy", self.pool).stdout.decode())
        self.assertFalse((self.pool / ".nbackup/policy").exists())

    def test_a_push_applies_the_policy(self) -> None:
        self.run_ok("policy", "--keep-last", "2", self.pool)
        self.assertEqual(kept(self.pool), [0, 1, 2, 3, 4, 5])
        (self.made.source / "more").write_text("of 6")
        self.run_ok("push", "--delete", f"{self.made.source}/", self.pool)
        self.wait_for_sink()
        self.assertEqual(kept(self.pool), [5, 6])
        assert_exact(self, self.made, self.pool)

    def test_a_set_is_made_with_a_policy(self) -> None:
        other = self.dir / "other"
        self.run_code(opt.USAGE, "init", "--keep-within", "30", other)
        self.run_ok("init", "--keep-within", "2d", other)
        self.assertIn("keeps: within 2 days", self.run_ok("policy", other).stdout.decode())
        self.run_ok("init", "--max-delete", "0", self.dir / "third")
        self.assertIn("within 30 days; a push may delete 0 entries",
                      self.run_ok("policy", self.dir / "third").stdout.decode())

    def test_without_history_the_one_before_goes(self) -> None:
        (self.made.source / "more").write_text("of 6")
        self.run_ok("push", "--delete", "--no-history", f"{self.made.source}/", self.pool)
        self.wait_for_sink()
        self.assertEqual(kept(self.pool), [0, 1, 2, 3, 4, 6])
        assert_exact(self, self.made, self.pool)

    def test_bad_rules_are_refused(self) -> None:
        self.run_code(opt.USAGE, "prune", "--keep-last", "some", self.pool)
        for words in (("--keep-last", "1"), ("--max-delete", "1")):
            self.run_code(opt.USAGE, "policy", "--default", *words, self.pool)
        self.run_code(opt.USAGE, "prune", "--max-delete", "1", self.pool)
        self.assertEqual(kept(self.pool), [0, 1, 2, 3, 4, 5])

    def test_on_another_host(self) -> None:
        far = self.world.far(self.pool, "fake")
        options = self.world.carrier_options("fake", self.world.server("", None))
        self.assertIn("would drop 3", self.run_ok("prune", "-n", "--keep-last", "3", *options, far).stdout.decode())
        self.run_ok("policy", "--keep-last", "3", *options, far)
        self.assertIn("dropped 3 generations, 3 kept", self.run_ok("prune", *options, far).stdout.decode())
        assert_exact(self, self.made, self.pool)

    def test_a_host_that_does_not_answer(self) -> None:
        silent = self.world.script("silent", "#!/bin/sh\nexec sleep 100\n")
        for command in ("prune", "policy", "scrub", "heal"):
            self.run_code(opt.TIMEOUT, command, "--timeout=1", "-e", silent, "nbtest:/pool")

    def test_a_key_that_may_only_add_or_read_cannot_drop(self) -> None:
        for right in ("--append-only", "--read-only"):
            with self.subTest(right=right):
                server = self.dir / f"server{right}"
                server.write_text(f"#!/bin/sh\nexec {BINARY} serve {right} --root {self.dir}\n")
                server.chmod(0o755)
                options = self.world.carrier_options("fake", server)
                far = self.world.far(self.pool, "fake")
                self.run_code(opt.IO, "prune", "--keep-last", "1", *options, far)
                self.run_code(opt.IO, "policy", "--keep-last", "1", *options, far)
                self.run_code(opt.IO, "policy", "--max-delete", "-1", *options, far)
                self.assertIn("(the default)", self.run_ok("policy", *options, far).stdout.decode())
                dry = self.run_ok("prune", "-n", "--keep-last", "1", *options, far)
                self.assertIn("would drop 5", dry.stdout.decode())
        self.assertEqual(kept(self.pool), [0, 1, 2, 3, 4, 5])

    def wait_for_sink(self) -> None:
        """The client has its answer before the sink is done; its lock tells."""
        self.run_ok("recover", "--wait", "60", self.pool)


if __name__ == "__main__":
    unittest.main()
