# SPDX-License-Identifier: Apache-2.0
"""A file set with a few generations, and what each of them was."""
from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from . import tree
from .run import Case


@dataclass
class Generations:
    """A set at `pool` whose generation N held `trees[N]`; `source` is what the newest was pushed from."""

    pool: Path
    source: Path
    trees: dict[int, tree.Tree]


def make_generations(case: Case, name: str) -> Generations:
    """Five pushes with everything that merging has to deal with: replaced and removed files and directories, a renamed
    file, hard links, metadata that changed alone, a file in the place of a directory."""
    source, pool = case.dir / f"{name}-source", case.dir / f"{name}-pool"
    trees: dict[int, tree.Tree] = {}

    def push() -> None:
        case.run_ok("push", "--delete", f"{source}/", pool)
        trees[len(trees) + 1] = tree.snapshot(source)

    (source / "dir/sub").mkdir(parents=True)
    (source / "dir/a").write_text("a of 1")
    (source / "dir/sub/b").write_text("b of 1")
    (source / "moves").write_text("moves")
    os.link(source / "moves", source / "linked")
    push()
    (source / "dir/a").write_text("a, longer, of 2")
    (source / "moves").rename(source / "moved")
    (source / "new").write_text("of 2")
    push()
    shutil.rmtree(source / "dir")
    (source / "dir").write_text("a file")
    os.chmod(source / "moved", 0o600)
    push()
    (source / "dir").unlink()
    (source / "dir/sub").mkdir(parents=True)
    (source / "dir/sub/c").write_text("c of 4")
    (source / "new").unlink()
    push()
    (source / "dir/sub/c").write_text("c, longer, of 5")
    (source / "linked").unlink()
    os.chmod(source / "moved", 0o640)
    push()
    return Generations(pool, source, trees)


def kept(pool: Path) -> list[int]:
    history = pool / ".nbackup/history"
    return sorted(int(path.name) for path in history.iterdir() if path.name.isdecimal())


def assert_exact(case: Case, generations: Generations, pool: Path, note: str = "") -> None:
    """Each generation that is kept restores to what it was."""
    for number in kept(pool):
        if number not in generations.trees:
            continue
        back = case.dir / f"back-{number}"
        case.run_ok("restore", "--at", str(number), f"{pool}/", back)
        case.assert_same_tree(generations.trees[number], back, f"{note}: generation {number}", ignore_root=True)
        shutil.rmtree(back)
