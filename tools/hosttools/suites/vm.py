"""The benchmark `vm`: what address spaces cost, on Kettle, on one kernel of Kettle for all CPUs, and on Linux.

userland/bench/vm/vmbench.c runs unchanged on all three sides: `kettle` has a kernel for each CPU, `smp` is `--kernels 1`. Seven
groups of runs:

    work-K-SIDE      the K-th round of all sides on the machine of the options, one host thread: instructions of one thread
    time-K-SIDE      the K-th round on two CPUs and two host threads: times
    kernels-N-SIDE   teams of N threads or processes on N CPUs; exact counting on Kettle
    retrieve-M-N     faults under the retrieval strategy M, of a process that is on N kernels
    prefetch-M-P     fetching pages in order, under M, with answers that bring up to P runs of pages along
    lock-L-N         the lock of a page, free and wanted by all at once, under lock=L, of a process that is on N kernels
    profile-CASE     which functions of Kettle executed the instructions of a row

This file has the runs, the figures and the targets; suites/vm_report.py has the tables and plots.
"""

import argparse
from typing import Any, Sequence

from hosttools.errors import UsageError
from hosttools.machine.topology import divide_kernels, make_topology
from hosttools.paths import built
from hosttools.results.pairs import COUNTS, EXACT, TIMES
from hosttools.results.runs import Report, Run
from hosttools.results.stats import Target, target_table
from hosttools.suites import vm_report
from hosttools.suites.vm_report import KERNELS, LOCKINGS, MODES, PREFETCH, SIDES, SIZES, compare, cost_of, messages_of

SUMMARY = "faults, mappings and locks of address spaces, beside one kernel for all CPUs and Linux"
TITLE = "Address spaces"

KERNELS_QUICK = (1, 2, 16)
FETCH_KERNELS = (2, 4, 8, 16)
FETCH_KERNELS_QUICK = (2, 16)
PREFETCH_QUICK = (0, 8)
WORK_ROUNDS, TIME_ROUNDS = 3, 5
WORK_ROUNDS_QUICK, TIME_ROUNDS_QUICK = 1, 2
TIME_MACHINE = ("--cpus", "2", "--nodes", "2")
PROFILE_MACHINE = ("--cpus", "4", "--nodes", "2")
FETCH_MACHINE = PROFILE_MACHINE
ALONE = "*.local,*.same,*.other,*.all"
FAULTS = "fault_*.all"
PROFILED = ("fault_new.local", "fault_frame.other", "fault_new.other", "fault_none.other", "cow.local", "cow.other",
            "touch.1.local", "protect.1.local", "touch.1.threads.4", "map.1.threads.4", "map.1.shared.4",
            "protect.1.shared.4", "fault_race.1.together.4", "protect_race.1.together.4")
PROFILED_QUICK = ("fault_frame.other", "map.1.threads.4")
RUN_LIMIT = 900  # seconds

FAULT_LIMIT = 0.5
CHANGE_LIMIT = 0.25
FETCH_LIMIT = 2500
FLAT_LIMIT = 1.1
OWN_LIMIT = 1.5
PROCESSES_LIMIT = 1.0
FEW_KERNELS, SOME_KERNELS, MANY_KERNELS = 2, 8, 16
MEMBERS_LIMIT = 2 + MANY_KERNELS

Json = dict[str, Any]


# --- the runs ---

def plan(options: argparse.Namespace) -> list[Run]:
    """The runs of the benchmark."""
    topology = make_topology(options.cpus, options.nodes, None, None)
    if len(divide_kernels(options.kernels, topology)) < 2:
        raise UsageError(f"bench vm needs at least 2 kernels: --cpus {options.cpus} --kernels {options.kernels} makes 1")
    built("userland/vmbench")
    quick = options.quick
    machine = ("--cpus", str(options.cpus), "--nodes", str(options.nodes), *COUNTS)
    runs: list[Run] = []
    for number in range(1, (WORK_ROUNDS_QUICK if quick else WORK_ROUNDS) + 1):
        runs += _round(f"work-{number}", number, machine, _program(quick, ALONE, "--no-times"), options.kernels)
    times = "*.local,*.other,*.1.*.2" if quick else ""
    for number in range(1, (TIME_ROUNDS_QUICK if quick else TIME_ROUNDS) + 1):
        runs += _round(f"time-{number}", number, (*TIME_MACHINE, *TIMES), _program(quick, times), "core")
    for kernels in KERNELS_QUICK if quick else KERNELS:
        runs += _kernels_runs(kernels, quick)
    for mode in MODES:
        runs += _mode_runs(mode, quick)
    for locking in LOCKINGS:
        runs += [Run(f"lock-{locking}-{kernels}", ("--cpus", str(kernels), "--nodes", "2", *EXACT),
                     _program(quick, f"lock.all,lock*.{kernels}", "--no-times"), options=(f"lock={locking}",))
                 for kernels in (FETCH_KERNELS_QUICK if quick else FETCH_KERNELS)]
    runs += [Run(f"profile-{case}", (*PROFILE_MACHINE, *EXACT[:-1], "--profile", "/dev/null"),
                 ("vmbench", "--json", "--no-times", "--cases", case)) for case in (PROFILED_QUICK if quick else PROFILED)]
    return [Run(run.name, run.machine, run.program, RUN_LIMIT, run.options) for run in runs]


def _program(quick: bool, cases: str, *words: str) -> tuple[str, ...]:
    return ("vmbench", "--json", *words, *(("--quick",) if quick else ()), *(("--cases", cases) if cases else ()))


def _side(side: str, kernels: str) -> tuple[str, ...]:
    """The options that make a machine that SIDE of a comparison."""
    return ("--os", "linux") if side == "linux" else ("--kernels", kernels if side == "kettle" else "1")


def _round(name: str, number: int, machine: Sequence[str], program: Sequence[str], kernels: str) -> list[Run]:
    """All sides with the same PROGRAM on the same MACHINE. Each round begins with another side, so that a host that slows
    down favours none."""
    sides = [SIDES[(number - 1 + i) % len(SIDES)] for i in range(len(SIDES))]
    return [Run(f"{name}-{side}", (*_side(side, kernels), *machine), tuple(program)) for side in sides]


def _kernels_runs(kernels: int, quick: bool) -> list[Run]:
    cases = "*.local,*.threads.1" if kernels == 1 else f"*.all,*.{kernels}"
    if quick:
        cases = "*.1.local,*.1.threads.1" if kernels == 1 else f"fault_*.all,*.1.*.{kernels}"
    machine = ("--cpus", str(kernels), "--nodes", str(min(2, kernels)))
    return [Run(f"kernels-{kernels}-{side}", (*_side(side, "core"), *machine, *(COUNTS if side == "linux" else EXACT)),
                _program(quick, cases, "--no-times"))
            for side in SIDES if kernels > 1 or side != "smp"]


def _mode_runs(mode: str, quick: bool) -> list[Run]:
    """With MODE: faults by the number of kernels, and pages in order by how many runs an answer may bring."""
    option = f"retrieve={mode}"
    runs = [Run(f"retrieve-{mode}-{kernels}", ("--cpus", str(kernels), "--nodes", "2", *EXACT), _program(quick, FAULTS),
                options=(option, "prefetch=0")) for kernels in (FETCH_KERNELS_QUICK if quick else FETCH_KERNELS)]
    runs += [Run(f"prefetch-{mode}-{count}", (*FETCH_MACHINE, *EXACT), _program(quick, "sequence.other"),
                 options=(option, f"prefetch={count}")) for count in (PREFETCH_QUICK if quick else PREFETCH)]
    return runs


# --- the figures ---

def _worst_beside_linux(data: Json, cases: Sequence[str]) -> float | None:
    """The greatest of the median ratios of CASES to Linux's; None unless each was measured on both sides."""
    found = [ratio.median if (ratio := compare(data, "work", case).ratio) else None for case in cases]
    return _greatest(found)


def _greatest(values: Sequence[float | None]) -> float | None:
    """The greatest of VALUES; None if there are none or one is missing."""
    found = [value for value in values if value is not None]
    return max(found) if found and len(found) == len(values) else None


def _over(over: float | None, under: float | None) -> float | None:
    return over / under if over is not None and under else None


def _team(data: Json, operation: str, pages: int, shape: str, members: int) -> float | None:
    return cost_of(data, f"kernels-{members}-kettle", f"{operation}.{pages}.{shape}.{members}")


def _fetches(data: Json) -> list[float | None]:
    """What a fetch costs under `home`, by the number of kernels: of those that were measured, with few and many in any
    case."""
    numbers = [kernels for kernels in FETCH_KERNELS if kernels in (FEW_KERNELS, MANY_KERNELS) or any(
        run["name"] == f"retrieve-home-{kernels}" for run in data["runs"])]
    return [cost_of(data, f"retrieve-home-{kernels}", "fault_frame.all") for kernels in numbers]


def targets(data: Json) -> list[Target]:
    """The targets with what was measured."""
    own = [_over(_team(data, operation, pages, "threads", MANY_KERNELS), _team(data, operation, pages, "threads", 1))
           for operation in ("touch", "map", "protect") for pages in (SIZES[:1] if data["quick"] else SIZES)]
    processes = [_over(_team(data, "map", pages, "threads", SOME_KERNELS), _team(data, "map", pages, "processes", SOME_KERNELS))
                 for pages in (SIZES[:1] if data["quick"] else SIZES)]
    fetches = _fetches(data)
    return [
        Target("a local fault over Linux's, in instructions", FAULT_LIMIT,
               _worst_beside_linux(data, ("fault_new.local",)), 3),
        Target("mmap, touch, munmap and mprotect of one page on one kernel over Linux's, in instructions", CHANGE_LIMIT,
               _worst_beside_linux(data, ("touch.1.local", "protect.1.local", "protect_part.1.local")), 3),
        Target("a fetched mapping under `home`, instructions of all kernels", FETCH_LIMIT, _greatest(fetches)),
        Target(f"the same with {MANY_KERNELS} kernels over {FEW_KERNELS}", FLAT_LIMIT, _over(fetches[-1], fetches[0]), 3),
        Target(f"messages of a fetch under `members` with {MANY_KERNELS} of them (5(N-1) = {5 * (MANY_KERNELS - 1)} as "
               "published)", MEMBERS_LIMIT, messages_of(data, f"retrieve-members-{MANY_KERNELS}", "fault_frame.all"), 1),
        Target(f"mmap, munmap by threads on {SOME_KERNELS} kernels over {SOME_KERNELS} processes of one kernel each",
               PROCESSES_LIMIT, _greatest(processes), 2),
        Target(f"changes by threads in ranges of their own, {MANY_KERNELS} kernels over 1, in instructions", OWN_LIMIT,
               _greatest(own), 2),
    ]


def report(data: Json) -> Report:
    """Tables, targets and plots of DATA."""
    head = ("## Targets\n\nOf several rows the worst counts: mmap to munmap and mprotect of one page, the whole of a mapping "
            "or a part; all numbers of kernels that were measured; mmap and munmap of 1, 16 and 512 pages; and for ranges of "
            "their own also with a touch of each page, and mprotect. Of one thread, instructions are the program's and the kernels'; of a team, the kernels' alone, as "
            "its programs wait for each other. Kettle's looking for work is in neither.\n\n")
    goals = targets(data)
    return Report(head + target_table(goals), vm_report.tables(data), vm_report.plots(data), goals=goals)
