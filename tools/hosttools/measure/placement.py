"""Where a trace says that pages should be: the policies of a thesis on page migration guided by traces (V. Thakkar, North Carolina State
University, 2008), whose sections are named below. A page is one of a block of memory, so that an address may differ in the next run."""

from dataclasses import dataclass
from typing import Any, Callable, Sequence

from hosttools.measure.trace import PAGE

STAYS = -1  # no node: a page is not to be placed
LEAD = 2  # references that the best node must have more than each other one


@dataclass(frozen=True)
class Block:
    """Memory that a program has allocated, the NUMBER-th of it."""

    number: int
    address: int
    bytes: int


@dataclass(frozen=True)
class Hint:
    """COUNT pages from the page FIRST of the BLOCK-th block on are to be on NODE."""

    block: int
    first: int
    count: int
    node: int


def uniform(counts: Any, _weights: Any) -> Any:
    """The node with the most references (2.5.1, equation 2.1)."""
    return counts.argmax(axis=1)


def hop(counts: Any, weights: Any) -> Any:
    """The node from which all references cost least (2.5.1, equation 2.2)."""
    return (counts @ weights).argmin(axis=1)


def filtered(counts: Any, _weights: Any) -> Any:
    """As uniform, and STAYS where it has not two references more than each other node (3.3: the text)."""
    import numpy

    ordered = numpy.sort(counts, axis=1)
    return numpy.where(ordered[:, -1] >= ordered[:, -2] + LEAD, counts.argmax(axis=1), STAYS)


POLICIES: dict[str, Callable[[Any, Any], Any]] = {"uniform": uniform, "hop": hop, "filter": filtered}


def nodes_of(page_counts: dict[int, list[int]], policy: str, weights: Sequence[Sequence[float]]) -> dict[int, int]:
    """The node of each page of PAGE_COUNTS (hosttools.measure.trace) by POLICY, or STAYS. WEIGHTS are the costs of an
    access from the row's node to the column's memory."""
    import numpy

    if not page_counts:
        return {}
    chosen = POLICIES[policy](numpy.asarray(list(page_counts.values()), dtype=numpy.float64), numpy.asarray(weights, dtype=numpy.float64))
    return {page: int(node) for page, node in zip(page_counts, chosen)}


def hints(blocks: Sequence[Block], nodes: dict[int, int]) -> list[Hint]:
    """NODES, of pages by their addresses, as hints for BLOCKS. Pages of a block that the trace has not go with the one before them, the
    first ones with the one behind (2.5.1: silent regions follow their neighbours); pages that STAY, and blocks without any, get no hint."""
    found = []
    for block in blocks:
        count = -(-block.bytes // PAGE)
        known = [nodes.get(block.address + page * PAGE) for page in range(count)]
        last = next((node for node in known if node is not None), None)
        if last is None:
            continue
        first = 0
        for page, node in enumerate(known):
            if node is None or node == last:
                continue
            if page > first:
                found.append(Hint(block.number, first, page - first, last))
            first, last = page, node
        found.append(Hint(block.number, first, count - first, last))
    return [hint for hint in found if hint.node != STAYS]


def moving(nodes: dict[int, int]) -> dict[int, int]:
    """NODES without the pages that STAY."""
    return {page: node for page, node in nodes.items() if node != STAYS}


def placed(blocks: Sequence[Block], found: Sequence[Hint]) -> dict[int, int]:
    """The nodes of pages, by their addresses, that the hints FOUND give to BLOCKS."""
    starts = {block.number: block.address for block in blocks}
    return {starts[hint.block] + page * PAGE: hint.node for hint in found for page in range(hint.first, hint.first + hint.count)}


def cost(page_counts: dict[int, list[int]], nodes: dict[int, int], latencies: Sequence[Sequence[int]]) -> int:
    """What the accesses PAGE_COUNTS cost with each page on its one of NODES, in the unit of LATENCIES, of the row's node to the column's
    memory; pages of no node are left out."""
    return sum(count * latencies[node][nodes[page]] for page, counts in page_counts.items() if page in nodes
               for node, count in enumerate(counts))


def text(found: Sequence[Hint]) -> str:
    """The file for NUMA_HINTS (userland/bench/workloads/placement.h)."""
    return "".join(f"{hint.block} {hint.first} {hint.count} {hint.node}\n" for hint in found)
