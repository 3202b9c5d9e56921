# SPDX-License-Identifier: Apache-2.0
"""bench and doctor against a private sshd: what they print and how they fail. How fast anything is, is no test's matter."""
from __future__ import annotations

import csv
import io
import json
import os
import random
import re
import shlex
import signal
import sqlite3
import tempfile
import time
import unittest
from collections.abc import Callable
from pathlib import Path

from support import loopfs, nssh
from support.run import BINARY, Case, Outcome, libssh_line
from support.sshd import HOST

AEAD = ("aes128-gcm@openssh.com", "aes256-gcm@openssh.com", "chacha20-poly1305@openssh.com")
# The far end, which dies at this request.
DYING = """
import os, select, subprocess, sys
far = subprocess.Popen([{binary!r}, *sys.argv[1:]], stdin=subprocess.PIPE)
while select.select([0], [], []) and (piece := os.read(0, 65536)):  # its end of the stream does not block
    if piece.startswith(b"{request} "):
        far.kill()
        break
    far.stdin.write(piece)
    far.stdin.flush()
far.stdin.close()
far.wait()
"""
MARGIN = 40  # seconds beyond --seconds that a busy machine may take


def catches(pid: int, number: int) -> bool:
    """Whether the process has a handler for that signal."""
    status = Path(f"/proc/{pid}/status").read_text()
    mask = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(mask, 16) >> (number - 1) & 1)


def rows_of(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


def with_time(case: Case, *args: str, before: Callable[[], object] = lambda: None) -> dict:
    """The document of a run that had time for every pair: a busy machine needs more of it. `before` is called ahead of
    each try."""
    seconds = 8
    while True:
        before()
        found = json.loads(case.run_ok("bench", "--json", f"--seconds={seconds}", *args, timeout=600).stdout)
        if seconds > 200 or not any(row["kind"] == "pair" and row["reason"] == "no time left" for row in found["unmeasured"]):
            return found
        seconds *= 3


class Bench(Case):
    def setUp(self) -> None:
        super().setUp()
        self.options = self.world.carrier_options("libssh")

    def _offer(self, lines: str) -> None:
        """What the server has to offer, from the next connection on."""
        config = self.world.sshd.dir / "sshd_config"
        config.write_text(lines + config.read_text())
        deadline = time.monotonic() + 20
        # It listens before it can be told: until then the signal would end it.
        while not catches(self.world.sshd.process.pid, signal.SIGHUP):
            self.assertLess(time.monotonic(), deadline, "sshd does not begin")
            time.sleep(0.02)
        self.world.sshd.process.send_signal(signal.SIGHUP)
        while "Received SIGHUP" not in self.world.sshd.log.read_text():
            self.assertLess(time.monotonic(), deadline, "sshd does not read its configuration again")
            time.sleep(0.02)
        while self.world.run("doctor", *self.options, HOST).code != 0:
            self.assertLess(time.monotonic(), deadline, self.world.sshd.log.read_text())

    def _connections(self) -> int:
        return self.world.sshd.log.read_text(errors="replace").count("Accepted publickey")

    def _json(self, *args: str, **options: object) -> dict:
        outcome = self.run_ok("bench", "--json", *self.options, *args, **options)
        return json.loads(outcome.stdout)

    def _until(self, is_whole: Callable[[str], bool], *args: str) -> Outcome:
        """A run whose output is: where the machine is busy, something may get no time."""
        for seconds in (3, 30, 300):
            done = self.run_ok("bench", f"--seconds={seconds}", *self.options, *args, HOST, timeout=600)
            if is_whole(done.stdout.decode()):
                break
        return done

    def _with_time(self, *args: str) -> dict:
        return with_time(self, *self.options, *args, HOST)

    def test_document(self) -> None:
        """Everything that two ends share is measured, everything else has a reason."""
        self._offer("Ciphers aes128-ctr,aes128-gcm@openssh.com\nMACs hmac-sha2-256,hmac-sha2-512-etm@openssh.com\n"
                    "KexAlgorithms curve25519-sha256,ecdh-sha2-nistp256\n")
        source = self.dir / "source"
        source.mkdir()
        (source / "file").write_bytes(os.urandom(300_000))
        far = self.dir / "far"
        far.mkdir()
        begin = time.monotonic()
        found = self._json("--seconds=8", f"--write-here={source}", f"{HOST}:{far}", str(source))
        self.assertLess(time.monotonic() - begin, 8 + MARGIN)
        pairs = {(row["cipher"], row["mac"]) for row in found["pairs"] if row["cipher"] != "none"}
        late = [row for row in found["unmeasured"] if row["reason"] == "no time left"]
        if not late:
            self.assertEqual(pairs, {("aes128-gcm@openssh.com", "implicit"), ("aes128-ctr", "hmac-sha2-256"),
                                     ("aes128-ctr", "hmac-sha2-512-etm@openssh.com")})
            self.assertEqual({row["kex"] for row in found["kex"]}, {"curve25519-sha256", "ecdh-sha2-nistp256"})
        for row in found["pairs"] + [found["upload"], found["download"]]:
            rate = row["mb_per_s"]
            self.assertGreater(rate["min"], 0)
            self.assertTrue(rate["min"] <= rate["mean"] <= rate["max"], rate)
            self.assertGreaterEqual(rate["tries"], 1)
            self.assertGreater(row["cpu_s_per_gb"]["here"], 0)
            self.assertIsNotNone(row["cpu_s_per_gb"]["sshd"], "sshd is seen on this machine")
        reasons = {row["name"]: row["reason"] for row in found["unmeasured"]}
        self.assertIn("server does not offer", reasons["chacha20-poly1305@openssh.com"])
        self.assertIn("none", reasons, "cipher or MAC none is never measured without a word")
        self.assertEqual(found["negotiated"]["cipher_out"], found["negotiated"]["cipher_in"])
        self.assertGreater(found["disk_there"]["write_mb_per_s"], 0)
        self.assertGreater(found["disk_here"]["read_mb_per_s"], 0)
        self.assertEqual((found["source"]["files"], found["source"]["bytes"]), (1, 300_000))
        self.assertEqual(found["here"]["kernel"], found["there"]["kernel"])
        self.assertEqual(len(found["processor_there"]["zstd"]), len(found["processor_here"]["zstd"]))
        self.assertTrue(found["verdict"][0].startswith("A push waits for "), found["verdict"])
        self.assertEqual(os.listdir(far), [], "nothing stays there")
        self.assertEqual(os.listdir(source), ["file"], "nothing stays here")

    def test_algorithms_are_used_as_asked(self) -> None:
        """The server's own log says what each connection came to."""
        self._offer("LogLevel DEBUG1\nCiphers aes128-ctr,aes256-ctr\nMACs hmac-sha2-256,hmac-sha2-512\n"
                    "KexAlgorithms curve25519-sha256\n")
        found = self._with_time("--ciphers=aes128-ctr,aes256-ctr", "--macs=hmac-sha2-512")
        log = self.world.sshd.log.read_text(errors="replace")
        measured = found["pairs"]
        self.assertEqual([(row["cipher"], row["mac"]) for row in measured],
                         [("aes128-ctr", "hmac-sha2-512"), ("aes256-ctr", "hmac-sha2-512")])
        for row in measured:
            self.assertIn(f"kex: client->server cipher: {row['cipher']} MAC: {row['mac']} ", log)

    def test_table_and_csv(self) -> None:
        self._offer("Ciphers aes128-gcm@openssh.com,aes256-gcm@openssh.com\nKexAlgorithms curve25519-sha256\n")
        parts = ("UPLOAD, CIPHER", "in use", "round trip", "hashing (XXH3-128)", "A push waits for")
        table = self._until(lambda text: all(part in text for part in parts))
        self.assertEqual(table.stderr, b"", "no progress where there is no terminal")
        for part in parts:
            self.assertIn(part, table.stdout.decode())
        done = self._until(lambda text: rows_of(text)[1][2] != "", "--csv", "--ciphers", AEAD[0])
        rows = rows_of(done.stdout.decode())
        self.assertEqual(rows[0][:5], ["cipher", "mac", "min_MBps", "mean_MBps", "max_MBps"])
        self.assertTrue(all(len(row) == len(rows[0]) for row in rows), rows)
        self.assertIn(rows[1][0], AEAD)
        self.assertTrue(0 < float(rows[1][2]) <= float(rows[1][3]) <= float(rows[1][4]))

    def test_saved_order_is_used_by_the_next_run(self) -> None:
        self._offer("Ciphers chacha20-poly1305@openssh.com,aes128-gcm@openssh.com,aes256-ctr\n")
        self.assertFalse(self._json("--seconds=3", HOST)["saved"])
        self.assertTrue(self._with_time("--save", "--ciphers=aes256-ctr,aes128-gcm@openssh.com", "--macs=hmac-sha2-256",
                                        "--kex=curve25519-sha256")["saved"])
        (memory,) = (self.dir / "cache").rglob("cache.db")
        with sqlite3.connect(memory) as database:
            ((ciphers,),) = database.execute("SELECT ciphers FROM host_orders").fetchall()
            self.assertTrue(ciphers)
            database.execute("UPDATE host_orders SET ciphers = 'none,aes256-ctr'")  # what would never come first by itself
        source = self.dir / "source"
        source.mkdir()
        outcome = self.run_ok("push", "--json", *self.options, f"{source}/", f"{HOST}:{self.dir}/sink")
        self.assertIn("aes256-ctr", outcome.text)
        self.assertNotIn('"cipher_out": "none"', outcome.text)

    def test_ssh_program(self) -> None:
        """Through -e the server cannot be asked: what it refuses is told by ssh's own words."""
        self._offer("Ciphers aes128-gcm@openssh.com\nKexAlgorithms curve25519-sha256\n")
        options = self.world.carrier_options("ssh")
        outcome = self.run_ok("bench", "--json", "--seconds=10", *options, HOST)
        found = json.loads(outcome.stdout)
        self.assertTrue(all(row["cipher"] == "aes128-gcm@openssh.com" for row in found["pairs"]), found["pairs"])
        self.assertEqual(found["negotiated"]["cipher_in"], "aes128-gcm@openssh.com")
        self.assertEqual(found["negotiated"]["kex"], "curve25519-sha256")
        self.assertEqual(outcome.stderr, b"", outcome.text)

    def test_goes_on_to_the_ssh_program_as_a_run_does(self) -> None:
        self._offer("KexAlgorithms sntrup761x25519-sha512@openssh.com\n")  # which libssh has not
        outcome = self.run_ok("doctor", "--json", *self.options, HOST)
        checks = {row["name"]: row for row in json.loads(outcome.stdout)["checks"]}
        self.assertEqual(checks["login"]["level"], "hint")
        self.assertIn("by the ssh program", checks["login"]["text"])
        found = self._json("--seconds=4", HOST)
        self.assertTrue(found["carrier"].startswith("ssh program"), found["carrier"])
        self.assertIn("link libssh", {f"{row['kind']} {row['name']}" for row in found["unmeasured"]})
        self.assertGreater(found["upload"]["mb_per_s"]["min"], 0)

    def test_a_program_that_is_no_ssh_cannot_be_told_algorithms(self) -> None:
        found = json.loads(self.run_ok("bench", "--json", "--seconds=2", *self.world.carrier_options("fake"), "h").stdout)
        self.assertEqual((found["pairs"], found["kex"]), ([], []))
        self.assertGreater(found["upload"]["mb_per_s"]["min"], 0)

    def test_far_end_that_is_none(self) -> None:
        """Told in a line, with the code for a missing nbackup, and soon."""
        noise = self.dir / "noise"
        noise.write_bytes(random.Random(5).randbytes(100_000))
        garbage = self.world.script("garbage", f"#!/bin/sh\nexec cat {shlex.quote(str(noise))}\n")
        echo = self.world.script("echo-far", "#!/bin/sh\nexec cat\n")
        liar = self.world.script("liar", "#!/bin/sh\necho nbackup-bench 1\necho 'ok 1'\necho 'cores=many'\ncat >/dev/null\n")
        for name, program, code in (("missing", Path("/nonexistent/nbackup"), 5), ("garbage", garbage, 5),
                                    ("echo", echo, 5), ("liar", liar, 12)):
            with self.subTest(name):
                options = ["--remote-path", str(program), "--ssh-config", str(self.world.sshd.config)]
                outcome = self.run_code(code, "bench", "--seconds=3", *options, HOST, timeout=60)
                self.assertEqual(outcome.stdout, b"")
                self._printable(outcome)

    def test_a_lost_link_is_made_anew_and_keeps_what_was_measured(self) -> None:
        for request, lost in (("send", "link download"), ("hash", "processor hashing there")):
            with self.subTest(request):
                far = self.world.script(f"far-{request}", DYING.format(binary=BINARY, request=request))
                outcome = self.run_ok("bench", "--json", "--seconds=3", "-e", str(self.world.fake_rsh),
                                      "--remote-path", f"python3 {far}", "h")
                found = json.loads(outcome.stdout)
                names = {f"{row['kind']} {row['name']}" for row in found["unmeasured"]}
                self.assertIn(lost, names)
                self.assertGreater(found["upload"]["mb_per_s"]["min"], 0)
                self.assertGreater(found["processor_here"]["hash_mb_per_s"], 0)
                self.assertEqual(found["download"] is None, request == "send")
                self.assertEqual(found["processor_there"] is None, request == "hash")
                self.assertGreater(found["disk_there"]["write_mb_per_s"], 0)

    def test_forced_command(self) -> None:
        """A key that may only serve."""
        keys = self.world.sshd.dir / "authorized_keys"
        command = f"{shlex.quote(BINARY)} serve --root {self.dir}"
        keys.write_text(f'restrict,command="{command}" {keys.read_text()}')
        outcome = self.run_code(5, "bench", "--seconds=3", *self.options, HOST, timeout=60)
        self.assertIn("for another command", outcome.text)
        outcome = self.run_code(1, "doctor", *self.options, HOST, timeout=60)
        self.assertIn(b"problem  nbackup", outcome.stdout)

    def test_hosts_and_arguments(self) -> None:
        self.run_code(10, "bench", "--ssh-config", str(self.world.sshd.config), "nowhere.invalid")
        for args in (["bench"], ["bench", "/local/path"], ["bench", "--seconds=0", HOST], ["bench", "--seconds=x", HOST],
                     ["bench", "--json", "--csv", HOST],
                     ["doctor"], ["doctor", "/local/path"]):
            with self.subTest(args=args):
                self.run_code(1, *args)
        failed = self.run_code(10, "bench", "--json", "--ssh-config", str(self.world.sshd.config), "nowhere.invalid")
        self.assertEqual(json.loads(failed.stdout.splitlines()[0])["event"], "error")

    def test_interrupted(self) -> None:
        self._connections()
        running = self.world.spawn("bench", "--seconds=60", *self.options, HOST)
        deadline = time.monotonic() + 60
        while self._connections() < 3:
            self.assertLess(time.monotonic(), deadline, running.outcome(-1).text)
            time.sleep(0.02)
        running.kill(signal.SIGINT)
        outcome = running.wait(20)
        self.assertEqual(outcome.code, 20, outcome.text)
        self.assertIn(b"interrupted", outcome.stderr)
        self.assertEqual(outcome.stdout, b"")

    def _printable(self, outcome: Outcome) -> None:
        text = outcome.stderr.decode()  # valid UTF-8, without control characters
        self.assertTrue(all(char == "\n" or char.isprintable() for char in text), outcome.text)


@unittest.skipIf(nssh.missing(), nssh.missing() or "")
class WithNone(Case):
    """Cipher none where both ends have it."""

    def setUp(self) -> None:
        super().setUp()
        self.has_none = "cipher none: yes" in libssh_line()

    def _measure(self, settings: str, *words: str) -> tuple[set[tuple[str, str]], dict[str, str]]:
        server = nssh.Nssh(Path(tempfile.mkdtemp(dir=self.dir)), settings)
        self.addCleanup(server.close)
        options = ["--remote-path", BINARY, "--ssh-config", str(server.config)]
        found = with_time(self, *options, *words, HOST)
        pairs = {(row["cipher"], row["mac"]) for row in found["pairs"] if row["cipher"] == "none"}
        return pairs, {f"{row['kind']} {row['name']}": row["reason"] for row in found["unmeasured"]}

    def test_measured_where_the_server_allows_it(self) -> None:
        few = "Ciphers aes128-gcm@openssh.com\nMACs umac-64-etm@openssh.com,hmac-sha2-256\n"
        few += "KexAlgorithms curve25519-sha256\n" + nssh.SAFE
        pairs, reasons = self._measure(few + "PostAuthNone cipher-and-mac\n")
        if not self.has_none:
            self.assertEqual(pairs, set())
            self.assertIn("built without", reasons["cipher none"])
            return
        self.assertIn(("none", "umac-64-etm@openssh.com"), pairs, reasons)
        self.assertNotIn(("none", "none"), pairs)
        self.assertIn("--allow-tampering", reasons["MAC none"])
        pairs, reasons = self._measure(few + "PostAuthNone cipher-and-mac\n", "--allow-tampering")
        self.assertIn(("none", "none"), pairs, reasons)
        pairs, reasons = self._measure(few)
        self.assertEqual(pairs, set())
        self.assertIn("came to aes128-gcm", reasons["cipher none"])

    def test_real_ciphers_are_measured_encrypted(self) -> None:
        """Whatever --ssh-security says: only the connections as a run has them change to none."""
        for carrier in ("libssh", "ssh"):
            if carrier == "libssh" and not self.has_none:
                continue
            with self.subTest(carrier):
                server = nssh.Nssh(Path(tempfile.mkdtemp(dir=self.dir)),
                                   "LogLevel DEBUG1\nCiphers aes128-gcm@openssh.com,aes256-ctr\nMACs hmac-sha2-256\n"
                                   "KexAlgorithms curve25519-sha256\nPostAuthNone cipher\n" + nssh.SAFE)
                self.addCleanup(server.close)
                options = ["--remote-path", BINARY, "--ssh-config", str(server.config), "--ssh-security=integrity",
                           "--ciphers=aes128-gcm@openssh.com,aes256-ctr", "--macs=hmac-sha2-256", "--kex=curve25519-sha256"]
                if carrier == "ssh":
                    options += ["-e", nssh.SSH]
                earlier: list[int] = []
                found = with_time(self, *options, HOST, before=lambda: earlier.append(len(server.log_text())))
                real = {(row["cipher"], row["mac"]) for row in found["pairs"] if row["cipher"] != "none"}
                self.assertEqual(real, {("aes128-gcm@openssh.com", "implicit"), ("aes256-ctr", "hmac-sha2-256")},
                                 found["unmeasured"])
                log = server.log_text()[earlier[-1]:]
                self.assertIn("kex: client->server cipher: none MAC: hmac-sha2-256 ", log)
                # Of the key exchanges after a login the first ones: others come with each GiB, which is a matter of speed.
                later = re.findall(r"rekeying out, input (\d+) bytes .* output (\d+) bytes", log)
                changed = sum(int(up) < 1 << 20 and int(down) < 1 << 20 for up, down in later)
                self.assertGreater(changed, 0)
                self.assertEqual(log.count("Accepted publickey") - changed, len(real))


class Doctor(Case):
    def setUp(self) -> None:
        super().setUp()
        self.options = self.world.carrier_options("libssh")

    def _checks(self, code: int, *args: str) -> dict[str, dict]:
        found = json.loads(self.run_code(code, "doctor", "--json", *self.options, *args).stdout)
        self.assertEqual(found["problems"], sum(row["level"] == "problem" for row in found["checks"]))
        return {row["name"]: row for row in found["checks"]}

    def test_healthy(self) -> None:
        far = self.dir / "far"
        checks = self._checks(0, f"{HOST}:{far}/not/yet")
        for name in ("reach", "host key", "login", "algorithms", "nbackup", "limits", "pipes", "memory", "clocks",
                     "destination", "space", "file system"):
            self.assertIn(name, checks)
        self.assertIn("OpenSSH", checks["reach"]["text"])
        self.assertIn("will be made", checks["destination"]["text"])
        self.assertFalse(far.exists(), "doctor makes nothing")
        text = self.run_ok("doctor", *self.options, HOST).stdout.decode()
        self.assertRegex(text, r"(?m)^ok +login ")
        self.assertNotIn("destination", text)

    def test_a_file_system_that_counts_nothing(self) -> None:
        self.need_root()
        (self.dir / "source").mkdir()
        with loopfs.Tmpfs(self.dir / "ramfs", 0) as disk:
            checks = self._checks(0, f"{HOST}:{disk.mount}")
            self.assertEqual(checks["space"]["level"], "ok")
            self.assertIn("does not say", checks["space"]["text"])
            self.run_ok("push", *self.options, self.dir / "source", f"{HOST}:{disk.mount}")

    def test_remembers_the_host(self) -> None:
        """So that the next run has the order for its processor."""
        self._checks(0, HOST)
        (memory,) = (self.dir / "cache").rglob("cache.db")
        with sqlite3.connect(memory) as database:
            ((cipher, kex),) = database.execute("SELECT cipher_out, kex FROM hosts").fetchall()
        self.assertTrue(cipher and kex)

    def test_problems(self) -> None:
        checks = self._checks(1, f"{HOST}:/proc/nothing")
        self.assertEqual(checks["destination"]["level"], "problem")
        self.assertTrue(checks["destination"]["advice"])
        known = self.world.sshd.dir / "known_hosts"
        trusted = known.read_text()
        known.write_text("")
        self.assertEqual(self._checks(1, HOST)["host key"]["level"], "problem")
        known.write_text(trusted)
        (self.world.sshd.dir / "authorized_keys").write_text("")
        self.assertEqual(self._checks(1, HOST)["login"]["level"], "problem")
        self.world.sshd.close()
        self.assertEqual(list(self._checks(1, HOST)), ["reach"])

    def test_no_nbackup_there(self) -> None:
        options = ["--remote-path", "/nonexistent/nbackup", "--ssh-config", str(self.world.sshd.config)]
        outcome = self.run_code(1, "doctor", *options, HOST)
        self.assertIn(b"problem  nbackup", outcome.stdout)
        self.assertIn(b"ok       login", outcome.stdout)
