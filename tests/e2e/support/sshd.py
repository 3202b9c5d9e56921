# SPDX-License-Identifier: Apache-2.0
"""A private sshd on a free loopback port, with throw-away keys and a client configuration of its own.

Nothing of the user's ssh is read or written: `config` names the host, the port, the key and the known_hosts file, for
`--ssh-config` and for `-e 'ssh -F ...'`. It is stopped by its own process id.
"""
from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

HOST = "nbtest"  # the alias in the client configuration
PROGRAM = "/usr/sbin/sshd"


class Sshd:
    """Starts with the object, ends with close()."""

    program = PROGRAM
    settings = ""  # more lines for sshd_config, before the others: the first value holds
    matches = ""  # its Match blocks, which come last
    before: tuple[str, ...] = ()  # words before the command that starts it

    def __init__(self, work: Path) -> None:
        self.dir = work / "sshd"
        self.dir.mkdir(parents=True, mode=0o700)
        self.config = self.dir / "client_config"
        self.log = self.dir / "log"
        self._key("host_key")
        self._key("user_key")
        shutil.copy(self.dir / "user_key.pub", self.dir / "authorized_keys")
        for _ in range(5):  # another process may take the port between the look and the bind
            self.port = _free_port()
            self._write_configs()
            if self._start():
                return
        raise RuntimeError(f"sshd does not start:\n{self.log.read_text(errors='replace')}")

    @staticmethod
    def missing() -> str | None:
        """Why there can be no sshd here, or nothing."""
        if not os.path.exists(PROGRAM):
            return "no /usr/sbin/sshd (openssh-server)"
        if shutil.which("ssh") is None:
            return "no ssh client program"
        return None

    def _key(self, name: str) -> None:
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.dir / name)], check=True)

    def _write_configs(self) -> None:
        (self.dir / "sshd_config").write_text(
            f"{self.settings}ListenAddress 127.0.0.1\nPort {self.port}\nHostKey {self.dir}/host_key\n"
            f"PidFile {self.dir}/pid\n"
            f"AuthorizedKeysFile {self.dir}/authorized_keys\nStrictModes no\nUsePAM no\nPermitRootLogin yes\n"
            "PasswordAuthentication no\nKbdInteractiveAuthentication no\nMaxStartups 200\nMaxSessions 100\n"
            f"LogLevel VERBOSE\nPrintMotd no\n{self.matches}"
        )
        host_key = (self.dir / "host_key.pub").read_text().split()
        (self.dir / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {host_key[0]} {host_key[1]}\n")
        self.config.write_text(
            f"Host {HOST}\n  HostName 127.0.0.1\n  Port {self.port}\n  User {getpass.getuser()}\n"
            f"  IdentityFile {self.dir}/user_key\n  UserKnownHostsFile {self.dir}/known_hosts\n"
            "  StrictHostKeyChecking yes\n"
        )

    def _start(self) -> bool:
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
        self.process = subprocess.Popen([*self.before, self.program, "-D", "-f", str(self.dir / "sshd_config"), "-E",
                                         str(self.log)], stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and self.process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return True
            time.sleep(0.02)
        self.close()
        return False

    @property
    def rsh(self) -> str:
        """For -e."""
        return f"ssh -F {self.config} -p {self.port}"

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]
