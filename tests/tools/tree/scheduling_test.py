"""tests/conftest.py: tests that share what takes long to make are run by one process, others by all."""

import re
import shutil
import subprocess
import sys

from hosttools.paths import ROOT

TESTS = """
import time
import pytest

@pytest.mark.parametrize("number", range(6))
def test_it(number):
    time.sleep(0.1)
"""


def test_who_runs_which_test(tmp_path):
    shutil.copy(ROOT / "tests/conftest.py", tmp_path)
    for name in ("test_toolbox.py", "test_numa.py", "test_others.py"):
        (tmp_path / name).write_text(TESTS)
    done = subprocess.run([sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-n", "3", str(tmp_path)], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    ran = re.findall(r"^\[(gw\d)\] .* PASSED \S*(test_\w+)\.py::", done.stdout, re.M)
    assert len(ran) == 18, done.stdout
    workers = {name: {worker for worker, other in ran if other == name} for name in ("test_toolbox", "test_numa", "test_others")}
    assert len(workers["test_toolbox"]) == len(workers["test_numa"]) == 1, workers
    assert len({worker for worker, _ in ran}) == 3, workers
