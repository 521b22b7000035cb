"""What benchmarks compute from samples, and how figures are written."""

import math
import statistics
from dataclasses import dataclass
from typing import Sequence

MET, NOT_MEASURED = "met", "not measured"


@dataclass(frozen=True)
class Spread:
    """The middle of some measurements and how far they lie apart."""

    median: float
    low: float
    high: float
    count: int

    def text(self, digits: int = 2) -> str:
        """Median, lowest and highest, as "1.50 (1.20 to 2.00)"; the median alone when there is one measurement."""
        if self.count == 1:
            return f"{self.median:,.{digits}f}"
        return f"{self.median:,.{digits}f} ({self.low:,.{digits}f} to {self.high:,.{digits}f})"


def spread(values: Sequence[float]) -> Spread | None:
    """The spread of VALUES; None when there are none."""
    if not values:
        return None
    return Spread(statistics.median(values), min(values), max(values), len(values))


def interval(values: Sequence[float], level: float = 0.95) -> float | None:
    """Half the width of the confidence interval of the mean of VALUES, by Student's t; None when there is one value."""
    from scipy import stats  # takes half a second to load

    if len(values) < 2:
        return None
    return float(stats.t.ppf((1 + level) / 2, len(values) - 1)) * statistics.stdev(values) / math.sqrt(len(values))


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest of VALUES that PERCENT of them do not exceed. There must be at least one."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def ratios(over: Sequence[float | None], under: Sequence[float | None]) -> list[float]:
    """Pair by pair, OVER / UNDER. A pair of which a side is missing is left out."""
    return [a / b for a, b in zip(over, under) if a is not None and b]


def figure(value: float | None, digits: int = 0) -> str:
    """VALUE with thousands marked, or a dash."""
    return "-" if value is None else f"{value:,.{digits}f}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table. The first column is text, the others are figures."""
    lines = ["| " + " | ".join(head) + " |", "|---" + "|--:" * (len(head) - 1) + "|"]
    for row in rows:
        if len(row) != len(head):
            raise ValueError(f"a row of {len(row)} cells under {len(head)} columns: {row[0]}")
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Target:
    """A figure to be reached: VALUE at most LIMIT."""

    text: str
    limit: float
    value: float | None
    digits: int = 0

    def verdict(self) -> str:
        """Whether it was reached, or by which part of the limit it was missed."""
        if self.value is None:
            return NOT_MEASURED
        if self.value <= self.limit:
            return MET
        if self.limit == 0:
            return "missed"
        over = 100 * (self.value / self.limit - 1)
        return f"missed by {figure(over, 1) if over >= 0.1 else 'less than 0.1'} %"

    def line(self) -> str:
        """The target for a terminal."""
        if self.value is None:
            return f"{NOT_MEASURED}: {self.text}"
        return f"{self.verdict()}: {self.text}: {figure(self.value, self.digits)}, target at most {figure(self.limit, self.digits)}"

    def row(self) -> list[str]:
        """The target's row in target_table."""
        return [self.text, f"at most {figure(self.limit, self.digits)}", figure(self.value, self.digits),
                self.verdict()]


def target_table(targets: Sequence[Target]) -> str:
    """TARGETS beside what was measured."""
    return table(["", "target", "measured", "verdict"], [target.row() for target in targets])
