"""tests/mutants/run: the table fits the sources as they are, and what counts as caught. The mutants themselves run in
`make test-long`."""

import importlib.machinery
import importlib.util
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

RUN = Path(__file__).resolve().parents[2] / "mutants" / "run"


@pytest.fixture(scope="module")
def mutants():
    """The runner as a module: its file name has no suffix."""
    loader = importlib.machinery.SourceFileLoader("mutants_run", str(RUN))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutants_run", loader))
    sys.modules["mutants_run"] = module  # dataclasses look their module up
    loader.exec_module(module)
    return module


def test_every_mutant_fits_the_sources(mutants):
    assert len(mutants.read_table()) >= 20


def test_text_that_is_not_there_exactly_once_is_named(mutants):
    mutant = mutants.read_table()[0]
    with pytest.raises(mutants.Wrong, match=f"{mutant.name}: the old text is 0 times in {mutant.file}"):
        mutants.mutated(replace(mutant, old="no such text"))
    with pytest.raises(mutants.Wrong, match="times in"):
        mutants.mutated(replace(mutant, old="\n"))
    with pytest.raises(mutants.Wrong, match="no kernel source"):
        mutants.mutated(replace(mutant, file="tools/run-tests"))


def shell(script: str) -> str:
    return f"sh -c '{script}'"


def test_a_test_passes_with_status_0_only(mutants, tmp_path):
    assert mutants.run_test(tmp_path, "true").passed
    verdict = mutants.run_test(tmp_path, shell("echo ok 1 - this; exit 1"))
    assert not verdict.passed and verdict.how == "ends with status 1"


def test_a_failed_check_ends_the_test_at_once(mutants, tmp_path):
    verdict = mutants.run_test(tmp_path, shell("echo \"not ok 2 - pages are zero\"; exec sleep 50"))
    assert not verdict.passed and verdict.how == "not ok: pages are zero" and verdict.seconds < 40


def test_the_place_of_a_failed_check_is_sign_enough(mutants, tmp_path):
    verdict = mutants.run_test(tmp_path, shell("echo \"# seed 7\"; echo \"# a/b.c:12: on kernel 0: x == 1\"; exec sleep 50"))
    assert not verdict.passed and verdict.how == "not ok: a/b.c:12: on kernel 0: x == 1" and verdict.seconds < 40


def test_a_hang_and_a_panic_are_failures(mutants, tmp_path, monkeypatch):
    monkeypatch.setattr(mutants, "HOST_SECONDS", 0.2)
    assert mutants.run_test(tmp_path, "sleep 50").how == "does not end in its time"
    verdict = mutants.run_test(tmp_path, shell("echo \"kettle: panic on kernel 1 cpu 1: mm: frame 1000 freed twice\"; exit 125"))
    assert not verdict.passed and verdict.how == "panic on kernel 1 cpu 1: mm: frame 1000 freed twice"


def test_a_test_that_does_not_run_catches_nothing(mutants, tmp_path):
    with pytest.raises(mutants.Wrong, match="does not run"):
        mutants.run_test(tmp_path, shell("echo qemu is not installed; exit 125"))
    with pytest.raises(mutants.Wrong, match="does not run"):
        mutants.run_test(tmp_path, shell("exit 127"))


def test_unknown_names_are_refused():
    done = subprocess.run([RUN, "no-such-mutant"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "there is no mutant no-such-mutant" in done.stderr
