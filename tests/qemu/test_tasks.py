"""Processes, threads and signals: the programs of userland/tests that print what a supervisor saw, on machines of different
shapes, with and without messages held back; and storms with an audit.

Each program is one boot. To look at one case: tools/kettle run ... -- test-signals altstack
"""

import re
import subprocess

import pytest

from conftest import KETTLE, in_turn, long_run, tap_failures

MACHINES = {
    "1-kernel": ("--cpus", "1"),
    "4-kernels-2-nodes": ("--cpus", "4", "--nodes", "2"),
    "8-kernels-4-nodes": ("--cpus", "8", "--nodes", "4"),
    "4-nodes-smp": ("--cpus", "8", "--nodes", "4", "--kernels", "node"),
    "1-kernel-smp": ("--cpus", "4", "--kernels", "1"),
}
PROGRAMS = ["test-fork", "test-exec", "test-signals", "test-thread-state", "test-moved", "test-proc"]
MODES = ["all", "move", "push", "fork", "exec", "signal", "stop"]
INJECTED = "4-kernels-2-nodes"
STORM_SECONDS = 60 if long_run() else 5
STORM_SEEDS = range(1, 7) if long_run() else (1,)  # times machines: half an hour
LEAK_PROCESSES = 10000 if long_run() else 150
TIMEOUT = 400


def passed(done):
    problems = tap_failures(done.stdout.decode(errors="replace"))
    assert not problems and done.status == 0, "\n".join(problems) + "\n" + done.explain()


@pytest.mark.parametrize("program, machine", [(program, machine) for index, program in enumerate(PROGRAMS)
                                              for machine in in_turn(MACHINES, index)])
def test_program(run, program, machine):
    passed(run(*MACHINES[machine], "--", program, timeout=TIMEOUT))


@pytest.mark.parametrize("program", in_turn(PROGRAMS, 0))
def test_program_with_messages_held_back(run, program):
    passed(run(*MACHINES[INJECTED], "--inject", "seed=7", "--", program, timeout=TIMEOUT))


def test_exec_wins_over_threads_that_have_not_heard_of_it(run):
    """With the word of their end held back they see that others have died, and fault, or end the process."""
    done = run(*MACHINES[INJECTED], "--inject", "seed=1,rate=100,delay=200000,type=GROUP_KILL", "--", "test-exec", "astray",
               timeout=TIMEOUT)
    passed(done)
    astray = re.search(r"in (\d+) of (\d+) rounds the other thread went astray", done.stdout.decode(errors="replace"))
    assert int(astray[1]) > int(astray[2]) // 2, done.explain()


@pytest.mark.parametrize("seed", STORM_SEEDS)
@pytest.mark.parametrize("machine", in_turn(MACHINES, 0, (INJECTED,)))
def test_storm(run, machine, seed):
    passed(run(*MACHINES[machine], "--", "stress-tasks", seed, STORM_SECONDS, "all", timeout=TIMEOUT + STORM_SECONDS))


@pytest.mark.parametrize("mode", in_turn(MODES, 0, ("all",)))
def test_storm_with_messages_held_back(run, mode):
    passed(run(*MACHINES["8-kernels-4-nodes"], "--inject", "seed=3", "--", "stress-tasks", 2, STORM_SECONDS, mode,
               timeout=TIMEOUT + STORM_SECONDS))


@pytest.mark.parametrize("machine", in_turn(MACHINES, 1, ("8-kernels-4-nodes",)))
def test_nothing_is_left_behind(run, machine):
    """Every kernel has after many processes what it had before."""
    passed(run(*MACHINES[machine], "--", "leak-tasks", LEAK_PROCESSES, timeout=TIMEOUT + LEAK_PROCESSES // 5))


def test_nothing_is_left_behind_with_messages_held_back(run):
    passed(run(*MACHINES[INJECTED], "--inject", "seed=5", "--", "leak-tasks", LEAK_PROCESSES,
               timeout=TIMEOUT + LEAK_PROCESSES // 5))


@pytest.mark.parametrize("machine", in_turn(["4-kernels-2-nodes", "8-kernels-4-nodes"], 0))
def test_kernels_stop_and_start_under_programs(run, machine):
    passed(run(*MACHINES[machine], "--", "test-stop", timeout=TIMEOUT))


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


def test_linux_keeps_the_same_promises(run):
    """The programs say what Linux does, on the same machine."""
    for program in in_turn(PROGRAMS, 1):
        passed(run("--os", "linux", "--cpus", "4", "--", program, timeout=TIMEOUT))


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
