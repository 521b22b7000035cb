"""The benchmark of address spaces on whole machines: every row has figures, or names what the kernel lacks for it."""

import json
import re

import pytest

COUNTED = ("--tcg", "single", "--count")
PROGRAM = ("vmbench", "--quick", "--no-times", "--json")
QUESTIONS = {"SPACE_GET", "SPACE_FETCH", "SPACE_MAP", "SPACE_UNMAP", "SPACE_PROTECT", "SPACE_DISCARD", "SPACE_LOCK"}
FETCHES = re.compile(r"^(fault_frame|sequence)\.")
KETTLES = re.compile(r"^(fault_frame|sequence|lock|lock_race)\.")
# What a thread does in memory that its kernel changes by itself; what nobody touches is never anybody else's.
LEASED = {(shape, operation) for shape in ("threads", "shared") for operation in ("touch", "map", "protect", "protect_whole")
          if shape == "threads" or operation == "map"}


def rows(told) -> dict:
    """The rows by name, each with `kernel`: instructions that kernels executed for one operation."""
    counts = {entry["region"]: entry for entry in told["counts"]}
    assert not [entry for entry in told["counts"] if entry["errors"] or entry["open"]]
    found = {}
    for line in told["stdout"].splitlines():
        item = json.loads(line)
        if not item["absent"]:
            assert item["count"] > 0, item
            item["kernel"] = sum(cpu["kernel"] for cpu in counts[item["region"]]["cpus"]) / item["count"]
            assert item["kernel"] > 300 or item["case"] == "empty", item
        found[item["case"]] = item
    return found


def test_every_row_between_kernels_has_figures_and_sends_what_it_must(run_json):
    found = rows(run_json("--cpus", "4", "--nodes", "2", *COUNTED, "--append", "prefetch=0", "--", *PROGRAM, "--cases",
                          "empty,fault_*,cow.*,sequence.other,lock.*,*.1.*,touch.16.*.4,*.32768.*.4"))
    assert len(found) > 50 and not any(item["absent"] for item in found.values())
    for name, item in found.items():
        if (item["shape"], item["operation"]) in LEASED:
            continue  # the first operation takes a lease, the others send nothing
        alone = name.endswith(".local") or ".processes." in name or name.endswith(".1") or name == "empty"
        asked = QUESTIONS & set(item["messages"])
        assert not asked if alone else asked or "_race.1.apart" in name, item
    for where in ("same", "other", "all"):
        item = found[f"fault_frame.{where}"]
        assert sum(item["messages"].get(name, 0) for name in QUESTIONS) >= item["count"]
    assert found["map.1.threads.4"]["count"] == 4 * found["map.1.shared.4"]["count"]
    assert found["protect.1.shared.4"]["messages"]["SPACE_PROTECT"] > found["protect.1.shared.2"]["messages"]["SPACE_PROTECT"]


def test_one_kernel_of_several_cpus_has_the_rows_and_sends_nothing(run_json):
    found = rows(run_json("--cpus", "2", "--kernels", "1", *COUNTED, "--", *PROGRAM, "--cases", "fault_*,*.1.*"))
    assert all(item["absent"] for name, item in found.items() if FETCHES.search(name))
    assert all(item["messages"] is None for item in found.values())
    assert {"touch.1.threads.2", "touch.1.processes.2", "protect_race.1.together.2"} <= set(found)


@pytest.mark.linux
def test_the_same_rows_have_figures_on_linux(run_json):
    found = rows(run_json("--os", "linux", "--cpus", "2", "--nodes", "2", *COUNTED, "--", *PROGRAM, "--cases",
                          "fault_*,cow.*,sequence.other,lock.other,*.1.*"))
    assert {name for name, item in found.items() if item["absent"]} == {name for name in found if KETTLES.search(name)}
    assert {"touch.1.threads.2", "touch.1.processes.2", "protect_race.1.together.2"} <= set(found)
