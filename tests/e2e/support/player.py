#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plays one direction of a (doctored) recorded session to a real nbackup.

A script is a list of steps (wait, bytes): send the bytes once the other side has sent `wait` bytes in all, or has been
silent for PATIENCE seconds (a doctored session need not get the answers of the recorded one; after the first that does
not come there is little hope for the others). Once the other side has ended its direction nothing more is sent. As a
program it is a remote shell (-e): `player.py SCRIPT-FILE host command...` plays to its standard output.
"""
from __future__ import annotations

import contextlib
import os
import pickle
import select
import socket
import stat
import sys
import time

PATIENCE, LITTLE_PATIENCE = 1.0, 0.1
STARTING_PATIENCE = 5.0  # a program takes its time to start where the machine is busy
Step = tuple[int, bytes]


class Player:
    """Sends and receives at once, so that neither side can block the other."""

    def __init__(self, to_fd: int, from_fd: int, limit: float) -> None:
        self.to_fd, self.from_fd = to_fd, from_fd
        self.deadline = time.monotonic() + limit
        self.received = bytearray()
        self.ended = False
        os.set_blocking(to_fd, False)

    def _receive(self, patience: float) -> bool:
        """One block; False after silence or the end."""
        if not select.select([self.from_fd], [], [], patience)[0]:
            return False
        block = os.read(self.from_fd, 65536)
        self.received += block
        self.ended = not block
        return not self.ended

    def _send(self, data: bytes) -> None:
        view = memoryview(data)
        while view and not self.ended and time.monotonic() < self.deadline:
            readable, writable, _ = select.select([self.from_fd], [self.to_fd], [], 1)
            if readable:
                self._receive(0)
            if writable and not self.ended:
                view = view[os.write(self.to_fd, view) :]

    def play(self, script: list[Step]) -> None:
        patience = PATIENCE
        for wait, data in script:
            while len(self.received) < wait and not self.ended and time.monotonic() < self.deadline:
                if not self._receive(patience if self.received else STARTING_PATIENCE):
                    patience = LITTLE_PATIENCE
                    break
            try:
                self._send(data)
            except OSError:
                return

    def drain(self) -> None:
        """Reads until the end, so that the victim never blocks on us."""
        while not self.ended and time.monotonic() < self.deadline:
            self._receive(1)


def end_writing(to_fd: int) -> None:
    """The victim sees our end, also where both directions are one socket."""
    if stat.S_ISSOCK(os.fstat(to_fd).st_mode):
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(to_fd)) as line:
            line.shutdown(socket.SHUT_WR)
    os.close(to_fd)


def play(script: list[Step], to_fd: int, from_fd: int, limit: float = 30) -> bytes:
    """Plays all steps, closes `to_fd` and returns all that was received until the other side's end."""
    player = Player(to_fd, from_fd, limit)
    player.play(script)
    end_writing(to_fd)
    player.drain()
    return bytes(player.received)


def steps(prefix: str, way: str) -> list[Step]:
    """The script of a session recorded by proxy.py."""
    with open(f"{prefix}.{way}", "rb") as file:
        data = file.read()
    with open(f"{prefix}.{way}.time", encoding="ascii") as file:
        marks = [tuple(map(int, line.split())) for line in file]
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
    return 0


if __name__ == "__main__":
    sys.exit(main())
