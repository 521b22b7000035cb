"""The benchmark `messages`: what messages between kernels cost, in instructions and beside Linux in time.

Four groups of runs:

    counts           one host thread and exact instruction counting: every case on the machine of the options
    sets-N           the same with N kernels: one message to all of them, by multicast and one after another
    times            two CPUs on two host threads: times of the cases between two kernels
    time-K-SIDE      the K-th pair, Kettle and Linux in turn on the same machine: round trips between two CPUs
    work-K-SIDE      the same pair with one host thread, counting instructions

Linux cannot start several CPUs under exact counting, so the pairs of `work` count on machines that keep their own time.
"""

import argparse
from typing import Any, Sequence

from hosttools.errors import UsageError
from hosttools.machine.topology import divide_kernels, make_topology
from hosttools.paths import ROOT, built
from hosttools.results.pairs import COUNTS, EXACT, TIMES, Value, median_us, pair_runs, pair_values, total_work
from hosttools.results.plots import Plot
from hosttools.results.runs import Cost, Report, Run, find, measured
from hosttools.results.stats import Spread, Target, figure, percentile, ratios, spread, table, target_table
from hosttools.results.verdict import sentence

SUMMARY = "messages between kernels, beside futexes and pipes on Linux"
TITLE = "Messages between kernels"

SETS = (2, 4, 8, 16, 32, 64)
SETS_QUICK = (2, 4, 16)
PAIRS = 5
PAIRS_QUICK = 3
SIZES = (0, 48, 256, 4096, 65536)
SET_SIZES = (32, 4096)
PEERS = ("polled", "running", "sleeping")
PLACES = (("same", "same node"), ("other", "other node"))
SHAPES = ("1:N", "N:1", "N:N")
PAIR_MACHINE = ("--cpus", "2", "--nodes", "2")
BACK_TO_BACK = "pingpong.48"
SPACED = "round_trip.48.sleeping.other"
LINUX_WAYS = ("futex", "pipe")

ONE_WAY_LIMIT = 120
HANDLER_LIMIT = 400
MULTICAST_KERNELS = 16
MULTICAST_LIMIT = 350  # for each kernel
TIME_LIMIT = 0.5
WORK_LIMIT = 0.25

Json = dict[str, Any]


# --- the runs ---

def plan(options: argparse.Namespace) -> list[Run]:
    """The runs of the benchmark."""
    topology = make_topology(options.cpus, options.nodes, None, None)
    if len(divide_kernels(options.kernels, topology)) < 2:
        raise UsageError(f"bench messages needs at least 2 kernels: --cpus {options.cpus} --kernels {options.kernels} "
                         "makes 1")
    built("userland/msgbench")
    pingpong = built("userland/pingpong")
    baseline = str(pingpong.relative_to(ROOT) if pingpong.is_relative_to(ROOT) else pingpong)
    machine = ("--cpus", str(options.cpus), "--nodes", str(options.nodes), "--kernels", options.kernels)
    sizes = ("48", "4096") if options.quick else ("*",)
    runs = [Run("counts", (*machine, *EXACT), _msgbench(_cases(sizes, "*"), "--no-times"))]
    runs += [_set_run(kernels) for kernels in (SETS_QUICK if options.quick else SETS)]
    runs.append(Run("times", PAIR_MACHINE, _msgbench(_cases(sizes, "*.other"))))
    pairs = range(1, (PAIRS_QUICK if options.quick else PAIRS) + 1)
    for series, pace, words in (("time", TIMES, ()), ("work", COUNTS, ("--no-times",))):
        for pair in pairs:
            runs += pair_runs(series, pair, (*PAIR_MACHINE, *pace),
                              kettle=_msgbench(f"call,{BACK_TO_BACK},{SPACED}", *words),
                              linux=(baseline, "--json", *words))
    return runs


def _msgbench(cases: str, *words: str) -> tuple[str, ...]:
    """The command line of msgbench inside."""
    return ("msgbench", "--json", *words, "--cases", cases)


def _cases(sizes: Sequence[str], rest: str) -> str:
    """The empty call, and all operations but those on sets, of SIZES; REST is the pattern of what follows the size."""
    return ",".join(["call", *(f"{operation}.{size}.{rest}" for operation in ("one_way", "round_trip")
                               for size in sizes), f"handler.48.{rest}"])


def _set_run(kernels: int) -> Run:
    machine = ("--cpus", str(kernels), "--nodes", str(max(2, kernels // 8)))
    cases = f"multicast.*.{kernels},unicast.*.{kernels}"
    return Run(f"sets-{kernels}", (*machine, *EXACT), _msgbench(cases, "--no-times"))


# --- the figures ---

class Pairs:
    """The pairs with Linux, in time or in instructions. The better of Linux's two ways is taken pair by pair."""

    def __init__(self, data: Json, series: str, value: Value) -> None:
        self.kettle = {case: pair_values(data, series, "kettle", case, value) for case in (BACK_TO_BACK, SPACED)}
        self.linux = {case: pair_values(data, series, "linux", case, value) for case in LINUX_WAYS}
        self.better = [None if None in ways else min(way for way in ways if way is not None)
                       for ways in zip(*self.linux.values())]

    def ratio(self, case: str) -> Spread | None:
        """Kettle's CASE over Linux's better way."""
        return spread(ratios(self.kettle[case], self.better))

    def ratios(self) -> list[float]:
        """Of all pairs, over Linux's better way: back to back, and each after a rest."""
        return [ratio for case in (BACK_TO_BACK, SPACED) for ratio in ratios(self.kettle[case], self.better)]

    def worse_ratio(self) -> float | None:
        """The greater of the two cases' median ratios; None unless both were measured."""
        found = [self.ratio(case) for case in (BACK_TO_BACK, SPACED)]
        return None if None in found else max(ratio.median for ratio in found if ratio is not None)

    def rows(self, digits: int) -> list[list[str]]:
        """Rows for a table: who, spread, ratio."""
        rows = []
        for who, case, values in (("Kettle, back to back", BACK_TO_BACK, self.kettle[BACK_TO_BACK]),
                                  ("Kettle, each after a rest", SPACED, self.kettle[SPACED]),
                                  *((f"Linux, {way}", None, self.linux[way]) for way in LINUX_WAYS)):
            found = spread([value for value in values if value is not None])
            ratio = self.ratio(case) if case else None
            rows.append([who, "-" if found is None else found.text(digits), "-" if ratio is None else ratio.text(3),
                         "0" if found is None else str(found.count)])
        return rows

    def bars(self) -> list[Spread | None]:
        """One for each row."""
        return [spread([value for value in values if value is not None])
                for values in (*(self.kettle[case] for case in (BACK_TO_BACK, SPACED)), *self.linux.values())]


def _worst_work(data: Json, cases: Sequence[str]) -> float | None:
    """The most instructions, without the looking for work, of those of CASES that were counted."""
    found = [item.cost.work for case in cases if (item := find(data, "counts", case)) and item.cost]
    return max(found, default=None)


def targets(data: Json, time: Pairs, work: Pairs) -> list[Target]:
    """The targets with what was measured."""
    multicast = find(data, f"sets-{MULTICAST_KERNELS}", f"multicast.{SET_SIZES[0]}.{MULTICAST_KERNELS}")
    places = [place for place, _ in PLACES]
    return [
        Target("48 bytes one way to a polling kernel, instructions of both sides", ONE_WAY_LIMIT,
               _worst_work(data, [f"one_way.48.polled.{place}" for place in places])),
        Target("48 bytes and the reply through the handler table, instructions of both sides", HANDLER_LIMIT,
               _worst_work(data, [f"handler.48.polled.{place}" for place in places])),
        Target(f"multicast of {SET_SIZES[0]} bytes and all replies over {MULTICAST_KERNELS} kernels, instructions of all",
               MULTICAST_KERNELS * MULTICAST_LIMIT, multicast.cost.work if multicast and multicast.cost else None),
        Target("round trip to a sleeping kernel over Linux's better of futex and pipe, in time", TIME_LIMIT,
               time.worse_ratio(), 3),
        Target("the same in instructions", WORK_LIMIT, work.worse_ratio(), 3),
    ]


# --- the report ---

def report(data: Json) -> Report:
    """Tables, targets and plots of DATA."""
    time, work = Pairs(data, "time", median_us), Pairs(data, "work", total_work)
    head = ("## Targets\n\nOf same node and other node, and of back to back and after a rest, the worse counts. "
            "Instructions leave out the kernels' looking for work, but not in the comparison with Linux.\n\n")
    goals = targets(data, time, work)
    return Report(head + target_table(goals),
                  [part for part in (_linux_table(time, work), _size_table(data), _column_table(data),
                                     _shape_table(data), _set_table(data), _time_table(data)) if part],
                  [_size_plot(data), _set_plot(data), _linux_plot(time)], _told(time, work), goals=goals)


def _told(time: Pairs, work: Pairs) -> str:
    """Who won."""
    what = "round trips to a CPU that sleeps"
    found = (sentence(what, "instructions", work.ratios()), sentence(what, "time", time.ratios()))
    return " ".join(text for text in found if text)


def _cost(data: Json, run: str, case: str) -> Cost | None:
    item = find(data, run, case)
    return item.cost if item else None


def _kernel(data: Json, run: str, case: str) -> float | None:
    cost = _cost(data, run, case)
    return cost.kernel if cost else None


def _any(rows: Sequence[Sequence[str]]) -> bool:
    return any(cell != "-" for row in rows for cell in row[1:])


def _linux_table(time: Pairs, work: Pairs) -> str:
    head = ["", "median (lowest to highest)", "over Linux's better", "runs"]
    return ("## Round trip between two CPUs\n\n"
            "Kettle's receiver halts as soon as it has nothing to do (`poll=0`); the asker looks for its answer for a "
            "while before it sleeps, as kernels do by default. Linux's threads sleep on both sides. "
            "Each run gives one median; the table has the median of those. Ratios are taken pair by pair.\n\n"
            "Time in us, two CPUs on two host threads:\n\n" + table(head, time.rows(2)) +
            "\nInstructions of both CPUs, those of user programs and of idle loops included. Kettle's round trips "
            "start in its kernel: back to back all are one system call; after a rest each is one, and the receiver "
            "halts again in the next rest, which is not counted. Linux's are two system calls on each side.\n\n"
            + table(head, work.rows(0)))


def _pair_names() -> list[tuple[str, str]]:
    """Names of rows and the cases' names, with a place for the size."""
    names = [(f"{operation.replace('_', ' ')}, {peer}, {where}", f"{operation}.{{}}.{peer}.{place}")
             for operation in ("one_way", "round_trip") for peer in PEERS for place, where in PLACES]
    return names + [(f"handler, polled, {where}", f"handler.{{}}.polled.{place}") for place, where in PLACES]


def _size_table(data: Json) -> str:
    rows = [[name, *(figure(_kernel(data, "counts", case.format(size))) for size in SIZES)]
            for name, case in _pair_names()]
    rows = [row for row in rows if _any([row])]
    if not rows:
        return ""
    return ("## Kernel instructions of one operation, by size in bytes\n\n"
            "All CPUs together, without the looking for work. A round trip carries the bytes both ways. One way to a "
            "sleeping kernel includes the empty round trip with which each call ends.\n\n"
            + table(["operation, receiver, place", *(f"{size:,}" for size in SIZES)], rows))


def _column_table(data: Json) -> str:
    rows = []
    for name, case in [("system call that does nothing", "call"), *_pair_names()]:
        cost = _cost(data, "counts", case.format(48))
        if cost is not None:
            rows.append([name, figure(cost.user, 1), figure(cost.kernel, 1), figure(cost.idle, 1)])
    if not rows:
        return ""
    return ("## Where instructions of 48 bytes are executed\n\n"
            "Idle is the kernels' looking for work. A running receiver's own program counts as user.\n\n"
            + table(["operation, receiver, place", "user", "kernel", "idle"], rows))


def _shape_table(data: Json) -> str:
    rows = []
    for item in measured(data, "counts"):
        case = item.case
        if case["shape"] in SHAPES and item.cost:
            rows.append([f"{case['operation'].replace('_', ' ')}, {case['bytes']} bytes, {case['shape']}",
                         str(case["kernels"]), figure(case["count"]), figure(item.cost.kernel, 1)])
    if not rows:
        return ""
    return ("## Several senders and receivers\n\nKernel instructions of one message, or of one round trip.\n\n"
            + table(["operation, size, shape", "kernels", "operations", "instructions"], rows))


def _set_counts(data: Json) -> list[int]:
    return sorted({item.case["kernels"] for item in measured(data, "sets-")})


def _set_cost(data: Json, operation: str, size: int, kernels: int) -> float | None:
    return _kernel(data, f"sets-{kernels}", f"{operation}.{size}.{kernels}")


def _set_table(data: Json) -> str:
    rows = []
    for kernels in _set_counts(data):
        for size in SET_SIZES:
            multicast, unicast = (_set_cost(data, operation, size, kernels) for operation in ("multicast", "unicast"))
            if multicast is not None or unicast is not None:
                ratio = ratios([multicast], [unicast])
                rows.append([str(kernels), f"{size:,}", figure(multicast), figure(unicast),
                             figure(ratio[0] if ratio else None, 2),
                             figure(None if multicast is None else multicast / kernels)])
    if not rows:
        return ""
    return ("## One message to all kernels, and all replies\n\n"
            "Kernel instructions, all CPUs together; the sender is one of the kernels.\n\n"
            + table(["kernels", "bytes", "multicast", "one after another", "ratio", "multicast, for each kernel"],
                    rows))


def _time_table(data: Json) -> str:
    rows = [[item.case["case"], figure(item.case["count"]), figure(percentile(item.case["ns"], 50) / 1e3, 2),
             figure(percentile(item.case["ns"], 99) / 1e3, 2)]
            for item in measured(data, "times") if item.case["ns"]]
    if not rows:
        return ""
    return ("## Times between two kernels\n\nIn us, two CPUs on two host threads. One way is the sender's side.\n\n"
            + table(["case", "operations", "p50", "p99"], rows))


def _size_plot(data: Json) -> Plot:
    lines = {name: [_kernel(data, "counts", case.format(size)) for size in SIZES]
             for name, case in _pair_names() if name.endswith("other node")}
    return Plot("instructions", "Kernel instructions of one operation between two nodes", "bytes", "instructions",
                [f"{size:,}" for size in SIZES], {name.rsplit(",", 1)[0]: line for name, line in lines.items()},
                log=True)


def _set_plot(data: Json) -> Plot:
    kernels = _set_counts(data)
    lines = {f"{operation}, {size:,} bytes": [_set_cost(data, operation, size, count) for count in kernels]
             for operation in ("multicast", "unicast") for size in SET_SIZES}
    return Plot("multicast", "One message to all kernels, and all replies", "kernels", "kernel instructions",
                [str(count) for count in kernels], lines, log=True)


def _linux_plot(time: Pairs) -> Plot:
    return Plot("linux", "Round trip between two CPUs: medians of all runs, lowest and highest", "", "us",
                ["Kettle,\nback to back", "Kettle,\nafter a rest", "Linux,\nfutex", "Linux,\npipe"],
                bars=time.bars())
