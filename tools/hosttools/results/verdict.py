"""Who won: a sentence over many ratios of Kettle to Linux, and a plot of how they lie."""

import math
import re
import statistics
from typing import Any, Iterator, Sequence

from hosttools.results.pairs import Value, median_us, work
from hosttools.results.plots import Plot
from hosttools.results.runs import Measured, measured
from hosttools.results.stats import interval

BOUNDS = (0.25, 0.5, 0.8, 1.0, 1.25, 2.0, 4.0)
COUNTED, TIMED, MODELLED = "instructions", "time", "modelled cycles"

Json = dict[str, Any]


def timed_us(item: Measured) -> float | None:
    """The median time in us, of a run that counted nothing: what counts is slower."""
    return median_us(item) if item.cost is None and item.case.get("ns") else None


def geometric(ratios: Sequence[float]) -> tuple[float, float | None, float | None]:
    """The geometric mean of RATIOS, and its 95 % confidence interval, if there are several."""
    logs = [math.log(ratio) for ratio in ratios]
    mean, half = statistics.fmean(logs), interval(logs)
    return math.exp(mean), None if half is None else math.exp(mean - half), None if half is None else math.exp(mean + half)


def sentence(what: str, unit: str, ratios: Sequence[float], of: str = "pairs") -> str:
    """Who won, where WHAT took RATIOS of Linux's UNIT on Kettle; empty without ratios."""
    if not ratios:
        return ""
    mean, low, high = geometric(ratios)
    winner, spread = f"Neither won, as far as these {of} can tell", ""
    if low is not None and high is not None:
        winner = "Kettle won" if high < 1.0 else "Linux won" if low > 1.0 else winner
        spread = f", 95 % confidence {low:.2f} to {high:.2f}"
    return f"{winner}: {what} took {mean:.2f} x Linux's {unit} on Kettle (geometric mean of {len(ratios)} {of if len(ratios) > 1 else of[:-1]}{spread})."


def row_ratios(data: Json, value: Value) -> dict[str, float]:
    """VALUE on Kettle over that on Linux of every row that both have on one machine: the median over the pairs of runs, by the
    machine and the row. Pairs are the runs NAME-kettle and NAME-linux."""
    sides: dict[str, dict[tuple[str, str], float]] = {"kettle": {}, "linux": {}}
    for item in measured(data, ""):
        stem, _, side = item.run.rpartition("-")
        found = None if item.case.get("absent") else value(item)
        if side in sides and found:
            sides[side][stem, item.case["case"]] = found
    rows: dict[str, list[float]] = {}
    for (stem, case), found in sides["kettle"].items():
        if (stem, case) in sides["linux"]:
            rows.setdefault(f"{re.sub(r'-[0-9]+$', '', stem)} {case}", []).append(found / sides["linux"][stem, case])
    return {row: statistics.median(found) for row, found in rows.items()}


def modelled(data: Json) -> Value:
    """The modelled cycles of a case, of the runs of DATA with --numa-model."""
    sums = {run["name"]: run.get("numa_model") or {} for run in data["runs"]}

    def value(item: Measured) -> float | None:
        region = sums[item.run].get(str(item.case["region"]))
        return (region["user"] + region["kernel"]) / item.case["count"] if region and item.case["count"] else None

    return value


def sentences(data: Json) -> Iterator[tuple[str, str, dict[str, float]]]:
    """Each unit that both sides of DATA have, with who won, and the ratio of each row."""
    for unit, value in ((COUNTED, work), (TIMED, timed_us), (MODELLED, modelled(data))):
        rows = row_ratios(data, value)
        if rows:
            yield unit, sentence(f"{len(rows)} operations" if len(rows) != 1 else "the operation", unit, list(rows.values()), "rows"), rows


def ratio_plot(name: str, title: str, found: dict[str, Sequence[float]]) -> Plot:
    """How many of the ratios lie in which range, for each unit of FOUND."""
    labels = [f"< {BOUNDS[0]:g}", *(f"{low:g} to {high:g}" for low, high in zip(BOUNDS, BOUNDS[1:])), f"> {BOUNDS[-1]:g}"]
    edges = (0.0, *BOUNDS, math.inf)
    lines = {unit: [float(sum(low <= ratio < high for ratio in ratios)) for low, high in zip(edges, edges[1:])]
             for unit, ratios in found.items()}
    return Plot(name, title, "Kettle over Linux: below 1, Kettle wins", "rows", labels, lines=lines, png=True)
