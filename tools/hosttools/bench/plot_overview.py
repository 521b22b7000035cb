"""The plot of README.md: what operations cost on Kettle over what they cost on Linux, from the raw data in docs/results.

    tools/plot-overview [FILE]      (default docs/overview.svg)

It is the same file for the same data. Its background is transparent and its text grey, so that it can be read on white and
on black.
"""

import json
import sys
from pathlib import Path
from typing import Any

from hosttools.paths import ROOT
from hosttools.results.pairs import total_work, work
from hosttools.results.stats import Spread
from hosttools.suites import tasks_report, vm_report
from hosttools.suites.messages import SPACED, Pairs

SIZE = (8.0, 5.6)  # inches
GREY = "#7a828c"
CHEAPER, DEARER = "#2a9d8f", "#e07a3f"

# Title, and case of the benchmark. On Linux, the thread or process is on another CPU where on Kettle it is on another kernel.
ONE_KERNEL = (("mmap, touch, munmap of a page", "vm", "touch.1.local"), ("write to a copy-on-write page", "vm", "cow.local"),
              ("first touch of a page", "vm", "fault_new.local"), ("mprotect and back", "vm", "protect.1.local"),
              ("clone and join", "tasks", "clone_join.local"), ("fork, exit, wait", "tasks", "fork_small.local"),
              ("SIGSEGV and its handler", "vm", "fault_none.local"))
TWO_KERNELS = (("question and answer after a rest", "messages", SPACED),
               ("move of a thread there", "tasks", "move_first.migrate.plain.other"),
               ("move of a thread back", "tasks", "move_back.migrate.plain.other"),
               ("first touch of a page", "vm", "fault_new.other"), ("write to a copy-on-write page", "vm", "cow.other"),
               ("SIGSEGV and its handler", "vm", "fault_none.other"))


def raw(benchmark: str) -> dict[str, Any]:
    return json.loads((ROOT / "docs/results" / benchmark / "raw.json").read_text())


def ratio(data: dict[str, Any], benchmark: str, case: str) -> Spread:
    """Instructions of CASE on Kettle over those on Linux; raises ValueError when it was not measured."""
    if benchmark == "messages":
        found = Pairs(data[benchmark], "work", total_work).ratio(case)
    elif benchmark == "tasks":
        found = tasks_report.compare(data[benchmark], "work", case, work).ratio
    else:
        found = vm_report.compare(data[benchmark], "work", case).ratio
    if found is None:
        raise ValueError(f"docs/results/{benchmark}/raw.json has no {case} on both systems")
    return found


def draw(path: Path) -> None:
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams.update({"svg.hashsalt": "kettle", "text.color": GREY, "axes.labelcolor": GREY, "xtick.color": GREY,
                                "ytick.color": GREY, "axes.edgecolor": GREY, "font.size": 11})
    data = {name: raw(name) for name in ("messages", "tasks", "vm")}
    picture = Figure(figsize=SIZE, layout="constrained")
    picture.patch.set_alpha(0)
    panels = picture.subplots(2, 1, sharex=True, height_ratios=(len(ONE_KERNEL), len(TWO_KERNELS)))
    for axes, title, rows in zip(panels, ("On one kernel", "Between kernels of two nodes"), (ONE_KERNEL, TWO_KERNELS)):
        axes.patch.set_alpha(0)
        found = sorted(((ratio(data, benchmark, case), name) for name, benchmark, case in rows), key=lambda item: -item[0].median)
        for y, (value, _) in enumerate(found):
            axes.barh(y, value.median - 1, left=1, height=0.66, color=CHEAPER if value.median <= 1 else DEARER)
            below = value.median <= 1
            axes.annotate(f"{value.median:.2f}", (value.median, y), (-4 if below else 4, 0), textcoords="offset points",
                          ha="right" if below else "left", va="center")
        axes.set_yticks(range(len(found)), [name for _, name in found])
        axes.set_xscale("log", base=2)
        axes.set_xlim(1 / 14, 6)  # room for the numbers of the longest bars
        axes.set_xticks([1 / 8, 1 / 4, 1 / 2, 1, 2, 4], ["1/8", "1/4", "1/2", "as Linux", "2", "4"])
        axes.set_title(title, loc="left", fontsize=11)
        axes.axvline(1, color=GREY, linewidth=1)
        axes.grid(axis="x", alpha=0.3)
        axes.set_axisbelow(True)
        axes.tick_params(length=0)
        for side in ("top", "right", "left", "bottom"):
            axes.spines[side].set_visible(False)
    panels[-1].set_xlabel("instructions of one operation, Kettle over Linux (medians)")
    picture.savefig(path, metadata={"Date": None}, transparent=True)


def main() -> int:
    if len(sys.argv) > 2 or (len(sys.argv) == 2 and sys.argv[1].startswith("-")):
        print("usage: tools/plot-overview [FILE]", file=sys.stderr)
        return 2
    draw(Path(sys.argv[1]) if len(sys.argv) == 2 else ROOT / "docs/overview.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
