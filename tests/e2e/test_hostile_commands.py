# SPDX-License-Identifier: Apache-2.0
"""Hostile peers around Command: clients that ask a server for what they may not have, and servers that answer a command
with what is none of an answer. Each is refused for what it is, and nothing inside or outside of the set changes."""
from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
import unittest
from dataclasses import dataclass, field

from support import options as opt, peer, player, tree
from support.arena import HOST, SUPPORT, Arena
from support.peer import Message, string, strings, varint
from support.run import BINARY, Case, Outcome

PROBLEM, NOTICE, COMMAND, TEXT, COMMAND_END = 5, 29, 30, 31, 32
WORDS, CLIENT, COLUMNS, ZONE = 1, 4, 6, 8  # tags of Command
FEATURE_COMMANDS = 1 << 2
UNSUPPORTED, READ_ONLY = 4, 11


def command(*words: str | bytes, **fields: bytes) -> Message:
    encoded = [word if isinstance(word, bytes) else word.encode() for word in words]
    tags = {"client": CLIENT, "columns": COLUMNS, "zone": ZONE}
    body = [(WORDS, strings(encoded))] + [(tags[name], value) for name, value in fields.items()]
    return Message(COMMAND, peer.from_fields(sorted(body)))


def server_hello(features: int = FEATURE_COMMANDS) -> Message:
    return Message(peer.NUMBERS["hello"], peer.with_field(peer.hello().body, peer.HELLO["features"], varint(features)))


def script(*said: Message) -> list[player.Step]:
    """A hello, then the rest in one breath."""
    return [(0, peer.frame(said[0].encoded())), (1, b"".join(peer.frame(one.encoded()) for one in said[1:]))]


@dataclass
class Try:
    """What is said after the hello, and what must come of it."""

    note: str
    said: list[Message]
    code: int
    why: str
    serve: list[str] = field(default_factory=list)


class Commands(Case):
    def setUp(self) -> None:
        super().setUp()
        reason = peer.missing()
        if reason:
            raise unittest.SkipTest(reason)
        self.place = self.dir / "place"
        self.pool, self.outside, source = self.place / "pool", self.place / "outside", self.dir / "source"
        for directory in (source / "sub", self.outside):
            directory.mkdir(parents=True)
        (self.outside / "private").write_text("private content\n")
        for text in ("first", "second"):
            (source / "sub/file").write_text(text)
            self.run_ok("push", "--delete", f"{source}/", self.pool)
            self.run_ok("push", f"{source}/", self.outside / "other-pool")
        os.symlink("../outside", self.pool / "out")
        self.before = self.everything()

    def everything(self) -> tuple[object, ...]:
        control = self.pool / ".nbackup"
        records = {str(path.relative_to(control)): path.read_bytes() for path in sorted(control.rglob("*"))
                   if path.is_file() and not path.name.startswith(("manifest.db", "lock"))}
        return tree.snapshot(self.pool), tree.snapshot(self.outside), records

    def assert_untouched(self, note: str) -> None:
        self.assertEqual(self.everything(), self.before, note)
        self.assertEqual(list((self.dir / "scratch").glob("nbackup-*")), [], note)


class ToAServer(Commands):
    def test_who_has_closed_one_half_gets_the_whole_answer(self) -> None:
        """The last words of the client and its end are there before the server has written anything."""
        said = [peer.hello(), command("ls", "--recursive", "--", str(self.pool)), Message(peer.NUMBERS["goodbye"], b"")]
        words = b"".join(peer.frame(one.encoded()) for one in said)
        for _ in range(30):
            served = subprocess.run([BINARY, "serve"], input=words, capture_output=True, timeout=60, check=False)
            answer = b"".join(one.body for part in peer.frames(served.stdout) for one in part if one.type == TEXT)
            self.assertEqual((answer, served.returncode), (b"out\nsub/\nsub/file\n", 0), served.stderr)

    def test_refusals(self) -> None:
        for one in [*self.words(), *self.places(), *self.rights(), *self.turns()]:
            with self.subTest(one.note):
                serve = one.serve or ["--root", str(self.pool)]
                arena = Arena(self.world, self.pool, serve)
                outcome = arena.play_to_server(script(peer.hello(), *one.said))
                self.assertEqual(outcome.code, one.code, outcome.text)
                self.assertRegex(outcome.stderr.decode(errors="replace"), one.why)
                self.assertNotIn(b"private content", outcome.stdout)
                self.assert_untouched(outcome.text)

    def words(self) -> list[Try]:
        tries = [Try(f"command {name}", [command(name, "--", ".")], UNSUPPORTED, "not known to this nbackup")
                 for name in ("rm", "push", "restore", "serve", "init", "recover", "deploy", "", "ls\n", "LS", "l" * 4000)
                 if name]
        tries += [Try(f"option {option[:20]}", [command("ls", option, "--", ".")], UNSUPPORTED, "not known|not for")
                  for option in ("--root=/", "--log-file=/tmp/escape", "--rsh=sh", "--read-only", "-l", "--long=1", "--at",
                                 "--remote-path=sh", "x", "--\x1b[2J")]
        tries += [Try(f"value {words}", [command(*words, "--", ".")], opt.USAGE, "is not|neither")
                  for words in (("drill", "--sample=0"), ("drill", "--sample=99999999999999999999"),
                                ("drill", "--limit=lots"), ("rollback", "--to=1", "--wait=long"))]
        tries += [Try("no words", [command()], opt.PROTOCOL, "no words"),
                  Try("no dashes", [command("ls", ".")], opt.PROTOCOL, "no command"),
                  Try("nothing but dashes", [command("--", ".")], opt.PROTOCOL, "no command"),
                  Try("no place", [command("ls", "--")], opt.PROTOCOL, "a place and a path"),
                  Try("three places", [command("ls", "--", ".", "a", "b")], opt.PROTOCOL, "a place and a path"),
                  Try("an empty word", [command("ls", "", "--", ".")], opt.PROTOCOL, "words"),
                  Try("a NUL", [command("ls", "--", b"a\0b")], opt.PROTOCOL, "words"),
                  Try("a long word", [command("ls", "--", "x" * 5000)], opt.PROTOCOL, "words"),
                  Try("too many words", [command("ls", *["--json"] * 200, "--", ".")], opt.PROTOCOL, "words"),
                  Try("very many words", [Message(COMMAND, peer.from_fields([(WORDS, varint(1 << 40))]))], opt.PROTOCOL,
                      "words"),
                  Try("a wide terminal", [command("generations", "--", ".", columns=varint(1 << 40))], opt.PROTOCOL,
                      "columns"),
                  Try("a long name", [command("ls", "--", ".", client=b"x" * 100_000)], opt.PROTOCOL, "client"),
                  Try("an unknown field", [Message(COMMAND, peer.with_field(command("ls", "--", ".").body, 99, b"x"))],
                      opt.PROTOCOL, "a newer nbackup asks")]
        return tries

    def places(self) -> list[Try]:
        """Whatever leads out of --root."""
        out = "lies outside|is not followed inside|not there|no directory"
        tries = [Try(f"place {place}", [command(name, "--", place)], opt.PATH, out)
                 for place in ("..", "../outside", "../outside/other-pool", str(self.outside), "/etc", "/",
                               "sub/../../outside")
                 for name in ("ls", "drill", "generations")]
        # A link in the set is an entry of it, and leads nowhere.
        tries += [Try("the link", [command("drill", "--", "out")], opt.PATH, out),
                  Try("what it leads to", [command("ls", "--", "out/other-pool")], opt.PATH, out)]
        paths = ("..", "../outside", "a/../../x", "a//b", "a/", ".", "/etc")
        tries += [Try(f"path {path}", [command("cat", "--", ".", path)], opt.PROTOCOL, "path") for path in paths]
        tries += [Try(f"path {path}", [command("cat", "--", ".", path)], opt.PATH, "no part of it|not there|symlink")
                  for path in (".nbackup/secret", "sub/.nbackup/x", "out/private", "out")]
        tries += [Try(f"zone {zone!r}", [command("generations", "--", ".", zone=zone)], 0, "^$")
                  for zone in (b":/etc/passwd", b"../../etc/passwd", b"\x1b]0;x\x07")]
        return tries

    def rights(self) -> list[Try]:
        tries = []
        for right, why in (("--read-only", "may only read"), ("--append-only", "may only add")):
            for words in (("prune",), ("prune", "--keep-last=1"), ("policy", "--keep-last=1"), ("policy", "--default"),
                          ("rollback", "--to=1")):
                tries.append(Try(f"{words} {right}", [command(*words, "--", ".")], READ_ONLY, why,
                                 ["--root", str(self.pool), right]))
        return tries

    def turns(self) -> list[Try]:
        ask = command("generations", "--", ".")
        push = peer.opening(peer.PUSH, destination=b".", flags=varint(peer.DRY_RUN))
        wrong = "message of an unexpected type"
        return [Try("a command after Open", [push, ask], opt.PROTOCOL,
                    "message not allowed from a source|client ended the connection"),
                Try("Text from a client", [Message(TEXT, b"x")], opt.PROTOCOL, wrong),
                Try("CommandEnd from a client", [Message(COMMAND_END, b"\0")], opt.PROTOCOL, wrong)]

    def test_one_command_is_all(self) -> None:
        """What follows the first is not done."""
        arena = Arena(self.world, self.pool, ["--root", str(self.pool)])
        more = [command("prune", "--keep-last=1", "--", "."), peer.opening(peer.PUSH, destination=b"new")]
        said = script(peer.hello(), command("generations", "--", "."))
        said.append((200, b"".join(peer.frame(one.encoded()) for one in more)))  # when the answer has come
        outcome = arena.play_to_server(said)
        self.assertEqual(outcome.code, 0, outcome.text)
        ends = [m for part in peer.frames(outcome.stdout) for m in part if m.type == COMMAND_END]
        self.assertEqual([m.body for m in ends], [b"\0"], outcome.text)
        self.assert_untouched(outcome.text)


class ToAClient(Commands):
    ASKS = (("ls", f"{HOST}:pool"), ("generations", f"{HOST}:pool"), ("drill", f"{HOST}:pool"))

    def play(self, words: tuple[str, ...], said: list[player.Step]) -> Outcome:
        path = self.dir / "scratch/script"
        path.write_bytes(pickle.dumps(said))
        rsh = f"{sys.executable} -IS {SUPPORT}/player.py {path}"
        return self.world.run(*words, "--timeout", "10", "-e", rsh, timeout=60)

    def check(self, note: str, said: list[player.Step], code: int, why: str,
              asks: tuple[tuple[str, ...], ...] = ASKS) -> None:
        for words in asks:
            with self.subTest(note, command=words[0]):
                outcome = self.play(words, said)
                self.assertEqual(outcome.code, code, outcome.text)
                self.assertRegex(outcome.stderr.decode(errors="replace"), why)
                self.assertNotIn(b"\x1b", outcome.stderr)
                self.assert_untouched(outcome.text)

    def test_answers_that_are_none(self) -> None:
        wrong, hello = "message of an unexpected type", server_hello()
        escape = b"told \x1b]0;you\x07 so"
        self.check("no such feature", script(server_hello(0), Message(COMMAND_END, b"\0")), 2, "cannot do this yet")
        self.check("empty text", script(hello, Message(TEXT, b"")), opt.PROTOCOL, "text: empty")
        self.check("long text", script(hello, Message(TEXT, b"x" * 300_000)), opt.PROTOCOL, "text: too long")
        self.check("no exit code", script(hello, Message(COMMAND_END, b"")), opt.PROTOCOL, "command_end: truncated")
        self.check("Opened", script(hello, Message(peer.NUMBERS["opened"], b"")), opt.PROTOCOL, wrong)
        self.check("a want", script(hello, Message(peer.NUMBERS["want"], b"\1\1\1\0")), opt.PROTOCOL, wrong)
        self.check("a command", script(hello, command("ls", "--", "/")), opt.PROTOCOL, wrong)
        self.check("the end", script(hello), opt.PROTOCOL, "connection|end")
        self.check("an error", script(hello, Message(peer.NUMBERS["error"], peer.Error(3, 0, escape).encode())), opt.PATH,
                   r"told \\033")
        self.check("an unknown error", script(hello, Message(peer.NUMBERS["error"], peer.Error(999, 0, escape).encode())),
                   opt.PROTOCOL_VERSION, r"told \\033.* so .error 999, of a newer version")

    def test_what_a_server_may_say(self) -> None:
        """Its exit code and its words, escaped; more is not in its power."""
        escape = b"told \x1b]0;you\x07 so"
        said = [server_hello(), Message(NOTICE, string(escape)), Message(PROBLEM, peer.Error(18, 2, escape).encode()),
                Message(TEXT, b"a name\n"), Message(COMMAND_END, bytes([77])), Message(COMMAND_END, b"\0")]
        outcome = self.play(self.ASKS[0], script(*said))
        self.assertEqual((outcome.code, outcome.stdout), (77, b"a name\n"), outcome.text)
        self.assertEqual(len(re.findall(rb"told \\033\]0;you\\007 so", outcome.stderr)), 2, outcome.text)
        self.assertNotIn(b"\x1b", outcome.stderr)

    def test_text_without_end(self) -> None:
        """It passes, or is refused; it is not collected."""
        block = peer.frame(Message(TEXT, b"x" * 250_000).encoded())
        said = script(server_hello())[:1] + [(1, block)] * 280
        self.check("70 MB for a drill", said, opt.PROTOCOL, "sample: too long", self.ASKS[2:])

    def test_samples(self) -> None:
        """What a drill is given to restore is what it asked for, or nothing."""
        head = string(b"nbackup sample") + varint(1) + string(bytes(32)) + varint(3) + varint(0) + varint(0)

        def file(path: bytes, size: int = 1, generation: int = 2) -> bytes:
            return varint(generation) + string(path) + varint(size) + varint(0) + varint(0) + b"\0"

        samples = {
            "nothing": b"", "garbage": os.urandom(100), "another kind": string(b"nbackup simple") + head[15:],
            "a short secret": string(b"nbackup sample") + varint(1) + string(bytes(31)) + varint(0) * 4,
            "too many files": head + varint(101) + b"".join(file(b"%03d" % n) for n in range(101)),
            "too many bytes": head + varint(1) + file(b"a", 2 << 30),
            "the control directory": head + varint(1) + file(b"sub/.nbackup/secret"),
            "out of it": head + varint(1) + file(b"../outside/private"),
            "an absolute path": head + varint(1) + file(b"/etc/passwd"),
            "the root": head + varint(1) + file(b""),
            "the same twice": head + varint(2) + file(b"a") * 2,
            "more than it says": head + varint(1) + file(b"a") + b"x",
        }
        for note, sample in samples.items():
            said = [server_hello()] + ([Message(TEXT, sample)] if sample else []) + [Message(COMMAND_END, b"\0")]
            self.check(note, script(*said), opt.PROTOCOL, "sample: |path", self.ASKS[2:])
        empty = [server_hello(), Message(TEXT, head + varint(0)), Message(COMMAND_END, b"\0")]
        outcome = self.play((*self.ASKS[2], "--json"), script(*empty))
        self.assertEqual(outcome.code, 0, outcome.text)
        self.assertEqual(json.loads(outcome.stdout)["files"], 0)
