"""Memory on machines that are made for one question: those that have too little of it, and those that have never run anything."""

import pytest

from conftest import tap_problems

SHORT_OF_MEMORY = {
    "4-kernels": ("--cpus", "4", "--nodes", "2", "--mem", "128M"),
    "2-cpus-a-kernel": ("--cpus", "4", "--kernels", "2", "--mem", "128M"),
    "1-kernel": ("--cpus", "1", "--mem", "64M"),
}


def passed(done):
    problems = tap_problems(done.stdout.decode(errors="replace"))
    assert not problems and done.status == 0, "\n".join(problems) + "\n" + done.explain()


@pytest.mark.parametrize("kernels", ["core", "node"])
def test_memory_of_their_own(run, kernels):
    passed(run("--cpus", "4", "--nodes", "2", "--kernels", kernels, "--", "test-lease", "alone"))


def test_empty_pages(run):
    passed(run("--cpus", "4", "--nodes", "2", "--", "test-empty", "counted"))


def test_who_is_asked(run):
    passed(run("--cpus", "4", "--nodes", "2", "--", "test-directory", "asked"))


def test_a_user_takes_all_there_is(run):
    """Root works beside a user who takes all of anything that a kernel gives, and the largest process is killed."""
    done = run("--cpus", "2", "--mem", "96M", "--icount", "0", "--seed", "1", "--", "test-survive", "within", "10000", "signal", "beside",
               timeout=300)
    passed(done)
    assert "the largest, is killed" in done.log, done.explain()


@pytest.mark.parametrize("machine", SHORT_OF_MEMORY)
def test_without_memory(run, machine):
    """A kernel without memory takes it from others; a program that wants more than there is is killed, and the log says so."""
    done = run(*SHORT_OF_MEMORY[machine], "--", "test-exhaust")
    passed(done)
    assert "no kernel has memory for process" in done.log, done.explain()


def test_a_command_changes_the_strategy_of_a_process_and_says_what_is_wrong(run):
    """Process 2 is the command itself."""
    done = run("--cpus", "2", "--", "kettle-ctl", "retrieve", "2", "members")
    assert (done.status, done.stdout) == (0, b""), done.explain()
    done = run("--cpus", "2", "--", "kettle-ctl", "retrieve", "2", "nearest")
    assert done.status == 2 and b"no such strategy: nearest" in done.stdout, done.explain()
