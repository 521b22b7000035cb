"""The benchmark of tasks on whole machines: every row has figures, or names the call that the kernel lacks for it."""

import json
import re

import pytest

MACHINE = ("--cpus", "4", "--nodes", "2", "--tcg", "single", "--count")
PROGRAM = ("taskbench", "--quick", "--json")
KETTLE_ONLY = re.compile(r"\.migrate|^spawn_kettle|^touch_fetch|^import")  # import: both other places were visited before
THERE = ("move_first.migrate.plain.other", "move_back.migrate.avx.same", "ping_pong.migrate.plain.other.all", "import.migrate",
         "spawn_kettle.local", "touch_fetch.other", "mprotect.all", "group_exit.64")


def rows(told) -> dict:
    """The rows by name, each with `work`: instructions of programs and kernels on all CPUs."""
    counts = {entry["region"]: entry for entry in told["counts"]}
    assert not [entry for entry in told["counts"] if entry["errors"] or entry["open"]]
    found = {}
    for line in told["stdout"].splitlines():
        item = json.loads(line)
        cpus = counts[item["region"]]["cpus"] if not item["absent"] else []
        item["work"] = sum(cpu["user"] + cpu["kernel"] for cpu in cpus)
        found[item["case"]] = item
    return found


def check_figures(item) -> None:
    assert item["count"] > 0 and item["ns"] and min(item["ns"]) >= 0, item
    assert item["work"] / item["count"] >= (1 if item["case"] in ("empty", "call") else 50), item


@pytest.mark.linux
def test_every_row_has_figures_on_linux(run_json):
    found = rows(run_json("--os", "linux", *MACHINE, "--", *PROGRAM))
    absent = {name for name, item in found.items() if item["absent"]}
    assert len(found) > 80 and all(KETTLE_ONLY.search(name) for name in absent)
    for name, item in found.items():
        if name not in absent:
            check_figures(item)


@pytest.mark.parametrize("kernels", ["core", "node"])
def test_every_row_on_kettle_has_figures_or_names_what_is_missing(run_json, kernels):
    found = rows(run_json(*MACHINE, "--kernels", kernels, "--", *PROGRAM))
    assert len(found) > (80 if kernels == "core" else 50)
    for item in found.values():
        if item["absent"]:
            assert item["count"] == 0 and item["ns"] == [], item
        else:
            check_figures(item)
    if kernels == "core":
        assert [name for name in THERE if found[name]["absent"]] == []


def test_one_kernel_has_the_rows_that_need_no_second(run_json):
    found = rows(run_json("--cpus", "1", "--count", "--", *PROGRAM))
    assert not any(re.search(r"\.(same|other)", name) for name in found)
    check_figures(found["group_exit.64"])


def test_a_first_arrival_at_every_kernel(run_json):
    found = rows(run_json(*MACHINE, "--", "taskbench", "--json", "--cases", "import.migrate"))
    assert found["import.migrate"]["count"] == 3
    check_figures(found["import.migrate"])
