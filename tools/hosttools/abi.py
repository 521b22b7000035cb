"""`kettle abi`: runs the programs of tests/abi on Linux and on Kettle and compares what they print and how they end.

Linux boots once for all programs, Kettle once for each way of dividing the machine into kernels. The runner in the guest
(tests/abi/runner.c) kills a program that hangs. A machine that ends or says nothing any more ends the program that ran
then: the programs behind it run on a new machine.
"""

import argparse
import json
import selectors
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Callable, Sequence

from hosttools import abi_build, abi_report
from hosttools.abi_build import Program
from hosttools.errors import UsageError
from hosttools.paths import ROOT
from hosttools.progress import Progress

DIVISIONS = ("1", "node", "core")
LIMIT = 60  # seconds a program may take
BOOT_LIMIT = 330  # seconds in which the first program has begun
SILENCE = 60  # seconds above a program's own limit after which the machine hangs
END_LIMIT = 60  # seconds from the last program to the end of the machine
PANICS_MAX = 40  # machines lost in one configuration before the rest is left out

Json = dict[str, Any]


@dataclass
class Result:
    """How a program went: HOW is exit, signal, hang, stuck, panic (the machine ended), silence (the machine hung) or
    lost (it was not run)."""

    how: str
    value: int = 0
    output: list[str] = field(default_factory=list)
    problem: str = ""  # the machine's last words


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
        binaries = abi_build.build(programs, progress.say)
        machine = ["--cpus", str(options.cpus), "--nodes", str(options.nodes)]
        kettle = [*machine, *(word for text in options.append for word in ("--append", text)),
                  *(["--inject", options.inject] if options.inject else [])]
        configurations = [("linux", ["--os", "linux", *machine])]
        if options.steady:
            configurations.append(("linux again", ["--os", "linux", *machine]))
        configurations += [(f"kernels={name}", [*kettle, "--kernels", name]) for name in divisions]
        data: Json = {"machine": shlex.join(machine), "commands": {}, "seconds": {}, "programs": [
            {"library": program.library, "title": program.title, "shows": abi_build.shown(program), "results": {}}
            for program in programs]}
        for name, arguments in configurations:
            began = time.monotonic()
            data["commands"][name] = shlex.join(["tools/kettle", "run", *arguments])
            results = run_all(programs, arguments, binaries, options.limit, _teller(name, progress, options.verbose))
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


def run_all(programs: Sequence[Program], arguments: Sequence[str], binaries: Path, limit: int,
            say: Callable[[str], None]) -> dict[Program, Result]:
    """Runs PROGRAMS on machines of `kettle run ARGUMENTS`, as many as it takes."""
    results: dict[Program, Result] = {}
    machines = 0
    while left := [program for program in programs if program not in results]:
        if machines > PANICS_MAX:
            results.update({program: Result("lost") for program in left})
            break
        machines += 1
        _run_machine(left, arguments, binaries, limit, results, say)
    return results


def _run_machine(programs: Sequence[Program], arguments: Sequence[str], binaries: Path, limit: int,
                 results: dict[Program, Result], say: Callable[[str], None]) -> None:
    """Runs PROGRAMS until the machine ends; there is a result more at least."""
    with tempfile.TemporaryDirectory(prefix="kettle-abi-") as folder, open(f"{folder}/errors", "w+") as errors:
        Path(folder, "list").write_text("".join(f"{program.file} {program.name}\n" for program in programs))
        command = [sys.executable, "-m", "hosttools", "run", *arguments, "--file", f"{binaries}:{abi_build.GUEST}",
                   "--file", f"{folder}/list:{abi_build.GUEST}/list", "--", f"{binaries}/runner", str(limit),
                   f"{abi_build.GUEST}/list"]
        with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors) as process:
            reader = Reader({(program.file, program.name): program for program in programs}, results, say)
            try:
                silent = _follow(process, reader, limit)
            finally:
                if process.poll() is None:
                    process.send_signal(signal.SIGTERM)
        errors.seek(0)
        words = errors.read().strip()
    if reader.done:
        return
    # The machine has ended under a program, or before the first.
    victim = reader.running or next(program for program in programs if program not in results)
    results[victim] = Result("silence" if silent else "panic", process.returncode, reader.output, words)
    say(f"the machine {'hung' if silent else 'ended'} under {victim.title}: {words}")


def _follow(process: subprocess.Popen, reader: "Reader", limit: int) -> bool:
    """Feeds READER until the machine ends, or says nothing for so long that it does hang: then True."""
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            patience = END_LIMIT if reader.done else limit + SILENCE if reader.begun else BOOT_LIMIT
            if not selector.select(patience):
                return True
            data = process.stdout.read1(65536)  # type: ignore[attr-defined]
            if not data:
                return False
            reader.feed(data)


class Reader:
    """Understands what the runner writes."""

    def __init__(self, programs: dict[tuple[str, str], Program], results: dict[Program, Result],
                 say: Callable[[str], None]) -> None:
        self.running: Program | None = None
        self.output: list[str] = []
        self.begun = False
        self.done = False  # the runner has reached the end of its list
        self._programs = programs
        self._results = results
        self._say = say
        self._rest = b""

    def feed(self, data: bytes) -> None:
        """Takes the next bytes of the machine's terminal."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._take(line.rstrip(b"\r").decode(errors="replace"))

    def _take(self, line: str) -> None:
        words = line.split()
        if line.startswith("|"):
            self.output.append(line[1:])
        elif line.startswith("@begin ") and len(words) == 3:
            self.running, self.output, self.begun = self._programs.get((words[1], words[2])), [], True
            if self.running is not None:
                self._say(f"{self.running.library} {self.running.title}")
        elif line.startswith("@end ") and len(words) == 5 and self.running is not None:
            self._results[self.running] = Result(words[3], int(words[4]), self.output)
            if words[3] in ("hang", "stuck"):
                self._say(f"{self.running.title}: {words[3]}")
            self.running, self.output = None, []
        elif line == "@all":
            self.done = True
