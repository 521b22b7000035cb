"""`kettle abi`: runs the programs of tests/abi on Linux and on Kettle and compares what they print and how they end.

Linux boots once for all programs (or not at all: recorded.py), Kettle once for each way of dividing the machine into kernels (guest_runs.py).
"""

import argparse
import json
import shlex
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any, Callable

from hosttools.abi import build as abi_build, recorded as abi_recorded, report as abi_report
from hosttools.errors import UsageError
from hosttools.progress import Progress
from hosttools.run.guest_runs import check_machine, run_all

DIVISIONS = ("1", "node", "core")
LIMIT = 60  # seconds a program may take

Json = dict[str, Any]


def add_options(command: argparse.ArgumentParser, natural: Callable[[str], int]) -> None:
    """Adds the options of `kettle abi` to COMMAND."""
    command.add_argument("--only", action="append", default=[], metavar="NAME",
                         help="programs whose folder/name has NAME in it; more than one may be given")
    command.add_argument("--libc", choices=(*abi_build.LIBRARIES, "all"), default="all", help="default all")
    command.add_argument("--kernels", action="append", metavar="1|node|core|none",
                         help="how Kettle divides the machine; more than one may be given (default all three); "
                              "none: Linux only")
    command.add_argument("--steady", action="store_true", help="boot Linux twice: a program that gives something else the "
                                                               "second time is in error itself")
    command.add_argument("--recorded", metavar="FILE", help="take from FILE what Linux gives; only programs that are new or have "
                                                            "changed since run there")
    command.add_argument("--record", metavar="FILE", help="write what Linux gives to FILE")
    command.add_argument("--cpus", type=natural, default=4, metavar="N", help="CPUs (default 4)")
    command.add_argument("--nodes", type=natural, default=2, metavar="M", help="NUMA nodes (default 2)")
    command.add_argument("--append", action="append", default=[], metavar="OPTS", help="more options for Kettle")
    command.add_argument("--inject", metavar="seed=N", help="as `kettle run --inject`")
    command.add_argument("--limit", type=natural, default=LIMIT, metavar="S",
                         help=f"seconds a program may take (default {LIMIT})")
    command.add_argument("--out", metavar="FOLDER", help="write abi.md and abi.json there")
    command.add_argument("--known", metavar="FILE", help="a list of programs that differ: only others make the status 1")
    command.add_argument("--learn", metavar="FILE", help="write such a list, of what differs now")
    command.add_argument("--list", action="store_true", help="only list the programs, with what each shows")
    command.add_argument("-v", "--verbose", action="store_true", help="print both outputs of what differs, and on standard error every step")


def main(options: argparse.Namespace) -> int:
    """Runs the command: 0 when everything that --known does not list is the same, 1 when not."""
    libraries = abi_build.LIBRARIES if options.libc == "all" else (options.libc,)
    programs = abi_build.find(libraries, options.only)
    if options.list:
        for title in sorted({(program.title, abi_build.shown(program)) for program in programs}):
            print(f"{title[0]:36} {title[1]}")
        return 0
    if options.out is not None and not Path(options.out).is_dir():
        raise UsageError(f"--out {options.out}: no such folder")
    divisions = [name for name in options.kernels or DIVISIONS if name != "none"]
    with Progress(quiet=False) as progress:
        machine = ["--cpus", str(options.cpus), "--nodes", str(options.nodes)]
        kettle = [*machine, *(word for text in options.append for word in ("--append", text)),
                  *(["--inject", options.inject] if options.inject else [])]
        configurations = [(abi_report.REFERENCE, ["--os", "linux", *machine])]
        if options.steady:
            configurations.append(("linux again", ["--os", "linux", *machine]))
        configurations += [(f"kernels={name}", [*kettle, "--kernels", name]) for name in divisions]
        data: Json = {"machine": shlex.join(machine), "commands": {}, "seconds": {}, "programs": [
            {"library": program.library, "title": program.title, "shows": abi_build.shown(program), "results": {}}
            for program in programs]}
        for _, arguments in configurations:
            check_machine(arguments)
        recorded = {} if options.recorded is None else abi_recorded.read(Path(options.recorded), programs)
        binaries = abi_build.build(programs, progress.say)
        for name, arguments in configurations:
            began = time.monotonic()
            data["commands"][name] = shlex.join(["tools/kettle", "run", *arguments])
            results = dict(recorded) if name == abi_report.REFERENCE else {}
            results |= run_all([program for program in programs if program not in results],
                               [*arguments, "--file", f"{binaries}:{abi_build.GUEST}"], binaries / "runner",
                               options.limit, _teller(name, progress, options.verbose))
            if options.record is not None and name == abi_report.REFERENCE:
                abi_recorded.write(Path(options.record), data["commands"][name], results)
            data["seconds"][name] = round(time.monotonic() - began)
            for entry, program in zip(data["programs"], programs):
                entry["results"][name] = asdict(results[program])
            abi_report.judge(data)
            if options.out is not None:  # after each: what was found is not lost when a later one cannot end
                _save(data, Path(options.out))
    print(abi_report.summary(data))
    print(abi_report.differences(data, options.verbose), end="")
    if options.learn is not None:
        Path(options.learn).write_text(abi_report.list_known(data))
    known = set() if options.known is None else abi_report.read_known(Path(options.known).read_text())
    for title in abi_report.outdated(data, known):
        print(f"no longer differs: {title}")
    return 1 if abi_report.unexpected(data, known) else 0


def _save(data: Json, folder: Path) -> None:
    (folder / "abi.json").write_text(json.dumps(data, indent=1) + "\n")
    (folder / "abi.md").write_text(abi_report.page(data))


def _teller(name: str, progress: Progress, verbose: bool) -> Callable[[str], None]:
    """What is called with each step of a configuration."""
    def say(text: str) -> None:
        progress.say(f"{name}: {text}")
        if verbose:
            print(f"{name}: {text}", file=sys.stderr, flush=True)
    return say
