"""The retrieval strategies, as their table mm/retrieve/strategies.def has them."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hosttools.paths import ROOT

TABLE = ROOT / "mm/retrieve/strategies.def"
_ROW = re.compile(r'STRATEGY\((\w+), (DIRECTORY|ASKING), "([^"]*)", "([^"]*)", "([^"]*)"\)')


@dataclass(frozen=True)
class Strategy:
    """A row of the table: its columns asks, messages and frame are Markdown."""

    name: str
    finds: str  # directory, asking
    asks: str
    messages: str
    frame: str


@cache
def strategies(table: Path = TABLE) -> tuple[Strategy, ...]:
    """All strategies, the default first; raises ValueError for a line of the table that is no row."""
    rows = []
    for line in re.sub(r"/\*.*?\*/", "", table.read_text(), flags=re.DOTALL).splitlines():
        if not line.strip():
            continue
        match = _ROW.fullmatch(line.strip())
        if match is None:
            raise ValueError(f"{table}: not a row: {line.strip()}")
        rows.append(Strategy(match[1], match[2].lower(), *match.group(3, 4, 5)))
    return tuple(rows)


def strategy_names() -> tuple[str, ...]:
    """Their names, the default first."""
    return tuple(strategy.name for strategy in strategies())
