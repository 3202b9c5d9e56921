# SPDX-License-Identifier: Apache-2.0
"""A TCP proxy on a free loopback port: keeps what passes, and inverts one bit of it when told to.

It does not know SSH: what it can find in the bytes, anybody on the network can.
"""
from __future__ import annotations

import contextlib
import socket
import threading


class TcpProxy:
    """Serves connections until close(). `up` is what clients sent, `down` what the server sent.

    `flip_up` and `flip_down` are texts: in the first place where it passes that way, one bit of it is inverted.
    `flip_down_at` is an offset into what the server sends, for where no text can be found.
    """

    def __init__(self, target_port: int, flip_up: bytes = b"", flip_down: bytes = b"", flip_down_at: int = -1) -> None:
        self.target_port = target_port
        self.up, self.down = bytearray(), bytearray()
        self.flips = {"up": flip_up, "down": flip_down}
        self.flip_down_at = flip_down_at
        self.flipped = False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self.listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(("127.0.0.1", self.target_port)) as server:
            down = threading.Thread(target=self._pump, args=(server, client, "down", self.down), daemon=True)
            down.start()
            self._pump(client, server, "up", self.up)
            down.join()

    def _pump(self, source: socket.socket, sink: socket.socket, way: str, record: bytearray) -> None:
        try:
            while block := source.recv(1 << 16):
                sink.sendall(self._damage(block, way, len(record)))
                record += block
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            # Not close(): the other thread may stand in recv(), and the peer would learn nothing.
            for end in (source, sink):
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def _damage(self, block: bytes, way: str, offset: int) -> bytes:
        text = self.flips[way]
        at = block.find(text) if text else -1
        if way == "down" and offset <= self.flip_down_at < offset + len(block):
            at = self.flip_down_at - offset
        if self.flipped or at < 0:
            return block
        self.flipped = True
        return block[:at] + bytes([block[at] ^ 0x10]) + block[at + 1 :]
