"""The kernel's boot options, from the kernel's own table (boot/options/options.def, which says how rows are read), and what
is wrong with a command line before it is booted."""

import functools
import re
from dataclasses import dataclass

from hosttools.errors import UsageError, did_you_mean
from hosttools.machine.strategies import strategy_names
from hosttools.paths import ROOT

TABLE = ROOT / "boot" / "options" / "options.def"
MESSAGES = ROOT / "msg" / "messages.def"


@dataclass(frozen=True)
class Row:
    """An option: what it has when it is not given, and what it may have."""

    name: str
    fallback: str
    values: str

    @property
    def choices(self) -> str:
        """The values, with the names that other tables have."""
        return self.values.replace("STRATEGY", "|".join(strategy_names()))

    def allows(self, value: str) -> bool:
        """Whether VALUE is valid, as far as that does not depend on the machine."""
        for alternative in self.values.split("|"):
            parts = alternative.split(",")
            pieces = value.split(",") if len(parts) > 1 else [value]
            if all(any(_matches(part, piece) for part in parts) for piece in pieces):
                return True
        return False


@functools.cache
def rows() -> dict[str, Row]:
    """All options by name."""
    found = re.findall(r'^OPTION\((\w+), "([^"]*)", "([^"]*)"\)$', TABLE.read_text(), re.M)
    return {name: Row(name, fallback, values) for name, fallback, values in found}


@functools.cache
def messages() -> frozenset[str]:
    """The names of the messages between kernels."""
    return frozenset(re.findall(r"^(?:REQUEST|OPERATION|NOTICE)\(\d+, (\w+),", MESSAGES.read_text(), re.M))


def _matches(part: str, text: str) -> bool:
    """Whether all of TEXT is of the form PART of a row's values."""
    tokens = re.findall(r"\d+(?:\.\.\d+)?|[A-Z]+|[^A-Z\d]+", part)
    pattern = "".join("([0-9]+)" if token[0].isdigit() else "([^,:]+)" if token.isupper() else re.escape(token)
                      for token in tokens)
    match = re.fullmatch(pattern, text)
    if match is None:
        return False
    wanted = [token for token in tokens if token[0].isdigit() or token.isupper()]
    return all(_fits(token, value) for token, value in zip(wanted, match.groups()))


def _fits(token: str, value: str) -> bool:
    if token.isupper():
        names = {"MESSAGE": messages, "STRATEGY": strategy_names}.get(token)
        return names is None or value in names()
    low, _, high = token.partition("..")
    return int(low) <= int(value) <= int(high or low)


def check(words: str, source: str) -> None:
    """Checks the options in WORDS, which SOURCE of the tool's command line has given. Raises UsageError."""
    for word in words.split():
        name, equals, value = word.partition("=")
        if name == "kernels":
            raise UsageError(f"{source}: the partition into kernels is the option --kernels")
        row = rows().get(name)
        if row is None:
            raise UsageError(f"{source}: unknown boot option '{name}'{did_you_mean(name, rows())} (valid: {', '.join(rows())})")
        if not equals:
            raise UsageError(f"{source}: the boot option {name} needs a value: {name}={row.choices}")
        if not row.allows(value):
            raise UsageError(f"{source}: invalid {name}='{value}'{did_you_mean(value, row.choices.split('|'))} "
                             f"(valid: {row.choices})")


def table() -> str:
    """The options for people: name, default and values in columns."""
    width = max(map(len, rows()))
    return "\n".join(f"{row.name:{width}}  {row.fallback:8}  {row.choices}" for row in rows().values())
