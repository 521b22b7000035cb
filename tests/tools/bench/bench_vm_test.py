"""`tools/kettle bench vm`: its plan, targets and tables, and the program vmbench on the host's own kernel."""

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
from hosttools.suites import vm, vm_report

TWO_CPUS = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
LACKING = re.compile(r"^(fault_frame|sequence|lock|lock_race)\.")


def facts(name):
    return {"shape": name.split(".")[-2] if name[-1].isdigit() else "local", "members": 1, "pages": 1, "messages": None}


SUITE = bench_data.Suite(vm, "vmbench", targets=7, user=90, facts=facts)
data, costs, verdicts, planned, listed = SUITE.data, SUITE.costs, SUITE.verdicts, SUITE.planned, SUITE.listed


def case(name, *more, messages=None, **others):
    sent = {} if messages is None else {"messages": {"SPACE_FETCH": messages * 10}}
    return SUITE.case(name, *more, **sent, **others)


# --- the plan ---


def test_the_lock_is_measured_under_both_strategies_and_has_a_table():
    assert {f"lock-{locking}-{n}" for locking in vm_report.LOCKINGS for n in (2, 4, 8, 16)} <= {
        item.name for item in planned()}
    text = "\n".join(vm.report(data(
        run("lock-home-4", case("lock.all", messages=3), counts=[(0, 90, 0)]),
        run("lock-lamport-4", case("lock_race.1.together.4", messages=6), counts=[(0, 500, 0)]))).tables)
    assert "by the strategy of locking" in text
    assert "free, of one thread, `lock=home`: messages" in text and "the same one by all at once, `lock=lamport`: messages" in text


def test_each_round_begins_with_another_side():
    names = [item.name for item in planned()]
    assert names[:6] == ["work-1-kettle", "work-1-smp", "work-1-linux", "work-2-smp", "work-2-linux", "work-2-kettle"]
    assert names.count("time-5-linux") == 1 and len(names) == len(set(names))
    assert {f"kernels-{n}-{side}" for n in (2, 4, 8, 16) for side in ("kettle", "smp", "linux")} <= set(names)
    assert {f"retrieve-{mode}-{n}" for mode in vm_report.MODES for n in (2, 4, 8, 16)} <= set(names)
    assert {f"prefetch-{mode}-{n}" for mode in vm_report.MODES for n in (0, 1, 4, 8, 32)} <= set(names)
    assert len(planned(quick=True)) < len(names) / 2


@pytest.mark.parametrize("quick", [False, True])
def test_all_sides_run_the_same_program_on_the_same_machine(quick):
    runs = {item.name: item for item in planned(quick=quick, cpus=8, nodes=4)}
    for name, item in runs.items():
        if name.endswith("-linux"):
            other = runs[name.replace("linux", "kettle")]
            assert item.program == other.program and item.machine[2:6] == other.machine[2:6]
            assert other.machine[:2] == ("--kernels", "core") and item.machine[:2] == ("--os", "linux")
    assert runs["work-1-smp"].machine[:2] == ("--kernels", "1")
    assert "--icount" in runs["kernels-16-smp"].machine and "--icount" not in runs["kernels-16-linux"].machine


@pytest.mark.parametrize("quick", [False, True])
def test_every_case_that_the_plan_asks_for_exists(quick):
    SUITE.check_cases_of_the_plan(quick)


def test_the_report_has_a_row_for_every_case_and_no_other():
    names = {name for _, name in listed()} - {"empty"}
    assert vm_report.all_cases() == names
    assert {name for _, name in vm_report.RATIOS} <= names


def test_one_kernel_is_refused():
    with pytest.raises(UsageError, match="at least 2 kernels"):
        planned(kernels="1")


# --- the targets ---


def test_nothing_measured_is_no_verdict():
    assert verdicts() == [("-", "not measured")] * 7


def test_of_one_thread_the_programs_instructions_count_and_of_a_team_they_do_not():
    found = verdicts(costs("work-1-kettle", fault_new__local=41), costs("work-1-linux", fault_new__local=91),
                     costs("kernels-8-kettle", **{f"map__{n}__{shape}__8": 50 for n in (1, 16, 512)
                                                  for shape in ("threads", "processes")}))
    assert found[0] == ("0.500", "met")  # (41 + 9) / (91 + 9)
    assert found[5] == ("1.00", "met")


def test_the_worst_change_of_one_page_decides():
    kettle_side = costs("work-1-kettle", touch__1__local=11, protect__1__local=17, protect_part__1__local=12)
    linux = costs("work-1-linux", touch__1__local=91, protect__1__local=91, protect_part__1__local=91)
    assert verdicts(kettle_side, linux)[1] == ("0.260", "missed by 4.0 %")
    assert verdicts(kettle_side, costs("work-1-linux", touch__1__local=91))[1] == ("-", "not measured")


def test_a_fetch_must_be_cheap_with_any_number_of_kernels_and_the_same_with_many():
    few, many = costs("retrieve-home-2", fault_frame__all=2000), costs("retrieve-home-16", fault_frame__all=2400)
    assert verdicts(few, many)[2:4] == [("2,409", "met"), ("1.199", "missed by 9.0 %")]
    assert verdicts(few, many, costs("retrieve-home-4", fault_frame__all=2500))[2] == ("2,509", "missed by 0.4 %")
    assert verdicts(few)[2:4] == [("-", "not measured")] * 2


@pytest.mark.parametrize("sent, verdict", [(18, ("18.0", "met")), (19, ("19.0", "missed by 5.6 %"))])
def test_messages_of_a_fetch_by_members(sent, verdict):
    item = case("fault_frame.all", messages=sent)
    assert verdicts(run("retrieve-members-16", item, counts=[(0, 10, 0)]))[4] == verdict


def test_the_worst_row_of_own_ranges_decides():
    cases = [(operation, pages) for operation in ("touch", "map", "protect") for pages in (1, 16, 512)]
    one = costs("kernels-1-kettle", **{f"{operation}__{pages}__threads__1": 100 for operation, pages in cases})
    rows = {f"{operation}__{pages}__threads__16": 110 for operation, pages in cases}
    assert verdicts(one, costs("kernels-16-kettle", **rows))[6] == ("1.10", "met")
    rows["map__16__threads__16"] = 151
    assert verdicts(one, costs("kernels-16-kettle", **rows))[6] == ("1.51", "missed by 0.7 %")
    del rows["map__16__threads__16"]
    assert verdicts(one, costs("kernels-16-kettle", **rows))[6] == ("-", "not measured")


# --- the report ---


def sequence(mode, pages, sent):
    return run(f"prefetch-{mode}-{pages}", case("sequence.other", messages=sent), counts=[(0, 90, 0)])


def full_data():
    profile = [{"function": "idle_poll_once", "instructions": 9000}, {"function": "space_fault", "instructions": 120}]
    return data(
        costs("work-1-kettle", fault_new__local=31), costs("work-1-smp", fault_new__local=30),
        costs("work-1-linux", fault_new__local=71), run("work-2-kettle", case("cow.local", absent="fork")),
        run("time-1-kettle", case("map.1.threads.2", [1000, 2000, 99000])), costs("kernels-1-kettle", map__1__threads__1=10),
        costs("kernels-4-kettle", map__1__threads__4=80), costs("kernels-4-smp", map__1__threads__4=40),
        costs("kernels-4-linux", map__1__threads__4=39.5), costs("kernels-16-kettle", map__1__threads__16=160),
        run("retrieve-home-2", case("fault_frame.all", messages=5), counts=[(0, 990, 0)]),
        run("retrieve-home-16", case("fault_frame.all", messages=5), counts=[(0, 1990, 0)]),
        sequence("home", 0, 5), sequence("home", 8, 5), sequence("home", 32, 1),
        run("profile-cow.other", case("cow.other"), counts=[(0, 120, 9000)], profile=profile),
        run("broken", problem="kettle: no such thing\nmore"))


def test_the_report_has_every_table_plot_and_command(tmp_path):
    raw = full_data()
    write_report("Vm", vm.report(raw), raw, tmp_path)
    text = (tmp_path / "vm.md").read_text()
    assert "| first touch of a new page, home | 40 | 0 | - | 39 | 80 | 0.500 | one kernel |" in text
    assert "| write to a page shared with a child, home | absent: fork | - | - | - | - | - | - |" in text
    assert "| mmap, munmap, 1 page, a thread on each, ranges of their own, 2 | 2.0 | - | - | - | 99.0 | - | - |" in text
    assert "| 1 page, a thread on each, ranges of their own: Kettle | 10 | - | 80 | - | 160 | 16.00 |  |" in text
    assert "| touch of a page that home has touched: `home` | 100 | - | - | 200 | 2.00 |" in text
    assert "| touch of a page that home has touched: `home` | 5.0 | - | - | 5.0 | 1.00 |" in text
    assert "| as published: 5(N-1) | 5.0 | 15.0 | 35.0 | 75.0 | 15.00 |" in text
    assert "| `home`: messages | 5.00 | - | - | no effect | 1.00 |" in text
    assert "| `cow.other` | 12 | space_fault 12 |" in text and "- fork: `cow.local`\n" in text
    assert "- broken: kettle: no such thing\n" in text and all(f"    {item['command']}\n" in text for item in raw["runs"])
    assert {path.name for path in tmp_path.iterdir()} == {"vm.md", "fetch.svg", "linux.svg"}


def test_who_needs_the_least_is_marked_with_those_that_are_as_near():
    text = "\n".join(vm.report(data(*(item for item in full_data()["runs"] if "-16-" not in item["name"]))).tables)
    rows = dict(re.findall(r"\| 1 page, a thread on each, ranges of their own: (\w+ ?\w*) .*\| (\w*) \|\n", text))
    assert rows == {"Kettle": "", "one kernel": "least", "Linux": "least"}
    assert vm_report.least_of({"kettle": 1.0, "smp": None, "linux": None}) == "-"


@pytest.mark.parametrize("arguments, words", [
    ("bench vm --cpus 1", "at least 2 kernels"), ("bench vm --report --out /missing", "No such file")])
def test_what_cannot_be_is_refused_in_one_line(arguments, words):
    done = kettle(ROOT / "build", *arguments.split())
    assert done.status == 2 and words in done.stderr and done.stderr.count("\n") == 1 and done.stdout == b""


# --- the program, on the host's kernel ---


def test_cases_have_regions_of_their_own():
    rows = listed()
    assert [int(region) for region, _ in rows] == list(range(1, len(rows) + 1)) and 150 < len(rows) < 256
    assert len({name for _, name in rows}) == len(rows)


@TWO_CPUS
def test_every_row_has_figures_on_linux_or_names_what_it_lacks():
    status, text, errors = program("vmbench", "--json", "--quick")
    cases = {item["case"]: item for item in map(json.loads, text.splitlines())}
    assert (status, errors) == (0, "") and len(cases) > 50
    for name, item in cases.items():
        if LACKING.search(name):
            assert item["absent"] and item["count"] == 0 and item["ns"] == []
        else:
            assert item["count"] == len(item["ns"]) > 0 and min(item["ns"]) >= 0 and item["messages"] is None, item
    assert cases["map.1.threads.2"]["count"] == 2 * cases["map.1.threads.1"]["count"]
    assert cases["protect.1.shared.2"]["count"] == cases["protect.1.threads.1"]["count"]


@TWO_CPUS
def test_without_times_teams_are_counted_and_have_no_samples():
    status, text, _ = program("vmbench", "--json", "--no-times", "--count", "3", "--cases", "map.1.*.2")
    items = [json.loads(line) for line in text.splitlines()]
    assert status == 0 and [item["count"] for item in items] == [6, 6, 3] and all(item["ns"] == [] for item in items)


@pytest.mark.parametrize("arguments, status, words", [
    ("--cases fly", 2, "no such case: fly"), ("--cases", 2, "--cases"), ("--count 0", 2, "1 to 10000: 0"),
    ("fly", 2, "fly"), ("--count 257 --cases map.1.threads.1", 1, "so many operations")])
def test_vmbench_refuses_in_one_line(arguments, status, words):
    told = program("vmbench", *arguments.split())
    assert told[0] == status and words in told[2] and told[2].count("\n") == 1
