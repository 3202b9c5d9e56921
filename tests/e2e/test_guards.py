# SPDX-License-Identifier: Apache-2.0
"""Runs that stop themselves, runs that meet each other, and sources that change while they are read."""
from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import threading
import unittest
from pathlib import Path

from support import loopfs, options as opt, tree
from support.crash import own_by_plain_user, wait_gone, wait_stopped
from support.gen import make_tree
from support.run import PLAIN_USER, Case, Running, remove_tree


class Pushed(Case):
    """A small tree in dir/source, pushed to dir/sink."""

    def setUp(self) -> None:
        super().setUp()
        self.source, self.sink = self.dir / "source", self.dir / "sink"
        (self.source / "sub/deep").mkdir(parents=True)
        for name in ("a", "b", "c", "d", "sub/e", "sub/f", "sub/deep/g"):
            (self.source / name).write_text(f"first content of {name}\n")
        self.run_ok("push", f"{self.source}/", self.sink)
        self.old = tree.snapshot(self.sink)

    def push(self, *options: str) -> list[str]:
        return ["push", *options, f"{self.source}/", str(self.sink)]

    def start_server(self, failpoint: str, *options: str) -> tuple[Running, int]:
        """A push whose server stands at a failpoint."""
        server = self.world.carrier_options("fake", self.world.server(f"{failpoint}=stop"))
        run = self.world.spawn("push", *server, *options, f"{self.source}/", f"nbtest:{self.sink}")
        pid = self.world.server_pid()
        self.assertTrue(wait_stopped(pid), f"never at {failpoint}")
        return run, pid


class Guards(Pushed):
    def test_empty_source(self) -> None:
        remove_tree(self.source)
        self.source.mkdir()
        for extra in ((), ("--delete",)):
            outcome = self.run_code(opt.EMPTY_SOURCE, *self.push(*extra))
            self.assertIn(opt.ALLOW_EMPTY.encode(), outcome.stderr, "the way out is named")
            self.assertIn(f"{self.source}: the source is empty and the set is not\n".encode(), outcome.stderr)
            self.assert_same_tree(self.old, self.sink)
        self.run_ok(*self.push("--delete", opt.ALLOW_EMPTY))
        self.assertEqual(os.listdir(self.sink), [".nbackup"])

    def test_one_of_several_sources_is_empty(self) -> None:
        """Whatever the others have: named, or given with a slash and merged."""
        one, two = self.dir / "one", self.dir / "two"
        for place in (one, two):
            place.mkdir()
            (place / f"in-{place.name}").write_text("x")
        for end in ("", "/"):
            for sources in ((f"{one}{end}", f"{two}{end}"), (f"{one}/", f"{two}")):
                with self.subTest(sources=sources):
                    sink = self.dir / "merged"
                    self.run_ok("push", *sources, sink)
                    before = tree.snapshot(sink)
                    (two / "in-two").rename(self.dir / "aside")
                    outcome = self.run_code(opt.EMPTY_SOURCE, "push", "--delete", *sources, sink)
                    self.assertIn(opt.ALLOW_EMPTY.encode(), outcome.stderr, outcome.text)
                    self.assert_same_tree(before, sink)
                    self.run_ok("push", "--delete", opt.ALLOW_EMPTY, *sources, sink)
                    self.assertNotIn(b"in-two", b" ".join(tree.snapshot(sink)))
                    (self.dir / "aside").rename(two / "in-two")
                    remove_tree(sink)
                    self.run_ok("status", "--forget", sink)

    def test_mount_point_gone(self) -> None:
        self.need_root()
        with loopfs.Tmpfs(self.source / "mounted", 4) as disk:
            (disk.mount / "x").write_text("x")
            self.run_ok(*self.push())
        before = tree.snapshot(self.sink)
        outcome = self.run_code(opt.MOUNT_GONE, *self.push("--delete"))
        self.assertIn(b"mounted", outcome.stderr, outcome.text)
        self.assertIn(opt.ALLOW_UNMOUNTED.encode(), outcome.stderr, outcome.text)
        self.assert_same_tree(before, self.sink)
        self.run_ok(*self.push("--delete", opt.ALLOW_UNMOUNTED))
        self.assert_same_tree(self.source, self.sink)

    def test_mount_point_above_the_source_gone(self) -> None:
        """What lies in the bare directory is not the source."""
        self.need_root()
        mount, sink = self.dir / "usb", self.dir / "of usb"
        for end in ("", "/"):
            with self.subTest(end=end):
                source = f"{mount}/photos{end}"
                with loopfs.Tmpfs(mount, 4) as disk:
                    (disk.mount / "photos").mkdir()
                    (disk.mount / "photos/one").write_text("x")
                    self.run_ok("push", "--delete", source, sink)
                before = tree.snapshot(sink)
                (mount / "photos").mkdir(parents=True)
                (mount / "photos/README").write_text("mount the disk here")
                outcome = self.run_code(opt.MOUNT_GONE, "push", "--delete", source, sink)
                self.assertIn(str(mount).encode() + b": a mount point of the last push is not mounted", outcome.stderr, outcome.text)
                self.assert_same_tree(before, sink)
                self.run_ok("push", "--delete", opt.ALLOW_UNMOUNTED, source, sink)
                remove_tree(mount / "photos")

    def test_symlink_to_a_mount_point_is_a_link(self) -> None:
        self.need_root()
        link, sink = self.dir / "stick", self.dir / "with link"
        link.symlink_to(self.dir / "usb")
        with loopfs.Tmpfs(self.dir / "usb", 4):
            self.run_ok("push", self.source, link, sink)
        self.run_ok("push", self.source, link, sink)

    def test_mount_point_goes_while_it_is_walked_to(self) -> None:
        """A client that knows of no mount point: what is below an unmounted one is not the disk's content."""
        self.need_root()
        mount, pool = self.source / "disk", self.dir / "pool of the disk"
        disk = loopfs.Tmpfs(mount, 4)
        self.addCleanup(subprocess.run, ["umount", "-q", mount], capture_output=True, check=False)
        (disk.mount / "precious").write_text("precious")
        self.run_ok("push", f"{self.source}/", pool)
        for memory in (self.dir / "cache").rglob("cache.db*"):
            memory.unlink()
        only_disk = ["--include=/disk", "--include=/disk/*", "--exclude=*"]
        run = self.world.spawn("push", "--delete", *only_disk, f"{self.source}/", pool,
                               failpoint="session.source.scan=stop@2")
        self.assertTrue(wait_stopped(run.process.pid))
        subprocess.run(["umount", "-l", mount], check=True)
        run.kill(signal.SIGCONT)
        outcome = run.wait()
        self.assertIn(outcome.code, (opt.PARTIAL, opt.VANISHED), outcome.text)
        self.assertIn(b"disk", outcome.stderr)
        self.assertEqual((pool / "disk/precious").read_text(), "precious")

    def test_destination_in_the_source(self) -> None:
        pool = self.source / "deep/pool"
        (self.source / "deep").mkdir(exist_ok=True)
        link = self.dir / "link"
        link.symlink_to(self.source)
        before = tree.snapshot(self.source)
        for source, path in ((f"{self.source}/", "deep/pool"), (f"{link}/.", "deep/pool"),
                             (str(self.source), f"{self.source.name}/deep/pool")):
            for command in ("push", "pull"):
                outcome = self.run_code(opt.PATH, command, source, pool)
                self.assertIn(f"--exclude=/{path}".encode(), outcome.stderr, outcome.text)
                self.assert_same_tree(before, self.source)
        self.run_ok("push", link, f"{self.source}/links/")
        self.assertEqual((self.source / "links/link").readlink(), self.source)
        shutil.rmtree(self.source / "links")
        for _ in range(2):
            self.run_ok("push", "--exclude=/deep/pool", f"{self.source}/", pool)
        self.assertNotIn(b"deep/pool", tree.snapshot(pool))
        self.run_ok("push", f"{self.source}/", self.dir / f"{self.source.name} too")

    def test_a_source_as_its_own_destination(self) -> None:
        link = self.dir / "link"
        link.symlink_to(self.source)
        before = tree.snapshot(self.source)
        for destination in (self.source, f"{self.source}/", link):
            for command in ("push", "pull"):
                outcome = self.run_code(opt.PATH, command, self.source, destination)
                self.assertIn(b"itself", outcome.stderr, outcome.text)
                self.assert_same_tree(before, self.source)
        self.run_ok("push", f"{self.source}/", self.source)  # its content is there

    def test_set_missing(self) -> None:
        self.sink.rename(self.dir / "elsewhere")
        self.sink.mkdir()  # the mount point of a disk that is not there
        outcome = self.run_code(opt.SET_MISSING, *self.push())
        self.assertIn(opt.NEW_SET.encode(), outcome.stderr, outcome.text)
        self.assertEqual(os.listdir(self.sink), [])
        self.run_ok(*self.push(opt.NEW_SET))
        self.assert_same_tree(self.source, self.sink)

    def test_max_delete(self) -> None:
        for name in ("a", "b", "c"):
            (self.source / name).unlink()
        outcome = self.run_code(opt.MAX_DELETE, *self.push("--delete", "--max-delete", "2"))
        self.assertIn(b"3 entries would go; the limit of --max-delete is 2\n", outcome.stderr, outcome.text)
        self.assert_same_tree(self.old, self.sink, "nothing is committed")
        self.run_ok(*self.push("--delete", "--max-delete", "3"))
        self.assert_same_tree(self.source, self.sink)

    def test_max_delete_by_default(self) -> None:
        many = self.source / "many"
        many.mkdir()
        for number in range(1600):
            (many / f"n{number}").touch()
        self.run_ok(*self.push())
        before = tree.snapshot(self.sink)
        shutil.rmtree(many)
        outcome = self.run_code(opt.MAX_DELETE, *self.push("--delete"))
        self.assertIn(b"; the limit where none is named is 1000\n", outcome.stderr, outcome.text)
        self.assert_same_tree(before, self.sink)
        self.run_ok(*self.push("--delete", "--max-delete", "-1"))
        self.assert_same_tree(self.source, self.sink)


class NestedSets(Pushed):
    """A set of its own inside the destination: nothing from above reaches into it."""

    def setUp(self) -> None:
        super().setUp()
        self.inner = self.sink / "keep/inner"
        self.inner.parent.mkdir()
        outcome = self.run_ok("init", self.inner)
        self.assertIn(f"lies inside the file set at {self.sink}".encode(), outcome.stderr, outcome.text)
        self.run_ok("push", f"{self.source}/sub/", self.inner)
        (self.sink / "keep/extra").write_text("not in the source")
        self.nested = tree.snapshot(self.inner)

    def test_delete_spares_it(self) -> None:
        for carrier in ("local", "fake"):
            with self.subTest(carrier=carrier):
                (self.sink / "keep/extra").write_text("not in the source")
                outcome = self.run_ok("push", "-v", "--delete", *self.world.carrier_options(carrier),
                                      f"{self.source}/", self.world.far(self.sink, carrier))
                self.assertIn(b"keep/inner/ is a file set of its own and stays", outcome.stderr, outcome.text)
                self.assertFalse((self.sink / "keep/extra").exists(), "what is beside it goes")
                self.assert_same_tree(self.nested, self.inner)
        self.run_ok("verify", f"{self.source}/sub/", self.inner)

    def test_a_control_directory_without_a_set_is_told(self) -> None:
        gone = self.sink / "gone"
        (gone / "deep/.nbackup").mkdir(parents=True)
        (gone / "deep/.nbackup/journal").write_text("half of something")
        (gone / "other").write_text("x")
        for _ in range(2):
            outcome = self.run_code(opt.PARTIAL, *self.push("--delete"))
            self.assertEqual(outcome.stderr.count(b"delete gone/deep/: .nbackup in it"), 1, outcome.text)
            self.assertEqual(os.listdir(gone), ["deep"])
        shutil.rmtree(gone / "deep/.nbackup")
        self.run_ok(*self.push("--delete"))
        self.assertFalse(gone.exists())

    def test_it_is_not_replaced_by_a_file(self) -> None:
        (self.source / "keep").write_text("a file")
        self.run_code(opt.PARTIAL, *self.push("--delete"))
        self.assert_same_tree(self.nested, self.inner)

    def test_a_push_from_above_does_not_write_into_it(self) -> None:
        (self.source / "keep/inner").mkdir(parents=True)
        (self.source / "keep/inner/e").write_text("from above")
        (self.source / "a").write_text("changed")
        before = tree.snapshot(self.sink)
        outcome = self.run_code(opt.NESTED_SET, *self.push("--delete"))
        self.assertIn(b"keep/inner/: another file set lies inside this one", outcome.stderr, outcome.text)
        self.assert_same_tree(before, self.sink, "nothing is changed")
        self.run_code(opt.NESTED_SET, *self.push("-n"))
        self.run_ok(*self.push("--delete", "--exclude", "/keep/inner"))
        self.assert_same_tree(self.nested, self.inner)
        self.run_ok("push", f"{self.source}/keep/inner/", self.inner)


class Paths(Pushed):
    """What belongs together stays together, and one bad path does not end a run."""

    def test_missing_source_deletes_nothing(self) -> None:
        other = self.dir / "other"
        (other / "sub").mkdir(parents=True)
        for name in ("x", "sub/y"):
            (other / name).write_text(name)
        for command, far in (("push", str), ("pull", lambda path: f"nbtest:{path}")):
            with self.subTest(command=command):
                target = self.dir / f"both-{command}"
                options = self.world.carrier_options("fake") if command == "pull" else []
                words = [command, *options, "--delete", far(f"{self.source}/"), far(f"{other}/"), str(target)]
                self.run_ok(*words)
                before = tree.snapshot(target)
                other.rename(self.dir / "away")
                outcome = self.run_code(opt.PARTIAL, *words)
                (self.dir / "away").rename(other)
                self.assertIn(b"other", outcome.stderr, outcome.text)
                self.assert_same_tree(before, target, outcome.text)

    def test_file_against_directory_in_two_sources(self) -> None:
        other = self.dir / "other"
        (other / "a").mkdir(parents=True)
        outcome = self.run_code(opt.PARTIAL, "push", f"{self.source}/", f"{other}/", self.dir / "both")
        self.assertIn(b"a: a directory in one source, not in another", outcome.stderr, outcome.text)

    def test_hard_links_of_a_name_that_another_source_has(self) -> None:
        """The second source's file of that name is not sent, so nothing may be linked to it."""
        first, second, target = self.dir / "first", self.dir / "second", self.dir / "both"
        for source in (first, second):
            (source / "sub").mkdir(parents=True)
            for name in ("a", "sub/a"):
                (source / name).write_text(f"{name} of {source.name}\n")
        os.link(second / "a", second / "g")
        os.link(second / "a", second / "h")
        os.link(second / "sub/a", second / "sub/g")
        for command in (("push",), ("pull", *self.world.carrier_options("fake"))):
            with self.subTest(command=command[0]):
                if target.exists():
                    remove_tree(target)
                sources = [self.world.far(f"{each}/", "fake") if command[0] == "pull" else f"{each}/"
                           for each in (first, second)]
                for _ in range(2):
                    self.run_ok(*command, *sources, target)
                    for name, text in (("a", "a of first"), ("g", "a of second"), ("h", "a of second"),
                                       ("sub/a", "sub/a of first"), ("sub/g", "sub/a of second")):
                        self.assertEqual((target / name).read_text().strip(), text, name)
                    self.assertEqual((target / "g").stat().st_ino, (target / "h").stat().st_ino)
        # All its names are the other's: that is no empty source.
        self.run_ok("push", f"{first}/", f"{second}/", self.dir / "again")
        (second / "g").unlink(), (second / "h").unlink(), (second / "sub/g").unlink()
        self.run_ok("push", "--delete", f"{first}/", f"{second}/", self.dir / "again")
        self.assert_same_tree(first, self.dir / "again", ignore_root=True)

    def test_set_named_without_slash_is_read_whole(self) -> None:
        """A commit that was cut off there is finished before anything is read."""
        for name in ("a", "b", "c", "sub/e"):
            (self.source / name).write_text("second\n")
        cut = self.world.run(*self.push(), failpoint="txn.apply.op=abort@2")
        self.assertNotEqual(cut.code, 0)
        self.run_ok("pull", *self.world.carrier_options("fake"), f"nbtest:{self.sink}", self.dir / "back")
        self.assert_same_tree(self.source, self.dir / "back/sink")

    def test_leftover_of_a_pull_gives_way_to_a_set(self) -> None:
        target = self.dir / "target"
        options = self.world.carrier_options("fake")
        cut = self.world.run("pull", *options, f"nbtest:{self.source}/", target, failpoint="txn.apply.op=abort")
        self.assertNotEqual(cut.code, 0)
        self.assertTrue((target / ".nbackup").exists())
        for _ in range(2):
            self.run_ok("push", f"{self.source}/", target)
            self.assertIn("lifetime permanent", (target / ".nbackup/format").read_text())
        self.assert_same_tree(self.source, target)

    def test_home_does_not_become_a_set_by_a_slip(self) -> None:
        home = self.dir / "home"
        outcome = self.run_code(opt.PATH, "push", self.source, home)
        self.assertIn(b"init", outcome.stderr, outcome.text)
        self.assertFalse((home / ".nbackup").exists())
        self.run_ok("init", home)
        self.run_ok("push", self.source, home)

    def test_closed_directory_at_the_destination(self) -> None:
        """Someone else's directory in the set: told, left alone, and the rest is committed."""
        self.need_root()
        own_by_plain_user(self.source, self.sink)
        os.chown(self.sink / "sub", 0, 0)
        for mode in (0o700, 0o755, 0o555):
            with self.subTest(mode=oct(mode)):
                os.chmod(self.sink / "sub", mode)
                before = tree.snapshot(self.sink / "sub")
                (self.source / "a").write_text(f"changed for {mode}")
                (self.source / "sub/e").write_text(f"changed for {mode}")
                outcome = self.run_code(opt.PARTIAL, *self.push("--delete"), user=PLAIN_USER)
                self.assertIn(b"sub", outcome.stderr, outcome.text)
                self.assertEqual((self.sink / "a").read_text(), f"changed for {mode}")
                self.assert_same_tree(before, self.sink / "sub", outcome.text)

    def test_single_file_again(self) -> None:
        target = self.dir / "one"
        target.mkdir()
        for text in ("1", "2"):
            (self.source / "a").write_text(text)
            self.run_ok("push", self.source / "a", f"{target}/")
            self.assertEqual((target / "a").read_text(), text)
        self.assertEqual(os.listdir(target), ["a"])

    def test_parent_of_a_new_directory_keeps_its_time(self) -> None:
        (self.source / "sub/excluded").mkdir()
        target = self.dir / "target"
        self.run_ok("push", "--exclude=excluded", f"{self.source}/", target)
        self.run_ok("push", f"{self.source}/", target)
        self.assert_same_tree(self.source, target)

    def test_attributes_beyond_the_limit(self) -> None:
        """More than one entry may carry: that file is named, the rest is sent."""
        self.need_root()
        with loopfs.LoopFs(self.dir, "xfs") as disk:
            source = disk.mount / "source"
            source.mkdir()
            (source / "good").write_text("good")
            (source / "heavy").write_text("heavy")
            for number in range(30):
                os.setxattr(source / "heavy", f"user.{number}", b"x" * 60_000)
            target = disk.mount / "target"
            outcome = self.run_code(opt.PARTIAL, "push", f"{source}/", target)
            self.assertIn(b"heavy", outcome.stderr, outcome.text)
            self.assertEqual((target / "good").read_text(), "good")


class Places(Pushed):
    def test_node_in_place_of_a_file(self) -> None:
        """Who names a device, or a link to one, does not mean to replace it."""
        fifo, link = self.dir / "fifo", self.dir / "link"
        os.mkfifo(fifo)
        link.symlink_to("/dev/null")
        (self.source / "a").write_text("content\n")
        for place in (fifo, link):
            outcome = self.run_code(opt.PATH, "push", self.source / "a", place)
            self.assertIn("is neither a file nor a directory", outcome.stderr.decode())
        self.assertTrue(fifo.is_fifo() and link.is_symlink())

    def test_dry_run_refuses_a_home_too(self) -> None:
        for options in ([], ["-n"]):
            self.run_code(opt.PATH, "push", *options, f"{self.source}/", self.dir / "home")

    def test_output_that_cannot_be_written(self) -> None:
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        for command in (["status", "--json"], ["push", "-i", f"{self.source}/", self.sink], ["cache", "show"]):
            with self.subTest(command=command[0]):
                done = self.world.run_into_full(*command)
                self.assertEqual(done.returncode, opt.IO, done.stderr)
                self.assertEqual(done.stderr, b"nbackup: standard output: cannot be written\n")


class Together(Pushed):
    def test_second_writer(self) -> None:
        (self.source / "a").write_text("second content\n")
        run, pid = self.start_server("session.sink.locked")
        outcome = self.run_code(opt.LOCKED, *self.push())
        self.assertIn(str(pid).encode(), outcome.stderr, f"the holder is named\n{outcome.text}")
        self.run_code(opt.LOCKED, *self.push("--wait", "1"))
        waiting = [self.world.spawn(*self.push("-v", "--wait", "60")),
                   self.world.spawn("prune", "--wait", "60", "--keep-last", "9", self.sink)]
        for each in waiting:
            each.wait_for_message(b"waiting for the file set, which is held by ")
        os.kill(pid, signal.SIGCONT)
        self.assertEqual(run.wait().code, 0)
        for each in waiting:
            self.assertEqual(each.wait().code, 0)
        self.assert_same_tree(self.source, self.sink)

    def test_lock_dies_with_its_process(self) -> None:
        run, pid = self.start_server("session.sink.locked")
        os.kill(pid, signal.SIGKILL)
        run.wait()
        wait_gone(pid)
        self.run_ok(*self.push())

    def test_reader_during_a_commit(self) -> None:
        """A pull or verify that meets a half-applied commit waits or says so; it never shows a mix."""
        make_tree(self.source / "more", "more", 20)
        (self.source / "a").write_text("second content\n")
        (self.source / "b").unlink()
        new = tree.snapshot(self.source)
        run, pid = self.start_server("txn.apply.op", "--delete")
        reader = self.world.spawn("pull", f"{self.sink}/", self.dir / "back")
        blocked = self.world.spawn("verify", f"{self.source}/", self.sink)
        try:
            codes = []
            for late in (reader, blocked):
                try:
                    codes.append(late.process.wait(3))
                except Exception:  # noqa: BLE001: still waiting, which is right
                    codes.append(None)
        finally:
            os.kill(pid, signal.SIGCONT)
        self.assertEqual(run.wait().code, 0)
        for late, code in zip((reader, blocked), codes):
            end = late.wait()
            self.assertIn(end.code, (0, opt.LOCKED), end.text)
            if code == 0 and late is blocked:
                self.fail("verify saw a half-applied commit as equal")
        if (self.dir / "back").exists() and reader.process.returncode == 0:
            self.assert_same_tree(new, self.dir / "back", ignore_root=True)

    def test_what_cannot_be_looked_at_is_replaced_and_kept(self) -> None:
        """A file in the set that its owner may not read: nobody else has made it."""
        pool = self.plain_users_directory("theirs")
        self.run_ok("push", f"{self.source}/", pool, user=PLAIN_USER)
        for sources, number in (([self.source / "a", self.source / "b"], 2), ([f"{self.source}/"], 3)):
            with self.subTest(sources=sources):
                os.chmod(pool / "a", 0)
                (self.source / "a").write_text(f"content {number} of a\n")
                outcome = self.run_code(opt.PARTIAL, "push", "-c", *sources, pool, user=PLAIN_USER)
                self.assertIn(b"a: Permission denied", outcome.stderr, outcome.text)
                self.assertEqual((pool / "a").read_text(), f"content {number} of a\n")
                self.assertFalse((pool / ".nbackup/conflict").exists())
                listed = self.run_code(opt.PARTIAL, "ls", "--at", str(number - 1), pool, user=PLAIN_USER)
                self.assertIn(b"read a: Permission denied", listed.stderr, "told, not passed over")
                os.chmod(pool / f".nbackup/history/{number}/files/a", 0o600)
                listed = self.run_ok("ls", "--at", str(number - 1), pool, user=PLAIN_USER)
                self.assertIn(b"a\n", listed.stdout)

    def test_paths_that_are_too_long_below_the_root_of_the_set(self) -> None:
        self.run_ok("init", self.dir / "pool")
        below = self.dir / "pool" / ("p" * 200)
        deep = self.source.joinpath(*["d" * 200] * 19)
        deep.mkdir(parents=True)
        (deep / ("f" * 100)).write_text("too deep for it")
        (deep / "s").write_text("not quite")
        for number in (1, 2):
            (self.source / "a").write_text(f"content {number} of a\n")
            if number == 2:
                dry = self.run_code(opt.PARTIAL, "push", "-n", f"{self.source}/", below)
                self.assertIn(b"A path has at most 4,095 bytes", dry.stderr, dry.text)
            outcome = self.run_code(opt.PARTIAL, "push", f"{self.source}/", below)
            self.assertIn(b"A path has at most 4,095 bytes", outcome.stderr, outcome.text)
            self.assertEqual((below / "a").read_text(), f"content {number} of a\n")
            self.assertEqual(os.listdir(below.joinpath(*["d" * 200] * 19)), ["s"])

    def test_pull_that_meets_the_end_of_another(self) -> None:
        """It has opened the directory of the other's set, and reads the records when they are gone."""
        for opened in (1, 2, 3):  # to wait for the other, for its secret, and as the destination
            with self.subTest(opened=opened):
                back = self.dir / f"back{opened}"
                options = self.world.carrier_options("fake")
                pull = ["pull", *options, f"nbtest:{self.sink}/", str(back)]
                cut = self.world.spawn(*pull, failpoint="session.sink.locked=stop")
                self.assertTrue(wait_stopped(cut.process.pid))
                cut.kill()
                cut.wait()
                second = self.world.spawn(*pull, failpoint=f"txn.open.control=stop@{opened}")
                self.assertTrue(wait_stopped(second.process.pid))
                self.run_ok(*pull)
                os.kill(second.process.pid, signal.SIGCONT)
                outcome = second.wait()
                self.assertEqual(outcome.code, 0, outcome.text)
                self.assert_same_tree(self.old, back, ignore_root=True)

    def test_commit_waits_for_readers(self) -> None:
        (self.source / "a").write_text("second content\n")
        server = self.world.server("session.source.scan=stop@2")
        options = self.world.carrier_options("fake", server)
        reader = self.world.spawn("pull", *options, f"nbtest:{self.sink}/", self.dir / "back")
        pid = self.world.server_pid()
        self.assertTrue(wait_stopped(pid))
        self.run_code(opt.READERS_BUSY, *self.push("--wait-readers", "1"))
        self.assert_same_tree(self.old, self.sink)
        os.kill(pid, signal.SIGCONT)
        self.assertEqual(reader.wait().code, 0)
        self.assert_same_tree(self.old, self.dir / "back", "the reader saw the old generation", ignore_root=True)
        self.run_ok(*self.push())
        self.assert_same_tree(self.source, self.sink)


class ChangingSource(Pushed):
    """The server is stopped while it compares; the source changes; the server goes on."""

    def _push_while(self, change, *options: str):  # noqa: ANN001, ANN202
        (self.source / "d").write_text("second content of d\n")
        run, pid = self.start_server("session.sink.directory", *options)
        change()
        os.kill(pid, signal.SIGCONT)
        outcome = run.wait()
        wait_gone(pid)
        committed = (self.sink / "d").read_text()
        self.assertEqual(committed, "second content of d\n", f"the rest is committed\n{outcome.text}")
        return outcome

    def test_vanished_file(self) -> None:
        (self.source / "a").write_text("second content of a\n")
        outcome = self._push_while(lambda: (self.source / "a").unlink(), "--delete")
        self.assertEqual(outcome.code, opt.VANISHED, outcome.text)
        self.assertIn(b"a", outcome.stderr)
        self.assertIn((self.sink / "a").read_text(), ("first content of a\n",), "old or gone, never short")

    def test_vanished_while_its_directory_is_listed(self) -> None:
        """As rsync has it: told, exit 24, the rest committed."""
        (self.source / "d").write_text("second content of d\n")
        run = self.world.spawn("push", "--delete", *self.world.carrier_options("fake"), f"{self.source}/",
                               f"nbtest:{self.sink}", "--new-set", failpoint="scan.names_read=stop@1")
        self.assertTrue(wait_stopped(run.process.pid))
        (self.source / "b").unlink()
        os.kill(run.process.pid, signal.SIGCONT)
        outcome = run.wait()
        self.assertEqual(outcome.code, opt.VANISHED, outcome.text)
        self.assertIn(b"b: vanished", outcome.stderr, outcome.text)
        self.assert_same_tree(self.source, self.sink, ignore_root=True)

    def test_shrinking_and_growing_file(self) -> None:
        for text in ("x", "much longer than the content that was listed before\n" * 5000):
            (self.source / "a").write_text("listed content of a\n")
            outcome = self._push_while(lambda text=text: (self.source / "a").write_text(text))
            self.assertIn(outcome.code, (0, opt.PARTIAL, opt.VANISHED), outcome.text)
            self.assertIn((self.sink / "a").read_text(), (text, "first content of a\n", "x"))
            self.run_ok(*self.push())
            self.assert_same_tree(self.source, self.sink)

    def test_large_file_becomes_small(self) -> None:
        """A log that is rotated by copy and truncate: it has begun in pieces and goes on so."""
        (self.source / "log").write_bytes(b"line\n" * 100_000)
        run = self.world.spawn(*self.push(), failpoint="session.source.range_sent=stop")
        self.assertTrue(wait_stopped(run.process.pid))
        (self.source / "log").write_bytes(b"new\n")
        os.kill(run.process.pid, signal.SIGCONT)
        outcome = run.wait()
        self.assertEqual(outcome.code, 0, outcome.text)
        self.assertEqual((self.sink / "log").read_bytes(), b"new\n")

    def test_file_becomes_something_else(self) -> None:
        (self.source / "a").write_text("listed content of a\n")

        def replace() -> None:
            (self.source / "a").unlink()
            os.mkfifo(self.source / "a")  # opening one for reading would block

        outcome = self._push_while(replace)
        self.assertIn(outcome.code, (opt.PARTIAL, opt.VANISHED), outcome.text)
        self.run_ok(*self.push())
        self.assert_same_tree(self.source, self.sink)

    def test_directory_becomes_a_symlink(self) -> None:
        """A symlink swapped in for a directory is not followed."""
        outside = self.dir / "outside"
        shutil.copytree(self.source / "sub", outside)
        (outside / "secret").write_text("not part of the source")

        def swap() -> None:
            shutil.rmtree(self.source / "sub")
            (self.source / "sub").symlink_to(outside)

        self._push_while(swap)
        self.assertFalse((self.sink / "sub/secret").exists())

    def test_file_rewritten_all_the_time(self) -> None:
        """What is recorded as good is one version, never a mix of two."""
        file = self.source / "busy"
        size = 3 << 20
        file.write_bytes(b"\0" * size)
        stop = threading.Event()

        def rewrite() -> None:
            version = 0
            while not stop.is_set():
                version = version % 250 + 1
                with open(file, "r+b") as out:
                    out.write(bytes([version]) * size)

        writer = threading.Thread(target=rewrite)
        writer.start()
        try:
            outcome = self.world.run(*self.push())
        finally:
            stop.set()
            writer.join()
        self.assertIn(outcome.code, (0, opt.PARTIAL, opt.VANISHED), outcome.text)
        if (self.sink / "busy").exists():
            content = (self.sink / "busy").read_bytes()
            self.assertEqual(len(content), size)
            self.assertEqual(len(set(content)), 1, "a mix of versions was recorded")
        elif outcome.code == 0:
            self.fail("exit 0 without the file")

    def test_unreadable_as_plain_user(self) -> None:
        self.need_root()
        own_by_plain_user(self.dir)
        remove_tree(self.sink)
        push = self.push("--delete", opt.NEW_SET)
        self.run_ok(*push, user=PLAIN_USER)
        before = tree.snapshot(self.sink)
        os.chmod(self.source / "sub", 0o000)
        os.chmod(self.source / "a", 0o000)
        (self.source / "a").write_text("second content of a\n")
        (self.source / "d").write_text("second content of d\n")
        outcome = self.run_code(opt.PARTIAL, *push, user=PLAIN_USER)
        for name in (b"sub", b"a"):
            self.assertIn(name, outcome.stderr)
        have = tree.snapshot(self.sink)
        for path in (b"sub/e", b"sub/f", b"sub/deep/g", b"a"):
            self.assertIn(path, have, "nothing is deleted below what could not be read")
            self.assertEqual(have[path].digest, before[path].digest, path)
        self.assertEqual((self.sink / "d").read_text(), "second content of d\n")


class RandomChanges(Case):
    def test_source_mutating_during_the_run(self) -> None:
        """A tree in motion: any honest exit code, no mix, and once it rests the next run makes it equal."""
        source, sink = self.dir / "source", self.dir / "sink"
        forest = make_tree(source, "motion", 300)
        for number in range(4):
            run = self.world.spawn("push", "--delete", "--max-delete", "-1", f"{source}/", sink)
            while run.process.poll() is None:
                forest.mutate(random.Random(number).randrange(1, 5))
            outcome = run.wait()
            self.assertIn(outcome.code, (0, opt.PARTIAL, opt.VANISHED), outcome.text)
            self.run_ok("push", "--delete", "--max-delete", "-1", f"{source}/", sink)
            self.assert_same_tree(source, sink, f"round {number}")
            self.assert_clean(sink)


if __name__ == "__main__":
    unittest.main()
