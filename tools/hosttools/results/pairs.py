"""Kettle and Linux beside each other: pairs of runs on the same machine, and the figures of each pair.

The K-th pair of a series is the runs PREFIX-K-kettle and PREFIX-K-linux. Ratios are taken pair by pair, since what a
busy host does to one run it probably does to the next.
"""

import statistics
from typing import Any, Callable, Sequence

from hosttools.results.runs import Measured, Run, find

EXACT = ("--icount", "0", "--seed", "1", "--count")  # Kettle only: Linux cannot start several CPUs like that
TIMES = ("--tcg", "multi")  # for as many CPUs as the host has
COUNTS = ("--tcg", "single", "--count")

Json = dict[str, Any]
Value = Callable[[Measured], float | None]


def pair_runs(series: str, number: int, machine: Sequence[str], kettle: Sequence[str],
              linux: Sequence[str]) -> list[Run]:
    """Both sides of a pair: the programs KETTLE and LINUX on the same MACHINE. Every other pair begins with Linux, so
    that a host that slows down favours neither."""
    sides = [Run(f"{series}-{number}-kettle", tuple(machine), tuple(kettle)),
             Run(f"{series}-{number}-linux", ("--os", "linux", *machine), tuple(linux))]
    return sides if number % 2 else sides[::-1]


def pair_values(data: Json, series: str, side: str, case: str, value: Value) -> list[float | None]:
    """VALUE of CASE in each pair of SERIES, in order; None where it was not measured."""
    names = {run["name"].rsplit("-", 1)[0] for run in data["runs"] if run["name"].startswith(f"{series}-")}
    pairs = sorted(names, key=lambda name: int(name.rsplit("-", 1)[1]))
    found = [find(data, f"{name}-{side}", case) for name in pairs]
    return [None if item is None else value(item) for item in found]


def median_us(item: Measured) -> float | None:
    """The median of the samples, in us."""
    return statistics.median(item.case["ns"]) / 1e3 if item.case["ns"] else None


def total_work(item: Measured) -> float | None:
    """Everything that all CPUs executed: who halts executes nothing."""
    return None if item.cost is None else item.cost.total


def work(item: Measured) -> float | None:
    """What all CPUs executed without Kettle's looking for work."""
    return None if item.cost is None else item.cost.work
