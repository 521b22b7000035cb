"""hosttools.measure.placement on hand-made counts, and the page that `kettle numa placement` writes."""

import json
import os
import subprocess

import pytest
from hosttools.bench import placement as command
from hosttools.measure import placement
from hosttools.measure.placement import Block, Hint
from hosttools.paths import built

NEAR = [[10, 14, 20, 20], [14, 10, 20, 20], [20, 20, 10, 14], [20, 20, 14, 10]]


@pytest.mark.parametrize("policy, counts, node", [
    ("uniform", [1, 5, 4, 0], 1), ("hop", [10, 0, 8, 7], 2), ("uniform", [10, 0, 8, 7], 0), ("hop", [0, 0, 0, 3], 3),
    ("filter", [5, 3, 3, 3], 0), ("filter", [5, 4, 0, 0], placement.STAYS), ("filter", [2, 0, 0, 0], 0), ("filter", [1, 0, 0, 0], placement.STAYS)])
def test_a_page_goes_where_the_policy_says(policy, counts, node):
    assert placement.nodes_of({0x1000: counts}, policy, NEAR) == {0x1000: node}


def test_nothing_traced_gives_no_nodes():
    assert placement.nodes_of({}, "hop", NEAR) == {}


def test_pages_without_a_node_follow_their_neighbours_within_a_block():
    nodes = {0x11000: 2, 0x12000: 2, 0x14000: 0, 0x20000: 3}
    blocks = [Block(0, 0x10000, 6 * 4096), Block(1, 0x30000, 4096), Block(2, 0x20000, 100)]
    found = placement.hints(blocks, nodes)
    assert found == [Hint(0, 0, 4, 2), Hint(0, 4, 2, 0), Hint(2, 0, 1, 3)]
    assert placement.hints(blocks[:1], {**nodes, 0x12000: placement.STAYS}) == [Hint(0, 0, 2, 2), Hint(0, 4, 2, 0)]
    assert placement.text(found) == "0 0 4 2\n0 4 2 0\n2 0 1 3\n"


def test_what_accesses_cost_follows_the_nodes_of_their_pages():
    counts, blocks = {0x1000: [1, 2, 0, 0], 0x2000: [0, 0, 0, 5]}, [Block(4, 0x1000, 4096)]
    assert placement.cost(counts, {0x1000: 0, 0x2000: 3}, NEAR) == 10 + 2 * 14 + 50
    assert placement.cost(counts, {0x1000: 2}, NEAR) == 3 * 20
    nodes = placement.nodes_of(counts, "uniform", NEAR)
    assert placement.placed(blocks, placement.hints(blocks, nodes)) == {0x1000: 1}
    assert placement.moving({1: 2, 3: placement.STAYS}) == {1: 2}


def program(before, now):
    def cycles(each):
        return {"busiest": each, "all": 4 * each, "remote": 1, "local": 3, "placing": each // 10}
    policies = {policy: {"every page": 60, "matched": 80} for policy in placement.POLICIES}
    placed = {f"placed, {policy}": cycles(now) for policy in placement.POLICIES}
    return {"commit": "c" * 40, "commands": ["tools/kettle run x"], "bound": {"placed": 100, **policies},
            "cycles": {"first touch": cycles(before), "first node": cycles(2 * before), "interleaved": cycles(2 * now), **placed},
            "pages": {"all": 200, "differ": 3, "filtered": 50}}


def test_the_page_has_gains_their_mean_and_the_verdict():
    data = {"nodes": 4, "model": "slit", "programs": {"is": program(100, 80), "bfs": program(100, 90)}}
    page = command.report(data)
    assert "| is | -100.0 % | -60.0 % | +20.0 % | +20.0 % | +20.0 % |" in page and "| mean | -100.0 % | -70.0 % | +15.0 % |" in page
    assert "| is | +50.0 % | +20.0 % | +60.0 % |" in page  # against all on the first node
    assert "mean gain above 15 %: **not reached**: +15.0 % (placed, uniform)" in page
    assert "| is | +40.0 % | +20.0 % | +40.0 % |" in page  # what could be saved, with every page and with those that are matched
    assert "| is | 8.00 % | 8.00 % | 0.11 % | 0.12 % | 1.12 % | 1.14 % |" in page and "| bfs | 9.00 % | 9.00 % | - | - | - | - |" in page
    assert "| 200 | 1.50 % | 1.57 % and 2.37 % | 25.0 % |" in page and "    tools/kettle run x\n" in page
    data["programs"]["bfs"] = program(100, 89)
    assert "mean gain above 15 %: reached: +15.5 % (placed, uniform)" in command.report(data)
    placing, moving = command.plots(data)
    assert placing.lines["placed, hop (measured there)"] == [None, None, 12.2] and "moved, hop (measured there)" in moving.lines
    assert placing.lines["placed, hop"] == [20.0, 11.0, 15.5] and "first node" not in placing.lines


# --- the program's side ---

def workload(**environment):
    done = subprocess.run([built("userland/workload"), "--threads", "1", "--json", "stream"], env={**os.environ, **environment},
                          capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


def test_a_traced_run_tells_its_blocks_of_memory():
    status, stdout, _ = workload(NUMA_PHASE="1")
    blocks = [item for line in stdout.splitlines() if "block" in (item := json.loads(line))]
    assert status == 0 and [item["block"] for item in blocks] == [0, 1, 2] and {item["bytes"] for item in blocks} == {1 << 20}
    assert all(item["address"] % 4096 == 0 for item in blocks) and "block" not in workload(NUMA_PHASE="0")[1]


def test_blocks_that_threads_make_have_the_same_numbers_whoever_is_first():
    for _ in range(3):
        done = subprocess.run([built("userland/workload"), "--threads", "4", "--json", "is"], env={**os.environ, "NUMA_PHASE": "1"},
                              capture_output=True, text=True, timeout=60, check=False)
        blocks = [item["block"] for line in done.stdout.splitlines() if "block" in (item := json.loads(line))]
        assert done.returncode == 0 and sorted(blocks) == [0, 1, 32, 33, 34, 64, 96, 128]  # two of all, one of each, two to verify


@pytest.mark.parametrize("hints, word", [("0 0 1\n", "not four numbers"), ("0 0 0 0\n", "out of range"), ("0 0 1 64\n", "out of range"),
                                         ("0 200 57 0\n", "shorter"), (None, "No such file")])
def test_wrong_hints_end_the_program(tmp_path, hints, word):
    if hints is not None:
        (tmp_path / "hints").write_text(hints)
    status, _, stderr = workload(NUMA_PHASE="2", NUMA_HINTS=str(tmp_path / "hints"))
    assert (status, word in stderr) == (1, True), stderr


def test_wrong_phases_end_the_program():
    assert workload(NUMA_PHASE="4")[0] == 1 and "needs NUMA_HINTS" in workload(NUMA_PHASE="3")[2]
