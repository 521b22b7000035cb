"""--numa-model: the modelled machine, from the user's words to the file that the counting plugin reads.

tools/plugin/numa/numa_model.md says what is modelled and what each key means.
"""

import re
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Sequence

from hosttools.errors import UsageError, did_you_mean
from hosttools.machine.topology import DISTANCE_LOCAL, Topology, parse_size
from hosttools.paths import ROOT

FILE = "numa-model.txt"  # in the run's own folder
MATRICES = ROOT / "tools" / "plugin" / "numa" / "matrices"
SLIT = "slit"
LINE = 64
ENTRIES_MAX = 1 << 26  # of a cache: tools/plugin/numa/config.c
CPUS_OF_NODE_MAX = 64
LINK_UNIT = 256
LATENCY_MAX = 10**6  # ns
Q35_LOW_LIMIT, Q35_LOW = 0xb0000000, 0x80000000  # q35 has all RAM below 4 GiB up to the first, else the second there
DEFAULTS = {"ghz": "2.5", "local": "100", "cache": "256K:8", "cache-cycles": "0", "llc": "8M:16", "llc-cycles": "30",
            "tlb": "1536:12", "prefetch": "2", "link": "0", "check": "0"}


@dataclass(frozen=True)
class Model:
    """A checked model: latencies in cycles, and the plugin's other settings as lines."""

    words: str  # as the user gave them
    latencies: tuple[tuple[int, ...], ...]
    settings: tuple[str, ...]
    keys: dict[str, str] = field(default_factory=dict)

    def text(self, topology: Topology) -> str:
        """The plugin's file for a machine."""
        total = sum(topology.memory)
        lines = [f"low {total if total < Q35_LOW_LIMIT else Q35_LOW}", *self.settings]
        lines += [f"node {size} {' '.join(map(str, row))}" for size, row in zip(topology.memory, self.latencies)]
        owner = {cpu: node for node in range(topology.nodes) for cpu in topology.node_cpus(node)}
        lines += [f"cpu {owner[cpu]}" for cpu in range(topology.cpus)]
        return "\n".join(lines) + "\n"


def parse(words: str, topology: Topology) -> Model:
    """The model of MATRIX[,KEY=VALUE...]. Raises UsageError."""
    parts = words.split(",")
    keyed = next((i for i, part in enumerate(parts) if "=" in part), len(parts))
    given = dict(_setting(part, "--numa-model") for part in parts[keyed:])
    name = ",".join(parts[:keyed])
    rows, own = _matrix(name, topology)
    keys = {**DEFAULTS, **own, **given}
    ghz = _number(keys, "ghz", Fraction(1, 10), 10)
    if rows is None:
        local = _number(keys, "local", Fraction(1), LATENCY_MAX)
        rows = [[local * value / DISTANCE_LOCAL for value in row] for row in topology.slit()]
    _check_square(rows, name, topology)
    if max(len(topology.node_cpus(node)) for node in range(topology.nodes)) > CPUS_OF_NODE_MAX:
        raise UsageError(f"--numa-model: a node has more than {CPUS_OF_NODE_MAX} CPUs")
    latencies = tuple(tuple(round(value * ghz) for value in row) for row in rows)
    return Model(words, latencies, _settings(keys, ghz), keys)


def _setting(part: str, where: str) -> tuple[str, str]:
    key, equals, value = part.partition("=")
    if not equals:
        raise UsageError(f"{where}: '{part}' is not KEY=VALUE, and keys come behind the matrix")
    if key not in DEFAULTS:
        raise UsageError(f"{where}: unknown key '{key}'{did_you_mean(key, DEFAULTS)} (valid: {', '.join(DEFAULTS)})")
    return key, value


def _matrix(name: str, topology: Topology) -> tuple[list[list[Fraction]] | None, dict[str, str]]:
    """The rows in ns, None for those of the SLIT, and the keys that the matrix's file brings along."""
    shipped = sorted(path.stem for path in MATRICES.glob("*.txt"))
    if name == SLIT:
        return None, {}
    if name in shipped:
        return _read(MATRICES / f"{name}.txt", topology)
    if re.fullmatch(r"[\d.,/]*\d[\d.,/]*", name) and not Path(name).exists():
        return [_row(row.split(","), f"--numa-model '{name}'") for row in name.split("/")], {}
    if Path(name).is_file():
        return _read(Path(name), topology)
    raise UsageError(f"--numa-model '{name}' is no matrix: give {SLIT}, {', '.join(shipped)}, a file of rows in ns, or "
                     f"rows as 100,140/140,100{did_you_mean(name, [SLIT, *shipped])}")


def _read(path: Path, topology: Topology) -> tuple[list[list[Fraction]], dict[str, str]]:
    rows, keys = [], {}
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--numa-model {path}: {error}") from None
    for number, line in enumerate(text.splitlines(), 1):
        line = line.partition("#")[0].strip()
        if "=" in line:
            key, value = _setting(line, f"{path}:{number}")
            keys[key] = value
        elif line:
            rows.append(_row(re.split(r"[\s,]+", line), f"{path}:{number}"))
    return rows, keys


def _row(words: Sequence[str], where: str) -> list[Fraction]:
    row = []
    for word in words:
        if not re.fullmatch(r"\d+(\.\d+)?", word, re.ASCII) or not 0 < Fraction(word) <= LATENCY_MAX:
            raise UsageError(f"{where}: '{word}' is not a latency in ns above 0, at most {LATENCY_MAX}")
        row.append(Fraction(word))
    return row


def _check_square(rows: Sequence[Sequence[Fraction]], name: str, topology: Topology) -> None:
    for number, row in enumerate(rows):
        if len(row) != len(rows):
            raise UsageError(f"--numa-model {name}: the matrix is not square: row {number} has {len(row)} numbers, and "
                             f"there are {len(rows)} rows")
    if len(rows) != topology.nodes:
        raise UsageError(f"--numa-model {name}: the matrix is of {len(rows)} nodes, and the machine has "
                         f"{topology.nodes}: say --nodes {len(rows)}")


def _settings(keys: dict[str, str], ghz: Fraction) -> tuple[str, ...]:
    link = _number(keys, "link", Fraction(0), 10**6)  # bytes a nanosecond
    line = 0 if link == 0 else round(LINE * ghz * LINK_UNIT / link)
    tlb = "0 1" if keys["tlb"] == "0" else _shape(keys, "tlb", 1)
    return (f"cache {_shape(keys, 'cache', LINE)} {_whole(keys, 'cache-cycles', 10**6)}",
            f"llc {_shape(keys, 'llc', LINE)} {_whole(keys, 'llc-cycles', 10**6)}", f"tlb {tlb}",
            f"prefetch {_whole(keys, 'prefetch', 64)}", f"link {line}", f"check {_whole(keys, 'check', 1)}")


def _number(keys: dict[str, str], key: str, least: Fraction, most: int) -> Fraction:
    text = keys[key]
    if not re.fullmatch(r"\d+(\.\d+)?", text, re.ASCII) or not least <= Fraction(text) <= most:
        raise UsageError(f"--numa-model: {key}={text} is not a number from {float(least):g} to {most}")
    return Fraction(text)


def _whole(keys: dict[str, str], key: str, most: int) -> int:
    text = keys[key]
    if not re.fullmatch(r"\d+", text, re.ASCII) or int(text) > most:
        raise UsageError(f"--numa-model: {key}={text} is not a whole number up to {most}")
    return int(text)


def _shape(keys: dict[str, str], key: str, unit: int) -> str:
    """SETS WAYS of SIZE:WAYS, where SIZE counts UNIT bytes or entries."""
    text = keys[key]
    size, colon, ways = text.partition(":")
    if not colon or not re.fullmatch(r"\d+", ways, re.ASCII) or int(ways) == 0:
        raise UsageError(f"--numa-model: {key}={text} is not SIZE:WAYS, as {DEFAULTS[key]}")
    try:
        sets, rest = divmod(parse_size(size), unit * int(ways))
    except UsageError:
        raise UsageError(f"--numa-model: {key}={text} is not SIZE:WAYS, as {DEFAULTS[key]}") from None
    if rest or sets == 0 or sets & (sets - 1) or sets * int(ways) > ENTRIES_MAX:
        raise UsageError(f"--numa-model: {key}={text} must make a power of two of sets, each of {ways} ways of "
                         f"{unit} {'bytes' if unit > 1 else 'entry'}")
    return f"{sets} {ways}"


def cache_size(model: Model, key: str) -> int:
    """Bytes of the cache KEY."""
    return parse_size(model.keys[key].partition(":")[0])


def describe(model: Model) -> dict:
    """The model for the object of --json."""
    return {"matrix": model.words.split(",")[0], "keys": model.keys,
            "latency_cycles": [list(row) for row in model.latencies]}


def sums(figures: dict) -> dict[str, dict[str, int]]:
    """For each region, the sums over all CPUs: those of `rows`, and cycles by where they were spent; and `busiest`, the cycles in user and
    kernel mode of the CPU that has most of them."""
    found = {}
    for region in figures["regions"]:
        cpus = region["cpus"]
        found[str(region["region"])] = {
            **{column: sum(cpu[column] for cpu in cpus) for column in (*COLUMNS, "llc_hits", "forwards", "upgrades", "walk_cycles")},
            **{where: sum(cpu["modelled_cycles"][where] for cpu in cpus) for where in ("user", "kernel", "idle")},
            "busiest": max((cpu["modelled_cycles"]["user"] + cpu["modelled_cycles"]["kernel"] for cpu in cpus), default=0)}
    return found


TITLE = "modelled, not measured (tools/plugin/numa/numa_model.md):"
COLUMNS = ("instructions", "references", "misses", "local", "remote", "walks", "walk_local", "walk_remote")


def rows(figures: dict) -> list[tuple]:
    """A table of FIGURES: for each region a line for each CPU that executed anything in it, and the sum."""
    lines: list[tuple] = [("region", "cpu", "node", *COLUMNS, "modelled cycles")]
    for region in figures["regions"]:
        busy = [cpu for cpu in region["cpus"] if cpu["instructions"]]
        cells = [[*(cpu[column] for column in COLUMNS), sum(cpu["modelled_cycles"].values())] for cpu in busy]
        lines += [(region["region"], cpu["cpu"], cpu["node"], *cell) for cpu, cell in zip(busy, cells)]
        if len(busy) != 1:
            lines.append((region["region"], "all", "", *(map(sum, zip(*cells)) if cells else [0] * (len(COLUMNS) + 1))))
    return lines


