"""`kettle numa placement`: what placing memory by a trace of an earlier run gains, in modelled cycles.

Each program of userland/bench/workloads runs with NUMA_PHASE=1 under --trace, which keeps the accesses that reach memory; its pages get
nodes by each policy (hosttools.measure.placement), and it runs again with NUMA_PHASE=2 (placed from the beginning) and 3 (moved when the
timed part begins), beside runs without anything and with pages interleaved over the nodes. The cycles are those of the timed part on the
busiest CPU, which is what the time of a team of bound threads would be, user and kernel mode together.
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any, Sequence

from hosttools.bench.execute import command, tell
from hosttools.errors import UsageError
from hosttools.machine import host
from hosttools.machine.topology import make_topology
from hosttools.measure import numa_model, placement, trace
from hosttools.paths import built
from hosttools.progress import Progress
from hosttools.results.plots import Plot, draw, need_plots
from hosttools.results.runs import Run
from hosttools.results.stats import table

PROGRAMS = ("is", "cg", "mg", "ft", "lu", "bt", "sp", "bfs", "lud")
MACHINE = ("--cpus", "4", "--nodes", "4", "--kernels", "core")
NODES, CPUS = 4, 4
MODEL = "opteron-4,cache=64K:16,llc=128K:16"
ICOUNT = 6
CLASS = "S"
REGIONS = 3  # of a program in workload, in the order of its --list
RAW, PAGE, PLOT = "raw.json", "placement.md", "placement"
LIMIT = 3600  # seconds
# What the thesis reports (sections 4.1.2 and 4.1.3), as means over its programs, in percent of the time saved.
THEIRS = ("12.2 % by hop and 13.1 % by uniform with its L2 traces on 8 nodes, 10 % and 15 % with its L1 traces, 12.2 % on 4 nodes; "
          "moved at run time 9.4 % by hop; interleaved 9.9 to 11 %")

Json = dict[str, Any]


def add_options(parser: argparse.ArgumentParser, _natural: Any) -> None:
    """The options of `kettle numa placement`."""
    parser.add_argument("--out", metavar="FOLDER", help="where the results go (default build/results/placement)")
    parser.add_argument("--program", action="append", choices=PROGRAMS, metavar="NAME", help=f"several times for several (default {', '.join(PROGRAMS)})")
    parser.add_argument("--model", metavar="MATRIX[,KEY=V...]", default=MODEL, help=f"of four nodes, as for run (default {MODEL})")
    parser.add_argument("--report", action="store_true", help=f"run nothing: write table and plot again from FOLDER/{RAW}")


def main(options: argparse.Namespace) -> int:
    """Makes the runs and writes the results, after each program; returns the exit status."""
    need_plots()
    out = Path(options.out) if options.out else built("kettle.elf").parent / "results" / "placement"
    try:
        out.mkdir(parents=True, exist_ok=True)
        if options.report:
            _write(json.loads((out / RAW).read_text()), out)
            return 0
        model = numa_model.parse(options.model, make_topology(CPUS, NODES, None, None))
        data: Json = {"commit": host.commit(), "model": options.model, "programs": {}, "commands": []}
        with Progress(quiet=False) as progress:
            for name in options.program or PROGRAMS:
                data["programs"][name] = measure(data, name, options.model, model.latencies, progress)
                _write(data, out)
    except OSError as error:
        raise UsageError(f"{out}: {error.strerror}") from None
    except ValueError:
        raise UsageError(f"{out / RAW}: not what kettle numa placement wrote") from None
    print(f"wrote {out / PAGE}")
    return 0


def _write(data: Json, out: Path) -> None:
    (out / RAW).write_text(json.dumps(data, indent=1) + "\n")
    (out / PAGE).write_text(report(data))
    draw(plot(data), out)


# --- the runs ---

def measure(data: Json, name: str, model: str, latencies: Sequence[Sequence[int]], progress: Any) -> Json:
    """Modelled cycles of the program NAME in each way, and what its hints were."""
    found: Json = {"cycles": {}, "pages": {}}
    found["cycles"]["first touch"] = _cycles(_run(data, name, model))
    progress.step(f"{name}: interleaved")
    found["cycles"]["interleaved"] = _cycles(_run(data, name, model, program=("--mempolicy", "interleave")))
    with tempfile.TemporaryDirectory(prefix="kettle-placement-") as folder:
        path = Path(folder) / "trace"
        progress.step(f"{name}: traced")
        told = _run(data, name, model, ("--trace", f"{path},of=memory", "--env", "NUMA_PHASE=1"), {str(path): "TRACE"})
        counts = trace.page_counts(trace.read(path), NODES)
        blocks = [placement.Block(item["block"], item["address"], item["bytes"]) for item in _objects(told) if "block" in item]
        nodes = {policy: placement.nodes_of(counts, policy, latencies) for policy in placement.POLICIES}
        found["pages"] = {"all": len(nodes["uniform"]), "differ": sum(nodes["hop"][page] != node for page, node in nodes["uniform"].items()),
                          "filtered": sum(node == placement.STAYS for node in nodes["filter"].values())}
        for policy in placement.POLICIES:
            hints = Path(folder) / policy
            hints.write_text(placement.text(placement.hints(blocks, nodes[policy])))
            for phase, way in (("2", "placed"), ("3", "moved")):
                progress.step(f"{name}: {way} by {policy}")
                words = ("--file", f"{hints}:/hints", "--env", f"NUMA_PHASE={phase}", "--env", "NUMA_HINTS=/hints")
                found["cycles"][f"{way}, {policy}"] = _cycles(_run(data, name, model, words, {str(hints): f"HINTS-{name}-{policy}"}))
    return found


def _run(data: Json, name: str, model: str, machine: Sequence[str] = (), names: dict[str, str] | None = None,
         program: Sequence[str] = ()) -> Json:
    """What `kettle run --json` prints for the program NAME. NAMES replaces words in the commands that are kept."""
    run = Run(name, (*MACHINE, "--tcg", "single", "--icount", str(ICOUNT), "--seed", "1", "--numa-model", model, *machine),
              (str(built("userland/workload")), "--threads", str(CPUS), "--bind", "--class", CLASS, "--json", *program, name), LIMIT)
    line = command(run).replace(str(built("userland/workload")), "build/userland/workload")
    for before, after in (names or {}).items():
        line = line.replace(before, after)
    data["commands"].append(line)
    return tell(run)


def _objects(told: Json) -> list[Json]:
    return [json.loads(line) for line in told["stdout"].splitlines() if line.startswith("{")]


def _cycles(told: Json) -> Json:
    """Of the timed part: cycles of the busiest CPU and of all, and accesses to memory of other nodes and of the own one."""
    region = next(item["region"] for item in _objects(told) if "region" in item)
    sums = numa_model.sums(told["numa_model"])[str(region)]
    return {"busiest": sums["busiest"], "all": sums["user"] + sums["kernel"], "remote": sums["remote"], "local": sums["local"]}


# --- the results ---

def gain(cycles: Json, way: str, what: str = "busiest") -> float:
    """Percent of the cycles that WAY saves against first touch."""
    before = cycles["first touch"][what]
    return 100 * (before - cycles[way][what]) / before


def _ways(data: Json) -> list[str]:
    return list(dict.fromkeys(way for program in data["programs"].values() for way in program["cycles"] if way != "first touch"))


def _mean(data: Json, way: str) -> float:
    found = [gain(program["cycles"], way) for program in data["programs"].values()]
    return sum(found) / len(found)


def report(data: Json) -> str:
    """The page: gains, what the hints were, and the commands."""
    ways = _ways(data)
    rows: list[Sequence[str]] = [[name, *(f"{gain(program['cycles'], way):+.1f} %" for way in ways)] for name, program in data["programs"].items()]
    rows.append(["mean", *(f"{_mean(data, way):+.1f} %" for way in ways)])
    where: list[Sequence[str]] = []
    for name, program in data["programs"].items():
        pages, cycles = program["pages"], program["cycles"]
        where.append([name, *(f"{100 * cycles[way]['remote'] / max(cycles[way]['remote'] + cycles[way]['local'], 1):.0f} %"
                              for way in ("first touch", *ways)), str(pages["all"]),
                      f"{100 * pages['differ'] / max(pages['all'], 1):.2f} %", f"{100 * pages['filtered'] / max(pages['all'], 1):.1f} %"])
    best = max(ways, key=lambda way: _mean(data, way))
    lines = ["# Memory placed by the trace of an earlier run (modelled)", "",
             f"Programs of userland/bench/workloads, class {CLASS}, {CPUS} bound threads on {NODES} nodes, a kernel each, commit "
             f"{data['commit'][:12]}; `{data['model']}`. All cycles are modelled (tools/plugin/numa/numa_model.md). The thesis (Thakkar 2008) "
             f"saved {THEIRS}, of wall-clock time, classes B and C, on hardware.", "",
             f"- mean gain above 15 %: {'reached' if _mean(data, best) > 15 else '**not reached**'}: {_mean(data, best):+.1f} % ({best})", "",
             f"![Cycles that each way saves]({PLOT}.svg)", "", "## Saved cycles of the busiest CPU, against first touch", "",
             table(["program", *ways], rows).rstrip(), "",
             "## Lines from memory of other nodes, and pages", "",
             "Pages are those that the trace has; on how many of them `hop` and `uniform` differ (the thesis's table 4.3: 0.00 to 7.76 %), and how "
             "many `filter` leaves where they are.", "",
             table(["program", "first touch", *ways, "pages", "hop differs", "filtered"], where).rstrip(), "", "## Commands", "",
             *(f"    {line}" for line in data["commands"]), ""]
    return "\n".join(lines)


def plot(data: Json) -> Plot:
    """The thesis's figures 4.3, 4.4 and 4.7."""
    names = list(data["programs"])
    return Plot(PLOT, "Cycles that placement by a trace saves (modelled)", "", "percent", [*names, "mean"],
                {way: [*(gain(data["programs"][name]["cycles"], way) for name in names), _mean(data, way)] for way in _ways(data)})
