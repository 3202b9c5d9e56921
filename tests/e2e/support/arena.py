# SPDX-License-Identifier: Apache-2.0
"""Where hostile sessions are recorded and played: several equal arenas, so that many can be played at a time.

An arena is a directory with `source`, `sink` and `outside`; nbackup runs in it and is given relative names, so that
what was recorded in one arena can be played in any. Nothing in `outside` may ever change.
"""
from __future__ import annotations

import os
import pickle
import queue
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Iterable, TypeVar

from . import peer, player, tree
from .doctor import Lie, Parts
from .run import BINARY, Outcome, World, clone, remove_tree

SUPPORT = Path(__file__).parent
HOST = "nbtest"
WORKERS = 8  # most of a play is waiting
T = TypeVar("T")


@dataclass
class Tape:
    """A recorded direction and how to play it to a victim."""

    victim: str  # serve-sink, serve-source, push-client, pull-client
    argv: list[str]  # of the client
    script: list[player.Step]
    stream: bytes
    heard: bytes = b""  # the other direction
    secret: bytes = b""
    changes: bool = True  # whether the sink becomes like the source when it is played as it is

    @property
    def parts(self) -> Parts:
        return peer.frames(self.stream)

    def doctored(self, parts: Parts) -> list[player.Step]:
        encoded = [peer.frame(b"".join(m.encoded() for m in part)) for part in parts]
        return player.rescript(self.script, encoded, peer.boundaries(self.stream))


@dataclass
class Arena:
    world: World
    dir: Path
    serve: list[str] = field(default_factory=list)  # further options of the server

    def __post_init__(self) -> None:
        self.source, self.sink, self.outside = (self.dir / name for name in ("source", "sink", "outside"))
        self.base = self.world.dir / "base"

    def reset(self) -> None:
        if self.sink.exists():
            remove_tree(self.sink)
        clone(self.base, self.sink)

    # --- recording --------------------------------------------------------------------------------------------------
    def record(self, victim: str, operation: str, *names: str) -> Tape:
        """A session of this operation, from the side that will be played to `victim`."""
        prefix = self.world.dir / "scratch" / f"tape-{len(os.listdir(self.world.dir / 'scratch'))}"
        argv = [operation, "--delete", "--timeout", "10", "--remote-path", BINARY, *names]
        rsh = f"python3 {SUPPORT}/proxy.py --record {prefix} --plain -- {self.world.fake_rsh}"
        outcome = self.world.run(*argv, "-e", rsh, cwd=self.dir)
        assert outcome.code == 0, outcome.text
        way, other = ("up", "down") if victim.startswith("serve") else ("down", "up")
        secret = peer.secret_in((self.sink / ".nbackup/secret").read_bytes())
        return Tape(victim, argv, player.steps(str(prefix), way), prefix.with_suffix("." + way).read_bytes(),
                    prefix.with_suffix("." + other).read_bytes(), secret)

    # --- playing ----------------------------------------------------------------------------------------------------
    def play(self, tape: Tape, script: list[player.Step]) -> Outcome:
        """What became of the victim. `stderr` has what it said about an error, to whomever."""
        if tape.victim.startswith("serve"):
            return self.play_to_server(script)
        file = self.world.dir / "scratch" / f"script-{self.dir.name}"
        file.write_bytes(pickle.dumps(script))
        rsh = f"python3 -IS {SUPPORT}/player.py {file}"
        return self.world.run(*tape.argv, "-e", rsh, timeout=60, cwd=self.dir)

    def play_to_server(self, script: list[player.Step]) -> Outcome:
        argv = [BINARY, "serve", "--timeout", "10", *self.serve]
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=self.world.env(), cwd=self.dir) as victim:
            assert victim.stdin and victim.stdout and victim.stderr
            to_victim = os.dup(victim.stdin.fileno())
            victim.stdin.close()
            try:
                received = player.play(script, to_victim, victim.stdout.fileno())
                victim.wait(30)
            except subprocess.TimeoutExpired:
                raise AssertionError("serve hangs") from None
            finally:
                victim.kill()  # nothing where it has ended
            return Outcome(victim.returncode, received, _said(received) + victim.stderr.read(), argv)


def _said(received: bytes) -> bytes:
    """The errors and problems that a server told its client, much as the client would print them."""
    told = [m for part in peer.frames(received) for m in part if m.name in ("error", "problem")]
    errors = [peer.Error.decode(m.body) for m in told]
    return b"".join(b"%s [%d]\n" % (error.context, error.code) for error in errors)


def report(found: list[str], outcome: Outcome) -> list[str]:
    """With how the run ended, if something was found."""
    said = outcome.stderr.decode(errors="replace")[-2000:]
    return [*found, f"exit {outcome.code}, said: {said}"] if found else []


class Judge:
    """What must hold after every play."""

    def __init__(self, arena: Arena) -> None:
        self.old, self.new = tree.snapshot(arena.base), tree.snapshot(arena.source)
        self.outside = tree.snapshot(arena.outside)

    def untouched(self, arena: Arena) -> list[str]:
        """Nothing but the sink may change."""
        found = tree.compare(self.outside, tree.snapshot(arena.outside))
        found += tree.compare(self.new, tree.snapshot(arena.source))
        if sorted(os.listdir(arena.dir)) != ["outside", "sink", "source"]:
            found.append(f"in the arena: {os.listdir(arena.dir)}")
        if Path("/tmp/escape").exists():
            found.append("/tmp/escape was made")
        return found

    @staticmethod
    def _code(tape: Tape, lie: Lie) -> int:
        """Problems with one name are the client's to count; its server has done its work."""
        return 0 if tape.victim.startswith("serve") and not lie.keeps_tree else lie.code

    def refused(self, arena: Arena, tape: Tape, lie: Lie, outcome: Outcome) -> list[str]:
        """The lie was found for what it is, and changed nothing. Leaves the arena as it was."""
        found = self.untouched(arena)
        text = outcome.stderr.decode(errors="replace")
        if outcome.code < 0:
            found.append(f"died of signal {-outcome.code}")
        elif not lie.why and outcome.code:
            found.append("no lie, but refused")
        elif lie.why and outcome.code != self._code(tape, lie):
            found.append(f"exit {outcome.code} instead of {self._code(tape, lie)}")
        if lie.why and not re.search(lie.why, text):
            found.append(f"no {lie.why!r} in what it said")
        if b"\x1b" in outcome.stderr and not tape.victim.startswith("serve"):
            found.append("an escape sequence reached the terminal")
        have = tree.snapshot(arena.sink)
        changes = not lie.why and tape.changes and tape.victim in ("serve-sink", "pull-client")
        if lie.keeps_tree:
            found += tree.compare(self.new if changes else self.old, have, ignore_root=True)[:10]
        arena.reset()
        return report(found, outcome)


class Stage:
    """The arenas of a suite."""

    def __init__(self, world: World, first: Path) -> None:
        self.world = world
        clone(first / "sink", world.dir / "base")
        self.arenas = [Arena(world, first)]
        for number in range(1, WORKERS):
            clone(first, world.dir / f"arena{number}")
            self.arenas.append(Arena(world, world.dir / f"arena{number}"))
        self.judge = Judge(self.arenas[0])

    def each(self, jobs: Iterable[tuple[str, T]], do: Callable[[Arena, T], list[str]]) -> list[tuple[str, list[str]]]:
        """`do` for each job, several at a time, each with an arena of its own; notes and what was wrong, in order."""
        free: queue.Queue[Arena] = queue.Queue()
        for arena in self.arenas:
            free.put(arena)

        def one(job: tuple[str, T]) -> tuple[str, list[str]]:
            arena = free.get()
            try:
                return job[0], do(arena, job[1])
            except Exception as error:  # noqa: BLE001: belongs to this job's report
                return job[0], [repr(error)]
            finally:
                free.put(arena)

        with ThreadPoolExecutor(WORKERS) as pool:
            return list(pool.map(one, jobs))
