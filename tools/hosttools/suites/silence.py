"""The benchmark `silence`: for how long a kernel answers nobody while a program does something large.

userland/bench/msg/silencebench.c does one such thing in each case and reads /proc/kettle/silence. Each case has a machine of its own,
with --icount 0: a nanosecond of the guest is an instruction, of whichever CPU. So there is one CPU, but two in the cases in
which one kernel works for another, which waits meanwhile, on two nodes if threads or memory are to come to the other one.
"""

import argparse
import re
import subprocess
from typing import Any

from hosttools.paths import built
from hosttools.results.plots import Plot
from hosttools.results.runs import Report, Run
from hosttools.results.stats import figure, spread, table

SUMMARY = "the longest time for which a kernel does not answer, under each large operation of programs"
TITLE = "Silence"

EXACT = ("--icount", "0", "--seed", "1")
LIMIT = 100_000
NODES = ("draw_far", "group_far")  # on two of them
TURNS = ("threads_exit_far",)  # where a turn of the other CPU may come in the midst of what a kernel does, and would count
RUN_LIMIT = 300  # seconds
QUICK = ("writev", "exit", "munmap", "munmap_far", "fork", "processes")

Json = dict[str, Any]


def plan(options: argparse.Namespace) -> list[Run]:
    """A run for each case."""
    program = built("userland/silencebench")
    names = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout.split()
    return [Run(name, ("--cpus", "2" if name.endswith("_far") else "1", *(("--nodes", "2") if name in NODES else ()),
                       *(("--turn", "100") if name in TURNS else ()), *EXACT),
                ("silencebench", "--cases", name), RUN_LIMIT)
            for name in names if not options.quick or name in QUICK]


def report(data: Json) -> Report:
    """One table: what was done, the longest silence, and where it ended; and a plot."""
    cases = [case for run in data["runs"] for case in run["output"]]
    longest = max((case["silence"] for case in cases), default=0)
    rows = [(case["what"], figure(case["silence"]), place(case["where"])) for case in cases]
    verdict = "no more than" if longest <= LIMIT else "more than"
    return Report(f"The longest silence is {figure(longest)} instructions, {verdict} {figure(LIMIT)}.\n",
                  ["## Longest silence, in instructions\n\n" + table(("operation", "instructions", "ended in"), rows)],
                  [Plot("silence", "The longest silence of a kernel under each operation", "operation", "instructions",
                        [case["case"].replace("_", "\n") for case in cases], bars=[spread([case["silence"]]) for case in cases])])


def place(where: str) -> str:
    """The kernel and the function of a line of /proc/kettle/silence."""
    found = re.match(r"kernel (\d+) (cpu \d+|handler) silence \d+ counts \d+ ns (?:until|in) (.+?)(?:\+0x|$)", where)
    if found is None:
        return where
    return f"kernel {found[1]}, {'handler of ' if found[2] == 'handler' else ''}{found[3]}"

