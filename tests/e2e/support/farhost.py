# SPDX-License-Identifier: Apache-2.0
"""A host of one's own without a network: a home directory and a PATH, reached by -e.

Tools in `tools` come before the system's: a test puts scripts there that lie (`uname`), or do harm (`head`).
"""
from __future__ import annotations

import shlex
from pathlib import Path

from .run import FAKE_RSH_BEGIN, World

SHELL = FAKE_RSH_BEGIN + """\
HOME={home}
PATH={path}
export HOME PATH
cd
{before}
exec {wrap} /bin/sh -c "$*"
"""


class FarHost:
    """`before`: lines of the login itself; `wrap`: words before its shell."""

    def __init__(self, world: World, name: str = "far", before: str = "", wrap: str = "",
                 in_path: bool = False) -> None:
        self.home = world.dir / f"{name}-home"
        self.tools = world.dir / f"{name}-tools"
        for directory in (self.home, self.tools):
            directory.mkdir()
        self.bin = self.home / ".local" / "bin"
        self.program = self.bin / "nbackup"
        path = f"{self.tools}:/usr/bin:/bin" + (f":{self.bin}" if in_path else "")
        self.rsh = world.script(f"{name}-rsh", SHELL.format(home=shlex.quote(str(self.home)), path=shlex.quote(path),
                                                            before=before, wrap=wrap))

    def tool(self, name: str, body: str) -> None:
        path = self.tools / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def put(self, text: str) -> None:
        """A program in place of nbackup."""
        self.bin.mkdir(parents=True, exist_ok=True)
        self.program.write_text(text)
        self.program.chmod(0o755)

    def leftovers(self) -> list[str]:
        """Temporary files."""
        return sorted(path.name for path in self.bin.glob(".nbackup-deploy.*"))
