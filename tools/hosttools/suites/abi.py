"""The benchmark `abi`: what system calls and the C library's threads cost, on Kettle and on Linux.

userland/bench/abi/abibench.c runs unchanged on both; a row whose call a kernel lacks is absent there. So does ompbench, a program of
gcc -fopenmp with glibc. Seven groups of runs:

    work-K-SIDE      the K-th pair, Kettle and Linux in turn on the machine of the options, one host thread: instructions
    time-K-SIDE      the K-th pair on two CPUs and two host threads: times
    team-K-SIDE      the K-th pair of the rows of teams on eight CPUs, one host thread: times of the work of all CPUs
    ompwork-K-SIDE, ompteam-K-SIDE   as work and team, of ompbench, whose threads are bound and do not spin
    kernels-N-SIDE   every row with N kernels, or N CPUs of Linux
    profile-CASE     which functions of Kettle executed the instructions of a row
"""

import argparse
import os
from typing import Any, Callable, Iterator, Sequence

from hosttools.errors import UsageError
from hosttools.machine.topology import divide_kernels, make_topology
from hosttools.paths import ROOT, built
from hosttools.results.pairs import COUNTS, EXACT, TIMES, Value, median_us, pair_runs, pair_values, work
from hosttools.results.plots import Plot
from hosttools.results.runs import Report, Run, find
from hosttools.results.stats import Spread, Target, figure, percentile, ratios, spread, table, target_table
from hosttools.results.tables import absent, absent_cell, absent_table, profile_table

SUMMARY = "system calls, futexes, pipes, mutexes and barriers, beside Linux"
TITLE = "System calls and threads"

KERNELS = (1, 2, 4, 8, 16)
KERNELS_QUICK = (2, 8)
WORK_PAIRS, TIME_PAIRS, TEAM_PAIRS = 3, 5, 5
WORK_PAIRS_QUICK, TIME_PAIRS_QUICK, TEAM_PAIRS_QUICK = 1, 2, 2
TIME_MACHINE = ("--cpus", "2", "--nodes", "2")
TEAM_MACHINE = ("--cpus", "8", "--nodes", "2", "--tcg", "single")
OMP_ENVIRONMENT = ("--env", "OMP_WAIT_POLICY=passive", "--env", "OMP_PROC_BIND=close", "--env", "OMP_PLACES=threads")
PROFILE_MACHINE = ("--cpus", "4", "--nodes", "2")
PROFILED = ("null.local", "pipe.local", "pipe.other", "read.other", "open_close.other", "stat.other", "futex_wake.local",
            "fork_exec.local", "futex_pair.other", "pipe_pair.other", "barrier.4")
PROFILED_QUICK = ("null.local", "pipe.other", "futex_pair.other")
TEAM_CASES = "mutex.2,mutex.4,mutex.8,barrier.*,barrier_asleep.*"
RUN_LIMIT = 300  # seconds

Json = dict[str, Any]
Row = tuple[str, str]  # title and case


# --- the runs ---

def plan(options: argparse.Namespace) -> list[Run]:
    """The runs of the benchmark."""
    topology = make_topology(options.cpus, options.nodes, None, None)
    if len(divide_kernels(options.kernels, topology)) < 2:
        raise UsageError(f"bench abi needs at least 2 kernels: --cpus {options.cpus} --kernels {options.kernels} makes 1")
    for name in ("abibench", "nothing"):
        built(f"userland/{name}")
    quick = options.quick
    program = ("abibench", "--json", *(("--quick",) if quick else ()))
    machine = ("--cpus", str(options.cpus), "--nodes", str(options.nodes))
    runs: list[Run] = []
    for series, shape, words, pairs in (
            ("work", (*machine, *COUNTS), program, WORK_PAIRS_QUICK if quick else WORK_PAIRS),
            ("time", (*TIME_MACHINE, *TIMES), program, TIME_PAIRS_QUICK if quick else TIME_PAIRS),
            ("team", TEAM_MACHINE, (*program, "--cases", TEAM_CASES), TEAM_PAIRS_QUICK if quick else TEAM_PAIRS)):
        for pair in range(1, pairs + 1):
            runs += pair_runs(series, pair, shape, words, words)
    openmp = (os.path.relpath(built("userland/ompbench"), ROOT), *program[1:])
    for series, shape, pairs in (("ompwork", (*TEAM_MACHINE, "--count"), WORK_PAIRS_QUICK if quick else WORK_PAIRS),
                                 ("ompteam", TEAM_MACHINE, TEAM_PAIRS_QUICK if quick else TEAM_PAIRS)):
        for pair in range(1, pairs + 1):
            runs += pair_runs(series, pair, (*shape, *OMP_ENVIRONMENT), openmp, openmp)
    runs = [_with_kernels(run, options.kernels) if run.name.startswith("work-") else run for run in runs]
    for kernels in KERNELS_QUICK if quick else KERNELS:
        shape = ("--cpus", str(kernels), "--nodes", str(min(2, kernels)))
        runs.append(Run(f"kernels-{kernels}-kettle", (*shape, *EXACT), program))
        if not quick:
            runs.append(Run(f"kernels-{kernels}-linux", ("--os", "linux", *shape, *COUNTS), program))
    runs += [Run(f"profile-{case}", (*PROFILE_MACHINE, *EXACT[:-1], "--profile", "/dev/null"),
                 ("abibench", "--json", "--cases", case)) for case in (PROFILED_QUICK if quick else PROFILED)]
    return [Run(run.name, run.machine, run.program, RUN_LIMIT) for run in runs]


def _with_kernels(run: Run, kernels: str) -> Run:
    """RUN with Kettle's CPUs divided among KERNELS."""
    return Run(run.name, run.machine if "linux" in run.machine else (*run.machine, "--kernels", kernels), run.program)


# --- the rows ---

CALLS = (("null", "getppid"), ("clock", "clock_gettime"), ("pipe", "write and read of a pipe, a byte"),
         ("read", "pread of 4096 bytes of a file"), ("open_close", "open and close of a file"), ("stat", "stat of a file"),
         ("futex_wake", "futex wake, nobody waits"), ("mutex", "pthread mutex, nobody else"),
         ("fork_exec", "fork, exec, exit, wait"))
PAIRS = (("futex_pair", "futex, there and back"), ("pipe_pair", "pipe, there and back"))
TEAMS = (("mutex", "pthread mutex, lock and unlock, all want it"), ("barrier", "pthread barrier, one meeting"),
         ("barrier_asleep", "barrier of futexes, who waits sleeps, one meeting"))
SIZES = (2, 4, 8, 16)
PLACES = (("local", "home"), ("same", "same node"), ("other", "other node"))


def _calls() -> Iterator[Row]:
    for operation, title in CALLS:
        for place, words in PLACES:
            yield f"{title}, {words}", f"{operation}.{place}"


def _pairs() -> Iterator[Row]:
    for operation, title in PAIRS:
        for place, words in PLACES:
            yield f"{title}, {words}", f"{operation}.{place}"


def _teams() -> Iterator[Row]:
    for operation, title in TEAMS:
        for size in SIZES:
            yield f"{title}, {size} threads", f"{operation}.{size}"


OMP = (("omp_parallel", "parallel region"), ("omp_reduction", "parallel region with a sum"), ("omp_barrier", "barrier"))


def _openmp() -> Iterator[Row]:
    for operation, title in OMP:
        for size in SIZES[:3]:
            yield f"{title}, {size} threads", f"{operation}.{size}"


OMP_KINDS = (("OpenMP", _openmp),)
KINDS = (("Calls of one thread", _calls), ("Two threads", _pairs), ("Teams, each thread at a place", _teams))


# --- the figures ---

def _compare(data: Json, series: str, case: str, value: Value) -> tuple[Spread | None, Spread | None, Spread | None]:
    """VALUE of CASE on Kettle, on Linux, and the ratio, over the pairs of SERIES."""
    sides = [pair_values(data, series, side, case, value) for side in ("kettle", "linux")]
    found = [spread([item for item in side if item is not None]) for side in sides]
    return found[0], found[1], spread(ratios(*sides))


def _ratio(data: Json, series: str, cases: tuple[str, ...], value: Value) -> float | None:
    """The greatest of the median ratios of CASES that were measured on both sides."""
    found = [ratio.median for case in cases if (ratio := _compare(data, series, case, value)[2]) is not None]
    return max(found) if found else None


def targets(data: Json) -> list[Target]:
    """The targets with what was measured."""
    away = ("same", "other")
    return [
        Target("null call at home over Linux's, in instructions", 0.4, _ratio(data, "work", ("null.local",), work), 3),
        Target("futex wake with no waiter over Linux's, in instructions", 0.4,
               _ratio(data, "work", ("futex_wake.local",), work), 3),
        Target("write and read of a pipe over Linux's, in instructions", 0.6,
               _ratio(data, "work", ("pipe.local",), work), 3),
        Target("futex round trip between two kernels over Linux's between two CPUs, in instructions", 0.35,
               _ratio(data, "work", tuple(f"futex_pair.{place}" for place in away), work), 3),
        Target("pipe round trip between two kernels over Linux's between two CPUs, in instructions", 0.5,
               _ratio(data, "work", tuple(f"pipe_pair.{place}" for place in away), work), 3),
        Target("barrier over 8 kernels over Linux's over 8 CPUs, in time", 1.0,
               _ratio(data, "team", ("barrier.8",), median_us), 3),
    ]


def report(data: Json) -> Report:
    """Tables, targets and plots of DATA."""
    head = ("## Targets\n\nOf several rows the worst counts. Instructions are those of programs and kernels on all CPUs "
            "without Kettle's looking for work. A row that is absent on Kettle is not measured.\n\n")
    tables = [_pair_tables(data, "work", work, 0, (
        "## Instructions of one operation\n\nOf all CPUs together, programs and kernels; medians of all pairs of runs "
        "(lowest to highest), ratios pair by pair, without Kettle's looking for work; Linux's idle loop counts as kernel. "
        "The place is where the caller is, whose process is at home; or where the other thread is. Of a team, what spins "
        "in user mode counts, too.\n\n"))]
    tables.append(_pair_tables(data, "time", median_us, 1, (
        "## Times of one operation\n\nIn us, two CPUs on two nodes and two host threads. Each run gives one p50; medians of "
        "those (lowest to highest), ratios pair by pair.\n\n")))
    tables.append(_pair_tables(data, "team", median_us, 1, (
        "## Times of teams\n\nIn us of one operation, eight CPUs on two nodes and one host thread, so that the time is that "
        "of the work of all.\n\n")))
    tables.append(_pair_tables(data, "ompwork", work, 0, (
        "## Instructions of OpenMP constructs\n\nOf gcc's libgomp, whose threads are bound, one to each of eight CPUs, and "
        "sleep when they wait (OMP_WAIT_POLICY=passive); the bodies do nothing.\n\n"), OMP_KINDS))
    tables.append(_pair_tables(data, "ompteam", median_us, 1, (
        "## Times of OpenMP constructs\n\nIn us, as the times of teams.\n\n"), OMP_KINDS))
    tables += [_tail_table(data), _kernels_table(data), profile_table(data), absent_table(data)]
    goals = targets(data)
    return Report(head + target_table(goals), [part for part in tables if part], [_ratio_plot(data), _team_plot(data)], goals=goals)


# --- the tables ---

def _pair_tables(data: Json, series: str, value: Value, digits: int, what: str,
                 kinds: Sequence[tuple[str, Callable[[], Iterator[Row]]]] = KINDS) -> str:
    parts = []
    for kind, names in kinds:
        rows = []
        for title, case in names():
            kettle, linux, ratio = _compare(data, series, case, value)
            if kettle or linux:
                rows.append([title, kettle.text(digits) if kettle else absent_cell(absent(data).get(case, "")),
                             linux.text(digits) if linux else "-", ratio.text(3) if ratio else "-"])
        if rows:
            parts.append(f"### {kind}\n\n" + table(["", "Kettle", "Linux", "ratio"], rows))
    return what + "\n".join(parts) if parts else ""


def _tail_table(data: Json) -> str:
    rows = []
    for _, names in KINDS:
        for title, case in names():
            cells = _compare(data, "time", case, lambda item: percentile(item.case["ns"], 99) / 1e3 if item.case["ns"] else None)
            if cells[0] or cells[1]:
                rows.append([title, *(figure(cell.median if cell else None, 1) for cell in cells[:2])])
    return ("## Slowest of a hundred\n\np99 in us, of the same runs: the median of all runs' p99.\n\n"
            + table(["", "Kettle", "Linux"], rows)) if rows else ""


def _kernel_cells(data: Json, side: str, case: str) -> list[float | None]:
    return [item and work(item) for item in (find(data, f"kernels-{kernels}-{side}", case) for kernels in KERNELS)]


def _kernels_table(data: Json) -> str:
    rows = []
    for _, names in KINDS:
        for title, case in names():
            for side in ("kettle", "linux"):
                cells = _kernel_cells(data, side, case)
                if any(cell is not None for cell in cells):
                    rows.append([f"{title}: {side.title()}", *map(figure, cells)])
    return ("## By the number of kernels\n\nInstructions of one operation, programs and kernels. Kettle has one CPU in each "
            "kernel and is counted exactly; Linux has as many CPUs. Two nodes, from two on.\n\n"
            + table(["", *map(str, KERNELS)], rows)) if rows else ""


# --- plots ---

RATIOS = (("null\ncall", "null.local"), ("pipe", "pipe.local"), ("read", "read.local"), ("open\nclose", "open_close.local"),
          ("stat", "stat.local"), ("futex\nwake", "futex_wake.local"), ("fork\nexec", "fork_exec.local"),
          ("futex\npair", "futex_pair.other"), ("pipe\npair", "pipe_pair.other"), ("barrier\nof 4", "barrier.4"))


def _ratio_plot(data: Json) -> Plot:
    return Plot("linux", "Instructions over Linux's: medians of all pairs, lowest and highest", "", "ratio",
                [label for label, _ in RATIOS], bars=[_compare(data, "work", case, work)[2] for _, case in RATIOS])


def _team_plot(data: Json) -> Plot:
    lines = {}
    for side in ("kettle", "linux"):
        found = [_compare(data, "team", f"barrier.{size}", median_us)[side == "linux"] for size in SIZES[:3]]
        lines[f"{side.title()}, barrier"] = [item.median if item else None for item in found]
        found = [_compare(data, "team", f"barrier_asleep.{size}", median_us)[side == "linux"] for size in SIZES[:3]]
        lines[f"{side.title()}, who waits sleeps"] = [item.median if item else None for item in found]
    return Plot("barrier", "One meeting of threads, one on each kernel or CPU of eight", "threads", "us",
                [str(size) for size in SIZES[:3]], lines)
