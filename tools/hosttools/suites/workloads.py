"""The benchmark `workloads`: the programs of the thesis's evaluation and others like them, on Kettle and on Linux.

userland/bench/workloads is one static file for both. One run is one machine with several programs, one after another; those that
take long have pairs of their own, whose numbers follow the others':

    time-N-K-SIDE    the K-th pair, Kettle and Linux in turn, of N CPUs: wall-clock times. As many host threads as CPUs, if
                     the host has these; else one for all, so that the time is that of the work of all
    work-N-K-SIDE    the K-th pair of N CPUs and one host thread: instructions, messages, the modelled critical path
                     on 16 CPUs, of the programs whose critical path has a target
    option-O-K-kettle   as work, of eight kernels, with the boot option O
    pomp-N-K-SIDE    as work, the thesis's programs as the thesis had them: threads move to their kernel and back
    wait-P-K-SIDE    as work, of four CPUs, with the OpenMP library waiting by policy P
    real-PROGRAM-work-N-K-SIDE, real-PROGRAM-time-N-K-SIDE    as work and time, of programs that people run (suites/real.py);
                     not with --quick
    profile-PROGRAM  which functions of Kettle executed the instructions of a program

Both sides have the same OpenMP environment. This file has the runs, the figures and the targets; suites/workloads_report.py has
the tables and plots.
"""

import argparse
import os
from dataclasses import replace
from typing import Any, Sequence

from hosttools.paths import ROOT, built
from hosttools.results.pairs import COUNTS, TIMES, pair_runs
from hosttools.results.runs import Report, Run
from hosttools.results.stats import Target, target_table
from hosttools.results.verdict import sentence
from hosttools.suites import real, workloads_report
from hosttools.suites.workloads_report import (KERNELS, OPTIONS, PATH_CPUS, THESIS, WAITS, compare, ideal_path, kernel_work,
                                              milliseconds, starts, wall_ratios)

SUMMARY = "the thesis's programs (IS, FT, CG, BFS, LUD) and others like them, beside Linux"
TITLE = "Workloads"

PROGRAM = "userland/workload"
MORE = ("mg", "stream", "chase", "random", "touch", "reader")
LONG = ("ep", "lu", "bt", "sp")
SIZES = ("S", "W", "A", "B")  # the classes of its problems
CLASSES = "SW"  # those that are measured
PROGRAMS = {"S": (*THESIS, *MORE), "W": (*THESIS, "mg")}
PATHS = ("ft", "lud", "mg", "ep")  # with a target for their critical path on PATH_CPUS kernels
PATH_LIMIT = 1.15  # over the ideal
KERNEL_LIMIT, OTHERS_LIMIT = 0.8, 1.05  # kernel-mode instructions, and the time of what the thesis does not have, over Linux's
TIME_PAIRS, WORK_PAIRS = 5, 3
TIME_PAIRS_QUICK, WORK_PAIRS_QUICK = 3, 1
BOUND = {"OMP_PROC_BIND": "close", "OMP_PLACES": "threads"}
ENVIRONMENT = {"OMP_WAIT_POLICY": "passive", **BOUND}
OPTION_CPUS = 8
WAIT_CPUS = 4
WAIT_PROGRAMS = ("is", "cg", "lud")
WAIT_LIMIT = 900  # who spins may take long
PROFILED, PROFILED_QUICK = ("is", "cg", "bfs", "lud", "mg", "touch", "reader"), ("cg", "bfs")
RUN_LIMIT = 1800  # seconds
# How long runs take beside others, by the beginnings of their names; Linux's, which boot for long and execute more, besides.
WEIGHTS = {"work-W": 3.0, "time-W": 2.0, "profile": 0.3, "wait": 0.7}
LONG_WEIGHT, LINUX_WEIGHT = 4.0, 1.8

Json = dict[str, Any]


# --- the runs ---

def program(threads: int, size: str, *more: str) -> tuple[str, ...]:
    """The program with THREADS threads and what is asked for besides."""
    return (os.path.relpath(built(PROGRAM), ROOT), "--json", "--threads", str(threads), "--class", size, *more)


def warm(words: Sequence[str]) -> tuple[str, ...]:
    """The program WORDS with an unmeasured round before: what a system executes for the first time since it started, the emulator
    has to translate, which is neither system's time. A boot of Linux has executed much that a boot of Kettle has not."""
    return (words[0], "--warm", "1", *words[1:])


def environment(words: dict[str, str]) -> tuple[str, ...]:
    """The options that set WORDS in the program's environment."""
    return tuple(word for name, value in words.items() for word in ("--env", f"{name}={value}"))


def machine(cpus: int) -> tuple[str, ...]:
    """The options of a machine of CPUS CPUs, on two nodes from two on."""
    return "--cpus", str(cpus), "--nodes", str(min(2, cpus))


def pace(cpus: int) -> tuple[str, ...]:
    """How the times of CPUS CPUs are taken: on a host thread each, if the host has as many. The machine has its memory before it
    starts: the host zeroes what is touched first, 2 MiB at once, which takes longer than class S of a program, and which system
    touches what first, while it boots or later, is chance."""
    return (*(TIMES if cpus <= min(2, os.cpu_count() or 1) else ("--tcg", "single")), "--prealloc")


def _pairs(series: str, size: str, programs: Sequence[str], count: int, first: int = 1, machines: Sequence[int] = KERNELS) -> list[Run]:
    """COUNT pairs on MACHINES of so many CPUs, numbered from FIRST on."""
    runs: list[Run] = []
    for pair in range(first, first + count):
        for cpus in machines:
            shape = (*machine(cpus), *(COUNTS if series == "work" else pace(cpus)), *environment(ENVIRONMENT))
            words = program(cpus, size, *programs)
            words = words if series == "work" else warm(words)
            runs += pair_runs(f"{series}-{size}-{cpus}", pair, shape, words, words)
    return runs


def plan(options: argparse.Namespace) -> list[Run]:
    """The runs of the benchmark. Those that the sentence at the end needs come first."""
    quick = options.quick
    times, works = (TIME_PAIRS_QUICK, WORK_PAIRS_QUICK) if quick else (TIME_PAIRS, WORK_PAIRS)
    runs = _pairs("work", "S", PROGRAMS["S"], works) + _pairs("time", "S", PROGRAMS["S"], times)
    if not quick:
        runs += _pairs("work", "W", PROGRAMS["W"], works) + _pairs("time", "W", PROGRAMS["W"], times)
        runs += _pairs("work", "S", LONG, 1, works + 1) + _pairs("time", "S", LONG, 1, times + 1)
        runs += _pairs("work", "W", ("ep",), 1, works + 1, (1,))
        runs += [run for size in CLASSES for run in _pairs("work", size, PATHS, 1, 1, (PATH_CPUS,))]
    runs += [Run(f"option-{option}-1-kettle", (*machine(OPTION_CPUS), *COUNTS, *environment(ENVIRONMENT)),
                 program(OPTION_CPUS, "S", *PROGRAMS["S"]), options=(option,)) for option in OPTIONS]
    for cpus in KERNELS[1:]:
        words = program(cpus, "S", "--pomp", *THESIS)
        shape = (*machine(cpus), *COUNTS, *environment({"OMP_WAIT_POLICY": "passive"}))
        runs += pair_runs(f"pomp-S-{cpus}", 1, shape, words, words)
    for name, words in WAITS.items():
        waiting = program(WAIT_CPUS, "S", *WAIT_PROGRAMS)
        shape = (*machine(WAIT_CPUS), *COUNTS, *environment({**BOUND, **words}))
        runs += pair_runs(f"wait-{name}", 1, shape, waiting, waiting)
    if not quick:
        runs += _real(times, works)
        runs += [Run(f"profile-{name}", (*machine(WAIT_CPUS), "--tcg", "single", "--profile", "/dev/null", *files), words)
                 for name in real.PROGRAMS for files, words in [real.program(name, WAIT_CPUS)]]
    runs += [Run(f"profile-{name}", (*machine(WAIT_CPUS), "--tcg", "single", "--profile", "/dev/null", *environment(ENVIRONMENT)),
                 program(WAIT_CPUS, "S", name)) for name in (PROFILED_QUICK if quick else PROFILED)]
    return [replace(run, limit=WAIT_LIMIT if run.name.startswith("wait") else RUN_LIMIT, weight=_weight(run)) for run in runs]


def _weight(run: Run) -> float:
    """About how long RUN takes, beside a run of Kettle's of class S."""
    weight = next((each for start, each in WEIGHTS.items() if run.name.startswith(start)), 1.0)
    return weight * (LONG_WEIGHT if "ep" in run.program else 1.0) * (LINUX_WEIGHT if run.name.endswith("-linux") else 1.0)


def _real(times: int, works: int) -> list[Run]:
    """The pairs of the programs that people run."""
    runs: list[Run] = []
    for series, count in (("work", works), ("time", times)):
        for pair in range(1, count + 1):
            for name in real.PROGRAMS:
                for cpus in KERNELS:
                    files, words = real.program(name, cpus)
                    shape = (*machine(cpus), *(COUNTS if series == "work" else pace(cpus)), *files)
                    runs += pair_runs(f"{real.PREFIX}-{name}-{series}-{cpus}", pair, shape, words, words)
    return runs


prepare = real.prepare

# --- the figures ---

def _worst(data: Json, series: str, case: str, value: Any, limit: float, what: str) -> Target:
    """The target that the median ratio of VALUE to Linux's is at most LIMIT on every machine; SERIES has the place of its CPUs."""
    found = [(ratio.median, cpus) for cpus in KERNELS if (ratio := compare(data, series.format(cpus), case, value)[2]) is not None]
    worst, cpus = max(found, default=(None, 0))
    return Target(f"`{case}`: {what} over Linux's" + (f", on {cpus} of {', '.join(str(where) for _, where in found)}" if found else ""),
                  limit, worst, 3)


def _targets_of(data: Json, case: str, time: str, work: str, limit: float) -> list[Target]:
    return [_worst(data, time, case, milliseconds, limit, "wall time"),
            _worst(data, work, case, kernel_work, KERNEL_LIMIT, "kernel-mode instructions")]


def targets(data: Json) -> list[Target]:
    """The targets with what was measured: of all machines the worst."""
    found: list[Target] = []
    for size in CLASSES:
        for name in PROGRAMS[size] + (LONG if size == "S" else ()):
            found += _targets_of(data, f"{name}.{size}", f"time-{size}-{{}}", f"work-{size}-{{}}", 1.0 if name in THESIS else OTHERS_LIMIT)
    for name in real.PROGRAMS:
        found += _targets_of(data, name, f"{real.PREFIX}-{name}-time-{{}}", f"{real.PREFIX}-{name}-work-{{}}", OTHERS_LIMIT)
    for size in CLASSES:
        for name in PATHS:
            ideal = ideal_path(data, f"{name}.{size}")
            found.append(Target(f"`{name}.{size}`: modelled critical path on {PATH_CPUS} kernels over the ideal", PATH_LIMIT,
                                ideal[0] / ideal[1] if ideal else None, 3))
    return [*found, Target("first parallel region on 8 kernels over Linux's, in instructions, medians", 1.0, starts(data, 8)[2], 3)]


def verdict(data: Json) -> str:
    """The sentence that says who won."""
    won = sentence("the thesis's programs", "time", wall_ratios(data))
    if not won:
        return ""
    both = [(kettle.median, linux.median) for size in CLASSES for cpus in KERNELS for name in THESIS
            for kettle, linux, _ in [compare(data, f"work-{size}-{cpus}", f"{name}.{size}", kernel_work)] if kettle and linux]
    besides = ""
    if both:
        kettle, linux = (sum(side) for side in zip(*both))
        besides = f" In kernel mode they took {kettle / linux:.2f} x Linux's instructions." if linux else ""
    return won + besides


def report(data: Json) -> Report:
    """Tables, targets and plots of DATA."""
    told = verdict(data)
    goals = targets(data)
    head = (f"{told}\n\n" if told else "") + ("## Targets\n\nOf the medians on all machines the worst counts.\n\n")
    return Report(head + target_table(goals), workloads_report.tables(data), workloads_report.plots(data), told, goals=goals)
