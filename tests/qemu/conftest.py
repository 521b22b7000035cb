"""Runs programs on Kettle through tools/kettle, as a user does, and reads what came back."""

import contextlib
import json
import os
import re
import shlex
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KETTLE = ROOT / "tools" / "kettle"
# Of random operations and schedules. A short run is the same each time; a long run is another, and says which.
SEED = int(os.environ.get("KETTLE_SEED", int(time.time()) % 100000 if os.environ.get("KETTLE_LONG") == "1" else 1))
TIMEOUT = 480  # seconds of one boot; far above what any needs, for a busy machine


@dataclass
class Run:
    """One run of tools/kettle run."""

    status: int
    stdout: bytes
    stderr: str
    log: str
    command: str

    def explain(self) -> str:
        """Everything there is to see of a run that went wrong."""
        return f"{self.command}\nstatus {self.status}\n--- output\n{self.stdout.decode(errors='replace')}\n--- errors\n{self.stderr}\n--- log\n{self.log}"


def kettle(*arguments, stdin=b"", timeout=TIMEOUT, log=None, nice=0) -> Run:
    """Runs `tools/kettle run ARGUMENTS`; a machine that hangs writes its wait dump and counts as status 124. NICE is of the host.
    STDIN None stays open and gives nothing: the end of an input comes by the host's clock, also to a machine that repeats."""
    command = [str(KETTLE), "run"]
    if "--timeout" not in arguments:
        command += ["--timeout", str(timeout)]
    if not long_run() and not {"--tcg", "--icount", "--accel", "--emulator", "--preempt"} & set(arguments):
        command += ["--tcg", "single"]  # the CPUs take turns: a busy host changes little of what happens
    if "linux" not in arguments and not any("death=" in str(a) for a in arguments):
        command += ["--append", "death=2000"]  # a busy host may leave a CPU alone for longer than the default
    if log is not None:
        command += ["--log", str(log)]
    command += [str(a) for a in arguments]
    with contextlib.ExitStack() as ends:
        how = {"input": stdin}
        if stdin is None:
            reader, _ = (ends.enter_context(os.fdopen(end, mode)) for end, mode in zip(os.pipe(), ("rb", "wb")))
            how = {"stdin": reader}
        done = subprocess.run(["nice", "-n", str(nice), *command], **how, capture_output=True, timeout=timeout + 60, check=False)
    text = log.read_text(errors="replace") if log is not None and log.exists() else ""
    return Run(done.returncode, done.stdout, done.stderr.decode(errors="replace"), text, shlex.join(command))


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


def tap_problems(text: str) -> list[str]:
    """What is wrong with TAP output: failed checks with the comments before them and what their processes waited for, a plan
    not kept, no checks at all."""
    problems, comments, seen = [], [], 0
    plan = re.search(r"^1\.\.(\d+)\r?$", text, re.M)
    for line in text.splitlines():
        if line.startswith("# waits: ") and problems:
            problems.append(line)  # a test that hangs says so first
        elif line.startswith("# "):
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


def pytest_addoption(parser):
    parser.addoption("--boots", metavar="N", type=int, default=2, help="of the programs on machines, boot N machines at a time")
    parser.addoption("--boot", metavar="NAME", help="of the programs on machines, only those of this boot (tests/qemu/boots.py)")


def pytest_collection_modifyitems(config, items):
    name = config.getoption("--boot")
    if name is None:
        return
    chosen = [item for item in items if hasattr(item, "callspec") and "step" in item.callspec.params and
              item.callspec.params["step"].boot.name == name]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen


def pytest_report_header():
    return f"seed of this run: KETTLE_SEED={SEED}"


def first_or_all(things, count=1):
    """The first COUNT of THINGS in a short run, all in a long one."""
    return list(things) if long_run() else list(things)[:count]


def long_run() -> bool:
    """True in `make test-long`."""
    return os.environ.get("KETTLE_LONG") == "1"


def pytest_runtest_makereport(item, call):
    """A program of a suite takes the time that it took in the machine: the boot's is not the first one's."""
    seconds = dict(item.user_properties).get("seconds")
    if call.when == "call" and seconds is not None:
        call.duration = seconds


def pytest_terminal_summary(terminalreporter):
    """What was skipped is not passed: how much that was."""
    reports = [report for key in ("passed", "failed") for report in terminalreporter.stats.get(key, [])]
    counts = [dict(report.user_properties) for report in reports if report.when == "call"]
    checks, skipped = (sum(count.get(name, 0) for count in counts) for name in ("checks", "skipped"))
    if checks:
        terminalreporter.write_line(f"programs: {checks} checks, {skipped} of them skipped where a machine lacks what they need")
