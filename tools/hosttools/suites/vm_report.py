"""The tables and plots of the benchmark `vm`; suites/vm.py has its runs and targets."""

from dataclasses import dataclass
from typing import Any, Iterator, Sequence

from hosttools.machine.strategies import strategy_names
from hosttools.results.pairs import Value, median_us, pair_values
from hosttools.results.plots import Plot
from hosttools.results.runs import Measured, find
from hosttools.results.stats import Spread, figure, percentile, ratios, spread, table
from hosttools.results.tables import absent, absent_cell, absent_table, profile_table

SIDES = ("kettle", "smp", "linux")
SIDE_NAMES = {"kettle": "Kettle", "smp": "one kernel", "linux": "Linux"}
KERNELS = (1, 2, 4, 8, 16)
MODES = strategy_names()
LOCKINGS = ("home", "lamport")
PREFETCH = (0, 1, 4, 8, 32)
SIZES = (1, 16, 512)
MIB_PAGES = 256
NEAR = 1.02  # costs that are nearer to each other than this are told as equal

Json = dict[str, Any]
Row = tuple[str, str]  # title and case


# --- the figures ---

def cost(item: Measured) -> float | None:
    """Instructions of one operation on all CPUs without Kettle's looking for work: of a team only the kernels', for its
    programs wait for each other in loops."""
    if item.cost is None:
        return None
    return item.cost.work if item.case["shape"] == "local" else item.cost.kernel


def cost_of(data: Json, run: str, case: str) -> float | None:
    """What CASE cost in RUN, or None."""
    item = find(data, run, case)
    return None if item is None else cost(item)


def messages(item: Measured) -> float | None:
    """Messages and replies between kernels for one operation."""
    sent = item.case.get("messages")
    return sum(sent.values()) / item.case["count"] if sent is not None and item.case["count"] else None


def messages_of(data: Json, run: str, case: str) -> float | None:
    """What CASE sent in RUN, or None."""
    item = find(data, run, case)
    return None if item is None else messages(item)


@dataclass(frozen=True)
class Comparison:
    """A row in the rounds of a series."""

    sides: dict[str, Spread | None]
    idle: float | None
    sent: float | None  # messages on Kettle
    ratio: Spread | None  # Kettle over Linux

    def least(self) -> str:
        """Who has the least."""
        return least_of({side: value.median if value else None for side, value in self.sides.items()})


def least_of(values: dict[str, float | None]) -> str:
    """The sides that have the least, or are as near to it as makes no difference; a dash if there is nothing to compare."""
    found = {side: value for side, value in values.items() if value is not None}
    if len(found) < 2:
        return "-"
    least = min(found.values())
    return ", ".join(SIDE_NAMES[side] for side, value in found.items() if value <= least * NEAR)


def compare(data: Json, series: str, case: str, value: Value = cost) -> Comparison:
    """VALUE of CASE on all sides, over the rounds of SERIES."""
    values = {side: pair_values(data, series, side, case, value) for side in SIDES}
    idle = _spread(pair_values(data, series, "kettle", case, lambda item: item.cost.idle if item.cost else None))
    sent = _spread(pair_values(data, series, "kettle", case, messages))
    return Comparison({side: _spread(found) for side, found in values.items()}, idle.median if idle else None,
                      sent.median if sent else None, spread(ratios(values["kettle"], values["linux"])))


def _spread(values: Sequence[float | None]) -> Spread | None:
    return spread([value for value in values if value is not None])


# --- the rows ---

WHERES = (("local", "home"), ("same", "same node"), ("other", "other node"), ("all", "other node, process everywhere"))
FAULTS = (("fault_new", "first touch of a new page"), ("fault_frame", "touch of a page that home has touched"),
          ("fault_none", "touch of nothing, SIGSEGV, handler jumps out"), ("cow", "write to a page shared with a child"),
          ("sequence", "touch of the next of 512 pages that home has touched"),
          ("lock", "lock of a page taken and given back"),
          ("fault_rested", "first touch of a new page after 20 ms of sleep"))
RANGES = (("touch", "mmap, touch, munmap"), ("map", "mmap, munmap"), ("protect", "mprotect to read-only and back"))
SCALING = ((f"touch.{MIB_PAGES}", "mmap, touch, munmap of 1 MiB"), (f"map.{128 * MIB_PAGES}", "mmap, munmap of 128 MiB"),
           (f"protect_whole.{128 * MIB_PAGES}", "mprotect and back of 128 MiB, untouched"))
FORKED = (("forked_new", "first touch of a new page"), ("forked_write", "write to a page that was touched before it"))
PAIRS = (("unmap_pair", "munmap"), ("protect_pair", "mprotect"))
ADVICES = (("advise_lasting", "MADV_DONTFORK and MADV_DOFORK of a page"), ("advise_hint", "MADV_RANDOM of a page"),
           ("advise_drop", "touch and MADV_DONTNEED of a page"), ("advise_drop_file", "the same of a file that is mapped shared"))
LARGE = ("touch_huge.512", "mmap, touch, munmap of a large page of 2 MiB")
LOCKS = (("fault_race.1", "first touch of a page of one range"), ("protect_race.1", "mprotect and back of one page"))
SHAPES = (("threads", "a thread on each, ranges of their own"), ("processes", "a process on each"),
          ("shared", "one changes what all have touched"))
LOCK_SHAPES = (("apart", "by one"), ("together", "by all at once"))


def _pages(pages: int) -> str:
    return "1 page" if pages == 1 else f"{pages} pages"


def fault_rows() -> Iterator[Row]:
    """Faults of one thread, and changes of what another place shares."""
    for operation, title in FAULTS:
        for where, words in WHERES:
            if operation not in ("fault_frame", "sequence") if where == "local" else operation != "fault_rested":
                yield f"{title}, {words}", f"{operation}.{where}"
    for operation, title in PAIRS:
        for where, words in (WHERES[0], WHERES[2]):
            yield f"{title} of a page that two places have touched, process everywhere, {words}", f"{operation}.{where}"
    for operation, title in ADVICES:
        for where, words in (WHERES[0], WHERES[2]):
            yield f"{title}, {words}", f"{operation}.{where}"
    for operation, title in FORKED:
        for where, words in (WHERES[0], *WHERES[2:]):
            yield f"{title}, mapped there, after a fork there, {words}", f"{operation}.{where}"


def range_rows() -> Iterator[Row]:
    """Changes by one thread whose process is on one kernel."""
    for operation, title in (*RANGES, ("protect_part", "mprotect and back inside of a longer range")):
        for pages in SIZES:
            yield f"{title}, {_pages(pages)}", f"{operation}.{pages}.local"
    yield LARGE[1], f"{LARGE[0]}.local"


LOCK_CASES = (("free, of one thread", "lock.all"), ("free, each thread its own", "lock.1.threads.{}"),
              ("the same one by all at once", "lock_race.1.together.{}"))


def team_stems() -> Iterator[tuple[str, str, str]]:
    """Kind, title and the case's name without the number of members."""
    for operation, title in RANGES:
        for pages in SIZES:
            for shape, words in SHAPES:
                yield f"{title[0].upper()}{title[1:]}", f"{_pages(pages)}, {words}", f"{operation}.{pages}.{shape}"
    for stem, title in (*SCALING, LARGE):
        for shape, words in SHAPES[:2]:
            yield "As will-it-scale has them", f"{title}, {words}", f"{stem}.{shape}"
    for stem, title in LOCKS:
        for shape, words in LOCK_SHAPES:
            yield "Locks: one kernel at a time, and all at once", f"{title}, {words}", f"{stem}.{shape}"
    yield "Locks: one kernel at a time, and all at once", "lock of a page, each its own", "lock.1.threads"
    yield "Locks: one kernel at a time, and all at once", "lock of a page, the same", "lock_race.1.together"


def stem_case(stem: str, members: int) -> str:
    """The case of STEM with so many MEMBERS: of one, threads and processes are the same."""
    return f"{stem.replace('processes', 'threads')}.1" if members == 1 else f"{stem}.{members}"


def all_cases() -> set[str]:
    """Every case that the report may show."""
    cases = {case for rows in (fault_rows(), range_rows()) for _, case in rows}
    for _, _, stem in team_stems():
        cases |= {stem_case(stem, members) for members in KERNELS if members > 1 or stem.endswith(("threads", "processes"))}
    return cases


# --- one thread, and times ---

def _one_thread_table(data: Json) -> str:
    rows = []
    missing = absent(data)
    for title, case in (*fault_rows(), *range_rows()):
        found = compare(data, "work", case)
        if any(found.sides.values()) or case in missing:
            own = found.sides["kettle"]
            rows.append([title, own.text(0) if own else absent_cell(missing.get(case, "")), figure(found.idle),
                         figure(found.sent, 1),
                         *(side.text(0) if (side := found.sides[name]) else "-" for name in SIDES[1:]),
                         found.ratio.text(3) if found.ratio else "-", found.least()])
    return ("## Instructions of one operation of one thread\n\nOf all CPUs together, program and kernels; medians of all "
            "rounds (lowest to highest), ratios to Linux round by round. Idle is Kettle's looking for work, which stands apart; "
            "messages are those between kernels, replies among them. One kernel is Kettle with `--kernels 1` on the same "
            "CPUs. Where others have page tables in common with home, there is nothing to fetch. The last column says who needs the least, within 2 %.\n\n"
            + table(["", "Kettle", "idle", "messages", "one kernel", "Linux", "Kettle over Linux", "least"], rows)
            ) if rows else ""


def _time_rows() -> Iterator[Row]:
    yield from fault_rows()
    yield from range_rows()
    for kind, title, stem in team_stems():
        words = "" if kind.startswith(("As", "Locks")) else f"{kind[0].lower()}{kind[1:]}, "
        yield f"{words}{title}, 2", f"{stem}.2"


def _time_table(data: Json) -> str:
    rows = []
    for title, case in _time_rows():
        middle = compare(data, "time", case, median_us)
        tail = compare(data, "time", case, _tail_us)
        if any(middle.sides.values()):
            rows.append([title, *(side.text(1) if (side := middle.sides[name]) else "-" for name in SIDES),
                         middle.ratio.text(2) if middle.ratio else "-",
                         *(figure(side.median, 1) if (side := tail.sides[name]) else "-" for name in SIDES)])
    return ("## Times of one operation\n\nIn us, two CPUs on two nodes and two host threads. Each run gives one p50 and one "
            "p99; medians of those (lowest to highest for p50), ratios to Linux round by round.\n\n"
            + table(["", *(f"p50 {SIDE_NAMES[side]}" for side in SIDES), "Kettle over Linux",
                     *(f"p99 {SIDE_NAMES[side]}" for side in SIDES)], rows)) if rows else ""


def _tail_us(item: Measured) -> float | None:
    return percentile(item.case["ns"], 99) / 1e3 if item.case["ns"] else None


# --- teams ---

def _cells(data: Json, side: str, stem: str, value: Value = cost) -> list[float | None]:
    """VALUE of STEM by the number of members. On one CPU, one kernel is all there is."""
    found = [find(data, f"kernels-{members}-{'kettle' if members == 1 and side == 'smp' else side}", stem_case(stem, members))
             for members in KERNELS]
    return [None if item is None else value(item) for item in found]


def _growth(cells: Sequence[float | None]) -> str:
    found = ratios([cells[-1]], [next((cell for cell in cells if cell is not None), None)])
    return figure(found[0] if found else None, 2)


def _team_tables(data: Json) -> str:
    kinds: dict[str, list[list[str]]] = {}
    for kind, title, stem in team_stems():
        cells = {side: _cells(data, side, stem) for side in SIDES}
        if not any(cell is not None for side in SIDES for cell in cells[side][1:]):
            continue
        last = [i for i in range(1, len(KERNELS)) if any(cells[side][i] is not None for side in SIDES)][-1]
        least = least_of({side: cells[side][last] for side in SIDES})
        kinds.setdefault(kind, [])
        for side in SIDES:
            kinds[kind].append([f"{title}: {SIDE_NAMES[side]}", *map(figure, cells[side]), _growth(cells[side]),
                                "least" if SIDE_NAMES[side] in least.split(", ") else ""])
    if not kinds:
        return ""
    parts = [f"### {kind}\n\n" + table(["", *map(str, KERNELS), "most over fewest", "with most"], rows)
             for kind, rows in kinds.items()]
    return ("## By the number of kernels\n\nInstructions that kernels execute for one operation of one member. Kettle has a "
            "CPU in each kernel, one kernel has all the CPUs, and both are counted exactly; Linux has as many CPUs. Two nodes, "
            "from two on. The last column marks who needs the least with the most members, within 2 %.\n\n"
            + "\n".join(parts))


def _message_table(data: Json) -> str:
    rows = []
    for title, case in fault_rows():
        if case.endswith(".all"):
            cells = [messages_of(data, f"kernels-{kernels}-kettle", case) for kernels in KERNELS]
            rows.append([title, *(figure(cell, 1) for cell in cells)])
    for kind, title, stem in team_stems():
        words = "" if kind.startswith(("As", "Locks")) else f"{kind[0].lower()}{kind[1:]}, "
        rows.append([f"{words}{title}", *(figure(cell, 1) for cell in _cells(data, "kettle", stem, messages))])
    rows = [row for row in rows if any(cell != "-" for cell in row[1:])]
    return ("## Messages of one operation\n\nBetween kernels, replies among them, by the number of kernels.\n\n"
            + table(["", *map(str, KERNELS)], rows)) if rows else ""


# --- strategies ---

def _mode_cells(data: Json, mode: str, value: Value) -> list[list[str]]:
    rows = []
    for operation, title in FAULTS[:3]:
        cells = [None if item is None else value(item) for item in (
            find(data, f"retrieve-{mode}-{kernels}", f"{operation}.all") for kernels in KERNELS[1:])]
        if any(cell is not None for cell in cells):
            rows.append([f"{title}: `{mode}`", *(figure(cell, 0 if value is cost else 1) for cell in cells), _growth(cells)])
    return rows


def _retrieve_tables(data: Json) -> str:
    head = ["", *map(str, KERNELS[1:]), "most over fewest"]
    work = [row for mode in MODES for row in _mode_cells(data, mode, cost)]
    sent = [row for mode in MODES for row in _mode_cells(data, mode, messages)]
    if not work and not sent:
        return ""
    published = ["as published: 5(N-1)", *(figure(5 * (kernels - 1), 1) for kernels in KERNELS[1:]), "15.00"]
    return ("## Faults by the retrieval strategy\n\nOf a thread on another node whose process is on all kernels, without "
            "prefetch; counted exactly. Instructions of program and kernels:\n\n" + table(head, work)
            + "\nMessages, replies among them; the thesis (6.7.4) gives those of a fetch by broadcast under Lamport's lock:\n\n"
            + table(head, [*sent, published]))


def _lock_cells(data: Json, locking: str, case: str, value: Value) -> list[float | None]:
    items = [find(data, f"lock-{locking}-{kernels}", case.format(kernels)) for kernels in KERNELS[1:]]
    return [None if item is None else value(item) for item in items]


def _lock_table(data: Json) -> str:
    rows = []
    for words, case in LOCK_CASES:
        for locking in LOCKINGS:
            for unit, value in (("instructions", cost), ("messages", messages)):
                cells = _lock_cells(data, locking, case, value)
                if any(cell is not None for cell in cells):
                    rows.append([f"{words}, `lock={locking}`: {unit}",
                                 *(figure(cell, 0 if value is cost else 1) for cell in cells)])
    return ("## The lock of a page, by the strategy of locking\n\nTaken and given back, and nothing else, by a process that is on "
            "all kernels; by the number of kernels. One thread is elsewhere than home.\n\n"
            + table(["", *map(str, KERNELS[1:])], rows)) if rows else ""


def prefetch_cell(data: Json, mode: str, count: int, value: Value, digits: int) -> str:
    """VALUE of a page when answers may bring COUNT runs along; if no message is saved the option had no effect."""
    item = find(data, f"prefetch-{mode}-{count}", "sequence.other")
    found = None if item is None else value(item)
    if item is None or found is None:
        return "-"
    sent, base = messages(item), messages_of(data, f"prefetch-{mode}-{PREFETCH[0]}", "sequence.other")
    if count > PREFETCH[0] and sent is not None and base is not None and sent >= base / NEAR:
        return "no effect"
    return figure(found, digits)


def _prefetch_table(data: Json) -> str:
    rows = []
    for mode in MODES:
        for words, value, digits in (("instructions", cost, 0), ("messages", messages, 2)):
            cells = [prefetch_cell(data, mode, count, value, digits) for count in PREFETCH]
            if any(cell != "-" for cell in cells):
                rows.append([f"`{mode}`: {words}", *cells])
    return ("## Pages in order, by the runs that an answer may bring along\n\nOf each of 512 pages that home has touched, on another node, "
            "with `prefetch=` as given. No effect: the option saved no message.\n\n"
            + table(["", *map(str, PREFETCH)], rows)) if rows else ""


def tables(data: Json) -> list[str]:
    """All tables of DATA that have rows."""
    return [part for part in (_one_thread_table(data), _time_table(data), _team_tables(data), _message_table(data),
                              _retrieve_tables(data), _lock_table(data), _prefetch_table(data), profile_table(data), absent_table(data)) if part]


# --- plots ---

def plots(data: Json) -> list[Plot]:
    """The plots, some of which may be without data."""
    return [_own_plot(data), _fetch_plot(data), _ratio_plot(data)]


def _own_plot(data: Json) -> Plot:
    lines = {}
    for shape in ("threads", "processes"):
        for side in SIDES:
            cells = _cells(data, side, f"touch.1.{shape}")
            if any(cell is not None for cell in cells[1:]):
                lines[f"{SIDE_NAMES[side]}, {shape}"] = cells
    return Plot("own", "Mmap, touch, munmap of a page by each of N threads or processes", "kernels or CPUs",
                "kernels' instructions of one operation", [str(kernels) for kernels in KERNELS], lines, log=True)


def _fetch_plot(data: Json) -> Plot:
    lines = {mode: [cost_of(data, f"retrieve-{mode}-{kernels}", "fault_frame.all") for kernels in KERNELS[1:]]
             for mode in MODES}
    return Plot("fetch", "Touch of a page that home has touched, process on all kernels", "kernels", "instructions",
                [str(kernels) for kernels in KERNELS[1:]],
                {mode: values for mode, values in lines.items() if any(value is not None for value in values)})


RATIOS = (("local\nfault", "fault_new.local"), ("fault on\nnothing", "fault_none.local"), ("copy\non write", "cow.local"),
          ("mmap touch\nmunmap, 1", "touch.1.local"), ("512", "touch.512.local"), ("mmap\nmunmap, 1", "map.1.local"),
          ("512", "map.512.local"), ("mprotect\n1", "protect.1.local"), ("512", "protect.512.local"),
          ("remote\nnew page", "fault_new.other"), ("remote copy\non write", "cow.other"))


def _ratio_plot(data: Json) -> Plot:
    return Plot("linux", "Instructions over Linux's: medians of all rounds, lowest and highest", "", "ratio",
                [label for label, _ in RATIOS], bars=[compare(data, "work", case).ratio for _, case in RATIOS])
