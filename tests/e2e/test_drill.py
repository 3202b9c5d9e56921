# SPDX-License-Identifier: Apache-2.0
"""drill: a sample is restored for a try. A sound set passes; rot on the disk, which no stat data show, is found and
named; whatever happens, nothing stays behind and nothing of the set changes."""
from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
from pathlib import Path

from support import loopfs, options as opt, tree
from support.crash import wait_stopped
from support.rot import flip
from support.run import BINARY, CARRIERS, FAKE_RSH_BEGIN, Case, Outcome

ROTTEN = b"this very content will rot on the disk" + bytes(range(256)) * 300  # a set knows the digests of large files


def result(outcome: Outcome) -> dict:
    return next(one for one in map(json.loads, outcome.stdout.splitlines()) if one["event"] == "drill")


def differences(outcome: Outcome) -> list[tuple[str, str]]:
    found = (json.loads(line) for line in outcome.stdout.splitlines())
    return [(one["path"], one["from"]) for one in found if one["event"] == "difference"]


class Drilled(Case):
    """A set of three generations, pushed from a source that is still there."""

    def setUp(self) -> None:
        super().setUp()
        self.source, self.pool = self.dir / "source", self.dir / "pool"

    def make(self, pool: Path | None = None) -> None:
        self.pool = pool or self.pool
        (self.source / "sub/deep [x]").mkdir(parents=True)
        (self.source / "a").write_text("first\n")
        (self.source / "sub/same").write_text("the same name\n")
        (self.source / "sub/deep [x]/same").write_text("another content\n")
        (self.source / "sub/deep [x]/b*ck\\sl[a]sh?").write_text("wildcards\n")
        (self.source / b"odd\nname\xff".decode("utf-8", "surrogateescape")).write_text("odd\n")
        with open(self.source / "holes", "wb") as file:
            file.seek(3 << 20)
            file.write(b"end")
        os.symlink("a", self.source / "link")
        self.push()
        (self.source / "a").write_text("second\n")
        (self.source / "rots").write_bytes(ROTTEN)
        self.push()
        (self.source / "sub/same").unlink()
        self.push()
        self.files, self.recorded = 6, 2  # live ones; holes and rots are over 64 KiB

    def push(self) -> None:
        self.run_ok("push", "--delete", f"{self.source}/", self.pool)

    def drill(self, *args: str | os.PathLike[str], code: int = 0, **options: object) -> Outcome:
        outcome = self.run_code(code, "drill", "--json", *args, **options)
        self.assert_gone(outcome.text)
        return outcome

    def assert_gone(self, note: str = "") -> None:
        """No temporary directory is left."""
        self.assertEqual(list((self.dir / "scratch").glob("nbackup-*")), [], note)


class Sound(Drilled):
    def test_passes_over_every_carrier(self) -> None:
        self.make()
        before = tree.snapshot(self.pool)
        for carrier in CARRIERS:
            with self.subTest(carrier=carrier):
                outcome = self.drill(*self.world.carrier_options(carrier), self.world.far(self.pool, carrier))
                found = result(outcome)
                self.assertEqual(found["differing"], 0, outcome.text)
                self.assertEqual(found["problems"], 0, outcome.text)
                self.assertGreaterEqual(found["files"], self.files, "the live tree, and some of an older one")
                self.assertGreaterEqual(found["with_record"], self.recorded)
                self.assertEqual(found["exit_code"], 0)
        self.assert_same_tree(before, tree.snapshot(self.pool), "a drill changes nothing")
        self.assertEqual(found["with_source"] >= self.files, True, "locally the source of the last push is at hand")

    def test_says_so_in_words(self) -> None:
        self.make()
        outcome = self.run_ok("drill", "--at", "latest", f"{self.pool}/")
        line = outcome.stdout.decode().strip()
        self.assertRegex(line, rf"^nbackup: drill of \S*pool: {self.files} files, 3\.1 MiB restored, {self.recorded} compared "
                               rf"with the set's record, {self.files} with the source, 0 differ, 00:0\d$")
        self.assertEqual(self.run_ok("drill", "-q", self.pool).stdout, b"")

    def test_at_and_part(self) -> None:
        self.make()
        old = result(self.drill("--at", "1", self.pool))
        self.assertEqual((old["files"], old["differing"]), (6, 0), "a, both same, the odd ones, holes")
        part = result(self.drill("--at", "latest", f"{self.pool}:sub/deep [x]"))
        self.assertEqual((part["files"], part["with_source"]), (2, 2))
        self.assertIn("not there", self.drill("--at", "99", self.pool, code=opt.USAGE).stderr.decode())
        self.assertIn("not in generation", self.drill(f"{self.pool}:nothing", code=3).stderr.decode())

    def test_a_part_that_older_generations_lack(self) -> None:
        """One is drilled by chance; there is nothing wrong with it."""
        self.make()
        (self.source / "late").mkdir()
        (self.source / "late/file").write_text("late")
        self.push()
        for _ in range(3):
            found = result(self.drill(f"{self.pool}:late"))
            self.assertEqual((found["files"], found["problems"]), (1, 0))

    def test_a_set_within_is_passed_over(self) -> None:
        self.make()
        self.run_ok("init", self.pool / "inner")
        (self.pool / "inner/its").write_text("own")
        self.assertEqual(result(self.drill(self.pool))["problems"], 0)

    def test_damaged_memory_stays_for_those_who_mend_it(self) -> None:
        self.make()
        self.run_ok("scrub", self.pool)
        for name in ("contents.db", "manifest.db"):
            path = self.pool / ".nbackup" / name
            self.assertTrue(path.exists())
            path.write_bytes(b"no database " * 100)
        before = sorted(os.listdir(self.pool / ".nbackup"))
        told = self.drill(self.pool)
        self.assertIn(b"contents.db", told.stderr)
        self.assertEqual(sorted(os.listdir(self.pool / ".nbackup")), before)
        self.assertIn(b"no database", (self.pool / ".nbackup/contents.db").read_bytes())

    def test_sample_and_limit(self) -> None:
        self.make()
        self.assertEqual(result(self.drill("--at", "latest", "--sample", "2", self.pool))["files"], 2)
        limited = result(self.drill("--at", "latest", "--limit", "1M", self.pool))
        self.assertEqual((limited["files"], limited["left_out"]), (self.files - 1, 1), "the holes are too much")
        self.assertGreater(limited["left_out_bytes"], 3 << 20)
        for bad in ("--sample=0", "--sample=x", "--limit=some"):
            self.run_code(opt.USAGE, "drill", bad, self.pool)

    def test_a_directory_of_the_set_by_its_path(self) -> None:
        self.make()
        found = result(self.drill("--at", "latest", f"{self.pool}/sub"))
        self.assertGreater(found["files"], 0)
        self.assertEqual(found["with_source"], found["files"], "what was pushed to the set is what it is compared with")
        row = json.loads(self.run_ok("status", "--json").stdout)
        self.assertIn("drill", json.dumps(row))

    def test_named_source(self) -> None:
        """As push names it; a file that is no longer the same is none to compare with."""
        self.make()
        other = self.dir / "moved/source"
        other.parent.mkdir()
        self.source.rename(other)
        self.assertEqual(result(self.drill("--at", "latest", self.pool))["with_source"], 0)
        found = result(self.drill("--at", "latest", "--source", f"{other}/", self.pool))
        self.assertEqual(found["with_source"], self.files)
        (other / "a").write_text("edited since\n")
        found = result(self.drill("--at", "latest", "--source", f"{other}/", self.pool))
        self.assertEqual((found["with_source"], found["differing"]), (self.files - 1, 0))
        self.assertIn("--source", self.drill("--source", self.source, self.pool, code=opt.PATH).stderr.decode())

    def pruning_options(self) -> list[str]:
        """A carrier that drops all but the newest generation before what it carries second."""
        asked, binary = shlex.quote(str(self.dir / "asked")), shlex.quote(BINARY)
        prunes = self.world.script("prunes", FAKE_RSH_BEGIN + f"""
[ ! -e {asked} ] || {binary} prune -q {shlex.quote(str(self.pool))} >&2
touch {asked}
exec /bin/sh -c "$*"
""")
        self.run_ok("policy", "--keep-last", "1", self.pool)
        return ["-e", str(prunes), "--remote-path", BINARY]

    def test_chosen_files_are_dropped_meanwhile(self) -> None:
        self.make()
        told = self.drill(*self.pruning_options(), f"far:{self.pool}")
        self.assertIn(b"was dropped meanwhile, and the ", told.stderr)
        self.assertEqual((result(told)["files"], result(told)["problems"]), (self.files, 0))

    def test_all_that_was_chosen_is_dropped_meanwhile(self) -> None:
        self.make()
        told = self.drill(*self.pruning_options(), "--at=1", f"far:{self.pool}", code=opt.PATH)
        self.assertIn(b"nothing was restored", told.stderr)

    def test_restricted_key(self) -> None:
        """It only looks: a key that may not write is enough, within its root."""
        self.make()
        shell = self.world.script("restricted", "#!/bin/sh\nexec " + shlex.join(
            [BINARY, "serve", "--read-only", "--root", str(self.pool)]) + "\n")
        options = ["-e", str(shell)]
        self.assertEqual(result(self.drill(*options, "--at", "latest", "far:."))["files"], self.files)

    def test_unreadable_modes(self) -> None:
        """Modes that would lock out whoever restored them, for a plain user."""
        pool = self.plain_users_directory("theirpool")
        source = self.dir / "theirs"
        (source / "closed").mkdir(parents=True)
        (source / "closed/file").write_text("content\n")
        os.chmod(source / "closed/file", 0o400)
        os.chmod(source / "closed", 0o555)
        subprocess.run(["chown", "-R", "65534:65534", source], check=True)
        self.run_ok("push", f"{source}/", pool, user="65534")
        found = result(self.drill("--at", "latest", pool, user="65534"))
        self.assertEqual((found["files"], found["differing"], found["problems"]), (1, 0, 0))


class Rot(Drilled):
    """What the disk made of a file: its bytes are others, and nothing else shows it."""

    def setUp(self) -> None:
        super().setUp()
        self.disk = loopfs.mounted_for(self, self.dir, "ext4", 64)
        self.make(self.disk.mount / "pool")

    def test_is_found_and_named(self) -> None:
        stat = os.stat(self.pool / "rots")
        self.disk.rot(ROTTEN)
        after = os.stat(self.pool / "rots")
        self.assertEqual((stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns),
                         (after.st_size, after.st_mtime_ns, after.st_ctime_ns))
        for carrier in ("local", "libssh"):
            with self.subTest(carrier=carrier):
                outcome = self.drill("--at", "latest", *self.world.carrier_options(carrier),
                                     self.world.far(self.pool, carrier), code=40)
                self.assertEqual(differences(outcome), [("rots", "record")])
                self.assertIn(b"rots (generation 3): what was restored is not what the set recorded", outcome.stderr)

    def test_is_told_to_the_hook_too(self) -> None:
        self.disk.rot(ROTTEN)
        for changes in (self.pool / ".nbackup/history").glob("*/changes"):
            changes.unlink()
        said = self.dir / "said"
        mail = self.world.script("sendmail", f"#!/bin/sh\ncat >>{said}\n")
        self.world.path = f"{mail.parent}:{self.world.path}"
        self.run_code(40, "drill", "--on-failure", f'echo "problems: $NBACKUP_PROBLEMS" >>{said}',
                      "--mail-on-change", "root@localhost", self.pool)
        told = said.read_text()
        self.assertNotIn("problems: 0", told)
        self.assertIn("history/", told)
        self.assertIn("rots (generation 3): what was restored is not what the set recorded", told)

    def test_without_a_manifest_the_source_tells(self) -> None:
        self.disk.rot(ROTTEN)
        for path in (self.pool / ".nbackup").glob("manifest.db*"):
            path.unlink()
        outcome = self.drill("--at", "latest", self.pool, code=40)
        self.assertEqual(differences(outcome), [("rots", "source")])
        self.assertEqual(result(outcome)["with_record"], 0)

    def test_a_reader_that_has_gone_takes_no_exit_code_along(self) -> None:
        for number in range(60):
            (self.source / f"{number}{'x' * 200}").write_text("will rot")
        self.push()
        for number in range(60):
            flip(self.pool / f"{number}{'x' * 200}")
        done = self.world.run_unread("drill", "--json", "--at", "latest", self.pool)
        self.assertEqual(done.returncode, opt.DIFFERS, done.stderr)

    def test_a_lost_list_of_changes_is_a_finding(self) -> None:
        (self.pool / ".nbackup/history/2/changes").unlink()
        outcome = self.run_code(51, "drill", "--at", "1", self.pool)
        self.assertIn(b"history/2", outcome.stderr)
        [row] = (json.loads(line) for line in self.run_ok("status", "--json").stdout.splitlines())
        self.assertEqual(row["drill_exit"], 51, row)
        self.drill("--at", "latest", self.pool)


class Interrupted(Drilled):
    def test_nothing_stays(self) -> None:
        self.make()
        for point in ("session.sink.directory", "session.sink.committed"):
            with self.subTest(failpoint=point):
                run = self.world.spawn("drill", *self.world.carrier_options("fake"), self.world.far(self.pool, "fake"),
                                       failpoint=f"{point}=stop")
                self.assertTrue(wait_stopped(run.process.pid))
                self.assertEqual(len(list((self.dir / "scratch").glob("nbackup-drill-*"))), 1, "while it works")
                for _ in range(2):  # nor does a second signal keep it from tidying up
                    run.kill(signal.SIGINT)
                run.kill(signal.SIGCONT)
                outcome = run.wait()
                self.assertEqual(outcome.code, opt.INTERRUPTED, outcome.text)
                self.assert_gone(outcome.text)
