"""--preempt ends turns in the midst of kernel code, as often as its rate says, and repeats with --icount and --seed. That it finds
a race is shown by the mutant lock-two-steps; tools/plugin/preempt/preempt.md says what it is for."""

import pytest

from conftest import ROOT

MACHINE = ("--cpus", "4", "--nodes", "2", "--kernels", "node")
EXACT = ("--icount", "2", "--seed", "3")
PROGRAM = ("--", "test-pipes")
MARKED = """
#include "userland/bench/mark.h"
int main(void)
{
    mark_begin(3);
    for (volatile int i = 0; i < 1000; i++) { }
    mark_end(3);
    return 0;
}
"""


def check(told, rate):
    """The turns that ended are as many as the rate says, in the mean 1.14 times it, and most of them are followed by another CPU's."""
    assert told["blocks"] > 1000 * rate
    assert 0.8 < told["blocks"] / (1.14 * rate * told["ended"]) < 1.25
    assert told["passed_on"] > told["ended"] / 2


def test_turns_end_in_kernel_code_and_the_same_command_is_the_same_run(run_json):
    runs = [run_json(*MACHINE, *EXACT, "--preempt", seed, *PROGRAM, stdin=None) for seed in ("7", "7", "8")]
    for each in runs:
        check(each["preempt"], 100)
    first, again, other = ((each["stdout"], {**each["preempt"], "seed": 0}) for each in runs)
    assert first == again and first[1] != other[1]


@pytest.mark.parametrize("by", ["block", "instruction"])
def test_turns_end_by_the_clock_of_the_host_as_well(run_json, by):
    told = run_json(*MACHINE, "--preempt", f"7,rate=300,by={by}", *PROGRAM)["preempt"]
    assert (told["by"], told["rate"], told["seed"]) == (by, 300, 7)
    check(told, 300)


def test_it_is_told_to_people(run):
    done = run("--cpus", "2", "--preempt", "7,by=instruction", "--", "hello")
    assert done.status == 0 and "kettle: --preempt ended " in done.stderr and " instructions of kernel code; " in done.stderr, done.explain()


def test_it_goes_together_with_counting(run_json, musl):
    """A program in user mode executes what it would without."""
    program = musl("marked", MARKED, "-O1", f"-I{ROOT}")
    users = [sum(cpu["user"] for cpu in run_json("--cpus", "2", "--kernels", "1", *EXACT, "--count", *more, "--", program, stdin=None)["counts"][0]["cpus"])
             for more in ((), ("--preempt", "7,rate=10"))]
    assert users[0] == users[1] > 3000
