"""The two ways the host command fails before or instead of a program."""

STATUS_USAGE = 2
STATUS_TIMEOUT = 124
STATUS_MACHINE = 125
STATUS_SIGNAL = 128  # plus the signal's number


class UsageError(Exception):
    """What was asked for cannot be done: one clear line, and exit status 2 before an emulator starts."""


class MachineError(Exception):
    """The emulator could not be started or answered nonsense: exit status 125."""
