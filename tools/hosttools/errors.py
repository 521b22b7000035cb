"""The two ways the host command fails before or instead of a program."""

import difflib
from typing import Iterable

SIMILAR = 0.7  # of 1: how like a word must be to be what was meant
STATUS_USAGE = 2
STATUS_TIMEOUT = 124
STATUS_MACHINE = 125
STATUS_SIGNAL = 128  # plus the signal's number


class UsageError(Exception):
    """What was asked for cannot be done: one clear line, and exit status 2 before an emulator starts."""


class MachineError(Exception):
    """The emulator could not be started or answered nonsense: exit status 125."""


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """"; did you mean 'NAME'?" with the names that are most like WORD, or nothing when none is."""
    close = difflib.get_close_matches(word, list(names), 3, SIMILAR)
    return f"; did you mean {' or '.join(repr(name) for name in close)}?" if close else ""
