"""`tools/kettle debug` on the real kernel: gdb stops in the kernel that was asked for, with its symbols."""

import re
import subprocess

import pytest

from host_command import KETTLE, processes_with, wait_until

COMMANDS = b"""\
kernels
bt 1
kernel 0
kernel 9
kbreak 0 no_such_function
kbreak 0
quit
"""


@pytest.mark.parametrize("options, kernel, thread", [("--cpus 3", 2, 3), ("--cpus 4 --nodes 2 --kernels node", 1, 3)])
def test_gdb_stops_where_the_chosen_kernel_starts(options, kernel, thread):
    word = f"debugged-{kernel}-{thread}"
    command = [str(KETTLE), "debug", *options.split(), "--kernel", str(kernel), "--append-raw", word, "--", "hello"]
    done = subprocess.run(command, input=COMMANDS, capture_output=True, timeout=120, check=False)
    text = done.stdout.decode() + done.stderr.decode()
    assert done.returncode == 0, text
    assert re.search(rf"Thread {thread} hit Temporary breakpoint 1, kernel_main .*?\sat kernel/main\.c:\d+", text,
                     re.S), text
    assert re.search(rf"^\* kernel {kernel} cpu {thread - 1}  0xffffffff\w+ kernel_main$", text, re.M), text
    assert "   kernel 0 cpu 0  0xffffffff" in text, text
    assert "kernels are 0 to" in text and "usage: kbreak K LOCATION" in text and "no_such_function" in text
    assert wait_until(lambda: not processes_with(word)), "QEMU outlives gdb"


def test_a_debugged_program_runs_to_its_end():
    command = [str(KETTLE), "debug", "--cpus", "2", "--", "hello"]
    done = subprocess.run(command, input=b"continue\nquit\n", capture_output=True, timeout=120, check=False)
    assert done.returncode == 0 and b"hello, world\n" in done.stdout, done
