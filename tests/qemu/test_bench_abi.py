"""The benchmark of system calls on whole machines: every row has figures."""

import json

import pytest

from conftest import first_or_all
from hosttools.paths import built
from hosttools.suites.abi import OMP_ENVIRONMENT

SHAPE = ("--cpus", "4", "--nodes", "2", "--count")
MACHINE = (*SHAPE, "--icount", "0", "--seed", "1")  # interrupts come where they came the last time: one in a row of few counts
PROGRAM = ("abibench", "--quick", "--json")


def rows(told) -> dict:
    """The rows by name, each with `work`: instructions of programs and kernels on all CPUs, of one operation."""
    counts = {entry["region"]: entry for entry in told["counts"]}
    assert not [entry for entry in told["counts"] if entry["errors"] or entry["open"]]
    found = {}
    for line in told["stdout"].splitlines():
        item = json.loads(line)
        assert item["count"] > 0 and item["ns"] and min(item["ns"]) >= 0 and not item["absent"], item
        item["work"] = sum(cpu["user"] + cpu["kernel"] for cpu in counts[item["region"]]["cpus"]) / item["count"]
        found[item["case"]] = item
    return found


@pytest.mark.parametrize("side", first_or_all(["core", "node", pytest.param("linux", marks=pytest.mark.linux)]))
def test_every_row_has_figures(run_json, side):
    if side == "linux":
        assert len(rows(run_json("--os", "linux", *SHAPE, "--tcg", "single", "--", *PROGRAM))) > 30
        return
    found = rows(run_json(*MACHINE, "--kernels", side, "--", *PROGRAM))
    assert len(found) > (30 if side == "core" else 20)
    assert found["null.local"]["work"] < found["null.other"]["work"]  # the home is asked
    assert found["mutex.local"]["work"] < found["null.local"]["work"]  # a free mutex needs no call


def test_openmp_has_figures(run_json):
    found = rows(run_json(*MACHINE, *OMP_ENVIRONMENT, "--", built("userland/ompbench"), "--quick", "--json"))
    assert set(found) == {f"omp_{name}.{size}" for name in ("parallel", "reduction", "barrier") for size in (2, 4)}
    assert found["omp_barrier.4"]["work"] < found["omp_parallel.4"]["work"]  # which has two of them
