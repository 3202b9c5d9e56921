# SPDX-License-Identifier: Apache-2.0
"""What disks do to files: the content changes, and what `stat` says does not (but ctime, which no program can set)."""
from __future__ import annotations

import os
from pathlib import Path


def flip(path: Path, offset: int = 0) -> None:
    """One byte of the file is another, its time as before."""
    info = path.stat()
    with open(path, "r+b") as file:
        file.seek(offset)
        old = file.read(1)
        file.seek(offset)
        file.write(bytes([old[0] ^ 1]))
        file.flush()
        os.fsync(file.fileno())
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))


def cut(path: Path, size: int) -> None:
    """The file ends earlier, its time as before."""
    info = path.stat()
    os.truncate(path, size)
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))
