# SPDX-License-Identifier: Apache-2.0
"""Runs one command and measures it: wall time, processor seconds and peak memory of each side, bytes on the wire.

Processor time of the client is what the kernel accounted to the process and the children it waited for; that of the
server is what the sshd listener reaped, its sessions and all they ran included. Both cost nothing while the run lasts.
Memory is looked at while a run lasts, in a round of its own whose time does not count (`watch`).
"""
from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import disk
from route import Link, Proxy, Route, Sshd, children, own_children

TICKS = os.sysconf("SC_CLK_TCK")
WATCH_SECONDS = 0.01
SESSION_END_SECONDS = 30


class Failed(Exception):
    """A run that did not do what it should; the text says why."""


@dataclass
class Sample:
    """One run. Memory is 0 where it was not watched, wire None where nothing counted."""

    wall: float
    client_cpu: float
    server_cpu: float
    client_kib: int = 0
    server_kib: int = 0
    wire: int | None = None


class Watch(threading.Thread):
    """Looks every 10 ms at the high-water marks of all live processes of both sides; keeps the highest sum of each."""

    def __init__(self, client: int, sshd: int) -> None:
        super().__init__(daemon=True)
        self.client_pid, self.sshd_pid = client, sshd
        self.client_kib = self.server_kib = 0
        self.stop = threading.Event()

    def run(self) -> None:
        while not self.stop.wait(WATCH_SECONDS):
            self.client_kib = max(self.client_kib, _peak_kib([self.client_pid, *children(self.client_pid)]))
            self.server_kib = max(self.server_kib, _peak_kib(children(self.sshd_pid)))

    def end(self) -> None:
        self.stop.set()
        self.join()


@dataclass
class Job:
    """One command, where it runs, and what has to be on the disk before its time ends."""

    argv: list[str]
    home: Path
    route: Route
    sync: Path | None = None
    watch: bool = False
    timeout: float = 3600


def run(job: Job) -> Sample:
    """Runs it to its end. Failed with its last words if its exit code is not 0."""
    reaped, counted = _reaped_seconds(job.route.sshd), _wire(job.route.counter)
    known, log = set(own_children(os.getpid())), job.home / "output"
    began = time.perf_counter()
    with open(log, "wb") as out:
        process = subprocess.Popen([*job.route.prefix, *job.argv], env=environment(job.home), stdin=subprocess.DEVNULL,
                                   stdout=out, stderr=out, start_new_session=True)
    watch = Watch(process.pid, job.route.sshd.process.pid) if job.watch else None
    if watch:
        watch.start()
    code, used = _wait(process, job.timeout)
    if job.sync and code == 0:
        disk.sync(job.sync)
    wall = time.perf_counter() - began
    if watch:
        watch.end()
    if code != 0:
        raise Failed(f"exit {code}: {_last_words(log)}")
    left_client, left_server = _wait_sessions(job.route.sshd, process.pid, known)
    sample = Sample(wall, used + left_client, _reaped_seconds(job.route.sshd) - reaped + left_server)
    if watch:
        sample.client_kib, sample.server_kib = watch.client_kib, watch.server_kib
    if counted is not None:
        sample.wire = (_wire(job.route.counter) or 0) - counted
    return sample


def output(job: Job) -> str:
    """What the last run in this home printed."""
    return (job.home / "output").read_text(errors="replace")


def environment(home: Path) -> dict[str, str]:
    """Nothing of the user's: no agent, no configuration, no cache."""
    return {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "LC_ALL": "C.UTF-8", "TZ": "UTC",
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "USER": "bench", "LOGNAME": "bench"}


def _wait(process: subprocess.Popen[bytes], timeout: float) -> tuple[int, float]:
    """Exit code and processor seconds. Whatever ends the wait early also ends the process and all it started."""
    alarm = threading.Timer(timeout, _kill_group, [process.pid])
    alarm.daemon = True
    alarm.start()
    try:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    finally:
        alarm.cancel()
        if process.returncode is None:
            _kill_group(process.pid)
            process.wait()
    return process.returncode, usage.ru_utime + usage.ru_stime


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def _wait_sessions(sshd: Sshd, client: int, known: set[int]) -> tuple[float, float]:
    """Until the server has ended its sessions, a moment after the client has gone, and so has what either side left
    behind: the bench inherits that (system.inherit_orphans). Returns the seconds of such orphans, client and server.
    """
    seconds = [0.0, 0.0]
    deadline = time.monotonic() + SESSION_END_SECONDS
    while True:
        orphans = set(own_children(os.getpid())) - known
        for pid in orphans:
            side = 0 if os.getsid(pid) == client else 1
            ended, _, usage = os.wait4(pid, os.WNOHANG)
            seconds[side] += usage.ru_utime + usage.ru_stime if ended else 0
        if not orphans and not children(sshd.process.pid):
            return seconds[0], seconds[1]
        if time.monotonic() > deadline:
            raise Failed("a process of the server does not end")
        time.sleep(0.01)


def _reaped_seconds(sshd: Sshd) -> float:
    """Processor time of all sessions that have ended."""
    fields = Path(f"/proc/{sshd.process.pid}/stat").read_bytes().rpartition(b")")[2].split()
    return (int(fields[13]) + int(fields[14])) / TICKS


def _wire(counter: Proxy | Link | None) -> int | None:
    return counter.wire() if counter else None


def _peak_kib(pids: list[int]) -> int:
    total = 0
    for pid in pids:
        with contextlib.suppress(OSError, ValueError):
            with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
                total += next((int(line.split()[1]) for line in status if line.startswith("VmHWM:")), 0)
    return total


def _last_words(log: Path) -> str:
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return " | ".join(lines[-3:]) or "no message"
