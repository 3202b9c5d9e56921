# SPDX-License-Identifier: Apache-2.0
"""File systems in files: loop mounts of ext4, xfs and btrfs, tmpfs mounts, and images as a power cut leaves them.

A copy is taken of the image file while the file system is mounted: exactly what the kernel had written until then.
The original is unmounted before the copy is mounted, because older kernels refuse (xfs) or confuse (btrfs) two mounts
with one UUID.
"""
from __future__ import annotations

import os
import shutil
import subprocess
import time
import unittest
from pathlib import Path

TYPES = ("ext4", "xfs", "btrfs")
_MIN_MB = {"ext4": 16, "casefold": 16, "xfs": 300, "btrfs": 128, "exfat": 16}
_MKFS = {
    "ext4": ["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"],
    "casefold": ["mkfs.ext4", "-q", "-F", "-O", "casefold", "-E", "encoding=utf8"],  # chattr +F: names ignore case
    "xfs": ["mkfs.xfs", "-q", "-f"],
    "btrfs": ["mkfs.btrfs", "-q", "-f"],
    "exfat": ["mkfs.exfat"],
}


def missing(kind: str) -> str | None:
    """Why a loop mount of this kind cannot be had here, or nothing."""
    if os.geteuid() != 0:
        return "loop mounts need root"
    if kind == "tmpfs":
        return None
    if kind == "exfat" and (shutil.which("mount.exfat-fuse") is None or not os.path.exists("/dev/fuse")):
        return "no exfat-fuse"
    if not os.path.exists("/dev/loop-control"):
        return "no loop devices"
    if kind == "casefold":
        return missing("ext4") or _missing_casefold()
    if shutil.which(f"mkfs.{kind}") is None:
        return f"no mkfs.{kind}"
    with open("/proc/filesystems", encoding="ascii") as known:
        kind = "fuseblk" if kind == "exfat" else kind  # by libfuse: the kernel's own is not everywhere
        if kind not in known.read().split():
            probe = subprocess.run(["modprobe", kind], capture_output=True, check=False)
            if probe.returncode != 0:
                return f"the kernel has no {kind}"
    return None


def _missing_casefold() -> str | None:
    """Only a kernel with CONFIG_UNICODE mounts it."""
    if not os.path.exists("/sys/fs/ext4/features/casefold"):
        return "the kernel's ext4 does not ignore case"
    return None if shutil.which("chattr") else "no chattr"


class LoopFs:
    """One mounted file system in one file. Use as a context manager, or close() it."""

    def __init__(self, work: Path, kind: str, size_mb: int = 320, name: str = "disk",
                 image: Path | None = None) -> None:
        self.kind = kind
        self.work = work
        self.mount = work / f"{name}.mnt"
        self.image = image or work / f"{name}.img"
        self.device = ""
        self.mount.mkdir(parents=True, exist_ok=True)
        if image is None:
            with open(self.image, "wb") as out:
                out.truncate(max(size_mb, _MIN_MB[kind]) << 20)
            _run(*_MKFS[kind], str(self.image))
        self._attach()

    def _attach(self) -> None:
        self.device = _run("losetup", "-f", "--show", str(self.image)).strip()
        options = {"xfs": ["-o", "nouuid"]}.get(self.kind, [])
        try:
            if self.kind == "exfat":
                _run("mount.exfat-fuse", self.device, str(self.mount))
            else:
                _run("mount", "-t", "ext4" if self.kind == "casefold" else self.kind, *options, self.device, str(self.mount))
        except RuntimeError:
            self._detach()
            raise

    def copy_image(self, name: str) -> Path:
        """What a power cut at this instant leaves on the medium. Writes that the kernel still holds are not in it."""
        target = self.work / f"{name}.img"
        _run("cp", "--sparse=always", "--reflink=auto", str(self.image), str(target))
        return target

    def remount(self) -> None:
        """What the kernel and the file system have cached is gone."""
        unmount(self.mount)
        self._detach()
        self._attach()

    def rot(self, content: bytes) -> None:
        """Flips the lowest bit of every place on the medium that holds `content`, behind the file system's back."""
        unmount(self.mount)
        self._detach()
        data = self.image.read_bytes()
        places = [at for at in range(0, len(data), 512) if data.startswith(content, at)]
        if not places:
            raise AssertionError("that content is not on the medium")
        with open(self.image, "r+b") as image:
            for at in places:
                image.seek(at)
                image.write(bytes([content[0] ^ 1]))
        self._attach()

    def close(self, *, keep_image: bool = False) -> None:
        if self.device:
            unmount(self.mount)
            self._detach()
        if not keep_image:
            self.image.unlink(missing_ok=True)

    def _detach(self) -> None:
        if self.device:
            _run("losetup", "-d", self.device)
            self.device = ""

    def __enter__(self) -> "LoopFs":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Tmpfs:
    """A tmpfs (with `size_mb` of 0 a ramfs, with `bind` another directory) mounted at a path that is made if need be."""

    def __init__(self, mount: Path, size_mb: int = 16, bind: Path | None = None, options: str = "") -> None:
        self.mount = mount
        mount.mkdir(parents=True, exist_ok=True)
        if bind is not None:
            _run("mount", "--bind", str(bind), str(mount))
            if options:
                self._remount(options)
        elif size_mb == 0:
            _run("mount", "-t", "ramfs", "-o", "mode=0755", "nbackup-test", str(mount))
        else:
            extra = f",{options}" if options else ""
            _run("mount", "-t", "tmpfs", "-o", f"size={size_mb}m,mode=0755{extra}", "nbackup-test", str(mount))

    def _remount(self, options: str) -> None:
        try:
            _run("mount", "-o", f"remount,bind,{options}", str(self.mount))
        except RuntimeError:
            self.close()  # whoever removes the test's directory would remove what is bound there
            raise

    def close(self) -> None:
        unmount(self.mount)

    def __enter__(self) -> "Tmpfs":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def unmount(mount: Path) -> None:
    """A process that was just killed may hold the mount for a moment longer."""
    deadline = time.monotonic() + 20
    while True:
        try:
            _run("umount", str(mount))
            return
        except RuntimeError:
            if time.monotonic() > deadline:
                _run("umount", "-l", str(mount))
                return
            time.sleep(0.05)


def _run(*argv: str) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(argv)}: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def needed(case: unittest.TestCase, work: Path, kind: str, size_mb: int) -> LoopFs:
    """The caller closes it. The test, or the subtest that this is in, is skipped where it cannot be had."""
    reason = missing(kind)
    if reason:
        case.skipTest(reason)
    return LoopFs(work, kind, size_mb, name=kind)


def mounted_for(case: unittest.TestCase, work: Path, kind: str, size_mb: int) -> LoopFs:
    """For the whole of a test, which is skipped where that cannot be."""
    disk = needed(case, work, kind, size_mb)
    case.addCleanup(disk.close)
    return disk
