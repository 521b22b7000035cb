"""The tables and plots of the benchmark `tasks`; suites/tasks.py has its runs and targets."""

from dataclasses import dataclass
from typing import Any, Iterator, Sequence

from hosttools.results.pairs import Value, median_us, pair_values, work
from hosttools.results.plots import Plot
from hosttools.results.runs import Measured, find
from hosttools.results.stats import Spread, figure, percentile, ratios, spread, table
from hosttools.results.tables import absent, absent_cell, absent_table, profile_table

KERNELS = (1, 2, 4, 8, 16)
PLACES = (("same", "same node"), ("other", "other node"))
CALLERS = (("local", "home"), *PLACES)
MOVES = (("move_first", "first move"), ("move_back", "move back"), ("ping_pong", "to and fro, one move"))
HOWS = (("migrate", "kettle_migrate"), ("affinity", "sched_setaffinity"))
GROUPS = (2, 4, 8, 16, 32, 64)
VISITED = (2, 4, 8, 16)

Json = dict[str, Any]
Row = tuple[str, str]  # title and case


@dataclass(frozen=True)
class Comparison:
    """A row in the pairs of a series."""

    kettle: Spread | None
    idle: float | None
    linux: Spread | None
    ratio: Spread | None
    absent: str  # what Kettle lacks for it, or empty


def counterpart(case: str) -> str:
    """What stands on Linux for CASE of Kettle."""
    return case.replace(".migrate", ".affinity").replace("spawn_kettle", "spawn_posix")


def _doubled(case: str) -> bool:
    """Whether the same row of Linux stands beside another row of Kettle."""
    return ".affinity" in case or case.startswith("spawn_posix")


def compare(data: Json, series: str, case: str, value: Value) -> Comparison:
    """VALUE of CASE on Kettle and of its counterpart on Linux, over the pairs of SERIES."""
    kettle = pair_values(data, series, "kettle", case, value)
    linux = pair_values(data, series, "linux", counterpart(case), value)
    idle = [cost for cost in pair_values(data, series, "kettle", case,
                                         lambda item: item.cost.idle if item.cost else None) if cost is not None]
    return Comparison(_spread(kettle), spread(idle).median if idle else None, _spread(linux),
                      spread(ratios(kettle, linux)), absent(data).get(case, ""))


def _spread(values: Sequence[float | None]) -> Spread | None:
    return spread([value for value in values if value is not None])


# --- the rows, by kind ---

def _moves() -> Iterator[Row]:
    for how, call in HOWS:
        for operation, title in MOVES:
            for vectors, state in (("plain", ""), ("avx", ", vector registers in use")):
                for place, where in PLACES:
                    yield f"{title}, {call}, {where}{state}", f"{operation}.{how}.{vectors}.{place}"
        for operation, title in MOVES:
            yield f"{title}, {call}, other node, process everywhere", f"{operation}.{how}.plain.other.all"
        yield f"process's first arrival and a page, {call}", f"import.{how}"


def _at(operations: Sequence[Row], wheres: Sequence[tuple[str, str]]) -> Iterator[Row]:
    for operation, title in operations:
        for where, words in wheres:
            yield f"{title}, {words}", f"{operation}.{where}"


def _processes() -> Iterator[Row]:
    yield from _at((("spawn_kettle", "kettle_spawn, exit, wait"), ("spawn_posix", "posix_spawn, exit, wait"),
                    ("fork_small", "fork, exit, wait"), ("fork_16mb", "fork with 16 MiB in pages of 4 KiB, exit, wait"),
                    ("fork_16mb_large", "fork with 16 MiB in pages as the kernel likes, exit, wait"),
                    ("vfork_exec", "vfork, exec, exit, wait")), CALLERS)
    for threads in GROUPS:
        yield f"exit of a process of {threads} threads on all kernels", f"group_exit.{threads}"
    for places in VISITED:
        yield f"exit of a process of one thread that has been on {places} kernels", f"visited_exit.{places}"


def _threads() -> Iterator[Row]:
    yield from _at((("clone_join", "clone, exit, join by futex"), ("pthread_join", "pthread_create, pthread_join")), CALLERS)
    yield "clone, exit, join by futex, process everywhere", "clone_join.local.all"
    yield from _at((("clone_move_join", "clone, move there, exit, join by futex"),), PLACES)
    yield from _at((("thread_exit", "exit and join of a thread that has been there"),), (*CALLERS, ("all", "everywhere")))


def _signals() -> Iterator[Row]:
    yield from _at((("signal_self", "signal to itself, handler"), ("signal_reply", "signal to a thread, its signal back"),
                    ("signal_process", "signal to its process, handler"),
                    ("signal_fresh", "signal to its process, handler just set"), ("kill_wait", "SIGKILL to a process there, wait")), CALLERS)


def _calls() -> Iterator[Row]:
    yield from _at((("wake_nobody", "futex wake of nobody"), ("open_close", "open and close of a file"),
                    ("set_robust", "set_robust_list")), CALLERS)


def _memory() -> Iterator[Row]:
    yield from _at((("mprotect", "mprotect of one page"),), (("local", "home"), ("all", "everywhere")))
    yield from _at((("cow_break", "write to a page shared with a child"), ("touch_new", "first touch of a new page")), CALLERS)
    yield from _at((("touch_fetch", "first touch of a page of another kernel"),), PLACES)


KINDS = (("Moves", _moves), ("Processes", _processes), ("Threads", _threads), ("Signals", _signals), ("Calls", _calls),
         ("Memory", _memory))


# --- beside Linux ---

def _pair_tables(data: Json, series: str, value: Value, digits: int, what: str) -> str:
    head = ["", "Kettle", *(["idle"] if series == "work" else []), "Linux", "ratio"]
    parts = []
    for kind, names in KINDS:
        rows = []
        for title, case in names():
            found = compare(data, series, case, value)
            if found.kettle or found.linux or found.absent:
                rows.append([title, found.kettle.text(digits) if found.kettle else absent_cell(found.absent),
                             *([figure(found.idle)] if series == "work" else []),
                             found.linux.text(digits) if found.linux else "-",
                             found.ratio.text(3) if found.ratio else "-"])
        if rows:
            parts.append(f"### {kind}\n\n" + table(head, rows))
    return what + "\n".join(parts) if parts else ""


def _work_tables(data: Json) -> str:
    return _pair_tables(data, "work", work, 0, (
        "## Instructions of one operation\n\nOf all CPUs together, programs and kernels; medians of all pairs of runs "
        "(lowest to highest), ratios pair by pair. Idle is Kettle's looking for work, which stands apart; Linux's idle "
        "loop counts as kernel. On Linux a move is sched_setaffinity, a kettle_spawn is a posix_spawn. The place is "
        "where the caller is, or whom the operation is about.\n\n"))


def _time_tables(data: Json) -> str:
    return _pair_tables(data, "time", median_us, 1, (
        "## Times of one operation\n\nIn us, two CPUs on two nodes and two host threads. Each run gives one p50; medians "
        "of those (lowest to highest), ratios pair by pair.\n\n"))


def _tail_table(data: Json) -> str:
    rows = []
    for kind in KINDS:
        for title, case in kind[1]():
            cells = [_tail(data, side, name) for side, name in (("kettle", case), ("linux", counterpart(case)))]
            if cells[0] or (cells[1] and not _doubled(case)):
                rows.append([title, *(figure(value, 1) for value in cells)])
    return ("## Slowest of a hundred\n\np99 in us, of the same runs: the median of all runs' p99.\n\n"
            + table(["", "Kettle", "Linux"], rows)) if rows else ""


def _tail(data: Json, side: str, case: str) -> float | None:
    found = _spread(pair_values(data, "time", side, case, lambda item: percentile(item.case["ns"], 99) / 1e3
                                if item.case["ns"] else None))
    return found.median if found else None


# --- numbers of kernels ---

def _with_kernels(data: Json, side: str, kernels: int, case: str) -> Measured | None:
    if case.startswith("import.migrate"):
        return find(data, f"import-{kernels}", case)
    return find(data, f"kernels-{kernels}-{side}", case)


def _kernel_cells(data: Json, side: str, case: str) -> list[float | None]:
    return [item and work(item) for item in (_with_kernels(data, side, kernels, case) for kernels in KERNELS)]


def _kernels_table(data: Json) -> str:
    rows = []
    for _, names in KINDS:
        for title, case in names():
            for side, name in (("kettle", case), *(() if _doubled(case) else (("linux", counterpart(case)),))):
                cells = _kernel_cells(data, side, name)
                if any(cell is not None for cell in cells):
                    flat = ratios([cells[-1]], [cells[1]])
                    rows.append([f"{title}: {side.title()}", *map(figure, cells), figure(flat[0] if flat else None, 2)])
    if not rows:
        return ""
    return ("## By the number of kernels\n\nInstructions of one operation, programs and kernels. Kettle has one CPU in "
            "each kernel and is counted exactly; Linux has as many CPUs. Two nodes, from two on.\n\n"
            + table(["", *map(str, KERNELS), "16 over 2"], rows))


# --- the thesis ---

POPCORN: tuple[tuple[str, str, str, str], ...] = (
    ("importing a migrated task, with its first mapping retrieval", "188,902", "import.migrate",
     "the process's first move to a kernel and a write to a page there"),
    ("distributed task exit", "134,859", "thread_exit.all", "exit and join of a thread that has been on every kernel"),
    ("distributed group exit", "6,223", "group_exit.4",
     "from exit_group to the return of the parent's wait; the thesis counts the announcement alone"),
    ("distributed mprotect", "40,598", "mprotect.all", "one page, the process on every kernel"),
    ("break of a COW page", "18,836", "cow_break.other", "by a thread on another node"),
    ("counting remote thread group members", "237,263", "clone_join.other",
     "nobody counts: the home keeps the number, and a thread that begins and ends elsewhere tells it"),
    ("waiting for the Lamport lock", "27,777", "touch_fetch.other",
     "no Lamport lock: the home grants the page's lock within the fetch, so this is all of the fetch"),
    ("migration to a new kernel (figure 6.1)", "-", "move_first.migrate.plain.other.all",
     "a new thread of a process that is known there"),
    ("migration back (figure 6.1)", "-", "move_back.migrate.plain.other.all", "to the shadow at home"),
)


def _popcorn_table(data: Json) -> str:
    rows = []
    for title, cycles, case, meaning in POPCORN:
        found = compare(data, "work", case, work)
        cost = found.kettle
        if cost is None and case.startswith("import"):
            item = find(data, "import-4", case)
            cost = spread([item.cost.work]) if item and item.cost else None
        if cost or found.linux or found.absent:
            rows.append([title, cycles, figure(cost.median) if cost else absent_cell(found.absent),
                         figure(found.linux.median if found.linux else None), f"`{case}`: {meaning}"])
    if not rows:
        return ""
    return ("## Beside Popcorn's table 6.1 and figure 6.1\n\nThe thesis gives cycles of a 64-core Opteron 6274 at "
            "1.4 GHz, measured within its kernel; Kettle's and Linux's are instructions of one operation, system call "
            "included. So compare rows within a column. What stands for the thesis's row is said at the end.\n\n"
            + table(["", "Popcorn, cycles", "Kettle", "Linux", "operation"], rows))


# --- all of them ---

def tables(data: Json) -> list[str]:
    """All tables of DATA that have rows."""
    return [part for part in (_work_tables(data), _time_tables(data), _tail_table(data), _kernels_table(data),
                              _popcorn_table(data), profile_table(data), absent_table(data)) if part]


# --- plots ---

def plots(data: Json) -> list[Plot]:
    """The plots, some of which may be without data."""
    return [_moves_plot(data), _ratio_plot(data), _exit_plot(data)]


def _moves_plot(data: Json) -> Plot:
    lines = {}
    for operation, title in MOVES:
        for suffix, words in (("", ""), (".all", ", process everywhere")):
            lines[f"{title}{words}"] = _kernel_cells(data, "kettle", f"{operation}.migrate.plain.other{suffix}")[1:]
    lines["Linux, sched_setaffinity"] = _kernel_cells(data, "linux", "ping_pong.affinity.plain.other")[1:]
    return Plot("moves", "A move to another node, by the number of kernels", "kernels (Linux: CPUs)", "instructions",
                [str(kernels) for kernels in KERNELS[1:]], lines)


RATIOS = (("first\nmove", "move_first.migrate.plain.other"), ("move\nback", "move_back.migrate.plain.other"),
          ("spawn", "spawn_kettle.local"), ("fork", "fork_small.local"), ("fork\n16 MiB", "fork_16mb.local"),
          ("vfork\nexec", "vfork_exec.local"), ("clone\njoin", "clone_join.local"),
          ("pthread\njoin", "pthread_join.local"), ("signal\nreply", "signal_reply.other"),
          ("kill\nwait", "kill_wait.other"), ("group\nexit", "group_exit.4"))


def _ratio_plot(data: Json) -> Plot:
    return Plot("linux", "Instructions over Linux's: medians of all pairs, lowest and highest", "", "ratio",
                [label for label, _ in RATIOS], bars=[compare(data, "work", case, work).ratio for _, case in RATIOS])


def _exit_plot(data: Json) -> Plot:
    lines = {}
    for kernels in KERNELS[1:]:
        items = [find(data, f"kernels-{kernels}-kettle", f"group_exit.{threads}") for threads in GROUPS]
        lines[f"Kettle, {kernels} kernels"] = [item and work(item) for item in items]
    items = [find(data, f"kernels-{KERNELS[-1]}-linux", f"group_exit.{threads}") for threads in GROUPS]
    lines[f"Linux, {KERNELS[-1]} CPUs"] = [item and work(item) for item in items]
    return Plot("exit", "Exit of a process of threads on all kernels", "threads", "instructions",
                [str(threads) for threads in GROUPS], lines, log=True)
