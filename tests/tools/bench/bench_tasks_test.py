"""`tools/kettle bench tasks`: its plan, targets and tables, and the program taskbench on the host's own kernel."""

import json
import os
import re

import pytest

import bench_data
from bench_data import program, run
from host_command import kettle
from hosttools.bench.report import write_report
from hosttools.errors import UsageError
from hosttools.paths import ROOT
from hosttools.suites import tasks, tasks_report

TWO_CPUS = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")


SUITE = bench_data.Suite(tasks, "taskbench", targets=6)
case, data, costs, verdicts, planned, listed = (
    SUITE.case, SUITE.data, SUITE.costs, SUITE.verdicts, SUITE.planned, SUITE.listed)

# --- the plan ---


def test_the_plan_alternates_the_sides_of_pairs():
    names = [item.name for item in planned()]
    assert names[:4] == ["work-1-kettle", "work-1-linux", "work-2-linux", "work-2-kettle"]
    assert names.count("time-5-linux") == 1 and len(names) == len(set(names))
    assert {f"kernels-{n}-{side}" for n in (1, 2, 4, 8, 16) for side in ("kettle", "linux")} <= set(names)
    assert len(planned(quick=True)) < len(names) / 3


def test_both_sides_of_a_pair_run_the_same_program_on_the_same_machine():
    runs = {item.name: item for item in planned(cpus=8, nodes=4)}
    for name, item in runs.items():
        if name.endswith("-linux"):
            other = runs[name.replace("linux", "kettle")]
            assert item.program == other.program and item.machine[2:6] == other.machine[:4]
    assert runs["work-1-kettle"].machine[-2:] == ("--kernels", "core")
    assert "--icount" in runs["kernels-8-kettle"].machine and "--icount" not in runs["kernels-8-linux"].machine


@pytest.mark.parametrize("quick", [False, True])
def test_every_case_that_the_plan_asks_for_exists(quick):
    SUITE.check_cases_of_the_plan(quick)


def test_the_report_has_a_row_for_every_case_and_no_other():
    names = {name for _, name in listed()} - {"empty", "call"}
    rows = {name for _, cases in tasks_report.KINDS for _, name in cases()}
    assert rows == names
    assert {name for _, _, name, _ in tasks_report.POPCORN} <= names
    assert {name for _, name in tasks_report.RATIOS} <= names
    assert {tasks_report.counterpart(name) for name in names} <= names


def test_one_kernel_is_refused():
    with pytest.raises(UsageError, match="at least 2 kernels"):
        planned(kernels="1")


# --- the targets ---


def test_nothing_measured_is_no_verdict():
    assert verdicts() == [("-", "not measured")] * 6


def moves(side, number, back, first, place="other"):
    how = "affinity" if side == "linux" else "migrate"
    return costs(f"work-{number}-{side}", **{
        f"{operation}__{how}__{vectors}__{place}": cost + (vectors == "avx")
        for operation, cost in (("move_back", back), ("ping_pong", back), ("move_first", first))
        for vectors in ("plain", "avx")})


def test_the_worst_row_decides_and_idle_does_not_count():
    found = verdicts(moves("kettle", 1, 34, 99), moves("linux", 1, 99, 98))
    assert found[1] == ("0.350", "met")  # (34 + 1) / (99 + 1)
    assert found[2] == ("1.010", "missed by 1.0 %")  # 99 / 98 and 100 / 99


def test_ratios_are_of_pairs_and_a_pair_that_lacks_a_side_is_left_out():
    runs = [moves("kettle", 1, 20, 10), moves("linux", 1, 40, 10), moves("kettle", 2, 900, 10),
            moves("kettle", 3, 30, 10), moves("linux", 3, 100, 10)]
    assert verdicts(*runs)[1][0] == f"{(21 / 41 + 31 / 101) / 2:.3f}"


def test_a_row_that_is_absent_on_kettle_leaves_its_target_unmeasured():
    linux = run("work-1-linux", case("fork_small.local"), case("fork_16mb.local"), counts=[(0, 90, 0), (0, 990, 0)])
    small = run("work-1-kettle", case("fork_small.local"), case("fork_16mb.local", absent="fork"), counts=[(0, 40, 0)])
    both = run("work-1-kettle", case("fork_small.local"), case("fork_16mb.local"), counts=[(0, 40, 0), (0, 640, 0)])
    assert verdicts(small, linux)[4] == ("-", "not measured")
    assert verdicts(both, linux)[4] == ("0.650", "missed by 30.0 %")


def flat(kernels, cost, everywhere):
    return costs(f"kernels-{kernels}-kettle", **{f"{operation}__migrate__plain__other{suffix}": value
                                                 for operation, _ in tasks_report.MOVES
                                                 for suffix, value in (("", cost), ("__all", everywhere))})


@pytest.mark.parametrize("everywhere, verdict", [(110, ("1.100", "met")), (111, ("1.110", "missed by 0.9 %"))])
def test_the_cost_of_a_move_must_not_grow_with_the_kernels(everywhere, verdict):
    assert verdicts(flat(2, 100, 100), flat(16, 104, everywhere))[5] == verdict


def test_times_are_medians_of_runs():
    sides = [run(f"time-1-{side}", *(case(f"{operation}.{how}.{vectors}.other", [us * 1000, us * 1000, 900_000])
                                     for operation in ("move_back", "ping_pong") for vectors in ("plain", "avx")))
             for side, how, us in (("kettle", "migrate", 30), ("linux", "affinity", 60))]
    assert verdicts(*sides)[0] == ("0.500", "met")


# --- the report ---


def full_data():
    profile = [{"function": "idle_poll_once", "instructions": 9000}, {"function": "task_go", "instructions": 120}]
    return data(moves("kettle", 1, 20, 10), moves("linux", 1, 40, 20),
                run("time-1-kettle", case("clone_join.local", [1000, 2000, 99000])), flat(2, 100, 101), flat(16, 110, 102),
                run("kernels-2-linux", case("fork_small.local"), counts=[(10, 0, 0)]),
                run("import-4", case("import.migrate"), counts=[(0, 990, 0)]),
                run("profile-clone_join.local", case("clone_join.local"), counts=[(0, 120, 9000)], profile=profile),
                run("kernels-4-kettle", case("fork_small.local", absent="fork"), case("cow_break.other", absent="fork")),
                run("broken", problem="kettle: no such thing\nmore"))


def test_the_report_has_every_table_plot_and_command(tmp_path):
    raw = full_data()
    write_report("Tasks", tasks.report(raw), raw, tmp_path)
    text = (tmp_path / "tasks.md").read_text()
    assert "| move back, kettle_migrate, other node | 20 | 0 | 40 | 0.500 |" in text
    assert "| clone, exit, join by futex, home | 2.0 | - | - |" in text and "| 99.0 | - |" in text
    assert "| first move, kettle_migrate, other node: Kettle | - | 100 | - | - | 110 | 1.10 |" in text
    assert "| fork, exit, wait, home: Linux | - | 2 | - | - | - | - |" in text
    assert "| importing a migrated task, with its first mapping retrieval | 188,902 | 100 | - |" in text
    assert "| `clone_join.local` | 12 | task_go 12 |" in text
    assert "- fork: `fork_small.local`, `cow_break.other`\n" in text
    assert "- broken: kettle: no such thing\n" in text and all(f"    {item['command']}\n" in text for item in raw["runs"])
    assert {path.name for path in tmp_path.iterdir()} == {"tasks.md", "moves.svg", "linux.svg"}


def test_a_row_that_is_there_in_one_run_is_not_absent():
    raw = full_data()
    raw["runs"].append(run("kernels-8-kettle", case("fork_small.local"), counts=[(1, 1, 1)]))
    assert tasks_report.absent(raw) == {"cow_break.other": "fork"}


@pytest.mark.parametrize("arguments, words", [
    ("bench tasks --cpus 1", "at least 2 kernels"), ("bench tasks --kernels 9", "more kernels than the 4 CPUs"),
    ("bench tasks --out /dev/null/x", "Not a directory"), ("bench tasks --report --out /missing", "No such file"),
    ("bench tasks more", "unexpected argument")])
def test_what_cannot_be_is_refused_in_one_line(arguments, words):
    done = kettle(ROOT / "build", *arguments.split())
    assert done.status == 2 and words in done.stderr and done.stderr.count("\n") == 1 and done.stdout == b""


def test_a_tree_that_is_not_built_is_refused(tmp_path):
    done = kettle(tmp_path, "bench", "tasks")
    assert done.status == 2 and "userland/taskbench is missing: run make first" in done.stderr


def test_results_of_another_benchmark_are_refused(tmp_path):
    (tmp_path / "raw.json").write_text(json.dumps(bench_data.data("messages")))
    done = kettle(ROOT / "build", "bench", "tasks", "--report", "--out", tmp_path)
    assert done.status == 2 and "no results of the benchmark tasks" in done.stderr


# --- the program, on the host's kernel ---


def test_cases_have_regions_of_their_own():
    rows = listed()
    assert [int(region) for region, _ in rows] == list(range(1, len(rows) + 1)) and 80 < len(rows) < 256
    assert len({name for _, name in rows}) == len(rows)


@TWO_CPUS
def test_every_row_has_figures_on_linux_or_names_the_call_that_it_lacks():
    status, text, errors = program("taskbench", "--json", "--quick")
    cases = {item["case"]: item for item in map(json.loads, text.splitlines())}
    assert (status, errors) == (0, "") and len(cases) > 40
    lacking = {name for name, item in cases.items() if item["absent"]}
    assert all(re.search(r"migrate|kettle|touch_fetch|^import", name) for name in lacking)
    for name, item in cases.items():
        assert name in lacking or (item["count"] >= len(item["ns"]) > 0 and min(item["ns"]) > 0), item
        assert name not in lacking or (item["count"] == 0 and item["ns"] == [])
    assert cases["spawn_kettle.local"]["absent"] == "kettle_spawn"
    assert any(item["count"] == 64 for name, item in cases.items() if name.startswith("ping_pong.affinity.plain"))


@TWO_CPUS
def test_a_first_arrival_is_where_the_process_has_not_been():
    status, text, _ = program("taskbench", "--json", "--cases", "import.affinity")
    assert status == 0 and json.loads(text)["count"] == json.loads(text)["places"] - 1


@pytest.mark.parametrize("arguments, status, words", [
    ("--cases fly", 2, "no such case: fly"), ("--cases", 2, "--cases"), ("--count 0", 2, "1 to 10000: 0"),
    ("--count 10001", 2, "10001"), ("--count 1x", 2, "1x"), ("fly", 2, "fly"), ("child", 2, "for this program itself"),
    ("child wait x1", 2, "for this program itself"), ("child group 1 0 65 a0", 2, "for this program itself"),
    ("child group 1 0 2 a0,", 2, "for this program itself")])
def test_taskbench_refuses_in_one_line(arguments, status, words):
    told = program("taskbench", *arguments.split())
    assert told[:2] == (status, "") and words in told[2] and told[2].count("\n") == 1


def test_a_child_that_is_not_ready_in_time_says_so():
    cpu = min(os.sched_getaffinity(0))
    assert program("taskbench", "child", "group", "1", "0", "3", f"a{cpu}") == (3, "", "")
    assert program("taskbench", "child", "group", "1", str(2**63), "3", "a1000") == (4, "", "")
