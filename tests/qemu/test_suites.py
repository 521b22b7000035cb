"""The programs of tests/guest on all machines and under all options: boots.py says which, suite.py how. A failure prints the
commands that repeat it.
"""

import shlex
from concurrent.futures import ThreadPoolExecutor

import pytest

from boots import BOOTS, boot_seconds
from suite import parameters, run_boot, shorten


@pytest.fixture(scope="session")
def boots(request):
    """Boots every machine of the selected tests, --boots at a time and the longest first; the results of each, by program, are a
    future."""
    programs = {}
    for item in request.session.items:
        step = item.callspec.params.get("step") if hasattr(item, "callspec") else None
        if step is not None:
            programs.setdefault(step.boot, []).append(step.program)
    with ThreadPoolExecutor(request.config.getoption("boots")) as pool:
        yield {boot: pool.submit(run_boot, boot, programs[boot]) for boot in sorted(programs, key=boot_seconds, reverse=True)}
        pool.shutdown(cancel_futures=True)


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
