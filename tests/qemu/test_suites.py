"""The programs of tests/guest on all machines and under all options: boots.py says which, suite.py how. A failure prints the
commands that repeat it.
"""

import contextlib
import shlex
import threading
import time
from concurrent.futures import Future

import pytest

from boots import BOOTS, boot_seconds
from conftest import SEED, long_run
from suite import Boot, Result, parameters, run_boot, shorten

MOST_SKIPPED_OF_ALL = 0.03  # of the checks of all machines


class Queue:
    """Boots that wait for their turn, the longest first: one that is wide whenever no other such boot runs, and others beside it."""

    def __init__(self, programs, run=run_boot):
        self._programs, self._run = programs, run
        self._waiting = sorted(programs, key=boot_seconds, reverse=True)
        self._wide = False  # one that is wide runs
        self._changed = threading.Condition()
        self.results = {boot: Future() for boot in programs}

    def _take(self):
        """The next boot, or None: there are no more."""
        with self._changed:
            while self._waiting:
                wide = [boot for boot in self._waiting if boot.is_wide()]
                others = [boot for boot in self._waiting if not boot.is_wide()]
                if boot := next(iter(others if self._wide else wide + others), None):
                    self._waiting.remove(boot)
                    self._wide |= boot.is_wide()
                    return boot
                self._changed.wait()
        return None

    def work(self):
        """Runs one boot after the other."""
        while (boot := self._take()) is not None:
            try:
                self.results[boot].set_result(self._run(boot, self._programs[boot]))
            except BaseException as error:  # the tests of this boot raise it
                self.results[boot].set_exception(error)
            with self._changed:
                self._wide &= not boot.is_wide()
                self._changed.notify_all()

    @contextlib.contextmanager
    def threads(self, count):
        """COUNT boots at a time; at the end of the context those that wait still are left out."""
        workers = [threading.Thread(target=self.work) for _ in range(count)]
        for worker in workers:
            worker.start()
        try:
            yield
        finally:
            with self._changed:
                self._waiting.clear()
                self._changed.notify_all()
            for worker in workers:
                worker.join()


@pytest.fixture(scope="session")
def boots(request):
    """Boots every machine of the selected tests, --boots at a time; the results of each, by program, are a future."""
    programs = {}
    for item in request.session.items:
        step = item.callspec.params.get("step") if hasattr(item, "callspec") else None
        if step is not None:
            programs.setdefault(step.boot, []).append(step.program)
    queue = Queue(programs)
    with queue.threads(request.config.getoption("boots")):
        yield queue.results


@pytest.mark.parametrize("step", parameters(BOOTS))
def test_program(boots, record_property, step):
    result = boots[step.boot].result()[step.program]
    checks, skipped = result.checks()
    record_property("seconds", result.seconds)
    record_property("checks", checks)
    record_property("skipped", skipped)
    problems = result.problems()
    if problems:
        again = f"{f'KETTLE_LONG=1 KETTLE_SEED={SEED} ' if long_run() else ''}build/venv/bin/python -m pytest tests/qemu/test_suites.py --boot "
        again += shlex.quote(step.boot.name)
        pytest.fail("\n".join([*problems, "--- output", result.output, "--- log", shorten(result.log),
                               f"--- to repeat it alone: {step.command()}", f"--- with those before it: {again}"]), pytrace=False)


def few_are_skipped(results):
    """What is wrong with the skipped checks of RESULTS, if more than a small part of all is skipped."""
    checks, skipped = (sum(numbers) for numbers in zip(*(result.checks() for result in results)))
    return "" if skipped <= MOST_SKIPPED_OF_ALL * checks else f"{skipped} of {checks} checks were skipped"


def test_few_checks_are_skipped(boots):
    assert not few_are_skipped([result for boot in boots.values() for result in boot.result().values()])


def test_skipped_checks_are_no_passed_ones():
    good, skipped = (Result(0, f"1..1\nok 1 - a: b{how}\n", 0.0, 0, "") for how in ("", " # SKIP one node"))
    assert not few_are_skipped([good] * 99 + [skipped]) and few_are_skipped([good] * 20 + [skipped]) == "1 of 21 checks were skipped"
    assert not good.problems() and skipped.problems() == ["1 of 1 checks were skipped: the program does not belong on this machine"]


def test_of_boots_whose_cpus_run_at_once_one_runs_at_a_time():
    running, seen = [], []

    def run(boot, _programs):
        running.append(boot)
        seen.append(list(running))
        time.sleep(0.01)  # in which another could begin
        running.remove(boot)
        if boot.name == "wide 2":
            raise OSError
        return boot.name

    programs = {Boot(f"{name} {number}", arguments, ()): [] for number in range(4)
                for name, arguments in (("wide", ("--tcg", "multi")), ("narrow", ("--tcg", "single")))}
    queue = Queue(programs, run)
    with queue.threads(3):
        for boot, result in queue.results.items():
            assert isinstance(result.exception(10), OSError) if boot.name == "wide 2" else result.result(10) == boot.name
    assert max(sum(boot.is_wide() for boot in together) for together in seen) == 1
