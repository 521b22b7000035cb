"""Byte streams of the event loop over plain descriptors, whatever they are: pipe, socket, terminal or file.

No descriptor is made non-blocking here: those the tool was started with are shared with other processes.
"""

import asyncio
import fcntl
import os
import select
import struct
import termios

CHUNK = 4096  # PIPE_BUF: a pipe ready for writing takes this much without blocking


async def readable(fd: int) -> None:
    """Waits until a read from FD would not block."""
    loop = asyncio.get_running_loop()
    await _ready(fd, loop.add_reader, loop.remove_reader)


async def writable(fd: int) -> None:
    """Waits until FD takes CHUNK bytes without blocking."""
    if not select.select([], [fd], [], 0)[1]:
        loop = asyncio.get_running_loop()
        await _ready(fd, loop.add_writer, loop.remove_writer)


async def _ready(fd: int, add, remove) -> None:
    future = asyncio.get_running_loop().create_future()
    try:
        add(fd, lambda: future.done() or future.set_result(None))
    except PermissionError:  # a regular file or /dev/null, which the event loop cannot watch, never blocks
        return
    try:
        await future
    finally:
        remove(fd)


async def write_all(fd: int, data: bytes) -> None:
    """Writes DATA to FD, waiting for room as often as it takes. Raises OSError as os.write does."""
    view = memoryview(data)
    while view:
        await writable(fd)
        try:
            view = view[os.write(fd, view[:CHUNK]):]
        except BlockingIOError:
            continue


async def read_some(fd: int, size: int = 1 << 16) -> bytes:
    """The next bytes of FD, at most SIZE, waiting for them; none at the end of file. A connection that was
    reset has ended."""
    while True:
        await readable(fd)
        try:
            return os.read(fd, size)
        except BlockingIOError:
            continue
        except ConnectionResetError:
            return b""


def pending(fd: int) -> int:
    """How many bytes lie in the pipe FD, unread."""
    return struct.unpack("i", fcntl.ioctl(fd, termios.FIONREAD, bytes(4)))[0]
