"""`kettle bench all` and `--scheduler`: which runs, the page over all benchmarks, cut and resumed, and runs on other machines."""

import argparse
import json

import pytest

from bench_data import data, run
from hosttools.bench import bench, everything, execute as executor, scheduler
from hosttools.bench.execute import Pace, execute
from hosttools.errors import UsageError
from hosttools.machine import host
from hosttools.results import verdict
from hosttools.results.pairs import work
from hosttools.results.runs import Run


def options(folder, **more):
    return argparse.Namespace(**{"benchmark": "all", "quick": True, "cpus": 4, "nodes": 2, "kernels": "core", "out": str(folder),
                                 "report": False, "resume": False, "mixed": False, "scheduler": None, "only": None, "cases": None, "repeat": None,
                                 "append": [], "compare": None, "sweep": [], "size": None, **more})


def machine(arguments):
    """A machine that takes three times as long under Linux."""
    each = 300 if "linux" in arguments else 100
    case = {"case": "null", "what": "null", "count": 1, "ns": [each], "region": 1, "absent": "", "silence": each,
            "where": "kernel 0 handler silence 1 counts 1 ns until PING"}
    return 0, json.dumps({"command": "qemu", "seconds": 1.0, "stdout": json.dumps(case) + "\n", "problem": "",
                          "counts": [{"region": 1, "cpus": [{"user": 0, "kernel": each, "idle": 0}]}] if "--count" in arguments
                          else None}), ""


def test_a_glance_is_of_every_benchmark_and_has_both_sides():
    plans = everything.plans(bench.BENCHMARKS, options("x"))
    assert set(plans) == set(bench.BENCHMARKS) == set(everything.GLANCE) == set(everything.WEIGHTS) == set(everything.GLANCE_WEIGHTS)
    for name, runs in plans.items():
        every = [item.name for item in bench.BENCHMARKS[name].plan(options("x"))]
        for pattern in everything.GLANCE[name]:
            assert any(executor_match(pattern, item) for item in every), f"{name}: {pattern} names nothing"
        stems = {side: {item.name.removesuffix(side) for item in runs if item.name.endswith(side)} for side in ("-kettle", "-linux")}
        assert stems["-linux"] <= stems["-kettle"]
    assert len(everything.plans(bench.BENCHMARKS, options("x", quick=False))["vm"]) > len(plans["vm"])


def executor_match(pattern, name):
    from fnmatch import fnmatch

    return fnmatch(name, pattern)


def test_one_page_says_who_won_everywhere_with_plots(tmp_path, monkeypatch, capsys):
    kept = {name: bench.BENCHMARKS[name] for name in ("abi", "silence")}
    monkeypatch.setattr(bench, "BENCHMARKS", kept)
    monkeypatch.setattr(executor, "_launch", machine)
    assert bench.main(options(tmp_path)) == 0
    page = (tmp_path / "all.md").read_text()
    won = "Kettle won: 2 operations of 1 benchmark took 0.33 x Linux's instructions"
    assert won in page and won in capsys.readouterr().out.splitlines()[-1]
    assert "Kettle won: 2 operations took 0.33 x Linux's instructions" in page and "The longest silence is 100 instructions" in page
    for picture in ("abi/abi-ratios", "silence/silence"):
        for suffix in (".svg", ".png"):
            assert (tmp_path / (picture + suffix)).stat().st_size > 0 and picture + suffix in page
    assert "<img src=\"abi/abi-ratios.svg\"" in (tmp_path / "all.html").read_text()
    before = [item["name"] for item in json.loads((tmp_path / "abi" / "raw.json").read_text())["runs"]]
    monkeypatch.setattr(executor, "_launch", lambda words: pytest.fail("made again"))
    assert bench.main(options(tmp_path, resume=True)) == 0
    assert [item["name"] for item in json.loads((tmp_path / "abi" / "raw.json").read_text())["runs"]] == before
    assert bench.main(options(tmp_path, report=True)) == 0


def test_a_run_that_is_cut_goes_on(tmp_path, monkeypatch, capsys):
    made = []

    def cut_at_third(arguments):
        made.append(arguments)
        if len(made) == 3:
            raise KeyboardInterrupt
        return machine(arguments)

    monkeypatch.setattr(bench, "BENCHMARKS", {name: bench.BENCHMARKS[name] for name in ("abi", "silence")})
    monkeypatch.setattr(executor, "_launch", cut_at_third)
    with pytest.raises(KeyboardInterrupt):
        bench.main(options(tmp_path))
    said = capsys.readouterr().err
    assert "--resume goes on" in said and "left" in said
    assert len(json.loads((tmp_path / "abi" / "raw.json").read_text())["runs"]) == 2
    assert bench.main(options(tmp_path, resume=True)) == 0
    plans = everything.plans(bench.BENCHMARKS, options(tmp_path))
    assert len(made) == sum(map(len, plans.values())) + 1  # the third one was made again, and no other
    for name, runs in plans.items():
        assert [item["name"] for item in json.loads((tmp_path / name / "raw.json").read_text())["runs"]] == [item.name for item in runs]


def test_all_takes_no_options_of_one_benchmark(tmp_path):
    for more in ({"only": "x"}, {"cases": "x"}, {"sweep": ["lock=home"]}, {"compare": ["x"]}):
        with pytest.raises(UsageError):
            bench.main(options(tmp_path, **more))


def test_the_time_left_goes_by_weight(monkeypatch):
    now = iter((0.0, 10.0))
    monkeypatch.setattr(executor.time, "monotonic", lambda: next(now))
    pace = Pace(8.0, 3)
    assert pace.text("a") == "[1/3] a"
    pace.finished(2.0)
    assert pace.text("b") == "[2/3] b, about 30 s left"


def test_long_runs_weigh_more_in_the_time_left(tmp_path):
    runs = [Run("work-S-1-1-kettle", (), (), weight=1.0), Run("work-W-1-1-kettle", (), (), weight=3.0)]
    seen = []

    class Told(Pace):
        def finished(self, weight):
            seen.append((weight, self._weight))
            super().finished(weight)

    execute(runs, {"commit": "abc", "runs": []}, tmp_path / "raw.json", machine, pace=Told(8.0, 2), weight=2.0)
    assert seen == [(2.0, 8.0), (6.0, 8.0)]


def test_who_won():
    assert verdict.sentence("x", "time", [0.5, 0.6, 0.4]).startswith("Kettle won: x took 0.49 x Linux's time")
    assert verdict.sentence("x", "time", [1.5, 1.6, 1.4]).startswith("Linux won")
    assert verdict.sentence("x", "time", [0.5, 2.0]).startswith("Neither won")
    assert verdict.sentence("x", "time", []) == ""


def test_a_row_counts_once_however_many_pairs_it_has():
    case = {"case": "c", "count": 1, "ns": [], "region": 1}
    runs = [run(f"work-{pair}-{side}", case, counts=[(0, cost, 0)])
            for pair, sides in enumerate(((0, 0), (10, 0), (30, 0)), 1) for side, cost in zip(("kettle", "linux"), sides)]
    assert verdict.row_ratios(data("vm", *runs), work) == {"work c": 2.0}


# --- on other machines ---

RUNS = [Run(f"work-{pair}-{side}", ("--os", "linux") if side == "linux" else (), ("null",)) for pair in (1, 2) for side in ("kettle", "linux")]


@pytest.fixture(name="cluster", scope="module")
def start_cluster():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster:
        yield cluster


def test_groups_are_made_on_the_schedulers_machines(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(executor, "_launch", machine)
    results = {"commit": host.commit(), "runs": []}
    execute(RUNS, results, tmp_path / "raw.json", address=cluster.scheduler_address)
    assert [item["name"] for item in results["runs"]] == [item.name for item in RUNS]  # in the plan's order
    assert all(item["problem"] == "" and item["host"] == host.describe() for item in results["runs"])
    assert json.loads((tmp_path / "raw.json").read_text()) == results


def test_a_worker_of_another_tree_fails_its_runs(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(executor, "_launch", machine)
    results = {"commit": "another", "runs": []}
    execute(RUNS, results, tmp_path / "raw.json", address=cluster.scheduler_address)
    assert len(results["runs"]) == 4 and all("not another" in item["problem"] for item in results["runs"])


def test_no_scheduler_and_no_worker_are_said(monkeypatch):
    monkeypatch.setattr(scheduler, "CONNECT", 0.2)
    with pytest.raises(UsageError, match="--scheduler tcp://127.0.0.1:9"):
        scheduler.execute(RUNS, "tcp://127.0.0.1:9", "x", print, print)
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as empty:
        with pytest.raises(UsageError, match="it has no worker"):
            scheduler.execute(RUNS, empty.scheduler_address, "x", print, print)
