# SPDX-License-Identifier: Apache-2.0
"""The tools that are compared: how each is told to push, pull, verify and restore a directory, and what it is to keep.

Each command leaves its destination equal to its source, under the same path. Those that do not sync by themselves say
so (`syncs`), and the bench does it for them within their time.
"""
from __future__ import annotations

import shlex
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import gauge
from route import HOST, Route


@dataclass
class Tool:
    """One row of a table: a label, the command as a reader would type it, and how to make it."""

    label: str
    shown: str                # the command with SRC and DST
    keeps: str = "-rlptgo"    # what its copy must have in common with the source, in rsync's letters
    syncs: bool = False
    program: str = ""         # what must be installed
    flags: list[str] = field(default_factory=list)

    def push(self, source: Path, target: Path, route: Route) -> list[str]:
        raise NotImplementedError

    def pull(self, source: Path, target: Path, route: Route) -> list[str]:
        raise NotImplementedError

    def verify(self, source: Path, target: Path, route: Route) -> list[str]:
        raise NotImplementedError

    def restore(self, pool: Path, target: Path, route: Route) -> list[str]:
        """From a file set of nbackup."""
        raise NotImplementedError

    def seed(self, source: Path, target: Path, _route: Route, _home: Path) -> None:
        """The state before a run that updates. Any copy with all metadata will do."""
        subprocess.run(["cp", "-a", "--reflink=never", str(source), str(target)], check=True)


class Nbackup(Tool):
    """nbackup; its set, its manifest and its caches are part of the state before an update."""

    def __init__(self, label: str, path: Path, carrier: str, flags: list[str]) -> None:
        super().__init__(label, shlex.join(["nbackup", "push", *flags]), syncs=True, program=str(path), flags=flags)
        self.path, self.carrier = path, carrier

    def _words(self, command: str, route: Route) -> list[str]:
        ssh = ["--ssh-config", str(route.config)] if self.carrier == "libssh" else ["-e", route.rsh]
        return [str(self.path), command, "--remote-path", str(self.path), *ssh]

    def push(self, source: Path, target: Path, route: Route) -> list[str]:
        return [*self._words("push", route), *self.flags, f"{source}/", f"{HOST}:{target}"]

    def pull(self, source: Path, target: Path, route: Route) -> list[str]:
        return [*self._words("pull", route), f"{HOST}:{source}/", str(target)]

    def verify(self, source: Path, target: Path, route: Route) -> list[str]:
        return [*self._words("verify", route), f"{source}/", f"{HOST}:{target}"]

    def restore(self, pool: Path, target: Path, route: Route) -> list[str]:
        return [*self._words("restore", route), *self.flags, f"{HOST}:{pool}/", str(target)]

    def seed(self, source: Path, target: Path, route: Route, home: Path) -> None:
        gauge.run(gauge.Job(self.push(source, target, route), home, route))


class Rsync(Tool):
    def __init__(self, flags: list[str]) -> None:
        super().__init__(shlex.join(["rsync", *flags]), shlex.join(["rsync", *flags]), program="rsync", flags=flags)

    def _words(self, route: Route) -> list[str]:
        return ["rsync", *self.flags, "-e", route.rsh]

    def push(self, source: Path, target: Path, route: Route) -> list[str]:
        return [*self._words(route), f"{source}/", f"{HOST}:{target}/"]

    def pull(self, source: Path, target: Path, route: Route) -> list[str]:
        return [*self._words(route), f"{HOST}:{source}/", f"{target}/"]

    verify, restore = push, pull


class Scp(Tool):
    """Keeps whole seconds only. -O is the old protocol, which costs less a file."""

    def __init__(self, flags: str) -> None:
        super().__init__(f"scp {flags}", f"scp {flags}", keeps="-rlpt --modify-window=1", program="scp",
                         flags=flags.split())

    def push(self, source: Path, target: Path, route: Route) -> list[str]:
        return ["scp", "-F", str(route.config), "-q", *self.flags, str(source), f"{HOST}:{target}"]

    def pull(self, source: Path, target: Path, route: Route) -> list[str]:
        return ["scp", "-F", str(route.config), "-q", *self.flags, f"{HOST}:{source}", str(target)]


class Tar(Tool):
    """Its default format keeps whole seconds only."""

    def __init__(self) -> None:
        super().__init__("tar | ssh tar", "tar -C SRC -c . | ssh HOST tar -C DST -xp",
                         keeps="-rlptgo --modify-window=1", program="tar")

    def push(self, source: Path, target: Path, route: Route) -> list[str]:
        return _shell(f"tar -C {source} -cf - . | {route.rsh} {HOST} 'mkdir {target} && tar -C {target} -xpf -'")

    def pull(self, source: Path, target: Path, route: Route) -> list[str]:
        return _shell(f"mkdir {target} && {route.rsh} {HOST} 'tar -C {source} -cf - .' | tar -C {target} -xpf -")


class Cat(Tool):
    """The one file of a source through the same ssh: to a file, or to nowhere, which is what the stream can carry."""

    def __init__(self, where: str) -> None:
        super().__init__(f"ssh cat >{where}", f"ssh HOST cat >{where}", keeps="-r", program="ssh")
        self.to_file = where == "FILE"
        if not self.to_file:
            self.keeps = ""

    def push(self, source: Path, target: Path, route: Route) -> list[str]:
        name = next(source.iterdir()).name
        far = f"mkdir {target} && cat >{target}/{name}" if self.to_file else "cat >/dev/null"
        return _shell(f"{route.rsh} {HOST} '{far}' <{source}/{name}")

    def pull(self, source: Path, target: Path, route: Route) -> list[str]:
        name = next(source.iterdir()).name
        near = f"{target}/{name}" if self.to_file else "/dev/null"
        return _shell(f"mkdir {target}; {route.rsh} {HOST} cat {source}/{name} >{near}")


def _shell(text: str) -> list[str]:
    """A pipeline whose failure anywhere is its failure."""
    return ["bash", "-c", f"set -o pipefail; {text}"]


def differences(tool: Tool, source: Path, target: Path) -> str:
    """What differs between source and copy in content or in what the tool keeps, by a local rsync -c; or nothing."""
    if not tool.keeps:
        return ""
    done = subprocess.run(["rsync", *tool.keeps.split(), "-nci", "--delete", "--exclude=/.nbackup", f"{source}/",
                           f"{target}/"], capture_output=True, text=True, errors="replace", check=False)
    found = (done.stdout + done.stderr).splitlines()
    if done.returncode != 0 and not found:
        found = [f"rsync -nc: exit {done.returncode}"]
    return " | ".join(found[:3]) + (f" | and {len(found) - 3} more" if len(found) > 3 else "")
