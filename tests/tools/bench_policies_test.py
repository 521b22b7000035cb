"""`tools/kettle bench policies`: its plan, and the figures of its report."""

import argparse
import json
from pathlib import Path

import bench_data
import pytest
from bench_data import run
from hosttools.machine import boot_options
from hosttools.suites import policies

ROOT = Path(__file__).resolve().parents[2]


def policy_run(name, sequence, **cycles):
    """A run in which each case takes so many cycles, a tenth of them the kernel's."""
    cases = [{"case": case, "region": region, "count": 1} for region, case in enumerate(cycles, 1)]
    sums = {str(region): {"user": 9 * each, "kernel": each} for region, each in enumerate(cycles.values(), 1)}
    cases = [{**case, "case": case["case"].replace("__", ".")} for case in cases]
    return {**run(f"{name}-{sequence}"), "output": cases, "numa_model": sums}


def sequential(name, local, remote):
    return policy_run(name, "sequential", local__read=local, local__write=local, remote1__read=remote, remote1__write=remote,
                      remote2__read=remote, remote2__write=remote)


def test_every_policy_of_the_option_is_measured_none_first():
    from hosttools import cli
    from hosttools.run import run as runner

    plan = policies.plan(argparse.Namespace(quick=False))
    names = boot_options.rows()["numa"].values.split("|")
    assert [item.name for item in plan] == [f"{name}-{sequence}" for name in names for sequence in policies.SEQUENCES]
    assert names[0] == policies.NONE and "filter" in names and set(policies.QUICK) <= set(names)
    for item in policies.plan(argparse.Namespace(quick=True)):
        runner.check(cli.parse(["run", *item.machine, "--", *item.program]))


def test_changes_are_against_none_with_the_kernels_cycles():
    data = bench_data.data("policies", sequential("none", 100, 200), sequential("filter", 101, 110), sequential("nemo", 100, 220))
    assert policies.cycles(data, "none") == {"local": 2000, "remote1": 4000, "remote2": 4000, "sequential": 10000}
    text = "\n".join(policies.report(data).tables)
    assert "| filter | +1.0 % | -45.0 % | -45.0 % | -35.8 % | - | - | - | - | - |" in text
    assert "| nemo | +0.0 % | +10.0 % | +10.0 % | +8.0 % |" in text
    assert "| NEMO on Barrelfish (measured there) | -0.2 % | -26.3 % | -32.0 % | -21.6 % | +5.5 % | -11.9 % | -11.2 % | -43.7 % | -13.6 % |" in text


def test_targets_say_what_is_not_reached():
    data = bench_data.data("policies", sequential("none", 100, 200), sequential("filter", 103, 199))
    found = "\n".join(policies.targets(data))
    assert "sequential: +0.2 %, NEMO there -21.6 %: **not reached**" in found
    assert "local: +3.0 %, at most +2.0 %: **not reached**" in found and "shared" not in found
    data = bench_data.data("policies", sequential("none", 100, 200), sequential("filter", 100, 110))
    assert policies.targets(data) == ["- sequential: -36.0 %, NEMO there -21.6 %: reached"]


def test_without_two_policies_there_is_a_word():
    assert "Nothing to compare" in policies.report(bench_data.data("policies", sequential("none", 1, 2))).targets


@pytest.mark.skipif(not (ROOT / "docs/results/policies/raw.json").exists(), reason="not measured")
def test_the_kept_report_is_that_of_its_data():
    data = json.loads((ROOT / "docs/results/policies/raw.json").read_text())
    text = (ROOT / "docs/results/policies/policies.md").read_text()
    for line in policies.targets(data):
        assert line in text
