"""Where threads begin, and where the balancer takes them: one CPU for each of four kernels, by the options of the machine."""

import pytest

from conftest import tap_failures

MACHINE = ("--cpus", "4", "--nodes", "2")
CASES = {
    "place=spread": "spread",
    "place=spread poll=always": "spread",
    "place=local": "local",
    "balance=off": "local",
    "place=least-loaded": "least-loaded",
    "place=local balance=active": "active",
}


@pytest.mark.parametrize("options", CASES)
def test_threads_are_where_the_options_say(run, options):
    done = run(*MACHINE, "--append", options, "--", "test-balance", CASES[options])
    assert done.status == 0 and not tap_failures(done.stdout.decode(errors="replace")), done.explain()


def test_local_is_not_spread(run):
    """What the test of spreading looks for is not there by itself."""
    done = run(*MACHINE, "--append", "place=local", "--", "test-balance", "spread")
    assert done.status == 1 and b"not ok 1" in done.stdout, done.explain()
