"""`kettle bench`: runs a benchmark's list of machines and writes what they said, tables, plots and a report.

A benchmark is a module with four names:

    SUMMARY                  one line for --help
    plan(options)            the runs, in order; raises UsageError
    report(data)             a Report of the runs that were made, some of which may have failed
    TITLE                    the report's heading

and perhaps two more: prepare(runs, say), which makes what the runs need, and returns those that can be made (`say` is told why others
cannot), and about(options), which adds to `data` what is true of all runs. `all` is those of them all, each in a folder of its own, with a page over them (bench/everything.py). With options of its own
bench/options.py (--append, --compare A B ...) or bench/sweep.py (--sweep) takes the place of the benchmark's module. `data` is
what raw.json holds, and raw.csv what all runs gave for each case. Runs are made one after another, so benchmarks that compare two
sides alternate them in the list.
"""

import argparse
import fnmatch
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, Callable, Sequence

from hosttools.bench import everything, options as bench_options, sweep
from hosttools.bench.execute import execute, prepared
from hosttools.bench.raw import RAW, begin, left, read
from hosttools.bench.report import write_results
from hosttools.errors import UsageError
from hosttools.paths import build_dir
from hosttools.results import changes
from hosttools.results.plots import need_plots
from hosttools.results.runs import Run
from hosttools.results.stats import MET
from hosttools.suites import abi, messages, numa, policies, silence, tasks, thesis, vm, workloads

BENCHMARKS: dict[str, ModuleType] = {"abi": abi, "messages": messages, "numa": numa, "policies": policies, "silence": silence,
                                     "tasks": tasks, "thesis": thesis, "vm": vm, "workloads": workloads}
ALL = "all"
OWN: tuple[ModuleType, ...] = (bench_options, sweep)  # what takes the place of a benchmark's module
OF_CLASS = (("thesis", False), ("workloads", True))  # benchmarks that take --class, and whether in runs of the user's own
STATUS_FAILED = 1

Json = dict[str, Any]


def add_options(command: argparse.ArgumentParser, number: Callable[[str], int]) -> None:
    """The options of `kettle bench`; NUMBER reads a whole number."""
    command.add_argument("benchmark", choices=[ALL, *sorted(BENCHMARKS)], metavar="BENCHMARK",
                         help=f"{ALL}: every one of these, with one page over them; " + "; ".join(f"{name}: {module.SUMMARY}" for name, module in sorted(BENCHMARKS.items())))
    command.add_argument("--quick", action="store_true", help="fewer cases, kernels and pairs")
    command.add_argument("--out", metavar="FOLDER", help="where the results go (default build/results/BENCHMARK)")
    command.add_argument("--report", action="store_true",
                         help=f"run nothing: write tables and plots again from FOLDER/{RAW}")
    command.add_argument("--only", metavar="LIST", help="only the benchmark's runs of these names or patterns, comma-separated, "
                                                        "as the report's commands have them: 'work-S-*'")
    command.add_argument("--resume", action="store_true",
                         help=f"go on where a benchmark was cut: runs that FOLDER/{RAW} has, made by this commit, are not made again")
    command.add_argument("--class", dest="size", choices=workloads.SIZES,
                         help="the size of the programs' problems (default S): of thesis, and of workloads with runs of your own")
    command.add_argument("--mixed", action="store_true", help="with --resume: also runs of other commits are not made again; the report says which")
    bench_options.add_options(command.add_argument_group("runs of your own, in place of the benchmark's"), number)
    sweep.add_options(command.add_argument_group("a sweep, in place of the benchmark's runs"))
    command.add_argument("--scheduler", metavar="ADDRESS", help="make the runs on the machines of a scheduler of dask.distributed, as "
                                                                "tcp://HOST:8786 (bench/scheduler.py; by default here)")
    machine = command.add_argument_group("the machine of the runs that count instructions")
    machine.add_argument("--cpus", type=number, default=4, metavar="N", help="CPUs (default 4)")
    machine.add_argument("--nodes", type=number, default=2, metavar="M", help="NUMA nodes (default 2)")
    machine.add_argument("--kernels", default="core", metavar="core|node|N|LIST", help="as for run (default core)")


def main(options: argparse.Namespace) -> int:
    """Runs what OPTIONS ask for; returns the exit status."""
    try:
        return _main(options)
    except KeyboardInterrupt:
        print("kettle: bench: cut; the same command with --resume goes on after the last run that has ended", file=sys.stderr)
        raise


def _main(options: argparse.Namespace) -> int:
    need_plots()
    own = [module for module in OWN if module.wanted(options)]
    if len(own) > 1:
        raise UsageError("--sweep stands without --append, --repeat of two sides, or --compare A B: give it the options to sweep")
    if options.size is not None and (options.benchmark, bool(own)) not in OF_CLASS:
        raise UsageError("--class is of thesis, and of workloads with --cases, --repeat, --append, --sweep or two sides to compare")
    if options.benchmark == ALL:
        return _all(options, own)
    name = options.benchmark + (own[0].SUFFIX if own else "")
    folder = Path(options.out) if options.out else build_dir() / "results" / name
    earlier = _earlier(options)
    if options.report:
        data = read(folder / RAW, _names(options))
        module = _module(data["benchmark"])
    else:
        module = own[0] if own else BENCHMARKS[options.benchmark]
        runs = _chosen(module.plan(options), options.only)
        make_folder(folder)
        data = begin(name, options)
        if hasattr(module, "about"):
            data.update(module.about(options))
        if options.resume:
            runs = left(runs, data, read(folder / RAW, _names(options)), options.mixed)
        execute(prepared(module, runs), data, folder / RAW, address=options.scheduler)
    report = module.report(data)
    if earlier is not None:
        report = replace(report, tables=[changes.table_of(earlier, data), *report.tables])
    pictures = write_results(module.TITLE, report, data, folder)
    for target in report.goals:
        print(target.line())
    if report.goals:
        print(f"{sum(target.verdict() == MET for target in report.goals)} of {len(report.goals)} targets are met")
    print(f"wrote {folder / data['benchmark']}.md")
    if report.sentence and pictures:
        print(f"{report.sentence}\nSee {pictures[0]}.")
    bad = [run["name"] for run in data["runs"] if run["problem"]]
    if bad:
        print(f"kettle: bench: {len(bad)} of {len(data['runs'])} runs failed: {', '.join(bad)}", file=sys.stderr)
    return STATUS_FAILED if bad else 0


def _all(options: argparse.Namespace, own: Sequence[ModuleType]) -> int:
    """`bench all`."""
    if own or options.only or options.compare:
        raise UsageError(f"bench {ALL} takes --quick, --out, --report, --resume and --scheduler: the other options are of one benchmark")
    folder = Path(options.out) if options.out else build_dir() / "results" / ALL
    make_folder(folder)
    bad = everything.run(BENCHMARKS, options, folder)
    if bad:
        print(f"kettle: bench: {len(bad)} runs failed: {', '.join(bad)}", file=sys.stderr)
    return STATUS_FAILED if bad else 0


def make_folder(folder: Path) -> None:
    """Makes FOLDER, for results. Raises UsageError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {folder}: {error.strerror}") from None


def _names(options: argparse.Namespace) -> list[str]:
    return [options.benchmark, *(options.benchmark + module.SUFFIX for module in OWN)]


def _module(name: str) -> ModuleType:
    """What made the results of the name NAME."""
    return BENCHMARKS.get(name) or next(module for module in OWN if name.endswith(module.SUFFIX))


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
    return read(path, _names(options))
