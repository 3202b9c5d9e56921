#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A remote shell (-e) around another one that counts, records, cuts or damages what passes.

    proxy.py [--count FILE] [--record PREFIX] [--plain] [--cut-up N] [--cut-down N] [--flip-up N] [--flip-down N]
             -- COMMAND...

`up` is from the client to the server. A cut passes exactly N bytes of that direction and then ends both. A flip inverts
one bit of the byte at offset N. --count writes "up down" when all is over; --record writes PREFIX.up and PREFIX.down,
and for each block in PREFIX.up.time and PREFIX.down.time how many bytes had passed this way and the other before it.
--plain takes the features out of both hellos, so that what is recorded uses none.
"""
from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import threading

import peer  # noqa: I001: beside this program


class Pump(threading.Thread):
    """Copies one direction until its end, its cut, or an error of either side."""

    def __init__(self, source: int, target: int, cut: int | None, flip: int | None, record: str | None,
                 plain: bool) -> None:
        super().__init__(daemon=True)
        self.source, self.target, self.cut, self.flip = source, target, cut, flip
        self.total = 0
        self.sent_by_source = 0  # before --plain took something out
        self.hello: bytes | None = b"" if plain else None  # what has come of it
        self.was_cut = cut == 0
        self.record = open(record, "wb") if record else None  # noqa: SIM115: lives as long as the process
        self.times = open(record + ".time", "w", encoding="ascii") if record else None  # noqa: SIM115
        self.other: Pump | None = None

    def run(self) -> None:
        try:
            while not self.was_cut and (block := os.read(self.source, 65536)):
                self._pass(block)
        except OSError:
            pass
        if self.record and self.times:
            self.record.close()
            self.times.close()
        if not self.was_cut:
            os.close(self.target)

    def _plain(self, block: bytes) -> bytes:
        """Holds the first frame back until it can be passed without features."""
        if self.hello is None:
            return block
        self.hello += block
        found = peer.plain_hello(self.hello)
        if found is None:
            return b""
        rest, self.hello = self.hello[found[1] :], None
        return found[0] + rest

    def _pass(self, block: bytes) -> None:
        self.sent_by_source += len(block)
        block = self._plain(block)
        if not block:
            return
        if self.cut is not None and self.total + len(block) >= self.cut:
            block = block[: self.cut - self.total]
            self.was_cut = True
        if self.flip is not None and self.total <= self.flip < self.total + len(block):
            at = self.flip - self.total
            block = block[:at] + bytes([block[at] ^ 0x10]) + block[at + 1 :]
        if self.record and self.times:
            self.record.write(block)
            self.record.flush()
            self.times.write(f"{self.total} {self.other.sent_by_source if self.other else 0}\n")
            self.times.flush()
        self.total += len(block)
        view = memoryview(block)
        while view:
            view = view[os.write(self.target, view) :]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count")
    parser.add_argument("--record")
    parser.add_argument("--plain", action="store_true")
    for name in ("cut", "flip"):
        for way in ("up", "down"):
            parser.add_argument(f"--{name}-{way}", type=int)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    args = parser.parse_args()
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin and child.stdout
    to_child = os.dup(child.stdin.fileno())
    child.stdin.close()
    up = Pump(0, to_child, args.cut_up, args.flip_up, args.record and args.record + ".up", args.plain)
    down = Pump(child.stdout.fileno(), 1, args.cut_down, args.flip_down, args.record and args.record + ".down",
                args.plain)
    up.other, down.other = down, up
    up.start()
    down.start()
    while down.is_alive() and not up.was_cut:
        down.join(0.02)
    if up.was_cut or down.was_cut:
        code = 255  # our end closes both pipes, as a lost connection does; the command is not killed
    else:
        code = child.wait()
    if args.count:
        with open(args.count, "w", encoding="ascii") as out:
            out.write(f"{up.total} {down.total}\n")
    os._exit(code if code >= 0 else 255)


if __name__ == "__main__":
    sys.exit(main())
