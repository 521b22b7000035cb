"""`tools/kettle bench abi`: its plan, targets and tables, and the program abibench on the host's own kernel."""

import json

import pytest

import bench_data
from bench_data import program, run
from hosttools.bench.report import write_report
from hosttools.errors import UsageError
from hosttools.suites import abi


SUITE = bench_data.Suite(abi, "abibench", targets=6, facts=lambda name: {"members": 0})
case, data, costs, verdicts, planned = SUITE.case, SUITE.data, SUITE.costs, SUITE.verdicts, SUITE.planned


def test_the_plan_alternates_the_sides_of_pairs():
    names = [item.name for item in planned()]
    assert names[:4] == ["work-1-kettle", "work-1-linux", "work-2-linux", "work-2-kettle"]
    assert names.count("team-5-linux") == 1 and len(names) == len(set(names))
    assert len(planned(quick=True)) < len(names) / 2


@pytest.mark.parametrize("quick", [False, True])
def test_every_case_that_the_plan_asks_for_exists(quick):
    SUITE.check_cases_of_the_plan(quick)
    assert all(("ompbench" in item.program[0]) == item.name.startswith("omp") for item in planned(quick=quick))


def test_the_report_has_a_row_for_every_case_and_no_other():
    names = {name for _, name in SUITE.listed()} - {"empty"}
    assert {name for _, cases in abi.KINDS for _, name in cases()} == names
    assert {name for _, name in abi.RATIOS} <= names
    openmp = {name for _, cases in abi.OMP_KINDS for _, name in cases()}
    listed = [name for _, name in bench_data.Suite(abi, "ompbench", targets=0).listed()]
    assert openmp == {name for name in listed if not name.endswith(".16")}  # its machine has eight CPUs


def test_one_kernel_is_refused():
    with pytest.raises(UsageError, match="at least 2 kernels"):
        planned(kernels="1")


def test_nothing_measured_is_no_verdict():
    assert verdicts() == [("-", "not measured")] * 6


def test_the_worst_row_decides_and_idle_does_not_count():
    found = verdicts(costs("work-1-kettle", null__local=40, futex_pair__same=10, futex_pair__other=36),
                     costs("work-1-linux", null__local=100, futex_pair__same=100, futex_pair__other=100))
    assert found[0] == ("0.400", "met") and found[3] == ("0.360", "missed by 2.9 %")


def test_a_barrier_is_timed_on_eight_cpus():
    sides = [run(f"team-1-{side}", case("barrier.8", [us * 1000])) for side, us in (("kettle", 30), ("linux", 60))]
    assert verdicts(*sides)[5] == ("0.500", "met")


def test_the_report_has_every_table_plot_and_command(tmp_path):
    profile = [{"function": "idle_poll_once", "instructions": 9000}, {"function": "call_read", "instructions": 120}]
    raw = data(costs("work-1-kettle", pipe__local=50), costs("work-1-linux", pipe__local=100),
               run("time-1-kettle", case("stat.local", [1000, 2000, 99000])),
               run("team-1-kettle", case("barrier.2", [5000])), run("team-1-linux", case("barrier.2", [10000])),
               costs("ompwork-1-kettle", omp_barrier__8=70), costs("ompwork-1-linux", omp_barrier__8=100),
               costs("kernels-2-kettle", null__other=1600),
               run("profile-null.local", case("null.local"), counts=[(0, 120, 9000)], profile=profile),
               run("kernels-4-kettle", case("clock.local", absent="clock")), run("broken", problem="kettle: no such thing"))
    write_report("System calls", abi.report(raw), raw, tmp_path)
    text = (tmp_path / "abi.md").read_text()
    assert "| write and read of a pipe, a byte, home | 50 | 100 | 0.500 |" in text
    assert "| stat of a file, home | 2.0 | - | - |" in text and "| 99.0 | - |" in text
    assert "| pthread barrier, one meeting, 2 threads | 5.0 | 10.0 | 0.500 |" in text
    assert "| barrier, 8 threads | 70 | 100 | 0.700 |" in text
    assert "| getppid, other node: Kettle | - | 1,600 | - | - | - |" in text
    assert "| `null.local` | 12 | call_read 12 |" in text and "- clock: `clock.local`\n" in text
    assert "- broken: kettle: no such thing\n" in text
    assert {path.name for path in tmp_path.iterdir()} == {"abi.md", "linux.svg", "barrier.svg"}


# --- the program, on the host's kernel ---


def test_the_program_measures_what_it_lists():
    status, text, errors = program("abibench", "--quick", "--json", "--cases", "*.local")
    rows = [json.loads(line) for line in text.splitlines()]
    assert (status, errors) == (0, "") and len(rows) == 11
    assert all(row["count"] == len(row["ns"]) > 0 and not row["absent"] for row in rows)


@pytest.mark.parametrize("arguments, words", [
    (["--cases", "nothing"], "no such case: nothing"), (["--count", "0"], "a number from 1"), (["--mad"], "what is this?: --mad")])
def test_what_the_program_cannot_understand_is_said(arguments, words):
    status, text, errors = program("abibench", *arguments)
    assert status == 2 and text == "" and words in errors
