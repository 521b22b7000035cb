"""The benchmark `policies`: what each policy that moves memory to those who use it gains and costs, under the modelled clock.

userland/bench/numa/numabench.c traverses its lists on four nodes, each traversal many times, once with each policy of the option
`numa=` (mm/numa.md), `none` first. The two sequences are runs of their own, so that one does not begin with the lists where the
other has left them. Cycles are those of the model, user and kernel together, so what looking and moving cost is in them.

An instruction takes 2^ICOUNT ns of guest time and looks are PERIOD ms apart at least, so that a traversal has as many looks as one
of seconds with the default period, and can be emulated.
"""

import argparse
from typing import Any, Sequence

from hosttools.machine import boot_options
from hosttools.paths import built
from hosttools.results.plots import Plot
from hosttools.results.runs import Report, Run
from hosttools.results.stats import table

SUMMARY = "modelled cycles of numabench's phases with each policy of numa=, against none"
TITLE = "Policies that move memory to those who use it (modelled)"

CPUS, NODES = 4, 4
MODEL = "opteron-4,cache=128K:16,llc=256K:16"
ICOUNT, PERIOD = 6, 20
ELEMENTS, PASSES = 8192, 300  # 512 KiB: twice a node's last cache
SEQUENCES = ("sequential", "cross")
NONE = "none"
TARGETED = "filter"  # of whose phases the targets are asked
QUICK = (NONE, "nemo", TARGETED)
RUN_LIMIT = 1800  # seconds

# The thesis's phases (Lindegger 2013, A.2; in ms, Barrelfish and NEMO), by the cases that make each up here.
PHASES: dict[str, tuple[str, ...]] = {
    "local": ("local.read", "local.write"), "remote1": ("remote1.read", "remote1.write"),
    "remote2": ("remote2.read", "remote2.write"), "all_local": ("all_local.read", "all_local.write"),
    "shared": ("shared.read", "shared.write"), "mixed": tuple(f"mixed.{share}" for share in range(0, 101, 10)),
    "unfavourable": ("unfavourable.read", "unfavourable.write")}
SUMS: dict[str, tuple[str, ...]] = {"sequential": ("local", "remote1", "remote2"),
                                    "cross": ("all_local", "shared", "mixed", "unfavourable")}
THESIS = {"local": (14260, 14236), "remote1": (20200, 14891), "remote2": (20199, 13732), "sequential": (54659, 42859),
          "all_local": (205262, 216654), "shared": (110882, 97666), "mixed": (509580, 452319), "unfavourable": (175763, 98907),
          "cross": (1001487, 865546)}

Json = dict[str, Any]


def policies(quick: bool) -> list[str]:
    """The policies to measure: all values of the option."""
    return list(QUICK) if quick else boot_options.rows()["numa"].values.split("|")


def plan(options: argparse.Namespace) -> list[Run]:
    """The runs of the benchmark."""
    built("userland/numabench")
    machine = ("--icount", str(ICOUNT), "--seed", "1", "--cpus", str(CPUS), "--nodes", str(NODES), "--numa-model", MODEL, "--tcg", "single")
    runs = []
    for policy in policies(options.quick):
        append = f"numa={policy}" if policy == NONE else f"numa={policy} numaperiod={PERIOD}"
        for sequence in SEQUENCES:
            program = ("numabench", "--json", "--sequence", sequence, "--elements", str(ELEMENTS), "--passes",
                       str(PASSES // 4 if options.quick else PASSES), "--repeat", "1")
            runs.append(Run(f"{policy}-{sequence}", (*machine, "--append", append), program, RUN_LIMIT, together=sequence))
    return runs


# --- the figures ---

def cycles(data: Json, policy: str) -> dict[str, float]:
    """Modelled cycles of each phase with POLICY, user and kernel, and of each sequence; without phases that were not measured."""
    cases: dict[str, float] = {}
    for run in data["runs"]:
        if run["name"].rpartition("-")[0] == policy:
            sums = run.get("numa_model") or {}
            cases.update({item["case"]: sums[str(item["region"])]["user"] + sums[str(item["region"])]["kernel"]
                          for item in run["output"] if str(item["region"]) in sums})
    found = {phase: sum(cases[name] for name in names) for phase, names in PHASES.items() if all(name in cases for name in names)}
    found.update({name: sum(found[phase] for phase in phases) for name, phases in SUMS.items()
                  if all(phase in found for phase in phases)})
    return found


def change(now: float | None, before: float | None) -> float | None:
    """Percent by which NOW differs from BEFORE."""
    return None if now is None or not before else 100 * (now - before) / before


def thesis(phase: str) -> float:
    """What NEMO changed there, in percent."""
    before, now = THESIS[phase]
    return 100 * (now - before) / before


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:+.1f} %"


def _measured(data: Json) -> list[str]:
    return list(dict.fromkeys(run["name"].rpartition("-")[0] for run in data["runs"]))


def _changes(data: Json, policy: str) -> dict[str, float | None]:
    before, now = cycles(data, NONE), cycles(data, policy)
    return {phase: change(now.get(phase), before.get(phase)) for phase in (*SUMS["sequential"], "sequential", *SUMS["cross"], "cross")}


def _sequences(data: Json, policy: str) -> float | None:
    """Percent by which POLICY changes the cycles of the sequences that were measured with it and with none."""
    before, now = cycles(data, NONE), cycles(data, policy)
    names = [name for name in SUMS if name in before and name in now]
    return change(sum(now[name] for name in names), sum(before[name] for name in names)) if names else None


def targets(data: Json) -> list[str]:
    """A line for each target of the policy TARGETED: the thesis's own figures, and no harm on any phase."""
    found = _changes(data, TARGETED)
    lines = []
    for phase in ("sequential", "shared", "mixed", "unfavourable", "cross"):
        value = found.get(phase)
        if value is not None:
            lines.append(f"- {phase}: {_percent(value)}, NEMO there {_percent(thesis(phase))}: "
                         + ("reached" if value <= thesis(phase) else "**not reached**"))
    for phase, limit in (("all_local", 1.0), *((name, 2.0) for name in PHASES if name != "all_local")):
        value = found.get(phase)
        if value is not None and value > limit:
            lines.append(f"- {phase}: {_percent(value)}, at most {_percent(limit)}: **not reached**")
    local = found.get("all_local")
    if local is not None and local <= 1.0:
        lines.append(f"- all_local: {_percent(local)}, at most +1.0 %: reached (NEMO there {_percent(thesis('all_local'))})")
    return lines


def report(data: Json) -> Report:
    """A table of changes, and the targets."""
    names = [name for name in _measured(data) if name != NONE]
    if NONE not in _measured(data) or not names:
        return Report("Nothing to compare was measured: `none` and another policy.\n", [])
    phases = list(_changes(data, names[0]))
    rows: list[Sequence[str]] = [[name, *(_percent(value) for value in _changes(data, name).values())] for name in names]
    rows.append(["NEMO on Barrelfish (measured there)", *(_percent(thesis(phase)) for phase in phases)])
    head = (f"All figures are **modelled** (tools/plugin/numa/numa_model.md): `{MODEL}`, {CPUS} CPUs on {NODES} nodes, a kernel each; "
            f"cycles of user and kernel mode of all CPUs, against `numa=none`. Thesis: Lindegger 2013, A.2, one machine of two nodes, "
            f"time.\n\n" + "\n".join(targets(data)) + "\n")
    plot = Plot("changes", "Modelled cycles of each phase, against numa=none", "", "percent", phases,
                {name: [value for value in _changes(data, name).values()] for name in names})
    found = [f"{_percent(value)} with {name}" for name in names if (value := _sequences(data, name)) is not None]
    told = f"Modelled cycles against numa=none, all phases together: {', '.join(found)}." if found else ""
    return Report(head, ["## Change of modelled cycles\n\n" + table(["policy", *phases], rows)], [plot], told)

