# SPDX-License-Identifier: Apache-2.0
"""Runs the real nbackup in a world of its own: private HOME and cache, no agent, a time limit on everything.

The remote end is reached in one of four ways (Carrier): libssh or the ssh program against the private sshd, a local
process, or `fake`: a stand-in for ssh (-e) that starts the remote command on this machine in a cleaned environment.
`fake` is fast and lets a test arm failpoints on the server alone, and kill it by its process id.
"""
from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import stat
import subprocess
import tempfile
import time
import unittest
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Iterable

from . import tree
from .sshd import HOST, Sshd

FULL = os.environ.get("NB_FULL", "") == "1"
BINARY = os.environ.get("NBACKUP", "")
CARRIERS = ("libssh", "ssh", "fake", "local")

# How a remote shell without a network begins: it drops the options and the host, and what is the test's own. The rest is
# what sshd would run.
FAKE_RSH_BEGIN = """#!/bin/sh
while :; do
  case "$1" in
    -l|-p|-F|-o|-i) shift 2 ;;
    -*) shift ;;
    *) break ;;
  esac
done
shift
unset NBACKUP_FAILPOINT NBACKUP_FAILPOINT_LOG
"""
FAKE_RSH = FAKE_RSH_BEGIN + 'exec /bin/sh -c "$*"\n'


def chosen_seeds(sample: Iterable[int], full: Iterable[int]) -> list[int]:
    """What NB_SEEDS names (17,99,200-299), else all with NB_FULL=1, else the sample."""
    if named := os.environ.get("NB_SEEDS"):
        pairs = [(first, last or first) for first, _, last in (word.partition("-") for word in named.split(","))]
        return [seed for first, last in pairs for seed in range(int(first), int(last) + 1)]
    return list(full if FULL else sample)


def libssh_line() -> str:
    """What --version says of libssh: also whether it has cipher none and UMAC."""
    text = subprocess.run([BINARY, "--version"], capture_output=True, text=True, check=True).stdout
    return next(line for line in text.splitlines() if line.startswith("libssh "))


@dataclass
class Outcome:
    """How one run ended. Output is bytes; `text` is all of it for messages."""

    code: int
    stdout: bytes
    stderr: bytes
    argv: list[str]

    @property
    def text(self) -> str:
        return (f"$ {shlex.join(self.argv)}\nexit {self.code}\n--- stdout\n{self.stdout.decode(errors='replace')}"
                f"--- stderr\n{self.stderr.decode(errors='replace')}")


class Running:
    """A run in the background, its output in files so that no pipe can fill up."""

    def __init__(self, argv: list[str], env: dict[str, str], scratch: Path, **options: object) -> None:
        self.argv = argv
        self._out = tempfile.NamedTemporaryFile(dir=scratch, prefix="out", delete=False)
        self._err = tempfile.NamedTemporaryFile(dir=scratch, prefix="err", delete=False)
        self.process = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=self._out, stderr=self._err,
                                        start_new_session=True, **options)  # type: ignore[call-overload]

    def wait(self, timeout: float = 120) -> Outcome:
        """Waits for the end. A run that takes longer is killed, with all it started, and fails the test."""
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            raise AssertionError(f"no end after {timeout} s: {self.outcome(-1).text}") from None
        return self.outcome(code)

    def wait_for_message(self, part: bytes, timeout: float = 60) -> None:
        """Until it has said that on its standard error."""
        deadline = time.monotonic() + timeout
        while part not in (so_far := self.outcome(-1)).stderr:
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise AssertionError(f"never said {part!r}: {so_far.text}")
            time.sleep(0.01)

    def outcome(self, code: int) -> Outcome:
        return Outcome(code, Path(self._out.name).read_bytes(), Path(self._err.name).read_bytes(), self.argv)

    def kill(self, number: int = signal.SIGKILL) -> None:
        self.process.send_signal(number)


class World:
    """A scratch directory, the environment of its runs and, on demand, an sshd."""

    def __init__(self, base: Path | None = None) -> None:
        self.dir = Path(tempfile.mkdtemp(prefix="nbackup-e2e-", dir=base))
        os.chmod(self.dir, 0o755)
        for name in ("home", "cache", "scratch", "bin"):
            (self.dir / name).mkdir()
        self.fake_rsh = self.script("fake-rsh", FAKE_RSH)
        self.path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"  # where runs find programs
        self.extra_env: dict[str, str] = {}
        self._sshd: Sshd | None = None
        self._wrappers = 0

    @property
    def sshd(self) -> Sshd:
        if self._sshd is None:
            reason = Sshd.missing()
            if reason:
                raise unittest.SkipTest(reason)
            self._sshd = Sshd(self.dir)
        return self._sshd

    def close(self) -> None:
        self._end_runs()
        if self._sshd:
            self._sshd.close()
        remove_tree(self.dir)

    def _end_runs(self) -> None:
        """What a failed test has left, stopped perhaps: all that has the environment of a run of this world."""
        mark = f"TMPDIR={self.dir / 'scratch'}".encode()
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # it ends, or is nobody's of ours
                if mark in (process / "environ").read_bytes().split(b"\0"):
                    os.kill(int(process.name), signal.SIGKILL)

    def script(self, name: str, text: str) -> Path:
        path = self.dir / "bin" / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def env(self, failpoint: str = "", log: Path | None = None) -> dict[str, str]:
        env = {"HOME": str(self.dir / "home"), "XDG_CACHE_HOME": str(self.dir / "cache"), "TZ": "UTC",
               "PATH": self.path, "LC_ALL": "C.UTF-8",
               "TMPDIR": str(self.dir / "scratch"), "USER": "tester", "LOGNAME": "tester"}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LD_LIBRARY_PATH"):
            if name in os.environ:
                env[name] = os.environ[name]
        env.update(self.extra_env)
        if failpoint:
            env["NBACKUP_FAILPOINT"] = failpoint
        if log:
            env["NBACKUP_FAILPOINT_LOG"] = str(log)
        return env

    def server(self, failpoint: str = "", log: Path | None = None, user: str = "") -> Path:
        """A program for --remote-path: nbackup with failpoints armed, its process id in server_pid()."""
        self._wrappers += 1
        (self.dir / "scratch" / "server.pid").unlink(missing_ok=True)
        lines = ["#!/bin/sh", f"echo $$ >{shlex.quote(str(self.dir / 'scratch' / 'server.pid'))}"]
        lines += ["unset NBACKUP_FAILPOINT NBACKUP_FAILPOINT_LOG"]
        if failpoint:
            lines.append(f"export NBACKUP_FAILPOINT={shlex.quote(failpoint)}")
        if log:
            lines.append(f"export NBACKUP_FAILPOINT_LOG={shlex.quote(str(log))}")
        prefix = shlex.join(as_user(user)) + " " if user else ""
        lines.append(f'exec {prefix}{shlex.quote(BINARY)} "$@"')
        return self.script(f"server{self._wrappers}", "\n".join(lines) + "\n")

    def server_pid(self, timeout: float = 20) -> int:
        """Of the wrapper started last (exec keeps it)."""
        path = self.dir / "scratch" / "server.pid"
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if path.exists() and path.read_text().endswith("\n"):
                return int(path.read_text())
            time.sleep(0.01)
        raise AssertionError("the server was not started")

    def far(self, path: str | os.PathLike[str], carrier: str) -> str:
        """A path on the 'remote' side, as an argument."""
        return os.fspath(path) if carrier == "local" else f"{HOST}:{os.fspath(path)}"

    def carrier_options(self, carrier: str, server: Path | None = None) -> list[str]:
        if carrier == "local":
            return []
        options = ["--remote-path", str(server or BINARY)]
        if carrier == "libssh":
            return options + ["--ssh-config", str(self.sshd.config)]
        if carrier == "ssh":
            return options + ["-e", self.sshd.rsh]
        return options + ["-e", str(self.fake_rsh)]

    def spawn(self, *args: str | os.PathLike[str], failpoint: str = "", log: Path | None = None, user: str = "",
              cwd: Path | None = None) -> Running:
        argv = as_user(user) + [BINARY] + [os.fspath(arg) for arg in args]
        (self.dir / "scratch" / "server.pid").unlink(missing_ok=True)
        return Running(argv, self.env(failpoint, log), self.dir / "scratch", cwd=cwd)

    def run(self, *args: str | os.PathLike[str], timeout: float = 120, failpoint: str = "", log: Path | None = None,
            user: str = "", cwd: Path | None = None) -> Outcome:
        return self.spawn(*args, failpoint=failpoint, log=log, user=user, cwd=cwd).wait(timeout)

    def run_into(self, stdout: IO[bytes], *args: str | os.PathLike[str]) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run([BINARY, *map(os.fspath, args)], env=self.env(), stdin=subprocess.DEVNULL, stdout=stdout,
                              stderr=subprocess.PIPE, check=False, timeout=60)

    def run_into_full(self, *args: str | os.PathLike[str]) -> subprocess.CompletedProcess[bytes]:
        """Standard output is a full disk."""
        with open("/dev/full", "wb") as full:
            return self.run_into(full, *args)

    def run_unread(self, *args: str | os.PathLike[str]) -> subprocess.CompletedProcess[bytes]:
        """Standard output is a pipe that nobody reads any more."""
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "wb") as gone:
            return self.run_into(gone, *args)


def as_user(user: str) -> list[str]:
    """The words before a command that run it as a plain user."""
    if not user:
        return []
    return ["setpriv", f"--reuid={user}", f"--regid={PLAIN_GID}", "--clear-groups", "--inh-caps=-all"]


PLAIN_USER, PLAIN_UID, PLAIN_GID = "65534", 65534, 65534


def remove_tree(path: Path) -> None:
    """rmtree that also removes what read-only directories hold, for a plain user."""
    for here, dirs, _files in os.walk(os.fsencode(path)):
        for name in dirs:
            full = os.path.join(here, name)
            if not os.path.islink(full):
                mode = os.lstat(full).st_mode
                if mode & 0o700 != 0o700:
                    os.chmod(full, stat.S_IMODE(mode) | 0o700)
    shutil.rmtree(path)


class Case(unittest.TestCase):
    """Base of all suites: a world per test, and checks with readable messages."""

    maxDiff = None
    longMessage = True

    def setUp(self) -> None:
        if not BINARY or not os.access(BINARY, os.X_OK):
            self.fail("set NBACKUP to the nbackup program")
        self.world = World()
        self.addCleanup(self.world.close)
        self.dir = self.world.dir

    def run_ok(self, *args: str | os.PathLike[str], **options: object) -> Outcome:
        return self.run_code(0, *args, **options)

    def run_code(self, code: int | tuple[int, ...], *args: str | os.PathLike[str], **options: object) -> Outcome:
        outcome = self.world.run(*args, **options)  # type: ignore[arg-type]
        self.assertIn(outcome.code, code if isinstance(code, tuple) else (code,), outcome.text)
        return outcome

    def dies(self, *args: str | os.PathLike[str], failpoint: str) -> None:
        """A run that dies at `failpoint`, "NAME=abort" with or without "@1", on whichever end passes it."""
        log = self.dir / "passed"
        log.write_bytes(b"")
        outcome = self.world.run(*args, failpoint=failpoint, log=log)
        self.assertIn(failpoint.partition("=")[0], log.read_text().split(), outcome.text)

    def assert_same_tree(self, want: tree.Tree | Path, have: tree.Tree | Path, note: str = "",
                         **options: object) -> None:
        a = want if isinstance(want, dict) else tree.snapshot(want)
        b = have if isinstance(have, dict) else tree.snapshot(have)
        found = tree.compare(a, b, **options)  # type: ignore[arg-type]
        self.assertEqual(found, [], f"{note}\n" + "\n".join(found[:40]))

    def assert_clean(self, root: Path, note: str = "") -> None:
        self.assertEqual(tree.leftovers(root), [], note)

    def plain_users_directory(self, name: str) -> Path:
        """An empty one of PLAIN_USER's, whose runs may use this world too."""
        self.need_root()
        made = self.dir / name
        made.mkdir()
        os.chown(made, PLAIN_UID, PLAIN_GID)
        for shared in ("cache", "scratch"):
            os.chmod(self.dir / shared, 0o777)
        return made

    def need_root(self) -> None:
        if os.geteuid() != 0:
            self.skipTest("needs root")


def clone(source: Path, target: Path) -> None:
    """A copy of a whole set or tree by cp, all metadata included; `target` must not exist."""
    subprocess.run(["cp", "-a", "--reflink=auto", str(source), str(target)], check=True)
