# SPDX-License-Identifier: Apache-2.0
"""The main job: push, verify and pull over every carrier, as a user would do it."""
from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import time
import unittest
from pathlib import Path

from support import loopfs
from support import options as opt
from support import tree
from support.crash import wait_gone, wait_stopped, wait_until_busy
from support.gen import make_tree
from support.run import BINARY, CARRIERS, Case, Outcome


class MainJob(Case):
    """One life of a set: first push, change, second push, verify, damage, pull back."""

    def test_life_over_every_carrier(self) -> None:
        for carrier in CARRIERS:
            with self.subTest(carrier=carrier):
                self._life(carrier)

    def _life(self, carrier: str) -> None:
        source, sink, back = (self.dir / carrier / name for name in ("source", "sink", "back"))
        options = self.world.carrier_options(carrier)
        forest = make_tree(source, f"basic-{carrier}", 150)
        self._push_and_check(source, sink, carrier, options)
        forest.mutate(40)
        self._push_and_check(source, sink, carrier, options)
        again = self.run_ok("push", "--delete", "-i", *options, f"{source}/", self.world.far(sink, carrier))
        self.assertEqual(items(again), [], again.text)
        self._damage_is_found(source, sink, carrier, options)
        self.run_ok("pull", *options, self.world.far(f"{sink}/", carrier), back)
        self.assert_same_tree(source, back, "pulled back", holes=True)
        self.assertEqual(tree.control_files(back), [], "pull leaves nothing behind")

    def _push_and_check(self, source: Path, sink: Path, carrier: str, options: list[str]) -> None:
        self.run_ok("push", "--delete", *options, f"{source}/", self.world.far(sink, carrier))
        self.assert_same_tree(source, sink, "pushed", holes=True)
        self.assert_clean(sink)
        self.run_ok("verify", *options, f"{source}/", self.world.far(sink, carrier))

    def _damage_is_found(self, source: Path, sink: Path, carrier: str, options: list[str]) -> None:
        """One flipped byte with size and time as before: only the content tells."""
        path = next(p for p, e in sorted(tree.snapshot(sink).items()) if e.type == "file" and e.size > 10)
        full = os.path.join(os.fsencode(sink), path)
        before = os.stat(full)
        with open(full, "r+b") as out:
            first = out.read(1)
            out.seek(0)
            out.write(bytes([first[0] ^ 1]))
        os.utime(full, ns=(before.st_mtime_ns, before.st_mtime_ns))
        damaged = tree.snapshot(sink)
        nowhere = self.run_code(opt.PATH, "verify", *options, f"{source}/", self.world.far(sink / "nope", carrier))
        self.assertIn("nothing to compare with", nowhere.text)
        self.assertEqual(items(nowhere), [], "one line says it, not one for each entry")
        found = self.run_code(opt.DIFFERS, "verify", *options, f"{source}/", self.world.far(sink, carrier))
        self.assertIn(printable(path), found.stdout.decode(errors="replace"), found.text)
        self.assert_same_tree(damaged, sink, "verify changes nothing")
        self.run_ok("push", "--delete", "-c", *options, f"{source}/", self.world.far(sink, carrier))
        self.assert_same_tree(source, sink, "-c repairs")


class Behaviour(Case):
    """One option or rule each, over the local carrier."""

    def setUp(self) -> None:
        super().setUp()
        self.source = self.dir / "source"
        self.sink = self.dir / "sink"

    def _small(self) -> None:
        (self.source / "sub").mkdir(parents=True)
        for name in ("a", "b.tmp", "sub/c", "sub/d.tmp"):
            (self.source / name).write_text(f"content of {name}\n")

    def test_dry_run_changes_nothing(self) -> None:
        self._small()
        self.sink.mkdir()
        outcome = self.run_ok("push", "-n", "-i", f"{self.source}/", self.sink)
        self.assertIn("sub/c", "".join(items(outcome)), outcome.text)
        self.assertEqual(os.listdir(self.sink), [])
        os.link(self.source / "a", self.source / "its-twin")
        self.run_ok("push", f"{self.source}/", self.sink)
        (self.source / "a").write_text("changed\n")
        (self.source / "sub/c").unlink()
        before = tree.snapshot(self.sink)
        head = (self.sink / ".nbackup/head").read_bytes()
        planned = items(self.run_ok("push", "-n", "-i", "--delete", f"{self.source}/", self.sink))
        self.assert_same_tree(before, self.sink)
        self.assertEqual(head, (self.sink / ".nbackup/head").read_bytes())
        done = items(self.run_ok("push", "-i", "--delete", f"{self.source}/", self.sink))
        self.assertEqual(sorted(planned), sorted(done), "a dry run says what the run then does")

    def test_a_dry_run_counts_alike_in_text_and_json(self) -> None:
        self._small()
        (self.source / "counted").write_bytes(b"x" * 100_000)
        for command, ends in (("push", [f"{self.source}/", self.dir / "never"]),
                              ("pull", [f"{self.source}/", self.dir / "never"])):
            with self.subTest(command):
                text = self.run_ok(command, "-n", "--stats", *ends).stdout.decode()
                events = [json.loads(line) for line in self.run_ok(command, "-n", "--json", *ends).stdout.splitlines()]
                count = events[-1]["counts"]["content_bytes"]
                self.assertGreaterEqual(count, 100_000)
                self.assertIn(f"File content to transfer, at most: {count:,} bytes", text)

    def test_quiet_with_stats_shows_the_statistics_alone(self) -> None:
        self._small()
        outcome = self.run_ok("push", "-q", "--stats", f"{self.source}/", self.sink)
        self.assertIn(b"Number of entries: ", outcome.stdout)
        self.assertNotIn(b"nbackup: pushed", outcome.stdout)
        self.assertEqual(outcome.stderr, b"")
        self.assertEqual(self.run_ok("push", "-q", f"{self.source}/", self.sink).stdout, b"")

    def test_help_of_a_command(self) -> None:
        for command in ("push", "verify", "status", "serve"):
            named = self.run_ok("help", command)
            self.assertEqual(named.stdout, self.run_ok(command, "--help").stdout)
            self.assertIn(f"nbackup {command}".encode(), named.stdout)
        outcome = self.run_code(1, "help", "nonsense")
        self.assertIn(b"no such command: nonsense", outcome.stderr)
        self.assertEqual(outcome.stdout, b"")

    def test_a_path_that_is_too_long_says_so(self) -> None:
        self._small()
        here = os.open(self.source, os.O_RDONLY | os.O_DIRECTORY)
        for _ in range(18):
            os.mkdir("n" * 250, dir_fd=here)
            below = os.open("n" * 250, os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
            os.close(here)
            here = below
        os.close(here)
        self.addCleanup(subprocess.run, ["rm", "-rf", str(self.source)], check=True)
        outcome = self.run_code(23, "push", f"{self.source}/", self.sink)
        self.assertIn(b"File name too long", outcome.stderr)
        self.assertIn(b"A path has at most 4,095 bytes", outcome.stderr)
        self.assertNotIn(b"Make it readable", outcome.stderr)

    def test_itemized_output(self) -> None:
        self._small()
        (self.source / "sub/deep").mkdir()
        self.run_ok("push", f"{self.source}/", self.sink)
        (self.source / "a").write_text("a longer content\n")
        os.utime(self.source / "sub/c", ns=(10**18, 10**18))
        (self.source / "b.tmp").unlink()
        shutil.rmtree(self.source / "sub/deep")
        (self.source / "new").write_text("new")
        os.symlink("a", self.source / "link")
        lines = items(self.run_ok("push", "-i", "--delete", f"{self.source}/", self.sink))
        text = "\n".join(lines)
        for start, name in ((">f.st...... a", "size and time"), (">f+++++++++ new", "a new file"),
                            ("*deleting   b.tmp", "a deletion"),
                            ("*deleting   sub/deep/", "a directory's"), ("cL+++++++++ link -> a", "a symlink")):
            self.assertIn(start.replace(">f", "<f") if start.replace(">f", "<f") in text else start, text, name)
        touched = [line for line in lines if line.endswith(" sub/c")]
        self.assertRegex("".join(touched), r"^[<>.]f\.\.t\.\.\.\.\.\. sub/c$")

    def test_delete_only_when_asked(self) -> None:
        self._small()
        self.run_ok("push", f"{self.source}/", self.sink)
        (self.source / "a").unlink()
        self.run_ok("push", f"{self.source}/", self.sink)
        self.assertTrue((self.sink / "a").exists())
        self.run_ok("push", "--delete", f"{self.source}/", self.sink)
        self.assertFalse((self.sink / "a").exists())

    def test_filters(self) -> None:
        self._small()
        rules = self.dir / "rules"
        rules.write_text("# comment\n*.tmp\n")
        self.run_ok("push", "--include", "b.tmp", "--exclude-from", rules, f"{self.source}/", self.sink)
        self.assertTrue((self.sink / "b.tmp").exists())
        self.assertFalse((self.sink / "sub/d.tmp").exists())
        (self.sink / "sub/kept.tmp").write_text("not ours\n")
        (self.sink / "sub/gone").write_text("extra\n")
        self.run_ok("push", "--delete", "--exclude", "*.tmp", f"{self.source}/", self.sink)
        self.assertTrue((self.sink / "sub/kept.tmp").exists(), "what is excluded is not deleted")
        self.assertFalse((self.sink / "sub/gone").exists())

    def test_filters_hold_for_what_is_named(self) -> None:
        """As with rsync: by the name that it has in the transfer, and not for a directory whose content is named."""
        for name in ("x.iso", "y", "lone", "b/x.iso", "b/z", "d/in", "e/in"):
            self.put(name)
        named = [f"{self.source}/{name}" for name in ("x.iso", "y", "lone", "b", "d/", "e")]
        rules = ["--exclude=*.iso", "--exclude=/lone", "--exclude=d", "--exclude=e/"]
        self.run_ok("push", *rules, *named, self.sink)
        want = ["b", "b/z", "in", "y"]
        self.assertEqual(self.names(self.sink), want)
        if shutil.which("rsync"):
            subprocess.run(["rsync", "-a", *rules, *named, f"{self.dir}/rsynced/"], check=True)
            self.assertEqual(self.names(self.dir / "rsynced"), want)
        self.run_ok("push", "--exclude=y", "--delete", f"{self.source}/y", self.sink)
        self.assertEqual(self.names(self.sink), want)
        self.run_ok("push", "--exclude=y", f"{self.source}/y", self.dir / "elsewhere/")
        self.assertFalse((self.dir / "elsewhere").exists())

    def put(self, name: str) -> None:
        path = self.source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)

    def names(self, root: Path) -> list[str]:
        return sorted(os.fsdecode(path) for path in tree.snapshot(root) if path)

    def test_trailing_slash_rule(self) -> None:
        self._small()
        self.run_ok("push", self.source, self.dir / "into")
        self.assert_same_tree(self.source, self.dir / "into/source")
        self.run_ok("push", f"{self.source}/", self.dir / "onto")
        self.assert_same_tree(self.source, self.dir / "onto")

    def test_several_sources(self) -> None:
        self._small()
        other = self.dir / "other"
        other.mkdir()
        (other / "x").write_text("x")
        single = self.dir / "single"
        single.write_text("single")
        self.run_ok("push", self.source, f"{other}/", single, self.sink)
        self.assert_same_tree(self.source, self.sink / "source")
        self.assertEqual((self.sink / "x").read_text(), "x")
        self.assertEqual((self.sink / "single").read_text(), "single")

    def test_single_file_and_rename(self) -> None:
        self._small()
        self.sink.mkdir()
        self.run_ok("push", self.source / "a", self.sink / "renamed")
        self.assertEqual((self.sink / "renamed").read_text(), "content of a\n")
        told = self.run_ok("push", self.source / "a", f"{self.sink}/")
        self.assertNotIn(b"generation", told.stdout + told.stderr, "there is none to come back to")
        self.assertEqual((self.sink / "a").read_text(), "content of a\n")
        self.assertEqual(tree.control_files(self.sink), [], "a single file never makes a set")

    def test_url_and_home_relative_paths(self) -> None:
        self._small()
        sshd = self.world.sshd
        options = self.world.carrier_options("libssh")
        url = f"ssh://nbtest:{sshd.port}{self.sink}"
        self.run_ok("push", *options, f"{self.source}/", url)
        self.assert_same_tree(self.source, self.sink)
        server = self.world.script("rooted", f'#!/bin/sh\ncd {self.dir} && exec "$NB" "$@"\n'.replace(
            '"$NB"', os.environ["NBACKUP"]))
        self.run_ok("push", *self.world.carrier_options("fake", server), f"{self.source}/", "nbtest:relative")
        home = Path(os.path.expanduser(f"~{os.environ.get('USER', 'root')}"))
        places = [p for p in (self.dir / "relative", self.dir / "home/relative", home / "relative") if p.exists()]
        self.assertEqual(len(places), 1, "a relative path starts at the remote home")
        self.assert_same_tree(self.source, places[0])
        if home in places[0].parents:
            from support.run import remove_tree
            remove_tree(places[0])

    def test_control_directories_are_never_sent(self) -> None:
        self._small()
        (self.source / "sub/.nbackup").mkdir()
        (self.source / "sub/.nbackup/head").write_text("foreign")
        self.run_ok("push", f"{self.source}/", self.sink)
        self.assertFalse((self.sink / "sub/.nbackup").exists())
        (self.sink / "sub/.nbackup").mkdir()
        self.run_ok("push", "--delete", f"{self.source}/", self.sink)
        self.assertTrue((self.sink / "sub/.nbackup").exists(), "nor deleted")

    def test_wrong_use(self) -> None:
        self._small()
        for args in (["push"], ["push", self.source], ["frobnicate"], ["push", "--no-such-option", self.source, "x"],
                     ["push", "--max-delete", "many", self.source, self.sink], ["push", "a:b", "c:d"]):
            with self.subTest(args=args):
                outcome = self.run_code(opt.USAGE, *args)
                self.assertNotEqual(outcome.stderr, b"")
        self.run_code((opt.PATH, opt.PARTIAL), "push", self.dir / "no-such-source", self.sink)
        self.run_ok("--help")
        self.run_ok("--version")

    def test_remote_without_nbackup(self) -> None:
        self._small()
        outcome = self.run_code(opt.REMOTE_MISSING, "push", "-e", self.world.fake_rsh, "--remote-path",
                                "/no/such/nbackup", f"{self.source}/", f"nbtest:{self.sink}")
        self.assertIn(b"install", outcome.stderr.lower(), outcome.text)

    def test_connection_refused(self) -> None:
        self._small()
        sshd = self.world.sshd
        options = self.world.carrier_options("libssh")
        sshd.close()
        self.run_code(opt.CONNECT, "push", *options, f"{self.source}/", f"nbtest:{self.sink}")

    def test_a_name_with_addresses_that_refuse(self) -> None:
        """As where a host has an IPv6 address that its sshd does not listen at."""
        if os.geteuid() != 0:
            self.skipTest("/etc/hosts of its own needs root")
        self._small()
        sshd = self.world.sshd
        hosts, known, config = (self.dir / name for name in ("hosts", "known", "config"))
        hosts.write_text("127.0.0.3 manifold\n::1 manifold\n127.0.0.1 manifold\n127.0.0.2 manifold\n")
        known.write_text((sshd.dir / "known_hosts").read_text().replace("127.0.0.1", "manifold"))
        config.write_text(f"Host nbtest\n  HostName manifold\n  UserKnownHostsFile {known}\n" +
                          sshd.config.read_text())
        command = [BINARY, "push", "--remote-path", BINARY, "--ssh-config", config, f"{self.source}/",
                   f"nbtest:{self.sink}"]
        mount = f'mount --bind {hosts} /etc/hosts && exec "$@"'
        done = subprocess.run(["unshare", "--mount", "sh", "-c", mount, "sh", *command], env=self.world.env(),
                              capture_output=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_same_tree(self.source, self.sink)

    def test_interrupt_while_connecting(self) -> None:
        """A host that takes the connection and says nothing: Ctrl-C need not wait for the time limit."""
        (self.dir / "src").mkdir()
        config = self.dir / "config"
        with socket.create_server(("127.0.0.1", 0)) as silent:
            config.write_text(f"Host mute\n  HostName 127.0.0.1\n  Port {silent.getsockname()[1]}\n")
            run = self.world.spawn("push", "--ssh-config", config, self.dir / "src", "mute:/pool")
            silent.settimeout(60)
            connection, _ = silent.accept()
            with connection:
                run.kill(signal.SIGINT)
                outcome = run.wait(timeout=20)
        self.assertEqual(outcome.code, 20, outcome.text)
        self.assertIn(b"interrupted", outcome.stderr)

    def test_unknown_and_changed_host_key(self) -> None:
        self._small()
        known = self.world.sshd.dir / "known_hosts"
        good = known.read_text()
        for text in ("", good[:-20] + ("A" if good[-20] != "A" else "B") + good[-19:]):
            known.write_text(text)
            outcome = self.run_code(opt.CONNECT, "push", *self.world.carrier_options("libssh"), f"{self.source}/",
                                    f"nbtest:{self.sink}")
            self.assertIn(b"key", outcome.stderr.lower(), outcome.text)
        self.assertFalse(self.sink.exists())

    def test_json_parses(self) -> None:
        self._small()
        outcome = self.run_ok("push", "--json", "-i", f"{self.source}/", self.sink)
        events = [json.loads(line) for line in outcome.stdout.splitlines()]
        self.assertGreater(len(events), 1, outcome.text)
        self.assertTrue(all(isinstance(event, dict) for event in events))

    def test_cron_output_is_one_line(self) -> None:
        self._small()
        outcome = self.run_ok("push", f"{self.source}/", self.sink)
        self.assertEqual(len((outcome.stdout + outcome.stderr).splitlines()), 1, outcome.text)
        quiet = self.run_ok("push", "-q", f"{self.source}/", self.sink)
        self.assertEqual(quiet.stdout + quiet.stderr, b"")

    def test_log_file_makes_no_directories(self) -> None:
        self.run_code(opt.USAGE, "push", "--log-file", self.dir / "no/such/log", f"{self.source}/", self.sink)
        self.assertFalse((self.dir / "no").exists())
        self.assertFalse(self.sink.exists())

    def test_log_file(self) -> None:
        self._small()
        self.run_ok("push", "--log-file", self.dir / "log", f"{self.source}/", self.sink)
        self.assertGreater((self.dir / "log").stat().st_size, 0)

    def test_status_and_age(self) -> None:
        self._small()
        self.run_ok("push", f"{self.source}/", self.sink)
        self.assertIn(str(self.sink).encode(), self.run_ok("status").stdout)
        self.run_ok("status", "--max-age", "26h")
        time.sleep(2.2)  # the age is what is tested here
        self.run_code(opt.STALE, "status", "--max-age", "1s")

    def test_a_source_that_is_pushed_no_more_is_forgotten_alone(self) -> None:
        self._small()
        self.run_ok("push", self.source, self.sink)
        (path,) = (self.dir / "cache").rglob("cache.db")
        with contextlib.closing(sqlite3.connect(path)) as memory, memory:
            memory.execute("UPDATE known_sets SET last_push_ns = 1")
        other = self.dir / "other"
        other.mkdir()
        self.run_ok("push", self.source, other, self.sink)
        self.run_code(opt.STALE, "status", "--max-age", "26h", self.sink)
        self.run_ok("status", "--forget", "--max-age", "26h", self.sink)
        self.run_ok("status", "--max-age", "26h", self.sink)

    def test_init(self) -> None:
        self.sink.mkdir()
        self.run_ok("init", self.sink)
        self.assertEqual((self.sink / ".nbackup").stat().st_mode & 0o777, 0o700)
        again = self.run_code(opt.IO, "init", self.sink)
        self.assertIn(b": a file set is there, and stays as it is: exists already", again.stderr, again.text)
        self._small()
        self.run_ok("push", f"{self.source}/", self.sink / "below")
        self.assertEqual(tree.control_files(self.sink), [os.fsencode(self.sink / ".nbackup")], "found by walking up")

    def test_serve_root_and_read_only(self) -> None:
        self._small()
        pool = self.dir / "pool"
        pool.mkdir()
        forced = self.world.script("forced", f"#!/bin/sh\nexec {os.environ['NBACKUP']} serve --root {pool}\n")
        options = ["-e", str(self.world.fake_rsh), "--remote-path", str(forced)]
        self.run_ok("push", *options, f"{self.source}/", "nbtest:set")
        self.assert_same_tree(self.source, pool / "set")
        for outside in (f"{self.dir}/elsewhere", "../elsewhere"):
            self.run_code((opt.PATH, opt.PARTIAL), "push", *options, f"{self.source}/", f"nbtest:{outside}")
        self.assertFalse((self.dir / "elsewhere").exists())
        reader = self.world.script(
            "reader", f"#!/bin/sh\nexec {os.environ['NBACKUP']} serve --read-only --root {pool}\n")
        options = ["-e", str(self.world.fake_rsh), "--remote-path", str(reader)]
        (self.source / "a").write_text("changed")
        before = tree.snapshot(pool)
        self.assertNotEqual(self.world.run("push", *options, f"{self.source}/", "nbtest:set").code, 0)
        self.assert_same_tree(before, pool)
        self.run_ok("pull", *options, "nbtest:set/", self.dir / "back")
        self.assert_same_tree(pool / "set", self.dir / "back")
        for command in ("init", "recover"):
            outcome = self.run_code(opt.UNSUPPORTED, command, *options, "nbtest:set")
            self.assertIn(b"needs a key without a forced command", outcome.stderr, outcome.text)
        nowhere = self.run_code(opt.PATH, "serve", "--root", self.dir / "nowhere")
        self.assertIn(b"--root", nowhere.stderr, nowhere.text)


class Started(Case):
    """What a careless starter leaves undone, and what a host's end is passed on as."""

    def setUp(self) -> None:
        super().setUp()
        self.source, self.sink = self.dir / "source", self.dir / "sink"
        self.source.mkdir()
        (self.source / "a").write_text("a")

    def test_its_own_memory_is_not_sent(self) -> None:
        """Closing another descriptor of it would take SQLite's locks away."""
        self.run_ok("push", f"{self.source}/", self.dir / "elsewhere")
        (memory,) = (self.dir / "cache").rglob("cache.db")
        (memory.parent / "other").write_text("other")
        for options in ([], ["-c"]):
            self.run_ok("push", *options, f"{memory.parent}/", self.sink)
            self.assertEqual([name for name in os.listdir(self.sink) if name != ".nbackup"], ["other"])

    def endless(self) -> Path:
        """A directory with a file that takes minutes to hash."""
        self.need_root()
        disk = loopfs.Tmpfs(self.dir / "endless", 1)
        self.addCleanup(disk.close)
        with open(disk.mount / "hole", "wb") as file:
            file.truncate(1 << 52)
        return disk.mount

    def test_an_interrupt_while_contents_are_compared(self) -> None:
        source = self.endless()
        self.sink.mkdir()
        run = self.world.spawn("verify", f"{source}/", self.sink)
        wait_until_busy(run.process.pid)
        run.kill(signal.SIGINT)
        self.assertEqual(run.wait(timeout=30).code, 20)

    def test_an_interrupt_that_ends_the_other_side_first(self) -> None:
        run = self.world.spawn("push", "--remote-path", self.world.server(), "-e", self.world.fake_rsh,
                               f"{self.source}/", f"nbtest:{self.sink}", failpoint="session.source.scan=stop@1")
        self.assertTrue(wait_stopped(run.process.pid))
        server = self.world.server_pid()
        os.kill(server, signal.SIGKILL)
        wait_gone(server)
        run.kill(signal.SIGINT)
        run.kill(signal.SIGCONT)
        outcome = run.wait(timeout=30)
        self.assertEqual(outcome.code, opt.INTERRUPTED, outcome.text)
        self.assertNotIn("connection lost", outcome.text)

    def test_a_far_source_ends_with_its_client(self) -> None:
        """Or it would hold the set's lock until all is read."""
        source = self.endless()
        self.sink.mkdir()
        run = self.world.spawn("verify", "--remote-path", self.world.server(), "-e", self.world.fake_rsh,
                               f"nbtest:{source}/", self.sink)
        pid = self.world.server_pid()
        wait_until_busy(pid)
        run.kill()
        run.wait()
        wait_gone(pid, timeout=30)

    def test_with_sigchld_ignored(self) -> None:
        done = subprocess.run([BINARY, "push", "--before", "exit 3", f"{self.source}/", self.sink], env=self.world.env(),
                              stderr=subprocess.PIPE, check=False, timeout=60, stdin=subprocess.DEVNULL,
                              preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertIn(b"ended with exit code 3", done.stderr)
        self.assertEqual(done.returncode, opt.HOOK_FAILED)

    def test_with_standard_descriptors_closed(self) -> None:
        for closed in (0, 1, 2):
            with self.subTest(closed=closed):
                run = subprocess.Popen([BINARY, "push", f"{self.source}/", f"{self.sink}{closed}"],
                                       env=self.world.env("session.source.scan=stop"), stdin=subprocess.DEVNULL,
                                       preexec_fn=lambda number=closed: os.close(number))
                self.assertTrue(wait_stopped(run.pid))
                self.assertEqual(os.readlink(f"/proc/{run.pid}/fd/{closed}"), "/dev/null")
                run.kill()
                run.wait()

    def test_children_do_not_get_the_log_file(self) -> None:
        log = self.dir / "log"
        self.run_ok("push", "--log-file", log, "--after", f"ls -l /proc/self/fd >{self.dir}/open", f"{self.source}/",
                    self.sink)
        self.assertNotIn(str(log), (self.dir / "open").read_text())

    def test_quiet_reaches_the_host(self) -> None:
        options = self.world.carrier_options("fake")
        for command in ("init", "recover"):
            with self.subTest(command=command):
                outcome = self.run_ok(command, "-q", *options, self.world.far(self.sink, "fake"))
                self.assertEqual(outcome.stdout + outcome.stderr, b"")

    def test_an_ssh_that_dies_after_a_word_is_a_lost_connection(self) -> None:
        dies = self.world.script("dies", "#!/bin/sh\necho so far\nexit 255\n")
        for command in ("init", "recover"):
            with self.subTest(command=command):
                outcome = self.run_code(opt.PROTOCOL, command, "-e", dies, f"h:{self.sink}")
                self.assertIn(b"nbackup: h: connection lost", outcome.stderr)


class Compression(Case):
    """What crosses the wire, counted by a proxy between the two ends."""

    SUPPORT = Path(__file__).parent / "support"

    def setUp(self) -> None:
        super().setUp()
        self.source = self.dir / "source"
        self.rng = random.Random(17)
        self.runs = 0

    def _text_tree(self) -> None:
        words = [self.rng.randbytes(self.rng.randrange(2, 9)).hex() for _ in range(500)]
        for number in range(300):
            here = self.source / f"d{number // 50}"
            here.mkdir(parents=True, exist_ok=True)
            (here / f"f{number}").write_text(" ".join(self.rng.choices(words, k=500)) + "\n")
        (self.source / "large").write_text("\n".join(" ".join(self.rng.choices(words, k=12)) for _ in range(10_000)))

    def _sent(self, command: str, *options: str) -> int:
        """Bytes of the direction that carries the content."""
        self.runs += 1
        counts, target = self.dir / "counts", self.dir / f"target{self.runs}"
        rsh = f"python3 {self.SUPPORT}/proxy.py --count {counts} -- {self.world.fake_rsh}"
        push = command == "push"
        ends = [f"{self.source}/", f"nbtest:{target}"] if push else [f"nbtest:{self.source}/", str(target)]
        outcome = self.run_ok(command, "--stats", "--remote-path", BINARY, "-e", rsh, *options, *ends)
        self.assert_same_tree(self.source, target, f"{command} {options}")
        up, down = (int(word) for word in counts.read_text().split())
        way, sent = ("sent", up) if push else ("received", down)
        self.assertIn(f"Total bytes {way}: {sent:,} (", outcome.text, "--stats knows the bytes on the wire")
        return sent

    def test_text_takes_a_fraction(self) -> None:
        self._text_tree()
        plain = self._sent("push", "--no-compress")
        self.assertLess(self._sent("push", "-z", "--compress-level=3"), plain * 0.6)
        # The automatic choice needs a link that is worth it.
        self.assertLess(self._sent("push", "-z", "--bwlimit=4m"), plain * 0.6)
        self.assertGreater(self._sent("push", "-z", "--zl=0"), plain * 0.99, "the last word holds")

    def test_the_other_side_does_as_the_client_wishes(self) -> None:
        self._text_tree()
        plain = self._sent("pull", "--no-compress")
        self.assertLess(self._sent("pull", "--compress-level=9"), plain * 0.6)

    def test_random_data_cost_nothing(self) -> None:
        self.source.mkdir()
        (self.source / "large").write_bytes(self.rng.randbytes(3_000_000))
        for number in range(200):
            (self.source / f"f{number}").write_bytes(self.rng.randbytes(5000))
        plain = self._sent("push", "--no-compress")
        for options in ([], ["--compress-level=6"]):
            self.assertLess(self._sent("push", *options), plain * 1.005)


def items(outcome: Outcome) -> list[str]:
    """The itemized lines of a run's output."""
    lines = outcome.stdout.decode(errors="replace").splitlines()
    return [line for line in lines if len(line) > 12 and (line[0] in "<>ch.*") and line[11] == " "]


def printable(path: bytes) -> str:
    """The part of a name that no escaping touches."""
    runs = "".join(chr(c) if 0x21 <= c < 0x7F and c not in b"\\'\"" else "\0" for c in path).split("\0")
    return max(runs, key=len)


if __name__ == "__main__":
    unittest.main()
