"""The programs of tests/guest on all machines and under all options: boots.py says which, suite.py how. A failure prints the
commands that repeat it.
"""

import shlex
import threading
from concurrent.futures import Future

import pytest

from boots import BOOTS, boot_seconds
from suite import parameters, run_boot, shorten


class Queue:
    """Boots that wait for their turn, the longest first: one that is wide whenever no other such boot runs, and others beside it."""

    def __init__(self, programs):
        self._programs = programs
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
                self.results[boot].set_result(run_boot(boot, self._programs[boot]))
            except BaseException as error:  # the tests of this boot raise it
                self.results[boot].set_exception(error)
            with self._changed:
                self._wide &= not boot.is_wide()
                self._changed.notify_all()

    def cancel(self):
        """No more of them."""
        with self._changed:
            self._waiting.clear()
            self._changed.notify_all()


@pytest.fixture(scope="session")
def boots(request):
    """Boots every machine of the selected tests, --boots at a time; the results of each, by program, are a future."""
    programs = {}
    for item in request.session.items:
        step = item.callspec.params.get("step") if hasattr(item, "callspec") else None
        if step is not None:
            programs.setdefault(step.boot, []).append(step.program)
    queue = Queue(programs)
    threads = [threading.Thread(target=queue.work) for _ in range(request.config.getoption("boots"))]
    for thread in threads:
        thread.start()
    yield queue.results
    queue.cancel()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("step", parameters(BOOTS))
def test_program(boots, record_property, step):
    result = boots[step.boot].result()[step.program]
    checks, skipped = result.checks()
    record_property("seconds", result.seconds)
    record_property("checks", checks)
    record_property("skipped", skipped)
    problems = result.problems()
    if problems:
        again = "build/venv/bin/python -m pytest tests/qemu/test_suites.py --boot " + shlex.quote(step.boot.name)
        pytest.fail("\n".join([*problems, "--- output", result.output, "--- log", shorten(result.log),
                               f"--- to repeat it alone: {step.command()}", f"--- with those before it: {again}"]), pytrace=False)
