"""What kernels counted of address spaces that ended (boot option events=on): from the log's lines to tables and figures.

docs/events.md says what each name counts, and which figures of the Popcorn thesis have it. `kettle run --events` gives a
run's counts, `kettle events` draws them as that thesis does: stacked bars, for each kernel of a run and for each run.
"""

import argparse
import json
import re
from pathlib import Path
from typing import Any, Iterable, Sequence

from hosttools.errors import UsageError
from hosttools.results.plots import Plot, draw, need_plots
from hosttools.run.events import Event

OPTION = "events=on"
# What bars are made of, from below: what is special to an address space on many kernels.
DRAWN = {
    "area_file": "file, area only",
    "frame_file": "file, area and frame",
    "area_anonymous": "anonymous, area only",
    "frame_anonymous": "anonymous, area and frame",
    "fetched_none": "nothing there",
    "prefetch_used": "brought along and used",
    "cow_copies": "copies on write",
    "maps": "map",
    "unmaps": "unmap",
    "protects": "protect",
    "remaps": "move",
    "breaks": "break",
    "forks": "fork",
}

_LINE = re.compile(r"(\d+) (\d+) (\d+) ([a-z]+)((?: [a-z_]+=\d+)+)", re.ASCII)

Json = dict[str, Any]
Row = dict[str, int]  # by name


def collect(events: Iterable[Event]) -> list[Json]:
    """The counts in the lines among EVENTS: for each group and kernel an object with group, kernel, home (of the last space
    that the group had), retrieve (its strategy) and events, the sums over all its spaces."""
    found: dict[tuple[int, int], Json] = {}
    for event in events:
        match = _LINE.fullmatch(event.text) if event.kind == "events" else None
        if match is None:
            continue
        group, kernel = int(match[1]), int(match[2])
        row = found.setdefault((group, kernel), {"group": group, "kernel": kernel, "events": {}})
        row["home"], row["retrieve"] = int(match[3]), match[4]
        for word in match[5].split():
            name, _, number = word.partition("=")
            row["events"][name] = row["events"].get(name, 0) + int(number)
    return [found[key] for key in sorted(found)]


def by_kernel(rows: Iterable[Json], group: int | None = None) -> dict[int, Row]:
    """The sums of ROWS for each kernel, of GROUP or of all."""
    sums: dict[int, Row] = {}
    for row in rows:
        if group is None or row["group"] == group:
            kernel = sums.setdefault(row["kernel"], {})
            for name, number in row["events"].items():
                kernel[name] = kernel.get(name, 0) + number
    return dict(sorted(sums.items()))


def table(rows: Sequence[Json], group: int | None = None) -> str:
    """The sums of ROWS for people: a line for each event that happened, a column for each kernel, and the sum."""
    kernels = by_kernel(rows, group)
    names = list(dict.fromkeys(name for kernel in kernels.values() for name in kernel))
    lines = [["event", *(f"kernel {kernel}" for kernel in kernels), "all"]]
    for name in sorted(names):
        numbers = [kernel.get(name, 0) for kernel in kernels.values()]
        lines.append([name, *map(str, numbers), str(sum(numbers))])
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join("  ".join([line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in
                                                           zip(line[1:], widths[1:]))]) for line in lines)


# --- kettle events ---

def add_options(command: argparse.ArgumentParser, natural: Any) -> None:
    """The options of `kettle events`."""
    command.add_argument("files", metavar="FILE", nargs="+", help="what `kettle run --events --json` printed")
    command.add_argument("--group", type=natural, metavar="N", help="this process only (default all)")
    command.add_argument("--out", metavar="FOLDER", default=".", help="where the figures go (default here)")


def main(options: argparse.Namespace) -> int:
    """Prints a table and draws the kernels of each file, and the sums of all files; returns the exit status."""
    need_plots()
    runs = {Path(name).stem: _read(Path(name)) for name in options.files}
    if len(runs) < len(options.files):
        raise UsageError("two files have the same name")
    try:
        Path(options.out).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {options.out}: {error.strerror}") from None
    for name, rows in runs.items():
        print(f"{name}\n{table(rows, options.group)}")
    for plot in plots(runs, options.group):
        path = draw(plot, Path(options.out))
        if path is not None:
            print(f"wrote {path}")
    return 0


def plots(runs: dict[str, list[Json]], group: int | None) -> list[Plot]:
    """A figure for each of RUNS, by kernel, and one for all of them, by run."""
    figures = []
    totals: list[Row] = []
    for name, rows in runs.items():
        kernels = by_kernel(rows, group)
        figures.append(Plot(f"events-{name}", f"Events of {name}", "kernel", "events",
                            [str(kernel) for kernel in kernels], stacks=_stacks(list(kernels.values()))))
        totals.append({event: sum(kernel.get(event, 0) for kernel in kernels.values()) for event in DRAWN})
    figures.append(Plot("events", "Events of all kernels", "run", "events", list(runs), stacks=_stacks(totals)))
    return figures


def _stacks(bars: Sequence[Row]) -> dict[str, list[int]]:
    stacks = {legend: [bar.get(name, 0) for bar in bars] for name, legend in DRAWN.items()}
    return {legend: heights for legend, heights in stacks.items() if any(heights)}


def _read(path: Path) -> list[Json]:
    try:
        rows = json.loads(path.read_text())["space_events"]
        return [{"group": int(row["group"]), "kernel": int(row["kernel"]),
                 "events": {str(name): int(number) for name, number in row["events"].items()}} for row in rows]
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UsageError(f"{path}: not what kettle run --events --json prints") from None
