# SPDX-License-Identifier: Apache-2.0
"""The destination: a file system in a loop-mounted image, made anew before each run that is measured.

The image keeps its blocks from one mkfs to the next (no discard), so that the file system below it has to find room
once and not in every round. The loop device bypasses the page cache of the image where the system allows it.
"""
from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import subprocess
import time
from pathlib import Path

from system import command, undisturbed

TYPES = ("ext4", "xfs", "btrfs")
# No thread may go on initialising inode tables behind the measurement: it is left to the first use (noinit_itable).
_MKFS = {
    "ext4": ["mkfs.ext4", "-q", "-F", "-E", "nodiscard,lazy_itable_init=1,lazy_journal_init=1"],
    "xfs": ["mkfs.xfs", "-q", "-f", "-K"],
    "btrfs": ["mkfs.btrfs", "-q", "-f", "-K"],
}
_MOUNT = {"ext4": "noatime,noinit_itable", "xfs": "noatime", "btrfs": "noatime"}
_LIBC = ctypes.CDLL(None, use_errno=True)


def missing(kind: str) -> str | None:
    """Why such a disk cannot be had here, or nothing."""
    if os.geteuid() != 0:
        return "loop mounts need root"
    if not os.path.exists("/dev/loop-control"):
        return "no loop devices"
    if shutil.which(f"mkfs.{kind}") is None:
        return f"no mkfs.{kind}"
    with open("/proc/filesystems", encoding="ascii") as known:
        if kind not in known.read().split() and subprocess.run(["modprobe", kind], capture_output=True).returncode:
            return f"the kernel has no {kind}"
    return None


def sync(path: Path) -> None:
    """What `sync -f PATH` does, without starting a process for it."""
    handle = os.open(path, os.O_RDONLY)
    try:
        if _LIBC.syncfs(handle):
            raise OSError(ctypes.get_errno(), "syncfs", str(path))
    finally:
        os.close(handle)


class Disk:
    """One image and its loop device; fresh() makes the file system and mounts it."""

    def __init__(self, work: Path, kind: str, size_bytes: int, stack: contextlib.ExitStack) -> None:
        self.kind, self.size_bytes = kind, size_bytes
        self.mount, self.image = work / "disk", work / "disk.img"
        self.mount.mkdir()
        self.mounted = False
        with undisturbed():
            self._attach()
            stack.callback(self.close)

    def _attach(self) -> None:
        with open(self.image, "wb") as out:
            out.truncate(self.size_bytes)
        try:
            self.device = command("losetup", "-f", "--show", "--direct-io=on", str(self.image)).strip()
            self.direct = True
        except RuntimeError:
            self.device = command("losetup", "-f", "--show", str(self.image)).strip()
            self.direct = False

    def _replace(self) -> None:
        """Another image on another device. Whoever still holds the old one keeps it alive, unseen."""
        with undisturbed():
            command("losetup", "-d", self.device)
            self.image.unlink()
            self._attach()

    @property
    def note(self) -> str:
        return f"{self.kind} (loop image, {'direct' if self.direct else 'buffered'} I/O)"

    def fresh(self) -> Path:
        """An empty file system; returns a path in it that does not exist yet."""
        self.unmount()
        self._make()
        with undisturbed():
            command("mount", "-t", self.kind, "-o", _MOUNT[self.kind], self.device, str(self.mount))
            self.mounted = True
        return self.mount / "t"

    def _make(self) -> None:
        """mkfs. A container started meanwhile has a copy of the old mount, and the device is busy until it ends."""
        for wait_seconds in (0.2, 1, 3, 0):
            try:
                command(*_MKFS[self.kind], self.device)
                return
            except RuntimeError:
                time.sleep(wait_seconds)
        self._replace()
        command(*_MKFS[self.kind], self.device)

    def unmount(self) -> None:
        """A process that has just ended may hold the mount for a moment longer."""
        deadline = time.monotonic() + 20
        while self.mounted:
            try:
                with undisturbed():
                    command("umount", str(self.mount))
                    self.mounted = False
            except RuntimeError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def close(self) -> None:
        try:
            self.unmount()
        except RuntimeError:
            command("umount", "-l", str(self.mount))
        finally:
            command("losetup", "-d", self.device)

