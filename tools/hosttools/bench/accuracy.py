"""`kettle numa accuracy`: how well accessed bits and faults show who uses memory, against the exact trace of the same run, and what
they cost.

A program runs in userland/bench/numa/seenrun.c, for each way and each shortest period twice: once under --trace, with the kernels'
notes of what they have seen (hosttools.measure.accuracy compares the two), and once counted, without notes, for its instructions
beyond those of a run in which nobody looks.
"""

import argparse
import json
import shlex
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any, Sequence

from hosttools.bench.execute import command, tell
from hosttools.errors import UsageError
from hosttools.image import elf
from hosttools.machine import host
from hosttools.measure import accuracy, trace
from hosttools.paths import built
from hosttools.progress import Progress
from hosttools.results.plots import Plot, draw, need_plots
from hosttools.results.runs import Run
from hosttools.results.stats import table

WAYS = {"accessed": "accessed bits", "faults": "faults"}
NONE = "none"
PROGRAM = ("seenbench",)
PERIODS = (10, 20, 50)  # ms, of numaperiod=
ICOUNT = 6  # an instruction takes 64 ns, so that these periods are some hundred thousand instructions
REGION = 254  # of seenrun
NOTES = 65536  # tracesize=
LIMIT = 3600  # seconds
RAW, PAGE, PLOT = "raw.json", "accuracy.md", "accuracy"

Json = dict[str, Any]


def add_options(command_parser: argparse.ArgumentParser, natural: Any) -> None:
    """The options of `kettle numa accuracy`; NATURAL reads a whole number."""
    command_parser.add_argument("--out", metavar="FOLDER", help="where the results go (default build/results/accuracy)")
    command_parser.add_argument("--period", type=natural, action="append", metavar="MS",
                                help=f"a shortest period between looks; several times for several (default {', '.join(map(str, PERIODS))})")
    command_parser.add_argument("--cpus", type=natural, default=4, metavar="N", help="CPUs (default 4)")
    command_parser.add_argument("--nodes", type=natural, default=2, metavar="M", help="NUMA nodes (default 2)")
    command_parser.add_argument("--kernels", default="core", metavar="core|node|N|LIST", help="as for run (default core)")
    command_parser.add_argument("--report", action="store_true", help=f"run nothing: write table and plot again from FOLDER/{RAW}")
    command_parser.add_argument("--program", metavar="WORDS", default=shlex.join(PROGRAM),
                                help=f"a program of the image and its arguments, quoted as for a shell (default {shlex.join(PROGRAM)})")


def main(options: argparse.Namespace) -> int:
    """Makes the runs and writes the results; returns the exit status."""
    need_plots()
    out = Path(options.out) if options.out else built("kettle.elf").parent / "results" / "accuracy"
    try:
        out.mkdir(parents=True, exist_ok=True)
        if options.report:
            data = json.loads((out / RAW).read_text())
        else:
            data = measure(options)
            (out / RAW).write_text(json.dumps(data, indent=1) + "\n")
    except OSError as error:
        raise UsageError(f"{out}: {error.strerror}") from None
    except ValueError:
        raise UsageError(f"{out / RAW}: not what kettle numa accuracy wrote") from None
    (out / PAGE).write_text(report(data))
    draw(plot(data), out)
    print(f"wrote {out / PAGE}")
    return 0


# --- the runs ---

def measure(options: argparse.Namespace) -> Json:
    """Makes all runs."""
    for name in ("userland/seenrun", "userland/seenbench"):
        built(name)
    machine = ("--cpus", str(options.cpus), "--nodes", str(options.nodes), "--kernels", options.kernels, "--tcg", "single",
               "--icount", str(ICOUNT), "--seed", "1")
    program = tuple(shlex.split(options.program))
    if not program:
        raise UsageError("--program: there is no program")
    periods = options.period or list(PERIODS)
    data: Json = {"commit": host.commit(), "program": list(program), "machine": list(machine), "rows": [], "commands": []}
    with Progress(quiet=False) as progress:
        for period in periods:
            progress.step(f"{period} ms: nobody looks")
            base = _counted(data, machine, NONE, period, program)
            for way in WAYS:
                progress.step(f"{period} ms: {WAYS[way]}, exact trace")
                row = _traced(data, machine, way, period, program)
                progress.step(f"{period} ms: {WAYS[way]}, counted")
                row["instructions"], row["base"] = _counted(data, machine, way, period, program), base
                data["rows"].append(row)
    return data


def _run(data: Json, run: Run) -> Json:
    """What `kettle run --json` prints for RUN."""
    data["commands"].append(command(run))
    return tell(run)


def _counted(data: Json, machine: Sequence[str], way: str, period: int, program: Sequence[str]) -> int:
    told = _run(data, Run(f"{way}-{period}", (*machine, "--count"), ("seenrun", way, str(period), *program), LIMIT))
    region = next(item for item in told["counts"] if item["region"] == REGION)
    return sum(cpu["user"] + cpu["kernel"] for cpu in region["cpus"])


def _traced(data: Json, machine: Sequence[str], way: str, period: int, program: Sequence[str]) -> Json:
    with tempfile.TemporaryDirectory(prefix="kettle-accuracy-") as folder:
        path = Path(folder) / "trace"
        traced = (*machine, "--append", f"tracesize={NOTES}", "--numa-model", "slit", "--trace", str(path))
        told = _run(data, Run(f"{way}-{period}-trace", traced, ("seenrun", "--notes", way, str(period), *program), LIMIT))
        data["commands"][-1] = data["commands"][-1].replace(str(path), "TRACE")
        return {"way": way, "period": period, **judge(told, trace.read(path).records, way)}


def judge(told: Json, records: Any, way: str) -> Json:
    """The scores of a run of WAY that printed TOLD, by the size of a block; and how many looks and whole periods there were."""
    process = next((int(line.split()[1]) for line in told["stdout"].splitlines() if line.startswith("@process ")), None)
    if process is None:
        raise UsageError("the run does not say which process it was")
    kernels = [item["kernel"] for item in sorted(told["plan"]["cpus"], key=lambda item: item["cpu"])]
    function = next((item for item in elf.functions(built("kettle.elf")) if item.name == accuracy.LOOK_FUNCTION), None)
    if function is None:
        raise UsageError(f"the kernel has no function {accuracy.LOOK_FUNCTION}")
    notes = accuracy.parse(told["stdout"])
    true = accuracy.truth(records, accuracy.look_calls(records, (function.start, function.end), kernels), notes, process, kernels)
    found = accuracy.claims(notes, process, true, way == "faults")
    scores = {name: asdict(accuracy.score(true, found, size)) for name, size in accuracy.SIZES.items()}
    return {"periods": len(true.accesses), "scores": scores}


# --- the results ---

def _percent(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else f"{100 * value:.{digits}f} %"


def report(data: Json) -> str:
    """The page: a table of scores, one of costs, and the commands."""
    scores: list[Sequence[str]] = []
    costs: list[Sequence[str]] = []
    for row in data["rows"]:
        for size, score in row["scores"].items():
            scores.append([WAYS[row["way"]], str(row["period"]), size, *(_percent(score[name]) for name in
                          ("precision", "recall", "weighted", "placed", "best")), str(score["seen"])])
        more = row["instructions"] - row["base"]
        costs.append([WAYS[row["way"]], str(row["period"]), str(row["periods"]), f"{row['base']:,}", f"{more:+,}",
                      _percent(more / row["base"], 2), str(row["scores"]["4 KiB"]["seen"] if row["way"] == "faults" else 0)])
    program = shlex.join(data["program"])
    lines = ["# What kernels see of accesses, against the exact trace", "",
             f"`{program}` on commit {data['commit'][:12]}, machine `{' '.join(data['machine'])}`. "
             "hosttools/measure/accuracy.py says what the columns mean: of the pages that a kernel said were used in a period those that were, of those that were used those that it "
             "said, the same of the accesses; then the accesses that are local if each block is on the node that was seen there most, and "
             "on the best node; and the blocks that were seen, which with faults are faults.", "",
             f"![Precision and recall by the size of a block]({PLOT}.svg)", "", "## Accuracy", "",
             table(["way", "period, ms", "block", "precision", "recall", "of accesses", "local as seen", "at best", "blocks seen"],
                   scores).rstrip(), "",
             "## Cost", "", "Instructions of all CPUs, programs and kernels, without looking for work, beyond those of a run in which "
             "nobody looks.", "",
             table(["way", "period, ms", "whole periods", "instructions without", "more", "share", "faults in whole periods"],
                   costs).rstrip(), "", "## Commands", "",
             "    tools/kettle numa accuracy" + ("" if tuple(data["program"]) == PROGRAM else f" --program {shlex.quote(program)}"), "",
             *(f"    {line}" for line in data["commands"]), ""]
    return "\n".join(lines)


def plot(data: Json) -> Plot:
    """Precision and recall by the size of a block, with the middle one of the periods."""
    periods = sorted({row["period"] for row in data["rows"]})
    middle = periods[len(periods) // 2]
    lines = {f"{WAYS[row['way']]}: {name}": [None if score[name] is None else 100 * score[name] for score in row["scores"].values()]
             for row in data["rows"] if row["period"] == middle for name in ("precision", "recall")}
    return Plot(PLOT, f"What kernels see of accesses, looks {middle} ms apart at least", "block", "percent", list(accuracy.SIZES), lines)
