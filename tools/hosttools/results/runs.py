"""What a benchmark gives to `kettle bench`, and how it finds its figures in what came back."""

import re
from dataclasses import dataclass, field
from typing import Any, Iterator, Sequence

from hosttools.results.plots import Plot
from hosttools.results.stats import Target

Json = dict[str, Any]

RUN_LIMIT = 1200  # seconds for one machine


@dataclass(frozen=True)
class Run:
    """One machine with one program, whose output is one JSON object a line."""

    name: str
    machine: tuple[str, ...]  # options of `kettle run`
    program: tuple[str, ...]
    limit: int = RUN_LIMIT
    options: tuple[str, ...] = ()  # NAME=VALUE at boot
    together: str = ""  # runs of one group are made on one machine; by default what names of a pair have in common
    weight: float = 1.0  # its time beside that of the benchmark's other runs, for the estimate of the time left


@dataclass(frozen=True)
class Report:
    """The parts of a report that a benchmark makes."""

    targets: str  # Markdown, may be empty
    tables: Sequence[str]  # Markdown, each with its heading
    plots: Sequence[Plot] = field(default_factory=tuple)
    sentence: str = ""  # what `kettle bench` ends with
    tidy: Sequence[Json] = field(default_factory=tuple)  # rows of tidy.csv: a figure each, with the same columns
    goals: Sequence[Target] = field(default_factory=tuple)  # the targets, for the terminal


@dataclass(frozen=True)
class Cost:
    """Instructions of one operation, on all CPUs together."""

    user: float
    kernel: float
    idle: float  # the kernel's looking for work

    @property
    def work(self) -> float:
        """All but the looking for work."""
        return self.user + self.kernel

    @property
    def total(self) -> float:
        """All that was executed."""
        return self.user + self.kernel + self.idle


@dataclass(frozen=True)
class Measured:
    """A case of one run: what the program said, and what was counted in its region."""

    run: str
    case: Json
    cost: Cost | None
    counts: dict[int, Json] = field(default_factory=dict)  # of all regions of the run


def groups(runs: Sequence[Run]) -> list[list[Run]]:
    """RUNS by what is made on one machine, in order."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(run.together or re.sub(r"-(kettle|smp|linux|A|B)$", "", run.name), []).append(run)
    return list(found.values())


def measured(data: Json, prefix: str) -> Iterator[Measured]:
    """The cases of all runs whose names start with PREFIX, in order."""
    for run in data["runs"]:
        if run["name"].startswith(prefix):
            counts = {entry["region"]: entry for entry in run["counts"]}
            for case in run["output"]:
                yield Measured(run["name"], case, _cost(counts.get(case["region"]), case["count"]), counts)


def find(data: Json, run: str, case: str) -> Measured | None:
    """The case named CASE of the run named RUN."""
    return next((item for item in measured(data, run) if item.run == run and item.case["case"] == case), None)


def _cost(entry: Json | None, count: int) -> Cost | None:
    if entry is None or count == 0:
        return None
    return Cost(*(sum(cpu[column] for cpu in entry["cpus"]) / count for column in ("user", "kernel", "idle")))
