"""Address spaces under every strategy of locking and of retrieval, on machines of different shapes, with and without messages
held back: the programs whose promises depend on it. A short run takes a few of all combinations, others each hour;
KETTLE_TURN=N takes the same again."""

import itertools

import pytest

from conftest import TURN, in_parts, long_run, tap_failures

MACHINES = {
    "4-kernels-2-nodes": ("--cpus", "4", "--nodes", "2"),
    "8-kernels-4-nodes": ("--cpus", "8", "--nodes", "4"),
    "4-nodes-smp": ("--cpus", "8", "--nodes", "4", "--kernels", "node"),
    "2-kernels": ("--cpus", "2"),
    "1-kernel-smp": ("--cpus", "4", "--kernels", "1"),
}
LOCKS = ["lock=lamport", "lock=home"]
RETRIEVES = [f"retrieve={name}" for name in ("home", "members", "broadcast", "chain", "upfront", "adaptive")]
EXTRAS = ["", "ranges=off", "prefetch=8", "leases=off"]
HELD_BACK = ["", "seed={seed}", "seed={seed},ring=4"]
PROGRAMS = ["test-memory", "test-threads", "test-fork-memory", "test-migrate", "test-newcomer", "test-map", "test-remap", "test-break",
            "test-advise", "test-resident", "test-lease", "test-stale", "test-membarrier", "test-audit", "test-vm seed={seed} batches=1 pages=320"]
LONG = ["test-fork", "test-exec", "test-stop", "leak-tasks 300", "stress-tasks 3 30 all", "test-vm seed={seed} seconds=30"]
STRATEGIES = list(itertools.product(LOCKS, RETRIEVES, EXTRAS))
CASES = [(program, " ".join(strategy), machine, held)
         for program, strategy, machine, held in itertools.product(PROGRAMS + (LONG if long_run() else []), STRATEGIES, MACHINES,
                                                                   HELD_BACK)
         if program != "test-stop" or machine in ("4-kernels-2-nodes", "8-kernels-4-nodes")]
TIMEOUT = 600
# So long that a fork, which asks every member, is not over before another kernel has joined.
SLOW_FORK = "seed=1,rate=100,delay=5000,type=SPACE_WRITE_PROTECT"


def passed(done):
    problems = tap_failures(done.stdout.decode(errors="replace"))
    assert not problems and done.status == 0, "\n".join(problems) + "\n" + done.explain()


@pytest.mark.parametrize("program, strategy, machine, held", in_parts(CASES, 4))
def test_program(run, program, strategy, machine, held):
    inject = ("--inject", held.format(seed=TURN + 1)) if held else ()
    passed(run(*MACHINES[machine], *inject, "--append", strategy, "--", *program.format(seed=TURN).split(), timeout=TIMEOUT))


@pytest.mark.parametrize("strategy", ["lock=lamport", "lock=home", "ranges=off"] if long_run() else ["lock=lamport"])
def test_a_kernel_joins_during_a_fork(run, strategy):
    """With lock=lamport nobody has asked it: it is answered when the fork is over."""
    passed(run(*MACHINES["4-kernels-2-nodes"], "--inject", SLOW_FORK, "--append", strategy, "--", "test-newcomer"))


def test_a_late_word_of_a_lock_finds_nothing(run):
    """The space whose lock it was has ended, or the program has become another, of the same id."""
    passed(run(*MACHINES["4-kernels-2-nodes"], "--inject", "seed=1,rate=60,delay=3000,type=SPACE_FREED", "--append",
               "lock=lamport", "--", "test-exec", "coming"))


def test_options_without_sense_are_named(run):
    done = run("--cpus", "1", "--append", "lock=none ranges=some", "--", "hello")
    assert done.status == 0, done.explain()
    for option, used in (("lock", "home"), ("ranges", "on")):
        assert f"mm: {option}= makes no sense: {used} is used" in done.log, done.explain()
