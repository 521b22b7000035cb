"""`kettle sweep FILE`: what a file stands for, and what is refused."""

import argparse

import pytest

from hosttools import cli
from hosttools.bench import matrix, sweep
from hosttools.errors import UsageError

GOOD = """
benchmark = "workloads"
repeat = 2
cases = ["is", "cg"]
append = ["leases=off", "place=local"]
only = ["work-*"]
nodes = 1

[sweep]
kernels = [1, 2]
lock = ["home", "lamport"]
"""


def options(path, **more):
    return argparse.Namespace(**{"file": str(path), "out": None, "scheduler": None, "resume": False, "report": False, "quick": False, **more})


def test_a_file_is_what_its_options_are(tmp_path):
    path = tmp_path / "matrix.toml"
    path.write_text(GOOD)
    words = matrix.words(options(path, out="x", resume=True))
    assert words == ["bench", "workloads", "--sweep", "kernels=1,2", "--sweep", "lock=home,lamport", "--repeat", "2", "--cases", "is,cg",
                     "--append", "leases=off", "--append", "place=local", "--only", "work-*", "--nodes", "1", "--out", "x", "--resume"]
    names = [run.name for run in sweep.plan(cli.parse(words))]
    assert len(names) == 2 * 2 * 2 * 3 and "work-kernels=2+lock=lamport-2-kettle" in names


@pytest.mark.parametrize("text, words", [
    ("benchmark = 'vm'", r"\[sweep\] is missing"), ("benchmark = 'vm'\nsweep = 3", r"\[sweep\] is missing"), ("x =", "Invalid value"),
    ("[sweep]\nkernels = [1]", "benchmark is a text"), ("benchmark = 'vm'\n[sweep]\nkernels = 1", "kernels is a list"),
    ("benchmark = 'vm'\n[sweep]\nkernels = [true]", "kernels is a list"), ("benchmark = 'vm'\nrepeat = '3'\n[sweep]\nkernels = [1]", "repeat is a whole number"),
    ("benchmark = 'vm'\nrounds = 3\n[sweep]\nkernels = [1]", "rounds: expected benchmark")])
def test_what_cannot_be_is_refused(tmp_path, text, words):
    path = tmp_path / "matrix.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=words):
        matrix.words(options(path))


def test_a_file_that_is_not_there_is_named(tmp_path, capsys):
    assert cli.main(["sweep", str(tmp_path / "none.toml")]) == 2
    assert "none.toml: No such file or directory" in capsys.readouterr().err
