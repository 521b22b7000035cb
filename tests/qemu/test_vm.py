"""test-vm: random operations on an address space that spans kernels, against a model; and threads racing for pages.

A short run takes a few of the machines and options in turn, with another seed each time; KETTLE_LONG=1 takes all of them. The
seed is in the first line of a failure's output. To repeat one: tools/kettle run MACHINE --append OPTIONS -- test-vm seed=N
"""

import pytest

from conftest import TURN, in_turn, long_run, tap_failures

MACHINES = {
    "1-kernel": ("--cpus", "1"),
    "2-kernels": ("--cpus", "2"),
    "4-kernels-2-nodes": ("--cpus", "4", "--nodes", "2"),
    "8-kernels-4-nodes": ("--cpus", "8", "--nodes", "4"),
    "4-nodes-smp": ("--cpus", "8", "--nodes", "4", "--kernels", "node"),
}
OPTIONS = ["retrieve=home", "retrieve=members", "retrieve=broadcast", "retrieve=chain", "retrieve=upfront",
           "retrieve=adaptive", "prefetch=8"]
ALL = [(machine, option) for machine in MACHINES for option in OPTIONS]
# Not every machine with every option each time: one of each half of the list, and together they come to all.
CHOSEN = ALL if long_run() else [*in_turn(ALL[:18], 0), *in_turn(ALL[18:], 5)]
HELD_BACK = [case for case in ALL if case[0] != "1-kernel"]
WORK = ("seconds=60",) if long_run() else ("batches=3", "pages=640")
PAGES = 1000000 if long_run() else 1500
TIMEOUT = 7200 if long_run() else 400


def passed(done):
    problems = tap_failures(done.stdout.decode(errors="replace"))
    assert not problems and done.status == 0, "\n".join(problems) + "\n" + done.explain()


@pytest.mark.parametrize("machine, option", CHOSEN)
def test_memory_is_as_the_model_says(run, machine, option):
    passed(run(*MACHINES[machine], "--append", option, "--", "test-vm", f"seed={TURN}", *WORK,
               timeout=TIMEOUT))


@pytest.mark.parametrize("machine, option", in_turn(HELD_BACK, 1))
def test_memory_is_as_the_model_says_with_messages_held_back(run, machine, option):
    passed(run(*MACHINES[machine], "--append", option, "--inject", f"seed={TURN}", "--",
               "test-vm", f"seed={TURN + 1}", *WORK, timeout=TIMEOUT))


@pytest.mark.parametrize("option", in_turn(OPTIONS, 0))
def test_threads_of_eight_kernels_get_one_frame(run, option):
    passed(run(*MACHINES["8-kernels-4-nodes"], "--append", option, "--",
               "test-vm", f"seed={TURN}", "batches=0", f"pages={PAGES}", timeout=TIMEOUT))


@pytest.mark.linux
def test_linux_keeps_to_the_model(run):
    """Else the model is wrong. All calls are there."""
    passed(run("--os", "linux", "--cpus", "2", "--", "test-vm", "all", f"seed={TURN}",
               *(WORK if long_run() else ("batches=3", "pages=96")), timeout=TIMEOUT))
