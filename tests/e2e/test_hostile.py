# SPDX-License-Identifier: Apache-2.0
"""A hostile or broken peer, on either side of a push or a pull.

A small session is recorded once. Then a player stands in for one side and sends doctored versions of what that side had
sent: bad names and paths, huge counts, things nobody asked for, damaged and cut frames. Nothing outside the destination
may change, the set keeps its old tree (or gets the true new one), nobody crashes or hangs, and each lie is refused for
what it is: by the exit code and by what the victim says.
"""
from __future__ import annotations

import os
import random
import re
import unittest
from pathlib import Path
from typing import Callable, Iterable

from support import disorder, options as opt, peer, player, session_lies, sink_lies, source_lies, tree, unasked_lies
from support.arena import HOST, SUPPORT, Arena, Stage, Tape, report
from support.doctor import Lie
from support.gen import Kinds, make_tree
from support.run import FULL, Case, World, remove_tree

REFUSED = (opt.PROTOCOL, opt.PATH, opt.PROTOCOL_VERSION)
ANY_ERROR = (1, 2, 3, 4, 5, 10, 11, 12, 23, 24, 25, 30)
VICTIMS = ("serve-sink", "serve-source", "push-client", "pull-client")
OF_A_KIND = 3  # lies that a sample takes
PUSH = ("push", "source/", f"{HOST}:sink")
PULL = ("pull", f"{HOST}:source/", "sink")


def _build(dir_: Path, world: World) -> None:
    """Source and sink with every kind of difference: new, changed, linked, sparse, gone, the same."""
    kinds = Kinds(devices=False, sockets=False, odd_names=False, owners=False, far_times=False, big_bytes=300_000)
    source, sink = dir_ / "source", dir_ / "sink"
    dir_.mkdir()
    forest = make_tree(source, "hostile", 25, kinds)
    (source / "large").write_bytes(random.Random(5).randbytes(400_000))
    (source / "same").mkdir()
    (source / "same/file").write_bytes(b"the same\n")
    (source / "report.txt").write_bytes(b"old\n")
    (source / "pair a").write_bytes(b"old\n")
    os.link(source / "pair a", source / "pair b")
    outcome = world.run("push", f"{source}/", sink)
    assert outcome.code == 0, outcome.text
    forest.mutate(10)
    (source / "large").write_bytes(random.Random(6).randbytes(400_000))
    (source / "report.txt").write_bytes(b"what was asked for\n")
    (source / "pair a").write_bytes(random.Random(7).randbytes(70_000))
    (source / "fresh/below").mkdir(parents=True)
    for name in ("fresh/one", "fresh/two", "fresh/below/three"):
        (source / name).write_bytes(name.encode() * 100)
    with open(source / "holes", "wb") as out:
        out.truncate(3 << 20)
        out.seek(1 << 20)
        out.write(random.Random(8).randbytes(100_000))
    make_tree(dir_ / "outside", "outside", 10, kinds)


class Hostile(Case):
    world_of_all: World
    stage: Stage
    tapes: dict[str, Tape]

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        reason = peer.missing()
        if reason:
            raise unittest.SkipTest(reason)
        cls.world_of_all = World()
        cls.addClassCleanup(cls.world_of_all.close)
        first = cls.world_of_all.dir / "arena0"
        _build(first, cls.world_of_all)
        cls.stage = Stage(cls.world_of_all, first)
        cls.tapes = {}

    def tape(self, victim: str) -> Tape:
        if victim not in self.tapes:
            words = PUSH if victim in ("serve-sink", "push-client") else PULL
            self.tapes[victim] = self.record(victim, words)
            self.assert_same_tree(self.stage.judge.new, self.stage.arenas[0].sink, "recording", ignore_root=True)
            self.stage.arenas[0].reset()
        return self.tapes[victim]

    def record(self, victim: str, words: tuple[str, ...]) -> Tape:
        return self.stage.arenas[0].record(victim, *words)

    def play_all(self, jobs: Iterable[tuple[str, object]], do: Callable[[Arena, object], list[str]]) -> None:
        for note, wrong in self.stage.each(jobs, do):
            with self.subTest(note):
                if wrong:
                    self.fail(note + "\n" + "\n".join(wrong))

    def check(self, tape: Tape, every: Iterable[Lie]) -> None:
        chosen = list(every)
        if not FULL:
            kinds = sorted({lie.kind for lie in chosen})
            of = {kind: [lie for lie in chosen if lie.kind == kind] for kind in kinds}
            rng = random.Random(tape.victim)
            chosen = [lie for kind in kinds for lie in rng.sample(of[kind], min(OF_A_KIND, len(of[kind])))]
        self._all(tape, chosen)

    # --- controls ---------------------------------------------------------------------------------------------------
    def test_honest_replay(self) -> None:
        """The other tests mean something only if what is recorded, taken apart and put together again with all sums
        computed anew, is the same and is accepted."""
        jobs = []
        for victim in VICTIMS:
            tape = self.tape(victim)
            with self.subTest(victim=victim):
                again = [[peer.recoded(message) for message in part] for part in tape.parts]
                self.assertEqual(again, tape.parts)
                if victim in ("serve-sink", "pull-client"):
                    self.assertEqual(peer.settled(again, tape.secret), tape.parts)
                self.assertEqual(b"".join(data for _wait, data in tape.doctored(again)), tape.stream)
                jobs.append((victim, (tape, Lie("control", "none", again, ""))))
        self.play_all(jobs, lambda arena, job: self.stage.judge.refused(
            arena, job[0], job[1], arena.play(job[0], job[0].doctored(job[1].parts))))

    def test_sums_are_right(self) -> None:
        """A source may say something else if all sums fit: an entry's new mode is accepted and gets into the set."""
        for victim in ("serve-sink", "pull-client"):
            tape = self.tape(victim)
            with self.subTest(victim=victim):
                arena = self.stage.arenas[0]
                parts, path, mode = disorder.honest_change(tape.parts, tape.secret)
                outcome = arena.play(tape, tape.doctored(parts))
                self.assertEqual(outcome.code, 0, outcome.text)
                self.assertEqual(os.lstat(os.fsencode(arena.sink) + b"/" + path).st_mode & 0o7777, mode)
                arena.reset()

    # --- lies -------------------------------------------------------------------------------------------------------
    def test_lies_to_a_sink_server(self) -> None:
        tape = self.tape("serve-sink")
        self.check(tape, [*source_lies.to_a_sink(tape.parts, tape.secret), *session_lies.to_a_server(tape.parts)])

    def test_lies_to_a_source_server(self) -> None:
        tape = self.tape("serve-source")
        self.check(tape, [*sink_lies.to_a_source(tape.parts, peer.frames(tape.heard)),
                          *session_lies.to_a_server(tape.parts)])

    def test_lies_to_a_push_client(self) -> None:
        tape = self.tape("push-client")
        self.check(tape, [*sink_lies.to_a_source(tape.parts, peer.frames(tape.heard)),
                          *session_lies.to_a_client(tape.parts, "secret has the wrong length")])

    def test_lies_to_a_pull_client(self) -> None:
        tape = self.tape("pull-client")
        self.check(tape, [*source_lies.to_a_sink(tape.parts, tape.secret),
                          *session_lies.to_a_client(tape.parts, "message not allowed from a source|secret")])

    def test_tree_that_was_not_asked_for(self) -> None:
        """A pull names what it wants; a server that sends something else changes nothing."""
        tape = self.record("pull-client", ("pull", f"{HOST}:source/report.txt", "sink/"))
        self.stage.arenas[0].reset()
        tape.changes = False
        honest = self.stage.arenas[0].play(tape, tape.doctored(tape.parts))
        self.assertEqual(honest.code, 0, honest.text)
        self.assertEqual((self.stage.arenas[0].sink / "report.txt").read_bytes(), b"what was asked for\n")
        self.stage.arenas[0].reset()
        self._all(tape, unasked_lies.unasked(tape.parts, tape.secret))
        whole = self.tape("pull-client")
        self._all(whole, unasked_lies.whole_as_one(whole.parts))

    def _all(self, tape: Tape, every: Iterable[Lie]) -> None:
        def do(arena: Arena, lie: Lie) -> list[str]:
            return self.stage.judge.refused(arena, tape, lie, arena.play(tape, tape.doctored(lie.parts)))

        self.play_all([(f"{tape.victim}: {lie.note}", lie) for lie in every], do)

    def test_directories_without_end(self) -> None:
        """More announced than the credit allows, and no listing sent: a sink does not collect them."""
        jobs = []
        for victim in ("serve-sink", "pull-client"):
            tape = self.tape(victim)
            second = peer.Message(tape.parts[1][0].type, tape.parts[1][0].body)
            if victim == "serve-sink":
                second.body = peer.with_field(second.body, peer.OPEN["flags"], peer.varint(peer.DRY_RUN))
            # Counted by the least that a listing can take, these are more than any side allows by itself.
            parts = unasked_lies.flood(tape.parts[0][0], second, tape.secret, 70_000)
            dry = Tape(victim, [tape.argv[0], "--dry-run", *tape.argv[1:]], [], b"")
            jobs.append((victim, (dry, Lie("flood", "directories without end", parts, "directory.*credit|credit"))))

        def do(arena: Arena, job: tuple[Tape, Lie]) -> list[str]:
            encoded = [peer.frame(b"".join(m.encoded() for m in part)) for part in job[1].parts]
            outcome = arena.play(job[0], [(1, encoded[0]), (1, b"".join(encoded[1:]))])
            return self.stage.judge.refused(arena, job[0], job[1], outcome)

        self.play_all(jobs, do)

    def test_openings(self) -> None:
        """What a client may ask of a server that is confined to a directory."""
        outside = str(self.stage.arenas[0].outside)
        for arena in self.stage.arenas:
            (arena.sink / "out").symlink_to("../outside")
        bad_paths = ("..", "../outside", "same/../../outside", "../outside/new", "out", "out/", "out/new", outside,
                     f"{outside}/new", "/", "/tmp/escape", "../sink/../outside", "../sinkhole")
        jobs: list[tuple[str, tuple[list[peer.Message], str, int]]] = []
        for path in bad_paths:
            for flags in (0, peer.SINGLE_FILE | peer.IMPLIED_ROOT):
                said = peer.opening(peer.PUSH, destination=path.encode(), flags=peer.varint(flags))
                jobs.append((f"push to {path!r}, {flags:#x}", ([said], "lies outside|No such file", 3)))
            if path == "out":
                continue  # as a source that is the symlink itself, which may be had
            said = peer.opening(peer.PULL, sources=peer.strings([path.encode()]), secret=bytes(32))
            jobs.append((f"pull of {path!r}", ([said], "source", 3)))
        jobs.append(("pull of nothing", ([peer.opening(peer.PULL, secret=bytes(32))], "source", opt.PROTOCOL)))
        jobs.append(("pull of an empty list",
                     ([peer.opening(peer.PULL, sources=peer.strings([]), secret=bytes(32))], "source", opt.PROTOCOL)))
        jobs.append(("pull without a secret", ([peer.opening(peer.PULL, sources=peer.strings([b"."]))], "secret",
                                               opt.PROTOCOL)))
        for rule in (b"garbage", b"- ", b". /etc/passwd", b"\xff\xfe", b"-" * 4000):
            for words in ({"operation": peer.PUSH}, {"operation": peer.PULL, "sources": peer.strings([b"."])}):
                said = peer.opening(filter_rules=peer.strings([rule]), secret=bytes(32), **words)
                jobs.append((f"rule {rule[:12]!r}, {words['operation']}", ([said], "filter rule", opt.PROTOCOL)))

        def do(arena: Arena, job: tuple[list[peer.Message], str, int]) -> list[str]:
            said, why, code = job
            confined = Arena(arena.world, arena.dir, ["--root", str(arena.sink)])
            script = [(0, peer.frame(peer.hello().encoded())), (1, peer.frame(b"".join(m.encoded() for m in said)))]
            outcome = confined.play_to_server(script)
            found = self.stage.judge.untouched(arena)
            if outcome.code != code or not re.search(why, outcome.stderr.decode(errors="replace")):
                found.append(f"wanted {code} and {why!r}")
            return report(found, outcome)

        self.play_all(jobs, do)
        for arena in self.stage.arenas:
            arena.reset()

    def test_query_out_of_the_root(self) -> None:
        """A question about a set outside tells nothing about it."""
        arena = self.stage.arenas[0]
        confined = Arena(arena.world, arena.dir, ["--root", str(arena.source)])
        query = peer.Message(peer.NUMBERS["query"], b"\0" * 16 + peer.string(b"../sink"))
        outcome = confined.play_to_server([(0, peer.frame(peer.hello().encoded())), (1, peer.frame(query.encoded()))])
        said = [m for part in peer.frames(outcome.stdout) for m in part if m.name in ("query_reply", "error")]
        self.assertEqual([m.name for m in said], ["error"], outcome.text)
        self.assertIn(b"lies outside", said[0].body)

    # --- damage -----------------------------------------------------------------------------------------------------
    def _survives(self, tape: Tape, codes: tuple[int, ...]) -> Callable[[Arena, list[player.Step]], list[str]]:
        """An exit code, and the old or (where that is what was sent) another tree; nothing outside changes."""
        def do(arena: Arena, script: list[player.Step]) -> list[str]:
            outcome = arena.play(tape, script)
            found = self.stage.judge.untouched(arena)
            if outcome.code not in codes:
                found.append(f"exit {outcome.code}")
            have = tree.snapshot(arena.sink)
            if outcome.code not in (0, opt.PARTIAL, opt.VANISHED) and tree.compare(self.stage.judge.new, have,
                                                                                   ignore_root=True):
                found += tree.compare(self.stage.judge.old, have, ignore_root=True)
            if outcome.code in (0, opt.PARTIAL, opt.VANISHED):
                found += self._unsound(arena)
            arena.reset()
            return report(found, outcome)
        return do

    @staticmethod
    def _unsound(arena: Arena) -> list[str]:
        """What a run that says it has committed may not leave."""
        found = tree.leftovers(arena.sink)
        if (arena.sink / ".nbackup").exists():
            checks = [arena.world.run(command, arena.sink) for command in ("recover", "scrub")]
            found += [check.text for check in checks if check.code != 0]
        return found

    def test_damage_and_disorder(self) -> None:
        """Legal or not, what comes out is an exit code and a whole tree."""
        for victim in VICTIMS:
            tape = self.tape(victim)
            every = list(disorder.shuffled(tape.parts)) + list(disorder.damaged(tape.parts, 1, 400))
            chosen = every if FULL else random.Random(victim).sample(every, 20)
            self.play_all([(f"{victim}: {note}", tape.doctored(parts)) for note, parts in chosen],
                          self._survives(tape, (0, *ANY_ERROR)))

    def test_flipped_bits(self) -> None:
        """A connection without a MAC: every single flipped bit is noticed."""
        for victim in VICTIMS:
            tape = self.tape(victim)
            rng = random.Random(f"flip-{victim}")
            # A client's goodbye that says to be longer is a connection that ends when all is done.
            end = peer.boundaries(tape.stream)[-2] if victim.startswith("serve") else len(tape.stream)
            offsets = [0, 3, 5, 9, 16] + [rng.randrange(end) for _ in range(150 if FULL else 8)]
            self.play_all([(f"{victim}: bit flipped at {at}", _flipped(tape.script, at)) for at in offsets],
                          self._survives(tape, (opt.PROTOCOL,)))

    def test_cut_at_every_frame(self) -> None:
        """The connection ends after each frame, and inside each, in both directions of a real session."""
        jobs = []
        for way in ("up", "down"):
            cuts = peer.boundaries(self.tape("serve-sink" if way == "up" else "push-client").stream)
            cuts += [cut + 7 for cut in cuts[:-1]]
            chosen = sorted(cuts) if FULL else sorted(random.Random(way).sample(cuts, min(len(cuts), 10)))
            jobs += [(f"cut {way} at {cut}", (way, cut)) for cut in chosen]
        self.play_all(jobs, self._cut)

    def _cut(self, arena: Arena, job: tuple[str, int]) -> list[str]:
        world, (way, cut) = arena.world, job
        argv = self.tape("serve-sink").argv
        counts = arena.dir / "counts"
        rsh = f"python3 {SUPPORT}/proxy.py --plain --count {counts} --cut-{way} {cut} -- {world.fake_rsh}"
        outcome = world.run(*argv, "-e", rsh, timeout=60, cwd=arena.dir)
        passed = dict(zip(("up", "down"), map(int, counts.read_text().split())))[way]
        counts.unlink()
        # How well a session compresses depends on the load: one may be over a few bytes before the recorded one was.
        over_before = outcome.code == 0 and 0 < cut - passed < 100
        found = [] if passed == cut or over_before else [f"{passed} bytes have passed"]
        if outcome.code not in (0, opt.REMOTE_MISSING, opt.CONNECT, opt.PROTOCOL):
            found.append(outcome.text)
        recovered = world.run("recover", "--wait", "20", arena.sink)
        have = tree.snapshot(arena.sink)
        if have != self.stage.judge.new:
            found += tree.compare(self.stage.judge.old, have)
            if outcome.code == 0:
                found.append("exit 0 and the old tree")
        again = world.run(*argv, "-e", world.fake_rsh, cwd=arena.dir)
        if recovered.code or again.code:
            found += [recovered.text, again.text]
        found += tree.compare(self.stage.judge.new, tree.snapshot(arena.sink)) + tree.leftovers(arena.sink)
        arena.reset()
        return found

    def test_garbage(self) -> None:
        """No nbackup at the other end at all."""
        hello = peer.frame(peer.hello().encoded())
        banner, cut = "frame: expected nbackup, got", "connection|nbackup does not run"
        garbage = {
            "nothing": (b"", cut), "zeros": (b"\0" * 4000, banner), "noise": (random.Random(3).randbytes(5000), banner),
            "a banner": (b"Welcome to this host!\nLast login: today\n", banner), "half a header": (b"nB\0\0", cut),
            "an endless frame": (peer.frame(b"x", length=0xFFFFFFFF), "frame header: frame too long"),
            "an empty frame": (peer.frame(b""), "frame header: empty frame"),
            "a wrong check": (peer.frame(b"\x01\0\0\0\0", check=1), "frame: check failed"),
            "unknown flags": (peer.frame(b"\x01\0\0\0\0", flags=255), "frame header: unknown flags"),
            "a message longer than its frame": (peer.frame(b"\x01\xff\xff\xff\xff"), "frame: message too long"),
            "hello and no more": (hello, cut),
            "hello and noise": (hello + random.Random(4).randbytes(3000), banner), "half a frame": (hello[:20], cut),
        }
        for victim in VICTIMS:
            tape = self.tape(victim)

            def do(arena: Arena, job: tuple[bytes, str], tape: Tape = tape) -> list[str]:
                outcome = arena.play(tape, [(0, job[0])])
                codes = (*REFUSED, opt.REMOTE_MISSING)
                found = self.stage.judge.untouched(arena)
                if outcome.code not in codes or not re.search(job[1], outcome.stderr.decode(errors="replace")):
                    found.append(f"wanted {job[1]!r}")
                found += tree.compare(self.stage.judge.old, tree.snapshot(arena.sink))
                return report(found, outcome)

            self.play_all([(f"{victim}: {note}", job) for note, job in garbage.items()], do)

    def test_symlink_in_place_of_a_directory(self) -> None:
        """Someone with access to the set plants a symlink to the outside where the push will write."""
        judge = self.stage.judge
        paths = [path for path, entry in sorted(judge.old.items())
                 if entry.type == "dir" and path and judge.new.get(path) and judge.new[path].type == "dir"]
        self.assertGreater(len(paths), 0)

        def do(arena: Arena, path: bytes) -> list[str]:
            victim = Path(os.fsdecode(os.path.join(os.fsencode(arena.sink), path)))
            remove_tree(victim)
            victim.symlink_to(arena.outside)
            outcome = arena.world.run("push", "--delete", f"{arena.source}/", arena.sink)
            found = judge.untouched(arena) + tree.compare(judge.new, tree.snapshot(arena.sink))
            arena.reset()
            return [*found, outcome.text] if found or outcome.code else []

        self.play_all([(repr(path), path) for path in paths], do)


def _flipped(script: list[player.Step], offset: int) -> list[player.Step]:
    out, at = [], 0
    for wait, data in script:
        if at <= offset < at + len(data):
            here = offset - at
            data = data[:here] + bytes([data[here] ^ 0x04]) + data[here + 1 :]
        at += len(data)
        out.append((wait, data))
    return out


if __name__ == "__main__":
    unittest.main()
