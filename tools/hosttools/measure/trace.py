"""Reading the files of `kettle run --trace`: tools/plugin/numa/trace.md has their format.

    from hosttools.measure import trace

    found = trace.read("out")
    found.records["address"]                 # a numpy array with a field for each column of the format
    trace.page_counts(found, nodes=4)        # {virtual page: [accesses from node 0, ...]}
"""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hosttools.errors import UsageError

MAGIC = b"KTLTRACE"
VERSION = 1
HEADER = struct.Struct("<8sIIIIQ")
FIELDS = [("clock", "<u8"), ("address", "<u8"), ("physical", "<u8"), ("pc", "<u8"), ("cpu", "<u2"), ("cpu_node", "u1"),
          ("memory_node", "u1"), ("write", "u1"), ("size_shift", "u1"), ("source", "u1"), ("column", "u1")]
CHOICES = ("all", "misses", "memory")
SOURCES = ("cache", "llc", "memory", "other cache")
COLUMNS = ("user", "kernel", "idle")
PAGE = 4096


@dataclass(frozen=True)
class Trace:
    """A trace in memory."""

    every: int  # one of so many of the chosen accesses is in it
    choice: str
    records: Any  # a numpy array of FIELDS


def read(path: Path | str) -> Trace:
    """The trace in PATH. Raises UsageError when it is none, or cut in the middle of a record."""
    import numpy  # takes a while: only here

    record = numpy.dtype(FIELDS)
    try:
        with open(path, "rb") as file:
            head = file.read(HEADER.size)
            data = file.read()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    if len(head) < HEADER.size or not head.startswith(MAGIC):
        raise UsageError(f"{path}: this is no trace")
    _, version, size, every, choice, _ = HEADER.unpack(head)
    if version != VERSION or size != record.itemsize or choice >= len(CHOICES):
        raise UsageError(f"{path}: a trace of version {version} with records of {size} bytes; known is version {VERSION} "
                         f"with {record.itemsize}")
    if len(data) % size:
        raise UsageError(f"{path}: cut in the middle of record {len(data) // size}")
    return Trace(every, CHOICES[choice], numpy.frombuffer(data, record))


def page_counts(trace: Trace, nodes: int) -> dict[int, list[int]]:
    """How often CPUs of each node accessed each virtual page in user mode, by the page's address."""
    import numpy

    user = trace.records[trace.records["column"] == COLUMNS.index("user")]
    keys = user["address"] // PAGE * PAGE
    pages, places = numpy.unique(keys, return_inverse=True)
    table = numpy.zeros((len(pages), nodes), dtype=numpy.int64)
    numpy.add.at(table, (places, user["cpu_node"]), 1)
    return {int(page): [int(count) for count in row] for page, row in zip(pages, table)}


def page_nodes(trace: Trace) -> dict[int, int]:
    """The node whose memory each virtual page had at its first access in user mode, by the page's address."""
    import numpy

    user = trace.records[trace.records["column"] == COLUMNS.index("user")]
    pages, first = numpy.unique(user["address"] // PAGE * PAGE, return_index=True)
    return {int(page): int(node) for page, node in zip(pages, user["memory_node"][first])}
