"""raw.json: what a benchmark's runs gave, and going on from it."""

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any, Sequence

from hosttools.bench.execute import command
from hosttools.errors import UsageError
from hosttools.machine import host
from hosttools.machine.qemu import CPU_MODEL
from hosttools.results.runs import Run

RAW = "raw.json"

Json = dict[str, Any]


def begin(name: str, options: argparse.Namespace) -> Json:
    """What is known of the benchmark NAME before its first run."""
    return {"benchmark": name, "date": time.strftime("%Y-%m-%d"), "commit": host.commit(), "quick": options.quick,
            "qemu": host.qemu_version(), "cpu": CPU_MODEL, "host_cpus": os.cpu_count(), "host": host.describe(), "runs": []}


def read(path: Path, names: Sequence[str]) -> Json:
    """The results at PATH of one of the benchmarks NAMES, the first of which is named to the user. Raises UsageError."""
    try:
        data = json.loads(path.read_text())
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None
    if not isinstance(data, dict) or data.get("benchmark") not in names:
        raise UsageError(f"{path}: these are no results of the benchmark {names[0]}")
    return data


def left(runs: Sequence[Run], data: Json, before: Json, mixed: bool = False) -> list[Run]:
    """The RUNS that BEFORE does not have; those that it has go into DATA. Raises UsageError when it is of another tree, unless MIXED."""
    if (before["commit"] != data["commit"] and not mixed) or before["quick"] != data["quick"]:
        raise UsageError(f"--resume: the earlier runs are of commit {before['commit']}{', quick' if before['quick'] else ''}, not "
                         f"of {data['commit']}{', quick' if data['quick'] else ''}")
    commands = {run.name: command(run) for run in runs}
    kept = [{**run, "commit": run.get("commit", before["commit"])} for run in before["runs"]
            if not run["problem"] and commands.get(run["name"], run["command"]) == run["command"]]
    data["runs"] += kept
    names = {run["name"] for run in kept}
    return [run for run in runs if run.name not in names]
