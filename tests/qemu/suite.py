"""Many test programs in one boot: tests/guest/harness/suite.c runs them one after another and marks the output of each.

A boot is data (boots.py). Each of its programs is a test of its own, which looks for its result in that of the boot. A program
that brings the machine down, or hangs, fails with the log and the dump of all waits; those behind it run in another boot.
"""

import re
import shlex
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from conftest import kettle, long_run, tap_problems

BEGIN = re.compile(rb"^@suite begin (\d+)\r?$", re.M)
END = re.compile(rb"^@suite end (\d+) (\d+) (\d+) (\d+)\r?$", re.M)
UNASKED = "no program had asked for it"  # tools/hosttools/run/session.py
# Seconds of one boot, and of each of its programs besides: what ends one that hangs. On two CPUs that ran eight other things,
# the longest of a short run took 614 s for 45 programs, and one of two programs 140 s.
TIMEOUT = 600 if not long_run() else 20000
TIMEOUT_PROGRAM = 15
NICE = 5  # of a machine with one thread of the host: it takes what those leave over whose CPUs run at once
LOG_LINES = 150  # of a log, in the text of a failure
MOST_SKIPPED = 0.5  # of a program's checks: a program that skips more does not belong on that machine


@dataclass(frozen=True)
class Boot:
    """One machine and what runs on it."""

    name: str
    arguments: tuple[str, ...]  # of tools/kettle run
    programs: tuple[str, ...] = field(compare=False)

    def is_wide(self) -> bool:
        """Whether its CPUs run at once on the host's. What stops one of them stops it in the middle of what the others wait for:
        two such machines at a time take several times as much of the host as one after the other."""
        return "multi" in self.arguments


@dataclass(frozen=True)
class Step:
    """One program of a boot, with its arguments."""

    boot: Boot
    program: str

    def command(self) -> str:
        """Repeats it alone."""
        return shlex.join(["tools/kettle", "run", *self.boot.arguments, "--", *self.program.split()])


@dataclass
class Result:
    """What a program left. No status: it did not end."""

    status: int | None
    output: str
    seconds: float
    left: int
    log: str
    deaths: tuple[str, ...] = ()  # of kernels in its boot that no program had asked for
    end: str = ""  # what the run said of a machine that came down, or hung: the text of a panic, the dump of all waits

    def problems(self) -> list[str]:
        """What is wrong with it, in words."""
        found = tap_problems(self.output) if re.search(r"^1\.\.\d", self.output, re.M) or self.status != 0 else []
        if self.status is None:
            found.append("the program did not end: the machine came down, or its time was over")
            found += [self.end] if self.end else []
        elif self.status != 0:
            found.append(f"status {self.status}")
        found += self.deaths
        found += sorted(set(re.findall(r"work of rank \d+ waits for work of rank .*", self.log)))  # kernel/wait/work.h
        if self.left > 0:
            found.append(f"{self.left} processes were left running")
        checks, skipped = self.checks()
        if skipped > MOST_SKIPPED * checks:
            found.append(f"{skipped} of {checks} checks were skipped: the program does not belong on this machine")
        return found

    def checks(self) -> tuple[int, int]:
        """The number of checks that ran, and of those that were skipped."""
        lines = re.findall(r"^(?:not )?ok \d+.*", self.output, re.M)
        return len(lines), sum("# SKIP" in line for line in lines)


def shorten(log: str) -> str:
    """The end of a long LOG, where the reason of a failure is."""
    lines = log.splitlines()
    return log if len(lines) <= LOG_LINES else "\n".join([f"[{len(lines) - LOG_LINES} lines before]", *lines[-LOG_LINES:]])


def parameters(boots):
    """Each program of each boot as a parameter of a test."""
    return [pytest.param(Step(boot, program), id=f"{boot.name}: {program}") for boot in boots for program in boot.programs]


def run_boot(boot: Boot, programs: list[str]) -> dict[str, Result]:
    """Runs PROGRAMS on the machine, in as many boots as it takes until each has ended or failed."""
    results: dict[str, Result] = {}
    while waiting := [program for program in programs if program not in results]:
        with tempfile.TemporaryDirectory(prefix="kettle-suite-") as folder:
            names = Path(folder, "suite")
            names.write_text("".join(f"{program}\n" for program in waiting))
            done = kettle(*boot.arguments, "--file", f"{names}:/suite", "--", "suite", "/suite",
                          stdin=None if "--preempt" in boot.arguments else b"",
                          timeout=TIMEOUT + TIMEOUT_PROGRAM * len(waiting), log=Path(folder, "log"), nice=0 if boot.is_wide() else NICE)
        deaths = tuple(line for line in done.stderr.splitlines() if UNASKED in line)
        begins = list(BEGIN.finditer(done.stdout))
        for begin in begins:
            program = waiting[int(begin[1])]
            end = END.search(done.stdout, begin.end())
            text = done.stdout[begin.end():end.start() if end else None].decode(errors="replace")
            if end is None or end[1] != begin[1]:
                results[program] = Result(None, text, 0.0, 0, done.log, deaths, done.stderr)
            else:
                results[program] = Result(int(end[2]), text, int(end[3]) / 1000, int(end[4]), done.log, deaths)
        if not begins:  # it does not boot, or the suite does not run
            return results | {program: Result(None, "", 0.0, 0, done.log, deaths, done.stderr) for program in waiting}
    return results
