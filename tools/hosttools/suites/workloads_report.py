"""The tables and plots of the benchmark `workloads`: see suites/workloads.py."""

import re
import statistics
from typing import Any, Iterator, Sequence

from hosttools.results.pairs import Value, pair_values
from hosttools.results.plots import Plot
from hosttools.results.runs import Measured, measured
from hosttools.results.stats import Spread, figure, interval, ratios, spread, table
from hosttools.results.tables import profile_table
from hosttools.suites.real import PREFIX, PROGRAMS

KERNELS = (1, 2, 4, 8)
PATH_CPUS = 16  # of the machine on which a critical path stands beside the ideal one
THESIS = ("is", "ft", "cg", "bfs", "lud")
WAITS = {"passive": {"OMP_WAIT_POLICY": "passive"}, "spin1000": {"GOMP_SPINCOUNT": "1000"}, "default": {}}
OPTIONS = ("prefetch=0", "prefetch=32", "retrieve=adaptive")
MESSAGE_ROWS = 5
REPLY = ".reply"

Json = dict[str, Any]


# --- the figures of one program in one run ---

def milliseconds(item: Measured) -> float | None:
    """The time of the timed part."""
    return statistics.median(item.case["ns"]) / 1e6 if item.case["ns"] else None


def kernel_work(item: Measured) -> float | None:
    """Instructions in kernel mode, without Kettle's looking for work."""
    return None if item.cost is None else item.cost.kernel


def all_work(item: Measured) -> float | None:
    """All instructions without Kettle's looking for work."""
    return None if item.cost is None else item.cost.work


def critical_path(item: Measured) -> float | None:
    """Over all phases, what the busiest CPU executed."""
    entry = item.counts.get(item.case["region"] + 1)
    return entry.get("critical") if entry else None


def start_work(item: Measured) -> float | None:
    """Instructions from the start of the team until all its threads have arrived."""
    entry = item.counts.get(item.case["region"] + 2)
    return float(sum(cpu["user"] + cpu["kernel"] for cpu in entry["cpus"])) if entry else None


def alone_work(item: Measured) -> float:
    """What one member executes while all others wait for it: the program's serial part."""
    entry = item.counts.get(item.case["region"] + 3)
    return float(max(cpu["user"] + cpu["kernel"] for cpu in entry["cpus"])) if entry else 0.0


def compare(data: Json, series: str, case: str, value: Value) -> tuple[Spread | None, Spread | None, Spread | None]:
    """VALUE of CASE on Kettle, on Linux, and the ratio, over the pairs of SERIES."""
    sides = [pair_values(data, series, side, case, value) for side in ("kettle", "linux")]
    found = [spread([item for item in side if item is not None]) for side in sides]
    return found[0], found[1], spread(ratios(*sides))


def ideal_path(data: Json, case: str) -> tuple[float, float, float] | None:
    """Of CASE: the modelled critical path on PATH_CPUS kernels in instructions, the ideal one, and the program's serial part. The
    ideal is the serial part and a PATH_CPUS-th of the rest of what one kernel executes. None: not measured."""
    size = case.rpartition(".")[2]
    path = compare(data, f"work-{size}-{PATH_CPUS}", case, critical_path)[0]
    whole, alone = (compare(data, f"work-{size}-1", case, value)[0] for value in (all_work, alone_work))
    if path is None or whole is None or alone is None:
        return None
    return path.median, (whole.median - alone.median) / PATH_CPUS + alone.median, alone.median


def wall_ratios(data: Json) -> list[float]:
    """The ratios of times of the thesis's programs, of each pair."""
    return [ratio for size in classes(data) for cpus in KERNELS for name in THESIS
            for ratio in ratios(*(pair_values(data, f"time-{size}-{cpus}", side, f"{name}.{size}", milliseconds)
                                  for side in ("kettle", "linux")))]


def classes(data: Json) -> list[str]:
    """The classes that were run, in order."""
    return list(dict.fromkeys(item.case["class"] for item in measured(data, "") if "class" in item.case))


def _programs(data: Json, size: str) -> list[str]:
    return list(dict.fromkeys(item.case["program"] for item in measured(data, "") if item.case.get("class") == size))


# --- tables ---

def _ratio_cell(data: Json, series: str, case: str, value: Value, digits: int = 3) -> str:
    """The median ratio, with half of the mean's 95 % confidence interval where there are several pairs."""
    found = ratios(*(pair_values(data, series, side, case, value) for side in ("kettle", "linux")))
    if not found:
        return "-"
    half = interval(found)
    text = f"{statistics.median(found):,.{digits}f}"
    return text if half is None else f"{text} ± {half:,.{digits}f}"


def _by_kernels(data: Json, series: str, value: Value, size: str, what: str) -> str:
    """A row for each program, a column for each number of kernels: ratios."""
    rows = []
    for name in _programs(data, size):
        cells = [_ratio_cell(data, f"{series}-{size}-{cpus}", f"{name}.{size}", value) for cpus in KERNELS]
        if any(cell != "-" for cell in cells):
            rows.append([f"`{name}`", *cells])
    return f"### {what}, class {size}\n\n" + table(["", *map(str, KERNELS)], rows) if rows else ""


def _absolute(data: Json, series: str, value: Value, size: str, what: str, scale: float, digits: int) -> str:
    rows = []
    for name in _programs(data, size):
        cells = []
        for cpus in KERNELS:
            for found in compare(data, f"{series}-{size}-{cpus}", f"{name}.{size}", value)[:2]:
                cells.append(figure(found.median / scale if found else None, digits))
        if any(cell != "-" for cell in cells):
            rows.append([f"`{name}`", *cells])
    head = ["", *(f"{cpus} {side}" for cpus in KERNELS for side in ("Kettle", "Linux"))]
    return f"### {what}, class {size}\n\n" + table(head, rows) if rows else ""


def _section(heading: str, text: str, parts: Sequence[str]) -> str:
    found = [part for part in parts if part]
    return f"## {heading}\n\n{text}\n\n" + "\n".join(found) if found else ""


def _speedups(data: Json, size: str) -> str:
    rows = []
    for name in _programs(data, size):
        for side in range(2):
            paths = [compare(data, f"work-{size}-{cpus}", f"{name}.{size}", critical_path)[side] for cpus in KERNELS]
            if paths[0] and any(paths[1:]):
                rows.append([f"`{name}`, {('Kettle', 'Linux')[side]}", figure(paths[0].median / 1e6, 2),
                             *(figure(paths[0].median / path.median if path else None, 2) for path in paths[1:])])
    head = ["", "1: instructions, M", *(f"{cpus}: speed-up" for cpus in KERNELS[1:])]
    return f"### Class {size}\n\n" + table(head, rows) if rows else ""


def starts(data: Json, cpus: int) -> tuple[Spread | None, Spread | None, float | None]:
    """The first parallel region of every program on CPUS, which is the same in all: on Kettle, on Linux, and the medians' ratio."""
    found = []
    for side in ("kettle", "linux"):
        values = [start_work(item) for item in measured(data, "work-") if re.fullmatch(rf"work-.-{cpus}-\d+-{side}", item.run)]
        found.append(spread([value for value in values if value is not None]))
    return found[0], found[1], found[0].median / found[1].median if found[0] and found[1] else None


def _ideal_table(data: Json) -> str:
    """A row for each program that was run on PATH_CPUS kernels."""
    rows = []
    for size in classes(data):
        for name in _programs(data, size):
            found = ideal_path(data, f"{name}.{size}")
            linux = compare(data, f"work-{size}-{PATH_CPUS}", f"{name}.{size}", critical_path)[2]
            if found:
                path, ideal, alone = found
                rows.append([f"`{name}`, class {size}", *(figure(value / 1e6, 2) for value in (alone, ideal, path)),
                             figure(path / ideal, 3), figure(linux.median if linux else None, 3)])
    head = ["", "serial part, M", "ideal, M", "measured, M", "over the ideal", "over Linux's"]
    return table(head, rows) if rows else ""


def _start_table(data: Json) -> str:
    rows = []
    for cpus in KERNELS:
        kettle, linux, ratio = starts(data, cpus)
        if kettle or linux:
            rows.append([str(cpus), *(side.text(0) if side else "-" for side in (kettle, linux)), figure(ratio, 3)])
    return table(["kernels", "Kettle", "Linux", "ratio"], rows) if rows else ""


def _message_rows(data: Json) -> Iterator[list[str]]:
    told = set()
    for item in measured(data, f"work-S-{KERNELS[-1]}-"):
        if item.run.endswith("-linux") or item.case["program"] in told:
            continue
        told.add(item.case["program"])
        sent = item.case.get("messages") or {}
        requests = {name: count for name, count in sent.items() if not name.endswith(REPLY)}
        greatest = sorted(requests.items(), key=lambda row: (-row[1], row[0]))[:MESSAGE_ROWS]
        yield [f"`{item.case['program']}`", figure(sum(sent.values())),
               ", ".join(f"{name} {count:,}" for name, count in greatest) or "none"]


def _option_table(data: Json) -> str:
    """A row for each program: kernel-mode instructions and critical path by default, and with each option over that."""
    usual = f"work-S-{KERNELS[-1]}"
    rows = []
    for name in _programs(data, "S"):
        base = [compare(data, usual, f"{name}.S", value)[0] for value in (kernel_work, critical_path)]
        cells = []
        for option in OPTIONS:
            for before, value in zip(base, (kernel_work, critical_path)):
                now = compare(data, f"option-{option}", f"{name}.S", value)[0]
                cells.append(figure(now.median / before.median if now and before and before.median else None, 3))
        if any(cell != "-" for cell in cells):
            linux = compare(data, usual, f"{name}.S", kernel_work)[2]
            rows.append([f"`{name}`", figure(linux.median if linux else None, 3), *cells])
    head = ["", "default: kernel mode over Linux's",
            *(f"`{option}`: {what}" for option in OPTIONS for what in ("kernel mode", "critical path"))]
    return table(head, rows) if rows else ""


def _real_table(data: Json) -> str:
    """A row for each program that people run and number of CPUs: ratios to Linux's."""
    rows = []
    for name in PROGRAMS:
        for cpus in KERNELS:
            cells = [_ratio_cell(data, f"{PREFIX}-{name}-{series}-{cpus}", name, value)
                     for series, value in (("time", milliseconds), ("work", kernel_work), ("work", all_work))]
            if any(cell != "-" for cell in cells):
                rows.append([f"`{name}` with {cpus}", *cells])
    return table(["", "time", "kernel mode", "all instructions"], rows) if rows else ""


def _pomp_table(data: Json) -> str:
    rows = []
    for name in THESIS:
        for cpus in KERNELS[1:]:
            series, case = f"pomp-S-{cpus}", f"{name}.S"
            moves = compare(data, series, case, lambda item: item.case["moves"])[0]
            if moves:
                rows.append([f"`{name}` on {cpus}", figure(moves.median),
                             *(_ratio_cell(data, series, case, value) for value in (kernel_work, all_work, critical_path))])
    return table(["", "moves", "kernel mode", "all instructions", "critical path"], rows) if rows else ""


def _wait_table(data: Json) -> str:
    rows = []
    for policy, words in WAITS.items():
        for side in ("kettle", "linux"):
            for item in measured(data, f"wait-{policy}-1-{side}"):
                cost = item.cost
                rows.append([f"`{item.case['program']}`, {side.title()}, "
                             + (" ".join(f"{name}={value}" for name, value in words.items()) or "as it is by itself"),
                             *(figure(value / 1e6, 2) for value in ((cost.user, cost.kernel) if cost else (0, 0))),
                             figure(milliseconds(item), 0)])
    return table(["", "user, M", "kernel, M", "ms"], sorted(rows)) if rows else ""


def tables(data: Json) -> list[str]:
    """All tables of the report."""
    found = classes(data)
    parts = [
        _section("Wall-clock time over Linux's",
                 "Medians of pairs of runs, ± half of the 95 % confidence interval of the mean ratio; columns are kernels, and CPUs "
                 "of Linux. Up to two CPUs each has a host thread; above, all share one, so the time is that of the work of all.",
                 [_by_kernels(data, "time", milliseconds, size, "Ratios") for size in found]
                 + [_absolute(data, "time", milliseconds, size, "Times in ms", 1.0, 1) for size in found]),
        _section("Instructions in kernel mode over Linux's", "Of the timed part, on all CPUs, without Kettle's looking for work.",
                 [_by_kernels(data, "work", kernel_work, size, "Ratios") for size in found]
                 + [_absolute(data, "work", kernel_work, size, "Thousands of instructions", 1e3, 0) for size in found]),
        _section("All instructions over Linux's", "Programs and kernels, of the timed part.",
                 [_by_kernels(data, "work", all_work, size, "Ratios") for size in found]),
        _section("Modelled critical path",
                 "The sum, over all phases between barriers, of the instructions of the CPU that executed the most: a model of the "
                 "time on a machine with as many CPUs, where each instruction takes as long as any other.",
                 [_by_kernels(data, "work", critical_path, size, "Kettle's over Linux's") for size in found]
                 + [_speedups(data, size) for size in found]),
        _section(f"Modelled critical path on {PATH_CPUS} kernels",
                 f"Beside the ideal: what one member executes alone in any case, and a {PATH_CPUS}th of the rest of what one kernel "
                 "executes. A program's own imbalance, as of 25 blocks for 16 members, is above the ideal.", [_ideal_table(data)]),
        _section("First parallel region", "Instructions from the program's first `omp parallel` until all its threads have arrived"
                 ": threads made, everywhere, with their first pages. Medians of all programs, lowest and highest.",
                 [_start_table(data)]),
        _section("Messages", f"That Kettle's kernels sent in the timed part on {KERNELS[-1]} kernels, replies included; and the "
                 "most frequent types, without replies.",
                 [table(["", "messages", "of these"], rows) if (rows := list(_message_rows(data))) else ""]),
        _section("Boot options", f"Kettle on {KERNELS[-1]} kernels with an option, over Kettle by default.", [_option_table(data)]),
        _section("As the thesis's programs moved", "`--pomp`: threads begin at the first kernel, move to their own and back, by "
                 "sched_setaffinity on both sides. Ratios to Linux.", [_pomp_table(data)]),
        _section("Programs that people run", "Debian's own, with as many threads or processes at once: zstd -T on 8 MiB of text, a build of a "
                 "hundred C files by tcc, threads of sqlite on one file. Ratios to Linux.", [_real_table(data)]),
        _section("How OpenMP's threads wait", "On four CPUs and one host thread, class S. The other runs have "
                 "OMP_WAIT_POLICY=passive on both sides.", [_wait_table(data)]),
        profile_table(data)]
    return [part for part in parts if part]


# --- plots ---

def _lines(data: Json, series: str, size: str, value: Value) -> dict[str, list[float | None]]:
    lines = {}
    for name in _programs(data, size):
        found = [compare(data, f"{series}-{size}-{cpus}", f"{name}.{size}", value)[2] for cpus in KERNELS]
        if name in THESIS and any(found):
            lines[name.upper()] = [ratio.median if ratio else None for ratio in found]
    return {**lines, "Linux": [1.0] * len(KERNELS)} if lines else {}


def plots(data: Json) -> list[Plot]:
    """All plots of the report."""
    found = []
    labels = list(map(str, KERNELS))
    for size in classes(data):
        for name, series, value, title in (
                ("time", "time", milliseconds, "Wall-clock time"), ("kernel", "work", kernel_work, "Instructions in kernel mode"),
                ("critical", "work", critical_path, "Modelled critical path")):
            found.append(Plot(f"{name}-{size}", f"{title} over Linux's, class {size}: medians of pairs", "kernels, CPUs of Linux",
                              "ratio", labels, _lines(data, series, size, value), png=True))
        speed: dict[str, list[float | None]] = {}
        for program in _programs(data, size):
            paths = [compare(data, f"work-{size}-{cpus}", f"{program}.{size}", critical_path)[0] for cpus in KERNELS]
            if paths[0] and program in (*THESIS, "mg", "ep"):
                speed[program.upper()] = [paths[0].median / path.median if path else None for path in paths]
        if speed:
            speed["ideal"] = [float(cpus) for cpus in KERNELS]
        found.append(Plot(f"speed-up-{size}", f"Modelled speed-up on Kettle, class {size}", "kernels", "times that of one kernel",
                          labels, speed, png=True))
    return found
