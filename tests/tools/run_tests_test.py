"""tools/run-tests: which groups run at once, and what is told of them. The groups themselves are `make test`."""

import importlib.util
import shlex
import subprocess
import sys
from importlib.machinery import SourceFileLoader

import pytest

from hosttools.paths import ROOT

TOOL = ROOT / "tools/run-tests"


@pytest.fixture(scope="module")
def tool():
    loader = SourceFileLoader("run_tests", str(TOOL))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_tests", loader))
    sys.modules["run_tests"] = module
    loader.exec_module(module)
    return module


def groups(tool, **scripts):
    return [tool.Group(name, ("sh", "-c", script)) for name, script in scripts.items()]


def test_what_runs_beside_runs_at_once_and_is_told_as_a_whole(tool, tmp_path, capfd):
    here, there = (shlex.quote(str(tmp_path / name)) for name in ("here", "there"))
    front = groups(tool, first=f"echo one; touch {here}; until [ -e {there} ]; do sleep 0.01; done; echo two", second="echo three")
    beside = groups(tool, fails=f"until [ -e {here} ]; do sleep 0.01; done; echo said; echo wrong >&2; touch {there}; exit 3", last="echo end")
    tool.run_all(front, beside)
    assert [(group.name, group.passed) for group in front + beside] == [("first", True), ("second", True), ("fails", False), ("last", True)]
    lines = [line.split(" in ")[0] for line in capfd.readouterr().out.splitlines() if line]
    parts = [lines[i:lines.index(f"=== {name}: passed", i) + 1] for name in ("first", "second", "last") for i in [lines.index(f"=== {name}")]]
    assert parts == [["=== first", "one", "two", "=== first: passed"], ["=== second", "three", "=== second: passed"],
                     ["=== last", "end", "=== last: passed"]]
    i = lines.index("=== fails")
    assert lines[i + 1:i + 3] == ["said", "wrong"] and lines[i + 3].startswith("=== fails: FAILED; to repeat it: sh -c")


def test_seconds_of_cpu_time_are_those_of_the_group_and_its_children(tool):
    front = groups(tool, works="sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done'", rests="true")
    tool.run_all(front, [])
    assert front[0].used > front[1].used >= 0


def test_a_command_that_is_not_there_has_failed(tool, capfd):
    beside = [tool.Group("missing", ("no-such-command",))]
    tool.run_all([], beside)
    assert not beside[0].passed and "no-such-command" in capfd.readouterr().out


def test_one_group_alone_and_a_name_that_no_group_has():
    done = subprocess.run([TOOL, "--only", "nothing"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "no group is called nothing; there are: protocol models, static checks, call table" in done.stderr
