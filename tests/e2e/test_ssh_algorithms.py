# SPDX-License-Identifier: Apache-2.0
"""What our build of libssh adds (nssh/build-libssh), against the system's sshd: every form of UMAC, both ways."""
from __future__ import annotations

import contextlib
import random
import unittest
from pathlib import Path

from support import options as opt
from support import tree
from support.run import BINARY, Case, libssh_line
from support.sshd import Sshd
from support.tcpproxy import TcpProxy

UMACS = ("umac-64-etm@openssh.com", "umac-128-etm@openssh.com", "umac-64@openssh.com", "umac-128@openssh.com")
SIZES = (*range(1, 40), 1023, 1024, 1025, 32758, 32768, 65537, 262144, 5 << 20, 24 << 20)


def make_files(root: Path) -> None:
    """Contents that no two packets share and that do not shrink."""
    root.mkdir()
    dice = random.Random("umac")
    for size in SIZES:
        (root / f"{size:08}").write_bytes(dice.randbytes(size))


class Version(Case):
    def test_libssh_is_described(self) -> None:
        self.assertRegex(libssh_line(),
                         r"^libssh \S+ \(cipher none: (yes|no), MAC umac: (yes|no), channel window: .+\)$")


class Umac(Case):
    """The client offers one MAC alone and a cipher that has none of its own, so a run that succeeds has used it."""

    def setUp(self) -> None:
        super().setUp()
        if "MAC umac: yes" not in libssh_line():
            self.skipTest("the linked libssh has no UMAC (nssh/build-libssh makes one that has)")
        self.source = self.dir / "source"
        make_files(self.source)

    def _options(self, mac: str, sshd: Sshd, port: int | None = None) -> list[str]:
        """As the world's for libssh, with algorithms, through another port if one is given."""
        text = sshd.config.read_text() + f"  Ciphers aes128-ctr\n  MACs {mac}\n"
        if port is not None:
            hosts = self.dir / "known_hosts"
            hosts.write_text((sshd.dir / "known_hosts").read_text().replace(f":{sshd.port} ", f":{port} "))
            text = text.replace(f"Port {sshd.port}", f"Port {port}").replace(f"{sshd.dir}/known_hosts", str(hosts))
        config = self.dir / "config"
        config.write_text(text)
        return ["--remote-path", BINARY, "--ssh-config", str(config)]

    def test_every_form_carries_a_push_and_a_pull(self) -> None:
        sshd = self.world.sshd
        for mac in UMACS:
            with self.subTest(mac=mac):
                options = self._options(mac, sshd)
                sink, back = self.dir / f"sink-{mac}", self.dir / f"back-{mac}"
                self.run_ok("push", *options, f"{self.source}/", self.world.far(sink, "libssh"))
                self.assert_same_tree(self.source, sink, "pushed")
                self.run_ok("pull", *options, self.world.far(f"{sink}/", "libssh"), back)
                self.assert_same_tree(self.source, back, "pulled back")

    def test_a_flipped_bit_ends_the_connection(self) -> None:
        """On its way to the client, where libssh must notice; what it had before stays as it was."""
        sshd = self.world.sshd
        for mac in UMACS:
            with self.subTest(mac=mac), contextlib.closing(TcpProxy(sshd.port, flip_down_at=9 << 20)) as proxy:
                options = self._options(mac, sshd, proxy.port)
                back = self.dir / f"back-{mac}"
                failed = self.run_code((opt.PROTOCOL, opt.CONNECT), "pull", *options, "--no-compress",
                                       self.world.far(f"{self.source}/", "libssh"), back)
                self.assertTrue(proxy.flipped, failed.text)
                # The bit may have been one of a packet's length.
                self.assertRegex(failed.stderr, rb"HMAC error|Packet len too high", failed.text)
                self.assertEqual(set(tree.snapshot(back)), {b""}, "nothing was committed")


if __name__ == "__main__":
    unittest.main()
