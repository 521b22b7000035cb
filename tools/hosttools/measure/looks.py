"""What looks at accessed bits would have shown of an exact trace, as small text: data for tests of policies (tests/mm/seen/data).

    PYTHONPATH=tools build/venv/bin/python -m hosttools.measure.looks FILE --nodes 4 --periods 32

A line that begins with # is a comment. The others, in this order:

    nodes N                      and N lines of N distances, by the memory's node
    optimum ACCESSES PLACED FIXED MOVING
                                 sums of distances, as hosttools.measure.optimum tells them of the accesses that are left,
                                 with the periods as windows
    blocks NODE...               where each block was when it was first accessed; they are in order of their addresses
    period                       then a line for each block that was accessed in it:
    BLOCK NODE:SIXTEENTHS:ACCESSES[w]...
                                 each node that has used it: of how many of its 16 pages, how often, and whether it wrote
"""

import argparse
import sys
from typing import Any, Iterator, Sequence

from hosttools.errors import UsageError
from hosttools.machine.topology import make_topology
from hosttools.measure import optimum, trace
from hosttools.measure.accuracy import PAGE_SHIFT, USER_END

BLOCK = 16  # pages


def chosen(records: Any, least: float) -> Any:
    """Those of RECORDS that are programs' accesses to blocks which have at least the part LEAST of all."""
    import numpy

    used = records[records["address"] < USER_END]
    blocks = (used["address"] >> numpy.uint64(PAGE_SHIFT)) // BLOCK
    names, place, counts = numpy.unique(blocks, return_inverse=True, return_counts=True)
    return used[counts[place] >= least * max(len(used), 1)]


def lines(records: Any, distances: Sequence[Sequence[int]], periods: int) -> Iterator[str]:
    """The lines of the file for RECORDS, which are cut into PERIODS of equally many accesses."""
    import numpy

    costs = optimum.costs(records, distances, BLOCK, periods)
    pages = records["address"] >> numpy.uint64(PAGE_SHIFT)
    names, first, place = numpy.unique(pages // BLOCK, return_index=True, return_inverse=True)
    yield f"nodes {len(distances)}"
    yield from (" ".join(str(value) for value in row) for row in distances)
    yield f"optimum {costs.accesses} {costs.placed} {costs.fixed} {costs.moving}"
    yield "blocks " + " ".join(str(int(node)) for node in records["memory_node"][first])
    for part in numpy.array_split(numpy.arange(len(records)), periods):
        yield "period"
        for block in sorted(set(place[part])):
            of_block = part[place[part] == block]
            fields = []
            for node in sorted(set(records["cpu_node"][of_block])):
                mine = of_block[records["cpu_node"][of_block] == node]
                used = len(set(pages[mine]))
                fields.append(f"{node}:{used}:{len(mine)}{'w' if records['write'][mine].any() else ''}")
            yield f"{block} {' '.join(fields)}"


def main(arguments: Sequence[str]) -> int:
    """Prints the file; returns the exit status."""
    parser = argparse.ArgumentParser(prog="looks", description="Print what looks at accessed bits would have shown of a trace.")
    parser.add_argument("trace", metavar="FILE")
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--dist", help="distances of the nodes, as for kettle run")
    parser.add_argument("--periods", type=int, default=32)
    parser.add_argument("--least", type=float, default=0.01, help="leave out blocks with less than this part of the accesses")
    options = parser.parse_args(arguments)
    try:
        topology = make_topology(max(options.nodes, 1), options.nodes, None, options.dist)
        found = chosen(trace.read(options.trace).records, options.least)
    except UsageError as error:
        print(f"looks: {error}", file=sys.stderr)
        return 2
    if options.periods < 1 or len(found) < options.periods:
        print(f"looks: {len(found)} accesses cannot be cut into {options.periods} periods", file=sys.stderr)
        return 2
    for line in lines(found, topology.slit(), options.periods):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
