"""Plots of benchmarks, as SVG files (and PNG, where asked for) that are the same for the same figures."""

import importlib.util
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Sequence

from hosttools.errors import UsageError
from hosttools.paths import ROOT
from hosttools.results.stats import Spread

SIZE = (8.0, 5.0)  # inches


@dataclass(frozen=True)
class Plot:
    """A plot to be drawn into FOLDER/NAME.svg: lines over LABELS, which stand at even distances, bars, or bars of stacks."""

    name: str
    title: str
    x: str
    y: str
    labels: Sequence[str]
    lines: dict[str, Sequence[float | None]] = field(default_factory=dict)  # by legend; a value for each label
    bars: Sequence[Spread | None] = ()  # one for each label
    log: bool = False  # the y axis
    heat: Sequence[Sequence[float | None]] = ()  # a square of LABELS by LABELS, the first row above
    stacks: dict[str, Sequence[float]] = field(default_factory=dict)  # by legend, from below; a height for each label
    png: bool = False  # also FOLDER/NAME.png

    def has_data(self) -> bool:
        """Whether there is anything to draw."""
        return any(value is not None for line in (*self.lines.values(), *self.stacks.values(), self.bars, *self.heat) for value in line)


def need_plots() -> None:
    """Raises UsageError where nothing can be drawn: better before the runs than after them."""
    missing = [name for name in ("matplotlib", "numpy") if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(f"{' and '.join(missing)} not installed: run {ROOT / 'tools' / 'setup'}")


def draw(plot: Plot, folder: Path) -> Path | None:
    """Draws PLOT; returns its file, or None when it has no data."""
    path = folder / f"{plot.name}.svg"
    if not plot.has_data():
        path.unlink(missing_ok=True)
        path.with_suffix(".png").unlink(missing_ok=True)
        return None
    import matplotlib  # takes a second: only when something is drawn
    from matplotlib.figure import Figure

    matplotlib.rcParams["svg.hashsalt"] = "kettle"
    picture = Figure(figsize=SIZE, layout="constrained")
    axes = picture.add_subplot()
    _draw_lines(axes, plot)
    _draw_bars(axes, plot)
    _draw_stacks(axes, plot)
    axes.set_xticks(range(len(plot.labels)), plot.labels)
    axes.set(title=plot.title, xlabel=plot.x, ylabel=plot.y)
    if plot.heat:
        _draw_heat(axes, plot)
        picture.savefig(path, metadata={"Date": None})
        return path
    if plot.log:
        axes.set_yscale("log")
    elif all(value is None or value >= 0 for line in plot.lines.values() for value in line):
        axes.set_ylim(bottom=0)
    axes.grid(axis="y", alpha=0.3)
    axes.set_axisbelow(True)
    picture.savefig(path, metadata={"Date": None})
    if plot.png:
        picture.savefig(path.with_suffix(".png"))
    return path


def _draw_lines(axes: Any, plot: Plot) -> None:
    for legend, values in plot.lines.items():
        points = [(x, value) for x, value in enumerate(values) if value is not None]
        if points:
            axes.plot(*zip(*points), marker="o", label=legend)
    if plot.lines:
        axes.legend()


def _draw_bars(axes: Any, plot: Plot) -> None:
    for x, value in enumerate(plot.bars):
        if value is not None:
            axes.bar(x, value.median, width=0.6, color=f"C{x}",
                     yerr=[[value.median - value.low], [value.high - value.median]], capsize=5)


def _draw_heat(axes: Any, plot: Plot) -> None:
    numbers = [value for row in plot.heat for value in row if value is not None]
    middle = (min(numbers) + max(numbers)) / 2
    axes.imshow([[float("nan") if value is None else value for value in row] for row in plot.heat])
    axes.set_yticks(range(len(plot.labels)), plot.labels)
    for y, row in enumerate(plot.heat):
        for x, value in enumerate(row):
            if value is not None:
                axes.text(x, y, f"{value:.0f}", ha="center", va="center", color="white" if value < middle else "black")


def _draw_stacks(axes: Any, plot: Plot) -> None:
    below = [0.0] * len(plot.labels)
    for number, (legend, heights) in enumerate(plot.stacks.items()):
        axes.bar(range(len(heights)), heights, width=0.7, bottom=below, color=f"C{number % 10}", label=legend,
                 hatch="//" if number >= 10 else None)
        below = [low + height for low, height in zip(below, heights)]
    if plot.stacks:
        axes.figure.legend(loc="outside lower center", ncols=3)  # bars may be as high as the picture
