"""Address spaces under every strategy of locking: the programs whose promises depend on it, on machines of different shapes,
with and without messages held back."""

import itertools

import pytest

from conftest import in_turn, long_run, tap_failures

MACHINES = {
    "4-kernels-2-nodes": ("--cpus", "4", "--nodes", "2"),
    "8-kernels-4-nodes": ("--cpus", "8", "--nodes", "4"),
    "4-nodes-smp": ("--cpus", "8", "--nodes", "4", "--kernels", "node"),
    "2-kernels": ("--cpus", "2"),
    "1-kernel": ("--cpus", "1"),
}
STRATEGIES = ["lock=lamport", "lock=lamport retrieve=members", "lock=lamport retrieve=broadcast ranges=off", "ranges=off"]
PROGRAMS = ["test-memory", "test-threads", "test-fork-memory", "test-migrate", "test-vm batches=1 pages=320"]
LONG = ["test-fork", "test-exec", "test-stop", "leak-tasks 300", "stress-tasks 3 30 all", "test-vm seconds=30"]
SEEDS = ["", "seed=1", "seed=2", "seed=3"] if long_run() else ["", "seed=3"]  # every third has rings of four slots
# A short run takes one of all in turn: neighbours differ in everything.
CASES = [(PROGRAMS[(i // 7) % len(PROGRAMS)], *case) for i, case in enumerate(itertools.product(STRATEGIES, MACHINES, SEEDS))]
LONG_CASES = [(program, *case) for program in PROGRAMS + LONG for case in itertools.product(STRATEGIES, MACHINES, SEEDS)
              if program != "test-stop" or case[1] in ("4-kernels-2-nodes", "8-kernels-4-nodes")]
TIMEOUT = 600
# So long that a fork, which asks every member, is not over before another kernel has joined.
SLOW_FORK = "seed=1,rate=100,delay=5000,type=SPACE_CHANGE"


def passed(done):
    problems = tap_failures(done.stdout.decode(errors="replace"))
    assert not problems and done.status == 0, "\n".join(problems) + "\n" + done.explain()


@pytest.mark.parametrize("program, strategy, machine, seed", LONG_CASES if long_run() else in_turn(CASES, 0))
def test_program(run, program, strategy, machine, seed):
    held = ("--inject", seed) if seed else ()
    passed(run(*MACHINES[machine], *held, "--append", strategy, "--", *program.split(), timeout=TIMEOUT))


@pytest.mark.parametrize("strategy", ["lock=home", *STRATEGIES] if long_run() else STRATEGIES[:1])
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
