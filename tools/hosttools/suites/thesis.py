"""The benchmark `thesis`: the tables and figures of chapter 6 of the Popcorn thesis, drawn from runs of the same programs here.

Its programs IS, FT, CG, BFS and LUD run as its own did (`--pomp`): threads begin at the first kernel, move to theirs and back. Their
problems are of class S, or of the one that --class says.

    slots-S-N-kettle    on N kernels, one host thread, with `prefetch=S`: what kernels count of each program's address space,
                        instructions by CPU, the modelled critical path
    slots-1-N-linux     the same on Linux, which stands beside all three
    fetch-S-2-kettle    on two kernels, instructions exactly: first reads of consecutive pages that another kernel has; also with
                        `prefetch=0`, where each is a fetch
    profile-PROGRAM, profile-PROGRAM-linux  which functions of either kernel executed the instructions

thesis_data has the thesis's tables; what it shows only as a picture has no numbers here. Table 6.1 and figure 6.1 are those of the
benchmark `tasks`.
"""

import argparse
import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Sequence

from hosttools.paths import built
from hosttools.results.pairs import COUNTS, EXACT, work
from hosttools.results.plots import Plot
from hosttools.results.runs import Measured, Report, Run, find, measured
from hosttools.results.stats import figure, table
from hosttools.results.tables import profile_table
from hosttools.run.space_events import DRAWN, by_kernel
from hosttools.suites import workloads
from hosttools.suites.workloads_report import THESIS, all_work, critical_path

SUMMARY = "the thesis's tables and figures of chapter 6, theirs beside those of the same programs here"
TITLE = "Chapter 6 of the thesis, redrawn"

SLOTS = (1, 4, 8)
KERNELS, KERNELS_QUICK = (1, 2, 4, 8, 16), (1, 2, 4)
SIZE = workloads.SIZES[0]  # unless --class says another
WAITING = {"OMP_WAIT_POLICY": "passive"}
FETCH = "touch_fetch.same"
FETCH_SLOTS = (0, *SLOTS)
PROFILED, PROFILED_QUICK = THESIS, ("cg",)
RUN_LIMIT = 1800  # seconds
# Where a program's figures and tables begin in the thesis; each program has FIGURES, in this order.
FIRST_FIGURE = dict(zip(THESIS, range(2, 72, 14)))
FIRST_TABLE = dict(zip(THESIS, range(2, 22, 4)))
DATA = Path(__file__).parent / "thesis_data"

Json = dict[str, Any]


# --- the runs ---

def plan(options: argparse.Namespace) -> list[Run]:
    """The runs of the benchmark."""
    built("userland/taskbench")
    size = options.size or SIZE
    runs = []
    for kernels in KERNELS_QUICK if options.quick else KERNELS:
        shape = (*workloads.machine(kernels), *COUNTS, *workloads.environment(WAITING))
        words = workloads.program(kernels, size, "--pomp", *THESIS)
        group = f"slots-{kernels}"
        runs.append(Run(linux_run(kernels), ("--os", "linux", *shape), words, RUN_LIMIT, (), group))
        runs += [Run(f"slots-{slots}-{kernels}-kettle", (*shape, "--events"), words, RUN_LIMIT, (f"prefetch={slots}",), group)
                 for slots in SLOTS]
    runs += [Run(f"fetch-{slots}-2-kettle", ("--cpus", "2", *EXACT), ("taskbench", "--json", "--cases", FETCH),
                 RUN_LIMIT, (f"prefetch={slots}",)) for slots in FETCH_SLOTS]
    for name in PROFILED_QUICK if options.quick else PROFILED:
        shape = (*workloads.machine(4), "--tcg", "single", "--profile", "/dev/null", *workloads.environment(WAITING))
        words = workloads.program(4, size, "--pomp", name)
        runs += [Run(f"profile-{name}", shape, words, RUN_LIMIT), Run(f"profile-{name}-linux", ("--os", "linux", *shape), words, RUN_LIMIT)]
    return runs


def linux_run(kernels: int) -> str:
    """The run of Linux on as many CPUs as KERNELS."""
    return f"slots-{SLOTS[0]}-{kernels}-linux"


def kettle_run(kernels: int) -> str:
    """That of Kettle with the slots of its default."""
    return f"slots-{SLOTS[1]}-{kernels}-kettle"


def about(options: argparse.Namespace) -> Json:
    """What the results say of the runs."""
    return {"class": options.size or SIZE}


# --- what is found ---

def size_of(data: Json) -> str:
    """The class of the programs' problems."""
    return str(data.get("class", SIZE))


def published(name: str) -> list[dict[str, str]]:
    """The rows of the thesis's table NAME."""
    with open(DATA / f"{name}.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def kernels_of(data: Json) -> list[int]:
    """The numbers of kernels that were run, in order."""
    return sorted({int(run["name"].split("-")[2]) for run in data["runs"] if run["name"].startswith("slots-")})


def events(data: Json, slots: int, kernels: int) -> dict[str, dict[int, dict[str, int]]]:
    """What each kernel counted, for each program. Programs are processes that one parent makes one after another, so their ids
    are in the programs' order behind the parent's. A run whose processes are not these gives nothing."""
    run = next((run for run in data["runs"] if run["name"] == f"slots-{slots}-{kernels}-kettle"), None)
    rows = (run or {}).get("space_events") or []
    groups = sorted({row["group"] for row in rows})
    if run is None or run["problem"] or len(groups) != 1 + len(THESIS):
        return {}
    return {name: by_kernel(rows, group) for name, group in zip(THESIS, groups[1:])}


def value(data: Json, run: str, name: str, what: Callable[[Measured], float | None]) -> float | None:
    """WHAT of the program NAME in RUN."""
    item = find(data, run, f"{name}.{size_of(data)}")
    return None if item is None else what(item)


@dataclass(frozen=True)
class Mode:
    """Instructions in user or kernel mode, without the looking for work."""

    name: str

    def __call__(self, item: Measured) -> float | None:
        return None if item.cost is None else float(getattr(item.cost, self.name))


# --- tables ---

def _retrievals(data: Json, name: str) -> str:
    """Tables like 6.2 to 6.4: a row for each kernel."""
    most = max(kernels_of(data), default=0)
    theirs = {(int(row["slots"]), int(row["kernel"])): row for row in published("faults") if row["program"] == name}
    ours = {slots: events(data, slots, most).get(name, {}) for slots in SLOTS}
    if not any(ours.values()):
        return ""
    rows = []
    for kernel in range(max(16, most)):
        there = [theirs.get((slots, kernel)) for slots in SLOTS]
        rows.append([str(kernel), *(figure(int(row["count"])) if row else "-" for row in there),
                     *(figure(int(row["average"])) if row else "-" for row in there),
                     *(figure(ours[slots].get(kernel, {}).get("fetches", 0)) if kernel < most else "-" for slots in SLOTS)])
    head = ["kernel", *(f"thesis: retrievals, {slots}" for slots in SLOTS), *(f"thesis: cycles of one, {slots}" for slots in SLOTS),
            *(f"here: retrievals, {slots}" for slots in SLOTS)]
    first = FIRST_TABLE[name]
    return (f"## {name.upper()}: retrievals by kernel (tables 6.{first} to 6.{first + 2})\n\nOn 16 kernels there and {most} here, with as "
            f"many prefetch slots as the heading says. Its input is larger than class {size_of(data)}.\n\n" + table(head, rows))


def _totals(data: Json) -> str:
    """All programs' retrievals of the kernels but the first, one row each."""
    most = max(kernels_of(data), default=0)
    rows = []
    for name in THESIS:
        cells = []
        for slots in SLOTS:
            there = [int(row["count"]) for row in published("faults")
                     if row["program"] == name and int(row["slots"]) == slots and row["kernel"] != "0"]
            counts = events(data, slots, most).get(name)
            here = [row.get("fetches", 0) for kernel, row in counts.items() if kernel] if counts else []
            cells += [figure(sum(there) / len(there)), figure(sum(here) / (most - 1), 1) if counts and most > 1 else "-"]
        rows.append([f"`{name}`", *cells])
    head = ["", *(f"{where}, {slots}" for slots in SLOTS for where in ("thesis", "here"))]
    return f"## Retrievals of one kernel but the first\n\nMeans of 16 kernels there, and of {most} here.\n\n" + table(head, rows)


def _fetches(data: Json) -> str:
    """Tables 6.5, 6.9, 6.13, 6.17 and 6.21."""
    rows = []
    for row in published("transport"):
        fetch, transit = int(row["fetch"]), int(row["transit"])
        rows.append([f"thesis, `{row['program']}` (table {row['table']})", row["slots"], figure(fetch), figure(transit),
                     figure(100 * transit / fetch, 1) + " %"])
    for slots in FETCH_SLOTS:
        found = find(data, f"fetch-{slots}-2-kettle", FETCH)
        fetch = work(found) if found else None
        if fetch is not None:
            rows.append(["here, a page" if slots else "here, a page, each a fetch", str(slots), figure(fetch), "-", "-"])
    return ("## A retrieval on two kernels (tables 6.5, 6.9, 6.13, 6.17, 6.21)\n\nThe thesis: cycles of a fetch, and of the transit of its "
            "messages. Here: instructions of a first read of a page, one of many consecutive ones that the home has, on both kernels, "
            "without the looking for work. With slots all of these come along with the first.\n\n" + table(["", "slots", "one fetch", "of it transit", "share"], rows))


def _results(data: Json, name: str) -> str:
    """Like the figures of results, as ratios to one Linux CPU and to Linux."""
    rows = []
    for kernels in kernels_of(data):
        linux = value(data, linux_run(kernels), name, critical_path)
        paths = [value(data, f"slots-{slots}-{kernels}-kettle", name, critical_path) for slots in SLOTS]
        works = [value(data, f"slots-{slots}-{kernels}-kettle", name, all_work) for slots in SLOTS]
        base = value(data, linux_run(kernels), name, all_work)
        rows.append([str(kernels), figure(linux / 1e6 if linux else None, 2),
                     *(figure(path / linux if path and linux else None, 3) for path in paths),
                     *(figure(each / base if each and base else None, 3) for each in works)])
    head = ["kernels", "Linux, critical path, M", *(f"critical path over Linux's, {slots}" for slots in SLOTS),
            *(f"all instructions over Linux's, {slots}" for slots in SLOTS)]
    first = FIRST_FIGURE[name] + 10
    return f"## {name.upper()}: results (figures 6.{first} to 6.{first + 3})\n\n" + table(head, rows) if rows else ""


def _map_of_figures(data: Json) -> str:
    """Which picture stands for which figure."""
    most = max(kernels_of(data), default=0)
    kinds = [*((f"{word}-{slots}", what) for slots in SLOTS for word, what in (
        ("totals", f"events of all kernels, {slots} slots"), ("kernels", f"events by kernel, {slots} slots, 16 kernels there, {most} here"))),
        ("profile", "functions of SMP Linux: the last table"), ("modes", "user and kernel mode, SMP Linux"),
        ("profile", "functions of Popcorn's kernel: the table before that"), ("modes", "user and kernel mode, Popcorn and Kettle"),
        *(("results", f"results, {slots} slots") for slots in SLOTS), ("results", "results, all slots")]
    rows = []
    for number, (word, what) in enumerate(kinds):
        numbers = ", ".join(f"6.{FIRST_FIGURE[name] + number}" for name in THESIS)
        pictures = " ".join(f"[{name}]({name}-{word}.svg)" for name in THESIS) if word != "profile" else "-"
        rows.append([numbers, what, pictures])
    rows.insert(0, ["6.1", "a move to a kernel, and back", "[tasks](../tasks/tasks.md)"])
    return "## Figures\n\n" + table(["thesis", "shows", "here"], rows)


COMPARABLE = """The thesis's numbers are TSC cycles and seconds of a 64-core Opteron 6274 at 1.4 GHz under Linux 3.2; those here are counts
and instructions of an emulator, of smaller inputs (class {size}). So:

- **Counts of retrievals** have the same meaning, and compare in shape: which kernels retrieve, and what slots change. Their size
  depends on the input.
- **Cycles and instructions** do not compare with each other. Rows of one column do, and ratios within one system do: the thesis's
  Popcorn to its SMP Linux, Kettle to Debian's Linux on the same emulated machine.
- **Times by number of kernels** are replaced by the modelled critical path: the sum, over all phases between barriers, of the
  instructions of the CPU that executed the most. Contention for locks and cache lines, which cost the thesis's SMP Linux its time, is
  not in it.
- Where the thesis shows a picture without numbers, its side is empty here.
"""


def tables(data: Json) -> list[str]:
    """All tables."""
    steps = [_map_of_figures(data), _procedures(), _totals(data), _fetches(data)]
    for name in THESIS:
        steps += [_retrievals(data, name), _results(data, name)]
    return [part for part in [*steps, profile_table(data), profile_table(data, linux=True)] if part]


def _procedures() -> str:
    rows = [[row["procedure"], figure(int(row["cycles"]))] for row in published("procedures")]
    return ("## Procedures (table 6.1)\n\n[tasks](../tasks/tasks.md) has Kettle's and Linux's beside these, with what stands for each.\n\n"
            + table(["", "thesis, cycles"], rows))


# --- plots ---

def _stacks(bars: Sequence[dict[str, int]]) -> dict[str, list[float]]:
    found = {legend: [float(bar.get(name, 0)) for bar in bars] for name, legend in DRAWN.items()}
    return {legend: heights for legend, heights in found.items() if any(heights)}


def plots(data: Json) -> list[Plot]:
    """The pictures that _map_of_figures names."""
    every = kernels_of(data)
    several = [kernels for kernels in every if kernels > 1]
    labels = [str(kernels) for kernels in every]
    found = []
    for name in THESIS:
        for slots in SLOTS:
            counts = {kernels: events(data, slots, kernels).get(name, {}) for kernels in several}
            sums = [{event: sum(kernel.get(event, 0) for kernel in counts[kernels].values()) for event in DRAWN} for kernels in several]
            found.append(Plot(f"{name}-totals-{slots}", f"{name.upper()}: events of all kernels, {slots} slots", "kernels", "events",
                              [str(kernels) for kernels in several], stacks=_stacks(sums)))
            last = counts[several[-1]] if several else {}
            found.append(Plot(f"{name}-kernels-{slots}", f"{name.upper()}: events by kernel, {slots} slots", "kernel", "events",
                              [str(kernel) for kernel in last], stacks=_stacks(list(last.values()))))
        lines = {"Linux": [value(data, linux_run(kernels), name, critical_path) for kernels in every],
                 **{f"Kettle, {slots} slots": [value(data, f"slots-{slots}-{kernels}-kettle", name, critical_path) for kernels in every]
                    for slots in SLOTS}}
        found.append(Plot(f"{name}-results", f"{name.upper()}: modelled critical path", "kernels", "instructions", labels, lines=lines))
        modes = {f"{side}, {mode}": [value(data, run(kernels), name, Mode(mode)) for kernels in every]
                 for side, run in (("Linux", linux_run), ("Kettle", kettle_run)) for mode in ("user", "kernel")}
        found.append(Plot(f"{name}-modes", f"{name.upper()}: instructions in user and kernel mode", "kernels", "instructions", labels,
                          lines=modes, log=True))
    return found


def verdict(data: Json) -> str:
    """What the shapes say, in one sentence."""
    most = max(kernels_of(data), default=0)
    ratios = [ours / linux for name in THESIS for slots in SLOTS
              if (ours := value(data, f"slots-{slots}-{most}-kettle", name, critical_path))
              and (linux := value(data, linux_run(most), name, critical_path))]
    if not ratios:
        return ""
    won = sum(ratio < 1 for ratio in ratios)
    return (f"With the thesis's moves on {most} kernels, Kettle's modelled critical path is below Linux's in {won} of {len(ratios)} runs of its "
            f"programs, {min(ratios):.2f} to {max(ratios):.2f} times Linux's.")


def tidy(data: Json) -> list[Json]:
    """All that is shown, a number a row: the thesis's and ours."""
    def row(source: str, of: str, name: str, slots: object, kernels: object, kernel: object, amount: object) -> Json:
        return {"source": source, "figure": of, "program": name, "slots": slots, "kernels": kernels, "kernel": kernel, "value": amount}

    rows = [row("thesis", f"cycles of {each['procedure']}", "", "", "", "", each["cycles"]) for each in published("procedures")]
    for each in published("faults"):
        rows += [row("thesis", of, each["program"], each["slots"], 16, each["kernel"], each[column])
                 for of, column in (("retrievals", "count"), ("cycles of a retrieval", "average"))]
    for each in published("transport"):
        rows += [row("thesis", of, each["program"], each["slots"], 2, "", each[column])
                 for of, column in (("cycles of a fetch", "fetch"), ("cycles of its transit", "transit"))]
    for kernels in kernels_of(data):
        for slots in SLOTS:
            rows += [row("kettle", of, name, slots, kernels, kernel, amount) for name, counts in events(data, slots, kernels).items()
                     for kernel, counted in counts.items() for of, amount in sorted(counted.items())]
        for source, run, slots_of in (("linux", linux_run(kernels), ""), *(("kettle", f"slots-{slots}-{kernels}-kettle", slots) for slots in SLOTS)):
            for of, what in (("critical path", critical_path), ("instructions, user", Mode("user")), ("instructions, kernel", Mode("kernel"))):
                rows += [row(source, of, name, slots_of, kernels, "", amount) for name in THESIS
                         if (amount := value(data, run, name, what)) is not None]
    return rows


def report(data: Json) -> Report:
    """Everything, with what is comparable."""
    told = verdict(data)
    bad = [item.run for item in measured(data, "slots-") if not item.case.get("right", True)]
    head = (f"{told}\n\n" if told else "") + COMPARABLE.format(size=size_of(data)) + (f"\nWrong results: {', '.join(bad)}.\n" if bad else "")
    return Report(head, tables(data), plots(data), told, tidy(data))
