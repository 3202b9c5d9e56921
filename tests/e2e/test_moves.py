# SPDX-License-Identifier: Apache-2.0
"""What was moved, renamed or copied is not sent again, whatever its shape; names that stay never share an inode; and
names that only the destination has never cost a listing."""
from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import unittest
from collections import Counter
from pathlib import Path

from support import loopfs, tree
from support.run import BINARY, Case

SUPPORT = Path(__file__).parent / "support"
MIB = 1 << 20


class Moving(Case):
    def setUp(self) -> None:
        super().setUp()
        self.source, self.sink = self.dir / "source", self.dir / "sink"
        self.source.mkdir()
        self.rng = random.Random(12)
        self.history: list[str] = []

    def put(self, name: str, size: int) -> Path:
        path = self.source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.rng.randbytes(size))
        return path

    def options(self, failpoint: str = "") -> list[str]:
        server = str(self.world.server(failpoint)) if failpoint else BINARY
        return ["--no-compress", "--remote-path", server, *self.history]

    def push(self, *options: str, code: int = 0) -> tuple[int, dict]:
        """Bytes both ways, and the summary."""
        counts = self.dir / "counts"
        rsh = f"python3 {SUPPORT}/proxy.py --count {counts} -- {self.world.fake_rsh}"
        outcome = self.run_code(code, "push", "--json", *self.options(), "-e", rsh, *options, f"{self.source}/",
                                f"nbtest:{self.sink}")
        summary = next(e for e in map(json.loads, outcome.stdout.splitlines()) if e["event"] in ("summary", "error"))
        return sum(int(word) for word in counts.read_text().split()), summary

    def move_costs_little(self, content: int, *options: str) -> dict:
        """A push after a change that moved `content` bytes."""
        total, summary = self.push(*options)
        self.assertLess(total, max(content // 100, 2000), "less than 1 % of the content")
        self.assertGreaterEqual(summary["changes"]["moved_bytes"], content, summary)
        self.assert_whole(*options)
        return summary

    def assert_whole(self, *options: str) -> None:
        if "--delete" in options:
            self.assert_same_tree(self.source, self.sink)
        else:
            want, have = tree.snapshot(self.source), tree.snapshot(self.sink)
            self.assert_same_tree(want, {path: entry for path, entry in have.items() if path in want},
                                  ignore_root=True)
        self.assert_clean(self.sink)
        self.assert_own_inodes()

    def assert_own_inodes(self) -> None:
        """Two names share an inode at the sink only if they do at the source, and nothing but names holds one: those
        of the tree, and those that earlier generations had for it."""
        kept = Counter(os.lstat(os.path.join(folder, name)).st_ino
                       for folder, _, names in os.walk(self.sink / ".nbackup" / "history") for name in names)
        for path, entry in tree.snapshot(self.sink).items():
            if entry.type == "file":
                found = os.lstat(os.path.join(os.fsencode(self.sink), path))
                self.assertEqual(found.st_nlink, max(1, len(entry.links)) + kept[found.st_ino], path)


class Rotten(Moving):
    def setUp(self) -> None:
        super().setUp()
        self.disk = loopfs.mounted_for(self, self.dir, "ext4", 64)
        self.sink = self.disk.mount / "set"

    def test_rotten_candidate(self) -> None:
        """A content that is not what the manifest says is not passed on, and nothing is lost because of it."""
        for what, change in (("copied", lambda a, b: shutil.copy2(a, b)), ("moved", os.rename)):
            with self.subTest(what):
                path = self.put(f"{what}-a", 200_000)
                content = path.read_bytes()
                self.push("--delete")
                self.disk.rot(content[:4096])  # the rest of it may lie elsewhere
                change(path, self.source / f"{what}-b")
                os.utime(self.source / f"{what}-b")
                old = tree.snapshot(self.sink)
                _, summary = self.push("--delete", code=11)
                self.assertIn("is not what was recorded of it", json.dumps(summary))
                self.assert_same_tree(old, tree.snapshot(self.sink), "nothing has changed")
                self.push("--delete")
                self.assertEqual((self.sink / f"{what}-b").read_bytes(), content)


class Files(Moving):
    def test_renamed_image(self) -> None:
        image = self.put("image", 8 * MIB)
        for round_, options in enumerate((["--delete"], [], ["--delete", "--paranoid"])):
            self.push(*options)
            inode = (self.sink / image.name).stat().st_ino
            image = image.rename(self.source / f"image{round_}")
            self.move_costs_little(8 * MIB, *options)
            same = (self.sink / image.name).stat().st_ino == inode
            self.assertEqual(same, "--delete" in options, "linked where the old name goes, else copied")

    def test_deltas_go_on_after_a_move(self) -> None:
        """The row and the signature of the content move with it: the basis is known by its digest."""
        image = self.put("image", 8 * MIB)
        self.push()
        image = image.rename(self.source / "renamed")
        self.move_costs_little(8 * MIB, "--delete")
        with open(image, "r+b") as file:
            file.seek(MIB)
            file.write(self.rng.randbytes(4096))
        total, _ = self.push("--delete")
        self.assertLess(total, 60_000)
        image = image.rename(self.source / "again")
        self.move_costs_little(8 * MIB, "--delete")

    def test_renamed_again_and_again(self) -> None:
        """The names that history keeps of a file do not make it one that is shared: it stays one inode, and each
        generation has it under its own name."""
        image = self.put("a", 2 * MIB)
        self.push()
        inode = (self.sink / "a").stat().st_ino
        names = ["a", "b", "c", "a", "b"]
        for name in names[1:]:
            image = image.rename(self.source / name)
            self.move_costs_little(2 * MIB, "--delete")
            self.assertEqual((self.sink / name).stat().st_ino, inode, name)
        content = image.read_bytes()
        for generation, name in enumerate(names, 1):
            target = self.dir / f"restored{generation}"
            self.run_ok("restore", f"{self.sink}/", target, "--at", str(generation))
            self.assertEqual([path.name for path in target.iterdir()], [name])
            self.assertEqual((target / name).read_bytes(), content)
        self.run_ok("prune", self.sink, "--keep-last", "2")
        self.assertEqual((self.sink / "b").stat().st_ino, inode)
        self.run_ok("restore", f"{self.sink}/", self.dir / "thinned", "--at", "4")
        self.assertEqual((self.dir / "thinned" / "a").read_bytes(), content)

    def test_a_directory_renamed_again(self) -> None:
        for number in range(3):
            self.put(f"one/sub/f{number}", 100_000)
        self.push()
        inodes = {path.name: path.stat().st_ino for path in (self.sink / "one/sub").iterdir()}
        for old, new in (("one", "two"), ("two", "three")):
            (self.source / old).rename(self.source / new)
            self.move_costs_little(300_000, "--delete")
        self.assertEqual({path.name: path.stat().st_ino for path in (self.sink / "three/sub").iterdir()}, inodes)

    def test_a_name_that_is_not_of_history(self) -> None:
        """A file that somebody has linked is copied when it moves: nobody knows whether that name stays."""
        image = self.put("image", 2 * MIB)
        self.push()
        image = image.rename(self.source / "second")
        self.move_costs_little(2 * MIB, "--delete")
        os.link(self.sink / "second", self.dir / "kept by hand")
        image.rename(self.source / "third")
        self.push("--delete")
        self.assert_whole("--delete")
        self.assertNotEqual((self.sink / "third").stat().st_ino, (self.dir / "kept by hand").stat().st_ino)

    def test_into_another_directory_and_metadata(self) -> None:
        image = self.put("a/b/image", 2 * MIB)
        self.push()
        (self.source / "c").mkdir()
        image = image.rename(self.source / "c/other")
        image.chmod(0o600)
        os.setxattr(image, "user.note", b"moved")
        self.move_costs_little(2 * MIB, "--delete")
        image = image.rename(self.source / "a/touched")
        os.utime(image, ns=(1, 10**18))
        self.move_costs_little(2 * MIB, "--delete")

    def test_copied_beside_the_original(self) -> None:
        self.put("image", 2 * MIB)
        self.push()
        subprocess.run(["cp", "-a", self.source / "image", self.source / "copy"], check=True)
        shutil.copyfile(self.source / "image", self.source / "copy2")
        self.move_costs_little(4 * MIB)
        self.assertEqual(len({(self.sink / name).stat().st_ino for name in ("image", "copy", "copy2")}), 3)

    def test_renamed_and_copied_in_one_run(self) -> None:
        image = self.put("image", 2 * MIB)
        self.push()
        image.rename(self.source / "m")
        for name in ("a", "z"):
            subprocess.run(["cp", "-a", self.source / "m", self.source / name], check=True)
        self.move_costs_little(6 * MIB, "--delete")

    def test_swap(self) -> None:
        self.put("a", 3 * MIB), self.put("b", 2 * MIB)
        self.push()
        for _ in range(2):
            (self.source / "a").rename(self.source / "t")
            (self.source / "b").rename(self.source / "a")
            (self.source / "t").rename(self.source / "b")
            self.move_costs_little(5 * MIB)  # the second one is linked, as the first name has gone by then

    def test_rotation(self) -> None:
        for number in range(4):
            self.put(f"log.{number}", MIB + number)
        for history in ([], ["--no-history"], []):
            self.history = history
            self.push()
            self.rotate(3)

    def rotate(self, rounds: int) -> None:
        """Each file stays the inode that it is, and the generation before has it under its old name."""
        for _ in range(rounds):
            for number in range(3, -1, -1):
                (self.source / f"log.{number}").rename(self.source / f"log.{number + 1}")
            (self.source / "log.4").unlink()
            self.put("log.0", MIB + 99)
            before = [(self.sink / f"log.{number}").stat().st_ino for number in range(4)]
            self.push()
            self.assert_whole()
            after = [(self.sink / f"log.{number}").stat().st_ino for number in range(4)]
            self.assertEqual(after[1:], before[:-1])
            if not self.history:
                numbers = [int(name) for name in os.listdir(self.sink / ".nbackup/history") if name.isdecimal()]
                kept = self.sink / f".nbackup/history/{max(numbers)}/files"
                self.assertEqual([(kept / f"log.{number}").stat().st_ino for number in range(4)], before)

    def test_hard_linked_pairs(self) -> None:
        first = self.put("pairs/one", 2 * MIB)
        os.link(first, self.source / "pairs/two")
        self.push()
        first.rename(self.source / "pairs/uno")
        (self.source / "pairs/two").rename(self.source / "pairs/due")
        self.move_costs_little(2 * MIB, "--delete")

    def test_same_size_is_not_the_same(self) -> None:
        self.put("image", 2 * MIB)
        self.push()
        self.put("other", 2 * MIB)
        total, summary = self.push()
        self.assertGreater(total, 2 * MIB)
        self.assertEqual(summary["changes"]["moved"], 0)
        self.assert_same_tree(self.source, self.sink)

    def test_candidate_edited_behind_our_back(self) -> None:
        """Same size and mtime, other content."""
        image = self.put("image", 2 * MIB)
        self.push()
        target = self.sink / "image"
        before = target.stat()
        with open(target, "r+b") as file:
            file.write(b"edited")
        os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))
        image.rename(self.source / "renamed")
        total, _ = self.push("--delete")
        self.assertGreater(total, 2 * MIB)
        self.assert_same_tree(self.source, self.sink)

    def test_manifest_lost(self) -> None:
        image = self.put("image", 2 * MIB)
        self.put("dir/small", 5000)
        self.push()
        for name in ("manifest.db", "manifest.db-wal", "manifest.db-shm"):
            (self.sink / ".nbackup" / name).unlink(missing_ok=True)
        image = image.rename(self.source / "renamed")
        self.push("--delete")
        self.assert_whole("--delete")
        (self.source / "dir").rename(self.source / "folder")  # noted again, though it had not changed
        self.assertEqual(self.push("--delete")[1]["changes"]["moved"], 1)
        self.assert_whole("--delete")

    def test_shared_blocks(self) -> None:
        """Where the file system shares blocks a copy takes no room."""
        for kind in ("xfs", "btrfs"):
            with self.subTest(kind=kind), loopfs.needed(self, self.dir, kind, 400) as disk:
                self.sink = disk.mount / "set"
                for name in os.listdir(self.source):
                    (self.source / name).unlink()
                self.put("image", 16 * MIB)
                self.push("--new-set")
                os.sync()
                before = os.statvfs(disk.mount)
                shutil.copyfile(self.source / "image", self.source / "copy")
                self.move_costs_little(16 * MIB)
                os.sync()
                after = os.statvfs(disk.mount)
                self.assertLess((before.f_bfree - after.f_bfree) * before.f_frsize, 4 * MIB)


class Directories(Moving):
    def setUp(self) -> None:
        super().setUp()
        self.content = 0
        for number in range(500):
            size = self.rng.randrange(300, 9000)
            self.content += size
            self.put(f"data/{'sub/' if number % 3 == 0 else ''}{'deep/' if number % 6 == 0 else ''}f{number}", size)
        for number in range(5):
            (self.source / f"data/sub/link{number}").symlink_to(f"f{number}")
        self.put("data/large", 300_000)
        (self.source / "data/empty").mkdir()
        self.content += 300_000

    # What is sent for each entry is bounded by its metadata; with files of this size that is more than a hundredth.
    ENTRY_BYTES = 100

    def moved(self, *options: str, left_out: int = 0) -> None:
        total, summary = self.push(*options)
        self.assertLess(total, 500 * self.ENTRY_BYTES + left_out)
        self.assertEqual(summary["counts"]["content_bytes"], left_out)
        self.assertGreaterEqual(summary["changes"]["moved_bytes"], self.content)
        self.assert_whole(*options)

    def test_renamed(self) -> None:
        self.push()
        (self.source / "data").rename(self.source / "renamed")
        self.moved("--delete")
        (self.source / "renamed").rename(self.source / "data")
        self.moved("--delete", "--paranoid")

    def test_renamed_and_the_old_one_stays(self) -> None:
        self.push()
        (self.source / "data").rename(self.source / "renamed")
        self.moved()

    def test_copied(self) -> None:
        self.push()
        subprocess.run(["cp", "-a", self.source / "data", self.source / "copy"], check=True)
        self.moved("--delete")

    def test_moved_below_something_new(self) -> None:
        self.push()
        (self.source / "new/place").mkdir(parents=True)
        (self.source / "data").rename(self.source / "new/place/data")
        self.moved("--delete")

    def test_renamed_with_a_file_added_in_a_directory_below(self) -> None:
        self.push()
        before = sum(p.stat().st_size for p in (self.source / "data/sub").iterdir() if p.is_file() and not
                     p.is_symlink())
        self.put("data/sub/added", 1234)
        (self.source / "data").rename(self.source / "renamed")
        self.content -= before
        self.moved("--delete", left_out=before + 1234)

    def test_edited_behind_our_back(self) -> None:
        self.push()
        target = next(p for p in sorted((self.sink / "data").iterdir()) if p.name.startswith("f"))
        size, before = target.stat().st_size, target.stat()
        with open(target, "r+b") as file:
            file.write(b"edited")
        os.utime(target, ns=(before.st_atime_ns, before.st_mtime_ns))
        (self.source / "data").rename(self.source / "renamed")
        self.content -= size
        self.moved("--delete", left_out=size)

    def test_hash_cache_lost(self) -> None:
        self.push()
        shutil.rmtree(self.world.dir / "cache")
        (self.source / "data").rename(self.source / "renamed")
        self.moved("--delete", "--new-set")

    def test_dies_while_moving(self) -> None:
        """Dies at every stage of a run that moves: each time the old or the new tree, and the rerun makes the new."""
        # A file whose old name is kept has two, and the next move copies it: here all are to be linked each time.
        self.history = ["--no-history"]
        self.put("image", MIB)
        self.put("a", 200_000), self.put("b", 100_000)
        self.push()
        old = tree.snapshot(self.source)
        (self.source / "data").rename(self.source / "renamed")
        (self.source / "image").rename(self.source / "picture")
        (self.source / "a").rename(self.source / "t")
        (self.source / "b").rename(self.source / "a")
        (self.source / "t").rename(self.source / "b")
        new = tree.snapshot(self.source)
        points = ("session.stage.take@1", "session.stage.take@300", "session.stage.linked@2",
                  "session.stage.linked@400", "session.sink.planned@1", "txn.prepare.synced@1", "txn.commit.ready@1",
                  "txn.commit.point@1",
                  "txn.apply.linked@1", "txn.apply.op@2", "txn.apply.op@4", "txn.apply.op@6", "txn.finish.head@1",
                  "session.sink.committed@1")
        for point in points:
            with self.subTest(point=point):
                self.crash(*point.split("@"), old, new)
                # Back to the old tree, which moves everything the other way.
                self.push_old(old)

    def crash(self, name: str, count: str, old: tree.Tree, new: tree.Tree) -> None:
        inode = (self.sink / "data/large").stat().st_ino
        died = self.world.run("push", "--delete", *self.options(f"{name}=abort@{count}"), "-e", self.world.fake_rsh,
                              f"{self.source}/", f"nbtest:{self.sink}")
        self.assertNotEqual(died.code, 0, died.text)
        self.run_code((0, 44), "recover", self.sink)
        have = tree.snapshot(self.sink)
        self.assertTrue(not tree.compare(old, have) or not tree.compare(new, have), "the old or the new tree")
        total, _ = self.push("--delete")
        self.assertLess(total, self.content // 10)
        self.assert_whole("--delete")
        if name.startswith("txn."):  # what was linked before has been logged
            self.assertEqual((self.sink / "renamed/large").stat().st_ino, inode, "linked, not copied")

    def push_old(self, old: tree.Tree) -> None:
        hidden = self.source.rename(self.dir / "hidden")
        subprocess.run(["cp", "-a", hidden, self.source], check=True)
        for here, there in (("a", "t"), ("b", "a"), ("t", "b"), ("picture", "image"), ("renamed", "data")):
            (self.source / here).rename(self.source / there)
        os.utime(self.source, ns=(old[b""].mtime_ns, old[b""].mtime_ns))
        self.push("--delete")
        self.assert_same_tree(old, self.sink)
        shutil.rmtree(self.source)
        hidden.rename(self.source)


class Extras(Moving):
    DIRECTORIES = 40

    def setUp(self) -> None:
        super().setUp()
        for number in range(self.DIRECTORIES):
            for name in range(5):
                self.put(f"d{number:02}/f{name}", 100)
        self.push()
        self.plain = self.push()[0]

    def add_extras(self) -> None:
        for number in range(self.DIRECTORIES):
            (self.sink / f"d{number:02}/extra").write_text("here only")
            (self.sink / f"d{number:02}/more").mkdir()
            (self.sink / f"d{number:02}/more/inside").write_text("here only")

    def test_extras_do_not_cost_a_listing(self) -> None:
        self.add_extras()
        self.push()
        self.assertLess(self.push()[0], self.plain * 1.05)
        (self.sink / "d01/extra").unlink()
        self.assertGreater(self.push()[0], self.plain, "what is remembered is not right any more")
        self.assertLess(self.push()[0], self.plain * 1.05)
        (self.source / "d02/f1").write_text("changed")
        self.push()
        self.assertEqual((self.sink / "d02/f1").read_text(), "changed")
        self.assertLess(self.push()[0], self.plain * 1.05)

    def test_delete_takes_them_later(self) -> None:
        self.add_extras()
        self.push()
        total, summary = self.push("--delete")
        self.assertEqual(summary["changes"]["deleted"], 3 * self.DIRECTORIES)
        self.assertLess(total, self.plain * 1.2)
        self.assert_same_tree(self.source, self.sink)
        self.assertLess(self.push("--delete")[0], self.plain * 1.05)

    def test_a_name_that_the_source_gets_later_is_no_extra(self) -> None:
        self.add_extras()
        self.push()
        self.put("d03/extra", 50)
        self.push()
        self.assertEqual((self.sink / "d03/extra").read_bytes(), (self.source / "d03/extra").read_bytes())
        self.push("--delete")
        self.assert_same_tree(self.source, self.sink)


if __name__ == "__main__":
    unittest.main()
