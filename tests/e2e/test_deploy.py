# SPDX-License-Identifier: Apache-2.0
"""nbackup deploy: a host that has nothing gets a program that works; whatever goes wrong, the old one stays."""
from __future__ import annotations

import os
import shutil
import subprocess
import time
import unittest
from pathlib import Path

from support import options as opt
from support.farhost import FarHost
from support.loopfs import Tmpfs
from support.run import BINARY, PLAIN_GID, PLAIN_UID, Case, Outcome
from support.sshd import HOST, Sshd

UNSUPPORTED = 4
OLD = "#!/bin/sh\necho nbackup 0.0.9\necho protocol 1 to 1\n"
NEWER = "#!/bin/sh\necho nbackup 99.0.0\necho protocol 1 to 1\n"
LARGE = 100_000  # more bytes than this are a program, not a script


def damaging_head(what: str) -> str:
    """A `head` that does harm to large contents: `what` reads the content from its input, whole."""
    return f'if [ "$2" -gt {LARGE} ]; then /usr/bin/head "$@" | {{ {what}; }}; else exec /usr/bin/head "$@"; fi'


class DeployCase(Case):
    def deploy(self, far: FarHost, *options: str, code: int = 0) -> Outcome:
        return self.run_code(code, "deploy", "-e", str(far.rsh), *options, "far")

    def assert_deployed(self, far: FarHost, note: str = "") -> None:
        self.assertEqual(far.program.read_bytes(), Path(BINARY).read_bytes(), note)
        self.assertEqual(far.program.stat().st_mode & 0o7777, 0o755, note)
        self.assertEqual(far.leftovers(), [], note)

    def assert_old(self, far: FarHost, note: str = "") -> None:
        self.assertEqual(far.program.read_text(), OLD, note)

    def patched(self, name: str, old: bytes, new: bytes) -> Path:
        """The program under test with some bytes replaced."""
        content = Path(BINARY).read_bytes()
        self.assertIn(old, content)
        path = self.dir / name
        path.write_bytes(content.replace(old, new))
        path.chmod(0o755)
        return path

    def for_another_machine(self, name: str) -> Path:
        """The program under test with a header that says aarch64."""
        content = bytearray(Path(BINARY).read_bytes())
        content[18:20] = (183).to_bytes(2, "little")
        path = self.dir / name
        path.write_bytes(content)
        path.chmod(0o755)
        return path


class Good(DeployCase):
    def test_first_then_nothing_to_do(self) -> None:
        far = FarHost(self.world)
        first = self.deploy(far)
        self.assert_deployed(far)
        self.assertIn(f"put nbackup {_version()} ", first.stdout.decode())
        self.assertNotIn("--remote-path", first.text)
        before = far.program.stat()
        second = self.deploy(far)
        self.assertIn("as it should be", second.stdout.decode())
        after = far.program.stat()
        self.assertEqual((after.st_ino, after.st_ctime_ns), (before.st_ino, before.st_ctime_ns))

    def test_the_program_works_there_as_it_says(self) -> None:
        far = FarHost(self.world)
        self.deploy(far)
        source = self.dir / "source"
        source.mkdir()
        (source / "file").write_text("content")
        self.run_ok("push", "-e", str(far.rsh), f"{source}/", "far:pool")
        self.assertEqual((far.home / "pool" / "file").read_text(), "content")

    def test_in_the_path_no_word_of_remote_path(self) -> None:
        far = FarHost(self.world, in_path=True)
        for _ in range(2):
            self.assertNotIn("--remote-path", self.deploy(far).text)
        self.run_ok("init", "-e", str(far.rsh), "far:pool")

    def test_another_one_that_is_found_first_is_named(self) -> None:
        far = FarHost(self.world, in_path=True)
        far.tool("nbackup", OLD.partition("\n")[2])
        for _ in range(2):
            self.assertIn(f"finds {far.tools}/nbackup", self.deploy(far).stdout.decode())
        self.assert_deployed(far)

    def test_the_same_version_elsewhere_is_enough(self) -> None:
        far = FarHost(self.world)
        far.tool("nbackup", f"exec {BINARY} \"$@\"")
        self.assertIn("as it should be", self.deploy(far).stdout.decode())
        self.assertFalse(far.program.exists())
        self.deploy(far, "--force")
        self.assert_deployed(far)

    def test_an_older_one_is_replaced_and_a_newer_one_is_not(self) -> None:
        far = FarHost(self.world)
        far.put(OLD)
        self.assertIn("replace nbackup 0.0.9", self.deploy(far).stdout.decode())
        self.assert_deployed(far)
        far.put(NEWER)
        self.assertIn(b"nbackup 99.0.0 is there, newer", self.deploy(far, code=UNSUPPORTED).stderr)
        # Its own version is known from here on only when it runs there.
        self.deploy(far, "--binary", BINARY, code=UNSUPPORTED)
        self.assertEqual(far.program.read_text(), NEWER)
        self.assertEqual(far.leftovers(), [])
        self.deploy(far, "--force")
        self.assert_deployed(far)

    def test_a_dry_run_says_the_same_and_changes_nothing(self) -> None:
        far = FarHost(self.world)
        dry = self.deploy(far, "-n").stdout.decode()
        self.assertEqual(os.listdir(far.home), [])
        plan = [line for line in dry.splitlines() if " put " in line]
        self.assertEqual(len(plan), 1, dry)
        self.assertIn(plan[0], self.deploy(far).stdout.decode())

    def test_a_talkative_login_is_named(self) -> None:
        far = FarHost(self.world, before="echo Welcome")
        self.assertIn(b"its login prints text", self.deploy(far).stderr)
        self.assert_deployed(far)

    def test_quiet(self) -> None:
        self.assertEqual(self.deploy(FarHost(self.world), "-q").stdout, b"")

    def test_the_hint_of_a_host_without_nbackup(self) -> None:
        far = FarHost(self.world)
        failed = self.run_code(opt.REMOTE_MISSING, "init", "-e", str(far.rsh), "far:pool")
        self.assertIn(b"nbackup deploy HOST", failed.stderr)


class OverSsh(DeployCase):
    """By both carriers, against a real sshd whose logins get a home directory of the test's."""

    def setUp(self) -> None:
        super().setUp()
        if reason := Sshd.missing():
            self.skipTest(reason)
        self.home = self.dir / "ssh-home"
        self.home.mkdir()

    def _sshd(self, lines: str = "") -> Sshd:
        class Private(Sshd):
            settings = f"SetEnv HOME={self.home} PATH=/usr/bin:/bin\n{lines}"

        sshd = Private(self.dir)
        self.addCleanup(sshd.close)
        return sshd

    def test_both_carriers(self) -> None:
        sshd = self._sshd()
        program = self.home / ".local/bin/nbackup"
        for options in (["--ssh-config", str(sshd.config)], ["-e", sshd.rsh]):
            with self.subTest(options=options):
                self.run_ok("deploy", *options, HOST)
                self.assertEqual(program.read_bytes(), Path(BINARY).read_bytes())
                again = self.run_ok("deploy", *options, HOST)
                self.assertIn(b"as it should be", again.stdout)
                program.unlink()

    def test_a_restricted_key_gets_one_clear_line(self) -> None:
        sshd = self._sshd(f"ForceCommand {BINARY} serve --root {self.home}\n")
        for options in (["--ssh-config", str(sshd.config)], ["-e", sshd.rsh]):
            with self.subTest(options=options):
                failed = self.run_code(UNSUPPORTED, "deploy", *options, HOST)
                self.assertIn(b"no POSIX shell answers there", failed.stderr)
                self.assertEqual(len(failed.stderr.splitlines()), 1, failed.text)
                self.assertEqual(os.listdir(self.home), [])

    def test_no_shell(self) -> None:
        sshd = self._sshd("ForceCommand /usr/sbin/nologin\n")
        failed = self.run_code(UNSUPPORTED, "deploy", "--ssh-config", str(sshd.config), HOST)
        self.assertIn(b"no POSIX shell answers there", failed.stderr)


class Bad(DeployCase):
    """What goes wrong on the way."""

    def setUp(self) -> None:
        super().setUp()
        self.far = FarHost(self.world)
        self.far.put(OLD)

    def _later_good(self) -> None:
        for tool in self.far.tools.iterdir():
            tool.unlink()
        self.deploy(self.far)
        self.assertEqual(self.far.program.read_bytes(), Path(BINARY).read_bytes())

    def test_content_that_arrives_damaged_or_cut_off(self) -> None:
        for what in ("/usr/bin/head -c 1000; cat >/dev/null", "tr A B", "cat; echo more"):
            with self.subTest(what=what):
                self.far.tool("head", damaging_head(what))
                failed = self.deploy(self.far, code=opt.IO)
                self.assertIn(b"arrived damaged or cut off", failed.stderr)
                self.assert_old(self.far)
                self.assertEqual(self.far.leftovers(), [])
        self._later_good()

    def test_the_host_s_shell_is_killed_midway(self) -> None:
        self.far.tool("head", damaging_head("/usr/bin/head -c 1000; kill -9 $PPID"))
        self.deploy(self.far, code=opt.PROTOCOL)
        self.assert_old(self.far)
        left = self.far.leftovers()
        self.assertEqual(len(left), 1)
        self._later_good()
        # It may be of a run that is still going on, for an hour.
        self.assertEqual(self.far.leftovers(), left)
        long_ago = time.time() - 7200
        os.utime(self.far.bin / left[0], (long_ago, long_ago))
        self.deploy(self.far, "--binary", str(self.patched("other", b"\nzstd {}\n", b"\nZstd {}\n")))
        self.assertEqual(self.far.leftovers(), [])

    def test_the_client_is_killed_midway(self) -> None:
        """The host sees the end of its input, and cleans up."""
        mark = self.dir / "mark"
        self.far.tool("head", damaging_head(f"/usr/bin/head -c 1000; touch {mark}; cat >/dev/null; cat <&3") + " 3<&0")
        run = self.world.spawn("deploy", "-e", str(self.far.rsh), "far")
        self._wait_for(mark.exists)
        self.assertEqual(len(self.far.leftovers()), 1)
        run.kill()
        run.wait()
        self._wait_for(lambda: not self.far.leftovers())
        self.assert_old(self.far)
        self._later_good()

    def test_a_file_for_another_machine_is_not_sent(self) -> None:
        failed = self.deploy(self.far, "--binary", str(self.for_another_machine("arm")), code=UNSUPPORTED)
        self.assertIn(b"is for aarch64 and the host is", failed.stderr)
        self.far.tool("uname", "echo aarch64")
        failed = self.deploy(self.far, code=UNSUPPORTED)
        self.assertIn(b"the host is aarch64: --binary", failed.stderr)
        self.assert_old(self.far)

    def test_the_program_for_another_machine_lies_beside_this_one(self) -> None:
        """It is taken; that it does not run here is found out before it has its name."""
        here = self.dir / "here"
        here.mkdir()
        shutil.copy(BINARY, here / "nbackup")
        shutil.move(self.for_another_machine("arm"), here / "nbackup-aarch64")
        self.far.tool("uname", "echo aarch64")
        done = subprocess.run([here / "nbackup", "deploy", "-e", str(self.far.rsh), "far"], env=self.world.env(),
                              capture_output=True, stdin=subprocess.DEVNULL, timeout=120, check=False)
        self.assertEqual(done.returncode, UNSUPPORTED, done)
        self.assertIn(b"nbackup-aarch64 (aarch64, ", done.stdout)
        self.assertIn(b"does not run there; nothing was changed", done.stderr)
        self.assert_old(self.far)
        self.assertEqual(self.far.leftovers(), [])

    def test_what_is_no_program_is_refused(self) -> None:
        missing = self.dir / "missing"
        for path in (self.far.rsh, self.dir, missing, "/dev/zero"):
            with self.subTest(path=path):
                self.deploy(self.far, "--binary", str(path), code=opt.USAGE if path != missing else opt.IO)
        self.assert_old(self.far)

    def test_missing_libraries_are_named(self) -> None:
        odd = self.patched("odd", b"libzstd.so.1", b"libzstd.so.X")
        failed = self.deploy(self.far, "--binary", str(odd), code=UNSUPPORTED)
        self.assertIn(b"libraries are missing there: libzstd.so.X", failed.stderr)
        self.assert_old(self.far)
        self.assertEqual(self.far.leftovers(), [])

    def test_a_program_that_does_not_speak_our_protocol(self) -> None:
        odd = self.patched("odd", b"protocol {} to {}\n", b"protocol 77 to 78\n")
        failed = self.deploy(self.far, "--binary", str(odd), code=opt.PROTOCOL_VERSION)
        self.assertIn(b"nothing was changed", failed.stderr)
        self.assert_old(self.far)

    def test_a_directory_has_the_name(self) -> None:
        self.far.program.unlink()
        self.far.program.mkdir()
        self.assertIn(b"is a directory", self.deploy(self.far, code=opt.IO).stderr)

    def test_no_room(self) -> None:
        self.need_root()
        shutil.rmtree(self.far.bin)
        with Tmpfs(self.far.bin, size_mb=1):
            self.far.put(OLD)
            failed = self.deploy(self.far, code=opt.IO)
            self.assertRegex(failed.stderr, rb"has .* free and .* would be sent")
            self.far.tool("df", "printf 'x x x 99999999\\n'")  # it seemed to be enough
            failed = self.deploy(self.far, code=opt.IO)
            self.assertIn(b"cannot be written", failed.stderr)
            self.assert_old(self.far)
            self.assertEqual(self.far.leftovers(), [])

    def test_a_host_that_lies(self) -> None:
        """It gets nothing, whatever it says in place of the facts."""
        greeting = "echo nbackup-deploy 1"
        for number, (before, code) in enumerate((
                ("yes", UNSUPPORTED), ("head -c 100000 /dev/zero", UNSUPPORTED),
                (f"{greeting}; echo end", opt.PROTOCOL),
                (f"{greeting}; yes fact", opt.PROTOCOL), (f"{greeting}; head -c 100000 /dev/zero", opt.PROTOCOL),
                (f"{greeting}; exit", opt.PROTOCOL))):
            with self.subTest(before=before):
                far = FarHost(self.world, f"lies{number}", before=before)
                self.deploy(far, code=code)
                self.assertEqual(os.listdir(far.home), [])

    def test_a_directory_that_cannot_be_written(self) -> None:
        self.need_root()
        far = FarHost(self.world, "plain", wrap=f"setpriv --reuid={PLAIN_UID} --regid={PLAIN_GID} --clear-groups")
        self.assertIn(b"cannot make a file in", self.deploy(far, code=opt.IO).stderr)
        self.assertEqual(os.listdir(far.home), [])

    def _wait_for(self, condition: object) -> None:
        deadline = time.monotonic() + 60
        while not condition():  # type: ignore[operator]
            self.assertLess(time.monotonic(), deadline, "it does not come")
            time.sleep(0.01)


class System(DeployCase):
    def test_sudo_that_asks_for_a_password(self) -> None:
        far = FarHost(self.world)
        far.tool("id", "echo 1000")
        far.tool("sudo", "echo 'sudo: a password is required' >&2; exit 1")
        failed = self.deploy(far, "--sudo", code=UNSUPPORTED)
        self.assertIn(b"sudo does not work there without a password (sudo: a password is required)", failed.stderr)

    def system_host(self) -> tuple[FarHost, Path]:
        """A host where sudo works, and its /usr/local/bin, a file system of the login's own."""
        self.need_root()
        shared = self.dir / "usr-local-bin"
        shared.mkdir()
        mount = self.world.script("mount-own", f"#!/bin/sh\nmount --bind {shared} /usr/local/bin && exec \"$@\"\n")
        far = FarHost(self.world, wrap=f"unshare --mount {mount}")
        far.tool("id", "echo 1000")
        far.tool("sudo", f'echo "$1 $2" >>{self.dir}/sudo.log; shift; exec "$@"')
        return far, shared

    def test_for_the_system_by_sudo(self) -> None:
        far, shared = self.system_host()
        self.assertNotIn(b"--remote-path", self.deploy(far, "--sudo").stdout)
        self.assertEqual((shared / "nbackup").read_bytes(), Path(BINARY).read_bytes())
        self.assertEqual(os.listdir(shared), ["nbackup"])
        self.assertEqual((self.dir / "sudo.log").read_text(), "-n true\n-n sh\n")
        self.assertIn(b"as it should be", self.deploy(far, "--sudo").stdout)
        self.assertFalse(far.program.exists())

    def test_for_the_system_too(self) -> None:
        """What one user has is none for the others; who has it is told that it comes first."""
        far, shared = self.system_host()
        self.deploy(far)
        self.assertIn(b"use --remote-path=/usr/local/bin/nbackup", self.deploy(far, "--sudo").stdout)
        self.assertEqual((shared / "nbackup").read_bytes(), Path(BINARY).read_bytes())
        self.assertIn(b"as it should be", self.deploy(far, "--sudo").stdout)


class Nssh(DeployCase):
    """With a package of the test's, and a dpkg that keeps to a directory of its own."""

    def setUp(self) -> None:
        super().setUp()
        if shutil.which("dpkg-deb") is None:
            self.skipTest("no dpkg")
        self.need_root()
        self.architecture = _output("dpkg", "--print-architecture").strip()
        self.far = FarHost(self.world)
        self.root = self.dir / "root"
        (self.root / "var/lib/dpkg/info").mkdir(parents=True)
        (self.root / "var/lib/dpkg/updates").mkdir()
        (self.root / "var/lib/dpkg/status").touch()
        self.far.tool("dpkg", f'exec /usr/bin/dpkg --root={self.root} --force-script-chrootless "$@"')
        self.far.tool("dpkg-query", f'exec /usr/bin/dpkg-query --root={self.root} "$@"')

    def _package(self, version: str, more: str = "", name: str = "nssh") -> str:
        tree = self.dir / f"tree-{version}"
        (tree / "DEBIAN").mkdir(parents=True)
        (tree / "opt/nssh/etc").mkdir(parents=True)
        (tree / "opt/nssh/etc/sshd_config").write_text(version)
        (tree / "DEBIAN/conffiles").write_text("/opt/nssh/etc/sshd_config\n")
        (tree / "DEBIAN/control").write_text(
            f"Package: {name}\nVersion: {version}\nArchitecture: {self.architecture}\n"
            f"Maintainer: nobody <nobody@localhost>\nDescription: a test\n{more}")
        folder = self.dir / "cache/nbackup/nssh/packages"
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{name}_{version}_{self.architecture}.deb"
        _output("dpkg-deb", "--root-owner-group", "--build", str(tree), str(file))
        return str(file)

    def _installed(self) -> str:
        return _output("dpkg-query", f"--root={self.root}", "-f", "${Package} ${Version} ${db:Status-Status}\n", "-W")

    def test_without_a_package_the_way_to_one(self) -> None:
        failed = self.deploy(self.far, "--nssh", code=opt.IO)
        self.assertIn(b"nssh/build --package ", failed.stderr)
        self.assertFalse(self.far.program.exists())

    def test_dry_run(self) -> None:
        self._package("1.0")
        dry = self.deploy(self.far, "--nssh", "-n").stdout
        self.assertIn(b"install nssh 1.0 ", dry)
        self.assertEqual(self._installed(), "")
        self.assertEqual(os.listdir(self.far.home), [])

    def test_installed_updated_and_left_alone(self) -> None:
        self._package("1.0")
        first = self.deploy(self.far, "--nssh")
        self.assertIn(b"systemctl enable --now nssh", first.stdout)
        self.assertIn(b"PostAuthNone", first.stdout)
        self.assertEqual(self._installed(), "nssh 1.0 installed\n")
        self.assert_deployed(self.far)
        self.assertIn(b"nssh 1.0 is installed: as it should be", self.deploy(self.far, "--nssh").stdout)
        self.assertIn(b"install nssh 1.0 ", self.deploy(self.far, "--nssh", "--force").stdout)
        config = self.root / "opt/nssh/etc/sshd_config"
        config.write_text("the administrator's own")
        self.deploy(self.far, "--nssh-package", self._package("2.0"))
        self.assertEqual(self._installed(), "nssh 2.0 installed\n")
        self.assertEqual(config.read_text(), "the administrator's own")
        old = str(self.dir / f"cache/nbackup/nssh/packages/nssh_1.0_{self.architecture}.deb")
        self.assertIn(b"newer than 1.0", self.deploy(self.far, "--nssh-package", old, code=UNSUPPORTED).stderr)
        self.assertEqual(self._installed(), "nssh 2.0 installed\n")

    def test_a_first_installation_that_fails_leaves_nothing(self) -> None:
        package = self._package("1.0", "Depends: does-not-exist\n")
        failed = self.deploy(self.far, "--nssh-package", package, code=opt.IO)
        self.assertIn(b"dpkg could not install it", failed.stderr)
        self.assertIn(b"does-not-exist", failed.stderr)
        self.assertEqual(self._installed(), "")

    def test_without_root_nothing_is_done(self) -> None:
        self._package("1.0")
        self.far.tool("id", "echo 1000")
        failed = self.deploy(self.far, "--nssh", code=UNSUPPORTED)
        self.assertIn(b"nssh is installed by root: give --sudo", failed.stderr)
        self.assertFalse(self.far.program.exists())

    def test_another_package_is_refused(self) -> None:
        other = self._package("1.0", name="other")
        self.assertIn(b"is not a Debian package of nssh", self.deploy(self.far, "--nssh-package", other,
                                                                      code=opt.USAGE).stderr)
        self.assertFalse(self.far.program.exists())


def _version() -> str:
    return _output(BINARY, "--version").split()[1]


def _output(*argv: str) -> str:
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    unittest.main()
