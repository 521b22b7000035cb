"""The retrieval strategy of a process changes while its threads run on all kernels."""

import pytest

from conftest import TURN, in_turn, long_run, tap_failures

MACHINES = {
    "2-kernels": ("--cpus", "2"),
    "4-kernels-2-nodes": ("--cpus", "4", "--nodes", "2"),
    "8-kernels-4-nodes": ("--cpus", "8", "--nodes", "4"),
    "4-nodes-smp": ("--cpus", "8", "--nodes", "4", "--kernels", "node"),
}
OPTIONS = ["", "lock=lamport", "retrieve=chain prefetch=8", "ranges=off"]
SEEDS = ["", "seed=8", "seed=7"]
ALL = [(machine, option, seed) for machine in MACHINES for option in OPTIONS for seed in SEEDS]
WORK = ("seconds=60",) if long_run() else ("batches=1", "pages=100")
TIMEOUT = 3600 if long_run() else 600


@pytest.mark.parametrize("machine, option, seed", ALL if long_run() else in_turn(ALL, 0))
def test_strategies_change(run, machine, option, seed):
    held = ("--inject", seed) if seed else ()
    done = run(*MACHINES[machine], *held, "--append", option, "--", "test-retrieve", f"seed={TURN}", *WORK, timeout=TIMEOUT)
    assert done.status == 0 and not tap_failures(done.stdout.decode(errors="replace")), done.explain()


def test_a_command_changes_a_process_and_says_what_is_wrong(run):
    """Process 2 is the command itself."""
    done = run("--cpus", "2", "--", "kettle-ctl", "retrieve", "2", "members")
    assert (done.status, done.stdout) == (0, b""), done.explain()
    done = run("--cpus", "2", "--", "kettle-ctl", "retrieve", "2", "nearest")
    assert done.status == 2 and b"no such strategy: nearest" in done.stdout, done.explain()
