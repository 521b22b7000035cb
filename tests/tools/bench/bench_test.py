"""`tools/kettle bench`: its arithmetic, what it makes of runs good and bad, its report, and the programs it runs, as
far as they go on the host's own kernel."""

import argparse
import fnmatch
import json
import os
import re
import tempfile
from pathlib import Path

import pytest

import bench_data
from bench_data import program, run
from host_command import kettle
from hosttools.bench.execute import execute, execute_run
from hosttools.bench.report import write_report
from hosttools.errors import UsageError
from hosttools.paths import ROOT
from hosttools.results.plots import draw
from hosttools.results.runs import Cost, Run, find
from hosttools.results.stats import Spread, Target, figure, percentile, ratios, spread, table
from hosttools.suites import messages

# --- arithmetic ---


def test_a_spread_is_median_lowest_and_highest():
    assert spread([3, 1, 2, 10]) == Spread(2.5, 1, 10, 4)
    assert spread([]) is None
    assert spread([1.5, 1.0, 2.0]).text() == "1.50 (1.00 to 2.00)"
    assert spread([1234.5]).text(1) == "1,234.5"


@pytest.mark.parametrize("percent, value", [(0, 1), (1, 1), (50, 50), (50.5, 51), (99, 99), (100, 100)])
def test_a_percentile_is_one_of_the_samples(percent, value):
    assert percentile(range(100, 0, -1), percent) == value


def test_ratios_leave_out_pairs_that_lack_a_side():
    assert ratios([1, None, 3, 4], [2, 2, None, 0]) == [0.5]


def test_a_table_refuses_a_row_of_the_wrong_width():
    assert table(["a", "b"], [["x", "1"]]) == "| a | b |\n|---|--:|\n| x | 1 |\n"
    with pytest.raises(ValueError, match="1 cells under 2"):
        table(["a", "b"], [["x"]])


def test_figures_mark_thousands_and_what_is_missing():
    assert (figure(1234.56), figure(1234.56, 1), figure(None)) == ("1,235", "1,234.6", "-")


@pytest.mark.parametrize("value, verdict", [(119.9, "met"), (120, "met"), (120.001, "missed by less than 0.1 %"), (132, "missed by 10.0 %"), (None, "not measured")])
def test_a_target_is_met_up_to_its_limit(value, verdict):
    assert Target("x", 120, value).verdict() == verdict


# --- runs ---

RUN = Run("one", ("--cpus", "2"), ("msgbench", "--json"))


def told(stdout="", **more):
    folder = f"{tempfile.gettempdir()}/kettle-ab_c"
    return json.dumps({"stdout": stdout, "seconds": 1.5, "problem": "", **more,
                       "command": f"qemu -kernel {ROOT}/build/kettle.elf -initrd {folder}/initramfs -log {Path.home()}/log"})


def test_a_run_gives_output_counts_and_commands():
    asked = []
    counts = [{"region": 1, "entries": 1, "cpus": []}]
    answer = (0, told('{"a": 1}\n', counts=counts), "")
    result = execute_run(RUN, lambda arguments: asked.append(arguments) or answer)
    assert asked == [["run", "--json", "--timeout", "1200", "--cpus", "2", "--", "msgbench", "--json"]]
    assert result["command"] == "tools/kettle run --json --timeout 1200 --cpus 2 -- msgbench --json"
    assert result["qemu_command"] == "qemu -kernel build/kettle.elf -initrd FOLDER/initramfs -log ~/log"
    assert (result["output"], result["counts"], result["problem"]) == ([{"a": 1}], counts, "")


@pytest.mark.parametrize("answer, problem", [
    ((2, "", "kettle: bad option\n"), "kettle: bad option"),
    ((125, "", ""), "status 125 and no JSON"),
    ((124, told(problem="no end within 1200 s"), ""), "no end within 1200 s"),
    ((1, told('{"a": 1}\nmsgbench: it broke\n'), ""), "msgbench: it broke"),
    ((0, told("3\nsurprise\n"), ""), "3"),
    ((1, told('{"a": 1}\n'), ""), "status 1"),
    ((0, told(counts=[{"region": 3, "errors": 1}, {"region": 4, "open": False}]), ""),
     "markers do not pair, so counts are wrong: region 3")])
def test_a_run_that_failed_says_why(answer, problem):
    result = execute_run(RUN, lambda arguments: answer)
    assert result["problem"] == problem
    assert all(isinstance(line, dict) for line in result["output"])


def test_a_machine_that_was_killed_has_no_counts():
    result = execute_run(RUN, lambda arguments: (124, told(counts=None, problem="no end"), ""))
    assert (result["counts"], result["problem"]) == ([], "no end")


def test_results_are_kept_when_a_later_run_breaks_the_benchmark(tmp_path):
    data = {"runs": []}

    def launch(arguments):
        if data["runs"]:
            raise KeyboardInterrupt
        return 0, told('{"a": 1}\n'), ""

    with pytest.raises(KeyboardInterrupt):
        execute([RUN, Run("two", (), ("x",))], data, tmp_path / "raw.json", launch)
    assert [run["name"] for run in json.loads((tmp_path / "raw.json").read_text())["runs"]] == ["one"]


# --- the plan ---


def planned(**more):
    return messages.plan(argparse.Namespace(**{"cpus": 4, "nodes": 2, "kernels": "core", "quick": False, **more}))


def test_the_plan_alternates_the_sides_of_pairs():
    names = [run.name for run in planned()]
    assert names[:8] == ["counts", *(f"sets-{n}" for n in (2, 4, 8, 16, 32, 64)), "times"]
    assert names[8:12] == ["time-1-kettle", "time-1-linux", "time-2-linux", "time-2-kettle"]
    assert len(names) == len(set(names)) == 8 + 2 * 2 * 5
    assert len(planned(quick=True)) < len(names)


def test_both_sides_of_a_pair_run_on_the_same_machine():
    runs = {run.name: run for run in planned()}
    for name, run in runs.items():
        if name.endswith("-kettle"):
            assert runs[name.replace("kettle", "linux")].machine == ("--os", "linux", *run.machine)


def test_the_machine_options_reach_the_counting_run():
    run = planned(cpus=8, nodes=4, kernels="0-3,4-7")[0]
    assert run.machine[:6] == ("--cpus", "8", "--nodes", "4", "--kernels", "0-3,4-7")


def test_one_kernel_is_refused():
    with pytest.raises(UsageError, match="at least 2 kernels"):
        planned(kernels="1")


# --- the report ---


def case(name, ns=(), count=10, region=1, **more):
    operation, size, *_ = [*name.split("."), "0"]
    return {"case": name, "operation": operation, "bytes": int(size), "peer": "polled", "where": "other node",
            "shape": "1:1", "kernels": 2, "count": count, "region": region, "ns": list(ns), **more}


def data(*runs):
    return bench_data.data("messages", *runs)


def verdicts(*runs):
    """(measured, verdict) of each target, in order."""
    rows = re.findall(r"\| at most \S+ \| (\S+) \| (.*) \|", messages.report(data(*runs)).targets)
    assert len(rows) == 5
    return rows


def test_costs_are_of_all_cpus_for_one_operation():
    item = find(data(run("counts", case("call", count=100), counts=[(200, 90, 1000)])), "counts", "call")
    assert item.cost == Cost(user=2.0, kernel=1.0, idle=10.0)
    assert (item.cost.work, item.cost.total) == (3.0, 13.0)


def test_nothing_measured_is_no_verdict():
    assert verdicts() == [("-", "not measured")] * 5


@pytest.mark.parametrize("worse, verdict", [(1180, "met"), (1191, "missed by 0.9 %")])
def test_the_worse_place_decides_without_the_idle_loop(worse, verdict):
    counts = run("counts", case("one_way.48.polled.same"), case("one_way.48.polled.other"),
                 counts=[(0, 100, 9999), (10, worse, 9999)])
    assert verdicts(counts)[0] == (f"{(worse + 20) / 10:.0f}", verdict)


@pytest.mark.parametrize("kernel, verdict", [(55990, "met"), (56000, "missed by less than 0.1 %")])
def test_the_multicast_target_is_for_each_of_16_kernels(kernel, verdict):
    assert verdicts(run("sets-16", case("multicast.32.16", kernels=16), counts=[(0, kernel, 5)]))[2][1] == verdict


def pair(number, kettle_us, spaced_us, futex_us, pipe_us):
    return [run(f"time-{number}-kettle", case("pingpong.48", [kettle_us * 1000]),
                case("round_trip.48.sleeping.other", [spaced_us * 1000])),
            run(f"time-{number}-linux", case("futex", [futex_us * 1000]), case("pipe", [pipe_us * 1000]))]


def test_ratios_are_of_pairs_and_the_worse_way_of_kettle_decides():
    # The better Linux of each pair: 20, 30, 10. Back to back 0.2, 0.2, 0.4; after a rest 0.5, 0.4, 0.9.
    runs = [*pair(1, 4, 10, 20, 40), *pair(2, 6, 12, 50, 30), *pair(3, 4, 9, 10, 11)]
    assert verdicts(*runs)[3] == ("0.500", "met")
    text = messages.report(data(*runs)).tables[0]
    assert "| Kettle, back to back | 4.00 (4.00 to 6.00) | 0.200 (0.200 to 0.400) | 3 |" in text
    assert "| Linux, pipe | 30.00 (11.00 to 40.00) | - | 3 |" in text


def test_a_pair_with_a_failed_side_is_left_out():
    runs = [*pair(1, 4, 10, 20, 40), pair(2, 9, 9, 10, 10)[0], *pair(3, 4, 9, 10, 11)]
    assert verdicts(*runs)[3][0] == "0.700"


def test_instructions_beside_linux_include_idle_loops():
    runs = [run("work-1-kettle", case("pingpong.48"), case("round_trip.48.sleeping.other"),
                counts=[(0, 90, 100), (0, 190, 100)]),
            run("work-1-linux", case("futex"), case("pipe"), counts=[(500, 490, 200), (9999, 0, 0)])]
    assert verdicts(*runs)[4] == ("0.250", "met")


def full_data():
    sizes = (0, 48, 4096)
    cases = [case("call"), *(case(f"{operation}.{size}.{peer}.other", shape="1:1") for operation in
                             ("one_way", "round_trip") for size in sizes for peer in ("polled", "sleeping")),
             case("one_way.48.all_to_all", shape="N:N", kernels=4)]
    sets = [run(f"sets-{n}", *(case(f"{operation}.{size}.{n}", kernels=n) for operation in ("multicast", "unicast")
                               for size in (32, 4096)), counts=[(1, 100 * n, 7)] * 4) for n in (2, 4)]
    return data(run("counts", *cases, counts=[(5, 1000 + i, 3) for i in range(len(cases))]), *sets,
                run("times", case("round_trip.48.polled.other", [1000, 2000, 99000])), *pair(1, 4, 10, 20, 40),
                run("broken", problem="kettle: no such thing\nmore"))


def test_the_report_has_every_table_plot_and_command(tmp_path):
    raw = full_data()
    write_report("Title", messages.report(raw), raw, tmp_path)
    text = (tmp_path / "messages.md").read_text()
    assert text.startswith("# Title\n\nMeasured on 2001-02-03 with QEMU 7.2.0 (TCG, no KVM, `-cpu max`")
    assert "| one way, polled, other node | - | 101 | - | - |" not in text
    assert "| one way, polled, other node | 101 | 101 | - | 102 | - |" in text
    assert "| system call that does nothing | 0.5 | 101.0 | 0.3 |" in text
    assert "| one way, 48 bytes, N:N | 4 | 10 | 102.3 |" in text
    assert "| 4 | 32 | 41 | 41 | 1.00 | 10 |" in text
    assert "| round_trip.48.polled.other | 10 | 2.00 | 99.00 |" in text
    assert "- broken: kettle: no such thing\n" in text
    assert all(f"    {item['command']}\n" in text for item in raw["runs"])
    plots = ("instructions", "multicast", "linux")
    assert {path.name for path in tmp_path.iterdir()} == {"messages.md", *(f"{name}.svg" for name in plots)}
    assert all(f"]({name}.svg)" in text for name in plots)


def test_a_report_of_failures_has_no_plots(tmp_path):
    raw = data(run("counts", problem="kettle: it broke"))
    write_report("Title", messages.report(raw), raw, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["messages.md"]
    assert "not measured" in (tmp_path / "messages.md").read_text()


def test_plots_of_the_same_figures_are_the_same_files(tmp_path):
    plots = messages.report(full_data()).plots
    first = [draw(plot, tmp_path).read_bytes() for plot in plots]
    assert len(first) == 3 and first == [draw(plot, tmp_path).read_bytes() for plot in plots]


# --- the command ---


@pytest.mark.parametrize("arguments, words", [
    ("bench", "BENCHMARK"), ("bench fly", "'fly' is unknown"), ("bench messages --cpus 1", "at least 2 kernels"),
    ("bench messages --nodes 65", "1 to 64"), ("bench messages --kernels 9", "more kernels than the 4 CPUs"),
    ("bench messages --out /dev/null/x", "Not a directory"), ("bench messages --report --out /missing", "No such file"),
    ("bench messages more", "unexpected argument")])
def test_what_cannot_be_is_refused_in_one_line(arguments, words):
    done = kettle(ROOT / "build", *arguments.split())
    assert done.status == 2 and words in done.stderr and done.stderr.count("\n") == 1 and done.stdout == b""


def test_a_tree_that_is_not_built_is_refused(tmp_path):
    done = kettle(tmp_path, "bench", "messages")
    assert done.status == 2 and "userland/msgbench is missing: run make first" in done.stderr


def test_the_report_is_made_again_from_the_raw_data(tmp_path):
    raw = full_data()
    (tmp_path / "raw.json").write_text(json.dumps(raw))
    done = kettle(ROOT / "build", "bench", "messages", "--report", "--out", tmp_path)
    assert done.status == 1 and done.stderr == "kettle: bench: 1 of 7 runs failed: broken\n", done.stderr
    assert "# Messages between kernels" in (tmp_path / "messages.md").read_text()


@pytest.mark.parametrize("text", ["{", "[]", '{"benchmark": "tasks"}'])
def test_foreign_raw_data_is_refused(tmp_path, text):
    (tmp_path / "raw.json").write_text(text)
    done = kettle(ROOT / "build", "bench", "messages", "--report", "--out", tmp_path)
    assert done.status == 2 and "raw.json: " in done.stderr and done.stderr.count("\n") == 1


# --- the programs, on the host's kernel ---


def test_cases_have_regions_of_their_own():
    status, text, _ = program("msgbench", "--list")
    rows = [line.split()[:2] for line in text.splitlines()]
    assert status == 0 and len(rows) > 90
    assert [int(region) for region, _ in rows] == list(range(1, len(rows) + 1)) and len(rows) < 256
    assert len({name for _, name in rows}) == len(rows)


def test_every_case_that_the_report_looks_for_exists():
    names = {line.split()[1] for line in program("msgbench", "--list")[1].splitlines()}
    asked = {pattern.format(size) for _, pattern in messages._pair_names() for size in messages.SIZES
             if size == 48 or not pattern.startswith("handler")}
    asked |= {f"{operation}.{size}.{kernels}" for operation in ("multicast", "unicast")
              for size in messages.SET_SIZES for kernels in messages.SETS}
    assert asked | {"call", messages.BACK_TO_BACK, messages.SPACED} <= names


@pytest.mark.parametrize("quick", [False, True])
def test_every_case_that_the_plan_asks_for_exists(quick):
    names = [line.split()[1] for line in program("msgbench", "--list")[1].splitlines()]
    for item in planned(quick=quick):
        if "--cases" in item.program:
            patterns = item.program[item.program.index("--cases") + 1].split(",")
            assert [pattern for pattern in patterns if not fnmatch.filter(names, pattern)] == []


def test_msgbench_measures_a_call_anywhere():
    status, text, errors = program("msgbench", "--json", "--cases", "call", "--count", "64")
    told = json.loads(text)
    assert (status, errors) == (0, "") and (told["case"], told["count"], len(told["ns"])) == ("call", 64, 4)
    assert json.loads(program("msgbench", "--json", "--cases", "call", "--no-times")[1])["ns"] == []
    assert re.search(r"\ncall +1 +4000 +\d+\.\d+ +\d+\.\d+\n$", program("msgbench", "--cases", "call")[1])


@pytest.mark.parametrize("arguments, status, words", [
    ("--cases round_trip.*", 1, "needs a second kernel"), ("--cases fly", 2, "no such case: fly"),
    ("--cases", 2, "--cases"), ("--count 0", 2, "1 to 1000000: 0"), ("--count 1x", 2, "1x"),
    ("--seed -1", 2, "-1"), ("fly", 2, "fly"),
    ("flood", 1, "no messages to measure"), ("flood --messages 0", 2, "--messages"),
    ("flood --cases call", 2, "--cases")])
def test_msgbench_refuses_in_one_line(arguments, status, words):
    told = program("msgbench", *arguments.split())
    assert told[:2] == (status, "") and words in told[2] and told[2].count("\n") == 1


@pytest.mark.parametrize("arguments", ["--count 17", "--count 0", "--count", "fly"])
def test_pingpong_refuses_in_one_line(arguments):
    told = program("pingpong", *arguments.split())
    assert told[:2] == (2, "") and told[2].count("\n") == 1


def test_pingpong_tells_what_the_report_reads():
    status, text, errors = program("pingpong", "--json", "--count", "32")
    if len(os.sched_getaffinity(0)) < 2:
        assert (status, errors) == (1, "pingpong: needs two CPUs\n")
        return
    cases = [json.loads(line) for line in text.splitlines()]
    assert (status, errors) == (0, "") and [item["case"] for item in cases] == ["call", *messages.LINUX_WAYS]
    assert all(item["count"] == 32 and len(item["ns"]) == 2 and min(item["ns"]) > 0 for item in cases)
