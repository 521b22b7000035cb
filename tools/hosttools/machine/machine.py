"""One running emulator, whichever it is: its process and the channels to the guest.

Interface: `start` it; read `terminal_out` and `logs` to their ends, which come once the emulator has ended and all it
wrote was read; `send_input`; `wait` for the emulator or `stop` it; `close` it. All descriptors are
non-blocking. Nothing here outlives the tool: should that be killed, the kernel kills the emulator.
"""

import asyncio
import os
import shlex
from abc import ABC, abstractmethod
from pathlib import Path

from hosttools.errors import MachineError
from hosttools.machine import streams

STOP_GRACE = 2.0  # seconds an emulator gets to end by itself before it is killed


class Machine(ABC):
    """An emulator about to run, running, or ended."""

    def __init__(self, folder: Path) -> None:
        """FOLDER is an empty folder for this run's own files; the caller removes it."""
        self.folder = folder
        self.command: list[str] = []  # as a user could type it
        self.terminal_out = -1  # bytes from COM1
        self.terminal_in = -1  # bytes for COM1: see send_input
        self.logs: list[int] = []  # log channels, the one with the events first
        self._writers: list[int] = []  # keep the pipes from the guest from ending before the emulator opens them
        self._process: asyncio.subprocess.Process | None = None
        self._messages = folder / "emulator.log"

    @abstractmethod
    async def start(self) -> None:
        """Opens the channels and starts the emulator. Raises MachineError when it cannot be started."""

    async def send_input(self, data: bytes) -> None:
        """Passes DATA to COM1, no faster than the guest takes it. Raises OSError when the emulator is gone."""
        await streams.write_all(self.terminal_in, data)

    @abstractmethod
    async def end_input(self) -> None:
        """Tells the guest that no input follows what it was sent. Raises OSError or MachineError when the emulator is
        gone."""

    def input_was_read(self, count: int) -> None:
        """The guest's event @input: its program has read COUNT bytes in all."""

    @abstractmethod
    async def dump_waits(self) -> bool:
        """Asks every CPU to write its wait dump to the log; False when this emulator or guest cannot."""

    async def _spawn(self, stdout: int | None = None, pass_fds: tuple[int, ...] = (),
                     environment: dict[str, str] | None = None) -> None:
        """Starts self.command. Its standard output goes to STDOUT, or with its errors to a file for `messages`."""
        with open(self._messages, "wb") as messages:
            try:
                self._process = await asyncio.create_subprocess_exec(
                    "setpriv", "--pdeathsig", "KILL", "--", *self.command,
                    stdin=asyncio.subprocess.DEVNULL, stdout=messages if stdout is None else stdout, stderr=messages,
                    pass_fds=pass_fds, start_new_session=True, env={**os.environ, **(environment or {})})
            except OSError as error:
                raise MachineError(f"cannot start {self.command[0]}: {error}") from None

    async def wait(self) -> int:
        """Waits for the emulator's end; its exit status, negative for a signal."""
        assert self._process is not None
        status = await self._process.wait()
        while self._writers:
            os.close(self._writers.pop())
        return status

    def terminate(self) -> None:
        """Asks the emulator to end, if it has not."""
        if self._process is not None and self._process.returncode is None:
            self._process.terminate()

    def kill(self) -> None:
        """Ends the emulator at once, if it has not ended."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    async def stop(self) -> int:
        """Ends the emulator, gently if it lets itself; returns as `wait`."""
        assert self._process is not None
        if self._process.returncode is None:
            self.terminate()
            try:
                await asyncio.wait_for(self._process.wait(), STOP_GRACE)
            except asyncio.TimeoutError:
                self.kill()
        return await self.wait()

    def messages(self) -> str:
        """What the emulator itself said."""
        return self._messages.read_text(errors="replace").strip() if self._messages.exists() else ""

    def command_line(self) -> str:
        """The command as one line of shell."""
        return shlex.join(self.command)

    def close(self) -> None:
        """Closes the channels."""
        for fd in {self.terminal_out, self.terminal_in, *self.logs, *self._writers} - {-1}:
            os.close(fd)
        self.terminal_out = self.terminal_in = -1
        self.logs, self._writers = [], []

    def _open_pipe(self, name: str) -> tuple[int, int]:
        """Makes the pair of named pipes that QEMU's pipe character device takes as the path FOLDER/NAME; our two
        ends: to read from the guest, and to write to it."""
        paths = [self.folder / f"{name}{suffix}" for suffix in (".out", ".in")]
        for path in paths:
            os.mkfifo(path, 0o600)
        reader = os.open(paths[0], os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self._writers.append(os.open(paths[0], os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))
        # Open for reading too, or opening it before the emulator does would fail.
        return reader, os.open(paths[1], os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
