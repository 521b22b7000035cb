"""The test programs of userland/tests, each on machines of different shapes: many checks in one boot."""

import pytest

from conftest import tap_failures

MACHINES = {
    "1-kernel": ("--cpus", "1"),
    "2-kernels": ("--cpus", "2"),
    "4-kernels-2-nodes": ("--cpus", "4", "--nodes", "2"),
    "8-kernels-4-nodes": ("--cpus", "8", "--nodes", "4"),
    "4-nodes-smp": ("--cpus", "8", "--nodes", "4", "--kernels", "node"),
    "1-kernel-smp": ("--cpus", "4", "--kernels", "1"),
}
PROGRAMS = ["test-libc", "test-memory", "test-files", "test-registers", "test-migrate", "test-threads"]
# What does not depend on the machine's shape runs on the smallest and the largest only.
SHAPELESS = {"test-libc"}


def cases():
    for program in PROGRAMS:
        for machine in MACHINES:
            if program not in SHAPELESS or machine in ("1-kernel", "8-kernels-4-nodes"):
                yield pytest.param(program, machine, id=f"{program}-{machine}")


@pytest.mark.parametrize("program, machine", cases())
def test_program(run, program, machine):
    done = run(*MACHINES[machine], "--", program)
    problems = tap_failures(done.stdout.decode(errors="replace"))
    assert not problems and done.status == 0, "\n".join(problems) + "\n" + done.explain()
