"""Threads of eight kernels touch a page first at the same moment, thousands of times; KETTLE_LONG=1: 125,000 pages, a million
faults, under each strategy."""

import pytest

from conftest import in_turn, long_run, tap_failures

OPTIONS = ["", "retrieve=members", "retrieve=chain", "retrieve=adaptive", "lock=lamport", "lock=lamport retrieve=broadcast",
           "prefetch=8"]
PAGES = 125000 if long_run() else 1500
TIMEOUT = 20000 if long_run() else 600


@pytest.mark.parametrize("options", in_turn(OPTIONS, 0, ("",)))
def test_a_page_has_one_frame(run, options):
    done = run("--cpus", "8", "--nodes", "4", "--append", options, "--", "test-one-frame", PAGES, timeout=TIMEOUT)
    assert done.status == 0 and not tap_failures(done.stdout.decode(errors="replace")), done.explain()
