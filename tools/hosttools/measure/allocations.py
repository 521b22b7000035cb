"""The allocations of a program that was linked with libc/alloc_trace.c, and which of them an address belongs to.

    found = allocations.parse(Path("out").read_text())
    sites = allocations.resolve(found, "./mine")          # {0x401234: "mine.c:17", ...}, by the debug information of ./mine
    allocations.Heap(found).owner(0x7f0000001000)         # the allocation that had the address last, or None
"""

import re
import subprocess
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable, Sequence

from hosttools.errors import UsageError

LINE = re.compile(r"@alloc (\d+) (\d+) (\d+) (malloc|calloc|realloc|free) (\d+) (0x[0-9a-f]+) (0x[0-9a-f]+) (0x[0-9a-f]+)\r?$", re.M)


@dataclass(frozen=True)
class Allocation:
    """One call."""

    time: int  # ns of the guest's monotonic clock
    thread: int
    sequence: int  # of all calls of the program
    call: str  # malloc, calloc, realloc or free
    size: int  # bytes asked for
    address: int  # what was returned
    before: int  # what realloc or free was given
    caller: int  # address behind the call


def parse(text: str) -> list[Allocation]:
    """The records among the lines of TEXT, in the order of their sequence. Raises UsageError when one is missing."""
    found = [Allocation(int(m[1]), int(m[2]), int(m[3]), m[4], int(m[5]), *(int(m[i], 16) for i in (6, 7, 8)))
             for m in LINE.finditer(text)]
    found.sort(key=lambda item: item.sequence)
    for number, item in enumerate(found):
        if item.sequence != number:
            raise UsageError(f"allocations: record {number} is missing; the next one is {item.sequence}")
    return found


def resolve(found: Iterable[Allocation], program: Path | str) -> dict[int, str]:
    """FILE:LINE of each caller, as the debug information of PROGRAM has it; "??:0" where it has none."""
    callers = sorted({item.caller for item in found})
    if not callers:
        return {}
    # The call ends at the address: the line is that of the byte before.
    done = subprocess.run(["addr2line", "-e", str(program), *(hex(caller - 1) for caller in callers)], capture_output=True,
                          text=True, check=False)
    lines = [line.partition(" (")[0] for line in done.stdout.splitlines()]
    if done.returncode != 0 or len(lines) != len(callers):
        raise UsageError(f"{program}: {done.stderr.strip() or 'addr2line says nothing'}")
    return dict(zip(callers, lines))


class Heap:
    """Whose memory an address is, at a point of the sequence or at the end."""

    def __init__(self, found: Sequence[Allocation], until: int | None = None) -> None:
        """All of FOUND, or those with a sequence below UNTIL."""
        self._starts: list[int] = []
        self._owners: dict[int, Allocation] = {}
        for item in found:
            if until is not None and item.sequence >= until:
                break
            if item.call != "free" and item.address != 0:
                self._add(item)

    def _add(self, item: Allocation) -> None:
        """What began in its memory before is over."""
        first = bisect_left(self._starts, item.address)
        last = bisect_left(self._starts, item.address + max(item.size, 1))
        for start in self._starts[first:last]:
            del self._owners[start]
        self._starts[first:last] = [item.address]
        self._owners[item.address] = item

    def owner(self, address: int) -> Allocation | None:
        """The last allocation that has ADDRESS."""
        place = bisect_right(self._starts, address) - 1
        if place < 0:
            return None
        item = self._owners[self._starts[place]]
        return item if address < item.address + item.size else None
