"""Processes, threads and signals: what a suite of programs cannot show from inside."""

import re
import subprocess

import pytest

from conftest import KETTLE, tap_problems

TIMEOUT = 400


def passed(done):
    problems = tap_problems(done.stdout.decode(errors="replace"))
    assert not problems and done.status == 0, "\n".join(problems) + "\n" + done.explain()


def test_exec_wins_over_threads_that_have_not_heard_of_it(run):
    """With the word of their end held back for 20 million instructions they see that others have died, and fault, or end the
    process."""
    done = run("--cpus", "4", "--nodes", "2", "--icount", "0", "--seed", "1", "--inject", "seed=1,rate=100,delay=20000,type=GROUP_KILL",
               "--", "test-exec", "astray", timeout=TIMEOUT)
    passed(done)
    astray = re.search(r"in (\d+) of (\d+) rounds the other thread went astray", done.stdout.decode(errors="replace"))
    assert astray and astray[1] == astray[2], done.explain()


@pytest.mark.parametrize("kernel", [0, 3])
def test_interrupt_from_the_terminal_reaches_the_foreground_group(kernel):
    """^C, typed when the program says that it may be, ends a process group wherever its process runs."""
    command = [str(KETTLE), "run", "--cpus", "4", "--timeout", str(TIMEOUT), "--", "interrupted", str(kernel)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as machine:
        first = machine.stdout.readline()
        machine.stdin.write(b"\x03")
        machine.stdin.flush()
        rest = machine.stdout.read()
        machine.stdin.close()
    assert (first.split(), rest.split(), machine.returncode) == ([b"ready"], [b"signal", b"2"], 0)


def test_ps_lists_threads_with_their_kernels(run):
    done = run("--cpus", "2", "--", "taskset", "2", "ps", "-T", timeout=TIMEOUT)
    lines = done.stdout.decode(errors="replace").splitlines()
    assert done.status == 0 and lines[0].split() == "PID TID PPID PGID SID STAT KERNEL TIME COMMAND".split(), done.explain()
    # ps itself runs on the kernel of CPU 1.
    assert any(re.fullmatch(r"\s*2\s+2\s+1\s+\d+\s+\d+\s+R\s+1\s+\d+:\d\d\.\d\d .*ps -T", line) for line in lines), \
        done.explain()


def test_kill_and_taskset_say_what_is_wrong(run):
    done = run("--cpus", "1", "--", "kill", "-s", "usr1", "99999999", timeout=TIMEOUT)
    assert done.status == 1 and "No such process" in done.stderr + done.stdout.decode(), done.explain()
    done = run("--cpus", "1", "--", "taskset", "-p", "99999999", timeout=TIMEOUT)
    assert done.status == 1 and "No such process" in done.stderr + done.stdout.decode(), done.explain()


def test_migrate_where_some_kernels_do_not_run(run):
    """Moving to a kernel that is not started is EAGAIN; the others are used."""
    passed(run("--cpus", "4", "--append", "boot=manual", "--", "kettle-ctl", "start", "2", "--", "test-migrate"))


def test_threads_are_not_spread_by_themselves(run):
    """What the test of place=spread looks for is not there under place=local."""
    done = run("--cpus", "4", "--nodes", "2", "--append", "place=local", "--", "test-balance", "spread")
    assert done.status == 1 and b"not ok 1" in done.stdout, done.explain()
