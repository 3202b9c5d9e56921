# SPDX-License-Identifier: Apache-2.0
"""Which SSH algorithms a run uses, and what becomes of a wish for less than encryption."""
from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import unittest
from pathlib import Path

from support import nssh
from support import options as opt
from support.run import BINARY, FULL, Case, Outcome, libssh_line
from support.sshd import HOST
from support.tcpproxy import TcpProxy

GCM = "aes128-gcm@openssh.com"
CHACHA = "chacha20-poly1305@openssh.com"
UMAC = "umac-64-etm@openssh.com"
MARKER = b"<a text that can be found on the wire>"
CIPHER = nssh.SAFE + "PostAuthNone cipher\n"
BOTH = nssh.SAFE + "PostAuthNone cipher-and-mac\n"
OFF = ("--ssh-security=off", "--allow-tampering")


def has_aes() -> bool:
    flags = Path("/proc/cpuinfo").read_text().split()
    return "aes" in flags


def connection(outcome: Outcome) -> dict[str, str]:
    """The last event about a connection of a run with --json."""
    events = [json.loads(line) for line in outcome.stdout.splitlines()]
    return [event for event in events if event["event"] == "connection"][-1]


class SshCase(Case):
    def setUp(self) -> None:
        super().setUp()
        self.source = self.dir / "source"
        self.source.mkdir()
        (self.source / "file").write_bytes(b"0123456789abcdef" * 4096)
        self.sink = self.dir / "sink"

    def push(self, *words: str, carrier: str = "libssh", code: int = 0) -> Outcome:
        options = self.world.carrier_options(carrier)
        return self.run_code(code, "push", *options, *words, f"{self.source}/", self.world.far(self.sink, carrier))

    def connection(self, *words: str) -> dict[str, str]:
        return connection(self.push("--json", *words))

    def configure(self, lines: str) -> None:
        """Puts lines in front of the client's configuration."""
        config = self.world.sshd.config
        config.write_text(f"{lines}\n" + config.read_text())

    def memory(self, sql: str) -> list[tuple[object, ...]]:
        database = sqlite3.connect(self.dir / "cache/nbackup/cache.db")
        try:
            with database:
                return database.execute(sql).fetchall()
        finally:
            database.close()


class Order(SshCase):
    """Who decides about the algorithms: the command line, then the configuration, then both processors."""

    def test_a_host_that_was_never_met_gets_chacha20(self) -> None:
        made = self.connection()
        self.assertEqual((made["cipher_out"], made["cipher_in"]), (CHACHA, CHACHA))
        self.assertEqual((made["mac_out"], made["mac_in"]), ("", ""))
        self.assertEqual((made["kex"], made["host_key"], made["compression"]),
                         ("curve25519-sha256", "ssh-ed25519", "none"))
        self.assertEqual((made["carrier"], made["security"]), ("libssh", "encrypted"))

    def test_the_next_connection_follows_both_processors(self) -> None:
        self.push()
        [(host, flags, cipher)] = self.memory("SELECT host, cpu_flags, cipher_out FROM hosts")
        self.assertEqual((host, flags & 1, cipher), (HOST, int(has_aes()), CHACHA))
        best = GCM if has_aes() else CHACHA
        self.assertEqual(self.connection()["cipher_out"], best)
        self.assertEqual(self.memory("SELECT cipher_out FROM hosts"), [(best,)])
        self.memory("UPDATE hosts SET cpu_flags = 0")  # as if it had no AES instructions
        self.assertEqual(self.connection()["cipher_out"], CHACHA)
        self.assertEqual(self.connection()["cipher_out"], best, "it said so again")

    def test_pull_and_verify_remember_and_report_too(self) -> None:
        self.push()
        options = self.world.carrier_options("libssh")
        far = self.world.far(f"{self.sink}/", "libssh")
        best = GCM if has_aes() else CHACHA
        pulled = self.run_ok("pull", "--json", *options, far, self.dir / "back")
        verified = self.run_ok("verify", "--json", *options, f"{self.source}/", far)
        for outcome in (pulled, verified):
            self.assertEqual(connection(outcome)["cipher_in"], best)

    def test_the_configuration_wins_over_our_order(self) -> None:
        self.configure("Ciphers aes256-ctr\nMACs hmac-sha2-512\nKexAlgorithms ecdh-sha2-nistp384")
        made = self.connection()
        self.assertEqual(made["cipher_out"], "aes256-ctr")
        self.assertEqual(made["mac_in"], "hmac-sha2-512")
        self.assertEqual(made["kex"], "ecdh-sha2-nistp384")

    def test_the_command_line_wins_over_the_configuration(self) -> None:
        self.configure(f"Ciphers {GCM}\nMACs hmac-sha2-512\nKexAlgorithms ecdh-sha2-nistp384")
        made = self.connection("--ciphers=aes192-ctr,aes128-ctr", "--macs=hmac-sha2-256", "--kex=ecdh-sha2-nistp256")
        self.assertEqual(made["cipher_in"], "aes192-ctr")
        self.assertEqual(made["mac_out"], "hmac-sha2-256")
        self.assertEqual(made["kex"], "ecdh-sha2-nistp256")

    def test_compression_of_the_configuration_is_reported(self) -> None:
        self.configure("Compression yes")
        self.assertEqual(self.connection()["compression"], "zlib@openssh.com or none")

    def test_names_that_the_server_does_not_know(self) -> None:
        outcome = self.push("--ciphers=3des-cbc", code=opt.CONNECT)
        self.assertIn("3des-cbc", outcome.text)
        self.assertFalse(self.sink.exists())

    def test_the_ssh_program_gets_what_is_named(self) -> None:
        made = connection(self.push("--json", "--ciphers=aes192-ctr", "--macs=hmac-sha2-256", "--kex=ecdh-sha2-nistp256",
                                    carrier="ssh"))
        self.assertEqual(made["carrier"], "program")
        self.assertIn("-oCiphers=aes192-ctr -oMACs=hmac-sha2-256 -oKexAlgorithms=ecdh-sha2-nistp256",
                      made["description"])
        self.assertEqual([made[key] for key in ("security", "kex", "host_key", "cipher_in", "mac_out", "compression")],
                         ["encrypted", "ecdh-sha2-nistp256", "ssh-ed25519", "aes192-ctr", "hmac-sha2-256", "none"])
        self.push("--ciphers=no-such-cipher", carrier="ssh", code=opt.CONNECT)

    def test_the_reports_for_people(self) -> None:
        verbose = self.push("-v")
        self.assertRegex(verbose.stderr.decode(), r"nbackup: connection: libssh, kex curve25519-sha256, host key "
                                                  r"ssh-ed25519, both ways chacha20\S+, compression none\n")
        self.assertRegex(self.push("--stats").stdout.decode(), r"(?m)^Connection: libssh, kex curve25519-sha256, ")
        program = self.push("-v", "--stats", carrier="ssh")
        for text, before in ((program.stderr, "nbackup: connection"), (program.stdout, "Connection")):
            self.assertRegex(text.decode(), rf"(?m)^{before}: ssh program, kex \S+, host key ssh-ed25519, both ways ")
        self.assertNotIn("debug", program.text)
        self.assertNotIn("curve25519", self.push().text.split("\n", 1)[1])


class HostOptions(SshCase):
    """~/.config/nbackup/config: options of the connection for each host."""

    def config(self, text: str) -> Path:
        file = self.dir / "home/.config/nbackup/config"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o600)
        return file

    def test_a_host_gets_what_is_set_for_it(self) -> None:
        self.config(f"Host elsewhere\n  ciphers aes192-ctr\nHost {HOST}\n  ciphers aes256-ctr\n  ssh-security integrity\n")
        outcome = self.push("--json")
        self.assertEqual(connection(outcome)["cipher_out"], "aes256-ctr")
        self.assertIn("--ssh-security=integrity for nbtest: ", outcome.text)
        outcome = self.push("--json", "--ciphers=aes128-ctr", "--ssh-security=encrypted")
        self.assertEqual(connection(outcome)["cipher_out"], "aes128-ctr")
        self.assertNotIn("integrity", outcome.text)

    def test_what_cannot_be_read_stops_the_run(self) -> None:
        file = self.config(f"Host {HOST}\n  cipher aes256-ctr\n")
        outcome = self.push(code=opt.USAGE)
        self.assertIn(f"{file}:2: 'cipher' is no option that a host can have", outcome.text)
        self.assertFalse(self.sink.exists())
        file.chmod(0o666)
        self.assertIn("others may write it", self.push(code=opt.USAGE).text)
        self.run_ok("push", f"{self.source}/", self.sink)  # no host, nothing of it


class Pairs(SshCase):
    """Every cipher with every MAC that libssh and OpenSSH share: pushed and verified, with nothing else on offer."""

    CIPHERS = [f"aes{bits}-{mode}" for mode in ("ctr", "cbc") for bits in (128, 192, 256)] + ["3des-cbc"]
    AEAD = [GCM, "aes256-gcm@openssh.com", CHACHA]
    MACS = [f"hmac-{name}" for name in ("sha1", "sha2-256", "sha2-512")]
    UMACS = ["umac-64@openssh.com", "umac-128@openssh.com"]
    SAMPLE = 10

    def setUp(self) -> None:
        super().setUp()
        (self.source / "random").write_bytes(random.Random(1).randbytes(300_000))
        every = {kind: subprocess.run(["ssh", "-Q", kind], capture_output=True, text=True, check=True).stdout.split()
                 for kind in ("cipher", "mac")}
        settings = f"Ciphers {','.join(every['cipher'])}\nMACs {','.join(every['mac'])}\n"
        self.server = nssh.Nssh(self.dir / "every", settings, stock=True)
        self.addCleanup(self.server.close)

    def test_each(self) -> None:
        macs = self.MACS + (self.UMACS if "MAC umac: yes" in libssh_line() else [])
        macs += [mac.removesuffix("@openssh.com") + "-etm@openssh.com" for mac in macs]
        pairs = [(cipher, "") for cipher in self.AEAD] + [(cipher, mac) for cipher in self.CIPHERS for mac in macs]
        for cipher, mac in pairs if FULL else random.Random(BINARY).sample(pairs, self.SAMPLE):
            with self.subTest(cipher=cipher, mac=mac):
                self._use(cipher, mac)

    def _use(self, cipher: str, mac: str) -> None:
        names = [f"--ciphers={cipher}", *([f"--macs={mac}"] if mac else [])]
        options = ["--remote-path", BINARY, "--ssh-config", str(self.server.config), *names]
        sink = f"{HOST}:{self.dir}/{cipher}-{mac or 'aead'}"
        made = connection(self.run_ok("push", "--json", *options, f"{self.source}/", sink))
        self.assertEqual([made[key] for key in ("cipher_out", "cipher_in", "mac_out", "mac_in")],
                         [cipher, cipher, mac, mac])
        self.run_ok("verify", *options, f"{self.source}/", sink)


class Fallback(SshCase):
    """Where `none` cannot be had the run goes on encrypted, and says so on one line."""

    def assert_encrypted(self, outcome: Outcome, reason: str) -> None:
        lines = [line for line in outcome.stderr.decode().splitlines() if "the connection stays encrypted" in line]
        self.assertEqual(len(lines), 1, outcome.text)
        self.assertRegex(lines[0], reason)
        self.assert_same_tree(self.source, self.sink)

    def test_a_server_without_none(self) -> None:
        outcome = self.push("--ssh-security=integrity", "--json")
        self.assert_encrypted(outcome, r"integrity for nbtest: (this program's libssh has|the server offers) no cipher none")
        self.assertEqual(connection(outcome)["security"], "encrypted")

    def test_off_warns_at_each_run(self) -> None:
        refused = self.push("--ssh-security=off", code=opt.USAGE)
        self.assertIn("--allow-tampering", refused.text)
        self.assertFalse(self.sink.exists())
        for _ in range(2):
            outcome = self.push("--ssh-security=off", "--allow-tampering", "-q")
            self.assertIn("can change what is copied", outcome.text)
            self.assert_encrypted(outcome, "off for nbtest: ")

    def test_a_host_key_that_nobody_looked_at(self) -> None:
        known = self.dir / "known"
        self.configure(f"UserKnownHostsFile {known}\nStrictHostKeyChecking accept-new")
        outcome = self.push("--ssh-security=integrity")
        self.assert_encrypted(outcome, "nobody has verified the host's key yet")
        self.assertIn("ssh-ed25519", known.read_text())

    def test_a_changed_key_behind_a_line_that_libssh_cannot_read(self) -> None:
        """There it gives up the file, and takes the host for a new one."""
        known, spare = self.dir / "known", self.dir / "spare"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(spare)], check=True)
        name = (self.world.sshd.dir / "known_hosts").read_text().split()[0]
        key = " ".join(spare.with_suffix(".pub").read_text().split()[:2])
        self.configure(f"UserKnownHostsFile {known}\nStrictHostKeyChecking accept-new")
        for odd in (f"{name} ssh-dss AAAAB3NzaC1kc3MA\n{name} {key}\n", f"{name}\t{key}\n"):
            with self.subTest(known_hosts=odd):
                known.write_text(odd)
                outcome = self.push(code=opt.CONNECT)
                self.assertIn("HAS CHANGED", outcome.text)
                self.assertEqual(known.read_text(), odd)
                self.assertFalse(self.sink.exists())

    def test_an_ssh_program_without_the_option(self) -> None:
        outcome = self.push("--ssh-security=integrity", carrier="ssh")
        self.assert_encrypted(outcome, "this ssh program has no option PostAuthNone")

    def test_a_program_that_is_no_ssh(self) -> None:
        outcome = self.push("--ssh-security=integrity", carrier="fake")
        self.assertIn("is no ssh: --ssh-security", outcome.text)

    def test_init_and_recover_take_the_options_too(self) -> None:
        options = self.world.carrier_options("libssh")
        target = self.world.far(self.sink, "libssh")
        for command in ("init", "recover"):
            self.run_code(opt.USAGE, command, *options, "--ssh-security=off", target)
            outcome = self.run_ok(command, *options, "--ssh-security=integrity", "--ciphers=aes128-ctr", target)
            self.assertIn("the connection stays encrypted", outcome.text)


def no_none() -> str | None:
    """Why no connection can be changed to `none` here, or nothing."""
    if BINARY and "cipher none: yes" not in libssh_line():
        return "nbackup's libssh has no cipher none (NBACKUP_LIBSSH=nssh)"
    return nssh.missing()


@unittest.skipIf(no_none(), no_none() or "")
class Switch(SshCase):
    """`none` after the login, against nssh's server; what passes is looked at on the way."""

    def serve(self, settings: str, **options: object) -> TcpProxy:
        """The world's sshd becomes an nssh behind a proxy."""
        server = nssh.Nssh(self.dir, settings, **options)  # type: ignore[arg-type]
        self.world._sshd = server
        proxy = TcpProxy(server.port)
        self.addCleanup(proxy.close)
        key = (server.dir / "host_key.pub").read_text().split()
        with (server.dir / "known_hosts").open("a") as known:
            known.write(f"[127.0.0.1]:{proxy.port} {key[0]} {key[1]}\n")
        server.config.write_text(server.config.read_text().replace(f"Port {server.port}", f"Port {proxy.port}"))
        return proxy

    def assert_made(self, outcome: Outcome, security: str, cipher: str, mac: str) -> None:
        made = connection(outcome)
        found = tuple(made[name] for name in ("security", "cipher_out", "cipher_in", "mac_out", "mac_in"))
        self.assertEqual(found, (security, cipher, cipher, mac, mac), outcome.text)

    def assert_login_hidden(self, proxy: TcpProxy) -> None:
        for seen in (bytes(proxy.up), bytes(proxy.down)):
            self.assertNotIn(b"ssh-connection", seen)
            self.assertNotIn(b"publickey", seen)

    def pull_back(self, *words: str) -> Outcome:
        outcome = self.run_ok("pull", "--json", *self.world.carrier_options("libssh"), "--no-compress", *words,
                              self.world.far(f"{self.sink}/", "libssh"), self.dir / "back")
        self.assert_same_tree(self.source, self.dir / "back")
        return outcome

    def test_integrity_both_ways(self) -> None:
        (self.source / "marked").write_bytes(MARKER * 4096)
        proxy = self.serve(CIPHER)
        pushed = self.push("--json", "--no-compress", "--ssh-security=integrity")
        self.assert_made(pushed, "integrity", "none", UMAC)
        self.assert_same_tree(self.source, self.sink)
        self.assertIn(MARKER, bytes(proxy.up))
        self.assert_made(self.pull_back("--ssh-security=integrity"), "integrity", "none", UMAC)
        self.assertIn(MARKER, bytes(proxy.down))
        self.assert_login_hidden(proxy)
        self.assertEqual(pushed.stderr, b"")

    def test_encrypted_unless_asked(self) -> None:
        (self.source / "marked").write_bytes(MARKER * 4096)
        proxy = self.serve(BOTH)
        self.assert_made(self.push("--json", "--no-compress"), "encrypted", CHACHA, "")
        self.assertNotIn(MARKER, bytes(proxy.up))

    def test_off(self) -> None:
        proxy = self.serve(BOTH)
        pushed = self.push("--json", *OFF)
        self.assert_made(pushed, "off", "none", "none")
        self.assertIn("can change what is copied", pushed.text)
        self.assert_made(self.pull_back(*OFF), "off", "none", "none")
        self.assert_login_hidden(proxy)

    def test_integrity_does_not_become_off(self) -> None:
        self.serve(BOTH)
        self.assert_made(self.push("--json", "--ssh-security=integrity"), "integrity", "none", UMAC)

    def test_off_where_the_server_keeps_macs(self) -> None:
        self.serve(CIPHER)
        pushed = self.push("--json", *OFF)
        self.assert_made(pushed, "integrity", "none", UMAC)
        self.assertIn(f"the server offers no MAC none; the connection keeps {UMAC}", pushed.text)

    def test_the_macs_that_are_named(self) -> None:
        self.serve(CIPHER)
        for mac in ("umac-128@openssh.com", "hmac-sha2-512-etm@openssh.com"):
            self.assert_made(self.push("--json", "--ssh-security=integrity", f"--macs={mac}"), "integrity", "none", mac)

    def test_a_server_that_does_not_offer_it(self) -> None:
        for settings, stock in ((nssh.SAFE, False), ("", True)):
            with self.subTest(stock=stock):
                self.serve(settings, stock=stock)
                pushed = self.push("--json", "--ssh-security=integrity")
                self.assertEqual(connection(pushed)["security"], "encrypted")
                self.assertIn("the server offers no cipher none; the connection stays encrypted", pushed.text)
                self.world._sshd.close()
                subprocess.run(["rm", "-r", str(self.dir / "sshd")], check=True)

    def test_a_server_that_breaks_off(self) -> None:
        """No MAC in common, which a cipher that authenticates itself never needed."""
        self.serve(CIPHER + "MACs hmac-sha2-512\n")
        pushed = self.push("--json", "--ssh-security=integrity", f"--macs={UMAC}", f"--ciphers={GCM}")
        self.assert_made(pushed, "encrypted", GCM, "")
        self.assertEqual(pushed.stderr.count(b"the server did not take it"), 1, pushed.text)
        self.assert_same_tree(self.source, self.sink)

    def test_a_key_that_nobody_looked_at_until_now(self) -> None:
        proxy = self.serve(CIPHER)
        known = self.dir / "known"
        self.configure(f"UserKnownHostsFile {known}\nStrictHostKeyChecking accept-new")
        self.assert_made(self.push("--json", "--ssh-security=integrity"), "encrypted", CHACHA, "")
        self.assert_made(self.push("--json", "--ssh-security=integrity"), "integrity", "none", UMAC)
        self.assertIn(str(proxy.port), known.read_text())

    def test_a_changed_bit(self) -> None:
        """The MAC notices it; without one, nbackup's own check does. Nothing wrong is committed."""
        (self.source / "marked").write_bytes(MARKER * 4096)
        proxy = self.serve(BOTH)
        for words in (("--ssh-security=integrity",), OFF):
            with self.subTest(words=words):
                proxy.flipped, proxy.flips["up"] = False, MARKER
                outcome = self.push("--no-compress", *words, code=opt.PROTOCOL)
                self.assertTrue(proxy.flipped, outcome.text)
                self.assertFalse((self.sink / "marked").exists())
                self.assertFalse((self.sink / "file").exists())
        proxy.flips["up"] = b""
        self.push("--ssh-security=integrity")
        self.assert_same_tree(self.source, self.sink)

    def test_many_key_exchanges(self) -> None:
        self.serve(CIPHER + "RekeyLimit 1M\n")
        (self.source / "large").write_bytes(random.Random(1).randbytes(40 << 20))
        self.assert_made(self.push("--json", "--ssh-security=integrity"), "integrity", "none", UMAC)
        self.assert_same_tree(self.source, self.sink)
        self.assert_made(self.pull_back("--ssh-security=integrity"), "integrity", "none", UMAC)

    @unittest.skipUnless(FULL, "3.2 GiB twice: NB_FULL=1")
    def test_more_than_three_gib(self) -> None:
        """Past the limits at which either side exchanges keys by itself."""
        self.serve(CIPHER)
        block = random.Random(2).randbytes(64 << 20)
        with (self.source / "large").open("wb") as out:
            for number in range(51):
                out.write(number.to_bytes(8, "big") + block)
        self.push("--ssh-security=integrity", "--no-compress")
        self.pull_back("--ssh-security=integrity")

    def test_the_ssh_program_of_nssh(self) -> None:
        (self.source / "marked").write_bytes(MARKER * 4096)
        proxy = self.serve(BOTH)
        self.configure(f"ForwardAgent yes\nControlMaster auto\nControlPath {self.dir}/control")
        options = ["--remote-path", BINARY, "-e", f"{nssh.SSH} -F {self.world.sshd.config}", "--no-compress", "--json"]
        for words, value in ((("--ssh-security=integrity",), "cipher"), (OFF, "cipher-and-mac")):
            with self.subTest(value=value):
                proxy.up.clear()
                sink = self.dir / value
                outcome = self.run_ok("push", *options, *words, f"{self.source}/", f"{HOST}:{sink}")
                made = connection(outcome)
                self.assertIn(f"-oPostAuthNone={value}", made["description"])
                self.assertEqual([made["cipher_out"], made["cipher_in"]], ["none", "none"])
                self.assertEqual(made["security"], "off" if value == "cipher-and-mac" else "integrity")
                self.assertIn(MARKER, bytes(proxy.up))
                self.assert_same_tree(self.source, sink)

    def test_the_ssh_program_of_nssh_and_a_server_without_none(self) -> None:
        self.serve(nssh.SAFE + "PostAuthNone no\n")
        outcome = self.run_ok("push", "--remote-path", BINARY, "-e", f"{nssh.SSH} -F {self.world.sshd.config}", "--json",
                              "--ssh-security=integrity", f"{self.source}/", f"{HOST}:{self.sink}")
        self.assertEqual(connection(outcome)["security"], "encrypted")
        lines = [line for line in outcome.stderr.decode().splitlines() if "the server offers no cipher none" in line]
        self.assertEqual(len(lines), 1, outcome.text)
        self.assert_same_tree(self.source, self.sink)

    def test_no_configuration_of_a_program_gives_up_more(self) -> None:
        """Neither the ssh configuration nor the words of -e: --ssh-security alone says what the connection may be."""
        (self.source / "marked").write_bytes(MARKER * 4096)
        proxy = self.serve(BOTH)
        self.configure("PostAuthNone cipher-and-mac")
        rsh = f"{nssh.SSH} -F {self.world.sshd.config}"
        asked = "--ssh-security=integrity"
        for number, (words, value, readable) in enumerate((
                (("-e", rsh), "no", False),
                (("-e", f"{rsh} -oPostAuthNone=cipher"), "no", False),
                (("-e", f"{rsh} -oStrictHostKeyChecking=no", asked), "no", False),
                (("-e", f"{rsh} -oPostAuthNone=cipher-and-mac", asked), "cipher", True))):
            with self.subTest(words=words):
                proxy.up.clear()
                outcome = self.run_ok("push", "--remote-path", BINARY, "--no-compress", "--json", *words,
                                      f"{self.source}/", f"{HOST}:{self.dir}/{number}")
                self.assertIn(f"ssh -oPostAuthNone={value} ", connection(outcome)["description"])
                self.assertEqual(MARKER in bytes(proxy.up), readable)

    def test_none_of_a_configuration_is_never_reached(self) -> None:
        """libssh reads the files itself where there is no ssh program; a later key exchange must not come to none."""
        (self.source / "marked").write_bytes(MARKER * (1 << 20))
        proxy = self.serve(BOTH + "RekeyLimit 1M\n")
        config = self.world.sshd.config
        config.write_text("Ciphers none,aes128-ctr\nMACs none,hmac-sha2-256\n" + config.read_text())
        self.world.path = str(self.dir / "no-programs")
        outcome = self.run_ok("push", "--json", "--no-compress", "--remote-path", BINARY, "--ssh-config", config,
                              f"{self.source}/", f"{HOST}:{self.sink}")
        self.assertEqual(connection(outcome)["cipher_out"], "aes128-ctr")
        self.assertNotIn(MARKER, bytes(proxy.up))
        self.assert_same_tree(self.source, self.sink)


if __name__ == "__main__":
    unittest.main()
