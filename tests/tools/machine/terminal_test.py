"""hosttools.machine.terminal: which keys reach the guest, and that the terminal comes back as it was."""

import os
import pty
import signal
import subprocess
import termios

import pytest

from host_command import KETTLE, environment, make_build, wait_until
from hosttools.machine.terminal import EscapeFilter


@pytest.mark.parametrize("keys, out, left", [
    (b"plain\x03\xff\0", b"plain\x03\xff\0", False), (b"a\x01xb", b"a", True), (b"\x01\x01", b"\x01", False),
    (b"\x01a", b"\x01", False), (b"\x01z", b"\x01z", False), (b"\x01", b"", False), (b"\x01\x01x", b"\x01x", False)])
def test_escapes(keys, out, left):
    for cut in range(len(keys) + 1):
        escapes = EscapeFilter()
        assert escapes.feed(keys[:cut]) + (b"" if escapes.left else escapes.feed(keys[cut:])) == out
        assert escapes.left == left


class Typed:
    """The host command with a terminal of its own."""

    def __init__(self, build, *arguments):
        self.ours, theirs = pty.openpty()
        self.before = termios.tcgetattr(self.ours)
        self.process = subprocess.Popen(
            [str(KETTLE), *arguments], stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, env=environment(build),
            preexec_fn=lambda: (os.setsid(), __import__("fcntl").ioctl(0, termios.TIOCSCTTY, 0)))
        os.close(theirs)
        os.set_blocking(self.ours, False)
        self.seen = b""

    def raw(self) -> bool:
        return not termios.tcgetattr(self.ours)[3] & termios.ICANON

    def sees(self, text: bytes) -> bool:
        try:
            self.seen += os.read(self.ours, 4096)
        except OSError:
            pass
        return text in self.seen

    def end(self) -> int:
        status = self.process.wait(30)
        assert termios.tcgetattr(self.ours) == self.before
        os.close(self.ours)
        self.process.stderr.close()
        return status


@pytest.fixture(scope="module")
def build(tmp_path_factory):
    return make_build(tmp_path_factory.mktemp("terminal"))


@pytest.fixture
def shell(build):
    typed = Typed(build, "shell", "--cpus", "1", "--append-raw", "fake=echo", "inside")
    assert wait_until(typed.raw)
    yield typed
    if typed.process.poll() is None:
        typed.process.kill()


def test_keys_pass_and_ctrl_a_x_leaves(shell):
    os.write(shell.ours, b"abc\x03\x1adef")
    assert wait_until(lambda: shell.sees(b"abc\x03\x1adef"))
    os.write(shell.ours, b"\x01x")
    assert shell.end() == 0


def test_the_terminal_comes_back_when_the_tool_is_stopped(shell):
    shell.process.send_signal(signal.SIGTERM)
    assert shell.end() == 128 + signal.SIGTERM


def test_ctrl_c_ends_a_run(build):
    typed = Typed(build, "run", "--cpus", "1", "--append-raw", "fake=echo", "inside")
    assert wait_until(typed.raw)
    os.write(typed.ours, b"xyz")
    assert wait_until(lambda: typed.sees(b"xyz"))
    os.write(typed.ours, b"\x03")
    assert typed.end() == 128 + signal.SIGINT


def test_ctrl_a_x_ends_a_run(build):
    typed = Typed(build, "run", "--cpus", "1", "--append-raw", "fake=hang", "inside")
    assert wait_until(typed.raw)
    assert wait_until(lambda: os.write(typed.ours, b"\x01x") and typed.process.poll() is not None)
    assert typed.end() == 128 + signal.SIGINT
