"""The two ways the host command fails before or instead of a program."""

import difflib
from typing import Iterable

SIMILAR = 0.7  # of 1: how like a word must be to be what was meant
AS_MUCH = 0.1  # less than the likeness of the most similar name
STATUS_USAGE = 2
STATUS_TIMEOUT = 124
STATUS_MACHINE = 125
STATUS_SIGNAL = 128  # plus the signal's number


class UsageError(Exception):
    """What was asked for cannot be done: one clear line, and exit status 2 before an emulator starts."""


class MachineError(Exception):
    """The emulator could not be started or answered nonsense: exit status 125."""


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """"; did you mean 'NAME'?" with the name that is most like WORD, and others that are nearly as much; or nothing."""
    close = difflib.get_close_matches(word, list(names), 3, SIMILAR)
    likeness = [difflib.SequenceMatcher(None, name, word).ratio() for name in close]
    close = [name for name, ratio in zip(close, likeness) if ratio > likeness[0] - AS_MUCH]
    return f"; did you mean {' or '.join(repr(name) for name in close)}?" if close else ""
