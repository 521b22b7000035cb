"""The test programs of userland/tests, each on machines of different shapes: many checks in one boot."""

import pytest

from conftest import INJECT, TURN, in_turn, long_run, tap_failures

MACHINES = {
    "1-kernel": ("--cpus", "1"),
    "2-kernels": ("--cpus", "2"),
    "4-kernels-2-nodes": ("--cpus", "4", "--nodes", "2"),
    "8-kernels-4-nodes": ("--cpus", "8", "--nodes", "4"),
    "4-nodes-smp": ("--cpus", "8", "--nodes", "4", "--kernels", "node"),
    "1-kernel-smp": ("--cpus", "4", "--kernels", "1"),
}
PROGRAMS = ["test-libc", "test-memory", "test-fork-memory", "test-files", "test-descriptors", "test-pipes",
            "test-registers", "test-migrate", "test-eventfd", "test-timerfd", "test-signalfd", "test-epoll", "test-epoll-far", "test-sockets", "test-socket-race", "test-stop-sets",
            "test-threads", "test-futex", "test-pi", "test-sched", "test-map", "test-remap", "test-break", "test-lease",
            "test-advise", "test-resident", "test-membarrier", "test-stale", "test-memfd", "test-content", "test-lock", "test-lock-wait",
            "test-vdso", "test-timers", "test-limits", "test-tree", "test-names",
            "test-reaper", "test-host", "test-users", "test-xattr", "test-policy", "test-pidfd", "test-clone-files", "test-lent", "test-known", "test-inotify", "test-sysv", "test-mqueue", "test-pty", "test-splice", "test-shm", "test-accounting", "test-machine", "test-partly", "test-root"]
CASES = [pytest.param(program, machine, id=f"{program}-{machine}") for index, program in enumerate(PROGRAMS)
         for machine in in_turn(MACHINES, index)]
if INJECT and not long_run():
    CASES = CASES[TURN % 3::3]  # with messages held back every third one


def test_migrate_where_some_kernels_do_not_run(run):
    """Moving to a kernel that is not started is EAGAIN; the others are used."""
    done = run("--cpus", "4", "--append", "boot=manual", "--", "kettle-ctl", "start", "2", "--", "test-migrate")
    assert done.status == 0 and not tap_failures(done.stdout.decode(errors="replace")), done.explain()


@pytest.mark.parametrize("retrieve", in_turn(["members", "broadcast", "chain", "upfront", "adaptive"], 0))
def test_retrieval_strategies_agree(run, retrieve):
    done = run("--cpus", "4", "--nodes", "2", "--append", f"retrieve={retrieve}", "--", "test-threads")
    assert done.status == 0 and not tap_failures(done.stdout.decode(errors="replace")), done.explain()


@pytest.mark.parametrize("runs", in_turn(["0", "1", "4", "32"], 0, ("4",)))
def test_prefetch(run, runs):
    done = run("--cpus", "2", "--nodes", "2", "--append", f"prefetch={runs}", "--", "test-prefetch", runs)
    assert done.status == 0 and not tap_failures(done.stdout.decode(errors="replace")), done.explain()


def test_unlock_comes_behind_the_end(run):
    """A space is not destroyed before word has come that its locks were given back, however late that is."""
    done = run("--cpus", "4", "--nodes", "2", "--inject", "seed=1,rate=60,delay=3000,type=SPACE_UNLOCK", "--", "test-exec", "coming")
    assert done.status == 0 and not tap_failures(done.stdout.decode(errors="replace")), done.explain()


def test_exec_between_the_question_and_the_writing(run):
    """Who may write to a process's memory may not to that of the set-user-ID program it runs by then."""
    done = run("--cpus", "4", "--nodes", "2", "--inject", "seed=1,rate=60,delay=3000,type=REACH_WRITE", "--", "test-users")
    assert done.status == 0 and not tap_failures(done.stdout.decode(errors="replace")), done.explain()


@pytest.mark.parametrize("machine", in_turn(["4-kernels-2-nodes", "8-kernels-4-nodes", "4-nodes-smp"], 0))
def test_handoffs(run, machine):
    """No token that is handed on is lost: a million handoffs in a long run."""
    done = run(*MACHINES[machine], "--", "test-handoff", "1000000" if long_run() else "20000", timeout=7200 if long_run() else 300)
    assert done.status == 0 and not tap_failures(done.stdout.decode(errors="replace")), done.explain()


@pytest.mark.parametrize("machine", in_turn(["2-kernels", "8-kernels-4-nodes", "4-nodes-smp", "1-kernel-smp"], 0))
def test_pthreads(run, machine):
    """A thousand threads, and all that POSIX threads have, on every kernel; in a long run ten times, with messages held back."""
    more = ("--inject", "seed=7") if long_run() else ()
    done = run(*MACHINES[machine], *more, "--", "test-pthreads", "10" if long_run() else "1", timeout=7200 if long_run() else 300)
    assert done.status == 0 and not tap_failures(done.stdout.decode(errors="replace")), done.explain()


def test_counters_that_differ(run):
    """With kernels whose counters differ programs ask for the time, and it does not go back."""
    done = run("--cpus", "4", "--nodes", "2", "--append", "skew=200000", "--", "test-vdso", "ask")
    assert done.status == 0 and not tap_failures(done.stdout.decode(errors="replace")), done.explain()


@pytest.mark.parametrize("program, machine", CASES)
def test_program(run, program, machine):
    done = run(*MACHINES[machine], "--", program)
    problems = tap_failures(done.stdout.decode(errors="replace"))
    assert not problems and done.status == 0, "\n".join(problems) + "\n" + done.explain()
