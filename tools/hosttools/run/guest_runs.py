"""Many cases run one after another in the machine, as the programs of `kettle abi`, and what became of each.

The runner in the guest (tests/abi/runner.c) kills a case that hangs. A machine that ends or says nothing any more ends
the case that ran then: those behind it run on a new machine.
"""

import selectors
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Protocol, Sequence

from hosttools.paths import ROOT, built

BOOT_LIMIT = 330  # seconds in which the first case has begun
SILENCE = 60  # seconds above a case's own limit after which the machine hangs
END_LIMIT = 60  # seconds from the last case to the end of the machine
PANICS_MAX = 40  # machines lost in one configuration before the rest is left out
GUEST_LIST = "/.kettle/list"


class Case(Protocol):
    """What is run: the guest's executable `file` with `name` as its argv[0]; people know it as `title`."""

    @property
    def file(self) -> str: ...

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...


@dataclass
class Result:
    """How a case went: HOW is exit, signal, hang, stuck, panic (the machine ended), silence (the machine hung) or
    lost (it was not run)."""

    how: str
    value: int = 0
    output: list[str] = field(default_factory=list)
    problem: str = ""  # the machine's last words


def check_machine(arguments: Sequence[str]) -> None:
    """Raises UsageError when `kettle run ARGUMENTS` would be refused: before other machines have run for nothing."""
    from hosttools import cli
    from hosttools.image import image
    from hosttools.run import run  # which import the callers of this module

    programs = image.image_programs(built(run.BASE_IMAGE))
    run.check(cli.parse(["run", *arguments, "--", programs[0]]))


def run_all(cases: Sequence[Case], arguments: Sequence[str], runner: Path, limit: int,
            say: Callable[[str], None], session: bool = False) -> dict[Case, Result]:
    """Runs CASES on machines of `kettle run ARGUMENTS`, as many as it takes, each for LIMIT seconds at most. RUNNER is the
    built runner; SAY is told every step; SESSION: each case has a session of its own, without a terminal."""
    results: dict[Case, Result] = {}
    machines = 0
    while left := [case for case in cases if case not in results]:
        if machines > PANICS_MAX:
            results.update({case: Result("lost") for case in left})
            break
        machines += 1
        _run_machine(left, arguments, [str(runner), str(limit), GUEST_LIST, *(["session"] if session else [])], limit,
                     results, say)
    return results


def _run_machine(cases: Sequence[Case], arguments: Sequence[str], runner: Sequence[str], limit: int,
                 results: dict[Case, Result], say: Callable[[str], None]) -> None:
    """Runs CASES until the machine ends; there is a result more at least."""
    with tempfile.TemporaryDirectory(prefix="kettle-cases-") as folder, open(f"{folder}/errors", "w+") as errors:
        Path(folder, "list").write_text("".join(f"{case.file} {case.name}\n" for case in cases))
        command = [sys.executable, "-m", "hosttools", "run", *arguments, "--file", f"{folder}/list:{GUEST_LIST}",
                   "--", *runner]
        with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors) as process:
            reader = Reader({(case.file, case.name): case for case in cases}, results, say)
            try:
                silent = _follow(process, reader, limit)
            finally:
                if process.poll() is None:
                    process.send_signal(signal.SIGTERM)
        errors.seek(0)
        words = errors.read().strip()
    if reader.done:
        return
    # The machine has ended under a case, or before the first.
    victim = reader.running or next(case for case in cases if case not in results)
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

    def __init__(self, cases: dict[tuple[str, str], Case], results: dict[Case, Result],
                 say: Callable[[str], None]) -> None:
        self.running: Case | None = None
        self.output: list[str] = []
        self.begun = False
        self.done = False  # the runner has reached the end of its list
        self._cases = cases
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
            self.running, self.output, self.begun = self._cases.get((words[1], words[2])), [], True
            if self.running is not None:
                self._say(self.running.title)
        elif line.startswith("@end ") and len(words) == 5 and self.running is not None:
            self._results[self.running] = Result(words[3], int(words[4]), self.output)
            if words[3] in ("hang", "stuck"):
                self._say(f"{self.running.title}: {words[3]}")
            self.running, self.output = None, []
        elif line == "@all":
            self.done = True
