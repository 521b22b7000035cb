"""A benchmark's program under every combination of options: `kettle bench NAME --sweep AXIS=VALUES ...`.

An axis is one of

    kernels=1,2,4      CPUs, and with them threads; a kernel each, unless there is the axis layout
    layout=core,node,one    a kernel for each core, for each node, or one for the machine
    class=S,W          of workloads: the size of the problem
    mempolicy=default,local,interleave,bind     of workloads: where the program's pages are to be, by set_mempolicy(2)
    NAME=VALUES        a boot option of Kettle's (`kettle list options`): prefetch, retrieve, lock, place, text ...

Each round makes, for each machine and input, one run of Linux and one of Kettle for each combination of Kettle's own axes, one
after another on one machine; every other round the other way round. Runs are work-POINT-ROUND-SIDE, which count instructions on
one host thread, and time-POINT-ROUND-SIDE, where POINT is AXIS=VALUE+AXIS=VALUE. Ratios are taken within a round.
"""

import argparse
import itertools
import re
from typing import Any, Mapping, Sequence

from hosttools.bench import options as bench_options
from hosttools.errors import UsageError
from hosttools.machine import boot_options
from hosttools.results import verdict
from hosttools.results.pairs import COUNTS, TIMES, Value, work
from hosttools.results.plots import Plot
from hosttools.results.runs import Report, Run, measured
from hosttools.results.stats import figure, interval, table
from hosttools.suites import workloads
from hosttools.suites.workloads_report import critical_path, kernel_work

TITLE = "Sweep"
SUFFIX = "-sweep"  # of a benchmark's name, in what these runs give
LINUX_TOO = ("abi", "tasks", "vm", "workloads")  # whose programs run on Linux
LAYOUTS = {"core": "core", "node": "node", "one": "1"}
FIXED = {"layout": tuple(LAYOUTS), "class": workloads.SIZES, "mempolicy": ("default", "local", "interleave", "bind")}
KERNELS_MOST = 64
OF_LINUX = ("kernels", "class", "mempolicy")  # the axes that Linux has, too
OF_WORKLOADS = ("class", "mempolicy")
RUN_LIMIT = 1800  # seconds
VALUES: tuple[tuple[str, str, Value], ...] = (
    ("work", "kernel-mode instructions", kernel_work), ("work", "instructions", work),
    ("work", "modelled critical path", critical_path), ("time", "time", verdict.timed_us))

Json = dict[str, Any]
Point = dict[str, str]  # a value for each axis


def add_options(group: Any) -> None:
    """The options that ask for a sweep."""
    group.add_argument("--sweep", action="append", default=[], metavar="AXIS=VALUES",
                       help="run the program with each of the VALUES, comma-separated; several --sweep: every combination. Axes: "
                            "kernels=1..64, layout=core|node|one, any boot option, and of workloads class=S|W|A|B and "
                            "mempolicy=default|local|interleave|bind. --repeat: rounds, --cases: programs, --append: common options, "
                            "--only 'work-*': without times")


def wanted(options: argparse.Namespace) -> bool:
    """Whether OPTIONS ask for a sweep."""
    return bool(options.sweep)


def about(options: argparse.Namespace) -> Json:
    """What the results say of the runs."""
    return {"axes": axes(options)}


def axes(options: argparse.Namespace) -> dict[str, list[str]]:
    """The axes with their values, in order. Raises UsageError."""
    found: dict[str, list[str]] = {}
    for text in options.sweep:
        name, _, words = text.partition("=")
        values = words.split(",")
        if name in found or not all(values) or len(set(values)) < len(values):
            raise UsageError(f"--sweep '{text}': expected AXIS=VALUE,VALUE, each axis and value once")
        if name in OF_WORKLOADS and options.benchmark != "workloads":
            raise UsageError(f"--sweep '{text}': {name} is an axis of workloads alone")
        if name == "class" and options.size is not None:
            raise UsageError(f"--sweep '{text}': the class is that of --class {options.size} already")
        for value in values:
            _check(name, value, text)
        found[name] = values
    return found


def _check(name: str, value: str, text: str) -> None:
    if name == "kernels":
        if not re.fullmatch("[0-9]{1,2}", value) or not 1 <= int(value) <= KERNELS_MOST:
            raise UsageError(f"--sweep '{text}': kernels are 1 to {KERNELS_MOST}")
    elif name in FIXED:
        if value not in FIXED[name]:
            raise UsageError(f"--sweep '{text}': {name} is {', '.join(FIXED[name])}")
    else:
        boot_options.check(f"{name}={value}", f"--sweep '{text}'")


def points(found: Mapping[str, Sequence[str]]) -> list[Point]:
    """Every combination of the axes' values."""
    return [dict(zip(found, values)) for values in itertools.product(*found.values())]


def label(point: Point) -> str:
    """What a point is called in names of runs."""
    return "+".join(f"{name}={value}" for name, value in point.items()) or "all"


def of_linux(point: Point) -> Point:
    """What Linux has of a point."""
    return {name: value for name, value in point.items() if name in OF_LINUX}


def plan(options: argparse.Namespace) -> list[Run]:
    """The runs. Raises UsageError."""
    if len(options.compare or ()) > 1:
        raise UsageError("--sweep has its own sides: --compare takes one folder of earlier results here")
    if options.repeat == 0:
        raise UsageError("--repeat must be at least 1")
    for words in options.append:
        boot_options.check(words, f"--append '{words}'")
    found = axes(options)
    machines: dict[str, list[Point]] = {}  # the points that one run of Linux stands beside
    for point in points(found):
        machines.setdefault(label(of_linux(point)), []).append(point)
    runs = []
    for number in range(1, (options.repeat or 1) + 1):
        for group in ("work", "time"):
            for beside in machines.values():
                runs += _round(options, group, number, beside)
    return runs


def _round(options: argparse.Namespace, group: str, number: int, beside: Sequence[Point]) -> list[Run]:
    """Linux and Kettle with all that differs for Kettle alone."""
    common = tuple(" ".join(options.append).split())
    together = f"{group}-{label(of_linux(beside[0]))}-{number}"
    runs = []
    if options.benchmark in LINUX_TOO:
        shape, words = _machine(options, group, of_linux(beside[0]))
        runs.append(Run(f"{together}-linux", ("--os", "linux", *shape), words, RUN_LIMIT, (), together))
    for point in beside:
        shape, words = _machine(options, group, point)
        boot = tuple(f"{name}={value}" for name, value in point.items() if name not in ("kernels", *FIXED))
        runs.append(Run(f"{group}-{label(point)}-{number}-kettle", shape, words, RUN_LIMIT, (*common, *boot), together))
    return runs if number % 2 else runs[::-1]


def _machine(options: argparse.Namespace, group: str, point: Point) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The options of the machine, and the program, at POINT."""
    cpus = int(point.get("kernels", options.cpus))
    kernels = LAYOUTS[point["layout"]] if "layout" in point else options.kernels
    shape = ("--cpus", str(cpus), "--nodes", str(min(options.nodes, cpus)), *(("--kernels", kernels) if kernels != "core" else ()))
    pace = COUNTS if group == "work" else workloads.pace(cpus) if options.benchmark == "workloads" or cpus > 2 else TIMES
    words = bench_options.program(options, shape, point.get("class", options.size))
    if options.benchmark == "workloads":
        policy = ("--mempolicy", point["mempolicy"]) if "mempolicy" in point else ()
        words = words if group == "work" else workloads.warm(words)
        return (*shape, *pace, *workloads.environment(workloads.ENVIRONMENT)), (words[0], *policy, *words[1:])
    return (*shape, *pace), words


# --- the figures ---

def _rounds(data: Json, group: str, point: Point, side: str, value: Value) -> dict[str, dict[int, float]]:
    """VALUE of each case in each round."""
    pattern = re.compile(rf"{re.escape(f'{group}-{label(point)}')}-(\d+)-{side}")
    found: dict[str, dict[int, float]] = {}
    for item in measured(data, f"{group}-{label(point)}-"):
        match = pattern.fullmatch(item.run)
        number = value(item) if match else None
        if match and number is not None:
            found.setdefault(item.case["case"], {})[int(match[1])] = number
    return found


def ratios(data: Json, group: str, point: Point, value: Value) -> dict[str, list[float]]:
    """Kettle's VALUE at POINT over Linux's, of each case, round by round."""
    kettle, linux = _rounds(data, group, point, "kettle", value), _rounds(data, group, of_linux(point), "linux", value)
    return {case: [found[number] / linux[case][number] for number in sorted(found) if linux.get(case, {}).get(number)]
            for case, found in kettle.items()}


def _cell(values: Sequence[float], digits: int) -> str:
    if not values:
        return "-"
    half = interval(values)
    mean = sum(values) / len(values)
    return figure(mean, digits) + ("" if half is None else f" ± {figure(half, digits)}")


def _tables(data: Json, group: str, title: str, value: Value) -> list[str]:
    """Kettle's figures, and those over Linux's: a row for each case, a column for each point."""
    every = points(data["axes"])
    own = [_rounds(data, group, point, "kettle", value) for point in every]
    over = [ratios(data, group, point, value) for point in every]
    head = ["", *(f"`{label(point)}`" for point in every)]
    tables = []
    for heading, columns, digits in ((f"Kettle's {title}", [{case: list(found.values()) for case, found in column.items()}
                                                            for column in own], 0), (f"Kettle's {title} over Linux's", over, 3)):
        cases = list(dict.fromkeys(case for column in columns for case in column if column[case]))
        if cases:
            rows = [[f"`{case}`", *(_cell(column.get(case, ()), digits) for column in columns)] for case in cases]
            tables.append(f"## {heading}\n\n{table(head, rows)}")
    return tables


def mean_ratio(data: Json, group: str, point: Point, value: Value) -> float | None:
    """The geometric mean of all cases' ratios at POINT."""
    found = [ratio for column in ratios(data, group, point, value).values() for ratio in column if ratio > 0]
    return verdict.geometric(found)[0] if found else None


def _summary(data: Json) -> str:
    rows = []
    for point in points(data["axes"]):
        cells = [figure(mean_ratio(data, group, point, value), 3) for group, _, value in VALUES]
        rows.append([f"`{label(point)}`", *cells])
    return ("## Over Linux's, geometric means of all programs\n\n" + table(["", *(title for _, title, _ in VALUES)], rows)
            if any(cell != "-" for row in rows for cell in row[1:]) else "")


def plots(data: Json) -> list[Plot]:
    """A plot for each figure over the first axis, a line for each combination of the others."""
    first, *others = data["axes"]
    rest = points({name: data["axes"][name] for name in others})
    found = []
    for group, title, value in VALUES:
        lines = {label(point): [mean_ratio(data, group, {first: x, **point}, value) for x in data["axes"][first]] for point in rest}
        found.append(Plot(f"sweep-{title.replace(' ', '-')}", f"{title[0].upper()}{title[1:]} over Linux's, geometric mean", first,
                          "Kettle over Linux", data["axes"][first], lines=lines, png=True))
    return found


def told(data: Json) -> str:
    """Who won, over all points, and where Kettle did best."""
    parts = []
    for group, title, value in (VALUES[0], VALUES[3]):
        found = {label(point): [ratio for column in ratios(data, group, point, value).values() for ratio in column if ratio > 0]
                 for point in points(data["axes"])}
        every = [ratio for values in found.values() for ratio in values]
        if every:
            best = min((name for name in found if found[name]), key=lambda name: verdict.geometric(found[name])[0])
            parts.append(verdict.sentence("the programs", title, every) + f" Its best is {verdict.geometric(found[best])[0]:.2f}, at {best}.")
    return " ".join(parts)


def tidy(data: Json) -> list[Json]:
    """A row for each figure of each case in each round, with a column for each axis; Linux has no value on Kettle's own."""
    rows = []
    for side, every in (("kettle", points(data["axes"])), ("linux", [of_linux(point) for point in points(data["axes"])])):
        for point in {label(each): each for each in every}.values():
            axes_of = {name: point.get(name, "") for name in data["axes"]}
            for group, title, value in VALUES:
                for case, found in _rounds(data, group, point, side, value).items():
                    rows += [{**axes_of, "system": side, "round": number, "case": case, "figure": title.replace(" ", "_"), "value": amount}
                             for number, amount in sorted(found.items())]
    return rows


def report(data: Json) -> Report:
    """The summary, tables and plots."""
    sentence = told(data)
    lines = "\n".join(f"- {name}: {', '.join(values)}" for name, values in data["axes"].items())
    head = (f"{sentence}\n\n" if sentence else "") + (f"## Axes\n\n{lines}\n\nWhere there are several rounds, figures are means, ± "
                                                      "half of the 95 % confidence interval. Kettle's looking for work is not among "
                                                      "the instructions.\n")
    tables = [_summary(data), *(part for group, title, value in VALUES for part in _tables(data, group, title, value))]
    return Report(head, [part for part in tables if part], plots(data), sentence, tidy(data))
