# SPDX-License-Identifier: Apache-2.0
"""The ways from client to server: a private sshd, reached over loopback, through the proxy, or over a shaped link.

Keys are thrown away at the end, nothing of the user's ssh is read or written, and one cipher is forced on all tools by
the server. A shaped link is a veth pair between two network namespaces of the bench's own; the processes enter them
with nsenter, which leaves their mounts alone (`ip netns exec` would not see what is mounted later).
"""
from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

from system import command, undisturbed

HOST = "nbbench"  # the alias in every client configuration
SSHD = "/usr/sbin/sshd"
SFTP = ("/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server", "/usr/lib/ssh/sftp-server")


def missing() -> str | None:
    """Why there can be no private sshd here, or nothing."""
    for program in (SSHD, "ssh", "ssh-keygen", "rsync"):
        if shutil.which(program) is None:
            return f"no {program}"
    return None


def default_cipher() -> str:
    """What is fastest here: AES with an instruction for it, else ChaCha20."""
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as info:
        has_aes = any(" aes" in line for line in info if line.startswith(("flags", "Features")))
    return "aes128-gcm@openssh.com" if has_aes else "chacha20-poly1305@openssh.com"


class Sshd:
    """One server on one address; `prefix` puts it into a network namespace."""

    def __init__(self, work: Path, cipher: str, address: str, port: int, prefix: list[str]) -> None:
        self.dir, self.cipher, self.address, self.port = work, cipher, address, port
        self.dir.mkdir(mode=0o700)
        for name in ("host_key", "user_key"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(work / name)], check=True)
        shutil.copy(work / "user_key.pub", work / "authorized_keys")
        sftp = next((path for path in SFTP if os.path.exists(path)), "internal-sftp")
        (work / "sshd_config").write_text(
            f"ListenAddress {address}\nPort {port}\nHostKey {work}/host_key\nPidFile none\nSubsystem sftp {sftp}\n"
            f"AuthorizedKeysFile {work}/authorized_keys\nStrictModes no\nUsePAM no\nPermitRootLogin yes\n"
            f"PasswordAuthentication no\nKbdInteractiveAuthentication no\nMaxStartups 100\nPrintMotd no\n"
            f"Ciphers {cipher}\nCompression no\nUseDNS no\n")
        os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
        self.process = subprocess.Popen([*prefix, SSHD, "-D", "-f", str(work / "sshd_config"), "-E", str(work / "log")],
                                        stdin=subprocess.DEVNULL, start_new_session=True)

    def client_config(self, address: str, port: int) -> Path:
        """A configuration that reaches this server at another address."""
        name = f"{address}-{port}"
        kind, key = (self.dir / "host_key.pub").read_text().split()[:2]
        (self.dir / f"known-{name}").write_text(f"[{address}]:{port} {kind} {key}\n")
        config = self.dir / f"config-{name}"
        config.write_text(
            f"Host {HOST}\n  HostName {address}\n  Port {port}\n  User {getpass.getuser()}\n"
            f"  IdentityFile {self.dir}/user_key\n  UserKnownHostsFile {self.dir}/known-{name}\n"
            f"  StrictHostKeyChecking yes\n  Ciphers {self.cipher}\n  Compression no\n")
        return config

    def wait_ready(self, prefix: list[str]) -> None:
        """Until a login works; an sshd that has ended says why."""
        config = self.client_config(self.address, self.port)
        deadline = time.monotonic() + 15
        while time.monotonic() < deadline and self.process.poll() is None:
            probe = subprocess.run([*prefix, "ssh", "-F", str(config), "-o", "BatchMode=yes", HOST, "true"],
                                   stdin=subprocess.DEVNULL, capture_output=True)
            if probe.returncode == 0:
                return
            time.sleep(0.05)
        raise RuntimeError(f"sshd does not start:\n{(self.dir / 'log').read_text(errors='replace')}")

    def close(self) -> None:
        """The listener and the sessions that are left, all of them its children."""
        for pid in [*children(self.process.pid), self.process.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 15)
        self.process.wait()


def children(pid: int) -> list[int]:
    """All descendants of a process that live now or have not been waited for."""
    below = _by_parent()
    found, todo = [], [pid]
    while todo:
        own = below.get(todo.pop(), [])
        found += own
        todo += own
    return found


def own_children(pid: int) -> list[int]:
    """Those of them whose parent it is."""
    return _by_parent().get(pid, [])


def _by_parent() -> dict[int, list[int]]:
    below: dict[int, list[int]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, ValueError):
            with open(f"/proc/{name}/stat", "rb") as stat:
                parent = int(stat.read().rpartition(b")")[2].split()[1])
            below.setdefault(parent, []).append(int(name))
    return below


class Proxy:
    """bench/delay_proxy.py as a process; ends with its standard input."""

    def __init__(self, sshd: Sshd, delay_ms: float) -> None:
        program = Path(__file__).with_name("delay_proxy.py")
        self.process = subprocess.Popen(
            [sys.executable, str(program), "--to", f"{sshd.address}:{sshd.port}", "--delay-ms", str(delay_ms)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.port = int(self._line())

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def wire(self) -> int:
        """Bytes so far, both ways."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return sum(map(int, self._line().split()))

    def close(self) -> None:
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()


class Link:
    """Two namespaces and a veth pair; both ends send through a token bucket."""

    CLIENT, SERVER = "192.0.2.1", "192.0.2.2"  # reserved for documentation: no route leads there

    def __init__(self, stack: contextlib.ExitStack) -> None:
        tag = f"nbb{os.getpid()}"
        self.names = [f"{tag}c", f"{tag}s"]
        for name in self.names:
            with undisturbed():
                command("ip", "netns", "add", name)
                stack.callback(command, "ip", "netns", "del", name)  # takes the veth pair with it
        command("ip", "link", "add", "nb0", "netns", self.names[0], "type", "veth", "peer", "name", "nb0",
            "netns", self.names[1])
        for name, address in zip(self.names, (self.CLIENT, self.SERVER)):
            command("ip", "-n", name, "addr", "add", f"{address}/24", "dev", "nb0")
            command("ip", "-n", name, "link", "set", "nb0", "up")

    def prefix(self, end: int) -> list[str]:
        return ["nsenter", f"--net=/run/netns/{self.names[end]}", "--"]

    def shape(self, mbit: int) -> None:
        burst = "32kb" if mbit <= 100 else "256kb"
        for end in (0, 1):
            command(*self.prefix(end), "tc", "qdisc", "replace", "dev", "nb0", "root", "tbf", "rate", f"{mbit}mbit",
                    "burst", burst, "latency", "50ms")

    def wire(self) -> int:
        """Bytes so far, both ways, headers of TCP and IP included."""
        for line in command(*self.prefix(0), "cat", "/proc/net/dev").splitlines():
            name, _, counts = line.partition(":")
            if name.strip() == "nb0":
                fields = counts.split()
                return int(fields[0]) + int(fields[8])
        raise RuntimeError("no interface nb0")


class Route:
    """What a tool needs to reach the server, and what the bench needs to measure it."""

    def __init__(self, sshd: Sshd, config: Path, counter: Proxy | Link | None, prefix: list[str]) -> None:
        self.sshd, self.config, self.counter, self.prefix = sshd, config, counter, prefix

    @property
    def rsh(self) -> str:
        return f"ssh -F {self.config}"


class Routes:
    """Makes each route when it is first asked for; the stack takes all of them down."""

    def __init__(self, work: Path, cipher: str, stack: contextlib.ExitStack) -> None:
        self.work, self.cipher, self.stack = work, cipher, stack
        self.known: dict[str, Route] = {}
        self.link: Link | None = None
        self.sshd = self._sshd("sshd", "127.0.0.1", _free_port(), [], [])

    def _sshd(self, name: str, address: str, port: int, server: list[str], client: list[str]) -> Sshd:
        with undisturbed():
            sshd = Sshd(self.work / name, self.cipher, address, port, server)
            self.stack.callback(sshd.close)
        sshd.wait_ready(client)
        return sshd

    def get(self, name: str) -> Route:
        """loopback, counted (loopback through a counting proxy), delay, or link MBIT."""
        kind, _, value = name.partition(" ")
        if kind == "link":
            route = self._linked()
            assert self.link is not None
            self.link.shape(int(value))
            return route
        if name not in self.known:
            self.known[name] = self._loopback(kind)
        return self.known[name]

    def _loopback(self, kind: str) -> Route:
        if kind == "loopback":
            return Route(self.sshd, self.sshd.client_config("127.0.0.1", self.sshd.port), None, [])
        with undisturbed():
            proxy = Proxy(self.sshd, 20 if kind == "delay" else 0)
            self.stack.callback(proxy.close)
        return Route(self.sshd, self.sshd.client_config("127.0.0.1", proxy.port), proxy, [])

    def _linked(self) -> Route:
        if self.link is None:
            self.link = Link(self.stack)
            client, server = self.link.prefix(0), self.link.prefix(1)
            sshd = self._sshd("sshd-link", Link.SERVER, 2222, server, client)
            self.known["link"] = Route(sshd, sshd.client_config(Link.SERVER, 2222), self.link, client)
        return self.known["link"]


def link_missing() -> str | None:
    """Why there can be no shaped link here, or nothing."""
    for program in ("ip", "tc", "nsenter"):
        if shutil.which(program) is None:
            return f"no {program}"
    name = f"nbb{os.getpid()}t"
    try:
        command("ip", "netns", "add", name)
    except RuntimeError as error:
        return str(error)
    try:
        command("ip", "-n", name, "link", "add", "nb0", "type", "veth", "peer", "name", "nb1")
        command("nsenter", f"--net=/run/netns/{name}", "--", "tc", "qdisc", "replace", "dev", "nb0", "root", "tbf",
                "rate", "1mbit", "burst", "32kb", "latency", "50ms")
    except RuntimeError as error:
        return str(error)
    finally:
        command("ip", "netns", "del", name)
    return None


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])

