"""The benchmark `policies`: what each policy that moves memory to those who use it gains and costs, under the modelled clock.

userland/bench/numa/numabench.c traverses its lists, each traversal many times, once with each policy of the option `numa=` (mm/numa.md),
`none` first, and on Linux without and with its automatic balancing, on machines of two, four and eight nodes with a kernel for each core
or for each node: POLICY-NODES-KERNELS-SEQUENCE, linux-NODES-SEQUENCE and balanced-NODES-SEQUENCE. The two sequences are runs of their
own, so that one does not begin with the lists where the other has left them. Cycles are those of the model, user and kernel together, so
what looking and moving cost is in them.

The thesis (Lindegger 2013) gives the time until the last thread of a phase is done. Its like here is the cycles of the CPU that has most
of them in a region, as threads are bound and begin together; the sum over all CPUs is told as well.

Idle kernels do not poll: under the emulator's single thread, each look of theirs gives the CPUs that work up to 100 ms of guest time
before the next, so their timers would be late by seconds.

An instruction takes 2^ICOUNT ns of guest time and looks are PERIOD ms apart at least, so that a traversal has as many looks as one
of seconds with the default period, and can be emulated.

Runs POLICY.xTIMES-NODES-core-cross have phases and periods TIMES as long, so as many looks among more instructions: what a look costs
is a smaller part of such a phase, and what a move costs, too. There CPUs take short turns, so that messages and timers are late by little.

Runs POLICY.large-2-core-SEQUENCE, linux.large-2-SEQUENCE and balanced.large-2-SEQUENCE have lists eight times as large as a node's
last cache, which the others have twice, and as many accesses.

Runs POLICY-NODES-core-apart have a thread on each node, all of which write the first node's list, and all but the first of which may move
(mm/seen/draw.md).

Runs POLICY.KIB.MS-2-core-SEQUENCE have blocks of KIB (`numablock=`) and a shortest period of MS (`numaperiod=`), which the thesis leaves
open (chapter 5): it had blocks of 1 MiB and looked every 3 s.
"""

import argparse
import itertools
from dataclasses import dataclass
from typing import Any, Sequence

from hosttools.machine import boot_options
from hosttools.paths import built
from hosttools.results.plots import Plot
from hosttools.results.runs import Report, Run
from hosttools.results.stats import table

SUMMARY = "modelled cycles of numabench's phases with each policy of numa= against none, beside Linux's balancing"
TITLE = "Policies that move memory to those who use it (modelled)"


@dataclass(frozen=True)
class Machine:
    """CPUS on NODES, with a kernel for each of KERNELS."""

    cpus: int
    nodes: int
    kernels: str

    @property
    def name(self) -> str:
        """As in the names of runs."""
        return f"{self.nodes}-{self.kernels}"

    @property
    def model(self) -> str:
        """What --numa-model gets."""
        return f"opteron-{self.nodes},{CACHES}"

    @property
    def options(self) -> tuple[str, ...]:
        """Of `kettle run`, on both systems."""
        return ("--cpus", str(self.cpus), "--nodes", str(self.nodes), "--numa-model", self.model, "--tcg", "single")


CACHES = "cache=64K:16,llc=128K:16"
MACHINES = tuple(Machine(cpus, nodes, kernels) for cpus, nodes in ((4, 2), (8, 4), (16, 8)) for kernels in ("core", "node"))
THESIS_MACHINE = "2-core"  # two nodes of two cores, with a kernel each
ICOUNT, PERIOD = 6, 10
ELEMENTS = 4096  # 256 KiB: twice a node's last cache
LARGE = 4  # times as many: eight times a node's last cache
SEQUENCES = ("sequential", "cross")
PASSES = {"sequential": 1200, "cross": 1200, "apart": 1200}  # of all threads together: the first sequence has one
APART = "apart"  # the sequence of threads that may move
APART_CASE = "apart.write"
APART_CPUS = (4, 8)
NONE = "none"
IDLE = "poll=0"  # of Kettle's kernels
LINUX = {"linux": "numa_balancing=disable", "balanced": "numa_balancing=enable"}
TARGETED = "kettle"  # of whose phases the targets are asked
QUICK = (NONE, "nemo", TARGETED)
SWEPT = (TARGETED, "nemo")
BLOCKS, PERIODS = (4, 64, 1024, 2048), (5, 10, 20, 40)  # KiB, ms
BLOCK = 64  # KiB: the default
LONGER = 8  # times as long: phases, and the periods of their looks
TURN = 1000  # us
LONGER_CPUS = (8, 16)  # of machines that have such runs
LONGER_POLICIES = (NONE, TARGETED)
LARGE_POLICIES = (NONE, "nemo", TARGETED)
APART_POLICIES = (NONE, "nemo", "replicate", TARGETED)
RUN_LIMIT = 1800  # seconds

# The thesis's phases (Lindegger 2013, A.2), by the cases that make each up here.
PHASES: dict[str, tuple[str, ...]] = {
    "local": ("local.read", "local.write"), "remote1": ("remote1.read", "remote1.write"),
    "remote2": ("remote2.read", "remote2.write"), "all_local": ("all_local.read", "all_local.write"),
    "shared": ("shared.read", "shared.write"), "mixed": tuple(f"mixed.{share}" for share in range(0, 101, 10)),
    "unfavourable": ("unfavourable.read", "unfavourable.write")}
SUMS: dict[str, tuple[str, ...]] = {"sequential": ("local", "remote1", "remote2"),
                                    "cross": ("all_local", "shared", "mixed", "unfavourable")}
COLUMNS = (*SUMS["sequential"], "sequential", *SUMS["cross"], "cross")
# ms: Barrelfish, NEMO; Linux, MORON, AutoNUMA
THESIS = {"local": (14260, 14236, 13502, 13993, 13356), "remote1": (20200, 14891, 20378, 14396, 19707),
          "remote2": (20199, 13732, 20381, 14061, 15000), "sequential": (54659, 42859, 54260, 42449, 48063),
          "all_local": (205262, 216654, 214300, 220415, 215129), "shared": (110882, 97666, 134532, 131781, 129940),
          "mixed": (509580, 452319, 540287, 535165, 533360), "unfavourable": (175763, 98907, 183069, 180505, 191803),
          "cross": (1001487, 865546, 1072188, 1067866, 1070233)}
THEIRS = {"NEMO on Barrelfish": (0, 1), "MORON on Linux 3.9": (2, 3), "AutoNUMA on Linux 3.3": (2, 4)}

Json = dict[str, Any]


def policies(quick: bool) -> list[str]:
    """The policies to measure: all values of the option."""
    return list(QUICK) if quick else boot_options.rows()["numa"].values.split("|")


def plan(options: argparse.Namespace) -> list[Run]:
    """The runs of the benchmark."""
    built("userland/numabench")
    runs = []
    for machine in MACHINES[:1] if options.quick else MACHINES:
        for policy in policies(options.quick):
            words = _words(policy, machine)
            runs += [_run(f"{policy}-{machine.name}", sequence, machine, words, options.quick) for sequence in SEQUENCES]
        if machine.kernels == "core" and not options.quick:
            runs += [_run(f"{side}-{machine.nodes}", sequence, machine, _linux(side, machine), False)
                     for side in LINUX for sequence in SEQUENCES]
        if machine.name == THESIS_MACHINE and not options.quick:
            runs += _sweep(machine) + _large(machine)
        if machine.kernels == "core" and machine.cpus in LONGER_CPUS and not options.quick:
            runs += [_longer(policy, machine) for policy in LONGER_POLICIES]
        if machine.kernels == "core" and machine.cpus in APART_CPUS and not options.quick:
            runs += [_run(f"{policy}-{machine.name}", APART, machine, _words(policy, machine), False) for policy in APART_POLICIES]
    return runs


def _words(policy: str, machine: Machine) -> tuple[str, ...]:
    """Of `kettle run` for a run of Kettle with POLICY on MACHINE."""
    append = f"{IDLE} numa={policy}" + ("" if policy == NONE else f" numaperiod={PERIOD}")
    return ("--icount", str(ICOUNT), "--seed", "1", *machine.options, "--kernels", machine.kernels, "--append", append)


def _linux(side: str, machine: Machine) -> tuple[str, ...]:
    """Of `kettle run` for a run of Linux on MACHINE."""
    return ("--os", "linux", *machine.options, "--append", LINUX[side])


def _large(machine: Machine) -> list[Run]:
    """Lists that are LARGE times as long, on MACHINE."""
    sides = [(_enlarged(policy, machine.name), _words(policy, machine)) for policy in LARGE_POLICIES]
    sides += [(_enlarged(side, str(machine.nodes)), _linux(side, machine)) for side in LINUX]
    return [_run(name, sequence, machine, words, False, large=LARGE) for name, words in sides for sequence in SEQUENCES]


def _enlarged(side: str, machine: str) -> str:
    """What SIDE with lists LARGE times as long is called in the names of runs."""
    return f"{side}.large-{machine}"


def _longer(policy: str, machine: Machine) -> Run:
    """POLICY in the second sequence on MACHINE, whose phases and periods are LONGER times as long."""
    append = f"{IDLE} numa={policy}" + ("" if policy == NONE else f" numaperiod={LONGER * PERIOD}")
    words = ("--icount", str(ICOUNT), "--turn", str(TURN), "--seed", "1", *machine.options, "--kernels", machine.kernels, "--append", append)
    return _run(_lengthened(policy, machine), "cross", machine, words, False, LONGER)


def _lengthened(policy: str, machine: Machine) -> str:
    """What POLICY with phases LONGER times as long is called in the names of runs."""
    return f"{policy}.x{LONGER}-{machine.name}"


def _sweep(machine: Machine) -> list[Run]:
    """Sizes of blocks and periods on MACHINE."""
    runs = []
    for policy, block, period in itertools.product(SWEPT, BLOCKS, PERIODS):
        if (block, period) != (BLOCK, PERIOD):
            append = f"{IDLE} numa={policy} numaperiod={period} numablock={block}"
            words = ("--icount", str(ICOUNT), "--seed", "1", *machine.options, "--kernels", machine.kernels, "--append", append)
            runs += [_run(_swept(policy, block, period, machine), sequence, machine, words, False) for sequence in SEQUENCES]
    return runs


def _swept(policy: str, block: int, period: int, machine: Machine) -> str:
    """What POLICY with BLOCK and PERIOD is called in the names of runs."""
    return f"{policy}-{machine.name}" if (block, period) == (BLOCK, PERIOD) else f"{policy}.{block}.{period}-{machine.name}"


def _run(name: str, sequence: str, machine: Machine, words: Sequence[str], quick: bool, longer: int = 1, large: int = 1) -> Run:
    threads = {"sequential": 1, "cross": machine.cpus, APART: machine.nodes}[sequence]
    passes = longer * PASSES[sequence] // threads // large // (4 if quick else 1)
    program = ("numabench", "--json", "--sequence", sequence, "--elements", str(large * ELEMENTS), "--passes", str(passes), "--repeat", "1")
    return Run(f"{name}-{sequence}", tuple(words), program, RUN_LIMIT, together=f"{name.partition('-')[2]}-{sequence}")


# --- the figures ---

def _cases(data: Json, side: str) -> dict[str, tuple[float, float, float]]:
    """Of each case of SIDE, the runs' name without the sequence: cycles of the busiest CPU, of all, and elements of each thread."""
    found = {}
    for run in data["runs"]:
        sums = run.get("numa_model") or {}
        if run["name"].rpartition("-")[0] == side:
            found.update({item["case"]: (each["busiest"], each["user"] + each["kernel"], item["count"] / item.get("threads", 1))
                          for item in run["output"] if (each := sums.get(str(item["region"]))) is not None})
    return found


def cycles(data: Json, side: str, every: bool = False) -> dict[str, float]:
    """Modelled cycles of each phase of SIDE, of the busiest CPU or of EVERY one, and of each sequence; without what was not measured."""
    cases = {case: values[every] for case, values in _cases(data, side).items()}
    found = {phase: sum(cases[name] for name in names) for phase, names in PHASES.items() if all(name in cases for name in names)}
    found.update({name: sum(found[phase] for phase in phases) for name, phases in SUMS.items()
                  if all(phase in found for phase in phases)})
    return found


def change(now: float | None, before: float | None) -> float | None:
    """Percent by which NOW differs from BEFORE."""
    return None if now is None or not before else 100 * (now - before) / before


def thesis(phase: str, theirs: str = "NEMO on Barrelfish") -> float:
    """What THEIRS changed there, in percent."""
    before, now = (THESIS[phase][column] for column in THEIRS[theirs])
    return 100 * (now - before) / before


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:+.1f} %"


def _sides(data: Json, machine: Machine) -> dict[str, tuple[str, str]]:
    """The sides that were measured on MACHINE, by what they are called in a table: their name, and that of what they are compared to."""
    names = {run["name"].rpartition("-")[0] for run in data["runs"]}
    suffix = f"-{machine.name}"
    found = {name.removesuffix(suffix): (name, NONE + suffix) for name in dict.fromkeys(run["name"].rpartition("-")[0] for run in data["runs"])
             if name.endswith(suffix) and "." not in name and not name.startswith(NONE + "-") and NONE + suffix in names}
    if {NONE + suffix, *(f"{side}-{machine.nodes}" for side in LINUX)} <= names:
        found["Linux's balancing"] = (f"balanced-{machine.nodes}", f"linux-{machine.nodes}")
    return found


def changes(data: Json, now: str, before: str, every: bool = False) -> dict[str, float | None]:
    """Percent by which the phases of the side NOW differ from those of BEFORE."""
    new, old = cycles(data, now, every), cycles(data, before, every)
    return {phase: change(new.get(phase), old.get(phase)) for phase in COLUMNS}


def _settled(data: Json, machine: Machine) -> float | None:
    """Percent by which the second traversal of `unfavourable` is dearer with TARGETED than that of one's own list with none, which is the
    best that a placement can do."""
    now, best = _cases(data, f"{TARGETED}-{machine.name}"), _cases(data, f"{NONE}-{machine.name}")
    return change(now.get("unfavourable.write", (None,))[0], best.get("mixed.0", (None,))[0])


def targets(data: Json) -> list[str]:
    """A line for each target of the policy TARGETED: the thesis's own figures on its machine, and on all machines no harm on any phase and
    more than Linux's balancing gains."""
    lines = []
    for machine in MACHINES:
        sides = _sides(data, machine)
        if TARGETED not in sides:
            continue
        found = changes(data, *sides[TARGETED])
        if machine.name == THESIS_MACHINE:
            lines += [f"- {phase}: {_percent(value)}, NEMO there {_percent(thesis(phase))}: {_verdict(value <= thesis(phase))}"
                      for phase in ("sequential", "shared", "mixed", "unfavourable", "cross") if (value := found[phase]) is not None]
        value = found["all_local"]
        if value is not None:
            lines.append(f"- {machine.name}, all_local: {_percent(value)}, at most +1.0 %: {_verdict(value <= 1)}")
        worst = max(((value, phase) for phase in PHASES if (value := found[phase]) is not None), default=None)
        if worst is not None:
            lines.append(f"- {machine.name}, the worst phase: {worst[1]}, {_percent(worst[0])}, at most +2.0 %: {_verdict(worst[0] <= 2)}")
        settled = _settled(data, machine)
        if settled is not None:
            lines.append(f"- {machine.name}, unfavourable.write over the best placement: {_percent(settled)}, at most +5.0 %: "
                         + _verdict(settled <= 5))
        if "Linux's balancing" in sides:
            theirs = changes(data, *sides["Linux's balancing"])
            worse = [f"{phase} ({_percent(found[phase])}, Linux {_percent(theirs[phase])})" for phase in PHASES
                     if found[phase] is not None and theirs[phase] is not None and found[phase] > theirs[phase]]
            lines.append(f"- {machine.name}, gains more than Linux's balancing in each phase: "
                         + (_verdict(True) if not worse else f"{_verdict(False)} in {', '.join(worse)}"))
    return lines


def _verdict(reached: bool) -> str:
    return "reached" if reached else "**not reached**"


# --- the report ---

def _table(data: Json, machine: Machine, every: bool) -> str:
    sides = _sides(data, machine)
    rows: list[Sequence[str]] = [[name, *(_percent(value) for value in changes(data, *pair, every).values())] for name, pair in sides.items()]
    if machine.name == THESIS_MACHINE and not every:
        rows += [[f"{name} (measured there)", *(_percent(thesis(phase, name)) for phase in COLUMNS)] for name in THEIRS]
    what = "all CPUs" if every else "the busiest CPU"
    return (f"## {machine.cpus} CPUs on {machine.nodes} nodes, a kernel for each {machine.kernels}: cycles of {what}\n\n"
            + table(["policy", *COLUMNS], rows))


def _beside(data: Json, machine: Machine) -> Plot:
    """The thesis's figures 4.1 to 4.6: what each system takes of the time without its policy."""
    sides = {name: pair for name, pair in _sides(data, machine).items() if name in ("nemo", TARGETED, "Linux's balancing")}
    lines: dict[str, list[float | None]] = {f"{name} (measured there)": [100 + thesis(phase, name) for phase in COLUMNS] for name in THEIRS}
    lines.update({f"{name} (modelled)": [None if value is None else 100 + value for value in changes(data, *pair).values()]
                  for name, pair in sides.items()})
    return Plot("beside", "Phases with a policy, in percent of those without", "", "percent", [name.replace("unfavourable", "unfav.") for name in COLUMNS], lines)


def _shares(data: Json, machine: Machine) -> Plot:
    """The thesis's figure 4.7: cycles of an element as the remote share grows."""
    shares = [str(share) for share in range(0, 101, 10)]
    lines = {}
    for name in (f"{NONE}-{machine.name}", f"nemo-{machine.name}", f"{TARGETED}-{machine.name}", f"linux-{machine.nodes}", f"balanced-{machine.nodes}"):
        cases = _cases(data, name)
        lines[name.partition("-")[0]] = [cases[f"mixed.{share}"][0] / cases[f"mixed.{share}"][2] if f"mixed.{share}" in cases else None
                                         for share in shares]
    return Plot(f"mixed-{machine.nodes}", f"All CPUs, with a growing part of the next node's list ({machine.nodes} nodes)", "percent remote",
                "modelled cycles of an element", shares, lines)


def _sizes(data: Json) -> tuple[list[str], list[Plot]]:
    """What blocks of each size change with each period, for each policy that was swept and each sequence."""
    machine = next(each for each in MACHINES if each.name == THESIS_MACHINE)
    tables, plots = [], []
    for policy, sequence in itertools.product(SWEPT, SEQUENCES):
        lines = {f"{block} KiB": [changes(data, _swept(policy, block, period, machine), f"{NONE}-{machine.name}")[sequence] for period in PERIODS]
                 for block in BLOCKS}
        if any(value is not None for block in BLOCKS if block != BLOCK for value in lines[f"{block} KiB"]):
            title = f"{policy}, sequence {sequence}: blocks and periods"
            tables.append(f"## {title}\n\nCycles of the busiest CPU, against numa=none ({machine.name}), by the shortest period:\n\n"
                          + table(["block", *(f"{period} ms" for period in PERIODS)],
                                  [[name, *(_percent(value) for value in line)] for name, line in lines.items()]))
            plots.append(Plot(f"blocks-{policy}-{sequence}", f"Modelled cycles against numa=none: {title}", "shortest period, ms", "percent",
                              [str(period) for period in PERIODS], lines))
    return tables, plots


def _lengths(data: Json) -> list[str]:
    """What TARGETED changes in phases that are LONGER times as long, beside the usual ones."""
    rows: list[Sequence[str]] = []
    columns = (*SUMS["cross"], "cross")
    for machine in MACHINES:
        for times, side, before in ((1, f"{TARGETED}-{machine.name}", f"{NONE}-{machine.name}"),
                                    (LONGER, _lengthened(TARGETED, machine), _lengthened(NONE, machine))):
            if cycles(data, _lengthened(TARGETED, machine)) and cycles(data, _lengthened(NONE, machine)):
                found = changes(data, side, before)
                rows.append([f"{machine.name}, {times}", *(_percent(found[phase]) for phase in columns)])
    if not rows:
        return []
    return [f"## {TARGETED}, phases and periods {LONGER} times as long\n\nCycles of the busiest CPU, against numa=none with phases of the same "
            f"length; as many looks in each, among {LONGER} times as many instructions:\n\n" + table(["machine, times", *columns], rows)]


def _larger(data: Json) -> list[str]:
    """What policies change with lists that are LARGE times as long, beside the usual ones."""
    machine = next(each for each in MACHINES if each.name == THESIS_MACHINE)
    sides = [(policy, machine.name, policy, NONE) for policy in LARGE_POLICIES[1:]]
    sides.append(("Linux's balancing", str(machine.nodes), "balanced", "linux"))
    rows: list[Sequence[str]] = []
    for name, suffix, now, before in sides:
        found = changes(data, _enlarged(now, suffix), _enlarged(before, suffix))
        if any(value is not None for value in found.values()):
            usual = changes(data, f"{now}-{suffix}", f"{before}-{suffix}")
            rows += [[f"{name}, {LARGE * ELEMENTS // 16} KiB", *(_percent(value) for value in found.values())],
                     [f"{name}, {ELEMENTS // 16} KiB", *(_percent(value) for value in usual.values())]]
    if not rows:
        return []
    return [f"## Lists eight times as large as a node's last cache\n\nThe usual ones are twice as large, and have as many accesses. Cycles of "
            f"the busiest CPU, against none with the same lists ({machine.name}):\n\n" + table(["policy, list", *COLUMNS], rows)]


def _apart(data: Json) -> list[str]:
    """What policies change where threads may come to the memory that they write."""
    rows: list[Sequence[str]] = []
    for machine, policy in itertools.product(MACHINES, APART_POLICIES[1:]):
        before, now = (_cases(data, f"{side}-{machine.name}").get(APART_CASE) for side in (NONE, policy))
        if before is not None and now is not None:
            rows.append([f"{machine.name}, {policy}", *(_percent(change(now[every], before[every])) for every in (False, True))])
    if not rows:
        return []
    return ["## Threads that may move, each of which writes the first node's list\n\nOne thread on each node; all but the first node's may "
            "move. Cycles against numa=none:\n\n" + table(["machine, policy", "busiest CPU", "all CPUs"], rows)]


def _overall(data: Json, machine: Machine, side: str) -> float | None:
    """Percent by which the sequences that were measured with SIDE and with none differ."""
    now, before = (cycles(data, f"{name}-{machine.name}") for name in (side, NONE))
    names = [name for name in SUMS if name in before and name in now]
    return change(sum(now[name] for name in names), sum(before[name] for name in names)) if names else None


def report(data: Json) -> Report:
    """Tables of changes, and the targets."""
    measured = [machine for machine in MACHINES if _sides(data, machine)]
    if not measured:
        return Report("Nothing to compare was measured: `none` and another policy.\n", [])
    head = (f"All figures are **modelled** (tools/plugin/numa/numa_model.md): matrices `opteron-2`, `-4` and `-8` with `{CACHES}`; cycles of "
            f"user and kernel mode, against `numa=none`, Linux against itself without balancing. Thesis: Lindegger 2013, A.2, one machine of "
            f"two nodes, time. `moron` is the function of `nemo`. `group` moves what a program binds to a NUMA group (mm/seen/group.md): "
            f"numabench has no groups, so that it moves nothing, like `first-touch`.\n\n" + "\n".join(targets(data)) + "\n")
    tables = [_table(data, machine, every) for every in (False, True) for machine in measured]
    plots = [Plot(f"changes-{machine.name}", f"Modelled cycles of the busiest CPU, against numa=none ({machine.name})", "", "percent",
                  [name.replace("unfavourable", "unfav.") for name in COLUMNS],
                  {name: list(changes(data, *pair).values()) for name, pair in _sides(data, machine).items()}) for machine in measured]
    plots += [plot for machine in measured if machine.kernels == "core" for plot in
              ([_beside(data, machine)] if machine.name == THESIS_MACHINE else []) + [_shares(data, machine)]]
    more_tables, more_plots = _sizes(data)
    tables, plots = tables + _larger(data) + _apart(data) + _lengths(data) + more_tables, plots + more_plots
    first = measured[0]
    found = [f"{_percent(value)} with {name}" for name in _sides(data, first) if (value := _overall(data, first, name)) is not None]
    told = f"Modelled cycles against numa=none, all phases together: {', '.join(found)}." if found else ""
    return Report(head, tables, plots, told)
