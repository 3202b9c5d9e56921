# SPDX-License-Identifier: Apache-2.0
"""What a run tells others: the hooks around it, a monitor on the web, mails when something changed, and
what status remembers of a set."""
from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import subprocess
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from support import options as opt
from support.run import BINARY, Case, Outcome

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


class Reports(Case):
    """A source with two files, a pool, and hooks that write down what they are told."""

    def setUp(self) -> None:
        super().setUp()
        self.source, self.pool = self.dir / "source", self.dir / "pool"
        self.source.mkdir()
        (self.source / "a").write_text("content")
        (self.source / "b").write_text("more content")
        self.note = self.world.script("note", f'#!/bin/sh\nenv -0 >"{self.dir}/scratch/told.$1"\n')

    def told(self, name: str) -> dict[str, str] | None:
        """The variables that the hook `note NAME` was given; none: it was not run. Each can be asked for once."""
        path = self.dir / "scratch" / f"told.{name}"
        if not path.exists():
            return None
        pairs = [line.split("=", 1) for line in path.read_bytes().decode(errors="surrogateescape").split("\0") if line]
        path.unlink()
        return {name[len("NBACKUP_"):]: value for name, value in pairs
                if name.startswith("NBACKUP_") and name != "NBACKUP_CACHE"}

    def hooks(self) -> list[str]:
        return ["--before", f"{self.note} before", "--after", f"{self.note} after",
                "--on-failure", f"{self.note} on-failure"]

    def push(self, *options: str, code: int = 0) -> Outcome:
        return self.run_code(code, "push", *options, f"{self.source}/", self.pool)


class Hooks(Reports):
    def test_around_a_push(self) -> None:
        self.push(*self.hooks())
        before, after = self.told("before"), self.told("after")
        assert before and after
        self.assertEqual(before, {"HOOK": "before", "COMMAND": "push", "SOURCE": f"{self.source}/",
                                  "DESTINATION": str(self.pool)})
        self.assertIsNone(self.told("on-failure"))
        self.assertEqual({name: after[name] for name in ("HOOK", "EXIT_CODE", "GENERATION", "FILES", "BYTES", "PROBLEMS")},
                         {"HOOK": "after", "EXIT_CODE": "0", "GENERATION": "1", "FILES": "2", "BYTES": "19",
                          "PROBLEMS": "0"})
        self.assertRegex(after["SUMMARY"], r"^pushed .*/source to .*/pool: generation 1, ")
        self.assertGreater(int(after["BYTES_SENT"]), 19)
        self.assertLess(int(after["SECONDS"]), 60)
        self.assertNotIn("ERROR", after)

    def test_before_ends_the_run_before_it_begins(self) -> None:
        failed = self.push("--before", "echo no disk; exit 3", "--after", f"{self.note} after",
                           "--on-failure", f"{self.note} on-failure", code=opt.HOOK_FAILED)
        self.assertIn(b"no disk\nnbackup: --before (echo no disk; exit 3) ended with exit code 3; nothing was done",
                      failed.stderr)
        self.assertFalse(self.pool.exists())
        self.assertIsNone(self.told("after"))
        told = self.told("on-failure")
        assert told
        self.assertEqual((told["EXIT_CODE"], told["HOOK"]), (str(opt.HOOK_FAILED), "on-failure"))
        self.assertIn("--before", told["ERROR"])

    def test_what_before_makes_ready_is_used(self) -> None:
        self.push("--before", f"echo late >{self.source}/late")
        self.assertEqual((self.pool / "late").read_text(), "late\n")

    def test_a_failed_run(self) -> None:
        self.pool.write_text("in the way")
        failed = self.run_code(opt.PATH, "push", *self.hooks(), f"{self.source}/", f"{self.pool}/below")
        told = self.told("on-failure")
        assert told
        self.assertIsNone(self.told("after"))
        self.assertEqual(told["EXIT_CODE"], str(opt.PATH))
        self.assertIn(told["ERROR"], failed.stderr.decode())
        self.assertNotIn("SUMMARY", told)

    def test_an_output_that_cannot_be_written_is_a_failure(self) -> None:
        done = self.world.run_into_full("push", *self.hooks(), f"{self.source}/", self.pool)
        self.assertEqual(done.returncode, opt.IO, done.stderr)
        self.assertIsNone(self.told("after"))
        told = self.told("on-failure")
        assert told
        self.assertEqual(told["EXIT_CODE"], str(opt.IO))

    def test_an_error_that_is_longer_than_a_variable(self) -> None:
        sources = [self.dir / f"{number:04}{'s' * 96}" for number in range(1200)]
        for source in sources:
            source.mkdir()
            (source / "file").write_text("content")
        names = [f"{source}/" for source in sources]
        self.run_ok("push", *names, self.pool)
        for source in sources:
            (source / "file").unlink()
        failed = self.run_code(opt.EMPTY_SOURCE, "push", *self.hooks(), *names, self.pool)
        self.assertGreater(len(failed.stderr), 128 << 10, "what is told is what a variable cannot take")
        told = self.told("on-failure")
        assert told
        self.assertTrue(failed.stderr.decode().find(told["ERROR"][-100:]) > 0, told["ERROR"][-100:])

    def test_after_and_on_failure_that_fail(self) -> None:
        failed = self.push("--after", "kill -9 $$", "--on-failure", f"{self.note} on-failure; false", code=opt.HOOK_FAILED)
        self.assertTrue((self.pool / "a").exists(), "the run stands")
        self.assertIn(b"--after (kill -9 $$) ended with signal KILL", failed.stderr)
        self.assertIn(b"on-failure; false) ended with exit code 1", failed.stderr)
        told = self.told("on-failure")
        assert told
        self.assertIn("generation 1", told["SUMMARY"])
        self.assertIn("--after", told["ERROR"])

    def test_every_command_that_has_them(self) -> None:
        self.push()
        odd = os.fsdecode(b"odd \xff\n name")
        far = [*self.world.carrier_options("fake"), self.world.far(self.pool, "fake")]
        runs = {"pull": [f"{self.pool}/", odd], "restore": ["--verify", f"{self.pool}:a", "out"],
                "verify": [f"{self.source}/", str(self.pool)], "prune": far}
        for command, arguments in runs.items():
            with self.subTest(command=command):
                self.run_ok(command, *self.hooks(), *arguments, cwd=self.dir)
                told = self.told("after")
                assert told
                self.assertEqual((told["COMMAND"], told["DESTINATION"]), (command, arguments[-1]))
                self.assertTrue(told["SUMMARY"], "says what was done")
                self.assertIsNone(self.told("on-failure"))

    def test_differences_are_a_failure_and_named(self) -> None:
        self.push()
        (self.pool / "a").write_text("another")
        self.run_code(opt.DIFFERS, "verify", *self.hooks(), f"{self.source}/", self.pool)
        told = self.told("on-failure")
        assert told
        self.assertEqual(told["EXIT_CODE"], str(opt.DIFFERS))
        self.assertIn("1 difference", told["SUMMARY"])

    def test_standard_output_is_the_runs_alone(self) -> None:
        self.push()
        done = self.run_ok("restore", "--before", "echo first; cat", "--after", "echo last", f"{self.pool}:a", "-")
        self.assertEqual(done.stdout, b"content")
        self.assertEqual(done.stderr, b"first\nlast\n")
        failed = self.push("--json", "--before", "exit 9", code=opt.HOOK_FAILED)
        events = [json.loads(line) for line in failed.stdout.splitlines()]
        self.assertEqual([(event["event"], event["code"], event["exit_code"]) for event in events],
                         [("error", "hook-failed", opt.HOOK_FAILED)])

    def test_a_dry_run_says_so(self) -> None:
        self.push("-n", *self.hooks())
        before, after = self.told("before"), self.told("after")
        assert before and after
        self.assertEqual((before["DRY_RUN"], after["DRY_RUN"]), ("1", "1"))

    def test_the_log_file_hears_of_it(self) -> None:
        log = self.dir / "log"
        self.push("--log-file", str(log), "--before", "false", code=opt.HOOK_FAILED)
        self.assertIn("[hook-failed]", log.read_text())

    def test_the_log_file_hears_of_what_is_wrong_at_once(self) -> None:
        log = self.dir / "log"
        self.push("--log-file", str(log), "--exclude-from", str(self.dir / "missing"), code=opt.IO)
        self.assertIn("failed, exit 11", log.read_text())
        log.unlink()
        self.run_code(opt.PATH, "push", "--log-file", log, f"{self.source}/", self.source / "inside")
        self.assertIn("failed, exit 3", log.read_text())

    def test_an_interrupt_reaches_the_hook(self) -> None:
        marker = self.dir / "scratch" / "waits"
        hook = f"trap 'echo ended >{marker}; exit 0' TERM; echo waits >{marker}; while :; do sleep 0.05; done"
        run = self.world.spawn("push", "--before", hook, "--on-failure", f"{self.note} on-failure", f"{self.source}/",
                               self.pool)
        self.wait_for(marker, "waits\n")
        run.kill(signal.SIGTERM)
        ended = run.wait()
        self.assertEqual(ended.code, opt.INTERRUPTED, ended.text)
        self.assertEqual(marker.read_text(), "ended\n")
        self.assertFalse(self.pool.exists())
        told = self.told("on-failure")
        assert told
        self.assertEqual(told["EXIT_CODE"], str(opt.INTERRUPTED))

    def test_an_interrupt_while_connecting_is_told_like_any_other(self) -> None:
        """A host that takes the connection and says nothing. timeout(1) signals the process, and then its group."""
        log, config = self.dir / "log", self.dir / "config"
        with socket.create_server(("127.0.0.1", 0)) as silent:
            config.write_text(f"Host mute\n  HostName 127.0.0.1\n  Port {silent.getsockname()[1]}\n")
            run = self.world.spawn("push", "--json", "--log-file", log, "--on-failure", f"{self.note} on-failure",
                                   "--ssh-config", config, f"{self.source}/", "mute:/pool")
            silent.settimeout(60)
            connection, _ = silent.accept()
            with connection:
                for number in (signal.SIGTERM, signal.SIGHUP):
                    run.kill(number)
                outcome = run.wait(timeout=20)
        self.assertEqual(outcome.code, opt.INTERRUPTED, outcome.text)
        told = self.told("on-failure")
        assert told, outcome.text
        self.assertEqual(told["EXIT_CODE"], str(opt.INTERRUPTED))
        self.assertIn("failed, exit 20", log.read_text())
        last = json.loads(outcome.stdout.splitlines()[-1])
        self.assertEqual((last["event"], last["code"]), ("error", "interrupted"))

    def wait_for(self, path: Path, text: str) -> None:
        deadline = time.monotonic() + 20
        while not path.exists() or path.read_text() != text:
            self.assertLess(time.monotonic(), deadline, f"{path} never said {text!r}")
            time.sleep(0.01)


class Monitor:
    """A web server on a loopback port that notes what it is told. `answers`: path to status, or to a redirect."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.heard: list[tuple[str, str]] = []
        self.answers: dict[str, int | str] = {}
        self.agents: set[str] = set()
        monitor = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                monitor.heard.append((self.path, body))
                monitor.agents.add(self.headers["User-Agent"])
                answer = monitor.answers.get(self.path, 200)
                self.send_response(answer if isinstance(answer, int) else 302)
                if isinstance(answer, str):
                    self.send_header("Location", answer)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"OK")

            def log_message(self, *_args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def paths(self) -> list[str]:
        return [path for path, _body in self.heard]


class Watched(Reports):
    def monitor(self, tls: ssl.SSLContext | None = None) -> Monitor:
        monitor = Monitor(tls)
        self.addCleanup(monitor.close)
        return monitor


class Ping(Watched):
    def test_start_and_end_are_told(self) -> None:
        monitor = self.monitor()
        done = self.push("--ping-url", f"{monitor.url}/ping/uuid")
        self.assertEqual(monitor.paths(), ["/ping/uuid/start", "/ping/uuid"])
        self.assertEqual(monitor.heard[0][1], "")
        lines = monitor.heard[1][1].splitlines()
        self.assertEqual(f"nbackup: {lines[0]}\n", done.stdout.decode())
        self.assertRegex(lines[1], r"^exit code 0 after \d\d:\d\d$")
        self.assertRegex(monitor.agents.pop(), r"^nbackup/\d")
        self.assertEqual(done.stderr, b"")

    def test_a_failure_is_told_with_its_reason(self) -> None:
        monitor = self.monitor()
        url = f"{monitor.url}/up?key=1"
        self.push("--before", "exit 7", "--ping-url", url, code=opt.HOOK_FAILED)
        self.assertEqual(monitor.paths(), ["/up/start?key=1", "/up/fail?key=1"])
        self.assertIn("--before (exit 7) ended with exit code 7", monitor.heard[1][1])
        monitor.heard.clear()
        self.push("--ping-url", url)
        (self.pool / "a").write_text("another")
        self.run_code(opt.DIFFERS, "verify", "--ping-url", url, f"{self.source}/", self.pool)
        self.assertEqual(monitor.paths()[2:], ["/up/start?key=1", "/up/fail?key=1"])
        self.assertIn("1 difference", monitor.heard[3][1])
        self.run_ok("prune", "--ping-url", url, self.pool)
        self.assertIn("dropped 0 generations", monitor.heard[5][1])

    def test_a_dry_run_is_no_run(self) -> None:
        monitor = self.monitor()
        self.push("-n", "--ping-url", monitor.url)
        self.assertEqual(monitor.heard, [])

    def test_no_monitor_is_a_line_and_no_failure(self) -> None:
        with socket.socket() as bound:
            bound.bind(("127.0.0.1", 0))
            place = f"127.0.0.1:{bound.getsockname()[1]}"
            done = self.push("--ping-url", f"http://user:secret@{place}/secret")
        lines = done.stderr.decode().splitlines()
        self.assertEqual(len(lines), 2, done.text)
        for line in lines:
            self.assertRegex(line, f"^nbackup: no ping to {place}: .*connect")
            self.assertNotIn("secret", line)

    def test_an_end_is_told_again_where_it_was_not_taken(self) -> None:
        monitor = self.monitor()
        monitor.answers = {"/x/start": 404, "/x": 503}
        done = self.push("--ping-url", f"{monitor.url}/x")
        self.assertEqual(monitor.paths(), ["/x/start", "/x", "/x", "/x"])
        self.assertEqual(done.stderr.decode().count("the answer was HTTP status 404"), 1)
        self.assertEqual(done.stderr.decode().count("the answer was HTTP status 503"), 1)

    def test_https_by_a_certificate_that_is_trusted(self) -> None:
        key, certificate = self.dir / "key.pem", self.dir / "certificate.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                        "-nodes", "-days", "2", "-subj", "/CN=monitor", "-addext", "subjectAltName=IP:127.0.0.1",
                        "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate, key)
        monitor, plain = self.monitor(tls), self.monitor()
        refused = self.push("--ping-url", f"{monitor.url}/x")
        self.assertEqual(refused.stderr.decode().count("SSL certificate problem"), 2, refused.text)
        self.assertEqual(monitor.heard, [])
        for variable in ("SSL_CERT_FILE", "CURL_CA_BUNDLE"):
            with self.subTest(variable=variable):
                monitor.heard.clear()
                self.world.extra_env = {variable: str(certificate)}
                done = self.push("--ping-url", f"{monitor.url}/x")
                self.assertEqual((monitor.paths(), done.stderr), (["/x/start", "/x"], b""))
        # From http to https, and never back.
        plain.answers = {"/a/start": f"{monitor.url}/moved", "/a": f"{plain.url}/here"}
        self.push("--ping-url", f"{plain.url}/a")
        self.assertEqual((monitor.paths()[2:], plain.paths()), (["/moved"], ["/a/start", "/a", "/here"]))
        self.assertIn("exit code 0", plain.heard[2][1], "a redirect keeps the text")
        monitor.answers = {"/b/start": f"{plain.url}/listen"}
        done = self.push("--ping-url", f"{monitor.url}/b")
        self.assertNotIn("/listen", plain.paths())
        self.assertIn(b"no ping to 127.0.0.1", done.stderr)

    def test_what_is_no_address_is_refused(self) -> None:
        for url in ("ftp://h/x", "file:///etc/passwd", "h/x", "http://", "https://h/a b", "http://user@/x"):
            with self.subTest(url=url):
                refused = self.push("--ping-url", url, code=opt.USAGE)
                self.assertIn(b"--ping-url", refused.stderr)
        self.assertFalse(self.pool.exists())


class Mailed(Reports):
    """A sendmail in PATH that keeps what it gets."""

    def setUp(self) -> None:
        super().setUp()
        self.box = self.dir / "scratch" / "box"
        self.box.mkdir()
        self.sendmail = self.world.script(
            "sendmail", f'#!/bin/sh\nn=$(ls {self.box} | wc -l)\nprintf "%s\\n" "$*" >{self.box}/$n\ncat >>{self.box}/$n\n')
        self.world.path = f"{self.dir}/bin:{self.world.path}"

    def mails(self) -> list[str]:
        """What has come since the last call: the arguments in the first line, then the message."""
        found = [path.read_text() for path in sorted(self.box.iterdir(), key=lambda path: int(path.name))]
        for path in self.box.iterdir():
            path.unlink()
        return found


class Mail(Mailed):
    def mailed_push(self, *options: str, code: int = 0) -> Outcome:
        return self.push("--mail-on-change", "admin@example.org", *options, code=code)

    def test_changes_are_told_once(self) -> None:
        self.mailed_push()
        self.assertEqual(self.mails(), [], "a first good run is no news")
        self.mailed_push("--before", "exit 3", code=opt.HOOK_FAILED)
        arguments, message = self.mails()[0].split("\n", 1)
        self.assertEqual(arguments, "-i -- admin@example.org")
        head, body = message.split("\n\n", 1)
        self.assertIn("To: admin@example.org\n", head)
        self.assertRegex(head, r"Subject: nbackup on .*@.*: push .*/source/ to .*/pool failed \(exit code 54\)\n")
        self.assertIn("--before (exit 3) ended with exit code 3; nothing was done", body)
        self.mailed_push("--before", "exit 3", code=opt.HOOK_FAILED)
        self.assertEqual(self.mails(), [], "the same again is no news")
        self.mailed_push()
        again = self.mails()
        self.assertEqual(len(again), 1)
        self.assertRegex(again[0], r"Subject: nbackup on .* works again\n")
        self.assertIn("pushed ", again[0])
        self.mailed_push()
        self.assertEqual(self.mails(), [])

    def test_a_first_failure_is_told_and_runs_are_told_apart(self) -> None:
        missing = f"{self.dir}/missing"
        for destination in (self.pool, self.dir / "other"):
            self.run_code(opt.PATH, "push", "--mail-on-change", "root", missing, destination)
            self.assertEqual(len(self.mails()), 1, destination)
        self.mailed_push()
        self.assertEqual(self.mails(), [], "other sources are another run")
        self.run_code(opt.PATH, "push", "--mail-on-change", "root", missing, self.pool)
        self.assertEqual(self.mails(), [])

    def test_without_a_mail_system_a_line_says_so_until_it_is_out(self) -> None:
        self.sendmail.rename(self.dir / "aside")
        if any(os.access(f"{place}/sendmail", os.X_OK) for place in ("/usr/sbin", "/usr/lib", "/sbin")):
            self.skipTest("this machine has a sendmail")
        for _ in range(2):
            done = self.mailed_push("--before", "false", code=opt.HOOK_FAILED)
            self.assertIn(b"no mail to admin@example.org: there is no sendmail program\n", done.stderr)
        self.world.script("sendmail", "#!/bin/sh\nexit 75\n")
        done = self.mailed_push("--before", "false", code=opt.HOOK_FAILED)
        self.assertIn(b"sendmail ended with exit code 75\n", done.stderr)
        (self.dir / "aside").rename(self.sendmail)
        self.mailed_push("--before", "false", code=opt.HOOK_FAILED)
        self.assertEqual(len(self.mails()), 1)

    def test_names_cannot_make_headers(self) -> None:
        odd = self.dir / "x\nBcc: all@example.org\n\n\u00fc"
        self.run_code(opt.PATH, "push", "--mail-on-change", "root", odd, self.pool)
        head = self.mails()[0].split("\n\n", 1)[0]
        self.assertEqual(sum(line.startswith("Bcc") for line in head.split("\n")), 0, head)
        self.assertTrue(head.isascii())
        for address in ("-oQ/tmp", "a b@c", "a@b\nBcc: c", ""):
            self.run_code(opt.USAGE, "push", "--mail-on-change", address, self.source, self.pool)

    def test_a_dry_run_is_no_run(self) -> None:
        self.mailed_push("-n", "--before", "false", code=opt.HOOK_FAILED)
        self.assertEqual(self.mails(), [])


class Example(Mailed, Watched):
    """examples/nightly as it stands."""

    def nightly(self, monitor: Monitor, *arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
        env = self.world.env() | {"PING_URL": f"{monitor.url}/check", "MAIL_TO": "admin@example.org"}
        return subprocess.run([EXAMPLES / "nightly", *arguments], env=env, capture_output=True, check=False, timeout=60)

    def test_the_example_tells_of_good_and_bad_nights(self) -> None:
        monitor = self.monitor()
        (self.dir / "bin/nbackup").symlink_to(BINARY)
        good = self.nightly(monitor, f"{self.source}/", self.pool)
        self.assertEqual((good.returncode, good.stdout + good.stderr), (0, b""))
        self.assertEqual((monitor.paths(), self.mails()), (["/check/start", "/check"], []))
        self.pool.rename(self.dir / "away")
        for mails in (1, 0):
            bad = self.nightly(monitor, f"{self.source}/", self.pool)
            self.assertEqual(bad.returncode, opt.SET_MISSING, bad.stderr)
            self.assertEqual((monitor.paths()[-1], len(self.mails())), ("/check/fail", mails))
        (self.dir / "away").rename(self.pool)
        self.assertEqual(self.nightly(monitor, f"{self.source}/", self.pool).returncode, 0)
        self.assertIn("works again", self.mails()[0])


class Status(Reports):
    def row(self) -> dict:
        rows = self.run_ok("status", "--json").stdout.splitlines()
        self.assertEqual(len(rows), 1)
        return json.loads(rows[0])

    def replace(self, name: str, size: int) -> None:
        (self.source / name).write_bytes(os.urandom(size))

    def test_how_much_history_there_is(self) -> None:
        self.replace("large", 1_000_000)
        self.push()
        first = self.row()
        self.assertEqual((first["history_generations"], first["last_scrub_ns"], first["damaged_files"]), (2, 0, 0))
        self.assertLess(first["history_bytes"], 50_000)
        self.replace("large", 5)
        self.push("--checksum")
        self.assertRegex(self.run_ok("status").stdout, rb"HISTORY\n(.*)  9\d\d KiB\n")
        self.assertAlmostEqual(self.row()["history_bytes"], 1_000_000, delta=50_000)
        os.rename(self.source / "a", self.source / "renamed")
        (self.source / "b").unlink()
        self.push("--delete")
        row = self.row()
        self.assertEqual(row["history_generations"], 4)
        self.assertAlmostEqual(row["history_bytes"], 1_000_000, delta=60_000)

    def test_dropped_generations_are_counted_out(self) -> None:
        for _ in range(3):
            self.replace("large", 1_000_000)
            self.push()
        self.assertAlmostEqual(self.row()["history_bytes"], 2_000_000, delta=60_000)
        self.run_ok("prune", "--keep-last", "2", self.pool)
        self.push()
        row = self.row()
        self.assertEqual(row["history_generations"], 2)
        self.assertAlmostEqual(row["history_bytes"], 1_000_000, delta=60_000)

    def test_over_a_connection_and_not_for_what_changes_nothing(self) -> None:
        far = [*self.world.carrier_options("fake"), self.world.far(self.pool, "fake")]
        self.run_ok("push", "-n", f"{self.source}/", *far)
        self.run_ok("push", f"{self.source}/", *far)
        before = self.row()
        self.replace("a", 300_000)
        self.run_ok("push", "-n", f"{self.source}/", *far)
        self.run_ok("verify", f"{self.source}/b", *far)
        self.assertEqual(self.row()["history_bytes"], before["history_bytes"])
        self.run_ok("push", f"{self.source}/", *far)
        self.run_ok("push", f"{self.source}/", *far)
        self.assertEqual(self.row()["history_generations"], 3)

    def test_a_set_without_history_says_nothing(self) -> None:
        self.push("--no-history")
        self.assertNotIn("history_bytes", self.row())


if __name__ == "__main__":
    unittest.main()
