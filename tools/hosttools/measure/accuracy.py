"""How well kernels see who accesses memory: what they have noted of pages (mm/numa.md), against the exact trace of the same run.

A kernel looks at its page tables from time to time, one leaf table (2 MiB) after the other; what it finds in one is of the period
since its look at it before. An exact trace shows when it looked, by the address of a kernel's function, so that each access of a CPU
falls into one period of its kernel and table. For blocks of any size the claim is that all pages of a block in which a page was seen
were accessed: that is what a kernel would say that looks by blocks.

    notes, calls = parse(output), look_calls(records, function, kernels)
    true = truth(records, calls, notes, process, kernels)
    score(true, claims(notes, process, true, faults), SIZES["64 KiB"])
"""

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import Any, Iterable, Mapping, Sequence

from hosttools.errors import UsageError

PAGE_SHIFT = 12
USER_END = 1 << 47
BLOCK_PAGES = 16
TABLE_PAGES = 512  # adaptive blocks have this many pages at most
ADAPTIVE = 0  # the size of a block, in pages, that says: as the adaptive rule has it
SIZES = {"4 KiB": 1, "64 KiB": 16, "1 MiB": 256, "2 MiB": 512, "adaptive": ADAPTIVE}
LOOK_FUNCTION = "note_table_locked"  # of mm/seen/scan.c

_LINE = re.compile(r"@kernel (\d+) time \d+ noted (uses a page|looks at a table) thread (\d+):(\d+) peer \d+ figures (\d+) (\d+)", re.ASCII)

Place = tuple[int, int]  # a kernel, and a number of its looks: the period in each table that begins with this look


@dataclass(frozen=True)
class Note:
    """What a kernel has noted of a process: NODE used PAGE; or, where LOOK is a number, look LOOK has come to the table of PAGE."""

    kernel: int
    process: int
    page: int  # its number
    node: int = 0
    look: int | None = None


@dataclass(frozen=True)
class Truth:
    """What happened: for each period that began and ended with a look, the accesses of each page."""

    accesses: Mapping[Place, Mapping[int, int]]
    nodes: Mapping[int, int]  # of the kernels
    tables: frozenset[tuple[int, int, int]]  # kernel, look and table of each period that two looks at this table bound


@dataclass(frozen=True)
class Score:
    """What one way to see accesses is worth, with blocks of one size. Shares are of 1, None of nothing."""

    precision: float | None  # of the claimed pages of all periods, those that were accessed
    recall: float | None  # of the pages that were accessed, those that were claimed
    weighted: float | None  # the same, of the accesses
    placed: float | None  # accesses that are local if each block is on the node that was seen there most often
    best: float | None  # the same, if it is on the node that makes most accesses
    seen: int  # blocks that were seen in a period: with faults, the faults


def parse(text: str) -> list[Note]:
    """The notes in what userland/bench/numa/seenrun.c printed, in the order of each kernel."""
    notes = []
    for line in text.splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            continue
        kernel, process, block, figure = int(match[1]), int(match[3]) << 16 | int(match[4]), int(match[5]), int(match[6])
        notes.append(Note(kernel, process, block * BLOCK_PAGES + (figure & 15), figure >> 4) if match[2] == "uses a page"
                     else Note(kernel, process, block * BLOCK_PAGES, look=figure))
    return notes


def look_calls(records: Any, function: tuple[int, int], kernels: Sequence[int]) -> dict[int, list[int]]:
    """Where in RECORDS, a trace's, each kernel calls FUNCTION [start, end), which has no loop. KERNELS has the kernel of each CPU."""
    import numpy

    found: dict[int, list[int]] = defaultdict(list)
    last: dict[int, int] = {}  # of each CPU
    for index in numpy.flatnonzero((records["pc"] >= function[0]) & (records["pc"] < function[1])):
        cpu, pc = int(records["cpu"][index]), int(records["pc"][index])
        if pc <= last.get(cpu, pc):
            found[kernels[cpu]].append(int(index))
        last[cpu] = pc
    return dict(found)


def truth(records: Any, calls: Mapping[int, Sequence[int]], notes: Iterable[Note], process: int, kernels: Sequence[int]) -> Truth:
    """The accesses of PROCESS in RECORDS in each period that two looks bound. CALLS are the looks at tables of all processes, of which
    NOTES say whose they were. Raises UsageError when the two do not fit, because notes were lost."""
    import numpy

    told: dict[int, list[Note]] = defaultdict(list)
    for note in notes:
        if note.look is not None:
            told[note.kernel].append(note)
    accesses: dict[Place, dict[int, int]] = defaultdict(dict)
    nodes: dict[int, int] = {}
    tables: set[tuple[int, int, int]] = set()
    cpus = numpy.asarray(kernels)[records["cpu"]]
    for kernel in sorted(set(kernels)):
        at = calls.get(kernel, ())
        if len(at) != len(told[kernel]):
            raise UsageError(f"kernel {kernel} has noted {len(told[kernel])} looks at tables, and made {len(at)}: notes were lost, or a "
                             "kernel has looked before the region")
        looks: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for note, index in zip(told[kernel], at):
            if note.process == process and note.look is not None:
                looks[note.page // TABLE_PAGES].append((note.look, index))
        mine = numpy.flatnonzero((cpus == kernel) & (records["address"] < USER_END))
        pages = (records["address"][mine] >> numpy.uint64(PAGE_SHIFT)).astype(numpy.int64)
        if len(mine):
            nodes[kernel] = int(records["cpu_node"][mine[0]])
        for table, ends in looks.items():
            inside = pages // TABLE_PAGES == table
            where, which = mine[inside], pages[inside]
            for (look, start), (following, end) in zip(ends, ends[1:]):
                if following == look + 1:  # else the table was gone meanwhile
                    tables.add((kernel, look, table))
                    part = which[numpy.searchsorted(where, start):numpy.searchsorted(where, end)]
                    counted = numpy.unique(part, return_counts=True)
                    accesses[kernel, look].update((int(page), int(count)) for page, count in zip(*counted))
    return Truth(dict(accesses), nodes, frozenset(tables))


def claims(notes: Iterable[Note], process: int, true: Truth, faults: bool) -> dict[Place, dict[int, int]]:
    """The pages that NOTES say PROCESS used in each period of TRUE, with the node. FAULTS: they were noted in the period itself, not by
    the look that ends it. Pages that nobody ever accessed as data are left out: the trace has no instructions."""
    known = {page for pages in true.accesses.values() for page in pages}
    found: dict[Place, dict[int, int]] = {place: {} for place in true.accesses}
    looks: dict[tuple[int, int], int] = {}  # the last look at each table of a kernel
    for note in notes:
        table = note.kernel, note.page // TABLE_PAGES
        if note.process != process:
            continue
        if note.look is not None:
            looks[table] = note.look
        elif note.page in known and table in looks:
            look = looks[table] - (not faults)
            if (note.kernel, look, note.page // TABLE_PAGES) in true.tables:
                found[note.kernel, look][note.page] = note.node
    return found


def adaptive(found: Mapping[Place, Mapping[int, int]]) -> dict[int, dict[int, int]]:
    """The block of each page after each look, as (first page << 10 | pages), by an adaptive rule that knows only what is seen of
    blocks: one that several nodes used in a period is halved, and two halves that one and the same node used are joined."""
    pages = sorted({page for seen in found.values() for page in seen})
    blocks = {(page // TABLE_PAGES * TABLE_PAGES, TABLE_PAGES) for page in pages}
    result: dict[int, dict[int, int]] = {}
    for look in sorted({look for _, look in found}):
        of_page = {page: _block_of(blocks, page) for page in pages}
        result[look] = of_page
        users: dict[tuple[int, int], set[int]] = {block: set() for block in blocks}
        for (_, period), seen in found.items():
            if period == look:
                for page, node in seen.items():
                    users[of_page[page] >> 10, of_page[page] & 1023].add(node)
        blocks = _regroup(users)
    return result


def _block_of(blocks: set[tuple[int, int]], page: int) -> int:
    for order in range(10):
        start = page >> order << order
        if (start, 1 << order) in blocks:
            return start << 10 | 1 << order
    return page << 10 | 1


def _regroup(users: Mapping[tuple[int, int], set[int]]) -> set[tuple[int, int]]:
    after: set[tuple[int, int]] = set()
    for (start, size), nodes in users.items():
        if len(nodes) > 1 and size > 1:
            after |= {(start, size // 2), (start + size // 2, size // 2)}
            continue
        other = (start ^ size, size)
        if size < TABLE_PAGES and len(nodes) == 1 and users.get(other) == nodes:
            after.add((min(start, start ^ size), 2 * size))
        else:
            after.add((start, size))
    return after


def score(true: Truth, found: Mapping[Place, Mapping[int, int]], size: int) -> Score:
    """What the claims FOUND are worth with blocks of SIZE pages, or adaptive ones."""
    partition = adaptive(found) if size == ADAPTIVE else None
    known = sorted({page for pages in true.accesses.values() for page in pages})

    def block_of(page: int, look: int) -> int:
        if partition is None:
            return page // size
        return partition[look].get(page, page << 10 | 1)

    members: dict[tuple[int, int], list[int]] = {}
    if partition is None:
        for page in known:
            members.setdefault((0, page // size), []).append(page)
    else:
        for look, blocks in partition.items():
            for page in known:
                if page in blocks:
                    members.setdefault((look, blocks[page]), []).append(page)
    claimed = hits = accessed = hit_weight = weight = seen = 0
    votes: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))  # by page, then node
    made: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for (kernel, look), pages in true.accesses.items():
        blocks = {block_of(page, look): node for page, node in found[kernel, look].items()}
        seen += len(blocks)
        said = {page: node for block, node in blocks.items() for page in members[0 if partition is None else look, block]}
        claimed += len(said)
        hits += sum(page in said for page in pages)
        accessed += len(pages)
        hit_weight += sum(count for page, count in pages.items() if page in said)
        weight += sum(pages.values())
        for page, node in said.items():
            votes[page][node] += 1
        for page, count in pages.items():
            made[page][true.nodes[kernel]] += count
    placed, best = _placed(made, votes, size if size != ADAPTIVE else 1)
    return Score(_share(hits, claimed), _share(hits, accessed), _share(hit_weight, weight), _share(placed, weight),
                 _share(best, weight), seen)


def _placed(made: Mapping[int, Mapping[int, int]], votes: Mapping[int, Mapping[int, int]], size: int) -> tuple[int, int]:
    """The accesses that are local if each block of SIZE pages is where it was seen most (of equals the lowest node; where it was never
    seen, nowhere), and at best."""
    blocks: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    said: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for page, nodes in made.items():
        for node, count in nodes.items():
            blocks[page // size][node] += count
        for node, count in votes.get(page, {}).items():
            said[page // size][node] += count
    placed = 0
    for block, nodes in blocks.items():
        if said[block]:
            placed += nodes.get(min(said[block], key=lambda node: (-said[block][node], node)), 0)
    return placed, sum(max(nodes.values()) for nodes in blocks.values())


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
