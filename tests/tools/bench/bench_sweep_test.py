"""`kettle bench NAME --sweep`: which runs it makes, what is refused, and the figures of what came back."""

import argparse
import csv

import pytest

from bench_data import data, run
from hosttools.bench import options as bench_options, sweep
from hosttools.errors import UsageError
from hosttools.results.csv_file import write_tidy
from hosttools.results.runs import groups
from hosttools.suites.workloads_report import kernel_work


def options(*axes, **more):
    return argparse.Namespace(**{"benchmark": "workloads", "cpus": 4, "nodes": 2, "kernels": "core", "quick": False, "cases": "is,cg",
                                 "repeat": None, "append": [], "compare": None, "sweep": list(axes), "size": None, **more})


def names(*axes, **more):
    return [item.name for item in sweep.plan(options(*axes, **more)) if item.name.startswith("work-")]


def test_linux_runs_once_for_all_that_differs_on_kettle_alone_and_sides_alternate():
    assert names("kernels=1,2", "prefetch=0,4", repeat=2) == [
        "work-kernels=1-1-linux", "work-kernels=1+prefetch=0-1-kettle", "work-kernels=1+prefetch=4-1-kettle",
        "work-kernels=2-1-linux", "work-kernels=2+prefetch=0-1-kettle", "work-kernels=2+prefetch=4-1-kettle",
        "work-kernels=1+prefetch=4-2-kettle", "work-kernels=1+prefetch=0-2-kettle", "work-kernels=1-2-linux",
        "work-kernels=2+prefetch=4-2-kettle", "work-kernels=2+prefetch=0-2-kettle", "work-kernels=2-2-linux"]


def test_what_is_compared_runs_on_one_machine():
    found = groups(sweep.plan(options("kernels=1,2", "prefetch=0,4")))
    assert [len(group) for group in found] == [3, 3, 3, 3] and all(group[0].name.endswith("-linux") for group in found)
    other = groups([item for item in sweep.plan(options("prefetch=0,4", benchmark="vm", cases=None))])
    assert [[item.name for item in group] for group in other][0] == ["work-all-1-linux", "work-prefetch=0-1-kettle",
                                                                     "work-prefetch=4-1-kettle"]


def test_an_axis_is_an_option_of_the_machine_the_program_or_the_kernel():
    runs = {item.name: item for item in sweep.plan(options("kernels=8", "layout=node,one", "class=W", "mempolicy=interleave",
                                                           "lock=lamport", append=["place=local"]))}
    node_name = "work-kernels=8+layout=node+class=W+mempolicy=interleave+lock=lamport-1-kettle"
    node = runs[node_name]
    assert node.options == ("place=local", "lock=lamport")
    assert node.machine[:6] == ("--cpus", "8", "--nodes", "2", "--kernels", "node")
    assert node.program[1:] == ("--mempolicy", "interleave", "--json", "--threads", "8", "--class", "W", "is", "cg")
    one = runs["work-kernels=8+layout=one+class=W+mempolicy=interleave+lock=lamport-1-kettle"]
    assert one.machine[5] == "1"
    linux = runs["work-kernels=8+class=W+mempolicy=interleave-1-linux"]
    assert linux.program == node.program and linux.options == () and "--kernels" not in linux.machine
    assert runs.keys() >= {name.replace("work", "time") for name in runs}
    assert runs[node_name.replace("work", "time")].program == (*node.program[:3], "--warm", "1", *node.program[3:])


def test_the_class_of_the_command_line_is_that_of_all_points():
    assert all("W" in item.program for item in sweep.plan(options("kernels=1,2", size="W")))


def test_silence_has_no_linux():
    assert all(name.endswith("-kettle") for name in names("poll=0,400", benchmark="silence", cases=None))


@pytest.mark.parametrize("axes, more, words", [
    (["kernels=0"], {}, "kernels are 1 to 64"), (["layout=cpu"], {}, "layout is core, node, one"), (["lock=x"], {}, "invalid lock='x'"),
    (["nosuch=1"], {}, "unknown boot option 'nosuch'"), (["lock"], {}, "expected AXIS=VALUE"), (["lock=home,home"], {}, "once"),
    (["lock=home", "lock=lamport"], {}, "once"), (["class=S"], {"benchmark": "vm"}, "of workloads alone"),
    (["class=S,W"], {"size": "W"}, "--class W already"),
    (["lock=home"], {"compare": ["", ""]}, "one folder"), (["lock=home"], {"repeat": 0}, "at least 1"),
    (["prefetch=0"], {"benchmark": "numa"}, "no cases")])
def test_what_cannot_be_is_refused(axes, more, words):
    with pytest.raises(UsageError, match=words):
        sweep.plan(options(*axes, **more))


def test_a_sweep_takes_the_place_of_runs_of_ones_own():
    assert sweep.wanted(options("lock=home")) and not bench_options.wanted(options("lock=home"))
    assert bench_options.wanted(options()) and not sweep.wanted(options())


def case(name, ms=1):
    return {"case": f"{name}.S", "program": name, "class": "S", "count": 1, "ns": [ms * 1_000_000], "region": 1}


def made(point, round_, side, kernel, ms):
    return [run(f"work-{point}-{round_}-{side}", case("is"), counts=[(10, kernel - 10, 0)]),
            run(f"time-{point}-{round_}-{side}", case("is", ms))]


def test_ratios_are_taken_within_a_round():
    axes = {"kernels": ["1", "2"], "prefetch": ["0", "4"]}
    runs = [*made("kernels=2+prefetch=0", 1, "kettle", 80, 8), *made("kernels=2+prefetch=0", 2, "kettle", 40, 16),
            *made("kernels=2", 1, "linux", 100, 10), *made("kernels=2", 2, "linux", 200, 10),
            *made("kernels=2+prefetch=4", 1, "kettle", 50, 5)]
    raw = {**data("workloads-sweep", *runs), "axes": axes}
    assert sweep.ratios(raw, "work", {"kernels": "2", "prefetch": "0"}, kernel_work) == {"is.S": [0.8, 0.2]}
    assert sweep.mean_ratio(raw, "work", {"kernels": "2", "prefetch": "0"}, kernel_work) == pytest.approx(0.4)
    assert sweep.mean_ratio(raw, "work", {"kernels": "1", "prefetch": "0"}, kernel_work) is None
    report = sweep.report(raw)
    assert "Its best is 0.40, at kernels=2+prefetch=0." in report.sentence
    assert "Its best is 0.50, at kernels=2+prefetch=4." in report.sentence
    assert "| `kernels=2+prefetch=0` | 0.400 |" in report.tables[0] and "| `kernels=1+prefetch=0` | - | - | - | - |" in report.tables[0]
    lines = {plot.name: plot.lines for plot in report.plots}["sweep-kernel-mode-instructions"]
    assert lines["prefetch=0"] == [None, pytest.approx(0.4)] and lines["prefetch=4"] == [None, pytest.approx(0.5)]


def test_tidy_rows_have_a_column_for_each_axis(tmp_path):
    raw = {**data("workloads-sweep", *made("kernels=2+prefetch=0", 1, "kettle", 80, 8), *made("kernels=2", 1, "linux", 100, 10)),
           "axes": {"kernels": ["2"], "prefetch": ["0"]}}
    write_tidy(sweep.report(raw).tidy, tmp_path / "tidy.csv")
    rows = list(csv.DictReader((tmp_path / "tidy.csv").read_text().splitlines()))
    assert {"kernels": "2", "prefetch": "0", "system": "kettle", "round": "1", "case": "is.S", "figure": "kernel-mode_instructions",
            "value": "80.0"} in rows
    assert {(row["system"], row["prefetch"]) for row in rows} == {("kettle", "0"), ("linux", "")}
    write_tidy([], tmp_path / "tidy.csv")
    assert not (tmp_path / "tidy.csv").exists()
