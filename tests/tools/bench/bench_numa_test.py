"""`tools/kettle bench numa`: its plan, its report, and its programs' refusals."""

import argparse
import csv
import json

import pytest

import bench_data
from bench_data import program, run
from host_command import kettle
from hosttools.bench.execute import execute_run
from hosttools.bench.report import write_report
from hosttools.measure import numa_model
from hosttools.paths import ROOT
from hosttools.results.csv_file import write_csv
from hosttools.results.runs import Run
from hosttools.suites import numa

ZERO = {key: 0 for key in (*numa_model.COLUMNS, "llc_hits", "forwards", "upgrades", "walk_cycles", "user", "kernel", "idle", "busiest")}


def planned(quick=False):
    return numa.plan(argparse.Namespace(quick=quick))


def list_run(size, side, **cycles):
    """A run in which each case, named with underlines doubled for dots, takes so many cycles an element, and two more in a
    second repetition."""
    cases, sums = [], {}
    for repetition in range(2):
        for name, each in cycles.items():
            region = len(cases) + 1
            cases.append({"case": name.replace("__", "."), "count": 100, "repetition": repetition, "region": region,
                          "misplaced": 5 * repetition})
            sums[str(region)] = {**ZERO, "user": 100 * (each + 2 * repetition), "kernel": 300, "remote": 50}
    return {**run(f"list-{size}-{side}"), "output": cases, "numa_model": sums}


def test_lists_go_from_half_of_a_cache_to_eight_times_the_last_one():
    assert numa.sizes(False) == [64, 128, 256, 512, 1024, 2048]
    assert numa.sizes(True) == [64, 2048]


def test_both_systems_take_turns_and_all_runs_can_be_made():
    from hosttools import cli
    from hosttools.run import run as runner

    names = [item.name for item in planned()]
    assert names.count("list-2048-balanced") == 1 and sum(name.endswith("-balanced") for name in names) == 1
    assert names[:4] == ["list-64-kettle", "list-64-linux", "list-128-linux", "list-128-kettle"]
    assert {f"{group}-{side}" for group in ("map", "move-1000", "move-130000") for side in numa.SIDES[:2]} <= set(names)
    for item in planned(quick=True):
        runner.check(cli.parse(["run", *item.machine, "--", *item.program]))


def test_a_run_keeps_the_sums_of_the_model():
    cpu = {"cpu": 0, "node": 0, "lines_from_node": [1], "modelled_cycles": {"user": 5, "kernel": 6, "idle": 7},
           **{key: 2 for key in (*numa_model.COLUMNS, "llc_hits", "forwards", "upgrades", "walk_cycles")}}
    told = {"command": "qemu", "seconds": 1, "stdout": '{"case": "a", "region": 3, "count": 1}\n', "problem": "",
            "counts": [{"region": 3, "errors": 0, "open": False}],
            "numa_model": {"regions": [{"region": 3, "cpus": [cpu, cpu]}]}}
    found = execute_run(Run("one", (), ("numabench",)), lambda words: (0, json.dumps(told), ""))
    assert found["problem"] == ""
    assert found["numa_model"] == {"3": {**ZERO, **{key: 4 for key in ZERO}, "user": 10, "kernel": 12, "idle": 14, "busiest": 11}}
    told["counts"][0]["open"] = True
    assert "region 3" in execute_run(Run("one", (), ("x",)), lambda words: (0, json.dumps(told), ""))["problem"]


def test_the_report_has_means_deviations_and_the_ratio():
    data = bench_data.data("numa", list_run(128, "kettle", local__read=10, remote1__read=15),
                           list_run(4096, "kettle", local__read=99, remote1__read=149),
                           list_run(4096, "linux", local__read=199, remote1__read=299, mixed__50=40))
    report = numa.report(data)
    assert "with 4096 KiB: 1.500 on kettle, 1.500 on linux" in report.targets and "modelled" in report.targets
    text = "\n".join(report.tables)
    assert "| 128 KiB, kettle | 11.0 ± 1.4 |" in text and "| 4096 KiB, linux | 200.0 ± 1.4 |" in text
    assert "| 50 % | - | 41.0 ± 1.4 |" in text
    assert "| local.read, linux | 0.000 | 0.500 | 0.000 | 0.000 | 3.0 | 1 of 2 |" in text
    assert report.plots[0].lines["local.read, kettle"] == [11.0, 100.0]
    assert report.plots[0].lines["remote1.read, linux"] == [None, 300.0]


def test_the_map_and_the_moves_are_drawn(tmp_path):
    cells = {**run("map-kettle"), "output": [{"case": "map.1.2", "region": 1, "count": 64}],
             "numa_model": {"1": {**ZERO, "user": 640}}}
    moves = {**run("move-10-linux"), "output": [{"case": "mbind.a.10", "way": "mbind.a", "region": 1, "count": 10}],
             "numa_model": {"1": {**ZERO, "user": 10, "kernel": 90, "instructions": 50}}}
    data = bench_data.data("numa", list_run(128, "kettle", local__read=10), cells, moves)
    report = numa.report(data)
    heat = next(plot for plot in report.plots if plot.name == "map-kettle").heat
    assert heat[1][2] == 10.0 and heat[2][1] is None
    assert "| mbind.a, 10 | - | - | 10 | 5 | - | - |" in report.tables[-1]
    write_report("x", report, data, tmp_path)
    assert (tmp_path / "map-kettle.svg").exists() and not (tmp_path / "map-linux.svg").exists()
    assert "map-kettle.svg" in (tmp_path / "numa.md").read_text()


def moved(*ways):
    """A run of moves of ten pages: WAYS are names and modelled cycles of a page."""
    return {**run("move-10-kettle"), "output": [{"case": f"{way}.10", "way": way, "region": number, "count": 10}
                                               for number, (way, _) in enumerate(ways)],
            "numa_model": {str(number): {**ZERO, "kernel": 10 * cycles} for number, (_, cycles) in enumerate(ways)}}


def test_a_move_is_compared_with_a_copy_by_its_caller_and_an_entry():
    data = bench_data.data("numa", moved(("mbind.master.default", 130), ("move_pages.one.default", 211), ("mbind.other.interleaved", 7),
                                         ("cost.copy.master.default", 90), ("cost.copy.other.default", 150), ("cost.entry.master.default", 10),
                                         ("mbind.master.interleaved", 110), ("cost.copy.master.interleaved", 92), ("cost.entry.master.interleaved", 8),
                                         ("cost.where.master.default", 5), ("lazy.mark.default", 6)))
    report = numa.report(data)
    assert [(goal.text.split(",")[0], goal.value, goal.verdict()) for goal in report.goals] == [
        ("mbind.master.default", 1.3, "met"), ("move_pages.one.default", 211 / 160, "missed by 1.4 %"),
        ("mbind.other.interleaved", 0.08, "met"), ("mbind.master.interleaved", 110 / 87.5, "met")]
    assert "| move_pages.one.default, 10 | 211 | 0 | - | - | 1.32 | - |" in report.tables[-1]
    assert "| mbind.other.interleaved, 10 | 7 | 0 | - | - | 0.08 | - |" in report.tables[-1]
    assert "| lazy.mark.default, 10 | 6 | 0 | - | - | - | - |" in report.tables[-1]


def test_a_minute_beside_writers_says_what_was_lost():
    case = {"case": "round", "region": 0, "count": 5, "places": 4, "nodes": 4, "readers": 4, "duration": 60_000_000_000, "rounds": 3, "refused": 0,
            "writes": 1000, "lost": 0, "reads": 2000, "wrong": 0, "reader_faults": 2, "writer_faults": 30, "median_ns": 1500, "rare_ns": 40000,
            "longest_ns": 7_000_000}
    report = numa.report(bench_data.data("numa", {**run("minute-4"), "output": [case]}))
    assert "| 4, in turns | 60 | 5 | 3 | 1,000 | 0 | 2,000 | 0 | 2 | 30 | 1.50 | 40.0 | 7.0 |" in report.tables[-1]
    assert [goal.verdict() for goal in report.goals] == ["met", "met", "missed"]


def test_walks_are_told_before_and_after_a_move():
    sums = {**ZERO, "walks": 50, "walk_remote": 20, "user": 900}
    walks = {**run("walks-linux"), "output": [{"case": "remote1.read", "region": 1, "count": 100}], "numa_model": {"1": sums}}
    assert "| remote1.read, linux | 0.500 | 0.000 | 0.200 | 0.0 | 9.0 | 0.0 |" in numa.report(bench_data.data("numa", walks)).tables[-1]


def test_modelled_figures_are_in_the_table_for_other_programs(tmp_path):
    write_csv(bench_data.data("numa", list_run(128, "kettle", local__read=10)), tmp_path / "raw.csv")
    rows = list(csv.DictReader((tmp_path / "raw.csv").read_text().splitlines()))
    assert [row["modelled_user_cycles"] for row in rows] == ["10.0", "12.0"]
    assert (rows[0]["modelled_kernel_cycles"], rows[0]["modelled_local_lines"], rows[0]["modelled_remote_lines"]) == (
        "3.0", "0.0", "0.5")


def test_without_lists_there_is_a_word():
    assert "No list" in numa.report(bench_data.data("numa")).targets


def test_it_has_no_cases_to_choose():
    done = kettle(ROOT / "build", "bench", "numa", "--cases", "x")
    assert done.status == 2 and "has no cases to choose" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize("name, arguments, status, word", [
    ("numabench", "--elements 3", 2, "64 to 16777216: 3"), ("numabench", "--elements", 2, "--elements"),
    ("numabench", "--sequence fly", 2, "fly"), ("numabench", "--repeat 0", 2, "1 to 255"), ("numabench", "fly", 2, "fly"),
    ("migbench", "--pages 1", 2, "--pages"), ("migbench", "--pages", 2, "--pages"), ("migbench", "--way", 2, "--way"), ("migbench", "fly", 2, "fly"),
    ("movebench", "--seconds 0", 2, "--seconds"), ("movebench", "--rounds", 2, "--rounds"), ("movebench", "fly", 2, "fly")])
def test_the_programs_refuse_in_one_line(name, arguments, status, word):
    told = program(name, *arguments.split())
    assert told[0] == status and word in told[2] and told[2].count("\n") == 1
