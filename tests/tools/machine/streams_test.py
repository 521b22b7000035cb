"""hosttools.machine.streams: no byte is lost or blocks the loop, whatever the descriptor is."""

import asyncio
import os
import socket

import pytest

from hosttools.machine import streams

DATA = bytes(range(256)) * 2000


def make_pipe():
    reader, writer = os.pipe()
    return reader, writer


def make_socket_pair():
    return tuple(end.detach() for end in socket.socketpair())


async def read_slowly(fd: int, size: int) -> bytes:
    found = b""
    while data := await streams.read_some(fd, size):
        found += data
        await asyncio.sleep(0.0005)
    return found


@pytest.mark.parametrize("make", [make_pipe, make_socket_pair])
@pytest.mark.parametrize("blocking", [True, False])
def test_all_that_is_written_arrives_however_slow_the_reader(make, blocking):
    reader, writer = make()
    os.set_blocking(writer, blocking)
    os.set_blocking(reader, blocking)

    async def both():
        reading = asyncio.create_task(read_slowly(reader, 3001))
        await streams.write_all(writer, DATA)
        os.close(writer)
        return await reading

    assert asyncio.run(both()) == DATA
    os.close(reader)


def test_a_descriptor_that_takes_little_at_a_time_gets_all(monkeypatch):
    """As a terminal does, or a non-blocking descriptor that fills up between the look and the write."""
    reader, writer = os.pipe()
    whole_write, calls = os.write, []

    def write_little(fd, data):
        calls.append(len(data))
        if len(calls) % 3 == 0:
            raise BlockingIOError
        return whole_write(fd, data[:7])

    monkeypatch.setattr(streams.os, "write", write_little)
    asyncio.run(streams.write_all(writer, DATA[:1000]))
    assert os.read(reader, 2000) == DATA[:1000]
    os.close(reader)
    os.close(writer)


def test_a_regular_file_is_read_to_its_end(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(DATA)
    with open(path, "rb") as file:
        assert asyncio.run(read_slowly(file.fileno(), 100000)) == DATA


def test_a_regular_file_is_written(tmp_path):
    with open(tmp_path / "file", "wb") as file:
        asyncio.run(streams.write_all(file.fileno(), DATA))
    assert (tmp_path / "file").read_bytes() == DATA


def test_a_reader_that_is_gone_is_an_error():
    reader, writer = os.pipe()
    os.close(reader)
    with pytest.raises(BrokenPipeError):
        asyncio.run(streams.write_all(writer, b"x"))
    os.close(writer)


def test_what_is_pending_in_a_pipe():
    reader, writer = os.pipe()
    os.write(writer, b"12345")
    assert streams.pending(reader) == streams.pending(writer) == 5
    os.read(reader, 3)
    assert streams.pending(writer) == 2
    os.close(reader)
    os.close(writer)
