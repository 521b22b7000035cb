"""`kettle bench`: runs a benchmark's list of machines and writes what they said, tables, plots and a report.

A benchmark is a module with four names:

    SUMMARY                  one line for --help
    plan(options)            the runs, in order; raises UsageError
    report(data)             a Report of the runs that were made, some of which may have failed
    TITLE                    the report's heading

With options of its own (--append, --compare ...) bench/options.py takes the place of the benchmark's module. `data` is what
raw.json holds, and raw.csv what all runs gave for each case. Runs are made one after another, so benchmarks that compare two sides alternate them in
the list. raw.json is written anew after every run: what was measured is not lost when a later run fails.
"""

import argparse
import fnmatch
import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, Callable, Sequence

from hosttools.bench import options as bench_options
from hosttools.errors import UsageError
from hosttools.machine import host
from hosttools.machine.qemu import CPU_MODEL
from hosttools.measure import numa_model
from hosttools.paths import ROOT, build_dir
from hosttools.progress import Progress
from hosttools.results import changes, plots
from hosttools.results.csv_file import write_csv
from hosttools.results.runs import Report, Run
from hosttools.results.samples import write_samples
from hosttools.suites import abi, messages, numa, silence, tasks, vm, workloads

BENCHMARKS: dict[str, ModuleType] = {"abi": abi, "messages": messages, "numa": numa, "silence": silence, "tasks": tasks, "vm": vm,
                                     "workloads": workloads}
RAW = "raw.json"
TABLE = "raw.csv"
SAMPLES = "samples.jsonl"
STATUS_FAILED = 1

Json = dict[str, Any]
Launch = Callable[[Sequence[str]], tuple[int, str, str]]


def add_options(command: argparse.ArgumentParser, number: Callable[[str], int]) -> None:
    """The options of `kettle bench`; NUMBER reads a whole number."""
    command.add_argument("benchmark", choices=sorted(BENCHMARKS), metavar="BENCHMARK",
                         help="; ".join(f"{name}: {module.SUMMARY}" for name, module in sorted(BENCHMARKS.items())))
    command.add_argument("--quick", action="store_true", help="fewer cases, kernels and pairs")
    command.add_argument("--out", metavar="FOLDER", help="where the results go (default build/results/BENCHMARK)")
    command.add_argument("--report", action="store_true",
                         help=f"run nothing: write tables and plots again from FOLDER/{RAW}")
    command.add_argument("--only", metavar="LIST", help="only the benchmark's runs of these names or patterns, comma-separated, "
                                                        "as the report's commands have them: 'work-S-*'")
    command.add_argument("--resume", action="store_true",
                         help=f"go on where a benchmark was cut: runs that FOLDER/{RAW} has, made by this commit, are not made again")
    bench_options.add_options(command.add_argument_group("runs of your own, in place of the benchmark's"), number)
    machine = command.add_argument_group("the machine of the runs that count instructions")
    machine.add_argument("--cpus", type=number, default=4, metavar="N", help="CPUs (default 4)")
    machine.add_argument("--nodes", type=number, default=2, metavar="M", help="NUMA nodes (default 2)")
    machine.add_argument("--kernels", default="core", metavar="core|node|N|LIST", help="as for run (default core)")


def main(options: argparse.Namespace) -> int:
    """Runs what OPTIONS ask for; returns the exit status."""
    own = bench_options.wanted(options)
    name = options.benchmark + (bench_options.SUFFIX if own else "")
    folder = Path(options.out) if options.out else build_dir() / "results" / name
    if importlib.util.find_spec("matplotlib") is None:
        raise UsageError(f"matplotlib is not installed: run {ROOT / 'tools' / 'setup'}")
    earlier = _earlier(options)
    if options.report:
        data = _read(folder / RAW, options.benchmark)
        own = data["benchmark"] != options.benchmark
    else:
        runs = _chosen((bench_options if own else BENCHMARKS[options.benchmark]).plan(options), options.only)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"--out {folder}: {error.strerror}") from None
        data = _begin(name, options)
        if own:
            data["sides"] = bench_options.sides(options)
        if options.resume:
            runs = _left(runs, data, _read(folder / RAW, options.benchmark))
        execute(runs, data, folder / RAW)
    module = bench_options if own else BENCHMARKS[options.benchmark]
    report = module.report(data)
    if earlier is not None:
        report = replace(report, tables=[changes.table_of(earlier, data), *report.tables])
    write_report(module.TITLE, report, data, folder)
    write_csv(data, folder / TABLE)
    write_samples(data, folder / SAMPLES)
    print(f"wrote {folder / data['benchmark']}.md")
    pictures = [path for plot in report.plots if (path := folder / f"{plot.name}.{'png' if plot.png else 'svg'}").is_file()]
    if report.sentence and pictures:
        print(f"{report.sentence}\nSee {pictures[0]}.")
    bad = [run["name"] for run in data["runs"] if run["problem"]]
    if bad:
        print(f"kettle: bench: {len(bad)} of {len(data['runs'])} runs failed: {', '.join(bad)}", file=sys.stderr)
    return STATUS_FAILED if bad else 0


def _chosen(runs: Sequence[Run], patterns: str | None) -> list[Run]:
    """The RUNS that PATTERNS name. Raises UsageError when one names none."""
    if patterns is None:
        return list(runs)
    for pattern in patterns.split(","):
        if not any(fnmatch.fnmatch(run.name, pattern) for run in runs):
            raise UsageError(f"--only {pattern}: no such run, as {runs[0].name}")
    return [run for run in runs if any(fnmatch.fnmatch(run.name, pattern) for pattern in patterns.split(","))]


def _earlier(options: argparse.Namespace) -> Json | None:
    """The results that --compare OLD names."""
    if len(options.compare or ()) != 1:
        return None
    path = Path(options.compare[0]) / RAW
    if not path.is_file():
        raise UsageError(f"--compare '{options.compare[0]}': expected two sets of boot options, or a folder with {RAW}")
    return _read(path, options.benchmark)


def _left(runs: Sequence[Run], data: Json, before: Json) -> list[Run]:
    """The RUNS that BEFORE does not have; those that it has go into DATA. Raises UsageError when it is of another tree."""
    if before["commit"] != data["commit"] or before["quick"] != data["quick"]:
        raise UsageError(f"--resume: the earlier runs are of commit {before['commit']}{', quick' if before['quick'] else ''}, not "
                         f"of {data['commit']}{', quick' if data['quick'] else ''}")
    commands = {run.name: _command(run) for run in runs}
    kept = [run for run in before["runs"]
            if not run["problem"] and commands.get(run["name"], run["command"]) == run["command"]]
    data["runs"] += kept
    names = {run["name"] for run in kept}
    return [run for run in runs if run.name not in names]


def _command(run: Run) -> str:
    return shlex.join(["tools/kettle", *_arguments(run)])


def _read(path: Path, benchmark: str) -> Json:
    try:
        data = json.loads(path.read_text())
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from None
    if not isinstance(data, dict) or data.get("benchmark") not in (benchmark, benchmark + bench_options.SUFFIX):
        raise UsageError(f"{path}: these are no results of the benchmark {benchmark}")
    return data


def _begin(name: str, options: argparse.Namespace) -> Json:
    return {"benchmark": name, "date": time.strftime("%Y-%m-%d"), "commit": host.commit(), "quick": options.quick,
            "qemu": host.qemu_version(), "cpu": CPU_MODEL, "host_cpus": os.cpu_count(), "host": host.describe(), "runs": []}


def execute(runs: Sequence[Run], data: Json, raw: Path, launch: Launch | None = None) -> None:
    """Makes RUNS one after another, appends each to DATA, and writes DATA to RAW after each."""
    started = time.monotonic()
    with Progress(quiet=False) as progress:
        for number, run in enumerate(runs, 1):
            left = (time.monotonic() - started) / (number - 1) * (len(runs) - number + 1) if number > 1 else None
            progress.step(f"[{number}/{len(runs)}] {run.name}" + ("" if left is None else f", about {duration(left)} left"))
            result = execute_run(run, launch or _launch)
            if result["problem"]:
                print(f"kettle: bench: {run.name}: {result['problem'].splitlines()[0]}", file=sys.stderr)
            data["runs"].append(result)
            fresh = raw.with_name(raw.name + ".new")
            fresh.write_text(json.dumps(data, indent=1) + "\n")
            fresh.replace(raw)


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
    result = {"name": run.name, "command": _command(run), "qemu_command": None, "status": None,
              "seconds": None, "load": round(os.getloadavg()[0], 1), "output": [], "counts": [], "problem": ""}
    result["status"], stdout, stderr = launch(arguments)
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


def write_report(title: str, report: Report, data: Json, folder: Path) -> None:
    """Writes the report's plots, and FOLDER/BENCHMARK.md with its text, the plots and all command lines."""
    pictures = [f"![{plot.title}]({path.name})\n" for plot in report.plots
                if (path := plots.draw(plot, folder)) is not None]
    parts = [f"# {title}\n", _conditions(data), report.targets, *pictures, *report.tables, _failures(data["runs"]),
             _commands(data["runs"])]
    (folder / f"{data['benchmark']}.md").write_text("\n".join(part for part in parts if part))


def _conditions(data: Json) -> str:
    quick = " Made with `--quick`." if data["quick"] else ""
    loads = [run["load"] for run in data["runs"] if run.get("load") is not None]
    load = f" Its load before the runs was {min(loads)} to {max(loads)}." if loads else ""
    return (f"Measured on {data['date']} with QEMU {data['qemu']} (TCG, no KVM, `-cpu {data['cpu']}` on every side) on "
            f"a machine with {data['host_cpus']} CPUs.{load} Times on an emulator say nothing by themselves: compare ratios, "
            f"and instructions. All samples are in {RAW}.{quick}\n")


def _failures(runs: Sequence[Json]) -> str:
    lines = [f"- {run['name']}: {run['problem'].splitlines()[0]}" for run in runs if run["problem"]]
    return "## Runs that failed\n\n" + "\n".join(lines) + "\n" if lines else ""


def _commands(runs: Sequence[Json]) -> str:
    rows = "\n".join(f"    {run['command']}" for run in runs)
    return f"## Commands\n\nIn this order:\n\n{rows}\n"
