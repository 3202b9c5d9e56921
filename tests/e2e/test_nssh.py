# SPDX-License-Identifier: Apache-2.0
"""nssh, the patched OpenSSH: encryption goes only after authentication, only for whom the server lets, and never takes
the login, the integrity check or other clients with it."""
from __future__ import annotations

import getpass
import hashlib
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

from support.nssh import SAFE, SSH, Nssh, missing
from support.rawssh import GLOBAL_REQUEST, Disconnected, RawSsh, string
from support.run import FULL, Case
from support.tcpproxy import TcpProxy

BOTH = SAFE + "PostAuthNone cipher-and-mac\n"
CIPHER = SAFE + "PostAuthNone cipher\n"
NONE = ("-o", "PostAuthNone=cipher")
USER = getpass.getuser()
MARKER = b"<a text that can be found on the wire>"


@unittest.skipIf(missing(), missing() or "")
class NsshCase(Case):
    def server(self, settings: str = "", **options: object) -> Nssh:
        server = Nssh(Path(tempfile.mkdtemp(dir=self.dir)), settings, **options)  # type: ignore[arg-type]
        self.addCleanup(server.close)
        return server

    def raw(self, server: Nssh) -> RawSsh:
        """A raw client before its first key exchange."""
        raw = RawSsh(server.port)
        self.addCleanup(raw.close)
        return raw

    def logged_in(self, server: Nssh) -> RawSsh:
        raw = self.raw(server)
        raw.exchange()
        raw.login(USER, server.agent_socket())
        return raw

    def proxy(self, server: Nssh, **flips: bytes) -> TcpProxy:
        proxy = TcpProxy(server.port, **flips)
        self.addCleanup(proxy.close)
        return proxy

    def assert_negotiated(self, stderr: bytes, cipher: str, mac: str) -> None:
        """What `ssh -v` said of the last key exchange, both ways."""
        found = re.findall(rb"cipher: (\S+) MAC: (\S+) compression", stderr)[-2:]
        self.assertEqual(found, [(cipher.encode(), mac.encode())] * 2, stderr.decode(errors="replace"))


class BeforeLogin(NsshCase):
    """On a server that offers all that it ever does."""

    def test_none_in_the_first_exchange(self) -> None:
        server = self.server(BOTH)
        for ciphers, macs in (("none", "hmac-sha2-256"), ("none", "none"), ("aes128-ctr", "none")):
            with self.subTest(ciphers=ciphers, macs=macs):
                raw = self.raw(server)
                with self.assertRaises(Disconnected):
                    raw.exchange(ciphers, macs)
                self.assert_no_none(raw)
        self.assertEqual(server.log_text().count("Unable to negotiate"), 3, server.log_text())

    def test_none_preferred_in_the_first_exchange(self) -> None:
        raw = self.raw(self.server(BOTH))
        raw.exchange("none,aes128-ctr", "none,hmac-sha2-256")
        self.assert_no_none(raw)
        self.assertTrue(raw.up.stream and raw.up.mac_key and raw.down.stream and raw.down.mac_key)

    def test_none_in_a_second_exchange(self) -> None:
        """Encrypted, but nobody is logged in: no none, whether the server takes part or hangs up."""
        raw = self.raw(self.server(BOTH))
        raw.exchange()
        raw.offer = {}
        try:
            raw.exchange("none,aes128-ctr", "none,hmac-sha2-256")
        except Disconnected:
            pass
        if raw.offer:
            self.assert_no_none(raw)

    def assert_no_none(self, raw: RawSsh) -> None:
        for name in ("cipher_up", "cipher_down", "mac_up", "mac_down"):
            self.assertNotIn("none", raw.offer[name])


class Offer(NsshCase):
    """What the server proposes to a user who is logged in."""

    def offers(self, settings: str, matches: str = "") -> tuple[bool, bool, str]:
        """Cipher none, MAC none, and the server's log."""
        server = self.server(settings, matches=matches)
        raw = self.logged_in(server)
        offer = raw.exchange()
        self.assertEqual(offer["cipher_up"], offer["cipher_down"])
        self.assertEqual(offer["mac_up"], offer["mac_down"])
        if "none" in offer["cipher_up"]:
            self.assertEqual(offer["cipher_up"][-1], "none", "no more than a last resort")
        return "none" in offer["cipher_up"], "none" in offer["mac_up"], server.log_text()

    def test_what_the_option_says(self) -> None:
        self.assertEqual(self.offers(SAFE)[:2], (False, False))
        self.assertEqual(self.offers(SAFE + "PostAuthNone no\n")[:2], (False, False))
        self.assertEqual(self.offers(CIPHER)[:2], (True, False))
        self.assertEqual(self.offers(BOTH)[:2], (True, True))

    def test_what_turns_it_off(self) -> None:
        """Each alone: a terminal, forwarding, a tunnel, either kind of password."""
        for unsafe in ("PermitTTY yes", "DisableForwarding no", "PermitTunnel yes", "PasswordAuthentication yes",
                       "KbdInteractiveAuthentication yes"):
            with self.subTest(unsafe):
                cipher, mac, log = self.offers(f"{unsafe}\n{BOTH}")
                self.assertEqual((cipher, mac), (False, False))
                self.assertIn(f"PostAuthNone ignored: {unsafe.removeprefix('PermitTunnel yes') or 'PermitTunnel'}", log)

    def test_defaults_turn_it_off(self) -> None:
        self.assertEqual(self.offers("PostAuthNone cipher-and-mac\n")[:2], (False, False))

    def test_match(self) -> None:
        self.assertEqual(self.offers(SAFE, f"Match User {USER}\nPostAuthNone cipher\n")[:2], (True, False))
        self.assertEqual(self.offers(SAFE, f"Match User !{USER},*\nPostAuthNone cipher\n")[:2], (False, False))
        self.assertEqual(self.offers(SAFE, "Match Address 192.0.2.0/24\nPostAuthNone cipher\n")[:2], (False, False))
        self.assertEqual(self.offers(CIPHER, "Match Address 127.0.0.1\nPermitTTY yes\n")[:2], (False, False))
        self.assertEqual(self.offers("PostAuthNone cipher\n", f"Match User {USER}\n{SAFE}")[:2], (True, False))
        self.assertEqual(self.offers("PostAuthNone cipher\n", f"Match User !{USER},*\n{SAFE}")[:2], (False, False))

    def test_a_wrong_value(self) -> None:
        config = self.dir / "sshd_config"
        config.write_text("PostAuthNone yes\n")
        done = subprocess.run([f"{os.path.dirname(SSH)}/../sbin/sshd", "-t", "-f", config], capture_output=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(b"unsupported option \"yes\"", done.stderr)


class MacNone(NsshCase):
    def refused(self, raw: RawSsh, server: Nssh, ciphers: str) -> None:
        before = server.log_text().count("no matching MAC found")
        with self.assertRaises(Disconnected):
            raw.exchange(ciphers, "none")
        self.assertEqual(server.log_text().count("no matching MAC found"), before + 1, server.log_text())

    def test_never_with_a_real_cipher(self) -> None:
        server = self.server(BOTH)
        self.refused(self.raw(server), server, "aes128-ctr")
        self.refused(self.logged_in(server), server, "aes128-ctr")
        later = self.logged_in(server)
        later.exchange("none", "none")
        self.refused(later, server, "aes128-ctr")

    def test_not_where_only_the_cipher_is_admitted(self) -> None:
        server = self.server(CIPHER)
        self.refused(self.logged_in(server), server, "none")

    def test_what_is_admitted_works_in_turn(self) -> None:
        raw = self.logged_in(self.server(BOTH))
        for cipher, mac in (("none", "hmac-sha2-256"), ("none", "none"), ("aes128-ctr", "hmac-sha2-256"),
                            ("none", "none")):
            raw.exchange(cipher, mac)
            raw.send(bytes([GLOBAL_REQUEST]) + string(b"nobody-knows-this@example.org") + b"\x01")
            self.assertEqual(raw.receive(), bytes([82]), "request failure: it was read")


class Carried(NsshCase):
    """nssh's ssh program with nssh's sshd."""

    def test_login_is_never_in_clear(self) -> None:
        server = self.server(CIPHER)
        proxy = self.proxy(server)
        done = server.ssh(*NONE, "{}", "cat; echo done", port=proxy.port, stdin=MARKER)
        self.assertEqual(done.stdout, MARKER + b"done\n", done.stderr)
        for record in (proxy.up, proxy.down):
            self.assertIn(MARKER, record, "what follows the login can be read: the proxy sees all")
            for secret in (string(USER.encode()), b"ssh-userauth", b"ssh-connection", string(b"publickey")):
                self.assertNotIn(secret, record)

    def test_encrypted_by_default(self) -> None:
        server = self.server(CIPHER)
        for program in (SSH, "ssh"):
            proxy = self.proxy(server)
            done = server.ssh("{}", "cat", program=program, port=proxy.port, stdin=MARKER)
            self.assertEqual(done.stdout, MARKER, done.stderr)
            self.assertNotIn(MARKER, bytes(proxy.up + proxy.down))

    def test_what_is_negotiated(self) -> None:
        """The client asks for one of two things, the server admits one of two."""
        for settings, ask, mac in ((CIPHER, "cipher", "umac-64-etm@openssh.com"), (BOTH, "cipher-and-mac", "none"),
                                   (CIPHER, "cipher-and-mac", "umac-64-etm@openssh.com"),
                                   (BOTH, "cipher", "umac-64-etm@openssh.com")):
            with self.subTest(settings=settings, ask=ask):
                done = self.server(settings).ssh("-v", "-o", f"PostAuthNone={ask}", "{}", "true")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assert_negotiated(done.stderr, "none", mac)

    def test_every_mac(self) -> None:
        server = self.server(CIPHER)
        data = os.urandom(300_000)
        macs = subprocess.run([SSH, "-Q", "mac"], capture_output=True, check=True, text=True).stdout.split()
        self.assertNotIn("none", macs)
        for mac in macs:
            if "md5" in mac or "-96" in mac:
                continue  # not in the server's defaults
            with self.subTest(mac):
                done = server.ssh("-v", *NONE, "-m", mac, "-o", "Ciphers=aes128-ctr", "{}", "cat", stdin=data)
                self.assertEqual(done.stdout, data, done.stderr)
                self.assert_negotiated(done.stderr, "none", mac)

    def test_a_flipped_bit(self) -> None:
        """Ends the connection where there is a MAC; arrives where there is none, so the flip is real."""
        data = MARKER * 4000
        for way in ("flip_up", "flip_down"):
            for settings, ask, caught in ((CIPHER, "cipher", True), (BOTH, "cipher-and-mac", False)):
                with self.subTest(way=way, ask=ask):
                    server = self.server(settings)
                    proxy = self.proxy(server, **{way: MARKER})
                    done = server.ssh("-o", f"PostAuthNone={ask}", "{}", "cat", port=proxy.port, stdin=data)
                    self.assertTrue(proxy.flipped)
                    if caught:
                        self.assertEqual(done.returncode, 255, done.stderr)
                        self.assertTrue(data.startswith(done.stdout), "nothing wrong was passed on")
                        self.assertIn("Corrupted MAC", server.log_text() + done.stderr.decode())
                    else:
                        self.assertEqual(done.returncode, 0, done.stderr)
                        self.assertNotEqual(done.stdout, data)

    def test_many_rekeys(self) -> None:
        """Key exchanges by either side in the middle of data."""
        data = os.urandom(1 << 20) * 24
        for settings, client in (("RekeyLimit 1M\n", ()), ("", ("-o", "RekeyLimit=1M"))):
            with self.subTest(settings=settings):
                done = self.server(settings + CIPHER).ssh("-v", *NONE, *client, "{}", "cat", stdin=data)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(hashlib.sha256(done.stdout).digest(), hashlib.sha256(data).digest())
                self.assertGreater(done.stderr.count(b"cipher: none MAC: umac-64-etm"), 20)
                self.assert_negotiated(done.stderr, "none", "umac-64-etm@openssh.com")

    def test_scp(self) -> None:
        server = self.server(CIPHER)
        source, target = self.dir / "one", self.dir / "two"
        source.write_bytes(os.urandom(3 << 20))
        done = subprocess.run([f"{os.path.dirname(SSH)}/scp", "-v", "-S", SSH, "-F", server.config, *NONE, "-O", source,
                               f"nbtest:{target}"], capture_output=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(source.read_bytes(), target.read_bytes())
        self.assert_negotiated(done.stderr, "none", "umac-64-etm@openssh.com")

    def test_window(self) -> None:
        server = self.server(CIPHER)
        done = server.ssh("-vvv", "{}", "true")
        self.assertIn(b"rcvd adjust 16777216", done.stderr)

    def test_nbackup_over_it(self) -> None:
        server = self.server(CIPHER)
        source, sink = self.dir / "source", self.dir / "sink"
        source.mkdir()
        (source / "file").write_bytes(os.urandom(5 << 20))
        rsh = f"{SSH} -v -F {server.config} -p {server.port}"
        words = ["--ssh-security=integrity", "-e", rsh, "--remote-path", os.environ["NBACKUP"]]
        done = self.run_ok("push", *words, f"{source}/", f"nbtest:{sink}")
        self.assert_negotiated(done.stderr, "none", "umac-64-etm@openssh.com")
        self.assert_same_tree(source, sink)

    @unittest.skipUnless(FULL, "3.2 GiB each way: NB_FULL=1")
    def test_more_than_three_gib(self) -> None:
        """Across the rekeys that a cipher of 8-byte blocks has every GiB."""
        server, size = self.server(CIPHER), 3 * (1 << 30) + 12345
        make = f"head -c {size} /dev/zero | openssl enc -aes-128-ctr -K {'5a' * 16} -iv {'00' * 16}"
        ssh = f"{SSH} -v -F {server.config} {' '.join(NONE)} nbtest"
        want = self.shell(f"{make} | sha256sum")
        up = self.shell(f"{make} | {ssh} sha256sum")
        down = self.shell(f"{ssh} '{make}' | sha256sum")
        self.assertEqual((up.stdout, down.stdout), (want.stdout, want.stdout))
        for done in (up, down):
            self.assertGreaterEqual(done.stderr.count(b"cipher: none MAC: umac-64-etm"), 2 * 4, done.stderr)

    def shell(self, command: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(["bash", "-c", command], capture_output=True, check=True, timeout=1200)


class ClientSide(NsshCase):
    """What the ssh program makes of PostAuthNone by itself."""

    def test_stock_server(self) -> None:
        done = self.server(stock=True).ssh("-v", *NONE, "{}", "echo it works")
        self.assertEqual(done.stdout, b"it works\n", done.stderr)
        self.assertEqual(done.stderr.count(b"the connection stays encrypted"), 1, done.stderr)
        self.assertNotIn(b"cipher: none", done.stderr)

    def test_a_server_that_admits_it_to_others(self) -> None:
        done = self.server(SAFE).ssh(*NONE, "{}", "echo it works")
        self.assertEqual(done.stdout, b"it works\n", done.stderr)
        self.assertIn(b"The server has no cipher none for this user, the connection stays encrypted", done.stderr)

    def ignored(self, why: bytes, *options: str) -> None:
        server = self.server(CIPHER)
        done = server.ssh("-v", *NONE, *options, "{}", "true")
        self.assertIn(b"PostAuthNone ignored, the connection stays encrypted: " + why, done.stderr)
        self.assertNotIn(b"cipher: none", done.stderr)

    def test_terminal(self) -> None:
        self.ignored(b"a terminal is requested", "-tt")

    def test_forwarding(self) -> None:
        for options in (("-L", f"{self.dir}/here:{self.dir}/there"), ("-R", f"{self.dir}/there:{self.dir}/here"),
                        ("-A",), ("-X",), ("-W", "127.0.0.1:9")):
            with self.subTest(options):
                self.ignored(b"forwarding is requested", *options)

    def test_shared_connection(self) -> None:
        self.ignored(b"the connection is shared", "-o", "ControlMaster=yes", "-o", f"ControlPath={self.dir}/control")

    def test_host_key_that_nobody_verified(self) -> None:
        empty = self.dir / "known_hosts"
        for trust in ("no", "accept-new"):
            with self.subTest(trust):
                empty.write_bytes(b"")
                self.ignored(b"the host key is not verified", "-o", f"StrictHostKeyChecking={trust}", "-o",
                             f"UserKnownHostsFile={empty}")


class Accounts(NsshCase):
    """Users that this machine does not have: in a mount namespace with its own /etc/passwd and /etc/shadow."""

    def test_plain_user_without_a_password(self) -> None:
        """As `adduser --disabled-password` makes them."""
        self.need_root()
        home = self.dir / "home-of-plain"
        home.mkdir()
        os.chown(home, 4242, 4242)
        lines = {"passwd": f"plain:x:4242:4242::{home}:/bin/sh\n", "shadow": "plain:!:19000:0:99999:7:::\n"}
        for name, line in lines.items():
            (self.dir / name).write_text(Path("/etc", name).read_text() + line)
        mounts = "".join(f"mount --bind {self.dir}/{name} /etc/{name} && " for name in lines)
        before = ("unshare", "--mount", "sh", "-c", mounts + 'exec "$@"', "sh")
        keys = self.dir / "keys-of-plain"
        server = self.server(f"UsePAM yes\nAuthorizedKeysFile {keys}\n{CIPHER}", before=before)
        keys.write_bytes((server.dir / "authorized_keys").read_bytes())
        done = server.ssh("-v", *NONE, "-l", "plain", "{}", "id -un; cat", stdin=MARKER)
        self.assertEqual(done.stdout, b"plain\n" + MARKER, server.log_text())
        self.assert_negotiated(done.stderr, "none", "umac-64-etm@openssh.com")


if __name__ == "__main__":
    unittest.main()
