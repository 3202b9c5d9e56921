# SPDX-License-Identifier: Apache-2.0
"""A private sshd of nssh (the patched OpenSSH that nssh/build makes), and its ssh program.

What scripts/build-ssh has staged, or what NBACKUP_NSSH names: DIR/opt/nssh after `nssh/build --stage DIR`.
"""
from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from .sshd import HOST, PROGRAM, Sshd

PREFIX = os.environ.get("NBACKUP_NSSH") or str(Path(__file__).resolve().parents[3] / "build/nssh/opt/nssh")
SSH = f"{PREFIX}/bin/ssh"
# What PostAuthNone asks for; Sshd says no to both kinds of passwords.
SAFE = "PermitTTY no\nDisableForwarding yes\n"


def missing() -> str | None:
    """Why there can be no nssh here, or nothing."""
    if not os.access(SSH, os.X_OK):
        return f"no nssh: no {SSH}; run scripts/build-ssh"
    return Sshd.missing()


class Nssh(Sshd):
    """With these lines first in its sshd_config, these Match blocks last; `stock`: the system's sshd instead."""

    def __init__(self, work: Path, settings: str = "", matches: str = "", stock: bool = False,
                 before: tuple[str, ...] = ()) -> None:
        self.program = PROGRAM if stock else f"{PREFIX}/sbin/sshd"
        self.settings = settings if stock else _settings() + settings
        self.matches = matches
        self.before = before
        self.agent_pid = 0
        if os.geteuid() == 0:
            os.makedirs("/run/nssh", mode=0o755, exist_ok=True)
        super().__init__(work)

    def ssh(self, *words: str, program: str = SSH, port: int = 0, stdin: bytes = b"",
            timeout: float = 120) -> subprocess.CompletedProcess[bytes]:
        """Runs an ssh program (nssh's by default) with this server; words: options, then the remote command after the
        host name, which is put in place of `{}`."""
        target = ["-p", str(port), "-o", f"HostKeyAlias=[127.0.0.1]:{self.port}"] if port else []
        argv = [program, "-F", str(self.config), *target, *(HOST if word == "{}" else word for word in words)]
        return subprocess.run(argv, input=stdin, capture_output=True, timeout=timeout)

    def agent_socket(self) -> str:
        """Of an ssh-agent that holds the user's key."""
        path = str(self.dir / "agent")
        if not self.agent_pid:
            # It goes into the background once it listens.
            said = subprocess.run(["ssh-agent", "-s", "-a", path], capture_output=True, check=True).stdout
            self.agent_pid = int(said.split(b"SSH_AGENT_PID=")[1].split(b";")[0])
            subprocess.run(["ssh-add", "-q", str(self.dir / "user_key")], check=True,
                           env={**os.environ, "SSH_AUTH_SOCK": path})
        return path

    def log_text(self) -> str:
        return self.log.read_text(errors="replace")

    def close(self) -> None:
        if self.agent_pid:
            os.kill(self.agent_pid, signal.SIGTERM)
        super().close()


def _settings() -> str:
    """The key exchange of rawssh.py, and what sshd 9.8 and later need: they start programs of their own, from the place
    they were built for unless told, and refuse addresses that failed before."""
    lines = "KexAlgorithms +diffie-hellman-group14-sha256\n"
    for name, key in (("sshd-session", "SshdSessionPath"), ("sshd-auth", "SshdAuthPath")):
        if os.path.exists(path := f"{PREFIX}/libexec/{name}"):
            lines += f"{key} {path}\n"
    if "SshdSessionPath" in lines:
        lines += "PerSourcePenalties no\n"
    return lines
