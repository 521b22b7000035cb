"""`tools/kettle bench policies`: its plan, and the figures of its report."""

import argparse
import json
from pathlib import Path

import bench_data
import pytest
from bench_data import run
from hosttools.machine import boot_options
from hosttools.suites import policies

ROOT = Path(__file__).resolve().parents[3]


def policy_run(name, sequence, **cycles):
    """A run in which each case takes so many cycles on the busiest of three CPUs, and twice as many on all, a tenth of them the kernel's."""
    cases = [{"case": case.replace("__", "."), "region": region, "count": 30, "threads": 3} for region, case in enumerate(cycles, 1)]
    sums = {str(region): {"user": 1.8 * each, "kernel": 0.2 * each, "busiest": each} for region, each in enumerate(cycles.values(), 1)}
    return {**run(f"{name}-{sequence}"), "output": cases, "numa_model": sums}


def sequential(name, local, remote):
    return policy_run(name, "sequential", local__read=local, local__write=local, remote1__read=remote, remote1__write=remote,
                      remote2__read=remote, remote2__write=remote)


def unfavourable(name, placed, own):
    return policy_run(name, "cross", unfavourable__read=placed, unfavourable__write=placed, mixed__0=own)


def test_every_policy_is_measured_on_every_machine_none_first_and_linux_beside_them():
    from hosttools import cli
    from hosttools.run import run as runner

    names = [item.name for item in policies.plan(argparse.Namespace(quick=False))]
    values = boot_options.rows()["numa"].values.split("|")
    first = [f"{value}-2-core-{sequence}" for value in values for sequence in policies.SEQUENCES]
    first += [f"{side}-2-{sequence}" for side in policies.LINUX for sequence in policies.SEQUENCES]
    assert names[:len(first)] == first and values[0] == policies.NONE and set(policies.QUICK) <= set(values)
    assert {f"kettle-{nodes}-{kernels}-cross" for nodes in (2, 4, 8) for kernels in ("core", "node")} <= set(names)
    assert {f"balanced-{nodes}-cross" for nodes in (2, 4, 8)} <= set(names)
    for item in policies.plan(argparse.Namespace(quick=True)):
        runner.check(cli.parse(["run", *item.machine, "--", *item.program]))


def test_longer_phases_have_as_many_looks_and_are_compared_with_none_of_the_same_length():
    words = {item.name: " ".join((*item.machine, *item.program)) for item in policies.plan(argparse.Namespace(quick=False))}
    usual, longer = words["kettle-8-core-cross"], words["kettle.x8-8-core-cross"]
    assert "numaperiod=10" in usual and "--passes 75 " in usual
    assert longer == usual.replace("numaperiod=10", "numaperiod=80").replace("--passes 75 ", "--passes 600 ").replace("--seed", "--turn 1000 --seed")
    usual = [unfavourable("none-8-core", 100, 100), unfavourable("kettle-8-core", 110, 100)]
    assert not [text for text in policies.report(bench_data.data("policies", *usual)).tables if "times as long" in text]
    more = [unfavourable("none.x8-8-core", 800, 800), unfavourable("kettle.x8-8-core", 816, 800)]
    found = policies.report(bench_data.data("policies", *usual, *more)).tables
    text = next(text for text in found if "times as long" in text)
    assert "| 8-core, 1 | - | - | - | +10.0 % | - |" in text and "| 8-core, 8 | - | - | - | +2.0 % | - |" in text
    assert not any("kettle.x8" in text for text in found)


def test_threads_that_may_move_are_compared_with_none():
    names = [item.name for item in policies.plan(argparse.Namespace(quick=False))]
    assert {"none-2-core-apart", "kettle-2-core-apart", "kettle-4-core-apart"} <= set(names)
    found = [policy_run(f"{policy}-2-core", "apart", apart__write=cycles) for policy, cycles in (("none", 200), ("kettle", 150))]
    text = "\n".join(policies.report(bench_data.data("policies", *found)).tables)
    assert "| 2-core, kettle | -25.0 % | -25.0 % |" in text


def test_changes_are_those_of_the_busiest_cpu_against_none():
    data = bench_data.data("policies", sequential("none-2-core", 100, 200), sequential("filter-2-core", 101, 110),
                           sequential("nemo-2-core", 100, 220), sequential("linux-2", 100, 200), sequential("balanced-2", 100, 150))
    assert policies.cycles(data, "none-2-core") == {"local": 200, "remote1": 400, "remote2": 400, "sequential": 1000}
    assert policies.cycles(data, "none-2-core", every=True)["local"] == 400
    text = "\n".join(policies.report(data).tables)
    assert "| filter | +1.0 % | -45.0 % | -45.0 % | -35.8 % | - | - | - | - | - |" in text
    assert "| nemo | +0.0 % | +10.0 % | +10.0 % | +8.0 % |" in text
    assert "| Linux's balancing | +0.0 % | -25.0 % | -25.0 % |" in text
    assert "| NEMO on Barrelfish (measured there) | -0.2 % | -26.3 % | -32.0 % | -21.6 % | +5.5 % | -11.9 % | -11.2 % | -43.7 % | -13.6 % |" in text
    assert "AutoNUMA on Linux 3.3 (measured there) | -1.1 % | -3.3 % | -26.4 % | -11.4 %" in text


def test_targets_say_what_is_not_reached():
    base = sequential("none-2-core", 100, 200)
    found = "\n".join(policies.targets(bench_data.data("policies", base, sequential("kettle-2-core", 103, 199))))
    assert "- sequential: +0.2 %, NEMO there -21.6 %: **not reached**" in found
    assert "- 2-core, the worst phase: local, +3.0 %, at most +2.0 %: **not reached**" in found and "shared" not in found
    found = policies.targets(bench_data.data("policies", base, sequential("kettle-2-core", 100, 110)))
    assert found == ["- sequential: -36.0 %, NEMO there -21.6 %: reached", "- 2-core, the worst phase: local, +0.0 %, at most +2.0 %: reached"]


def test_targets_compare_with_linux_and_with_the_best_placement():
    linux = [sequential("linux-4", 100, 200), sequential("balanced-4", 100, 120)]
    base = sequential("none-4-node", 100, 200)
    found = policies.targets(bench_data.data("policies", base, sequential("kettle-4-node", 100, 110), *linux))
    assert "- 4-node, gains more than Linux's balancing in each phase: reached" in found
    found = policies.targets(bench_data.data("policies", base, sequential("kettle-4-node", 100, 130), *linux))
    assert any("**not reached** in remote1 (-35.0 %, Linux -40.0 %), remote2" in line for line in found)
    for placed, verdict in ((104, "+4.0 %, at most +5.0 %: reached"), (106, "+6.0 %, at most +5.0 %: **not reached**")):
        found = policies.targets(bench_data.data("policies", unfavourable("none-8-core", 150, 100), unfavourable("kettle-8-core", placed, 120)))
        assert f"- 8-core, unfavourable.write over the best placement: {verdict}" in found


def test_sizes_of_blocks_and_periods_have_tables_of_their_own_and_are_no_policies():
    names = {item.name for item in policies.plan(argparse.Namespace(quick=False))}
    assert {"kettle.4.5-2-core-cross", "nemo.1024.40-2-core-sequential"} <= names and "kettle.64.10-2-core-cross" not in names
    data = bench_data.data("policies", sequential("none-2-core", 100, 200), sequential("kettle-2-core", 100, 110),
                           sequential("kettle.1024.10-2-core", 100, 150), sequential("kettle.64.40-2-core", 100, 200))
    report = policies.report(data)
    text = "\n".join(report.tables)
    assert "| 64 KiB | - | -36.0 % | - | +0.0 % |" in text and "| 1024 KiB | - | -20.0 % | - | - |" in text
    assert "| kettle | " in text and "| kettle.1024.10 |" not in text and "nemo, sequence" not in text
    assert "blocks-kettle-sequential" in [plot.name for plot in report.plots]


def test_larger_lists_have_as_many_accesses_and_are_compared_with_none_of_the_same_size():
    words = {item.name: " ".join((*item.machine, *item.program)) for item in policies.plan(argparse.Namespace(quick=False))}
    for usual, larger in (("kettle-2-core-cross", "kettle.large-2-core-cross"), ("balanced-2-sequential", "balanced.large-2-sequential")):
        passes = int(words[usual].partition("--passes ")[2].split()[0])
        assert words[larger] == words[usual].replace("--elements 4096", "--elements 16384").replace(f"--passes {passes}", f"--passes {passes // 4}")
    usual = [sequential("none-2-core", 100, 200), sequential("kettle-2-core", 100, 110)]
    assert not any("eight times as large" in text for text in policies.report(bench_data.data("policies", *usual)).tables)
    more = [sequential("none.large-2-core", 100, 200), sequential("kettle.large-2-core", 100, 150)]
    found = policies.report(bench_data.data("policies", *usual, *more)).tables
    text = next(text for text in found if "eight times as large" in text)
    assert "| kettle, 1024 KiB | +0.0 % | -25.0 % |" in text and "| kettle, 256 KiB | +0.0 % | -45.0 % |" in text
    assert not any("kettle.large" in text for text in found)


def test_without_two_policies_there_is_a_word():
    assert "Nothing to compare" in policies.report(bench_data.data("policies", sequential("none-2-core", 1, 2))).targets


@pytest.mark.skipif(not (ROOT / "docs/results/policies/raw.json").exists(), reason="not measured")
def test_the_kept_report_is_that_of_its_data():
    data = json.loads((ROOT / "docs/results/policies/raw.json").read_text())
    text = (ROOT / "docs/results/policies/policies.md").read_text()
    assert policies.targets(data)
    for line in policies.targets(data):
        assert line in text
