"""`kettle bench` with boot options of the user's: the runs, the figures with their confidence, and raw.csv."""

import argparse
import csv
import json
import math

import pytest

from bench_data import data, run
from hosttools.bench import bench, execute as executor, options as bench_options
from hosttools.errors import UsageError
from hosttools.results.csv_file import HEAD, write_csv
from hosttools.results.stats import interval


def options(**more):
    return argparse.Namespace(**{"benchmark": "vm", "cpus": 4, "nodes": 2, "kernels": "core", "quick": False, "cases": None,
                                 "repeat": None, "append": [], "compare": None, "resume": False, "mixed": False, "sweep": [], "only": None,
                                 "size": None, **more})


def case(name, *ns):
    return {"case": name, "count": 10, "ns": list(ns)}


def test_without_such_options_the_benchmark_is_as_it_was():
    assert not bench_options.wanted(options())
    for more in ({"cases": "x"}, {"repeat": 0}, {"append": ["a=b"]}, {"compare": ["", ""]}):
        assert bench_options.wanted(options(**more))


def test_workloads_are_of_the_class_that_is_asked_for():
    for size, words in ((None, ("--class", "S")), ("W", ("--class", "W"))):
        for item in bench_options.plan(options(benchmark="workloads", cases="is", size=size)):
            assert item.program[-3:] == (*words, "is")
            assert ("--warm" in item.program) == item.name.startswith("time-")


def test_two_sides_alternate_and_each_has_its_options():
    runs = bench_options.plan(options(compare=["retrieve=home", "retrieve=members prefetch=8"], append=["lock=lamport"], repeat=3,
                                      cases="fault_*"))
    assert [item.name for item in runs] == [f"{group}-{name}" for group in ("work", "time")
                                            for name in ("1-A", "1-B", "2-B", "2-A", "3-A", "3-B")]
    assert runs[0].options == ("lock=lamport", "retrieve=home")
    assert runs[1].options == ("lock=lamport", "retrieve=members", "prefetch=8")
    assert all(item.program == ("vmbench", "--json", "--cases", "fault_*") for item in runs)
    assert "--count" in runs[0].machine and "4" in runs[0].machine and "--count" not in runs[-1].machine


def test_one_side_has_no_ratio():
    assert [item.name for item in bench_options.plan(options(cases="x"))] == ["work-1-A", "time-1-A"]
    raw = {**data("vm-options", run("work-1-A", case("c"), counts=[(10, 80, 5)])), "sides": {"A": ""}}
    report = bench_options.report(raw)
    assert "- A: the defaults\n" in report.targets and len(report.tables) == 1
    assert "|  | A |\n" in report.tables[0] and "| `c` | 10 |\n" in report.tables[0]  # (10 + 80 + 10) / 10


@pytest.mark.parametrize("more, words", [
    ({"repeat": 0}, "--repeat must be at least 1"), ({"append": ["lock=x"]}, "--append 'lock=x': invalid lock='x'"),
    ({"compare": ["", "ranges=on lock=x"]}, "--compare 'ranges=on lock=x': invalid lock='x'"),
    ({"compare": ["kernels=1", ""]}, "is the option --kernels")])
def test_what_cannot_be_is_refused(more, words):
    with pytest.raises(UsageError, match=words):
        bench_options.plan(options(**more))


def test_the_interval_is_students():
    assert interval([7.0]) is None and interval([5.0, 5.0, 5.0]) == 0.0
    assert math.isclose(interval([1.0, 2.0, 3.0]), 4.302653 / math.sqrt(3), rel_tol=1e-6)
    assert math.isclose(interval([0.0, 1.0]), 12.706205 * math.sqrt(0.5) / math.sqrt(2), rel_tol=1e-6)


def test_figures_are_means_with_their_confidence_and_ratios_are_taken_round_by_round():
    runs = [run(f"time-{number}-{side}", case("c", value * 1000), case("absent"))
            for number, pair in enumerate(((1, 2), (2, 6), (3, 12)), 1) for side, value in zip("AB", pair)]
    text = bench_options.report({**data("vm-options", *runs), "sides": {"A": "lock=home", "B": "lock=lamport"}}).tables[0]
    assert "|  | A | B | B/A |" in text and "- B: `lock=lamport`" not in text
    assert "| `c` | 2.00 ± 2.48 | 6.67 ± 12.50 | 3.000 ± 2.484 |" in text
    assert "absent" not in text


def test_all_runs_are_in_the_table_for_other_programs(tmp_path):
    raw = data("vm", run("work-1-A", case("c", 1000, 3000), counts=[(10, 80, 5)],
                         command="tools/kettle run --append lock=home --append ranges=on -- vmbench"), run("time-1-A", case("d")))
    write_csv(raw, tmp_path / "raw.csv")
    rows = list(csv.reader((tmp_path / "raw.csv").read_text().splitlines()))
    assert tuple(rows[0]) == HEAD
    assert rows[1:] == [["work-1-A", "lock=home ranges=on", "c", "10", "1.0", "9.0", "0.5", "2.0", "2", "", "", "", ""],
                        ["time-1-A", "", "d", "10", "", "", "", "", "0", "", "", "", ""]]


def test_results_are_written_and_reported_again(tmp_path, monkeypatch, capsys):
    """With a launcher in the place of the machine."""
    told = json.dumps({"command": "qemu", "seconds": 1, "problem": "", "stdout": json.dumps({**case("c", 5000), "region": 1})})
    monkeypatch.setattr(executor, "_launch", lambda arguments: (0, told, ""))
    wanted = options(compare=["", "lock=lamport"], repeat=2, out=str(tmp_path), report=False, scheduler=None)
    assert bench.main(wanted) == 0
    page = (tmp_path / "vm-options.md").read_text()
    assert "| `c` | 5.00 ± 0.00 | 5.00 ± 0.00 | 1.000 ± 0.000 |" in page and "- B: `lock=lamport`\n" in page
    assert len((tmp_path / "raw.csv").read_text().splitlines()) == 9
    assert bench.main(options(report=True, out=str(tmp_path))) == 0
    assert (tmp_path / "vm-options.md").read_text() == page
    assert f"wrote {tmp_path / 'vm-options.md'}\n" * 2 == capsys.readouterr().out
