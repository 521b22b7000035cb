"""What kernels count of address spaces: as it happens, in /proc, and once a space has ended, from `tools/kettle run --events`."""

import json
import re

import pytest

from conftest import tap_problems

TOLD = re.compile(r"^# counted (\d+) (\w+) (\d+)\r?$", re.M)


@pytest.mark.parametrize("options", ["", "retrieve=members", "lock=lamport", "lock=lamport retrieve=chain"])
def test_what_is_counted_has_happened_and_outlives_the_process(run, options):
    done = run("--cpus", "4", "--nodes", "2", "--append", f"prefetch=0 {options}", "--json", "--events", "--", "test-events")
    assert done.status == 0, done.explain()
    told = json.loads(done.stdout)
    assert not tap_problems(told["stdout"]), told["stdout"]
    group = next(row["group"] for row in told["space_events"] if row["events"].get("fetched_none"))
    ended = {row["kernel"]: row["events"] for row in told["space_events"] if row["group"] == group}
    last = TOLD.findall(told["stdout"])
    assert len(last) >= 10
    for kernel, name, number in last:
        assert ended[int(kernel)].get(name, 0) == int(number), (kernel, name, number, ended)


def test_nothing_is_told_unless_asked_for(run):
    done = run("--cpus", "2", "--json", "--", "tour")
    assert done.status == 0 and "space_events" not in json.loads(done.stdout) and "@events" not in done.log, done.explain()
