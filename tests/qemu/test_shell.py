"""`tools/kettle shell`: a session as a user has it, typed at a terminal of its own: jobs, keys, pipes over kernels, vi and less."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

import pytest

from conftest import KETTLE, TIMEOUT, first_or_all

ROWS, COLUMNS = 30, 200
PROMPT = "ready> "
MACHINES = {"4-kernels-2-nodes": ("--cpus", "4", "--nodes", "2"), "1-kernel": ("--cpus", "1"),
            "2-kernels-smp": ("--cpus", "4", "--kernels", "2")}


class Shell:
    """The host command with a terminal, and what was typed and seen there."""

    def __init__(self, *arguments):
        self.ours, theirs = pty.openpty()
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.before = termios.tcgetattr(self.ours)
        self.all = ""
        # pytest's workers have a size of their own in the environment, which would go before the terminal's
        variables = {name: value for name, value in os.environ.items() if name not in ("LINES", "COLUMNS")}
        self.process = subprocess.Popen(
            [str(KETTLE), "shell", "--tcg", "single", "--timeout", str(3 * TIMEOUT), *arguments], stdin=theirs, stdout=theirs, stderr=subprocess.PIPE,
            env={**variables, "TERM": "vt102"}, preexec_fn=lambda: (os.setsid(), fcntl.ioctl(0, termios.TIOCSCTTY, 0)))
        os.close(theirs)
        self.until("# ")
        self.type(f"PS1='{PROMPT}'\r")
        self.until(f"\n{PROMPT}")

    def type(self, text: str) -> None:
        os.write(self.ours, text.encode())

    def until(self, text: str, found=lambda seen, text: text in seen) -> str:
        """What comes up to TEXT. What asks where the cursor is gets no answer, as from a terminal that cannot."""
        seen, end = "", time.monotonic() + TIMEOUT
        while not found(seen, text):
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.ours], [], [], left)[0]:
                pytest.fail(f"no {text!r} in {seen!r} after {self.all!r}; {self.stop()}")
            try:
                data = os.read(self.ours, 1).decode(errors="replace")
            except OSError:
                pytest.fail(f"the end before {text!r}: {seen!r} after {self.all!r}; {self.stop()}")
            seen += data
            self.all += data
        return seen

    def do(self, command: str, end: str = f"\n{PROMPT}") -> str:
        """Types COMMAND; returns what is shown until the next prompt, without the command."""
        self.type(command + "\r")
        seen = self.until(end).replace("\x1b[6n", "").replace("\r", "")
        return seen.removesuffix(end).partition("\n")[2]

    def start(self, command: str, sign: str) -> str:
        """The same for a command that stays in the foreground: until it shows SIGN. Before that keys may be the shell's."""
        self.type(command + "\r")
        self.until("\n")
        return self.until(sign)

    def begin(self, command: str) -> None:
        """The same for one that shows nothing by itself."""
        self.start(f"sh -c 'echo on; exec {command}'", "on\r\n")

    def stop(self) -> str:
        self.process.terminate()  # with its machine, which has the other end of the pipe, too
        return self.process.stderr.read().decode(errors="replace")

    def leave(self, status: int) -> None:
        self.type(f"exit {status}\r")
        self.ended(status)

    def ended(self, status: int) -> None:
        """The tool ends with STATUS, and its terminal is as it was."""
        left, end = b"", time.monotonic() + TIMEOUT
        while self.process.poll() is None and time.monotonic() < end:
            try:
                if select.select([self.ours], [], [], 0.2)[0]:
                    left += os.read(self.ours, 4096)
            except OSError:  # the tool has closed its side
                break
        self.process.wait(TIMEOUT)
        assert self.process.poll() == status, (left, self.process.stderr.read())
        assert termios.tcgetattr(self.ours) == self.before
        os.close(self.ours)
        self.process.stderr.close()


@pytest.fixture(params=first_or_all(MACHINES))
def shell(request):
    typed = Shell(*MACHINES[request.param])
    yield typed
    if typed.process.poll() is None:
        typed.process.kill()
        typed.process.wait()


@pytest.fixture
def spread():
    """A shell over eight kernels."""
    typed = Shell("--cpus", "8", "--nodes", "4")
    yield typed
    if typed.process.poll() is None:
        typed.process.kill()
        typed.process.wait()


def state_is(shell, pattern: str) -> str:
    """Asks for the jobs until they are as PATTERN says."""
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        jobs = shell.do("jobs")
        if re.search(pattern, jobs):
            return jobs
    pytest.fail(f"jobs are {jobs!r}, not {pattern!r}")


def test_jobs(shell):
    """What the shell's manual says of jobs: background, foreground, stopped by a key, gone on, waited for, ended."""
    assert shell.do("tty; stty size") == f"/dev/ttyS0\n{ROWS} {COLUMNS}"
    shell.do("printf 'trap \"echo goes on\" CONT\\n: >/tmp/begun\\nwhile sleep 1000 & do wait; done\\n' >/tmp/job")
    shell.do("sh /tmp/job &")
    shell.do("until test -e /tmp/begun; do sleep 0.1; done")
    assert re.fullmatch(r"\[1\]\+  Running +sh /tmp/job", shell.do("jobs"))
    shell.start("fg", "goes on\r\n")
    shell.type("\x1a")
    assert "Stopped" in shell.until(f"\n{PROMPT}")
    assert "Stopped" in state_is(shell, "Stopped")
    shell.start("bg", "goes on\r\n")
    state_is(shell, "Running")
    shell.start("fg %1", "goes on\r\n")
    shell.type("\x03")
    shell.until(f"\n{PROMPT}")
    assert shell.do("echo $?; jobs") == "130"
    shell.begin("cat")
    shell.type("here\r")
    shell.until("here\r\nhere\r\n")  # until it runs it is a shell, which ignores what comes now
    shell.type("\x1c")
    shell.until(f"\n{PROMPT}")
    assert shell.do("echo $?") == "131"
    shell.do("sleep 1002 &")
    assert "Terminated" in shell.do("kill %1") + shell.do("wait; jobs") + shell.do("")
    assert shell.do("sleep 1 & wait $!; echo $?").startswith("0")
    shell.leave(9)


def test_background_terminal(shell):
    """A job in the background that reads stops, and with tostop one that writes; in the foreground they go on."""
    shell.do("cat &")
    state_is(shell, r"Stopped \(tty input\) +cat")
    shell.start("fg", "cat")
    shell.type("a line\r")
    shell.until("a line\r\na line")
    shell.type("\x04")
    shell.until(f"\n{PROMPT}")
    shell.do("stty tostop")
    shell.do("sh -c 'echo out; echo more' &")
    state_is(shell, r"Stopped \(tty output\)")
    assert shell.do("fg").endswith("out\nmore")
    shell.do("stty -tostop")
    assert "late" in shell.do("echo late & wait")
    shell.leave(0)


def test_keys_edit_lines(shell):
    """A program that reads lines gets them as they were edited, and ^S stops its output until ^Q."""
    shell.begin("cat")
    shell.type("ab\x7fc one two\x17\x16\x03x\r")
    assert "\nac one \x03x" in shell.until("\nac one \x03x").replace("\r", "")
    shell.type("gone\x15kept\r")
    shell.until("\nkept")
    shell.type("\x13held\r\x11")
    shell.until("\nheld")
    shell.type("\x04")
    shell.until(f"\n{PROMPT}")
    shell.leave(0)


def processes(shell, name: str) -> list[str]:
    return [line for line in shell.do("ps -o pid,stat,args").splitlines() if line.endswith(f" {name}") and " Z " not in line]


def test_pipes_over_kernels(spread):
    """The parts of a pipeline are where they are told to be, pass bytes on, and are interrupted together by ^C."""
    spread.do("echo 'cat; cut -d \" \" -f 39 /proc/self/stat' >/tmp/part")
    parts = " | ".join(f"taskset {1 << cpu:x} sh /tmp/part" for cpu in (1, 3, 5, 7))
    assert spread.do(f"echo begin | {parts}") == "begin\n1\n3\n5\n7"
    assert spread.do("taskset 2 yes | taskset 8 head -c 300000 | taskset 20 tr y x | taskset 80 md5sum") == \
        spread.do("yes x | head -c 300000 | md5sum")
    spread.start("taskset 2 yes | taskset 8 cat | taskset 20 cat | taskset 80 sh -c 'echo on; exec cat >/dev/null'", "on\r\n")
    spread.type("\x03")
    spread.until(f"\n{PROMPT}")
    assert spread.do("jobs") == "" and processes(spread, "cat") == [] and processes(spread, "yes") == []
    spread.leave(0)


def test_kernels_of_processes(spread):
    """kettle-ctl ps and /proc say which kernel each process is on; nproc, taskset and top know the CPUs."""
    assert spread.do("nproc; taskset 30 nproc") == "8\n2"
    for cpu in (2, 6):
        spread.do(f"taskset {1 << cpu:x} sleep 100{cpu} &")
    rows, end = {}, time.monotonic() + TIMEOUT
    while rows != {"2": "2", "6": "6"} and time.monotonic() < end:  # until both have begun
        listed = spread.do("kettle-ctl ps")
        rows = dict(re.findall(r" (\d+) +\S+ sleep 100(\d)", listed))
    assert rows == {"2": "2", "6": "6"}, listed
    assert re.search(r"current affinity mask: 4", spread.do("taskset -p $(pgrep -f 'sleep 1002' || pidof sleep | tr ' ' '\\n' | sort -n | head -1)"))
    top = spread.do("top -b -n 1")
    assert re.search(r"Mem: \d+K used", top) and re.search(r"sleep 1006", top), top
    spread.do("kill %1 %2; wait")
    spread.leave(3)


def test_vi_and_less(shell):
    """vi opens, inserts, moves, deletes, saves; less shows by pages, searches and ends."""
    shell.start("vi /tmp/text", "/tmp/text")
    shell.type("ifirst line\rsecnd line\rthird\x1b")
    shell.until("- /tmp/text [Modified] 3/3")  # the end of the insertion: an escape is one when nothing follows
    shell.type("kk")
    shell.until("1/3")
    shell.type("j0fn")
    shell.type("io\x1b")
    shell.until("I /tmp/text")
    shell.until("- /tmp/text [Modified] 2/3")
    shell.type("jdd")
    shell.until("Delete 1 lines")
    shell.type(":wq\r")
    shell.until(PROMPT)
    assert shell.do("cat /tmp/text") == "first line\nsecond line"
    shell.do("seq 1 1000 >/tmp/numbers")
    # between two keys less leaves the terminal as it was: one that makes a newline of Enter, which less does not take
    shell.start("stty -icrnl; less /tmp/numbers; stty icrnl", "29")
    shell.type(" ")
    shell.until("58")
    shell.type("/77\r")
    shell.until("105")
    shell.type("G")
    shell.until("1000")
    shell.type("q")
    shell.until(PROMPT)
    shell.leave(0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_the_terminal_comes_back(number):
    """A shell that is ended from outside leaves the user's terminal as it was."""
    shell = Shell("--cpus", "2")
    shell.process.send_signal(number)
    shell.ended(128 + number)


def test_the_shell_reads_a_script_from_a_pipe():
    done = subprocess.run([str(KETTLE), "shell", "--cpus", "2", "--timeout", str(TIMEOUT)], input=b"echo $((6 * 7)) is it\nexit 5\n",
                          capture_output=True, timeout=TIMEOUT + 60, check=False)
    assert done.returncode == 5 and b"42 is it" in done.stdout, done
