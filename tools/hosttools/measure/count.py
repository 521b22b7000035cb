"""Counting guest instructions between markers: the plugin's arguments, and what becomes of what it wrote.

tools/plugin/README.md says what is counted; userland/bench/mark.h has the markers.
"""

import json
import sys
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable, Sequence

from hosttools.image import elf
from hosttools.measure import numa_model

PLUGIN = "plugin/count.so"  # in the build directory
OUTPUT = "counts.json"  # in the run's own folder
IDLE_PREFIX = "idle_poll"  # of the kernel functions that poll for work
COLUMNS = ("user", "kernel", "idle")
PROFILE_LINES = 30  # on standard error


def arguments(plugin: Path, folder: Path, kernel: Path | None, profile: bool, more: Sequence[str] = ()) -> tuple[str, ...]:
    """The options by which QEMU loads PLUGIN, which writes into FOLDER; KERNEL has the idle loop's symbols, and MORE are
    further arguments of the plugin."""
    words = [f"file={plugin}", f"out={folder / OUTPUT}"]
    if kernel is not None:
        words += [f"idle={function.start:x}-{function.end:x}" for function in elf.functions(kernel)
                  if function.name.startswith(IDLE_PREFIX) and function.end > function.start]
    if profile:
        words.append("profile=on")
    words += more
    return "-plugin", ",".join(word.replace(",", ",,") for word in words)


def read(folder: Path) -> dict | None:
    """What the plugin wrote, or None when the emulator was killed before it did."""
    try:
        return json.loads((folder / OUTPUT).read_text())
    except (OSError, ValueError):
        return None


@dataclass(frozen=True)
class Profile:
    """A profile that is wanted: the file that it goes to, and the kernel's functions."""

    file: str
    functions: Sequence[elf.Function]


def tell(counted: dict | None, profile: Profile | None, quiet: bool) -> dict:
    """Says on standard error what `read` gave, if QUIET only what is wrong with it, and writes PROFILE.
    Returns what goes into the object of --json."""
    lines: list[str] = []
    told: dict = {"counts": None}
    if counted is None:
        lines.append("kettle: no counts: the emulator was killed or did not start")
    else:
        counts = told["counts"] = counted["counts"]
        lines += [f"kettle: {problem}" for problem in problems(counts)]
        if not counts:
            lines.append("kettle: nothing was counted: the program passed no marker")
        elif not quiet:
            lines.append(table(counts))
        if "numa_model" in counted:
            told["numa_model"] = counted["numa_model"]
            if counts and not quiet:
                lines += [numa_model.TITLE, _columns(numa_model.rows(counted["numa_model"]))]
        if profile is not None:
            rows = by_function(counted["profile"], profile.functions)
            told["profile"] = [{"function": name, "instructions": executed} for name, executed in rows]
            try:
                Path(profile.file).write_text(profile_table(rows) + "\n")
            except OSError as error:
                lines.append(f"kettle: --profile {profile.file}: {error.strerror}")
            if rows and not quiet:
                lines.append(profile_table(rows[:PROFILE_LINES]))
    for line in lines:
        print(line, file=sys.stderr)
    return told


def problems(counts: Sequence[dict]) -> list[str]:
    """A line for each region whose markers do not pair."""
    lines = []
    for region in counts:
        if region["errors"]:
            lines.append(f"region {region['region']}: {region['errors']} markers out of place "
                         "(a begin while it was open or an end while it was not)")
        if region["open"]:
            lines.append(f"region {region['region']}: never ended; counted to the machine's end")
    return lines


def table(counts: Sequence[dict]) -> str:
    """COUNTS for people: for each region a line for each CPU that executed anything in it, and the sum."""
    rows = [("region", "entries", "cpu", *COLUMNS)]
    for region in counts:
        cpus = [cpu for cpu in region["cpus"] if any(cpu[column] for column in COLUMNS)]
        sums = {column: sum(cpu[column] for cpu in cpus) for column in COLUMNS}
        name = (region["region"], region["entries"])
        rows += [(*name, cpu["cpu"], *(cpu[column] for column in COLUMNS)) for cpu in cpus]
        if len(cpus) != 1:
            rows.append((*name, "all", *sums.values()))
    return _columns(rows)


def by_function(profile: Iterable[Sequence[int]], functions: Sequence[elf.Function]) -> list[tuple[str, int]]:
    """The profile's [address, instructions] pairs summed up by function, the greatest first."""
    starts = [function.start for function in functions]
    sums: dict[str, int] = {}
    for address, executed in profile:
        place = bisect_right(starts, address) - 1
        name = functions[place].name if place >= 0 else "?"
        sums[name] = sums.get(name, 0) + executed
    return sorted(sums.items(), key=lambda item: (-item[1], item[0]))


def profile_table(rows: Sequence[tuple[str, int]]) -> str:
    """ROWS for people."""
    return _columns([("instructions", "function"), *((executed, name) for name, executed in rows)], left=1)


def _columns(rows: Sequence[Sequence[object]], left: int = -1) -> str:
    """ROWS in columns adjusted to the right, column LEFT to the left."""
    widths = [max(len(str(row[i])) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(str(cell).ljust(width) if i == left else str(cell).rjust(width)
                       for i, (cell, width) in enumerate(zip(row, widths))).rstrip() for row in rows]
    return "\n".join(lines)
