"""`kettle sweep FILE`: a sweep (bench/sweep.py) that a TOML file describes, so that it can be kept and made again.

    benchmark = "workloads"         # of `kettle bench`
    repeat = 3                      # rounds; this and the rest are optional, and named as the options of `kettle bench`
    cases = ["ft", "cg"]
    append = ["leases=off"]
    only = ["work-*"]
    cpus = 4
    nodes = 2
    kernels = "core"

    [sweep]                         # every combination
    kernels = [1, 2, 4]
    prefetch = [0, 4]
"""

import argparse
import tomllib
from pathlib import Path
from typing import Any

from hosttools.errors import UsageError

# What a file may have, and how a value becomes words of `kettle bench`.
LISTS = ("cases", "only")  # joined by commas
NUMBERS = ("repeat", "cpus", "nodes")
PASSED = ("out", "scheduler")  # options of the command line
FLAGS = ("resume", "report", "quick")

Json = dict[str, Any]


def add_options(command: argparse.ArgumentParser, _natural: Any) -> None:
    """The options of `kettle sweep`."""
    command.add_argument("file", metavar="FILE", help="a sweep as TOML: benchmark, [sweep] with a list for each axis, and perhaps repeat, "
                                                      "cases, only, append, cpus, nodes, kernels, as the options of kettle bench")
    command.add_argument("--out", metavar="FOLDER", help="where the results go (default build/results/BENCHMARK-sweep)")
    command.add_argument("--quick", action="store_true", help="fewer cases, for a benchmark whose program has such")
    command.add_argument("--resume", action="store_true", help="go on where it was cut")
    command.add_argument("--report", action="store_true", help="run nothing: write tables and plots again")
    command.add_argument("--scheduler", metavar="ADDRESS", help="as for kettle bench")


def words(options: argparse.Namespace) -> list[str]:
    """The arguments of `kettle` that OPTIONS and their file stand for. Raises UsageError."""
    path = Path(options.file)
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {error}") from None
    found = ["bench", _text(data.pop("benchmark", None), f"{path}: benchmark")]
    axes = data.pop("sweep", None)
    if not isinstance(axes, dict) or not axes:
        raise UsageError(f"{path}: [sweep] is missing: a list of values for each axis, as kernels = [1, 2, 4]")
    for name, values in axes.items():
        found += ["--sweep", f"{name}={','.join(_list(values, f'{path}: {name}'))}"]
    for name, value in data.items():
        where = f"{path}: {name}"
        if name in LISTS:
            found += [f"--{name}", ",".join(_list(value, where))]
        elif name == "append":
            found += [word for each in _list(value, where) for word in ("--append", each)]
        elif name in NUMBERS:
            if not isinstance(value, int) or isinstance(value, bool):
                raise UsageError(f"{where} is a whole number")
            found += [f"--{name}", str(value)]
        elif name == "kernels":
            found += ["--kernels", _text(value, where)]
        else:
            raise UsageError(f"{where}: expected benchmark, [sweep], {', '.join((*NUMBERS, *LISTS, 'append', 'kernels'))}")
    for name in PASSED:
        if getattr(options, name) is not None:
            found += [f"--{name}", getattr(options, name)]
    return found + [f"--{name}" for name in FLAGS if getattr(options, name)]


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value:
        raise UsageError(f"{where} is a text in quotes")
    return value


def _list(values: Any, where: str) -> list[str]:
    if not isinstance(values, list) or not values or not all(isinstance(value, (str, int)) and not isinstance(value, bool) for value in values):
        raise UsageError(f"{where} is a list of texts or whole numbers, as [1, 2, 4]")
    return [str(value) for value in values]
