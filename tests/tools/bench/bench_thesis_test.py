"""`kettle bench thesis`: the thesis's tables, the runs, and what is shown of them."""

import argparse

import pytest

from bench_data import data, run
from hosttools.results.stats import figure
from hosttools.suites import thesis

EVERY = thesis.THESIS


def case(name, ms=1, size="S"):
    return {"case": f"{name}.{size}", "program": name, "class": size, "count": 1, "ns": [ms * 1_000_000], "region": 1}


def events(*fetches):
    """What kernels counted: the parent's group 1, and a group for each program, whose kernel K retrieved FETCHES[K] pages and
    as many more as its place among the programs."""
    rows = [{"group": 1, "kernel": 0, "home": 0, "retrieve": "home", "events": {"forks": 5}}]
    for number, _ in enumerate(EVERY):
        rows += [{"group": 2 + number, "kernel": kernel, "home": 0, "retrieve": "home",
                  "events": {"fetches": fetch + number, "frame_anonymous": fetch + number}} for kernel, fetch in enumerate(fetches)]
    return rows


def made(slots, kernels, side, kernel, size="S", **more):
    found = run(f"slots-{slots}-{kernels}-{side}", *(case(name, 1, size) for name in EVERY), counts=[(100, kernel, 0)] * len(EVERY), **more)
    for entry, number in zip(list(found["counts"]), range(1, 1 + len(EVERY))):
        found["counts"].append({"region": 100 + number, "entries": 1, "cpus": [], "critical": 0})
        entry["critical"] = 0
    for item, entry in zip(found["output"], found["counts"]):
        item["region"] *= 10
        entry["region"] *= 10
    found["counts"] += [{"region": item["region"] + 1, "entries": 1, "cpus": [], "critical": 1000 + kernel} for item in found["output"]]
    return found


def test_the_tables_are_those_of_the_thesis():
    faults = thesis.published("faults")
    assert len(faults) == 5 * 3 * 16 and {row["program"] for row in faults} == set(EVERY)
    assert {(row["table"], row["program"], row["slots"]) for row in faults} == {
        (f"6.{thesis.FIRST_TABLE[name] + number}", name, str(slots)) for name in EVERY for number, slots in enumerate(thesis.SLOTS)}
    assert all(int(row["min"]) <= int(row["average"]) <= int(row["max"]) for row in faults)
    for row in thesis.published("transport"):
        assert row["table"] == f"6.{thesis.FIRST_TABLE[row['program']] + 3}" and int(row["transit"]) < int(row["fetch"])
    assert thesis.FIRST_FIGURE["lud"] + 13 == 71 and thesis.FIRST_TABLE["lud"] + 3 == 21


def test_linux_stands_beside_each_number_of_kernels_in_one_group():
    runs = thesis.plan(argparse.Namespace(quick=True, size=None))
    groups = {}
    for item in runs:
        groups.setdefault(item.together, []).append(item.name)
    assert groups["slots-4"] == ["slots-1-4-linux", "slots-1-4-kettle", "slots-4-4-kettle", "slots-8-4-kettle"]
    by_name = {item.name: item for item in runs}
    assert by_name["slots-8-4-kettle"].options == ("prefetch=8",) and "--events" in by_name["slots-8-4-kettle"].machine
    assert "--events" not in by_name["slots-1-4-linux"].machine


@pytest.mark.parametrize("size", ("S", "W", "A"))
def test_the_class_is_that_of_every_run_and_of_the_page(size):
    asked = argparse.Namespace(quick=True, size=size)
    programs = [item.program for item in thesis.plan(asked) if "--class" in item.program]
    assert programs and all(words[words.index("--class") + 1] == size for words in programs)
    raw = {**data("thesis", made(1, 2, "linux", 100, size), made(1, 2, "kettle", 50, size, space_events=events(7, 3))), **thesis.about(asked)}
    report = thesis.report(raw)
    assert f"(class {size})" in report.targets and f"larger than class {size}." in "\n".join(report.tables)
    assert "in 5 of 5 runs" in report.sentence
    assert thesis.report({**raw, "class": "B"}).sentence == ""  # these runs are of another class


def test_events_are_of_the_programs_in_order():
    raw = data("thesis", made(1, 2, "kettle", 50, space_events=events(7, 3)))
    assert {name: row[1]["fetches"] for name, row in thesis.events(raw, 1, 2).items()} == dict(zip(EVERY, range(3, 8)))
    assert thesis.events(data("thesis", made(1, 2, "kettle", 50, space_events=events(7, 3)[:-2])), 1, 2) == {}
    assert thesis.events(data("thesis", made(1, 2, "kettle", 50, problem="it broke", space_events=events(7, 3))), 1, 2) == {}


def test_theirs_stand_beside_ours():
    raw = data("thesis", made(1, 2, "linux", 100), made(1, 2, "kettle", 50, space_events=events(7, 3)),
               made(4, 2, "kettle", 150, space_events=events(5, 2)), made(8, 2, "kettle", 50))
    report = thesis.report(raw)
    page = "\n".join(report.tables)
    assert f"| 1 | 1,653 | 1,589 | 1,566 | {figure(433763)} | 500,245 | 532,637 | 3 | 2 | 0 |" in page
    assert "| 2 | 1,631 |" in page and "| `is` | 1,596 | 3.0 | 1,570 | 2.0 | 1,560 | - |" in page
    assert "| 6.2, 6.16, 6.30, 6.44, 6.58 | events of all kernels, 1 slots | [is](is-totals-1.svg)" in page
    assert "| 6.15, 6.29, 6.43, 6.57, 6.71 | results, all slots |" in page
    assert "in 10 of 15 runs" in report.sentence
    plots = {plot.name: plot for plot in report.plots}
    assert plots["is-totals-1"].stacks == {"anonymous, area and frame": [10.0]}
    assert plots["cg-kernels-4"].stacks == {"anonymous, area and frame": [7.0, 4.0]}
    assert plots["is-results"].lines["Linux"] == [1100]
    rows = [(row["source"], row["figure"], row["program"], row["slots"], row["kernels"], row["kernel"], row["value"]) for row in report.tidy]
    assert ("kettle", "fetches", "is", 4, 2, 1, 2) in rows and ("thesis", "retrievals", "is", "1", 16, "1", "1653") in rows
    assert ("linux", "critical path", "lud", "", 2, "", 1100) in rows
    assert plots["is-modes"].lines["Linux, kernel"] == [pytest.approx(110)]  # with 10 of the second CPU


def test_both_kernels_have_their_functions():
    profile = [{"function": "do_it", "instructions": 120}]
    raw = data("thesis", run("profile-cg", case("cg"), counts=[(0, 120, 0)], profile=profile),
               run("profile-cg-linux", case("cg"), counts=[(0, 340, 0)], profile=[{"function": "do_syscall_64", "instructions": 340}]))
    kettle, linux = thesis.report(raw).tables[-2:]
    assert kettle.startswith("## Where the kernels' instructions go") and "| `cg.S` | 120 | do_it 120 |" in kettle and "340" not in kettle
    assert linux.startswith("## Where Linux's instructions go") and "| `cg.S` | 340 | do_syscall_64 340 |" in linux and "120" not in linux
    page = "\n".join(thesis.report(raw).tables)
    assert "| 6.8, 6.22, 6.36, 6.50, 6.64 | functions of SMP Linux: the last table |" in page


def test_nothing_measured_is_no_failure():
    report = thesis.report(data("thesis"))
    assert report.sentence == "" and "Table 6.1" not in report.sentence
    assert not any(plot.has_data() for plot in report.plots)
