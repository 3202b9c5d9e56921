# SPDX-License-Identifier: Apache-2.0
"""What the bench prints: one table a case in 80 columns, a CSV file with every single run, and the line that names the
machine and the versions.
"""
from __future__ import annotations

import csv
import os
import platform
import shutil
import statistics
import subprocess
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from cases import Case
from gauge import Sample
from tools import Nbackup, Rsync, Tool

HEADER = f"  {'':27}{'wall s':>8}{'+-%':>4} {'ratio':>5} {'CPU s':>13}{'peak MB':>10}{'wire MB':>9}"
FIELDS = ("case", "tool", "command", "round", "wall_s", "client_cpu_s", "server_cpu_s", "client_peak_kib",
          "server_peak_kib", "wire_bytes", "result")


@dataclass
class Row:
    """All runs of one tool in one case. Round 0 counts for memory, wire and checks, not for time."""

    tool: Tool
    samples: list[Sample] = field(default_factory=list)
    counted: Sample | None = None
    failure: str = ""

    @property
    def wall(self) -> float:
        return statistics.median(sample.wall for sample in self.samples)

    @property
    def complete(self) -> bool:
        return bool(self.samples) and not self.failure

    def spread_percent(self) -> int:
        walls = [sample.wall for sample in self.samples]
        return round(50 * (max(walls) - min(walls)) / self.wall)

    def wire(self) -> int | None:
        counts = [sample.wire for sample in self.samples if sample.wire is not None]
        if counts:
            return int(statistics.median(counts))
        return self.counted.wire if self.counted else None


class Csv:
    """Every run as it happens, so that an interrupted bench keeps what it has."""

    def __init__(self, out: IO[str] | None) -> None:
        self.out = out
        self.writer = csv.writer(out) if out else None
        if self.writer:
            self.writer.writerow(FIELDS)

    def add(self, case: Case, tool: Tool, number: int, sample: Sample | None, result: str) -> None:
        if not self.writer or not self.out:
            return
        figures: list[object] = [""] * 6
        if sample:
            figures = [f"{sample.wall:.4f}", f"{sample.client_cpu:.3f}", f"{sample.server_cpu:.2f}",
                       sample.client_kib or "", sample.server_kib or "", "" if sample.wire is None else sample.wire]
        self.writer.writerow([case.name, tool.label, tool.shown, number, *figures, result])
        self.out.flush()


def table(case: Case, rows: list[Row], note: str) -> str:
    """The table of a case. rsync's best row has a star; the ratio is to its median."""
    best = min((row.wall for row in rows if isinstance(row.tool, Rsync) and row.complete), default=None)
    lines = ["", f"{case.name}: {case.title}{note}", HEADER]
    lines += [_line(row, best) for row in rows]
    for reason in dict.fromkeys(case.skipped.values()):
        names = ", ".join(name for name, its in case.skipped.items() if its == reason)
        lines.append(textwrap.fill(f"  {names}: skipped, {reason}", 80, subsequent_indent="    "))
    return "\n".join(lines)


def _line(row: Row, best: float | None) -> str:
    if not row.complete:
        return textwrap.fill(f"  {row.tool.label}: FAILED, {row.failure or 'not run'}", 80, subsequent_indent="    ")
    ratio = f"{row.wall / best:.2f}" if best else "-"
    star = "*" if best == row.wall and isinstance(row.tool, Rsync) else " "
    cpu = "/".join(f"{statistics.median(getattr(sample, name) for sample in row.samples):.2f}"
                   for name in ("client_cpu", "server_cpu"))
    peak = "/".join(f"{kib * 1024 / 1e6:.0f}" for kib in (row.counted.client_kib, row.counted.server_kib)) \
        if row.counted else "-"
    wire = row.wire()
    sent = "-" if wire is None else f"{wire / 1e6:.2f}" if wire < 1e7 else f"{wire / 1e6:.0f}"
    return (f"  {row.tool.label[:27]:27}{row.wall:8.3f}{row.spread_percent():4d} {ratio:>5}{star}{cpu:>13}{peak:>10}"
            f"{sent:>9}")


LEGEND = """\
wall s: median, the sync of the destination included; +-%: half the span of its
rounds. ratio: to the fastest rsync (*). CPU s, peak MB: client/server, all
their processes. wire MB: both ways, SSH payload (over a link: with headers).
Peak and wire are from a round of their own, whose time does not count."""


def machine(disk_note: str, work: Path, cipher: str, nbackups: list[Nbackup]) -> str:
    """One paragraph: without it no figure means anything."""
    cpu = next((line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
                if line.startswith(("model name", "Model"))), platform.machine())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    below = _first(["findmnt", "-no", "FSTYPE", "-T", str(work)])
    lines = [f"{cpu}, {os.cpu_count()} CPUs, {memory:.0f} GB, Linux {platform.release()}",
             f"destination {disk_note} on {below}; sources on {below}, warm; cipher {cipher}",
             f"{_first(['rsync', '--version'])}; {_first(['ssh', '-V'])}; {_first(['tar', '--version'])}"]
    for tool in nbackups:
        lines.append(f"{tool.label}: {_first([str(tool.path), '--version'])}, {tool.carrier}, {tool.path}")
    return "\n".join(textwrap.fill(line, 80, subsequent_indent="  ") for line in lines)


def _first(argv: list[str]) -> str:
    """The first line a program prints, or that it is missing."""
    if not shutil.which(argv[0]):
        return f"no {argv[0]}"
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return " ".join(((done.stdout + done.stderr).splitlines() or ["?"])[0].split())
