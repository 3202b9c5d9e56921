#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plays one direction of a (doctored) recorded session to a real nbackup.

A script is a list of steps (wait, bytes): send the bytes once the other side has sent `wait` bytes in all, or has been
silent for PATIENCE seconds (a doctored session need not get the answers of the recorded one). As a program it is a
remote shell (-e): `player.py SCRIPT-FILE host command...` plays to its standard output.
"""
from __future__ import annotations

import os
import pickle
import select
import sys
import time
from pathlib import Path

PATIENCE = 0.25
Step = tuple[int, bytes]


def play(script: list[Step], to_fd: int, from_fd: int, limit: float = 30) -> int:
    """Plays all steps, then closes nothing; returns the bytes received. Stops early when the victim hangs up."""
    got = 0
    deadline = time.monotonic() + limit
    for wait, data in script:
        while got < wait and time.monotonic() < deadline:
            ready, _, _ = select.select([from_fd], [], [], PATIENCE)
            block = os.read(from_fd, 65536) if ready else b""
            if not block:
                break
            got += len(block)
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(to_fd, view) :]
        except OSError:
            break
    return got


def drain(from_fd: int, limit: float = 30) -> None:
    """Reads until the end, so that the victim never blocks on us."""
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        ready, _, _ = select.select([from_fd], [], [], 1)
        if ready and not os.read(from_fd, 65536):
            return


def steps(prefix: Path, way: str) -> list[Step]:
    """The script of a session recorded by proxy.py."""
    data = prefix.with_suffix("." + way).read_bytes()
    marks = [tuple(map(int, line.split())) for line in Path(f"{prefix}.{way}.time").read_text().splitlines()]
    ends = [mark[0] for mark in marks[1:]] + [len(data)]
    return [(other, data[begin:end]) for (begin, other), end in zip(marks, ends)]


def rescript(script: list[Step], parts: list[bytes], bounds: list[int]) -> list[Step]:
    """New frames in the old rhythm: frame i is sent when the step that held the begin of the old frame i was."""
    starts, at = [], 0
    for wait, data in script:
        starts.append((at, wait))
        at += len(data)
    out = []
    for number, part in enumerate(parts):
        begin = bounds[min(number, len(bounds) - 1)]
        wait = max((w for start, w in starts if start <= begin), default=0)
        out.append((wait, part))
    return out


def main() -> int:
    with open(sys.argv[1], "rb") as file:
        script = pickle.load(file)  # noqa: S301: written by the test itself
    play(script, 1, 0)
    os.close(1)
    drain(0, 10)
    return 0


if __name__ == "__main__":
    sys.exit(main())
