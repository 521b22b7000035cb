"""The benchmark `numa`: modelled cycles of traversals of lists in near and far memory, on Kettle and on Linux.

userland/bench/numa/numabench.c runs unchanged on both under --numa-model; userland/bench/numa/migbench.c moves pages, and movebench.c
beside it moves them while others write and read them. Five groups of runs:

    list-KIB-SIDE    both sequences with lists of KIB, on the machine and with the matrix of the thesis on NUMA in Barrelfish
    map-SIDE         what a CPU pays for a line that another one has written, for all pairs, on eight nodes
    move-N-SIDE      N pages moved by mbind and move_pages, on eight nodes with 16 CPUs; and what a copy and an entry cost there
    walks-SIDE       the first sequence with a list whose page tables no cache holds: how far the walks of a thread that moves are
    minute-K         for a minute, 8 writers, 4 readers and a mover of all their pages, on K kernels, while messages are held back; CPUs take
                     turns, and in minute-K-parallel each is a thread of the host

Linux is that with and without its automatic balancing, which moves pages to who accesses them: `balanced` is the stock kernel as it
comes, `linux` has numa_balancing=disable. Caches are an eighth of that machine's: the lists, whose sizes follow them, are as much shorter. A cycle here is one of the
model, of a CPU in user mode, walks of page tables included: what the kernel adds has a column of its own.
"""

import argparse
import fnmatch
import itertools
import statistics
from typing import Any, Callable, Iterator, Sequence

from hosttools.machine.topology import make_topology
from hosttools.measure import numa_model
from hosttools.paths import built
from hosttools.results.plots import Plot
from hosttools.results.runs import Report, Run
from hosttools.results.stats import Target, figure, table, target_table

SUMMARY = "modelled cycles of lists in local and remote memory, and moves of pages, beside Linux"
TITLE = "Lists in the memory of nodes (modelled)"

SIDES = ("kettle", "linux", "balanced")  # the last one with the longest lists alone
OPTIONS = {"kettle": ("--icount", "0", "--seed", "1"), "linux": ("--os", "linux", "--append", "numa_balancing=disable"),
           "balanced": ("--os", "linux")}
CPUS, NODES = 4, 2
MODEL = "opteron-2,cache=128K:16,llc=256K:16"
MAP_CPUS, MAP_MODEL = 8, "opteron-8,prefetch=0"
MOVE_CPUS, MOVE_NODES, MOVE_MEMORY, MOVE_MODEL = 16, 8, "6G", "opteron-8"
MOVES = (1000, 3000, 10000, 30000, 130000)
MOVE_ALL = 10000  # up to as many pages by all ways
MOVE_LONGEST = "*.[mo][an]*.interleaved"  # of more pages: mbind.master and move_pages.one, and the master's costs
MOVE_CALLS = ("mbind.", "move_pages.")  # how the ways begin that move pages
MOVE_LIMIT = 1.3  # times a copy of a page and an entry of it
WALK_MODEL, WALK_MEMORY = "opteron-2,cache=64K:16,llc=128K:16", "1G"
WALK_ELEMENTS, WALK_ELEMENTS_QUICK = 1 << 20, 1 << 16  # 64 MiB: ten times the TLB's pages, whose entries have as many lines as a node's cache
MINUTE_MACHINE = ("--cpus", "8", "--nodes", "4", "--inject", "seed=1")
MINUTE_KERNELS = (1, 2, 4, 8)
MINUTE_TCG = {"": "single", "-parallel": "multi"}
MINUTE, MINUTE_QUICK = 60, 2  # seconds
MINUTE_GOALS = (("lines of writers that were lost", "lost"), ("reads that found a wrong line", "wrong"), ("faults of readers", "reader_faults"))
LINE = 64
REPEAT, REPEAT_QUICK = 10, 2
RUN_LIMIT = 1800  # seconds
SEQUENTIAL = ("local.read", "local.write", "remote1.read", "remote1.write", "remote2.read", "remote2.write")
CROSS = ("all_local.read", "all_local.write", "shared.read", "shared.write", "unfavourable.read", "unfavourable.write")
MIXED = tuple(range(0, 101, 10))

Json = dict[str, Any]
Value = Callable[[Json], float]


# --- the runs ---

def sizes(quick: bool) -> list[int]:
    """KiB of the lists: from half of a CPU's cache to eight times a node's."""
    model = numa_model.parse(MODEL, make_topology(CPUS, NODES, None, None))
    size, last = numa_model.cache_size(model, "cache") // 2, 8 * numa_model.cache_size(model, "llc")
    found = []
    while size <= last:
        found.append(size // 1024)
        size *= 2
    return found[::len(found) - 1] if quick else found


def plan(options: argparse.Namespace) -> list[Run]:
    """The runs of the benchmark."""
    for name in ("numabench", "migbench", "movebench"):
        built(f"userland/{name}")
    repeat = REPEAT_QUICK if options.quick else REPEAT
    runs = []
    machine = ("--cpus", str(CPUS), "--nodes", str(NODES), "--numa-model", MODEL)
    for number, size in enumerate(sizes(options.quick)):
        program = ("numabench", "--json", "--elements", str(size * 1024 // LINE), "--repeat", str(repeat))
        runs += _pair(f"list-{size}", number, machine, program)
    runs.append(_run(f"list-{size}", "balanced", machine, program))
    runs += _pair("map", 0, ("--cpus", str(MAP_CPUS), "--nodes", "8", "--numa-model", MAP_MODEL),
                  ("numabench", "--json", "--sequence", "map"))
    machine = ("--cpus", str(MOVE_CPUS), "--nodes", str(MOVE_NODES), "--mem", MOVE_MEMORY, "--numa-model", MOVE_MODEL)
    for number, pages in enumerate(MOVES[:1] if options.quick else MOVES):
        ways = ("--way", MOVE_LONGEST) if pages > MOVE_ALL else ()
        runs += _pair(f"move-{pages}", number, machine, ("migbench", "--json", "--pages", str(pages), *ways))
    elements = WALK_ELEMENTS_QUICK if options.quick else WALK_ELEMENTS
    runs += _pair("walks", 0, ("--cpus", str(CPUS), "--nodes", str(NODES), "--mem", WALK_MEMORY, "--numa-model", WALK_MODEL),
                  ("numabench", "--json", "--sequence", "sequential", "--small", "--elements", str(elements), "--repeat", "1"))
    seconds = MINUTE_QUICK if options.quick else MINUTE
    for kernels, (suffix, tcg) in itertools.product(MINUTE_KERNELS, MINUTE_TCG.items()):
        runs.append(Run(f"minute-{kernels}{suffix}", (*MINUTE_MACHINE, "--tcg", tcg, "--kernels", str(kernels)),
                        ("movebench", "--json", "--seconds", str(seconds)), RUN_LIMIT))
    return runs


def _run(name: str, side: str, machine: Sequence[str], program: Sequence[str]) -> Run:
    return Run(f"{name}-{side}", (*OPTIONS[side], *machine, "--tcg", "single"), tuple(program), RUN_LIMIT)


def _pair(name: str, number: int, machine: Sequence[str], program: Sequence[str]) -> list[Run]:
    """Both systems in turn. Every other pair begins with Linux."""
    sides = SIDES[:2] if number % 2 == 0 else SIDES[1::-1]
    return [_run(name, side, machine, program) for side in sides]


# --- the figures ---

def _cases(data: Json, name: str) -> Iterator[tuple[Json, Json]]:
    """Each case of the runs whose names match NAME, with the sums of its region."""
    for run in data["runs"]:
        if fnmatch.fnmatchcase(run["name"], name):
            sums = run.get("numa_model") or {}
            for case in run["output"]:
                if str(case["region"]) in sums:
                    yield case, sums[str(case["region"])]


def samples(data: Json, name: str, case: str, value: Value) -> list[float]:
    """VALUE of an element, in each repetition of CASE in the run NAME."""
    return [value(sums) / item["count"] for item, sums in _cases(data, name) if item["case"] == case]


def _user(sums: Json) -> float:
    return sums["user"]


def _kernel(sums: Json) -> float:
    return sums["kernel"]


def _mean(values: Sequence[float], digits: int = 1) -> str:
    """Mean and standard deviation."""
    if not values:
        return "-"
    spread = f" ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{statistics.fmean(values):,.{digits}f}{spread}"


def _average(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None


def _sides(data: Json, size: int) -> list[str]:
    """The sides that were measured with lists of SIZE."""
    names = {run["name"] for run in data["runs"]}
    return [side for side in SIDES if f"list-{size}-{side}" in names]


def _moved(data: Json, name: str, case: str) -> str:
    """In how many repetitions the list was, at the end, not where it had been made."""
    found = [item["misplaced"] for item, _ in _cases(data, name) if item["case"] == case]
    return f"{sum(count != 0 for count in found)} of {len(found)}"


def _measured_sizes(data: Json) -> list[int]:
    return sorted({int(run["name"].split("-")[1]) for run in data["runs"] if run["name"].startswith("list-")})


# --- the report ---

def _size_table(data: Json, cases: Sequence[str]) -> str:
    rows = [[f"{size} KiB, {side}", *(_mean(samples(data, f"list-{size}-{side}", case, _user)) for case in cases)]
            for size in _measured_sizes(data) for side in _sides(data, size)]
    return table(["list, system", *cases], rows)


def _mixed_table(data: Json, size: int) -> str:
    cases = [f"mixed.{share}" for share in MIXED]
    sides = _sides(data, size)
    rows = [[f"{share} %", *(_mean(samples(data, f"list-{size}-{side}", case, _user)) for side in sides)]
            for share, case in zip(MIXED, cases)]
    return table(["remote", *sides], rows)


def _kinds_table(data: Json, size: int) -> str:
    """Where the lines of the longest lists came from, and their walks."""
    rows = []
    for case in (*SEQUENTIAL[::2], *CROSS[::2]):
        for side in _sides(data, size):
            values = [[_average(samples(data, f"list-{size}-{side}", case, lambda sums, key=key: sums[key]))
                       for key in ("local", "remote", "walk_local", "walk_remote")],
                      [_average(samples(data, f"list-{size}-{side}", case, _kernel))]]
            rows.append([f"{case}, {side}", *(figure(value, 3) for value in values[0]), figure(values[1][0], 1),
                         _moved(data, f"list-{size}-{side}", case)])
    return table(["case, system", "local lines", "remote lines", "page-table lines, local", "page-table lines, remote",
                  "kernel's cycles", "lists moved"], rows)


def _over_size(data: Json) -> Plot:
    lines = {f"{case}, {side}": [_average(samples(data, f"list-{size}-{side}", case, _user)) for size in _measured_sizes(data)]
             for case in ("local.read", "remote1.read") for side in SIDES[:2]}
    return Plot("size", "Reading a list from its own and from the other node", "KiB of the list", "modelled cycles of an element",
                [str(size) for size in _measured_sizes(data)], lines)


def _over_share(data: Json, size: int) -> Plot:
    lines = {side: [_average(samples(data, f"list-{size}-{side}", f"mixed.{share}", _user)) for share in MIXED]
             for side in _sides(data, size)}
    return Plot("mixed", f"All CPUs, with a growing part of the other node's list ({size} KiB)", "percent remote",
                "modelled cycles of an element", [str(share) for share in MIXED], lines)


def _phases(data: Json, size: int) -> Plot:
    cases = ("local.read", "remote1.read", "remote2.read", "all_local.read", "shared.read", "unfavourable.read")
    lines = {side: [_average(samples(data, f"list-{size}-{side}", case, _user)) for case in cases] for side in _sides(data, size)}
    return Plot("phases", f"Phases of both sequences, lists of {size} KiB", "", "modelled cycles of an element",
                [case.removesuffix(".read") for case in cases], lines)


def _map_plots(data: Json) -> list[Plot]:
    plots = []
    for side in SIDES[:2]:
        heat: list[list[float | None]] = [[None] * MAP_CPUS for _ in range(MAP_CPUS)]
        for case, sums in _cases(data, f"map-{side}"):
            _, reader, writer = case["case"].split(".")
            heat[int(reader)][int(writer)] = sums["user"] / case["count"]
        plots.append(Plot(f"map-{side}", f"Modelled cycles for a line that another CPU has written ({side})", "written by CPU",
                          "read by CPU", [str(cpu) for cpu in range(MAP_CPUS)], heat=heat))
    return plots


def _ratio(data: Json, size: int, side: str) -> float | None:
    far, near = (_average(samples(data, f"list-{size}-{side}", case, _user)) for case in ("remote1.read", "local.read"))
    return far / near if far and near else None


def _costs(data: Json) -> dict[tuple[str, int, str], tuple[float, float]]:
    """By way, number of pages and side: modelled cycles and instructions of a page, user and kernel, all CPUs."""
    return {(case["way"], case["count"], side): ((sums["user"] + sums["kernel"]) / case["count"], sums["instructions"] / case["count"])
            for side in SIDES[:2] for case, sums in _cases(data, f"move-*-{side}")}


def _walk_table(data: Json) -> list[str]:
    """Walks of page tables before and after a thread moves."""
    rows = []
    for case in SEQUENTIAL:
        for side in SIDES[:2]:
            values = [_average(samples(data, f"walks-{side}", case, lambda sums, key=key: sums[key]))
                      for key in ("walks", "walk_local", "walk_remote", "walk_cycles", "user", "kernel")]
            if values[0] is not None:
                rows.append([f"{case}, {side}", *(figure(value, 3) for value in values[:3]), *(figure(value, 1) for value in values[3:])])
    if not rows:
        return []
    return [f"## Walks of page tables when a thread moves\n\nA list in small pages, ten times as many as the TLB has entries, with `{WALK_MODEL}`. The "
            "thread is on the list's node (`local`), and then on the other (`remote1`, `remote2`). Of an element: walks, and lines of page "
            "tables that these read from the node's own memory and from the other node's; the rest was in caches. A kernel's own tables are "
            "local by construction, as it makes its own when a thread comes (`remote1.read`, the kernel's cycles); Linux's stay where they "
            "were made.\n\n"
            + table(["case, system", "walks", "page-table lines, local", "page-table lines, remote", "cycles of walks", "user cycles",
                     "kernel's cycles"], rows)]


def least(data: Json, way: str, count: int, side: str) -> float | None:
    """Modelled cycles of a copy of a page as WAY finds them, by a thread where its caller is, and of a change of its entry; less where some
    pages are on the last node already. None: not measured, or WAY moves nothing."""
    if not way.startswith(MOVE_CALLS):
        return None
    costs, start = _costs(data), way.rpartition(".")[2]
    moving = 1 - 1 / MOVE_NODES if start == "interleaved" and ".distributed." not in way else 1
    caller = "master" if ".master." in way else "other"
    copies = [costs.get((f"cost.copy.{name}.{start}", count, side)) for name in (caller, "master")]
    copy, entry = next(filter(None, copies), None), costs.get((f"cost.entry.master.{start}", count, side))
    return moving * (copy[0] + entry[0]) if copy and entry else None


def goals(data: Json) -> list[Target]:
    """What moving a page may cost, and what may not happen in the minutes."""
    found = [Target(f"{way}, {count:,} pages: modelled cycles of a page, over those of a copy and an entry", MOVE_LIMIT, cycles / lowest, 2)
             for (way, count, side), (cycles, _) in _costs(data).items()
             if side == SIDES[0] and (lowest := least(data, way, count, side)) is not None]
    for kernels, how, case in _minutes(data):
        found += [Target(f"{what}, {kernels} kernel{'s' if kernels > 1 else ''}, {how}", 0, case[key]) for what, key in MINUTE_GOALS]
    return found


def _minutes(data: Json) -> Iterator[tuple[int, str, Json]]:
    """The runs beside writers: kernels, how CPUs are run, and what was told."""
    for run in data["runs"]:
        group, _, rest = run["name"].partition("-")
        if group == "minute":
            for case in run["output"]:
                yield int(rest.partition("-")[0]), "in parallel" if "-" in rest else "in turns", case


def _minute_table(data: Json) -> list[str]:
    rows = [[f"{kernels}, {how}", f"{case['duration'] / 1e9:.0f}", f"{case['count']:,}", f"{case['rounds']:,}", f"{case['writes']:,}", str(case["lost"]),
             f"{case['reads']:,}", str(case["wrong"]), str(case["reader_faults"]), f"{case['writer_faults']:,}",
             f"{case['median_ns'] / 1e3:,.2f}", f"{case['rare_ns'] / 1e3:,.1f}", f"{case['longest_ns'] / 1e6:,.1f}"]
            for kernels, how, case in _minutes(data)]
    if not rows:
        return []
    head = ["kernels, CPUs", "seconds", "pages moved", "rounds", "writes", "lines lost", "reads", "lines wrong", "faults of readers", "faults of writers",
            "median access, us", "one in 100,000, us", "the longest, ms"]
    return ["## Pages that go round all nodes while others use them\n\n8 CPUs on 4 nodes; messages are held back by a seeded schedule. 8 writers, "
            "which go from place to place, leave a count and its checksum in a line of their own in each of 96 pages; 4 readers check them and "
            "time each access; all pages go round all nodes. A reader that waited for a copy would have taken a fault. Times are the "
            "emulator's, whose CPUs share those of the host: below which power of two of the counter half of the accesses stay, and all but one in "
            "100,000.\n\n" + table(head, rows)]


def _moves(data: Json) -> tuple[str, list[Plot]]:
    """What moving pages costs, by how they are moved, and a line for each way."""
    rows, lines = [], {}
    names: dict[str, None] = {}
    counts: dict[int, None] = {}
    costs = _costs(data)
    for way, count, _ in costs:
        names[way] = None
        counts[count] = None
    for way in names:
        for count in sorted(counts):
            cells = [costs.get((way, count, side)) for side in SIDES[:2]]
            if any(cells):
                lowest = [least(data, way, count, side) for side in SIDES[:2]]
                rows.append([f"{way}, {count:,}", *(figure(None if cell is None else cell[i]) for cell in cells for i in range(2)),
                             *(figure(cell[0] / low, 2) if cell and low else "-" for cell, low in zip(cells, lowest))])
        for side in SIDES[:2]:
            lines[f"{way}, {side}"] = [costs[way, count, side][0] if (way, count, side) in costs else None
                                       for count in sorted(counts)]
    if not rows:
        return "", []
    head = ["way, pages", *(f"{what}, {side}" for side in SIDES[:2] for what in ("modelled cycles", "instructions")),
            *(f"over a copy and an entry, {side}" for side in SIDES[:2])]
    text = ("## Moving pages\n\n16 threads, each bound to a CPU, two on each of eight nodes; the pages begin on node 0, or "
            "interleaved over all. The caller is on node 0 (`master`) or on node 5. Of a page, user and kernel, all CPUs. `cost.copy` is the "
            "program's own copy of a page to the last node, `cost.entry` an mprotect of all pages, and `cost.where` a move_pages that only "
            "asks where they are. Moving may take "
            f"{MOVE_LIMIT} times both together, for each page that moves: of interleaved ones an eighth is on the last node already.\n\n"
            + table(head, rows))
    plots = [Plot(f"move-{kind}", f"Moving pages with {kind}", "pages", "modelled cycles of a page",
                  [str(count) for count in sorted(counts)], {name: line for name, line in lines.items() if name.startswith(kind) and any(value is not None for value in line)})
             for kind in ("mbind", "move_pages")]
    return text, plots


def report(data: Json) -> Report:
    """Tables by size and by phase, and plots."""
    found = _measured_sizes(data)
    moves, move_plots = _moves(data)
    after = [*_walk_table(data), *([moves] if moves else []), *_minute_table(data)]
    targets = goals(data)
    told = "\n" + target_table(targets) + "\n" if targets else ""
    if not found:
        return Report(f"No list was measured.\n{told}", after, move_plots, goals=targets)
    size = found[-1]
    ratios = ", ".join(f"{figure(_ratio(data, size, side), 3)} on {side}" for side in SIDES[:2])
    head = (f"All figures are **modelled** (tools/plugin/numa/numa_model.md): matrix and keys `{MODEL}`, {CPUS} CPUs on {NODES} "
            f"nodes. Cycles of an element are those of CPUs in user mode, walks of page tables included: mean and standard "
            f"deviation of all repetitions, each with another order of the lists. `linux` is without automatic balancing of nodes, `balanced` with "
            f"it.\n\nRemote over local, read, with {size} KiB: "
            f"{ratios}. The matrix has 1.42; the thesis measured 1.417 on its machine (20,200 over 14,260 ms).\n{told}")
    tables = ["## One thread, on the list's node and then on the other\n\n" + _size_table(data, SEQUENTIAL),
              "## A thread for each CPU\n\n" + _size_table(data, CROSS),
              f"## A growing part of the other node's list ({size} KiB)\n\n" + _mixed_table(data, size),
              f"## Lines of an element, and the kernel ({size} KiB)\n\n" + _kinds_table(data, size)]
    return Report(head, [*tables, *after],
                  [_over_size(data), _phases(data, size), _over_share(data, size), *_map_plots(data), *move_plots], goals=targets)
