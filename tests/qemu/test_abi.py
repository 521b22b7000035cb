"""The programs of tests/abi give on Kettle what they give on Linux.

A short run takes one C library, one way of dividing the machine, and what tests/abi/linux.json says that Linux gave; a
long run takes all, beside Linux on the same machine, twice. What is known to differ still is in tests/abi/known.txt
(tools/kettle abi --learn writes it).
"""

import subprocess

from conftest import KETTLE, ROOT, long_run

KNOWN = ROOT / "tests" / "abi" / "known.txt"
RECORDED = ROOT / "tests" / "abi" / "linux.json"


def test_programs_give_what_linux_gives():
    command = [str(KETTLE), "abi", "--known", str(KNOWN), "--verbose"]
    if long_run():
        command.append("--steady")
    else:
        command += ["--libc", "musl", "--kernels", "core", "--recorded", str(RECORDED)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    # A list that has grown old hides what breaks again.
    assert not long_run() or "no longer differs" not in done.stdout, done.stdout
