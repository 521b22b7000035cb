"""Runs programs on Kettle through tools/kettle, as a user does, and reads what came back."""

import json
import os
import random
import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KETTLE = ROOT / "tools" / "kettle"
INJECT = os.environ.get("KETTLE_INJECT", "")  # as --inject: every machine of these tests runs under that schedule
# Which of many machines a short run takes for a program: another each hour, said in the first lines of the report.
TURN = int(os.environ.get("KETTLE_TURN", int(time.time() // 3600) % 100000))
LONG = 100  # times as many machines in a long run, where not all are taken
TIMEOUT = 480  # seconds of one boot; far above what any needs, for a busy machine


@dataclass
class Run:
    """One run of tools/kettle run."""

    status: int
    stdout: bytes
    stderr: str
    log: str

    def explain(self) -> str:
        """Everything there is to see of a run that went wrong."""
        return f"status {self.status}\n--- output\n{self.stdout.decode(errors='replace')}\n--- errors\n{self.stderr}\n--- log\n{self.log}"


def kettle(*arguments, stdin=b"", timeout=TIMEOUT, log=None) -> Run:
    """Runs `tools/kettle run ARGUMENTS`; a machine that hangs writes its wait dump and counts as status 124."""
    command = [str(KETTLE), "run"]
    if INJECT and "--inject" not in arguments and "linux" not in arguments:
        command += ["--inject", INJECT]
    if "--timeout" not in arguments:
        command += ["--timeout", str(timeout)]
    if log is not None:
        command += ["--log", str(log)]
    command += [str(a) for a in arguments]
    done = subprocess.run(command, input=stdin, capture_output=True, timeout=timeout + 60, check=False)
    text = log.read_text(errors="replace") if log is not None and log.exists() else ""
    return Run(done.returncode, done.stdout, done.stderr.decode(errors="replace"), text)


@pytest.fixture
def run(tmp_path):
    """kettle() with a log file of its own."""

    def call(*arguments, **options):
        return kettle(*arguments, log=tmp_path / "log", **options)

    return call


@pytest.fixture
def run_json(run):
    """As run, with --json: returns the object, having checked that the program ended with STATUS."""

    def call(*arguments, status=0, **options):
        done = run("--json", *arguments, **options)
        assert done.status == status, done.explain()
        return json.loads(done.stdout)

    return call


def run_until(run, has_come, *arguments):
    """Runs a program that does not end by itself, for as long as it takes until what the run leaves HAS_COME: a busy machine
    may not even have booted in the time that is enough for another."""
    for seconds in (5, 20, 80, 240):
        done = run("--timeout", str(seconds), *arguments)
        if has_come(done):
            break
    return done


def tap_failures(text: str) -> list[str]:
    """What is wrong with TAP output: failed checks with the comments before them, a plan not kept, no checks at all."""
    problems, comments, seen = [], [], 0
    plan = re.search(r"^1\.\.(\d+)\r?$", text, re.M)
    for line in text.splitlines():
        if line.startswith("# "):
            comments.append(line)
        elif re.match(r"(not )?ok \d+", line):
            seen += 1
            if line.startswith("not ok"):
                problems += comments + [line]
            comments = []
    if plan is None or seen == 0 or seen != int(plan.group(1)):
        problems.append(f"{seen} checks ran of {plan.group(1) if plan else 'an unknown number'}")
    return problems


@pytest.fixture(scope="session")
def musl(tmp_path_factory):
    """Compiles C text to a static program with Debian's musl-gcc, as a user does; returns its path."""
    folder = tmp_path_factory.mktemp("programs")

    def compile_program(name: str, text: str, *flags: str, compiler="musl-gcc", libraries=()) -> Path:
        source = folder / f"{name}.c"
        source.write_text(text)
        static = [] if "-static-pie" in flags else ["-static"]
        subprocess.run([compiler, *static, "-O1", *flags, "-o", str(folder / name), str(source), *libraries], check=True)
        return folder / name

    return compile_program


def pytest_report_header():
    return f"machines and seeds of this run: KETTLE_TURN={TURN}"


def in_turn(things, index, always=()):
    """What a short run does with thing number INDEX of many: those of THINGS that it always takes and one more in turn; a
    long run takes all. With messages held back for all machines one is enough."""
    things = list(things)
    if long_run():
        return things
    others = [thing for thing in things if thing not in always]
    chosen = others[(TURN + index) % len(others)]
    return [thing for thing in things if thing == chosen or (thing in always and not INJECT)]


def in_parts(things, count):
    """COUNT of many THINGS in a short run, of all kinds, with others each turn until all have been taken; in a long run LONG
    times as many."""
    order = list(things)
    random.Random(1).shuffle(order)  # the same in every run: a turn is a part of it
    count = min(len(order), count * (LONG if long_run() else 1))
    return [order[(TURN * count + i) % len(order)] for i in range(count)]


def long_run() -> bool:
    """True in `make test-long`."""
    return os.environ.get("KETTLE_LONG") == "1"
