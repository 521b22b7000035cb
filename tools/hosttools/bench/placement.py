"""`kettle numa placement`: what placing memory by a trace of an earlier run gains, in modelled cycles.

Each program of userland/bench/workloads runs with NUMA_PHASE=1 under --trace, which keeps the accesses that reach memory; its pages get
nodes by each policy (hosttools.measure.placement), and it runs again with NUMA_PHASE=2 (placed from the beginning) and 3 (moved when the
timed part begins), beside runs without anything, with pages interleaved over the nodes, and with all pages on the first node, which is
where a program has them whose first thread alone has initialised its memory. The cycles are those of the timed part on the busiest CPU,
which is what the time of a team of bound threads would be, user and kernel mode together.
"""

import argparse
import json
import tempfile
from dataclasses import dataclass
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
CPUS = {4: 4, 8: 16}  # by nodes: the thesis's machines
CACHES = "cache=64K:16,llc=128K:16"
ICOUNT = 6
CLASS = "S"
RAW, PAGE = "raw.json", "placement.md"
LIMIT = 3600  # seconds
PLACING_REGION = "0"  # what giving pages their nodes takes (placement.c)
FIRST_TOUCH, FIRST_NODE, INTERLEAVED = "first touch", "first node", "interleaved"
OF_SYSTEM = {INTERLEAVED: "interleave", FIRST_NODE: "bind"}  # --mempolicy of workload
# What the thesis reports (sections 4.1.2 and 4.1.3), as means over its programs, in percent of the time saved.
THEIRS = ("12.2 % by hop and 13.1 % by uniform with its L2 traces on 8 nodes, 10 % and 15 % with its L1 traces, 12.2 % on 4 nodes; "
          "moved at run time 9.4 % by hop; interleaved 9.9 to 11 %")
THEIR_MEANS = {4: {"placed, hop": 12.2}, 8: {"placed, hop": 12.2, "placed, uniform": 13.1, INTERLEAVED: 11.0}}  # figures 4.3 and 4.4, L2 traces
THEIR_MOVED = {"moved, hop": 9.4, INTERLEAVED: 9.9}  # figure 4.7, on 8 nodes
# Its tables 4.4 and 4.5: percent of the time that touching pages took; L1 traces by hop and uniform, then L2 traces.
THEIR_TOUCH = {"is": (0.11, 0.12, 1.12, 1.14), "sp": (0.08, 0.08, 0.08, 0.07), "ft": (2.25, 2.19, 2.26, 2.29), "mg": (9.99, 8.45, 9.99, 8.45),
               "cg": (0.03, 0.12, 0.03, 0.12), "bt": (0.56, 0.60, 0.54, 0.57), "lu": (0.11, 0.12, 0.09, 0.09)}
# Its table 4.3: percent of the pages for which hop and uniform differ, by L1 and L2 traces.
THEIR_DIFFER = {"bt": (3.22, 0.70), "cg": (0.26, 0.00), "ft": (0.31, 3.64), "is": (1.57, 2.37), "lu": (1.83, 7.76), "mg": (0.10, 0.17),
                "sp": (1.12, 0.88)}

Json = dict[str, Any]


def add_options(parser: argparse.ArgumentParser, _natural: Any) -> None:
    """The options of `kettle numa placement`."""
    parser.add_argument("--out", metavar="FOLDER", help="where the results go (default build/results/placement)")
    parser.add_argument("--program", action="append", choices=PROGRAMS, metavar="NAME", help=f"several times for several (default {', '.join(PROGRAMS)})")
    parser.add_argument("--nodes", type=int, choices=sorted(CPUS), default=4, help="4, with a CPU each, or 8, with two (default 4)")
    parser.add_argument("--model", metavar="MATRIX[,KEY=V...]", help=f"as for run (default opteron-NODES,{CACHES})")
    parser.add_argument("--resume", action="store_true", help=f"keep the programs that FOLDER/{RAW} has")
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
        shape = Shape(options.nodes, options.model or f"opteron-{options.nodes},{CACHES}")
        data: Json = {"commit": host.commit(), "nodes": shape.nodes, "model": shape.model, "programs": {}}
        if options.resume:
            data = _resumed(json.loads((out / RAW).read_text()), data)
        with Progress(quiet=False) as progress:
            for name in options.program or PROGRAMS:
                if name not in data["programs"]:
                    data["programs"][name] = measure(name, shape, progress)
                    _write(data, out)
    except OSError as error:
        raise UsageError(f"{out}: {error.strerror}") from None
    except ValueError:
        raise UsageError(f"{out / RAW}: not what kettle numa placement wrote") from None
    print(f"wrote {out / PAGE}")
    return 0


def _resumed(before: Json, data: Json) -> Json:
    """BEFORE, if it is of the same machine and model as DATA; its programs keep the commit that they were measured with."""
    if (before["nodes"], before["model"]) != (data["nodes"], data["model"]):
        raise UsageError(f"--resume: the earlier results are of {before['nodes']} nodes with {before['model']}")
    return before


def _write(data: Json, out: Path) -> None:
    (out / RAW).write_text(json.dumps(data, indent=1) + "\n")
    (out / PAGE).write_text(report(data))
    for each in plots(data):
        draw(each, out)


# --- the runs ---

@dataclass(frozen=True)
class Shape:
    """The machine of all runs."""

    nodes: int
    model: str

    @property
    def options(self) -> tuple[str, ...]:
        """Of `kettle run`."""
        return ("--cpus", str(CPUS[self.nodes]), "--nodes", str(self.nodes), "--kernels", "core", "--tcg", "single", "--icount", str(ICOUNT),
                "--seed", "1", "--numa-model", self.model)

    @property
    def latencies(self) -> Sequence[Sequence[int]]:
        """Of the row's node to the column's memory."""
        return numa_model.parse(self.model, make_topology(CPUS[self.nodes], self.nodes, None, None)).latencies


def measure(name: str, shape: Shape, progress: Any) -> Json:
    """Modelled cycles of the program NAME in each way, what its hints were, and the commands."""
    found: Json = {"commit": host.commit(), "cycles": {}, "pages": {}, "commands": []}
    found["cycles"][FIRST_TOUCH] = _cycles(_run(found, name, shape))
    for way, policy in OF_SYSTEM.items():
        progress.step(f"{name}: {way}")
        found["cycles"][way] = _cycles(_run(found, name, shape, program=("--mempolicy", policy)))
    with tempfile.TemporaryDirectory(prefix="kettle-placement-") as folder:
        path = Path(folder) / "trace"
        progress.step(f"{name}: traced")
        told = _run(found, name, shape, ("--trace", f"{path},of=memory", "--env", "NUMA_PHASE=1"), {str(path): "TRACE"})
        read = trace.read(path)
        path.unlink()
        counts = trace.page_counts(read, shape.nodes)
        blocks = [placement.Block(item["block"], item["address"], item["bytes"]) for item in _objects(told) if "block" in item]
        nodes = {policy: placement.nodes_of(counts, policy, shape.latencies) for policy in placement.POLICIES}
        found["pages"] = {"all": len(nodes["uniform"]), "differ": sum(nodes["hop"][page] != node for page, node in nodes["uniform"].items()),
                          "filtered": sum(node == placement.STAYS for node in nodes["filter"].values())}
        found["bound"] = {"placed": placement.cost(counts, trace.page_nodes(read), shape.latencies)}
        for policy in placement.POLICIES:
            hints = Path(folder) / policy
            matched = placement.hints(blocks, nodes[policy])
            first = trace.page_nodes(read)
            found["bound"][policy] = {"every page": placement.cost(counts, {**first, **placement.moving(nodes[policy])}, shape.latencies),
                                      "matched": placement.cost(counts, {**first, **placement.placed(blocks, matched)}, shape.latencies)}
            hints.write_text(placement.text(matched))
            for phase, way in (("2", "placed"), ("3", "moved")):
                progress.step(f"{name}: {way} by {policy}")
                words = ("--file", f"{hints}:/hints", "--env", f"NUMA_PHASE={phase}", "--env", "NUMA_HINTS=/hints")
                found["cycles"][f"{way}, {policy}"] = _cycles(_run(found, name, shape, words, {str(hints): f"HINTS-{name}-{policy}"}))
    return found


def _run(found: Json, name: str, shape: Shape, machine: Sequence[str] = (), names: dict[str, str] | None = None,
         program: Sequence[str] = ()) -> Json:
    """What `kettle run --json` prints for the program NAME. NAMES replaces words in the commands that are kept."""
    run = Run(name, (*shape.options, *machine), (str(built("userland/workload")), "--threads", str(CPUS[shape.nodes]), "--bind", "--class",
                                                 CLASS, "--json", *program, name), LIMIT)
    line = command(run).replace(str(built("userland/workload")), "build/userland/workload")
    for before, after in (names or {}).items():
        line = line.replace(before, after)
    found["commands"].append(line)
    return tell(run)


def _objects(told: Json) -> list[Json]:
    return [json.loads(line) for line in told["stdout"].splitlines() if line.startswith("{")]


def _cycles(told: Json) -> Json:
    """Of the timed part: cycles of the busiest CPU and of all, accesses to memory of other nodes and of the own one; and the cycles that
    giving pages their nodes took before it."""
    region = next(item["region"] for item in _objects(told) if "region" in item)
    every = numa_model.sums(told["numa_model"])
    sums = every[str(region)]
    return {"busiest": sums["busiest"], "all": sums["user"] + sums["kernel"], "remote": sums["remote"], "local": sums["local"],
            "placing": every.get(PLACING_REGION, {}).get("busiest", 0)}


# --- the results ---

def gain(cycles: Json, way: str, what: str = "busiest", than: str = FIRST_TOUCH) -> float:
    """Percent of the cycles of the way THAN that WAY saves."""
    return 100 * (cycles[than][what] - cycles[way][what]) / cycles[than][what]


def _ways(data: Json) -> list[str]:
    return list(dict.fromkeys(way for program in data["programs"].values() for way in program["cycles"] if way != FIRST_TOUCH))


def _mean(data: Json, way: str, than: str = FIRST_TOUCH) -> float:
    found = [gain(program["cycles"], way, than=than) for program in data["programs"].values()]
    return sum(found) / len(found)


def _gains(data: Json, than: str) -> str:
    """A row of savings against the way THAN for each program, and their means."""
    ways = [way for way in ([*_ways(data)] if than == FIRST_TOUCH else [FIRST_TOUCH, *_ways(data)]) if way != than]
    rows: list[Sequence[str]] = [[name, *(f"{gain(program['cycles'], way, than=than):+.1f} %" for way in ways)]
                                 for name, program in data["programs"].items()]
    rows.append(["mean", *(f"{_mean(data, way, than):+.1f} %" for way in ways)])
    return table(["program", *ways], rows).rstrip()


def _bounds(data: Json) -> str:
    """What placing could save of the latencies of the traced accesses, with all pages and with those that blocks have."""
    rows: list[Sequence[str]] = []
    for name, program in data["programs"].items():
        bound = program["bound"]
        rows.append([name, *(f"{100 * (1 - bound[policy][what] / bound['placed']):+.1f} %" for policy in placement.POLICIES
                             for what in ("every page", "matched"))])
    return table(["program", *(f"{policy}, {what}" for policy in placement.POLICIES for what in ("every page", "matched"))], rows).rstrip()


def _overheads(data: Json) -> str:
    """The thesis's tables 4.4 and 4.5."""
    rows: list[Sequence[str]] = []
    for name, program in data["programs"].items():
        cycles, theirs = program["cycles"], THEIR_TOUCH.get(name)
        rows.append([name, *(f"{100 * cycles[f'placed, {policy}']['placing'] / cycles[FIRST_TOUCH]['busiest']:.2f} %" for policy in ("hop", "uniform")),
                     *(f"{value:.2f} %" for value in theirs or ())] + ([] if theirs else ["-"] * 4))
    return table(["program", "hop", "uniform", "there: hop, L1", "uniform, L1", "hop, L2", "uniform, L2"], rows).rstrip()


def _pages(data: Json) -> str:
    """Lines by where they came from; the thesis's table 4.3."""
    ways = _ways(data)
    rows: list[Sequence[str]] = []
    for name, program in data["programs"].items():
        pages, cycles, theirs = program["pages"], program["cycles"], THEIR_DIFFER.get(name)
        rows.append([name, *(f"{100 * cycles[way]['remote'] / max(cycles[way]['remote'] + cycles[way]['local'], 1):.0f} %"
                             for way in (FIRST_TOUCH, *ways)), str(pages["all"]), f"{100 * pages['differ'] / max(pages['all'], 1):.2f} %",
                     " and ".join(f"{value:.2f} %" for value in theirs) if theirs else "-",
                     f"{100 * pages['filtered'] / max(pages['all'], 1):.1f} %"])
    return table(["program", FIRST_TOUCH, *ways, "pages", "hop differs", "there, L1 and L2", "filtered"], rows).rstrip()


def report(data: Json) -> str:
    """The page: gains, what the hints were, and the commands."""
    best = max(_ways(data), key=lambda way: _mean(data, way))
    commits = ", ".join(dict.fromkeys(program["commit"][:12] for program in data["programs"].values()))
    parts = ["# Memory placed by the trace of an earlier run (modelled)",
             f"Programs of userland/bench/workloads, class {CLASS}, {CPUS[data['nodes']]} bound threads on {data['nodes']} nodes, a kernel for "
             f"each core, commit {commits}; `{data['model']}`. All cycles are modelled (tools/plugin/numa/numa_model.md). The thesis (Thakkar "
             f"2008) saved {THEIRS}, of wall-clock time, classes B and C, on hardware.",
             f"- mean gain above 15 %: {'reached' if _mean(data, best) > 15 else '**not reached**'}: {_mean(data, best):+.1f} % ({best})",
             *(f"![{each.title}]({each.name}.svg)" for each in plots(data)),
             "## Saved cycles of the busiest CPU, against first touch", _gains(data, FIRST_TOUCH),
             "## Saved cycles of the busiest CPU, against all pages on the first node",
             "As they are if the first thread alone initialises the memory.", _gains(data, FIRST_NODE),
             "## What placing could save of the latencies",
             "Of the accesses that reach memory in the traced run: `every page` with each page that the trace has on the node that the policy "
             "wants, `matched` with those of blocks alone, as the next run finds them again by their blocks.", _bounds(data),
             "## What giving pages their nodes takes, before the timed part",
             "In percent of the timed part by first touch: mbind of untouched pages here, touching each page there (tables 4.4 and 4.5).",
             _overheads(data), "## Lines from memory of other nodes, and pages",
             "Pages are those that the trace has; on how many of them `hop` and `uniform` differ (the thesis's table 4.3), and how many `filter` "
             "leaves where they are.", _pages(data), "## Commands",
             "\n".join(f"    {line}" for program in data["programs"].values() for line in program["commands"])]
    return "\n\n".join(parts) + "\n"


def plots(data: Json) -> list[Plot]:
    """The thesis's figures 4.3 or 4.4, and 4.7."""
    names = list(data["programs"])
    found = []
    for name, title, prefix, theirs in (
            ("placement", "placing pages by a trace saves (the thesis's figures 4.3 and 4.4)", "placed", THEIR_MEANS[data["nodes"]]),
            ("moving", "moving pages by a trace saves (the thesis's figure 4.7)", "moved", THEIR_MOVED)):
        lines: dict[str, Sequence[float | None]] = {
            way: [*(gain(data["programs"][each]["cycles"], way) for each in names), _mean(data, way)]
            for way in _ways(data) if way == INTERLEAVED or way.startswith(prefix)}
        lines.update({f"{way} (measured there)": [*([None] * len(names)), value] for way, value in theirs.items()})
        found.append(Plot(name, f"Cycles that {title} (modelled)", "", "percent", [*names, "mean"], lines))
    return found
