# SPDX-License-Identifier: Apache-2.0
"""An SSH client that says what it is told to, to see what a server makes of it: any algorithms in any key exchange.

Enough of RFC 4253 and RFC 4252 for that: diffie-hellman-group14-sha256, aes128-ctr or none, hmac-sha2-256 or none, and
public key login with a key that ssh-agent holds. The server's host key is not checked. The AES key stream comes from
the openssl program; a connection may use k_stream bytes of it each way between two key exchanges.
"""
from __future__ import annotations

import hashlib
import hmac
import os
import socket
import struct
import subprocess

DISCONNECT, UNIMPLEMENTED, SERVICE_REQUEST, EXT_INFO, KEXINIT, NEWKEYS, KEXDH_INIT = 1, 3, 5, 7, 20, 21, 30
KEXDH_REPLY, USERAUTH_REQUEST, USERAUTH_SUCCESS, GLOBAL_REQUEST, DEBUG, IGNORE = 31, 50, 52, 80, 4, 2
KEX, HOST_KEYS = "diffie-hellman-group14-sha256", "ssh-ed25519"
CIPHERS, MACS = "aes128-ctr", "hmac-sha2-256"
LISTS = ("kex", "host_key", "cipher_up", "cipher_down", "mac_up", "mac_down", "zip_up", "zip_down", "lang_up",
         "lang_down")
K_STREAM = 1 << 20

# RFC 3526, section 3.
GROUP14 = int("""
FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DDEF9519B3CD3A431B302B0A6D
F25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7EDEE386BFB5A899FA5AE9F24117C4B1FE649286651ECE45B3D
C2007CB8A163BF0598DA48361C55D39A69163FA8FD24CF5F83655D23DCA3AD961C62F356208552BB9ED529077096966D670C354E4ABC9804F1746C08
CA18217C32905E462E36CE3BE39E772C180E86039B2783A2EC07A28FB5C55DF06F4C52C9DE2BCBF6955817183995497CEA956AE515D2261898FA0510
15728E5A8AACAA68FFFFFFFFFFFFFFFF""".replace("\n", ""), 16)


class Disconnected(Exception):
    """The server ended the connection; the text is its reason, if it gave one."""


def string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def mpint(number: int) -> bytes:
    return string(number.to_bytes(number.bit_length() // 8 + 1, "big"))


class Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data

    def take(self, size: int) -> bytes:
        head, self.data = self.data[:size], self.data[size:]
        if len(head) < size:
            raise Disconnected("a message is too short")
        return head

    def string(self) -> bytes:
        return self.take(struct.unpack(">I", self.take(4))[0])


class Direction:
    """Cipher, MAC and sequence number of one direction; in clear until keys() is called."""

    def __init__(self) -> None:
        self.sequence, self.stream, self.used, self.mac_key = 0, b"", 0, b""

    def keys(self, cipher: str, mac: str, key: bytes, iv: bytes, mac_key: bytes) -> None:
        self.stream = b"" if cipher == "none" else _key_stream(key[:16], iv[:16])
        self.mac_key = b"" if mac == "none" else mac_key[:32]
        self.used = 0

    def crypt(self, data: bytes) -> bytes:
        if not self.stream:
            return data
        pad = self.stream[self.used : self.used + len(data)]
        assert len(pad) == len(data), "more than K_STREAM bytes"
        self.used += len(data)
        return (int.from_bytes(data, "big") ^ int.from_bytes(pad, "big")).to_bytes(len(data), "big")

    def tag(self, packet: bytes) -> bytes:
        if not self.mac_key:
            return b""
        return hmac.digest(self.mac_key, struct.pack(">I", self.sequence) + packet, "sha256")


def _key_stream(key: bytes, iv: bytes) -> bytes:
    return subprocess.run(["openssl", "enc", "-aes-128-ctr", "-K", key.hex(), "-iv", iv.hex()], input=bytes(K_STREAM),
                          stdout=subprocess.PIPE, check=True).stdout


class RawSsh:
    """One connection. Every method raises Disconnected when the server ends it."""

    def __init__(self, port: int) -> None:
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.up, self.down = Direction(), Direction()
        self.session = b""
        self.sock.sendall(b"SSH-2.0-raw\r\n")
        self.versions = (b"SSH-2.0-raw", self._line())

    def close(self) -> None:
        self.sock.close()

    def _line(self) -> bytes:
        line = b""
        while not line.endswith(b"\n"):
            line += self._read(1)
        return line.rstrip(b"\r\n")

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            try:
                block = self.sock.recv(size - len(data))
            except ConnectionResetError:
                block = b""
            if not block:
                raise Disconnected("the connection was closed")
            data += block
        return data

    def send(self, payload: bytes) -> None:
        padding = 16 - (len(payload) + 5) % 16
        padding += 16 if padding < 4 else 0
        packet = struct.pack(">IB", len(payload) + padding + 1, padding) + payload + bytes(padding)
        try:
            self.sock.sendall(self.up.crypt(packet) + self.up.tag(packet))
        except OSError as error:
            raise Disconnected(str(error)) from None
        self.up.sequence += 1

    def receive(self) -> bytes:
        """The payload of the next packet that is not small talk."""
        while True:
            payload = self._packet()
            if payload[0] == DISCONNECT:
                raise Disconnected(payload[9:].decode(errors="replace"))
            if payload[0] not in (IGNORE, DEBUG, EXT_INFO, GLOBAL_REQUEST):
                return payload

    def _packet(self) -> bytes:
        block = 16 if self.down.stream else 8
        head = self.down.crypt(self._read(block))
        length = struct.unpack(">I", head[:4])[0]
        packet = head + self.down.crypt(self._read(4 + length - block))
        tag = self.down.tag(packet)
        if self._read(len(tag)) != tag:
            raise Disconnected("a tag of the server is wrong")
        self.down.sequence += 1
        return packet[5 : 4 + length - packet[4]]

    def expect(self, kind: int) -> bytes:
        payload = self.receive()
        if payload[0] != kind:
            raise Disconnected(f"message {payload[0]} where {kind} was due")
        return payload

    def exchange(self, ciphers: str = CIPHERS, macs: str = MACS) -> dict[str, list[str]]:
        """A key exchange with these proposals, both ways. Returns the server's lists; the first cipher and MAC that
        both have are in use after it."""
        lists = (KEX, HOST_KEYS, ciphers, ciphers, macs, macs, "none", "none", "", "")
        mine = bytes([KEXINIT]) + os.urandom(16) + b"".join(string(one.encode()) for one in lists) + bytes(5)
        self.send(mine)
        theirs = self.expect(KEXINIT)
        reader = Reader(theirs[17:])
        self.offer = {name: reader.string().decode().split(",") for name in LISTS}
        secret = int.from_bytes(os.urandom(32), "big")
        public = pow(2, secret, GROUP14)
        self.send(bytes([KEXDH_INIT]) + mpint(public))
        reply = Reader(self.expect(KEXDH_REPLY)[1:])
        host_key, server_public = reader_strings(reply, 2)
        shared = mpint(pow(int.from_bytes(server_public, "big"), secret, GROUP14))
        parts = [*self.versions, mine, theirs, host_key]
        hashed = hashlib.sha256(b"".join(map(string, parts)) + mpint(public) + string(server_public) + shared).digest()
        self._new_keys(shared, hashed, ciphers, macs)
        return self.offer

    def _new_keys(self, shared: bytes, hashed: bytes, ciphers: str, macs: str) -> None:
        self.session = self.session or hashed
        derived = {letter: hashlib.sha256(shared + hashed + letter + self.session).digest()
                   for letter in (b"A", b"B", b"C", b"D", b"E", b"F")}
        self.send(bytes([NEWKEYS]))
        self.up.keys(_first(ciphers, self.offer["cipher_up"]), _first(macs, self.offer["mac_up"]), derived[b"C"],
                     derived[b"A"], derived[b"E"])
        self.expect(NEWKEYS)
        self.down.keys(_first(ciphers, self.offer["cipher_down"]), _first(macs, self.offer["mac_down"]), derived[b"D"],
                       derived[b"B"], derived[b"F"])

    def login(self, user: str, agent: str) -> None:
        """With the first key that the agent at this socket holds."""
        self.send(bytes([SERVICE_REQUEST]) + string(b"ssh-userauth"))
        self.expect(SERVICE_REQUEST + 1)
        key = _agent_key(agent)
        request = (bytes([USERAUTH_REQUEST]) + string(user.encode()) + string(b"ssh-connection") + string(b"publickey")
                   + b"\x01" + string(b"ssh-ed25519") + string(key))
        answer = _ask_agent(agent, bytes([13]) + string(key) + string(string(self.session) + request) + bytes(4))
        self.send(request + answer[1:])
        self.expect(USERAUTH_SUCCESS)


def reader_strings(reader: Reader, count: int) -> list[bytes]:
    return [reader.string() for _ in range(count)]


def _first(mine: str, theirs: list[str]) -> str:
    return next(name for name in mine.split(",") if name in theirs)


def _agent_key(agent: str) -> bytes:
    return Reader(_ask_agent(agent, bytes([11]))[5:]).string()


def _ask_agent(agent: str, request: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(agent)
        sock.sendall(string(request))
        head = sock.recv(4, socket.MSG_WAITALL)
        return sock.recv(struct.unpack(">I", head)[0], socket.MSG_WAITALL)
