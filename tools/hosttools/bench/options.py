"""A benchmark's program under boot options of the user's: `kettle bench NAME` with --cases, --repeat, --append or --compare.

One side is measured, or with --compare two whose runs alternate, as often as --repeat says. Two groups of runs:

    work-K-SIDE      the K-th round on the machine of the options, one host thread: instructions
    time-K-SIDE      the K-th round on two CPUs and two host threads: times; cases that need more CPUs are absent

Where there are several rounds, figures are means with their 95 % confidence intervals (Student's t); a ratio is taken round
by round, as a busy host slows both sides of one.
"""

import argparse
import statistics
from typing import Any, Sequence

from hosttools.errors import UsageError
from hosttools.machine import boot_options
from hosttools.paths import built
from hosttools.results.pairs import COUNTS, TIMES, Value, median_us, pair_values, work
from hosttools.results.runs import Report, Run, measured
from hosttools.results.stats import interval, ratios, table
from hosttools.suites import workloads

TITLE = "Boot options"
SUFFIX = "-options"  # of a benchmark's name, in what these runs give
PROGRAMS = {"abi": "abibench", "messages": "msgbench", "silence": "silencebench", "tasks": "taskbench", "vm": "vmbench"}
TIME_MACHINE = ("--cpus", "2", "--nodes", "2")
SIDES = ("A", "B")
GROUPS: tuple[tuple[str, str, Value, int], ...] = (
    ("work", "Instructions of an operation", work, 0), ("time", "Time of an operation, median of a run, in us", median_us, 2))

Json = dict[str, Any]


def add_options(group: Any, number: Any) -> None:
    """The options that ask for such runs."""
    group.add_argument("--cases", metavar="LIST", help="only these cases of the program: names or patterns, comma-separated")
    group.add_argument("--repeat", type=number, metavar="N", help="rounds (default 1; a confidence interval needs 2)")
    group.add_argument("--append", action="append", default=[], metavar="OPTS", help="boot options of every run")
    group.add_argument("--compare", nargs="+", metavar="A",
                       help="A B: two sets of boot options, as 'retrieve=home' 'retrieve=members prefetch=8'; '' is the defaults. "
                            "OLD: the folder of earlier results; the report says what has changed since")


def wanted(options: argparse.Namespace) -> bool:
    """Whether OPTIONS ask for such runs."""
    return not options.sweep and bool(options.cases or options.repeat is not None or options.append
                                      or len(options.compare or ()) > 1)


def sides(options: argparse.Namespace) -> dict[str, str]:
    """The boot options of each side, by its letter."""
    common = " ".join(options.append)
    return {side: f"{common} {words}".strip() for side, words in zip(SIDES, _sets(options) or ("",))}


def about(options: argparse.Namespace) -> Json:
    """What the results say of the runs."""
    return {"sides": sides(options)}


def _sets(options: argparse.Namespace) -> Sequence[str]:
    """The sets of boot options of --compare; one word is no set, but earlier results."""
    return options.compare if len(options.compare or ()) > 1 else ()


def program(options: argparse.Namespace, shape: Sequence[str], size: str | None) -> tuple[str, ...]:
    """The benchmark's program on a machine of SHAPE; of class SIZE, by default S, if it has classes."""
    if options.benchmark == "workloads":
        cpus = int(shape[shape.index("--cpus") + 1])
        return workloads.program(cpus, size or workloads.SIZES[0], *(options.cases or ",".join(workloads.THESIS)).split(","))
    name = PROGRAMS.get(options.benchmark)
    if name is None:
        raise UsageError(f"bench {options.benchmark} has no cases to choose: leave out --cases, --repeat, --append and --compare")
    built(f"userland/{name}")
    return (name, "--json", *(("--quick",) if options.quick else ()), *(("--cases", options.cases) if options.cases else ()))


def plan(options: argparse.Namespace) -> list[Run]:
    """The runs. Raises UsageError."""
    if options.repeat == 0:
        raise UsageError("--repeat must be at least 1")
    if len(options.compare or ()) > len(SIDES):
        raise UsageError("--compare takes two sets of boot options, or one folder of earlier results")
    for name, sets in (("--append", options.append), ("--compare", _sets(options))):
        for words in sets:
            boot_options.check(words, f"{name} '{words}'")
    machine = ("--cpus", str(options.cpus), "--nodes", str(options.nodes), "--kernels", options.kernels)
    runs = []
    environment = workloads.environment(workloads.ENVIRONMENT) if options.benchmark == "workloads" else ()
    for group, shape in (("work", (*machine, *COUNTS, *environment)), ("time", (*TIME_MACHINE, *TIMES, *environment))):
        words = program(options, shape, options.size)
        if options.benchmark == "workloads" and group == "time":
            words = workloads.warm(words)
        for number in range(1, (options.repeat or 1) + 1):
            found = [Run(f"{group}-{number}-{side}", shape, words, options=tuple(chosen.split()))
                     for side, chosen in sides(options).items()]
            runs += found if number % 2 else found[::-1]  # a host that slows down favours neither side
    return runs


def _figure(values: Sequence[float], digits: int) -> str:
    """The mean of VALUES, with the half width of its confidence interval."""
    if not values:
        return "-"
    half = interval(values)
    mean = f"{statistics.fmean(values):,.{digits}f}"
    return mean if half is None else f"{mean} ± {half:,.{digits}f}"


def _table(data: Json, group: str, title: str, value: Value, digits: int) -> str:
    letters = list(data["sides"])
    names = dict.fromkeys(item.case["case"] for item in measured(data, f"{group}-"))
    rows = []
    for name in names:
        columns = [pair_values(data, group, side, name, value) for side in letters]
        found = [[item for item in column if item is not None] for column in columns]
        if any(found):
            ratio = [_figure(ratios(columns[1], columns[0]), 3)] if len(columns) > 1 else []
            rows.append([f"`{name}`", *(_figure(column, digits) for column in found), *ratio])
    head = ["", *letters, *(["B/A"] if len(letters) > 1 else [])]
    return f"## {title}\n\n{table(head, rows)}" if rows else ""


def report(data: Json) -> Report:
    """A table for each group of runs."""
    told = "\n".join(f"- {side}: {f'`{words}`' if words else 'the defaults'}" for side, words in data["sides"].items())
    head = (f"## Sides\n\n{told}\n\nFigures are means of all rounds, ± half of the 95 % confidence interval where there are several. "
            "Kettle's looking for work is not among the instructions.\n")
    return Report(head, [part for group in GROUPS if (part := _table(data, *group))])
