"""The workloads on whole machines: right on several kernels, and where they say that they moved, they did."""

import json

import pytest

from conftest import long_run
from hosttools.paths import built
from hosttools.results.runs import Run
from hosttools.suites import real

MACHINE = ("--cpus", "4", "--nodes", "2", "--tcg", "single", "--env", "OMP_WAIT_POLICY=passive")
FAST = ("is", "mg", "bfs", "lud", "stream", "chase", "random", "touch", "reader")
THESIS_MOVES = {"is": 2, "bfs": 12, "lud": 1}  # of each thread but the first


def items(told) -> dict:
    found = {item["program"]: item for item in map(json.loads, told["stdout"].splitlines())}
    assert all(item["right"] for item in found.values())
    return found


def test_each_is_right_on_four_kernels(run_json):
    found = items(run_json(*MACHINE, "--", built("userland/workload"), "--json", "--threads", "4", *FAST))
    assert set(found) == set(FAST)
    assert all(sum(item["messages"].values()) > 0 for item in found.values())  # they are on several kernels


def test_pthreads_and_the_critical_path(run_json):
    told = run_json(*MACHINE, "--count", "--", built("userland/workload"), "--json", "--threads", "4", "--layer", "pthreads",
                    "--bind", "lud")
    counts = {entry["region"]: entry for entry in told["counts"]}
    region = items(told)["lud"]["region"]
    assert not [entry for entry in counts.values() if entry["errors"] or entry["open"]]
    done = [cpu["user"] + cpu["kernel"] for cpu in counts[region]["cpus"]]
    assert counts[region + 1]["entries"] > 16  # a phase for each barrier
    assert max(done) < counts[region + 1]["critical"] < sum(done) / 2


def test_threads_that_are_almost_there_meet_without_messages(run_json):
    """A barrier's waiter looks at its word before it queues at another kernel (tasks/futex/poll.c)."""
    shape = ("--icount", "0", "--seed", "1", "--cpus", "4", "--nodes", "2", "--env", "OMP_WAIT_POLICY=passive", "--env", "OMP_PROC_BIND=close")
    sent = [items(run_json(*shape, *more, "--", built("userland/workload"), "--json", "--threads", "4", "is"))["is"]["messages"]
            for more in ((), ("--append", "poll=0"))]
    waits = [sum(count for name, count in messages.items() if name.startswith("FUTEX")) for messages in sent]
    assert waits[0] <= 10 and waits[1] >= 100, sent  # of 33 barriers


def test_the_thesis_profile_moves_between_kernels(run_json):
    found = items(run_json(*MACHINE, "--", built("userland/workload"), "--json", "--threads", "4", "--pomp", *THESIS_MOVES))
    assert {name: item["moves"] for name, item in found.items()} == {name: 3 * moves for name, moves in THESIS_MOVES.items()}
    assert all(item["messages"].get("MIGRATE", 0) >= item["moves"] for item in found.values()), found


@pytest.mark.skipif(not long_run(), reason="builds them from Debian's sources")
@pytest.mark.parametrize("name", real.PROGRAMS)
def test_programs_that_people_run_are_right(run_json, name):
    said = []
    if not real.prepare([Run(f"real-{name}-", (), ())], said.append):
        pytest.skip(said[-1])
    files, words = real.program(name, 4)
    told = run_json("--cpus", "4", "--nodes", "2", "--tcg", "single", *files, "--", *words)
    assert json.loads(told["stdout"])["case"] == name
