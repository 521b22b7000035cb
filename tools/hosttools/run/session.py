"""One run of a machine: passes its terminal on, listens to its events, ends it, and says how it went.

Input flows from the event @user on: what arrives earlier could be lost by a guest that still sets up its serial port.
Output is complete: all the emulator wrote is read before a run counts as ended.
"""

import asyncio
import contextlib
import os
import signal
import time
from collections import deque
from dataclasses import dataclass, field
from typing import BinaryIO, Callable, Protocol

from hosttools.errors import STATUS_MACHINE, STATUS_SIGNAL, STATUS_TIMEOUT, MachineError
from hosttools.machine import streams
from hosttools.machine.machine import Machine
from hosttools.machine.terminal import EscapeFilter, RawTerminal
from hosttools.run.events import Event, EventLog, Lines

BOOT_LIMIT = 300.0  # seconds from the emulator's start to @user
EXIT_GRACE = 2.0  # from @exit to the emulator's own end
PANIC_GRACE = 1.0  # from @panic-end to ours
PANIC_LIMIT = 20.0  # from @panic, when its end never comes; every CPU may have its say before it
DUMP_TIME = 2.0  # for the wait dump after a timeout
DRAIN_LIMIT = 2.0  # for passing on the output of a machine that was stopped
TAIL_LINES = 20  # of the log, in the report of a machine that failed without a panic
FIRST_DIED = ("kernel 0 died ({why}), and the machine with it: only kernel 0 has the names of files, the terminal and the "
              "devices. Shared folders have all that programs had written to them; other files are lost.")


class Sink(Protocol):
    """Where the program's output goes."""

    async def put(self, data: bytes) -> None:
        """Takes the next bytes; waits while there is no room."""


class FileSink:
    """Passes output on to a descriptor."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    async def put(self, data: bytes) -> None:
        """Writes DATA; raises BrokenPipeError when nobody reads any more."""
        await streams.write_all(self._fd, data)


class MemorySink:
    """Keeps output in memory."""

    def __init__(self) -> None:
        self.data = bytearray()

    async def put(self, data: bytes) -> None:
        """Appends DATA."""
        self.data += data


@dataclass
class Outcome:
    """How a run went. `status` is the tool's exit status; `kind` is one of exit, signal, timeout, machine, stopped."""

    kind: str
    status: int
    signal: int | None = None  # that ended the program
    problem: str = ""  # for standard error: panic text, wait dump, what failed
    boot_seconds: float | None = None  # from the emulator's start to the first user instruction
    seconds: float = 0.0  # from the emulator's start to its end
    plan: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)  # of boot options that mean nothing
    events: list[Event] = field(default_factory=list)


@dataclass(frozen=True)
class Cause:
    """Why a run was ended before the machine ended it."""

    kind: str  # timeout, no-boot, signal, left
    status: int


class Session:
    """Runs one machine once."""

    def __init__(self, machine: Machine, sink: Sink, log_files: list[BinaryIO], *, timeout: float | None = None,
                 interactive: bool = False, cooked: bool = False, debugger: bool = False,
                 on_user: Callable[[], None] = lambda: None,
                 on_warning: Callable[[str], None] = lambda text: None) -> None:
        """LOG_FILES get the log as it comes. TIMEOUT counts seconds from the emulator's start. INTERACTIVE: every
        key of a terminal is for the guest, and leaving with Ctrl-A x is a normal end. COOKED: the guest's terminal makes
        lines and shows what is typed, as a user's does. DEBUGGER: one runs beside this
        session; it has the terminal and its Ctrl-C, and the boot may take any time. ON_USER is called when the program
        starts, ON_WARNING with what the kernel says of its command line."""
        self._machine = machine
        self._sink = sink
        self._log_files = log_files
        self._timeout = timeout
        self._interactive = interactive
        self._debugger = debugger
        self._on_user = on_user
        self._on_warning = on_warning
        self._log = EventLog(self._take_event)
        self._tail: deque[str] = deque(maxlen=TAIL_LINES)
        self._input: asyncio.Task | None = None
        self._terminal = RawTerminal(0, keep_signals=not interactive, guest_cooks=cooked)
        self._ending: asyncio.Future[Cause | None] = asyncio.get_running_loop().create_future()
        self._started = 0.0

    async def run(self) -> Outcome:
        """Runs the machine to its end, or ends it; never leaves the emulator or a changed terminal behind."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._take_signal, number)
        self._started = time.monotonic()
        try:
            try:
                await self._machine.start()
            except MachineError as error:
                return Outcome("machine", STATUS_MACHINE, problem=str(error))
            with contextlib.nullcontext() if self._debugger else self._terminal:
                return await self._supervise()
        finally:
            self._machine.close()

    def stop(self) -> None:
        """Ends the run from outside."""
        self._end(Cause("left", 0))

    def _take_signal(self, number: int) -> None:
        if not (self._debugger and number == signal.SIGINT):
            self._end(Cause("signal", STATUS_SIGNAL + number))

    async def _supervise(self) -> Outcome:
        loop = asyncio.get_running_loop()
        if self._timeout is not None:
            loop.call_later(self._timeout, self._end, Cause("timeout", STATUS_TIMEOUT))
        if not self._debugger:
            loop.call_later(BOOT_LIMIT, self._end_unbooted)
        watch = asyncio.create_task(self._watch())
        watch.add_done_callback(self._watch_done)
        problem = ""
        try:
            cause = await self._ending
            if cause is not None and cause.kind == "timeout":
                problem = await self._dump_waits()
        finally:
            if self._input is not None:
                self._input.cancel()
                await asyncio.wait({self._input})
            emulator_status = await self._machine.stop()
            seconds = self._now()
            await asyncio.wait({watch}, timeout=DRAIN_LIMIT)
            watch.cancel()
            await asyncio.wait({watch})
        return self._outcome(cause, problem, emulator_status, seconds)

    async def _watch(self) -> None:
        """Passes everything on until the emulator has ended and its channels are empty."""
        machine = self._machine
        await asyncio.gather(machine.wait(), self._pass_output(machine.terminal_out),
                             *(self._read_log(fd) for fd in machine.logs))

    def _watch_done(self, watch: asyncio.Task) -> None:
        if self._ending.done() or watch.cancelled():
            return
        error = watch.exception()
        if error is None:
            self._ending.set_result(None)
        elif isinstance(error, BrokenPipeError):  # nobody reads our output: end as any program would
            self._end(Cause("signal", STATUS_SIGNAL + signal.SIGPIPE))
        else:
            self._ending.set_exception(error)

    def _input_done(self, task: asyncio.Task) -> None:
        if not self._ending.done() and not task.cancelled() and task.exception() is not None:
            self._ending.set_exception(task.exception())

    async def _pass_output(self, fd: int) -> None:
        while data := await streams.read_some(fd):
            await self._sink.put(data)

    async def _read_log(self, fd: int) -> None:
        lines = Lines(self._take_line)
        while data := await streams.read_some(fd):
            for file in self._log_files:
                file.write(data)
                file.flush()
            lines.feed(data)
        lines.finish()

    def _take_line(self, line: str) -> None:
        self._tail.append(line)
        self._log.take(line, self._now())

    def _take_event(self, event: Event) -> None:
        loop = asyncio.get_running_loop()
        if event.kind == "user" and self._input is None:
            self._on_user()
            if not self._debugger:
                self._input = asyncio.create_task(self._pass_input())
                self._input.add_done_callback(self._input_done)
        elif event.kind == "option":
            self._on_warning(event.text)
        elif event.kind == "died":
            self._on_warning(f"a kernel died: {event.text}")
        elif event.kind == "exit":
            loop.call_later(EXIT_GRACE, self._machine.terminate)
        elif event.kind == "panic":
            loop.call_later(PANIC_LIMIT, self._machine.terminate)
        elif event.kind == "panic-end":
            loop.call_later(PANIC_GRACE, self._machine.terminate)
        elif event.kind == "input" and event.text.isdecimal():
            self._machine.input_was_read(int(event.text))

    async def _pass_input(self) -> None:
        """Passes standard input on until it ends; at its end tells the guest so, once all of it was taken."""
        if os.isatty(0) and not self._terminal.active:
            return  # a background job must not read the terminal
        escapes = EscapeFilter()
        try:
            while data := await streams.read_some(0, streams.CHUNK):
                if self._terminal.active:
                    data = escapes.feed(data)
                await self._machine.send_input(data)
                if escapes.left:
                    self._end(Cause("left", 0 if self._interactive else STATUS_SIGNAL + signal.SIGINT))
                    return
            await self._machine.end_input()
        except (OSError, MachineError):
            return  # standard input is not readable, or the machine is going away: neither ends the run

    async def _dump_waits(self) -> str:
        """The wait dump of a machine that ran out of time."""
        try:
            if await self._machine.dump_waits():
                await asyncio.sleep(DUMP_TIME)
        except MachineError as error:
            return f"no wait dump: {error}"
        return "\n".join(self._log.waits)

    def _end(self, cause: Cause) -> None:
        if not self._ending.done():
            self._ending.set_result(cause)

    def _end_unbooted(self) -> None:
        if self._log.user_time is None:
            self._end(Cause("no-boot", STATUS_MACHINE))

    def _now(self) -> float:
        return time.monotonic() - self._started

    def _outcome(self, cause: Cause | None, problem: str, emulator_status: int, seconds: float) -> Outcome:
        log = self._log
        outcome = Outcome("exit", 0, boot_seconds=log.user_time, seconds=seconds, plan=log.plan,
                          warnings=log.warnings, events=log.events)
        if log.panicked:
            outcome.kind, outcome.status = "machine", STATUS_MACHINE
            why = log.end_of_first()
            outcome.problem = "\n".join([*([] if why is None else [FIRST_DIED.format(why=why)]), *log.panic, *log.waits])
        elif cause is not None:
            outcome.kind, outcome.status = "stopped", cause.status
            if cause.kind == "timeout":
                outcome.kind = "timeout"
                outcome.problem = "\n".join(filter(None, (f"no end within {self._timeout:g} s", problem)))
            elif cause.kind == "no-boot":
                outcome.kind = "machine"
                outcome.problem = self._failure(f"no program started within {BOOT_LIMIT:g} s")
        elif log.exit is None:
            outcome.kind, outcome.status = "machine", STATUS_MACHINE
            outcome.problem = self._failure("the machine stopped by itself (a triple fault or a reset?); "
                                            f"the emulator's exit status is {emulator_status}")
        elif log.exit.signal is not None:
            outcome.kind, outcome.signal = "signal", log.exit.signal
            outcome.status = STATUS_SIGNAL + log.exit.signal
        else:
            outcome.status = log.exit.code or 0
        if outcome.kind in ("exit", "signal") and (deaths := log.unasked_deaths()):
            outcome.kind, outcome.status, outcome.signal = "machine", STATUS_MACHINE, None
            outcome.problem = "\n".join(f"a kernel died, and no program had asked for it: {death}" for death in deaths)
        return outcome

    def _failure(self, what: str) -> str:
        """WHAT went wrong, with the emulator's own words and the end of the log."""
        return "\n".join(filter(None, (what, self._machine.messages(), *self._tail)))
