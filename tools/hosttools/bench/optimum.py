"""`kettle numa optimum`: what the accesses of an exact trace cost as memory was placed, and what they would cost at best."""

import argparse
from typing import Any

from hosttools.errors import UsageError
from hosttools.machine.topology import make_topology
from hosttools.measure import optimum, trace
from hosttools.results.stats import table

WINDOWS = 20


def add_options(command: argparse.ArgumentParser, natural: Any) -> None:
    """The options of `kettle numa optimum`; NATURAL reads a whole number."""
    command.add_argument("trace", metavar="FILE", help="what `kettle run --trace` wrote, best with of=memory")
    command.add_argument("--nodes", type=natural, default=2, metavar="M", help="NUMA nodes of that machine (default 2)")
    command.add_argument("--dist", metavar="MATRIX", help="their distances, as for run")
    command.add_argument("--windows", type=natural, default=WINDOWS, metavar="N",
                         help=f"into how many parts the trace is cut, between which blocks may move (default {WINDOWS})")


def main(options: argparse.Namespace) -> int:
    """Prints a table; returns the exit status."""
    topology = make_topology(max(options.nodes, 1), options.nodes, None, options.dist)
    found = trace.read(options.trace)
    if not 1 <= options.windows <= 1_000_000:
        raise UsageError(f"--windows must be 1 to 1000000, not {options.windows}")
    if len(found.records) and max(int(found.records[name].max()) for name in ("cpu_node", "memory_node")) >= options.nodes:
        raise UsageError(f"--nodes {options.nodes}: the trace has more nodes")
    rows = []
    for name, size in optimum.SIZES.items():
        costs = optimum.costs(found.records, topology.slit(), size, options.windows)
        if costs.accesses == 0:
            raise UsageError(f"{options.trace}: no accesses of programs")
        means = (value / costs.accesses for value in (costs.placed, costs.fixed, costs.moving, costs.local))
        rows.append([name, *(f"{mean:.2f}" for mean in means), str(costs.moves)])
    print(f"{costs.accesses} accesses ({found.choice}, one of {found.every}); mean distance of one (10 is local)\n")
    print(table(["block", "as it was", "best place", f"best in each of {options.windows}", "all local", "moves"], rows))
    return 0
