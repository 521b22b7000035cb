"""Makes the runs of a benchmark: each by `kettle run`, here, one after another, or on other machines (--scheduler).

What was measured is not lost when a later run fails: the results are written anew after every run.
"""

import json
import os
import re
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType
from typing import Any, Callable, Sequence

from hosttools.bench import scheduler
from hosttools.errors import MachineError
from hosttools.measure import numa_model
from hosttools.paths import ROOT
from hosttools.progress import Progress
from hosttools.results.runs import Run

Json = dict[str, Any]
Launch = Callable[[Sequence[str]], tuple[int, str, str]]


class Pace:
    """How far all runs of a command are, and how long the rest may take."""

    def __init__(self, weight: float, count: int) -> None:
        """COUNT runs, which take WEIGHT together, in any unit."""
        self._started, self._weight, self._count = time.monotonic(), weight, count
        self._done, self._runs = 0.0, 0

    def finished(self, weight: float) -> None:
        """A run of WEIGHT is over."""
        self._done += weight
        self._runs += 1

    def text(self, name: str) -> str:
        """What is said while NAME runs."""
        left = (time.monotonic() - self._started) / self._done * (self._weight - self._done) if self._done else None
        return f"[{self._runs + 1}/{self._count}] {name}" + ("" if left is None else f", about {duration(left)} left")


def execute(runs: Sequence[Run], data: Json, raw: Path, launch: Launch | None = None, *, address: str | None = None,
            pace: Pace | None = None, weight: float = 1.0, label: str = "") -> None:
    """Makes RUNS, appends each to DATA, and writes DATA to RAW after each. One after another; with ADDRESS, a scheduler's, on
    its machines, where the runs of a group follow each other on one. PACE is that of several such calls, in which the
    weights of RUNS are multiplied by WEIGHT, and is shown after LABEL. LAUNCH is for tests."""
    weights = {run.name: weight * run.weight for run in runs}
    pace = pace or Pace(sum(weights.values()), len(runs))
    order = {name: number for number, name in enumerate([*(run["name"] for run in data["runs"]), *(run.name for run in runs)])}
    with Progress(quiet=False) as progress:

        def before(name: str) -> None:
            progress.step(pace.text(f"{label}: {name}" if label else name))

        def after(result: Json) -> None:
            pace.finished(weights[result["name"]])
            result["commit"] = data.get("commit", "")
            if result["problem"]:
                print(f"kettle: bench: {result['name']}: {result['problem'].splitlines()[0]}", file=sys.stderr)
            data["runs"].append(result)
            data["runs"].sort(key=lambda run: order[run["name"]])  # other machines finish in any order
            fresh = raw.with_name(raw.name + ".new")
            fresh.write_text(text(data))
            fresh.replace(raw)

        if address is None:
            for run in runs:
                before(run.name)
                after(execute_run(run, launch or _launch))
        else:
            scheduler.execute(runs, address, data["commit"], before, after)


def text(data: Json) -> str:
    """DATA as a JSON object with a line for each run."""
    head = "".join(f"{json.dumps(name)}: {json.dumps(value)},\n" for name, value in data.items() if name != "runs")
    return "{" + head + '"runs": [' + ",".join("\n" + json.dumps(run) for run in data["runs"]) + "\n]}\n"


def prepared(module: ModuleType, runs: Sequence[Run]) -> list[Run]:
    """Those of the benchmark MODULE's RUNS that can be made, with everything ready that they need."""
    if not hasattr(module, "prepare"):
        return list(runs)
    with Progress(quiet=False) as progress:
        kept: list[Run] = module.prepare(runs, progress.step)
    return kept


def make(run: Run) -> Json:
    """Makes RUN on this machine."""
    return execute_run(run, _launch)


def tell(run: Run) -> Json:
    """Makes RUN on this machine; returns what `kettle run --json` prints. MachineError: the run, or its program, failed."""
    _, stdout, stderr = _launch(_arguments(run))
    try:
        told: Json = json.loads(stdout)
    except ValueError:
        raise MachineError(f"{run.name}: {stderr.strip() or 'no JSON'}") from None
    if told["status"] != 0:
        raise MachineError(f"{run.name}: {told['problem'] or told['stdout'].strip() or told['status']}")
    return told


def command(run: Run) -> str:
    """The command line of RUN."""
    return shlex.join(["tools/kettle", *_arguments(run)])


def duration(seconds: float) -> str:
    """SECONDS for people: 45 s, or 3 min."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def _launch(arguments: Sequence[str]) -> tuple[int, str, str]:
    done = subprocess.run([sys.executable, "-m", "hosttools", *arguments], cwd=ROOT, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, errors="replace", check=False)
    return done.returncode, done.stdout, done.stderr


def execute_run(run: Run, launch: Launch) -> Json:
    """Makes one run. `problem` of the result says what was wrong with it, in one line or more, or is empty."""
    arguments = _arguments(run)
    result = {"name": run.name, "command": command(run), "qemu_command": None, "status": None,
              "seconds": None, "cpu_seconds": None, "load": round(os.getloadavg()[0], 1), "output": [], "counts": [], "problem": ""}
    before = _cpu_seconds()
    result["status"], stdout, stderr = launch(arguments)
    result["cpu_seconds"] = round(_cpu_seconds() - before, 2)
    try:
        told = json.loads(stdout)
    except ValueError:
        result["problem"] = stderr.strip() or f"status {result['status']} and no JSON"
        return result
    result.update(qemu_command=_neutral(told["command"]), seconds=told["seconds"], counts=told.get("counts") or [], sha256=told.get("sha256"))
    if told.get("numa_model"):
        result["numa_model"] = numa_model.sums(told["numa_model"])
        result["counts"] = []  # they are in it
    if told.get("profile"):
        result["profile"] = told["profile"]
    if told.get("space_events"):
        result["space_events"] = told["space_events"]
    lines = [line for line in told["stdout"].splitlines() if line.strip()]
    result["output"] = [item for line in lines if (item := _object(line)) is not None]
    # A program that fails says why on the terminal that its output is on, too.
    result["problem"] = next((line for line in lines if _object(line) is None), "")
    if result["status"] != 0 and not result["problem"]:
        result["problem"] = told["problem"] or stderr.strip() or f"status {result['status']}"
    unpaired = [str(entry["region"]) for entry in told.get("counts") or [] if entry.get("errors") or entry.get("open")]
    if unpaired and not result["problem"]:
        result["problem"] = f"markers do not pair, so counts are wrong: region {', '.join(unpaired)}"
    return result


def _cpu_seconds() -> float:
    """What the processes that this one has waited for took of all CPUs: of a run, the emulator and what made its image."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _arguments(run: Run) -> list[str]:
    options = [word for option in run.options for word in ("--append", option)]
    return ["run", "--json", "--timeout", str(run.limit), *run.machine, *options, "--", *run.program]


def _object(line: str) -> Json | None:
    """The JSON object that LINE is, if it is one."""
    try:
        item = json.loads(line)
    except ValueError:
        return None
    return item if isinstance(item, dict) else None


def _neutral(command: str) -> str:
    """COMMAND without the places of this tree, of the user's home and of the run's temporary folder."""
    command = command.replace(f"{ROOT}{os.sep}", "")
    command = re.sub(re.escape(tempfile.gettempdir()) + r"/kettle-[^/\s,]*", "FOLDER", command)
    return re.sub(rf"(?<=[\s=,]){re.escape(str(Path.home()))}/", "~/", command)
