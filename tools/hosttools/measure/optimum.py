"""The best placement of memory for what an exact trace has: a yardstick for policies, which do not know the future.

The cost of an access is the distance from the CPU's node to the memory's, as in ACPI's SLIT (10 is local). With `of=memory` the trace
has what reached memory, which is what a placement changes; with all accesses, hits of caches cost as much.
"""

from dataclasses import dataclass
from typing import Any, Sequence

from hosttools.measure.accuracy import PAGE_SHIFT, USER_END

SIZES = {"4 KiB": 1, "64 KiB": 16, "1 MiB": 256, "2 MiB": 512}


@dataclass(frozen=True)
class Costs:
    """Sums of distances over all accesses to memory of programs."""

    accesses: int
    local: int  # if each were local: no placement is cheaper
    placed: int  # as it was
    fixed: int  # with each block on its best node from the beginning
    moving: int  # with each block on its best node in each window, moves for nothing
    moves: int  # how often blocks change their nodes then


def costs(records: Any, distances: Sequence[Sequence[int]], size: int, windows: int) -> Costs:
    """The costs of RECORDS, a trace's, on a machine with DISTANCES, with blocks of SIZE pages; the trace is cut into WINDOWS of equally
    many accesses. A block that is not accessed in a window stays where it is; of equally good nodes, too, or on the lowest."""
    import numpy

    table = numpy.asarray(distances, dtype=numpy.int64)
    used = records[records["address"] < USER_END]
    cpus = used["cpu_node"].astype(numpy.int64)
    blocks, place = numpy.unique((used["address"] >> numpy.uint64(PAGE_SHIFT)).astype(numpy.int64) // size, return_inverse=True)
    total = numpy.zeros((len(blocks), len(table)), dtype=numpy.int64)  # the cost of each block on each node
    node = numpy.full(len(blocks), -1, dtype=numpy.int64)
    moving = moves = 0
    for part in numpy.array_split(numpy.arange(len(used)), max(windows, 1)):
        counts = numpy.zeros_like(total)
        numpy.add.at(counts, (place[part], cpus[part]), 1)
        cost = counts @ table  # [block][node of the memory]
        total += cost
        least = cost.min(axis=1)
        stays = (node >= 0) & (cost[numpy.arange(len(blocks)), numpy.maximum(node, 0)] == least)
        touched = counts.any(axis=1)
        best = numpy.where(stays | ~touched, node, cost.argmin(axis=1))
        moves += int(((best != node) & (node >= 0)).sum())
        moving += int(least.sum())
        node = best
    return Costs(len(used), int(table[cpus, cpus].sum()), int(table[cpus, used["memory_node"].astype(numpy.int64)].sum()),
                 int(total.min(axis=1).sum()), moving, moves)
