"""The control channel of a QEMU (QMP): commands to it, and a watch over its end.

QEMU 7.2 can wait for ever in its own clean-up when a guest's reset meets a command under way. It has said SHUTDOWN by
then, or does not answer the command: after either it gets a grace, and then is killed.
"""

import asyncio
import contextlib
import socket
from typing import Callable

from qemu.qmp import EventListener, QMPClient, QMPError

from hosttools.errors import MachineError

SHUTDOWN_GRACE = 0.5  # seconds from SHUTDOWN to QEMU's end
ANSWER_LIMIT = 20.0  # for a command


# What the library raises when QEMU is gone; it asserts, when the end comes while it connects.
GONE = (QMPError, OSError, EOFError, AssertionError)


class Control:
    """The connection to one QEMU, which is made in the background from the start on."""

    def __init__(self, end: socket.socket, kill: Callable[[], None]) -> None:
        """END is our end of QEMU's control socket and is taken over; KILL ends a QEMU that does not end itself."""
        self._kill = kill
        self._client = QMPClient("kettle")
        self._client.logger.disabled = True  # what goes wrong is told by exceptions
        self._connecting = asyncio.create_task(self._client.connect(end))
        self._watching = asyncio.create_task(self._watch())

    async def execute(self, command: str, arguments: dict[str, str]) -> None:
        """One command. Raises MachineError when QEMU refuses it, does not answer or is gone."""
        try:
            async with asyncio.timeout(ANSWER_LIMIT):
                await asyncio.shield(self._connecting)
                await self._client.execute(command, arguments)
        except TimeoutError:
            self._kill()
            raise MachineError(f"QEMU does not answer {command}") from None
        except GONE as error:
            raise MachineError(f"QEMU: {command}: {error}") from None

    async def close(self) -> None:
        """Ends the connection; QEMU may be gone already."""
        self._watching.cancel()
        self._connecting.cancel()
        await asyncio.wait({self._watching, self._connecting})
        with contextlib.suppress(*GONE):
            await self._client.disconnect()

    async def _watch(self) -> None:
        shutdown = EventListener("SHUTDOWN")
        with self._client.listen(shutdown):
            with contextlib.suppress(*GONE):
                await asyncio.shield(self._connecting)
                await shutdown.get()
                await asyncio.sleep(SHUTDOWN_GRACE)
                self._kill()
