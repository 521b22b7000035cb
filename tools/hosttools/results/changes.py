"""What has changed between two sets of results of one benchmark: `kettle bench NAME --compare OLD`.

A figure has changed when the lowest and highest of all pairs do not overlap before and after, and the medians differ by more than
three hundredths, as runs of several CPUs do by themselves, or times by a tenth. Times of runs that count instructions say nothing.
"""

import re
from typing import Any

from hosttools.results.pairs import Value, median_us, work
from hosttools.results.runs import Measured, measured
from hosttools.results.stats import Spread, figure, spread, table

Json = dict[str, Any]
Key = tuple[str, str]  # runs of one kind and side, and the case



def _time(item: Measured) -> float | None:
    return median_us(item) if item.cost is None else None


FIGURES: tuple[tuple[str, Value, float, int], ...] = (("instructions", work, 0.03, 0), ("us", _time, 0.1, 1))


def _spreads(data: Json, value: Value) -> dict[Key, Spread]:
    found: dict[Key, list[float]] = {}
    for item in measured(data, ""):
        number = value(item)
        if number is not None:
            kind = re.sub(r"-\d+-(kettle|linux|A|B)$", r"-\1", item.run)
            found.setdefault((kind, item.case["case"]), []).append(number)
    return {key: both for key, numbers in found.items() if (both := spread(numbers)) is not None}


def changed(before: Spread, after: Spread, least: float) -> bool:
    """Whether BEFORE and AFTER differ by more than they spread, and than LEAST, as a part of BEFORE."""
    apart = after.low > before.high or after.high < before.low
    return apart and abs(after.median - before.median) > least * before.median


def table_of(old: Json, new: Json) -> str:
    """A table of what has changed from OLD to NEW."""
    rows, compared = [], 0
    for unit, value, least, digits in FIGURES:
        before, after = _spreads(old, value), _spreads(new, value)
        for key in (key for key in after if key in before):
            compared += 1
            if changed(before[key], after[key], least):
                ratio = after[key].median / before[key].median if before[key].median else None
                rows.append([f"`{key[1]}`, {key[0]}, {unit}", before[key].text(digits), after[key].text(digits), figure(ratio, 3)])
    head = f"## Since {old['date']}, commit {str(old.get('commit'))[:12]}\n\n"
    if not rows:
        return head + f"None of {compared} figures has changed by more than their spread.\n"
    return (head + f"{len(rows)} of {compared} figures have changed by more than their spread.\n\n"
            + table(["", "before", "now", "ratio"], rows))
