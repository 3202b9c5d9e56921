#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A TCP forwarder that makes a link long: every byte arrives a fixed time later, and as many a second as before.

bench/run starts it as a program of its own; with a delay of 0 it only counts. The setup of a connection costs what it
would on the long link: one round trip until the client may speak, one and a half until the server may. The windows of
TCP are not simulated: both connections end on this machine, so what is seen is the delay alone, not a slow start.

It prints its port, then one line "UP DOWN" (bytes since its start) for each line on standard input, and ends with it,
so that it cannot outlive the program that started it.
"""
from __future__ import annotations

import argparse
import collections
import select
import socket
import sys
import time

READ_BYTES = 256 << 10
QUEUE_BYTES = 256 << 20  # far above what any window keeps under way; bounds the memory of this process


class Pipe:
    """One direction of one connection."""

    def __init__(self, source: socket.socket, target: socket.socket, delay: float, opens: float) -> None:
        self.source, self.target, self.delay = source, target, delay
        self.opens = opens  # no byte counts as sent before this instant
        self.queue: collections.deque[tuple[float, memoryview]] = collections.deque()
        self.queued = self.total = 0
        self.ended = self.closed = False

    def wants_read(self) -> bool:
        return not self.ended and self.queued < QUEUE_BYTES

    def due(self) -> float | None:
        """When there is something to do for the target, or nothing."""
        if self.queue:
            return self.queue[0][0]
        return None

    def read(self) -> None:
        try:
            data = self.source.recv(READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self.ended = not data
        self.queue.append((max(time.monotonic(), self.opens) + self.delay, memoryview(data)))
        self.queued += len(data)
        self.total += len(data)

    def write(self, now: float) -> None:
        """Sends what is due, as much as the target takes. The empty piece at the end closes it."""
        try:
            while self.queue and self.queue[0][0] <= now:
                due, data = self.queue.popleft()
                if not data:
                    self.closed = True
                    self.target.shutdown(socket.SHUT_WR)
                    return
                sent = 0
                try:
                    sent = self.target.send(data)
                finally:
                    self.queued -= sent
                    if sent < len(data):
                        self.queue.appendleft((due, data[sent:]))
                if sent < len(data):
                    return
        except BlockingIOError:
            return
        except OSError:
            self.closed = self.ended = True
            self.queue.clear()


class Proxy:
    """All connections and the counts."""

    def __init__(self, target: tuple[str, int], delay: float) -> None:
        self.target, self.delay = target, delay
        self.pipes: list[Pipe] = []
        self.past = [0, 0]  # bytes of connections that have ended: up, down
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.listener.setblocking(False)

    def accept(self) -> None:
        near, _ = self.listener.accept()
        far = socket.create_connection(self.target)
        for end in (near, far):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            end.setblocking(False)
        now = time.monotonic()
        self.pipes.append(Pipe(near, far, self.delay, now + 2 * self.delay))
        self.pipes.append(Pipe(far, near, self.delay, now + 3 * self.delay))

    def forget_closed(self) -> None:
        for up, down in zip(self.pipes[::2], self.pipes[1::2]):
            if up.closed and down.closed:
                self.past[0] += up.total
                self.past[1] += down.total
                up.source.close()
                up.target.close()
                self.pipes = [pipe for pipe in self.pipes if pipe not in (up, down)]

    def counts(self) -> str:
        up = self.past[0] + sum(pipe.total for pipe in self.pipes[::2])
        down = self.past[1] + sum(pipe.total for pipe in self.pipes[1::2])
        return f"{up} {down}"

    def step(self) -> bool:
        """Waits for something and does it. False at the end of standard input."""
        now = time.monotonic()
        dues = [due for pipe in self.pipes if (due := pipe.due()) is not None]
        readers = [pipe.source for pipe in self.pipes if pipe.wants_read()]
        writers = [pipe.target for pipe in self.pipes if (due := pipe.due()) is not None and due <= now]
        later = [due - now for due in dues if due > now]
        ready, _, _ = select.select([sys.stdin, self.listener, *readers], writers, [], min(later, default=None))
        if sys.stdin in ready:
            if not sys.stdin.readline():
                return False
            print(self.counts(), flush=True)
        if self.listener in ready:
            self.accept()
        for pipe in self.pipes:
            if pipe.source in ready:
                pipe.read()
            pipe.write(time.monotonic())
        self.forget_closed()
        return True


def main() -> None:
    parser = argparse.ArgumentParser(description="Forwards TCP connections to 127.0.0.1, each byte a fixed time later.")
    parser.add_argument("--to", required=True, metavar="HOST:PORT", help="where to")
    parser.add_argument("--delay-ms", type=float, default=20, help="delay each way (default 20)")
    options = parser.parse_args()
    host, _, port = options.to.rpartition(":")
    proxy = Proxy((host, int(port)), options.delay_ms / 1000)
    print(proxy.listener.getsockname()[1], flush=True)
    while proxy.step():
        pass


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
