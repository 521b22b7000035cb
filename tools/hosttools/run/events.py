"""The log channel: the kernel's log lines, and among them the events meant for the host.

An event is a line that starts with '@':
    @plan TEXT, @option TEXT (of the command line that is not understood), @user, @exit code N, @exit signal N,
    @panic (with a text when another kernel ends the machine because kernel 0 has died), @panic-end,
    @died TEXT (of a kernel, whose death the others survive), @wait TEXT, @input N (Linux only),
    @events GROUP KERNEL HOME STRATEGY NAME=NUMBER... (of an address space that ended; hosttools.space_events)
The text of @panic and the lines between @panic and @panic-end are the panic's text.
"""

import re
from dataclasses import dataclass
from typing import Callable

LINE_MAX = 1 << 16  # a longer line is cut: a kernel gone wild must not eat the host's memory

_EVENT = re.compile(r"@(plan|option|user|exit|panic-end|panic|died|wait|input|events)(?: (.*))?$")


@dataclass(frozen=True)
class Event:
    """One event: seconds since the emulator started, kind (without '@') and the rest of its line."""

    time: float
    kind: str
    text: str


@dataclass(frozen=True)
class Exit:
    """How the first process ended: exactly one of the two is set."""

    code: int | None = None
    signal: int | None = None


class Lines:
    """Cuts a stream of bytes into lines of text, without their line ends."""

    def __init__(self, take: Callable[[str], None]) -> None:
        self._take = take
        self._rest = b""

    def feed(self, data: bytes) -> None:
        """Takes the next bytes of the stream."""
        *lines, rest = (self._rest + data).split(b"\n")
        self._rest = rest[:LINE_MAX]
        for line in lines:
            self._emit(line)

    def finish(self) -> None:
        """The stream has ended: what is left is a line."""
        if self._rest:
            self._emit(self._rest)
            self._rest = b""

    def _emit(self, line: bytes) -> None:
        self._take(line[:LINE_MAX].rstrip(b"\r").decode(errors="replace"))


class EventLog:
    """What the events of one run have said so far."""

    def __init__(self, on_event: Callable[[Event], None]) -> None:
        """ON_EVENT is called with each event once this log has taken it in."""
        self._on_event = on_event
        self.events: list[Event] = []
        self.plan: list[str] = []
        self.warnings: list[str] = []  # what the kernel does not understand of its command line; kernels that died
        self.waits: list[str] = []
        self.panic: list[str] = []  # the text of every panic, in order
        self.panicked = False
        self.user_time: float | None = None
        self.exit: Exit | None = None
        self._in_panic = False
        self._panicked: dict[str, str] = {}  # by number: kernels whose death is not yet said to be asked for, or not
        self._unasked: list[str] = []

    def unasked_deaths(self) -> list[str]:
        """The deaths of kernels that no program has asked for."""
        return self._unasked + list(self._panicked.values())

    def end_of_first(self) -> str | None:
        """Why kernel 0 has died, and the machine with it, or None: it has not."""
        for line in self.panic:
            match = re.match(r"panic on kernel 0 cpu \d+: (.*)|kernel 0 has died(?:, as a program asked)?: (.*)", line)
            if match:
                return match[1] or match[2]
        return None

    def _note_death(self, text: str) -> None:
        """Takes the word of a kernel's own panic, or that of kernel 0, which knows whether a program asked for it."""
        match = re.match(r"(panic on )?kernel (\d+)(, as a program asked)?", text)
        if not match:
            self._unasked.append(text)
        elif match[1]:
            self._panicked[match[2]] = text
        else:
            panic = self._panicked.pop(match[2], None)
            if not match[3]:
                self._unasked.append(panic or text)

    def take(self, line: str, time: float) -> None:
        """Takes the log line LINE that arrived TIME seconds after the emulator's start."""
        match = _EVENT.match(line)
        if not match:
            if self._in_panic:
                self.panic.append(line)
            return
        event = Event(time, match[1], match[2] or "")
        self.events.append(event)
        self._apply(event)
        self._on_event(event)

    def _apply(self, event: Event) -> None:
        if event.kind == "plan":
            self.plan.append(event.text)
        elif event.kind == "option":
            self.warnings.append(event.text)
        elif event.kind == "died":
            self.warnings.append(f"a kernel died: {event.text}")
            self._note_death(event.text)
        elif event.kind == "wait":
            self.waits.append(event.text)
        elif event.kind == "user" and self.user_time is None:
            self.user_time = event.time
        elif event.kind == "exit" and self.exit is None:
            self.exit = parse_exit(event.text)
        elif event.kind == "panic":
            self.panicked = self._in_panic = True
            if event.text:
                self.panic.append(event.text)
        elif event.kind == "panic-end":
            self._in_panic = False


def parse_exit(text: str) -> Exit | None:
    """The end that the text of an @exit event tells, or None when it makes no sense."""
    match = re.fullmatch(r"(code|signal) (\d{1,9})", text, re.ASCII)
    if not match:
        return None
    number = int(match[2])
    return Exit(code=number & 0xFF) if match[1] == "code" else Exit(signal=number & 0x7F)
