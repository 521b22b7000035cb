"""The audit: all kernels agree on the memory of programs, after and while they run; and each wrong thing is found.

To look at one case: tools/kettle run ... -- test-audit under test-threads
"""

import re

import pytest

from conftest import in_turn, tap_failures

MACHINES = {
    "1-kernel": ("--cpus", "1"),
    "4-kernels-2-nodes": ("--cpus", "4", "--nodes", "2"),
    "4-kernels-members": ("--cpus", "4", "--nodes", "2", "--append", "retrieve=members"),
    "8-kernels-4-nodes": ("--cpus", "8", "--nodes", "4"),
    "4-nodes-smp": ("--cpus", "8", "--nodes", "4", "--kernels", "node"),
    "1-kernel-smp": ("--cpus", "4", "--kernels", "1"),
}
STORM = ("stress-tasks", "1", "5", "all")
PROGRAMS = [("test-threads",), ("test-fork-memory",), STORM, ("test-exec",), ("test-migrate",)]
TIMEOUT = 500


@pytest.mark.parametrize("machine", in_turn(MACHINES, 0, ("4-kernels-2-nodes",)))
def test_what_is_wrong_is_found_and_nothing_else(run, machine):
    done = run(*MACHINES[machine], "--", "test-audit", timeout=TIMEOUT)
    problems = tap_failures(done.stdout.decode(errors="replace"))
    assert not problems and done.status == 0, "\n".join(problems) + "\n" + done.explain()


def audited(done):
    """The program passed, and audits during it and after it looked at something and found nothing."""
    text = done.stdout.decode(errors="replace")
    assert done.status == 0 and not tap_failures(text), done.explain()
    said = re.search(r"^# (\d+) audits, \d+ refused; the last one: 0 violations .*: (\d+) spaces, .* (\d+) pages in", text, re.M)
    assert said and min(map(int, said.groups())) > 0, done.explain()


@pytest.mark.parametrize("program, machine", [(program, machine) for index, program in enumerate(PROGRAMS)
                                              for machine in in_turn(MACHINES, index)])
def test_program_is_clean_all_the_while(run, program, machine):
    audited(run(*MACHINES[machine], "--", "test-audit", "under", *program, timeout=TIMEOUT))


@pytest.mark.parametrize("program", in_turn(PROGRAMS, 2))
def test_program_is_clean_with_messages_held_back(run, program):
    audited(run(*MACHINES["4-kernels-2-nodes"], "--inject", "seed=11", "--", "test-audit", "under", *program, timeout=TIMEOUT))


def test_kernels_stop_and_start_between_audits(run):
    audited(run(*MACHINES["4-kernels-2-nodes"], "--", "test-audit", "under", "test-stop", "3", timeout=TIMEOUT))


def test_kettle_ctl_tells_by_its_status(run):
    done = run("--cpus", "2", "--", "kettle-ctl", "audit")
    assert done.status == 0 and re.match(rb"0 violations .* [1-9]\d* spaces", done.stdout), done.explain()
    done = run("--cpus", "2", "--append", "audit=owned", "--", "kettle-ctl", "audit")
    assert done.status == 1 and b"owned once: " in done.stdout, done.explain()
    done = run("--cpus", "2", "--", "kettle-ctl", "audit", "12345678")
    assert done.status == 2 and "No such process" in done.explain(), done.explain()
