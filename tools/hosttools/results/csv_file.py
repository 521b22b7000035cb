"""raw.csv: what every run of a benchmark gave for each case, a line each, for other programs to read."""

import csv
import shlex
import statistics
from pathlib import Path
from typing import Any, Sequence

from hosttools.results.runs import measured

HEAD = ("run", "options", "case", "operations", "user_instructions", "kernel_instructions", "idle_instructions", "median_us",
        "samples", "modelled_user_cycles", "modelled_kernel_cycles", "modelled_local_lines", "modelled_remote_lines")
MODELLED = ("user", "kernel", "local", "remote")  # the last four, in what numa_model.sums gives

Json = dict[str, Any]


def write_csv(data: Json, path: Path) -> None:
    """Writes PATH. Instructions, cycles and lines are of one operation; a cell is empty where nothing was measured."""
    sums = {run["name"]: run.get("numa_model") or {} for run in data["runs"]}
    options = {run["name"]: _options(run["command"]) for run in data["runs"]}
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEAD)
        for item in measured(data, ""):
            cost, samples = item.cost, item.case.get("ns") or []
            region = sums[item.run].get(str(item.case["region"]))
            writer.writerow((item.run, options[item.run], item.case["case"], item.case["count"],
                             *((cost.user, cost.kernel, cost.idle) if cost else ("", "", "")),
                             statistics.median(samples) / 1e3 if samples else "", len(samples),
                             *(region[key] / item.case["count"] if region and item.case["count"] else "" for key in MODELLED)))


def write_tidy(rows: Sequence[Json], path: Path) -> None:
    """Writes ROWS, which have the same columns, to PATH: a figure a line, and in the other columns all that it is of. Without
    rows there is no such file."""
    if not rows:
        path.unlink(missing_ok=True)
        return
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _options(command: str) -> str:
    """The boot options in a run's COMMAND."""
    words = shlex.split(command)
    return " ".join(value for option, value in zip(words, words[1:]) if option == "--append")
