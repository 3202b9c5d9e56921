# SPDX-License-Identifier: Apache-2.0
"""Commands of the system, and signals: the first one ends the bench, but never between making a thing (a mount, a
process, a namespace) and noting that it has to be taken down.
"""
from __future__ import annotations

import contextlib
import ctypes
import signal
import subprocess
from typing import Iterator

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PR_SET_CHILD_SUBREAPER = 36


class _State:
    held = 0
    pending = False


def catch_signals() -> None:
    """From now on the first signal raises KeyboardInterrupt; the others must not disturb the clearing up."""
    for number in SIGNALS:
        signal.signal(number, _interrupt)


def _interrupt(_number: int, _frame: object) -> None:
    for number in SIGNALS:
        signal.signal(number, _ignore)  # not SIG_IGN: what is started later would inherit that
    if _State.held:
        _State.pending = True
    else:
        raise KeyboardInterrupt


def _ignore(_number: int, _frame: object) -> None:
    pass


def inherit_orphans() -> None:
    """From now on a descendant whose parent ends first becomes a child of this process, which can account for it."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """A signal in here takes effect at its end."""
    _State.held += 1
    try:
        yield
    finally:
        _State.held -= 1
        if _State.pending and not _State.held:
            _State.pending = False
            raise KeyboardInterrupt


def command(*argv: str) -> str:
    """Runs it, out of reach of the terminal's Ctrl-C; returns its output. RuntimeError with what it said."""
    done = subprocess.run(argv, capture_output=True, text=True, check=False, start_new_session=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(argv)}: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout
