"""The calls on memory where kernels answer late, where they ask each other in other ways, on Linux, and without memory."""

import pytest

from conftest import in_turn, long_run, tap_failures

PROGRAMS = ["test-map", "test-remap", "test-break", "test-lease", "test-advise", "test-resident", "test-filemap", "test-zero", "test-crossing",
            "test-membarrier"]
LONG_ROUNDS = {"test-crossing": ["150"]}
MACHINES = {
    "late-answers": ("--cpus", "4", "--nodes", "2", "--inject", "seed=11"),
    "members": ("--cpus", "4", "--nodes", "2", "--append", "retrieve=members"),
    "chain-late": ("--cpus", "4", "--nodes", "2", "--append", "retrieve=chain", "--inject", "seed=12"),
    "2-cpus-a-kernel": ("--cpus", "8", "--nodes", "4", "--kernels", "4"),
    "linux": ("--os", "linux", "--cpus", "2"),
}
SHORT_OF_MEMORY = {
    "4-kernels": ("--cpus", "4", "--nodes", "2", "--mem", "128M"),
    "2-cpus-a-kernel": ("--cpus", "4", "--kernels", "2", "--mem", "128M"),
    "1-kernel": ("--cpus", "1", "--mem", "64M"),
}


def passed(done):
    problems = tap_failures(done.stdout.decode(errors="replace"))
    assert not problems and done.status == 0, "\n".join(problems) + "\n" + done.explain()


@pytest.mark.parametrize("program, machine", [
    pytest.param(program, machine, id=f"{program}-{machine}") for index, program in enumerate(PROGRAMS)
    for machine in in_turn(MACHINES, index)])
def test_calls(run, program, machine):
    passed(run(*MACHINES[machine], "--", program, *(LONG_ROUNDS.get(program, []) if long_run() else [])))


HUGE = {
    "4-kernels-2-nodes": (("--cpus", "4", "--nodes", "2"), ("test-huge",)),
    "late-answers-always": (("--cpus", "4", "--nodes", "2", "--append", "huge=always", "--inject", "seed=13"), ("test-huge",)),
    "2-cpus-a-kernel": (("--cpus", "8", "--nodes", "4", "--kernels", "4", "--append", "lock=lamport"), ("test-huge",)),
    "audited": (("--cpus", "4", "--nodes", "2", "--append", "huge=always"), ("test-audit", "under", "test-huge", "locked")),
    "chain": (("--cpus", "2", "--append", "retrieve=chain"), ("test-huge", "alone")),
    "linux": (("--os", "linux", "--cpus", "2"), ("test-huge",)),
}
ALWAYS_HUGE = ["test-vm batches=1 pages=320", "test-fork-memory", "test-remap", "test-advise", "test-stop 3", "leak-tasks 300"]


@pytest.mark.parametrize("case", in_turn(HUGE, 0, ("4-kernels-2-nodes",)))
def test_large_pages(run, case):
    """They come where they should, and whatever changes a part of one leaves the rest as it was."""
    machine, program = HUGE[case]
    passed(run(*machine, "--", *program))


@pytest.mark.parametrize("program", in_turn(ALWAYS_HUGE, 0, ("test-fork-memory",)))
def test_large_pages_wherever_possible(run, program):
    passed(run("--cpus", "4", "--nodes", "2", "--append", "huge=always", "--", *program.split()))


@pytest.mark.parametrize("kernels", ["core", "node"])
def test_memory_of_their_own(run, kernels):
    passed(run("--cpus", "4", "--nodes", "2", "--kernels", kernels, "--", "test-lease", "alone"))


@pytest.mark.parametrize("under, program", in_turn([("test-audit", "test-filemap"), ("test-stop", "test-zero busy"),
                                                     ("test-audit", "test-zero busy"), ("test-stop", "test-filemap"),
                                                     ("test-stop", "test-content"), ("test-audit", "test-content")], 0,
                                                    (("test-stop", "test-filemap"), ("test-stop", "test-content"))))
def test_frames_of_many_while_all_is_audited_and_kernels_stop(run, under, program):
    done = run("--cpus", "4", "--nodes", "2", "--", under, "under", *program.split())
    assert done.status == 0 and not tap_failures(done.stdout.decode(errors="replace")), done.explain()


@pytest.mark.parametrize("machine", in_turn(SHORT_OF_MEMORY, 0))
def test_without_memory(run, machine):
    """A kernel without memory takes it from others; who wants more than there is is killed, and said so."""
    done = run(*SHORT_OF_MEMORY[machine], "--", "test-exhaust")
    passed(done)
    assert "no kernel has memory for process" in done.log, done.explain()
