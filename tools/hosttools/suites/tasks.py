"""The benchmark `tasks`: what threads and processes cost, on Kettle and on Linux.

userland/bench/tasks/taskbench.c runs unchanged on both; a row whose call a kernel lacks is absent there. Five groups of runs:

    work-K-SIDE      the K-th pair, Kettle and Linux in turn on the machine of the options, one host thread: instructions
    time-K-SIDE      the K-th pair on two CPUs and two host threads: times
    kernels-N-SIDE   every row with N kernels, or N CPUs of Linux; exact counting on Kettle
    import-N         a process's first arrival at each of N kernels
    profile-CASE     which functions of Kettle executed the instructions of a row

This file has the runs, the figures and the targets; suites/tasks_report.py has the tables and plots.
"""

import argparse
from typing import Any, Callable, Sequence

from hosttools.errors import UsageError
from hosttools.machine.topology import divide_kernels, make_topology
from hosttools.paths import built
from hosttools.results.pairs import COUNTS, EXACT, TIMES, median_us, pair_runs, work
from hosttools.results.runs import Report, Run, find
from hosttools.results.stats import Target, ratios, target_table
from hosttools.suites import tasks_report
from hosttools.suites.tasks_report import KERNELS, MOVES, PLACES, compare

SUMMARY = "threads and processes that move, begin, end and are signalled, beside Linux"
TITLE = "Tasks"

KERNELS_QUICK = (2, 16)
WORK_PAIRS, TIME_PAIRS = 3, 5
WORK_PAIRS_QUICK, TIME_PAIRS_QUICK = 1, 2
TIME_MACHINE = ("--cpus", "2", "--nodes", "2")
PROFILE_MACHINE = ("--cpus", "4", "--nodes", "2")
PROFILED = ("move_first.migrate.plain.other", "move_back.migrate.plain.other", "move_back.migrate.avx.other",
            "import.migrate", "spawn_kettle.local", "fork_small.local", "fork_16mb.local", "vfork_exec.local",
            "clone_join.local", "pthread_join.local", "clone_move_join.other", "thread_exit.other", "group_exit.4",
            "signal_self.local", "signal_reply.other", "kill_wait.other", "mprotect.all", "cow_break.local",
            "touch_new.other", "touch_fetch.other")
PROFILED_QUICK = ("move_back.migrate.plain.other", "clone_join.local", "fork_small.local")
QUICK_CASES = ("empty,call,spawn_*.local,fork_*.local,clone_join.local,pthread_join.local,move_*.other*,ping_pong.*.other*,"
               "mprotect.*,group_exit.4")
RUN_LIMIT = 300  # seconds

BACK_TIME_LIMIT = 1.0
BACK_WORK_LIMIT = 0.35
FIRST_WORK_LIMIT = 1.0
CLONE_WORK_LIMIT = 0.3
FORK_WORK_LIMIT = 0.5
FLAT_LIMIT = 1.1
FEW_KERNELS, MANY_KERNELS = 2, 16

Json = dict[str, Any]


# --- the runs ---

def plan(options: argparse.Namespace) -> list[Run]:
    """The runs of the benchmark."""
    topology = make_topology(options.cpus, options.nodes, None, None)
    if len(divide_kernels(options.kernels, topology)) < 2:
        raise UsageError(f"bench tasks needs at least 2 kernels: --cpus {options.cpus} --kernels {options.kernels} "
                         "makes 1")
    for program in ("taskbench", "nothing"):
        built(f"userland/{program}")
    quick = options.quick
    program = ("taskbench", "--json", *(("--quick", "--cases", QUICK_CASES) if quick else ()))
    machine = ("--cpus", str(options.cpus), "--nodes", str(options.nodes))
    runs: list[Run] = []
    for series, shape, pace, pairs in (
            ("work", machine, COUNTS, WORK_PAIRS_QUICK if quick else WORK_PAIRS),
            ("time", TIME_MACHINE, TIMES, TIME_PAIRS_QUICK if quick else TIME_PAIRS)):
        for pair in range(1, pairs + 1):
            runs += pair_runs(series, pair, (*shape, *pace), program, program)
    runs = [_with_kernels(run, options.kernels) if run.name.startswith("work-") else run for run in runs]
    for kernels in KERNELS_QUICK if quick else KERNELS:
        runs += _kernels_runs(kernels, program, linux=not quick)
    runs += [Run(f"profile-{case}", (*PROFILE_MACHINE, *EXACT[:-1], "--profile", "/dev/null"),
                 ("taskbench", "--json", "--cases", case)) for case in (PROFILED_QUICK if quick else PROFILED)]
    return [Run(run.name, run.machine, run.program, RUN_LIMIT) for run in runs]


def _with_kernels(run: Run, kernels: str) -> Run:
    """RUN with Kettle's CPUs divided among KERNELS."""
    return Run(run.name, run.machine if "linux" in run.machine else (*run.machine, "--kernels", kernels), run.program)


def _kernels_runs(kernels: int, program: Sequence[str], linux: bool) -> list[Run]:
    machine = ("--cpus", str(kernels), "--nodes", str(min(2, kernels)))
    runs = [Run(f"kernels-{kernels}-kettle", (*machine, *EXACT), tuple(program))]
    if linux:
        runs.append(Run(f"kernels-{kernels}-linux", ("--os", "linux", *machine, *COUNTS), tuple(program)))
    if kernels > 1:
        runs.append(Run(f"import-{kernels}", (*machine, *EXACT), ("taskbench", "--json", "--cases", "import.migrate")))
    return runs


# --- the figures ---

def _worst_ratio(data: Json, series: str, cases: Sequence[str], value: Callable[..., float | None]) -> float | None:
    """The greatest of the median ratios of CASES; None unless each was measured on both sides."""
    found = [ratio.median if (ratio := compare(data, series, case, value).ratio) else None for case in cases]
    return None if None in found or not found else max(ratio for ratio in found if ratio is not None)


def _flatness(data: Json) -> float | None:
    """The greatest ratio of what a move costs with many kernels to what it costs with few."""
    found = []
    for operation, _ in MOVES:
        for suffix in ("", ".all"):
            case = f"{operation}.migrate.plain.other{suffix}"
            many, few = (item and work(item) for item in (find(data, f"kernels-{kernels}-kettle", case)
                                                          for kernels in (MANY_KERNELS, FEW_KERNELS)))
            found += ratios([many], [few]) or [None]
    return None if None in found else max(ratio for ratio in found if ratio is not None)


def _machine_places(data: Json, series: str) -> list[str]:
    """The places that Linux's side of SERIES had: a machine of two CPUs on two nodes has no other CPU on the same."""
    return [place for place, _ in PLACES
            if any(run["name"].startswith(f"{series}-") and any(
                case["case"] == f"ping_pong.affinity.plain.{place}" for case in run["output"]) for run in data["runs"])]


def _move_cases(data: Json, series: str, operations: Sequence[str]) -> list[str]:
    return [f"{operation}.migrate.{vectors}.{place}" for operation in operations for vectors in ("plain", "avx")
            for place in _machine_places(data, series)]


def targets(data: Json) -> list[Target]:
    """The targets with what was measured."""
    back = ("move_back", "ping_pong")
    return [
        Target("move back over Linux's move, in time", BACK_TIME_LIMIT,
               _worst_ratio(data, "time", _move_cases(data, "time", back), median_us), 3),
        Target("move back over Linux's move, in instructions", BACK_WORK_LIMIT,
               _worst_ratio(data, "work", _move_cases(data, "work", back), work), 3),
        Target("first move over Linux's move, in instructions", FIRST_WORK_LIMIT,
               _worst_ratio(data, "work", _move_cases(data, "work", ("move_first",)), work), 3),
        Target("clone and join on the same kernel over Linux's, in instructions", CLONE_WORK_LIMIT,
               _worst_ratio(data, "work", ("clone_join.local", "pthread_join.local"), work), 3),
        Target("fork, exit and wait over Linux's, in instructions", FORK_WORK_LIMIT,
               _worst_ratio(data, "work", ("fork_small.local", "fork_16mb.local"), work), 3),
        Target(f"a move with {MANY_KERNELS} kernels over one with {FEW_KERNELS}, in instructions", FLAT_LIMIT,
               _flatness(data), 3),
    ]


def report(data: Json) -> Report:
    """Tables, targets and plots of DATA."""
    head = ("## Targets\n\nOf several rows the worst counts: moves with and without vector registers in use, on the "
            "same node and to another, one at a time and to and fro; a process that is on two kernels and one that is "
            "on all; clone with futex and the C library's threads; a small process and one with 16 MiB in pages of "
            "4 KiB. Instructions are those of programs and kernels on all CPUs without Kettle's looking for work. "
            "A row that is absent on Kettle is not measured.\n\n")
    goals = targets(data)
    return Report(head + target_table(goals), tasks_report.tables(data), tasks_report.plots(data), goals=goals)
