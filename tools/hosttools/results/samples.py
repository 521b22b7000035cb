"""samples.jsonl: every sample of a benchmark as a JSON object a line, each with all that it was made with, so that files of
several machines and times can be joined and read by other programs."""

import json
import shlex
from pathlib import Path
from typing import Any, Iterator

from hosttools.results.runs import measured

Json = dict[str, Any]


def write_samples(data: Json, path: Path) -> None:
    """Writes PATH."""
    path.write_text("".join(json.dumps(sample) + "\n" for sample in samples(data)))


def samples(data: Json) -> Iterator[Json]:
    """A sample for each case of each run, with the run's machine and the tree's commit."""
    common = {name: data.get(name) for name in ("benchmark", "date", "commit", "qemu", "cpu")}
    runs = {run["name"]: run for run in data["runs"]}
    for item in measured(data, ""):
        run = runs[item.run]
        words = shlex.split(run["command"])
        entry = item.counts.get(item.case["region"])
        yield {**common, "run": item.run, "command": run["command"], "sha256": run.get("sha256"), "load": run.get("load"),
               "host": run.get("host") or data.get("host"),
               "boot_options": values(words, "--append"), "seed": next(iter(values(words, "--seed")), None),
               "environment": values(words, "--env"), "linux": values(words, "--os") == ["linux"], **item.case,
               "counts": entry["cpus"] if entry else None}


def values(words: list[str], option: str) -> list[str]:
    """What follows OPTION among WORDS, each time."""
    return [value for name, value in zip(words, words[1:]) if name == option]
