"""The machine a run asks for: CPUs, NUMA nodes, memory and distances, and how kernels divide it.

Everything here is checked before an emulator starts; what cannot be raises UsageError.
"""

import re
from dataclasses import dataclass

from hosttools.errors import UsageError

PAGE = 4096
MEMORY_UNIT = 2 * PAGE  # QEMU rounds a machine's memory up to this, and then refuses nodes that do not add up to it
MIB = 1 << 20
CPUS_MAX = 256  # kernel/abi/limits.h
KERNELS_MAX = 64
NODES_MAX = 64
DISTANCE_LOCAL = 10
DISTANCE_REMOTE = 20  # the firmware's, when --dist is not given
DISTANCE_MAX = 254  # 255 means "unreachable" in a SLIT

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True)
class Topology:
    """A checked machine. CPUs of one node are consecutive; a node may be without CPUs, never without memory."""

    cpus: int
    memory: tuple[int, ...]  # bytes of each node
    distances: tuple[tuple[int, ...], ...] | None = None  # None: the firmware's default of 10 and 20

    @property
    def nodes(self) -> int:
        """How many NUMA nodes there are."""
        return len(self.memory)

    def slit(self) -> list[list[int]]:
        """The distances, the firmware's default included."""
        if self.distances is not None:
            return [list(row) for row in self.distances]
        return [[DISTANCE_LOCAL if a == b else DISTANCE_REMOTE for b in range(self.nodes)] for a in range(self.nodes)]

    def node_cpus(self, node: int) -> range:
        """The CPUs of NODE: contiguous runs whose sizes differ by at most one, the first nodes the larger."""
        share, extra = divmod(self.cpus, self.nodes)
        first = node * share + min(node, extra)
        return range(first, first + share + (1 if node < extra else 0))


def parse_size(text: str) -> int:
    """Bytes of a size such as 4096, 640K, 512M, 2G, 1.5G or 512MiB."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if not match:
        raise UsageError(f"'{text}' is not a size such as 512M or 2G")
    size = float(match[1]) * _UNITS[match[2].upper()] if "." in match[1] else int(match[1]) * _UNITS[match[2].upper()]
    if size != int(size):
        raise UsageError(f"'{text}' is not a whole number of bytes")
    return int(size)


def split_memory(text: str | None, cpus: int, nodes: int) -> tuple[int, ...]:
    """The memory of each node. TEXT is the whole machine's size, dealt evenly in pages, or one size a node,
    comma-separated; None stands for 1 GiB, or 32 MiB for each CPU if that is more."""
    if text is None:
        sizes = _deal(max(1024 * MIB, 32 * MIB * cpus), nodes)
    elif "," in text:
        sizes = tuple(parse_size(part) for part in text.split(","))
        if len(sizes) != nodes:
            raise UsageError(f"--mem gives {len(sizes)} sizes for {nodes} node{'s' if nodes > 1 else ''}")
    else:
        sizes = _deal(parse_size(text), nodes)
    for node, size in enumerate(sizes):
        if size == 0:
            raise UsageError(f"node {node} has no memory: give --mem at least one page for each node")
        if size % PAGE:
            raise UsageError(f"--mem: the {size} bytes of node {node} are not whole pages of {PAGE} bytes")
    if sum(sizes) % MEMORY_UNIT:
        raise UsageError(f"--mem: {sum(sizes)} bytes in all are not a multiple of {MEMORY_UNIT}")
    return sizes


def _deal(total: int, nodes: int) -> tuple[int, ...]:
    if total % PAGE:
        raise UsageError(f"--mem: {total} bytes are not whole pages of {PAGE} bytes")
    share, extra = divmod(total // PAGE, nodes)
    return tuple((share + (1 if node < extra else 0)) * PAGE for node in range(nodes))


def parse_distances(text: str, nodes: int) -> tuple[tuple[int, ...], ...]:
    """A SLIT: rows separated by '/' or ';', numbers within a row by ','. One number alone is the distance
    between any two different nodes."""
    try:
        rows = tuple(tuple(int(number) for number in row.split(",")) for row in re.split(r"[/;]", text))
    except ValueError:
        raise UsageError(f"--dist '{text}' is not a matrix such as 10,20/20,10") from None
    if len(rows) == 1 and len(rows[0]) == 1 and nodes > 1:
        remote = rows[0][0]
        rows = tuple(tuple(DISTANCE_LOCAL if a == b else remote for b in range(nodes)) for a in range(nodes))
    if len(rows) != nodes or any(len(row) != nodes for row in rows):
        raise UsageError(f"--dist '{text}' is not {nodes} rows of {nodes} numbers")
    for a, row in enumerate(rows):
        for b, value in enumerate(row):
            if a == b and value != DISTANCE_LOCAL:
                raise UsageError(f"--dist: the distance of node {a} to itself must be {DISTANCE_LOCAL}, not {value}")
            if a != b and not DISTANCE_LOCAL < value <= DISTANCE_MAX:
                raise UsageError(f"--dist: the distance from node {a} to node {b} must be "
                                 f"{DISTANCE_LOCAL + 1} to {DISTANCE_MAX}, not {value}")
    return rows


def make_topology(cpus: int, nodes: int, mem: str | None, dist: str | None) -> Topology:
    """The checked machine of the options --cpus, --nodes, --mem and --dist."""
    if not 1 <= cpus <= CPUS_MAX:
        raise UsageError(f"--cpus must be 1 to {CPUS_MAX}, not {cpus}")
    if not 1 <= nodes <= NODES_MAX:
        raise UsageError(f"--nodes must be 1 to {NODES_MAX}, not {nodes}")
    return Topology(cpus=cpus, memory=split_memory(mem, cpus, nodes),
                    distances=None if dist is None else parse_distances(dist, nodes))


def divide_kernels(text: str, topology: Topology) -> list[list[int]]:
    """The CPUs of each kernel under --kernels TEXT (core, node, a number, or a list such as 0-1,2-3), as the
    kernel's own partition plan divides them: the first CPU of each is the one it starts on."""
    cpus = topology.cpus
    if text == "core":
        groups = [[cpu] for cpu in range(cpus)]
    elif text == "node":
        groups = [list(topology.node_cpus(node)) for node in range(topology.nodes)]
        groups = [group for group in groups if group]
    elif text.isascii() and text.isdigit():
        groups = _even_runs(int(text), cpus)
    else:
        groups = _parse_cpu_lists(text, cpus)
    if len(groups) > KERNELS_MAX:
        raise UsageError(f"--kernels {text} makes {len(groups)} kernels; {KERNELS_MAX} is the limit")
    return groups


def _even_runs(count: int, cpus: int) -> list[list[int]]:
    if count == 0:
        raise UsageError("--kernels must be at least 1")
    if count > cpus:
        raise UsageError(f"--kernels {count} is more kernels than the {cpus} CPU{'s' if cpus > 1 else ''}")
    share, extra = divmod(cpus, count)
    firsts = [kernel * share + min(kernel, extra) for kernel in range(count + 1)]
    return [list(range(first, end)) for first, end in zip(firsts, firsts[1:])]


def _parse_cpu_lists(text: str, cpus: int) -> list[list[int]]:
    groups = []
    owner: dict[int, int] = {}
    for kernel, part in enumerate(text.split(",")):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part, re.ASCII)
        if not match:
            raise UsageError(f"--kernels '{text}' is not core, node, a number, or a list such as 0-1,2-3")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise UsageError(f"--kernels: the range {part} is empty")
        if last >= cpus:
            raise UsageError(f"--kernels names CPU {last}, but the CPUs are 0 to {cpus - 1}")
        for cpu in range(first, last + 1):
            if cpu in owner:
                raise UsageError(f"--kernels gives CPU {cpu} to kernels {owner[cpu]} and {kernel}")
            owner[cpu] = kernel
        groups.append(list(range(first, last + 1)))
    if owner[min(owner)] != 0 or 0 not in owner:
        raise UsageError("--kernels must give CPU 0 to the first kernel: the machine starts there")
    return groups
