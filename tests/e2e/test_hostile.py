# SPDX-License-Identifier: Apache-2.0
"""A hostile or broken peer, on either side of a push or a pull.

A small session is recorded once. Then a player stands in for one side and sends doctored versions of what that side had
sent: bad names and paths, huge counts, things nobody asked for, damaged and cut frames. Nothing outside the destination
may change, the set keeps its old tree (or gets the true new one), nobody crashes or hangs, and the exit code says
protocol (12), path (3) or version (2).
"""
from __future__ import annotations

import os
import pickle
import random
import subprocess
import unittest
from dataclasses import dataclass
from pathlib import Path

from support import lies, options as opt, peer, player, tree
from support.gen import Kinds, make_tree
from support.run import BINARY, FULL, Case, Outcome, clone, remove_tree

SUPPORT = Path(__file__).parent / "support"
REFUSED = (opt.PROTOCOL, opt.PATH, opt.PROTOCOL_VERSION)
ANY_ERROR = (1, 2, 3, 4, 5, 10, 11, 12, 23, 24, 25, 30)


@dataclass
class Tape:
    """A recorded direction and how to play it to a victim."""

    victim: str  # serve-sink, serve-source, push-client, pull-client
    script: list[player.Step]
    stream: bytes
    secret: bytes

    @property
    def parts(self) -> lies.Parts:
        return peer.frames(self.stream)

    def doctored(self, parts: lies.Parts) -> list[player.Step]:
        encoded = [peer.frame(b"".join(m.encoded() for m in part)) for part in parts]
        return player.rescript(self.script, encoded, peer.boundaries(self.stream))


class Hostile(Case):
    """Everything lives in dir/arena; dir/arena/outside must never change."""

    def setUp(self) -> None:
        super().setUp()
        reason = peer.missing()
        if reason:
            self.skipTest(reason)
        kinds = Kinds(devices=False, sockets=False, odd_names=False, owners=False, far_times=False, big_bytes=300_000)
        self.arena = self.dir / "arena"
        self.arena.mkdir()
        self.source, self.sink = self.arena / "source", self.arena / "sink"
        forest = make_tree(self.source, "hostile", 25, kinds)
        (self.source / "large").write_bytes(random.Random(5).randbytes(400_000))
        self.run_ok("push", f"{self.source}/", self.sink)
        forest.mutate(10)
        (self.source / "large").write_bytes(random.Random(6).randbytes(400_000))
        make_tree(self.arena / "outside", "outside", 10, kinds)
        self.base = self.dir / "base"
        clone(self.sink, self.base)
        self.old, self.new = tree.snapshot(self.sink), tree.snapshot(self.source)
        self.outside = tree.snapshot(self.arena / "outside")

    # --- recording and playing --------------------------------------------------------------------------------------
    def reset(self) -> None:
        remove_tree(self.sink)
        clone(self.base, self.sink)

    def record(self, victim: str) -> Tape:
        prefix = self.dir / "scratch" / f"tape-{victim}"
        rsh = f"python3 {SUPPORT}/proxy.py --record {prefix} -- {self.world.fake_rsh}"
        operation = "push" if victim in ("serve-sink", "push-client") else "pull"
        self.run_ok(*self._arguments(operation, rsh))
        self.assert_same_tree(self.new, self.sink, "recording", ignore_root=True)
        way = "up" if victim.startswith("serve") else "down"
        stream = prefix.with_suffix("." + way).read_bytes()
        secret = (self.sink / ".nbackup/secret").read_bytes()
        self.reset()
        return Tape(victim, player.steps(prefix, way), stream, secret[:32])

    def _arguments(self, operation: str, rsh: str) -> list[str]:
        ends = [f"{self.source}/", f"nbtest:{self.sink}"]
        if operation == "pull":
            ends = [f"nbtest:{self.source}/", str(self.sink)]
        # Uncompressed, so that the messages can be taken out of the frames and others put in.
        return [operation, "--delete", "--no-compress", "--timeout", "10", "--remote-path", BINARY, "-e", rsh, *ends]

    def play(self, tape: Tape, script: list[player.Step]) -> Outcome:
        if tape.victim.startswith("serve"):
            return self._play_to_server(script)
        file = self.dir / "scratch" / "script"
        file.write_bytes(pickle.dumps(script))
        operation = "push" if tape.victim == "push-client" else "pull"
        return self.world.run(*self._arguments(operation, f"python3 {SUPPORT}/player.py {file}"), timeout=60)

    def _play_to_server(self, script: list[player.Step]) -> Outcome:
        argv = [BINARY, "serve", "--timeout", "10"]
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=self.world.env(), cwd=self.arena) as victim:
            assert victim.stdin and victim.stdout and victim.stderr
            to_victim = os.dup(victim.stdin.fileno())
            victim.stdin.close()
            player.play(script, to_victim, victim.stdout.fileno())
            os.close(to_victim)
            player.drain(victim.stdout.fileno())
            try:
                victim.wait(30)
            except subprocess.TimeoutExpired:
                victim.kill()
                self.fail("serve hangs")
            return Outcome(victim.returncode, b"", victim.stderr.read(), argv)

    def judge(self, tape: Tape, note: str, outcome: Outcome, codes: tuple[int, ...]) -> None:
        self.assertIn(outcome.code, codes, f"{note}\n{outcome.text}")
        self.assert_same_tree(self.outside, self.arena / "outside", note)
        self.assertEqual(sorted(os.listdir(self.arena)), ["outside", "sink", "source"], note)
        self.assertFalse(Path("/tmp/escape").exists(), note)
        self.assert_same_tree(self.new, self.source, f"{note}: the source changed")
        have = tree.snapshot(self.sink)
        if tree.compare(self.new, have, ignore_root=True):
            sink_is_played = tape.victim in ("push-client", "serve-source")  # what success means is up to the player
            want = self.old if outcome.code or sink_is_played else self.new
            self.assert_same_tree(want, have, f"{note}: the set changed", ignore_root=True)
        if have != self.old:
            self.reset()

    # --- tests ------------------------------------------------------------------------------------------------------
    def test_honest_replay(self) -> None:
        """The other tests mean something only if the recorded bytes themselves are accepted."""
        for victim in ("serve-sink", "serve-source", "push-client", "pull-client"):
            with self.subTest(victim=victim):
                tape = self.record(victim)
                self.assertEqual(peer.joined(tape.parts), tape.stream)
                outcome = self.play(tape, tape.doctored(tape.parts))
                self.assertEqual(outcome.code, 0, outcome.text)
                self.reset()

    def _lies(self, victim: str) -> None:
        tape = self.record(victim)
        every = list(lies.lies(tape.parts, tape.secret))
        chosen = every if FULL else random.Random(victim).sample(every, min(len(every), 60))
        for note, parts in chosen:
            with self.subTest(victim=victim, lie=note):
                harmless = victim in ("push-client", "serve-source") or "out of turn" in note or "keep_alive" in note
                codes = (0, *ANY_ERROR) if harmless else REFUSED
                self.judge(tape, note, self.play(tape, tape.doctored(parts)), codes)

    def test_lies_to_a_sink_server(self) -> None:
        self._lies("serve-sink")

    def test_lies_to_a_source_server(self) -> None:
        self._lies("serve-source")

    def test_lies_to_a_push_client(self) -> None:
        self._lies("push-client")

    def test_lies_to_a_pull_client(self) -> None:
        self._lies("pull-client")

    def test_damage_and_disorder(self) -> None:
        """Legal or not, what comes out is an exit code and the old or the true new tree."""
        for victim in ("serve-sink", "pull-client"):
            tape = self.record(victim)
            every = list(lies.shuffled(tape.parts)) + list(lies.damaged(tape.parts, 1, 400))
            for note, parts in every if FULL else random.Random(victim).sample(every, 40):
                with self.subTest(victim=victim, lie=note):
                    outcome = self.play(tape, tape.doctored(parts))
                    self.assertIn(outcome.code, (0, *ANY_ERROR), outcome.text)
                    self.assert_same_tree(self.outside, self.arena / "outside", note)
                    if outcome.code:
                        self.judge(tape, note, outcome, ANY_ERROR)
                    else:
                        self.reset()

    def test_flipped_bits(self) -> None:
        """A connection without a MAC: every single flipped bit is noticed."""
        for victim in ("serve-sink", "pull-client"):
            tape = self.record(victim)
            rng = random.Random(f"flip-{victim}")
            for offset in [0, 3, 5, 9, 16] + [rng.randrange(len(tape.stream)) for _ in range(150 if FULL else 12)]:
                with self.subTest(victim=victim, offset=offset):
                    script = _flipped(tape.script, offset)
                    self.judge(tape, f"bit flipped at {offset}", self.play(tape, script), (*REFUSED, opt.TIMEOUT))

    def test_cut_at_every_frame(self) -> None:
        """The connection ends after each frame, and inside each, in both directions of a real session."""
        for way in ("up", "down"):
            tape = self.record("serve-sink" if way == "up" else "push-client")
            cuts = peer.boundaries(tape.stream)
            cuts += [cut + 7 for cut in cuts[:-1]]
            for cut in sorted(cuts) if FULL else sorted(random.Random(way).sample(cuts, min(len(cuts), 14))):
                with self.subTest(way=way, cut=cut):
                    rsh = f"python3 {SUPPORT}/proxy.py --cut-{way} {cut} -- {self.world.fake_rsh}"
                    outcome = self.world.run(*self._arguments("push", rsh), timeout=60)
                    self.assertIn(outcome.code, (0, opt.REMOTE_MISSING, opt.CONNECT, opt.PROTOCOL), outcome.text)
                    self.run_ok("recover", "--wait", "20", self.sink)
                    have = tree.snapshot(self.sink)
                    if have != self.new:
                        self.assertNotEqual(outcome.code, 0)
                        self.assert_same_tree(self.old, have, f"cut {way} at {cut}")
                    self.run_ok(*self._arguments("push", str(self.world.fake_rsh)))
                    self.assert_same_tree(self.new, self.sink, f"rerun after a cut {way} at {cut}")
                    self.assert_clean(self.sink)
                    self.reset()

    def test_garbage(self) -> None:
        """No nbackup at the other end at all."""
        hello = peer.frame(peer.Message(1, peer.from_fields([(1, b"\1"), (3, b"\1")])).encoded())
        garbage = {
            "nothing": b"", "zeros": b"\0" * 4000, "noise": random.Random(3).randbytes(5000),
            "a banner": b"Welcome to this host!\nLast login: today\n", "half a header": b"nB\0\0",
            "an endless frame": peer.frame(b"x", length=0xFFFFFFFF), "an empty frame": peer.frame(b""),
            "a wrong check": peer.frame(b"\x01\0\0\0\0", check=1),
            "unknown flags": peer.frame(b"\x01\0\0\0\0", flags=255),
            "compressed garbage": peer.frame(b"\x28\xb5\x2f\xfd" + b"garbage" * 9, flags=1),
            "a message longer than its frame": peer.frame(b"\x01\xff\xff\xff\xff"),
            "hello and no more": hello, "hello and noise": hello + random.Random(4).randbytes(3000),
            "half a frame": hello[:20],
        }
        for victim in ("serve-sink", "push-client", "pull-client"):
            tape = Tape(victim, [], b"", b"")
            for note, data in garbage.items():
                with self.subTest(victim=victim, garbage=note):
                    quiet = victim == "serve-sink" and not data
                    codes = (*REFUSED, opt.REMOTE_MISSING, opt.TIMEOUT) + ((0,) if quiet else ())
                    outcome = self.play(tape, [(0, data)])
                    if outcome.code == 0:
                        continue
                    self.judge(tape, note, outcome, codes)

    def test_symlink_in_place_of_a_directory(self) -> None:
        """Someone with access to the set plants a symlink to the outside where the push will write."""
        for path, entry in sorted(self.old.items()):
            if entry.type == "dir" and path and self.new.get(path) and self.new[path].type == "dir":
                with self.subTest(path=path):
                    victim = Path(os.fsdecode(os.path.join(os.fsencode(self.sink), path)))
                    remove_tree(victim)
                    victim.symlink_to(self.arena / "outside")
                    self.run_ok("push", "--delete", f"{self.source}/", self.sink)
                    self.assert_same_tree(self.outside, self.arena / "outside")
                    self.assert_same_tree(self.new, self.sink)
                    self.reset()


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
