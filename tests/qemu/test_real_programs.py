"""Real programs from Debian's sources do on Kettle what they do on Linux (tools/kettle programs).

A short run makes the short checks of one program, with one way of dividing the machine, each in turn; a long run all.
Where no sources can be had, or this machine cannot build them, it is skipped, with the reason.
"""

import subprocess

import pytest

from conftest import KETTLE, long_run

SHORT = "bzip2"


def programs(*arguments):
    return subprocess.run([str(KETTLE), "programs", *arguments], capture_output=True, text=True, check=False)


def test_real_programs_pass_on_kettle_what_they_pass_on_linux():
    chosen = [] if long_run() else ["--short", "--only", SHORT]
    fetched = programs("--fetch", *chosen)
    if fetched.returncode != 0:
        pytest.skip(fetched.stderr.strip() or "no sources")
    done = programs("--verbose", *chosen, *([] if long_run() else ["--kernels", "core"]))
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert not long_run() or "passes now" not in done.stdout, done.stdout
