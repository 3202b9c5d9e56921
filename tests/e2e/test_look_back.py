# SPDX-License-Identifier: Apache-2.0
"""Looking back at a file set: generations, ls, cat, diff and rollback, here and at a host, with restricted keys too."""
from __future__ import annotations

import fcntl
import json
import os
import pty
import random
import shlex
import signal
import stat
import struct
import subprocess
import termios
import unittest
from pathlib import Path

from support import options as opt, tree
from support.crash import wait_gone, wait_stopped, wait_until_busy
from support.run import BINARY, CARRIERS, PLAIN_USER, Case, Outcome


def lines(outcome: Outcome) -> list[str]:
    return outcome.stdout.decode().splitlines()


def events(outcome: Outcome) -> list[dict]:
    return [json.loads(line) for line in lines(outcome)]


class Looking(Case):
    """Three generations of a small tree with what a backup meets: links, holes, odd names, a file that becomes a
    directory, one that is renamed, one whose mode alone changes."""

    def setUp(self) -> None:
        super().setUp()
        self.source, self.pool = self.dir / "source", self.dir / "pool"
        self.states: dict[int, tree.Tree] = {}
        for change in (self.first, self.second, self.third):
            change()
            self.push()

    def push(self) -> None:
        self.run_ok("push", "--delete", f"{self.source}/", self.pool)
        number = len(self.states) + 1
        copy = self.dir / f"state-{number}"
        subprocess.run(["cp", "-a", str(self.source), str(copy)], check=True)
        self.states[number] = tree.snapshot(copy)

    def first(self) -> None:
        (self.source / "sub/deep").mkdir(parents=True)
        (self.source / "kept/far/down").mkdir(parents=True)
        (self.source / "kept/far/down/file").write_text("never changes\n")
        (self.source / "a").write_text("first\n")
        (self.source / "gone").write_text("will go\n")
        (self.source / "sub/renamed").write_text("the same under both names\n")
        (self.source / "sub/becomes").write_text("a file at first\n")
        os.symlink("../a", self.source / "sub/link")
        (self.source / b"odd\nname\xff".decode("utf-8", "surrogateescape")).write_text("odd\n")
        with open(self.source / "holes", "wb") as file:
            file.write(b"begin")
            file.seek(3 << 20)
            file.write(b"end")
        os.chmod(self.source / "a", 0o640)

    def second(self) -> None:
        (self.source / "a").write_text("second, and longer\n")
        (self.source / "gone").unlink()
        (self.source / "sub/renamed").rename(self.source / "sub/other")
        os.chmod(self.source / "holes", 0o600)
        (self.source / "new").write_text("new\n")

    def third(self) -> None:
        (self.source / "sub/becomes").unlink()
        (self.source / "sub/becomes").mkdir()
        (self.source / "sub/becomes/inside").write_text("a directory now\n")
        os.unlink(self.source / "sub/link")
        os.symlink("../new", self.source / "sub/link")

    def state(self, number: int) -> Path:
        return self.dir / f"state-{number}"


class Here(Looking):
    def test_generations(self) -> None:
        table = lines(self.run_ok("generations", self.pool))
        self.assertEqual(table[0].split(), ["NUMBER", "TIME", "CLIENT", "NEW", "CHANGED", "DELETED", "BYTES"])
        self.assertEqual([line.split()[0] for line in table[1:]], ["0", "1", "2", "3"], "the newest is last")
        self.assertTrue(all(len(line) <= 80 for line in table), table)
        found = events(self.run_ok("generations", "--json", self.pool))
        self.assertEqual([one["generation"] for one in found], [0, 1, 2, 3])
        self.assertEqual([one.get("previous") for one in found], [None, 0, 1, 2])
        self.assertEqual(found[2]["deleted"], 2, "gone and the old name")
        self.assertGreater(found[3]["time_ns"], found[2]["time_ns"])
        # A run without changes makes none.
        self.run_ok("push", "--delete", f"{self.source}/", self.pool)
        self.assertEqual(len(events(self.run_ok("generations", "--json", self.pool))), 4)

    def test_a_generation_names_who_made_it(self) -> None:
        (self.source / "a").write_text("pulled\n")
        self.run_ok("pull", f"{self.source}/", self.pool)
        found = events(self.run_ok("generations", "--json", self.pool))
        self.assertEqual(found[-1]["client"], found[-2]["client"], "pulled into the set as it was pushed to before")
        self.assertIn("@", found[-1]["client"])

    def paths(self, root: Path) -> list[str]:
        """As ls -R has them: names escaped, in the order of their bytes, directories with a slash."""
        found = []
        for here, dirs, files in os.walk(os.fsencode(root)):
            for name in dirs + files:
                path = os.path.relpath(os.path.join(here, name), os.fsencode(root))
                is_dir = os.path.isdir(os.path.join(here, name)) and not os.path.islink(os.path.join(here, name))
                text = path.replace(b"\n", b"\\012").replace(b"\xff", b"\\377").decode()
                found.append((path.split(b"/"), text + ("/" if is_dir else "")))
        return [text for _, text in sorted(found)]

    def test_ls_lists_every_generation_as_it_was(self) -> None:
        for number in self.states:
            with self.subTest(generation=number):
                outcome = self.run_ok("ls", "-R", self.pool, "--at", str(number))
                self.assertEqual(lines(outcome), self.paths(self.state(number)))
        self.assertEqual(lines(self.run_ok("ls", "-R", self.pool)), self.paths(self.source), "latest by itself")
        self.assertEqual(lines(self.run_ok("ls", self.pool, "--at=0")), [], "before the first push")

    def test_ls_shows_metadata_as_they_were(self) -> None:
        for number in self.states:
            entries = events(self.run_ok("ls", "-R", "--json", self.pool, "--at", str(number)))
            self.assertEqual(len(entries), len(self.paths(self.state(number))))
            for entry in entries:
                name = entry["path"].replace("\\012", "\n").encode("utf-8", "surrogateescape").replace(b"\\377", b"\xff")
                info = os.lstat(os.path.join(os.fsencode(self.state(number)), name))
                with self.subTest(generation=number, path=name):
                    kind = {"regular": stat.S_ISREG, "directory": stat.S_ISDIR, "symlink": stat.S_ISLNK}[entry["type"]]
                    self.assertTrue(kind(info.st_mode))
                    self.assertEqual((entry["uid"], entry["gid"]), (info.st_uid, info.st_gid))
                    self.assertEqual(entry["mtime"] * 10**9 + entry["mtime_nsec"], info.st_mtime_ns)
                    if entry["type"] != "symlink":
                        self.assertEqual(int(entry["mode"], 8), stat.S_IMODE(info.st_mode))
                    if entry["type"] == "regular":
                        self.assertEqual(entry["size"], info.st_size)
                    if entry["type"] == "symlink":
                        target = os.readlink(os.path.join(os.fsencode(self.state(number)), name))
                        self.assertEqual(os.fsencode(entry["target"]), target)
        old = [line for line in lines(self.run_ok("ls", "-l", self.pool, "--at=1")) if line.endswith(" a")]
        self.assertTrue(old and old[0].startswith("-rw-r-----") and " 6 " in old[0], old)

    def test_ls_of_a_part(self) -> None:
        self.assertEqual(lines(self.run_ok("ls", f"{self.pool}:sub", "--at=1")),
                         ["becomes", "deep/", "link", "renamed"])
        self.assertEqual(lines(self.run_ok("ls", f"{self.pool}:/sub/becomes/", "--at=3")), ["inside"])
        self.assertEqual(lines(self.run_ok("ls", f"{self.pool}:sub/becomes", "--at=2")), ["becomes"])
        self.assertEqual(lines(self.run_ok("ls", self.pool / "sub")), ["becomes/", "deep/", "link", "other"])
        self.assertEqual(lines(self.run_ok("ls", "-R", f"{self.pool}:kept")), ["far/", "far/down/", "far/down/file"])

    def test_cat_gives_every_file_of_every_generation(self) -> None:
        for number in self.states:
            for name in ("a", "holes", "sub/becomes", "sub/other", "new"):
                path = self.state(number) / name
                if path.is_file():
                    outcome = self.run_ok("cat", f"{self.pool}:{name}", f"--at={number}")
                    self.assertEqual(outcome.stdout, path.read_bytes(), f"{name} of {number}")

    def test_what_is_not_there(self) -> None:
        for command, place, extra, words in (
                ("cat", ":gone", (), b"gone: not in generation 3"),
                ("cat", ":new", ("--at=1",), b"new: not in generation 1"),
                ("ls", ":nothing/below", (), b"nothing/below: not in generation 3"),
                ("diff", ":nothing", ("--from=1",), b"nothing: in neither generation")):
            with self.subTest(command=command, place=place):
                outcome = self.run_code(opt.PATH, command, f"{self.pool}{place}", *extra)
                self.assertIn(words, outcome.stderr)
                self.assertEqual(outcome.stdout, b"")
        self.assertIn(b"a directory", self.run_code(opt.PATH, "cat", f"{self.pool}:sub").stderr)
        self.assertIn(b"a symlink, to ../new", self.run_code(opt.PATH, "cat", f"{self.pool}:sub/link").stderr)
        self.assertIn(b"a directory", self.run_code(opt.PATH, "cat", self.pool).stderr)
        # No symlink on the way is followed.
        os.symlink("kept", self.source / "way")
        self.push()
        self.run_code(opt.PATH, "cat", f"{self.pool}:way/far/down/file")
        self.assertIn(b"generation 9 is not there", self.run_code(opt.USAGE, "ls", self.pool, "--at=9").stderr)
        for command in (("ls",), ("generations",), ("scrub",), ("prune",), ("policy",), ("recover",), ("drill",)):
            for place in (self.source, self.dir / "nothing"):
                self.assertIn(b"is not in a file set", self.run_code(opt.PATH, *command, place).stderr)
        if os.geteuid() == 0:
            for command in (("ls", self.pool), ("push", "/etc/hostname", "/etc/hosts", self.pool)):
                outcome = self.run_code(opt.PATH, *command, user=PLAIN_USER)
                self.assertIn(b"one of user 0: run as that user", outcome.stderr)
        self.run_code(opt.PATH, "cat", f"{self.pool}:.nbackup/secret")
        self.run_code(opt.USAGE, "diff", self.pool)
        self.run_code(opt.USAGE, "ls", self.pool, "--at=someday")
        failed = events(self.run_code(opt.USAGE, "ls", "--json", self.pool, "--at=9"))
        self.assertEqual((failed[0]["event"], failed[0]["exit_code"]), ("error", opt.USAGE))

    def test_diff_says_what_the_push_said(self) -> None:
        self.assertEqual(sorted(lines(self.run_ok("diff", self.pool, "--from=1", "--to=2"))), sorted([
            ".d..t...... ./", "<f.st...... a", "*deleting   gone", ".f...p..... holes", "<f+++++++++ new",
            ".d..t...... sub/", "*deleting   sub/renamed", "<f+++++++++ sub/other"]))
        self.assertEqual(sorted(lines(self.run_ok("diff", f"{self.pool}:sub", "--from=2"))), sorted([
            ".d..t...... sub/", "*deleting   sub/becomes", "cd+++++++++ sub/becomes/", "<f+++++++++ sub/becomes/inside",
            "cLc.t...... sub/link -> ../new"]))
        self.assertEqual(lines(self.run_ok("diff", self.pool, "--from=2", "--to=2")), [])
        self.assertEqual(lines(self.run_ok("diff", f"{self.pool}:kept", "--from=1")), [])
        self.assertEqual([one["path"] for one in events(self.run_ok("diff", "--json", f"{self.pool}:gone", "--from=1"))],
                         ["gone"])
        # What was not there before the first push came with it.
        came = {line.split(" ", 1)[1] for line in lines(self.run_ok("diff", self.pool, "--from=0", "--to=1"))}
        wanted = {path + (" -> ../a" if path == "sub/link" else "") for path in self.paths(self.state(1))}
        self.assertEqual(came - {"./"}, wanted)

    def test_diff_sees_a_content_of_equal_size_and_time(self) -> None:
        info = os.stat(self.source / "new")
        (self.source / "new").write_text("NEW\n")
        os.utime(self.source / "new", ns=(info.st_atime_ns, info.st_mtime_ns))
        self.run_ok("push", "-c", "--delete", f"{self.source}/", self.pool)
        self.assertIn("<fc........ new", lines(self.run_ok("diff", self.pool, "--from=3")))

    def test_diff_is_the_difference_of_the_states(self) -> None:
        """Which names differ, for random changes, against a comparison of copies."""
        rng = random.Random(7)
        for _ in range(6):
            files = [p for p in self.source.rglob("*") if p.is_file() and not p.is_symlink()]
            for path in rng.sample(files, min(3, len(files))):
                match rng.randrange(4):
                    case 0: path.write_bytes(rng.randbytes(rng.randrange(4000)))
                    case 1: path.unlink()
                    case 2: os.chmod(path, 0o600 + rng.randrange(64))
                    case 3: path.rename(path.with_name(f"moved-{rng.randrange(1000)}"))
            (self.source / f"made-{rng.randrange(1000)}").write_bytes(rng.randbytes(100))
            self.push()
        newest = len(self.states)
        for older, newer in ((1, newest), (newest, 1), (4, newest - 1), (newest - 1, newest)):
            told = {one["path"] for one in events(self.run_ok("diff", "--json", self.pool, f"--from={older}",
                                                              f"--to={newer}"))}
            a, b = self.states[older], self.states[newer]
            differ = {name for name in a.keys() | b.keys() if tree.compare({name: a[name]} if name in a else {},
                                                                          {name: b[name]} if name in b else {})}
            shown = {n.decode("utf-8", "surrogateescape") for n in differ}
            self.assertEqual({path for path in told if path and "\\" not in path},
                             {name for name in shown if name not in ("", ".") and "\n" not in name},
                             f"{older} to {newer}")

    def test_writing_fails_where_nobody_reads(self) -> None:
        run = self.world.run_into_full("cat", f"{self.pool}:holes")
        self.assertEqual(run.returncode, opt.IO)
        self.assertIn(b"standard output", run.stderr)


def read_terminal(main: int) -> bytes:
    """What can be read until nobody has the other side open."""
    out = b""
    while True:
        try:
            piece = os.read(main, 65536)
        except OSError:
            return out
        if not piece:
            return out
        out += piece


class Terminal(Looking):
    def on_terminal(self, *args: str, columns: int = 80) -> bytes:
        """The output of a run on a terminal of that width."""
        main, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        run = subprocess.Popen([BINARY, *args], stdin=subprocess.DEVNULL, stdout=other, stderr=subprocess.PIPE,
                               env=self.world.env())
        os.close(other)
        out = read_terminal(main)
        assert run.stderr
        err = run.stderr.read()
        run.stderr.close()
        self.assertEqual(run.wait(60), 0, err)
        # A write right before the last close can pass a read that finds the terminal closed.
        out += read_terminal(main)
        os.close(main)
        return out.replace(b"\r\n", b"\n")

    def test_what_could_play_with_a_terminal_is_escaped(self) -> None:
        (self.source / "evil").write_bytes(b"a\x1b[31mb\tc\\d\n\xc3\xa4 no end\xff")
        self.push()
        options = self.world.carrier_options("fake")
        for place in ((str(self.pool),), (*options, f"nbtest:{self.pool}")):
            *extra, pool = place
            shown = self.on_terminal("cat", *extra, f"{pool}:evil")
            self.assertNotIn(b"\x1b", shown)
            self.assertIn(b"a\\033[31mb", shown)
            self.assertIn(b"c\\d\n\xc3\xa4 no end\\377", shown)
            self.assertIn(b"odd\\012name\\377", self.on_terminal("ls", *extra, pool))
        self.assertEqual(self.run_ok("cat", f"{self.pool}:evil").stdout, (self.source / "evil").read_bytes())

    def test_the_table_fits_the_terminal_of_who_reads(self) -> None:
        options = self.world.carrier_options("fake")
        for columns in (64, 80, 200):
            for place in ((str(self.pool),), (*options, f"nbtest:{self.pool}")):
                shown = self.on_terminal("generations", *place, columns=columns).decode()
                self.assertLessEqual(max(map(len, shown.splitlines())), columns, shown)


class There(Looking):
    def both(self, carrier: str, command: str, place: str, *extra: str, code: int = 0) -> None:
        """The same output and exit code from a host as from here."""
        here = self.run_code(code, command, f"{self.pool}{place}", *extra)
        options = self.world.carrier_options(carrier)
        there = self.run_code(code, command, *options, f"nbtest:{self.pool}{place}", *extra)
        self.assertEqual(there.stdout, here.stdout, there.text)
        self.assertEqual(there.stderr, here.stderr, there.text)

    def test_everything_over_every_carrier(self) -> None:
        for carrier in [each for each in CARRIERS if each != "local"]:
            with self.subTest(carrier=carrier):
                self.both(carrier, "generations", "")
                self.both(carrier, "generations", "", "--json")
                self.both(carrier, "ls", ":sub", "-lR", "--at=1")
                self.both(carrier, "ls", "", "--json", "--at=2")
                self.both(carrier, "cat", ":holes", "--at=1")
                self.both(carrier, "diff", "", "--from=1")
                self.both(carrier, "cat", ":gone", code=opt.PATH)
                self.both(carrier, "ls", "", "--at=9", code=opt.USAGE)

    def test_relative_places_and_urls(self) -> None:
        options = self.world.carrier_options("libssh")
        config = self.world.sshd
        home = Path(os.path.expanduser("~"))
        relative = os.path.relpath(self.pool, home)
        self.assertEqual(lines(self.run_ok("ls", *options, f"nbtest:{relative}:kept")), ["far/"])
        self.assertEqual(lines(self.run_ok("ls", *options, f"ssh://nbtest:{config.port}{self.pool}:kept")), ["far/"])

    def test_times_are_those_of_who_reads(self) -> None:
        """The host's zone is another one: words and tables are the user's."""
        server = self.world.script("elsewhere", f"#!/bin/sh\nTZ=Asia/Tokyo exec {shlex.quote(BINARY)} \"$@\"\n")
        options = self.world.carrier_options("fake", server)
        here = self.run_ok("generations", self.pool)
        self.assertEqual(self.run_ok("generations", *options, f"nbtest:{self.pool}").stdout, here.stdout)
        newest = lines(here)[-1].split()
        for when in (f"{newest[1]}T{newest[2]}", "-0s"):
            self.assertEqual(self.run_ok("ls", *options, f"nbtest:{self.pool}", f"--at={when}").stdout,
                             self.run_ok("ls", self.pool).stdout, when)
        # What was there before the first push has no time, and is nobody's yesterday.
        self.run_code(opt.USAGE, "ls", *options, f"nbtest:{self.pool}", "--at=yesterday")
        self.assertEqual(self.run_ok("ls", *options, f"nbtest:{self.pool}", "--at=0").stdout, b"")

    def test_a_large_file_takes_no_memory(self) -> None:
        if any(mark in Path(BINARY).read_bytes() for mark in (b"__asan_init", b"__tsan_init")):
            self.skipTest("a sanitizer reserves terabytes of addresses")
        size = 300 << 20
        with open(self.source / "large", "wb") as file:
            file.truncate(size)
            file.seek(size // 2)
            file.write(b"middle")
        self.push()
        server = self.world.script(
            "limited", f"#!/bin/sh\nulimit -v 400000\nexec {shlex.quote(BINARY)} \"$@\"\n")
        options = self.world.carrier_options("fake", server)
        argv = ["sh", "-c", 'ulimit -v 400000; exec "$@"', "sh", BINARY, "cat", *options, f"nbtest:{self.pool}:large"]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, env=self.world.env()) as run:
            assert run.stdout
            total, found = 0, -1
            while piece := run.stdout.read(1 << 20):
                at = piece.find(b"middle")
                found = total + at if at >= 0 else found
                total += len(piece)
            self.assertEqual(run.wait(60), 0)
        self.assertEqual((total, found), (size, size // 2))

    def test_a_far_diff_ends_with_its_client(self) -> None:
        """Or it would read on, and keep who drops generations waiting."""
        source, pool = self.dir / "holes", self.dir / "pool-of-holes"
        source.mkdir()
        for last in (b"0", b"1"):
            with open(source / "hole", "wb") as file:
                file.truncate(1 << 40)
                file.seek(-1, os.SEEK_END)
                file.write(last)
            self.run_ok("push", f"{source}/", pool)
        run = self.world.spawn("diff", "--from", "1", "--to", "2", "--remote-path", self.world.server(),
                               "-e", self.world.fake_rsh, f"nbtest:{pool}")
        pid = self.world.server_pid()
        wait_until_busy(pid)
        run.kill()
        run.wait()
        wait_gone(pid, timeout=30)

    def test_restricted_keys(self) -> None:
        """command="nbackup serve ..." in authorized_keys, as the manual recommends it."""
        sshd = self.world.sshd
        options = ["--ssh-config", str(sshd.config)]
        keys = sshd.dir / "authorized_keys"
        key = keys.read_text()
        before = tree.snapshot(self.pool)
        outside = self.dir / "outside"
        self.run_ok("push", f"{self.state(1)}/", outside)

        def restrict(serve: str) -> None:
            keys.write_text(f'restrict,command="{shlex.quote(BINARY)} {serve}" {key}')

        for serve in (f"serve --root {self.pool}", f"serve --read-only --root {self.pool}"):
            with self.subTest(serve=serve):
                restrict(serve)
                # Absolute as everywhere, or from the root on.
                for pool in (str(self.pool), "."):
                    self.assertEqual(lines(self.run_ok("ls", *options, f"nbtest:{pool}:kept")), ["far/"])
                self.assertEqual(self.run_ok("cat", *options, "nbtest:.:a", "--at=1").stdout, b"first\n")
                self.assertEqual(len(lines(self.run_ok("generations", *options, "nbtest:."))), 5)
                self.assertIn("*deleting   gone", lines(self.run_ok("diff", *options, "nbtest:.", "--from=1")))
                for place in (str(outside), "..", "../outside", "/", f"{self.pool}/../outside"):
                    outcome = self.world.run("ls", *options, f"nbtest:{place}")
                    self.assertIn(outcome.code, (opt.PATH, opt.USAGE), outcome.text)
                    self.assertEqual(outcome.stdout, b"")
                self.run_code(opt.PATH, "cat", *options, "nbtest:.:.nbackup/secret")
        # A set above the root is not there.
        restrict(f"serve --root {self.pool}/sub")
        self.assertIn(b"is not in a file set", self.run_code(opt.PATH, "ls", *options, "nbtest:.").stderr)
        self.assert_same_tree(before, self.pool)
        for right, words in (("read-only", b"this key may only read"), ("append-only", b"this key may only add")):
            restrict(f"serve --{right} --root {self.pool}")
            self.assertEqual(self.run_ok("cat", *options, "nbtest:.:a", "--at=1").stdout, b"first\n")
            outcome = self.run_code(opt.IO, "rollback", *options, "nbtest:.", "--to=1")
            self.assertIn(words, outcome.stderr)
            self.assertIn("*deleting   new", lines(self.run_ok("rollback", "-n", *options, "nbtest:.", "--to=1")))
            self.assert_same_tree(before, self.pool)
        restrict(f"serve --root {self.pool}")
        self.run_ok("rollback", *options, "nbtest:.", "--to=1")
        self.assert_same_tree(self.states[1], self.pool)

    def test_an_interrupted_commit_is_finished_first(self) -> None:
        (self.source / "a").write_text("fourth\n")
        server = self.world.server("txn.apply.op=abort")
        options = self.world.carrier_options("fake", server)
        run = self.world.run("push", *options, "--delete", f"{self.source}/", f"nbtest:{self.pool}")
        self.assertNotEqual(run.code, 0)
        self.assertTrue((self.pool / ".nbackup/journal").exists(), run.text)
        self.assertEqual(self.run_ok("cat", f"{self.pool}:a").stdout, b"fourth\n")
        self.assertEqual(self.run_ok("cat", f"{self.pool}:a", "--at=3").stdout, b"second, and longer\n")


class Rollback(Looking):
    def test_a_client_that_goes_ends_it_there(self) -> None:
        """Ctrl-C, and a client that is gone at once: the end of the connection is all that the host hears of it."""
        (self.source / "a").write_text("fourth\n")
        options = self.world.carrier_options("fake", self.world.server("session.sink.locked=stop"))
        push = self.world.spawn("push", *options, "--delete", f"{self.source}/", f"nbtest:{self.pool}")
        holder = self.world.server_pid()
        self.assertTrue(wait_stopped(holder))
        self.addCleanup(push.kill)
        options = self.world.carrier_options("fake", self.world.server())
        for number, code in ((signal.SIGINT, opt.INTERRUPTED), (signal.SIGKILL, -signal.SIGKILL)):
            with self.subTest(signal=number):
                run = self.world.spawn("rollback", *options, "--wait", "600", "--to=1", f"nbtest:{self.pool}")
                run.wait_for_message(b"waiting for the file set")
                server = self.world.server_pid()
                run.kill(number)
                outcome = run.wait()
                self.assertEqual(outcome.code, code, outcome.text)
                if number == signal.SIGINT:
                    self.assertIn(b"what is committed stays", outcome.stderr)
                wait_gone(server)
        os.kill(holder, signal.SIGCONT)
        self.assertEqual(push.wait().code, 0)
        self.assertEqual(events(self.run_ok("generations", "--json", self.pool))[-1]["generation"], 4)
        self.assertEqual((self.pool / "a").read_text(), "fourth\n")

    def test_it_becomes_the_live_tree_and_can_be_undone(self) -> None:
        for carrier in ("local", "fake", "libssh"):
            with self.subTest(carrier=carrier):
                options = self.world.carrier_options(carrier)
                pool = self.world.far(self.pool, carrier)
                newest = events(self.run_ok("generations", "--json", self.pool))[-1]["generation"]
                live = tree.snapshot(self.pool)
                outcome = self.run_ok("rollback", *options, pool, "--to=1")
                self.assertIn(f"generation {newest + 1}".encode(), outcome.stdout)
                self.assertIn(b"back to generation 1", outcome.stdout)
                self.assert_same_tree(self.states[1], self.pool)
                self.assertEqual(lines(self.run_ok("diff", self.pool, "--from=1")), [])
                self.run_ok("rollback", *options, pool, f"--to={newest}")
                self.assert_same_tree(live, self.pool)
                self.assertEqual(lines(self.run_ok("diff", self.pool, f"--from={newest}")), [])

    def test_a_content_of_equal_size_and_time_comes_back(self) -> None:
        info = os.stat(self.source / "new")
        before = (self.source / "new").read_text()
        (self.source / "new").write_text("NEW\n")
        os.utime(self.source / "new", ns=(info.st_atime_ns, info.st_mtime_ns))
        self.run_ok("push", "-c", "--delete", f"{self.source}/", self.pool)
        self.assertIn("<fc........ new", lines(self.run_ok("rollback", "-n", self.pool, "--to=3")))
        self.assertEqual((self.pool / "new").read_text(), "NEW\n")
        self.run_ok("rollback", self.pool, "--to=3")
        self.assertEqual((self.pool / "new").read_text(), before)

    def test_dry_run_lists_and_changes_nothing(self) -> None:
        before = tree.snapshot(self.pool)
        listed = lines(self.run_ok("rollback", "-n", self.pool, "--to=1"))
        self.assertIn("*deleting   new", listed)
        self.assertTrue(any(line.endswith(" gone") for line in listed), listed)
        self.assertTrue(listed[-1].startswith("nbackup: dry run: would roll"), listed)
        self.assert_same_tree(before, self.pool)
        self.assertEqual(len(events(self.run_ok("generations", "--json", self.pool))), 4)

    def test_to_the_empty_tree_and_to_what_is_there(self) -> None:
        """Guards that protect from accidents do not know better than the command."""
        self.run_ok("rollback", self.pool, "--to=0")
        self.assertEqual(os.listdir(self.pool), [".nbackup"])
        self.run_ok("rollback", self.pool, "--to=3")
        self.assert_same_tree(self.states[3], self.pool)
        count = len(events(self.run_ok("generations", "--json", self.pool)))
        self.assertIn(b"nothing to do", self.run_ok("rollback", self.pool, "--to=latest").stdout)
        self.assertEqual(len(events(self.run_ok("generations", "--json", self.pool))), count)

    def test_of_a_whole_set_only(self) -> None:
        for place in (f"{self.pool}:sub", self.pool / "sub"):
            outcome = self.run_code(opt.USAGE, "rollback", place, "--to=1")
            self.assertIn(b"restore", outcome.stderr)
        self.run_code(opt.USAGE, "rollback", self.pool)
        self.run_code(opt.USAGE, "rollback", self.pool, "--to=77")


class SetInside(Looking):
    """What a set that was made inside of this one has now is not what was there then."""

    def setUp(self) -> None:
        super().setUp()
        self.run_ok("init", self.pool / "sub")
        (self.dir / "other").mkdir()
        (self.dir / "other/of the inner set").write_text("inner\n")
        self.run_ok("push", f"{self.dir}/other/", self.pool / "sub")
        self.inner = tree.snapshot(self.pool / "sub")

    def _told(self, outcome: Outcome, *least: str) -> None:
        self.assertIn(b"sub/ (a file set of its own; look back in that one): cannot be read", outcome.stderr)
        for name in least:
            self.assertIn(name.encode(), outcome.stdout)
        self.assertNotIn(b"inner set", outcome.stdout)

    def test_readers_leave_it_out_and_say_so(self) -> None:
        self._told(self.run_code(opt.PARTIAL, "ls", "-R", self.pool, "--at=1"), "gone")
        self._told(self.run_code(11, "ls", f"{self.pool}:sub/deep", "--at=1"))
        self._told(self.run_code(11, "cat", f"{self.pool}:sub/of the inner set", "--at=1"))
        self._told(self.run_code(opt.PARTIAL, "diff", self.pool, "--from=1", "--to=2"), "gone")
        for at, carrier in ((1, "local"), (2, "libssh")):
            with self.subTest(at=at):
                back, options = self.dir / f"back-{at}", self.world.carrier_options(carrier)
                self._told(self.run_code(opt.PARTIAL, "restore", *options, f"--at={at}", self.world.far(f"{self.pool}/", carrier), back))
                expected = {path for path in self.states[at] if not path.startswith(b"sub/")}
                self.assertEqual(set(tree.snapshot(back)), expected)

    def test_a_path_in_the_outer_set_means_that_one(self) -> None:
        """POOL:PATH is looked up in the set at POOL, also where another one has come to lie at PATH."""
        name = f"{self.pool}:sub/of the inner set"
        for carrier in ("local", "libssh"):
            with self.subTest(carrier=carrier):
                far, options = self.world.far(name, carrier), self.world.carrier_options(carrier)
                self.assertIn(b"a file set of its own", self.run_code(11, "restore", *options, far, "-", "--at=1").stderr)
                # In the live generation the live tree is what there is.
                for generation in ("3", "latest"):
                    found = self.run_ok("restore", *options, far, "-", f"--at={generation}")
                    self.assertEqual(found.stdout, b"inner\n")
        # The inner set is named by its own place.
        (self.dir / "other/of the inner set").write_text("later\n")
        self.run_ok("push", f"{self.dir}/other/", self.pool / "sub")
        self.assertEqual(self.run_ok("restore", f"{self.pool}/sub:of the inner set", "-", "--at=1").stdout, b"inner\n")
        self.assertEqual(self.run_ok("restore", name, "-", "--at=latest").stdout, b"later\n")
        self.assertEqual(self.run_ok("drill", "--at=latest", f"{self.pool}:sub").code, 0)

    def test_the_live_tree_has_it(self) -> None:
        self.assertIn(b"sub/of the inner set", self.run_ok("ls", "-R", self.pool).stdout)
        self.run_ok("restore", f"{self.pool}/", self.dir / "back")
        self.assert_same_tree(self.inner, self.dir / "back/sub")

    def test_rollback_leaves_it_alone(self) -> None:
        self._told(self.run_code(opt.PARTIAL, "rollback", self.pool, "--to=1"))
        self.assert_same_tree(self.inner, self.pool / "sub")
        self.assertEqual((self.pool / "a").read_text(), "first\n")
        self.assertTrue((self.pool / "gone").exists())
        self.assertFalse((self.pool / "new").exists())
        self.run_ok("status", self.pool / "sub")


if __name__ == "__main__":
    unittest.main()
