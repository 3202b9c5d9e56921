# SPDX-License-Identifier: Apache-2.0
"""Reading earlier generations: restore, pull --at and verify --at, compared with copies that cp made at the time."""
from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import unittest
from pathlib import Path

from support import options as opt
from support import tree
from support.crash import wait_stopped
from support.gen import ODD_NAMES, make_tree
from support.run import BINARY, FULL, Case, Outcome, clone

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


class Past(Case):
    """A source, a pool, and a copy of the source for each generation of the pool."""

    def setUp(self) -> None:
        super().setUp()
        self.source, self.pool, self.out = self.dir / "source", self.dir / "pool", self.dir / "out"
        self.kept: dict[int, Path] = {}

    def push(self) -> int:
        """One more generation; a copy of what was pushed is kept beside it."""
        self.run_ok("push", "--delete", "--allow-empty", f"{self.source}/", self.pool)
        number = max(self.kept, default=0) + 1
        self.kept[number] = self.dir / f"kept{number}"
        clone(self.source, self.kept[number])
        return number

    def small(self) -> None:
        """Three generations of a tree that one can keep in mind."""
        (self.source / "docs/deep").mkdir(parents=True)
        (self.source / "a").write_text("first\n")
        (self.source / "docs/a.txt").write_text("a text\n")
        (self.source / "docs/b.txt").write_text("b text\n")
        (self.source / "docs/.hidden").write_text("hidden\n")
        (self.source / "docs/deep/c").write_text("deep\n")
        os.symlink("docs", self.source / "link")
        self.push()
        (self.source / "a").write_text("second\n")
        for name in ("a.txt", "b.txt", ".hidden", "deep/c"):
            (self.source / "docs" / name).unlink()
        (self.source / "docs/deep").rmdir()
        (self.source / "docs").rmdir()
        self.push()
        (self.source / "b").write_text("new\n")
        self.push()

    def names(self) -> list[str]:
        return sorted(os.listdir(self.out))


class BesideCommit(Past):
    def test_a_commit_that_dies_before_the_readers_lock(self) -> None:
        """Half of it is applied when the restore comes to read: it is finished first."""
        self.source.mkdir()
        for number in range(30):
            (self.source / f"f{number:02}").write_text("first")
        self.push()
        for number in range(30):
            (self.source / f"f{number:02}").write_text("second!")
        self.run_ok("push", f"{self.source}/", self.dir / "other")
        options = self.world.carrier_options("fake", self.world.server("session.reader.waits=stop"))
        restore = self.world.spawn("restore", *options, self.world.far(f"{self.pool}/", "fake"), self.out)
        pid = self.world.server_pid()
        self.assertTrue(wait_stopped(pid))
        died = self.world.run("push", *self.world.carrier_options("fake", self.world.server("txn.apply.op=abort@9")),
                              f"{self.source}/", self.world.far(self.pool, "fake"))
        self.assertNotEqual(died.code, 0)
        os.kill(pid, signal.SIGCONT)
        done = restore.wait()
        self.assertEqual(done.code, 0, done.text)
        self.assert_same_tree(self.source, self.out)


class Generations(Past):
    """Every generation of a random life comes back, with all that belongs to it."""

    def _live(self, rounds: int) -> None:
        forest = make_tree(self.source, "restore", 150)
        with open(self.source / "holes", "wb") as out:
            out.truncate(3_000_000)
            out.seek(1_500_000)
            out.write(b"island")
        for number, name in enumerate(ODD_NAMES):
            place = os.path.join(os.fsencode(self.source), name)
            if not os.path.lexists(place):
                Path(os.fsdecode(place)).write_text(f"odd {number}\n")
        self.push()
        for number in range(rounds):
            forest.mutate(40)
            self._by_hand(number)
            self.push()

    def _by_hand(self, number: int) -> None:
        """What random changes seldom do: whole directories move, links join and part, holes are filled."""
        forest = self.source / f"tree{number}"
        (forest / "sub").mkdir(parents=True)
        for name in ("x", "sub/y"):
            (forest / name).write_bytes(os.urandom(70_000))
        os.link(forest / "x", forest / "x again")
        if number > 0:
            before = self.source / f"tree{number - 1}"
            if before.is_dir():
                os.rename(before, self.source / f"was{number - 1}")
                moved = self.source / f"was{number - 1}"
                (moved / "x again").unlink(missing_ok=True)
                if (moved / "sub").is_dir():
                    os.chmod(moved / "sub", 0o711)
        if number % 2 and (self.source / "holes").is_file():
            with open(self.source / "holes", "r+b") as out:
                out.write(b"no hole here" * 5000)

    def test_each_comes_back(self) -> None:
        self._live(5 if FULL else 3)
        for carrier in ("local", "libssh"):
            options = self.world.carrier_options(carrier)
            for number, kept in self.kept.items():
                with self.subTest(carrier=carrier, generation=number):
                    out = self.dir / carrier / f"out{number}"
                    out.parent.mkdir(exist_ok=True)
                    outcome = self.run_ok("restore", "--at", str(number), "--verify", *options,
                                          self.world.far(f"{self.pool}/", carrier), out)
                    self.assert_same_tree(kept, out, outcome.text, holes=True)
                    self.assertEqual(tree.control_files(out), [], "restore leaves nothing behind")

    def test_one_onto_another(self) -> None:
        """What the destination has is not sent: a tree of the newest generation becomes an older one, and back."""
        self._live(3)
        newest = max(self.kept)
        for number in (newest, 1, 2, newest):
            self.run_ok("restore", "--delete", "--allow-empty", "--max-delete=-1", "--at", f"#{number}",
                        f"{self.pool}:", self.out)
            self.assert_same_tree(self.kept[number], self.out, f"generation {number}", holes=True)

    def test_large_files_are_sent_as_deltas(self) -> None:
        self.source.mkdir()
        (self.source / "large").write_bytes(os.urandom(8_000_000))
        self.push()
        with open(self.source / "large", "r+b") as out:
            out.seek(4_000_000)
            out.write(b"changed")
        self.push()
        clone(self.source, self.out)
        options = self.world.carrier_options("fake")
        outcome = self.run_ok("restore", "--json", "--at", "1", *options, self.world.far(f"{self.pool}/", "fake"),
                              self.out)
        self.assert_same_tree(self.kept[1], self.out)
        self.assertLess(summary(outcome)["counts"]["content_bytes"], 1_000_000)


class Paths(Past):
    """What POOL[:PATH] means, and what is refused."""

    def test_what_is_gone_comes_back(self) -> None:
        self.small()
        self.assertFalse((self.pool / "docs").exists())
        forms = (f"{self.pool}:docs", f"{self.pool}/docs", f"{self.pool}/:docs", f"{self.pool}:/docs")
        for number, source in enumerate(forms):
            with self.subTest(source=source):
                out = self.dir / f"out{number}"
                self.run_ok("restore", "--at", "1", source, out)
                self.assert_same_tree(self.kept[1] / "docs", out / "docs")
        self.run_ok("restore", "--at=1", f"{self.pool}:docs/", self.out)
        self.assert_same_tree(self.kept[1] / "docs", self.out)

    def test_several_sources_on_a_host(self) -> None:
        self.small()
        options = self.world.carrier_options("ssh")
        sources = [f"nbtest:{self.pool}:docs/b.txt", f"nbtest:{self.pool}:a"]
        self.run_ok("restore", *options, *sources, self.out, "--at", "1")
        self.assertEqual(self.names(), ["a", "b.txt"])
        self.assertEqual((self.out / "a").read_text(), "first\n")
        self.run_ok("restore", *options, f"nbtest:{self.pool}:a", self.out)
        self.assertEqual((self.out / "a").read_text(), "second\n", "the default is the latest")

    def test_a_file_gets_a_new_name(self) -> None:
        self.small()
        self.run_ok("restore", "--at", "1", f"{self.pool}:docs/a.txt", self.out)
        self.assertEqual(self.out.read_text(), "a text\n")

    def test_patterns(self) -> None:
        self.small()
        for carrier in ("local", "libssh"):
            options = self.world.carrier_options(carrier)
            for pattern, found in (("docs/*", ["a.txt", "b.txt", "deep"]), ("docs/[b-z].*", ["b.txt"]),
                                   ("d*/?.txt", ["a.txt", "b.txt"]), ("docs/.*", [".hidden"])):
                with self.subTest(carrier=carrier, pattern=pattern):
                    if self.out.exists():
                        subprocess.run(["rm", "-rf", self.out], check=True)
                    self.run_ok("restore", "--at", "1", *options, self.world.far(f"{self.pool}:{pattern}", carrier),
                                self.out)
                    self.assertEqual(self.names(), found)
        # With a slash at its end, directories alone; a.txt and b.txt match too.
        self.run_ok("restore", "--at", "1", f"{self.pool}:docs/*/", self.dir / "content")
        self.assertEqual(sorted(os.listdir(self.dir / "content")),
                         sorted(os.listdir(self.kept[1] / "docs/deep")))
        outcome = self.run_code(opt.PATH, "restore", "--at", "1", f"{self.pool}:docs/*.txt/", self.dir / "none")
        self.assertIn(b"no directory has such a name", outcome.stderr)
        outcome = self.run_code(opt.PATH, "restore", "--at", "1", f"{self.pool}:docs/*.pdf", self.dir / "none")
        self.assertIn(b"docs/*.pdf at generation 1", outcome.stderr)
        self.assertFalse((self.dir / "none").exists())

    def test_filters_and_extras(self) -> None:
        self.small()
        self.out.mkdir()
        (self.out / "extra").write_text("mine\n")
        self.run_ok("restore", "--at", "1", "--exclude", "*.txt", f"{self.pool}:", self.out)
        self.assertEqual(self.names(), ["a", "docs", "extra", "link"])
        self.assertEqual(sorted(os.listdir(self.out / "docs")), [".hidden", "deep"])
        self.run_ok("restore", "--at", "1", "--delete", f"{self.pool}:", self.out)
        self.assert_same_tree(self.kept[1], self.out)

    def test_what_cannot_be(self) -> None:
        self.small()
        elsewhere = self.dir / "elsewhere"
        elsewhere.mkdir()
        (elsewhere / "x").write_text("x")
        for code, said, args in (
            (opt.PATH, b"docs at generation 3", [f"{self.pool}:docs"]),
            (opt.PATH, b"zz* is not there", [f"{self.pool}:zz*"]),
            (opt.PATH, b"symlink", ["--at", "1", f"{self.pool}:link/a.txt"]),
            (opt.PATH, b"is not in a file set", [elsewhere / "x"]),
            (opt.PATH, b"is not in a file set", ["--at", "1", f"{self.dir}/no/such/pool:x"]),
            (opt.USAGE, b"generation 9 is not there: the set keeps 0 to 3", ["--at", "9", self.pool]),
            (opt.USAGE, b"--at: 'soon' is no WHEN", ["--at", "soon", self.pool]),
            (opt.PATH, b"'..'", [f"{self.pool}:docs/../a"]),
            (opt.PATH, b"nbackup", [f"{self.pool}:.nbackup/head"]),
        ):
            with self.subTest(args=args):
                outcome = self.run_code(code, "restore", *args, self.out)
                self.assertIn(said, outcome.stderr, outcome.text)
                self.assertEqual(len(outcome.stdout), 0)
                self.assertFalse(self.out.exists())
        outcome = self.run_code(opt.USAGE, "restore", f"{self.pool}:a", "nbtest:/x")
        self.assertIn(b"run nbackup restore on nbtest", outcome.stderr)
        outcome = self.run_code(opt.PATH, "restore", "--at", "1", f"{self.pool}:a", self.pool / "back")
        self.assertIn(b"one file set", outcome.stderr)
        outcome = self.run_code(opt.PARTIAL, "restore", f"{self.pool}:docs", f"{self.pool}:a", self.out)
        self.assertEqual(self.names(), ["a"])

    def test_what_did_not_come_is_not_counted(self) -> None:
        """Contents that a scrub found damaged: small, large, of several names, in place of another file."""
        self.source.mkdir()
        (self.source / "small").write_text("one")
        (self.source / "large").write_bytes(os.urandom(300_000))
        (self.source / "linked").write_text("two")
        os.link(self.source / "linked", self.source / "linked again")
        (self.source / "sound").write_text("three")
        self.push()
        for name in ("small", "large", "linked", "linked again"):
            (self.source / name).unlink()
        self.push()
        for name in ("small", "large", "linked"):
            kept = self.pool / ".nbackup/history/2/files" / name
            before = kept.stat()
            kept.write_bytes(b"x" * before.st_size)
            os.utime(kept, ns=(before.st_atime_ns, before.st_mtime_ns))
        self.run_code(opt.DAMAGED, "scrub", self.pool)
        self.out.mkdir()
        (self.out / "large").write_bytes(b"another")
        outcome = self.run_code(opt.PARTIAL, "restore", "--json", "--at", "1", f"{self.pool}/", self.out)
        end = [json.loads(line) for line in outcome.stdout.splitlines()][-1]["changes"]
        self.assertEqual((end["new"], end["changed"]), (1, 0), outcome.text)
        self.assertEqual(self.names(), ["large", "sound"])
        self.assertEqual((self.out / "large").read_bytes(), b"another")

    def test_confined_and_read_only(self) -> None:
        """The key of a backup that may only read looks back as well, and sees nothing above its root."""
        self.small()
        script = self.world.script("reader", f"#!/bin/sh\nexec {BINARY} serve --root {self.pool} --read-only\n")
        options = ["-e", str(self.world.fake_rsh), "--remote-path", str(script)]
        self.run_ok("restore", "--at", "1", *options, "nbtest:docs", self.out)
        self.assert_same_tree(self.kept[1] / "docs", self.out / "docs")
        self.run_code(opt.PATH, "restore", *options, f"nbtest:{self.source}/a", self.dir / "none")


class Forms(Past):
    """Output, dry runs, verification, standard output, times."""

    def test_dry_run_changes_nothing_and_tells_all(self) -> None:
        self.small()
        self.run_ok("restore", "-n", "--at", "1", f"{self.pool}:", self.out)
        self.assertFalse(self.out.exists())
        self.out.mkdir()
        (self.out / "a").write_text("mine\n")
        before = tree.snapshot(self.out)
        planned = self.run_ok("restore", "-n", "-i", "--at", "1", f"{self.pool}:", self.out).stdout
        self.assert_same_tree(before, self.out)
        done = self.run_ok("restore", "-i", "--at", "1", f"{self.pool}:", self.out).stdout
        self.assertEqual(planned.splitlines()[:-1], done.splitlines()[:-1])
        self.assertIn(b"dry run: would restore", planned.splitlines()[-1])
        self.assertIn(b"restored ", done.splitlines()[-1])
        self.assertIn(b"from generation 1", done.splitlines()[-1])

    def test_standard_output(self) -> None:
        self.small()
        (self.source / "large").write_bytes(os.urandom(3_000_000))
        with open(self.source / "holes", "wb") as out:
            out.truncate(1_000_000)
        number = self.push()
        for carrier in ("local", "libssh"):
            options = self.world.carrier_options(carrier)
            for name, at in (("docs/a.txt", 1), ("large", number), ("holes", number)):
                with self.subTest(carrier=carrier, name=name):
                    outcome = self.run_ok("restore", "--at", str(at), *options,
                                          self.world.far(f"{self.pool}:{name}", carrier), "-")
                    self.assertEqual(outcome.stdout, (self.kept[at] / name).read_bytes())
                    self.assertEqual(outcome.stderr, b"")
        for code, said, args in ((opt.PATH, b"is not one file", ["--at", "1", f"{self.pool}:docs"]),
                                 (opt.PATH, b"no regular file", ["--at", "1", f"{self.pool}:link"]),
                                 (opt.USAGE, b"one file at a time", [f"{self.pool}:a", f"{self.pool}:b"]),
                                 (opt.USAGE, b"standard output is the file's", ["-v", f"{self.pool}:a"]),
                                 (opt.PATH, b"docs/a.txt", [f"{self.pool}:docs/a.txt"])):
            with self.subTest(args=args):
                outcome = self.run_code(code, "restore", *args, "-")
                self.assertEqual(outcome.stdout, b"")
                self.assertIn(said, outcome.stderr, outcome.text)
        left = [name for name in os.listdir(self.dir / "scratch") if name.startswith("nbackup-restore")]
        self.assertEqual(left, [], "no temporary file stays")

    def test_standard_output_that_is_full(self) -> None:
        self.small()
        done = self.world.run_into_full("restore", f"{self.pool}:a", "-")
        self.assertEqual(done.returncode, opt.IO)
        self.assertIn(b"standard output: No space left", done.stderr)
        self.assertNotIn(b"Free some space", done.stderr, "that is advice for the set")

    def test_standard_output_whose_reader_has_heard_enough(self) -> None:
        self.small()
        for command in (("restore", f"{self.pool}:a", "-"), ("rollback", "-n", "--to", "1", self.pool)):
            done = self.world.run_unread(*command)
            self.assertEqual((done.returncode, done.stderr), (0, b""), command)

    def test_standard_output_that_is_interrupted_while_connecting(self) -> None:
        """A host that takes the connection and says nothing."""
        config = self.dir / "config"
        with socket.create_server(("127.0.0.1", 0)) as silent:
            config.write_text(f"Host mute\n  HostName 127.0.0.1\n  Port {silent.getsockname()[1]}\n")
            run = self.world.spawn("restore", "--ssh-config", config, f"mute:{self.pool}:a", "-")
            silent.settimeout(60)
            connection, _ = silent.accept()
            with connection:
                run.kill(signal.SIGINT)
                outcome = run.wait(timeout=20)
        self.assertEqual(outcome.code, opt.INTERRUPTED, outcome.text)
        self.assertEqual(list((self.dir / "scratch").glob("nbackup-restore*")), [])

    def test_rules_from_standard_input_hold_for_the_comparison(self) -> None:
        self.small()
        done = subprocess.run([BINARY, "restore", "--verify", "--delete", "--exclude-from=-", "--at", "1",
                               f"{self.pool}:", self.out], env=self.world.env(), input=b"docs\n", capture_output=True,
                              check=False, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(self.names(), ["a", "link"])

    def test_verify_reads_back(self) -> None:
        self.small()
        (self.out / "docs").mkdir(parents=True)
        info = os.stat(self.kept[1] / "a")
        (self.out / "a").write_text("fIrst\n")  # same size and time: a restore without -c believes it
        os.utime(self.out / "a", ns=(info.st_mtime_ns, info.st_mtime_ns))
        outcome = self.run_code(opt.DIFFERS, "restore", "--verify", "--at", "1", f"{self.pool}:", self.out)
        self.assertIn(b" a\n", outcome.stdout)
        outcome = self.run_ok("restore", "-c", "--verify", "--at", "1", f"{self.pool}:", self.out)
        self.assertIn(b"no differences", outcome.stdout)
        self.assert_same_tree(self.kept[1], self.out)
        self.run_code(opt.DIFFERS, "verify", "--at", "2", f"{self.pool}:", self.out)
        self.run_ok("verify", "--at", "1", f"{self.pool}:", self.out)

    def test_pull_and_json_say_the_same(self) -> None:
        self.small()
        options = self.world.carrier_options("fake")
        pulled = self.run_ok("pull", "--json", "--at", "1", *options, self.world.far(f"{self.pool}/", "fake"), self.out)
        self.assert_same_tree(self.kept[1], self.out)
        self.assertEqual(summary(pulled)["read_generation"], 1)
        restored = self.run_ok("restore", "--json", f"{self.pool}/", self.dir / "other")
        self.assertEqual(summary(restored)["read_generation"], 3)
        outcome = self.run_code(opt.USAGE, "push", "--at", "1", f"{self.source}/", self.pool)
        self.assertIn(b"--at", outcome.stderr)

    def test_times(self) -> None:
        self.source.mkdir()
        moments = {}
        for text in ("first", "second", "third"):
            (self.source / "f").write_text(text)
            number = self.push()
            moments[number] = next_second()
        for number, moment in moments.items():
            shown = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment))
            outcome = self.run_ok("restore", "--at", shown, f"{self.pool}:f", "-")
            self.assertEqual(outcome.stdout, (self.kept[number] / "f").read_bytes())
        outcome = self.run_code(opt.USAGE, "restore", "--at", "-1h", f"{self.pool}:f", "-")
        self.assertIn(b"no generation is from", outcome.stderr, "what was before the first push has no time")

    def test_the_example_brings_back_yesterday(self) -> None:
        """examples/restore as it stands. Yesterday ends between the pushes, in a time zone made for that."""
        (self.source / "dir").mkdir(parents=True)
        (self.source / "dir/f").write_text("yesterday")
        (self.source / "dir/gone").write_text("gone today")
        self.push()
        midnight = next_second() + 1
        while time.time() < midnight:
            time.sleep(0.01)
        (self.source / "dir/f").write_text("today")
        (self.source / "dir/gone").unlink()
        self.push()
        (self.world.dir / "bin/nbackup").symlink_to(BINARY)
        env = self.world.env() | {"TZ": zone_with_midnight(midnight)}
        env["PATH"] = f"{self.world.dir}/bin:{env['PATH']}"
        for when, kept in (([], 2), (["yesterday"], 1)):
            out = self.dir / f"restored{kept}"
            done = subprocess.run([EXAMPLES / "restore", f"{self.pool}/dir", out, *when], env=env, capture_output=True,
                                  check=False, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assert_same_tree(self.kept[kept] / "dir", out)

    def test_the_example_goes_on_where_it_died(self) -> None:
        (self.source / "dir").mkdir(parents=True)
        (self.source / "dir/f").write_bytes(os.urandom(300_000))
        self.push()
        (self.world.dir / "bin/nbackup").symlink_to(BINARY)
        env = self.world.env() | {"PATH": f"{self.world.dir}/bin:{self.world.env()['PATH']}"}
        out = self.dir / "a target"

        def restore(**more: str) -> subprocess.CompletedProcess[bytes]:
            return subprocess.run([EXAMPLES / "restore", f"{self.pool}:dir", out], env=env | more, capture_output=True,
                                  check=False, timeout=120)

        self.assertNotEqual(restore(NBACKUP_FAILPOINT="session.sink.data=abort").returncode, 0)
        self.assertEqual([each.name for each in out.iterdir()], [".nbackup"])
        done = restore()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(rb"mv -T -- " + str(out).replace(" ", "\\ ").encode(), done.stdout)
        self.assert_same_tree(self.kept[1] / "dir", out)
        self.assertEqual(restore().returncode, 2, "what is complete is not touched")


def summary(outcome: Outcome) -> dict:
    """The last event of a run with --json."""
    return json.loads(outcome.stdout.splitlines()[-1])


def next_second() -> int:
    """Waits for the second to end; the one that has ended, in which or before which everything so far happened."""
    now = int(time.time())
    while int(time.time()) == now:
        time.sleep(0.01)
    return now


def zone_with_midnight(moment: int) -> str:
    """A TZ whose day begins at `moment`."""
    ahead = -moment % 86_400
    sign = "-"
    if ahead > 43_200:
        ahead, sign = 86_400 - ahead, ""
    return f"HERE{sign}{ahead // 3600}:{ahead // 60 % 60:02}:{ahead % 60:02}"


if __name__ == "__main__":
    unittest.main()
