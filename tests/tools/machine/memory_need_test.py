"""hosttools.machine.memory_need: the constants are those of the sources, and the result grows with the machine."""

import re
import struct

import pytest

from hosttools.errors import UsageError
from hosttools.machine import memory_need
from hosttools.machine.topology import MIB, PAGE, make_topology
from hosttools.paths import ROOT


def expression(file: str, pattern: str) -> int:
    found = re.search(pattern, (ROOT / file).read_text())
    assert found, pattern
    return int(found[1])


def test_the_constants_are_those_of_the_sources():
    assert memory_need.STACK == expression("kernel/arch/x86_64/base/layout.h", r"#define STACK_SIZE (\d+)")
    assert memory_need.POOL == PAGE * expression("kernel/instance/instance.c", r"#define POOL_PAGES (\d+)")
    assert memory_need.CHANNEL_HEAD == PAGE * expression("msg/channel.c", r"sizeof\(struct channel_head\) == (\d+) \* PAGE_SIZE")
    assert memory_need.RING_SLOT == expression("msg/ring.h", r"#define RING_SLOT_SIZE (\d+)")


def needed(cpus: int, kernels: int, ring: int = 64, initramfs: int = 9 * MIB) -> int:
    return memory_need.need(make_topology(cpus, 1, None, None), kernels, 1 * MIB, initramfs, ring)


def test_it_grows_with_what_the_machine_has():
    assert needed(1, 1) < needed(4, 1) < needed(4, 2) < needed(4, 4) < needed(4, 4, ring=1024)
    assert needed(1, 1, initramfs=10 * MIB) == needed(1, 1) + MIB
    assert needed(4, 4, ring=128) == needed(4, 4) + 4 * 4 * 2 * 64 * 64


@pytest.mark.parametrize("words, ring", [("kernels=core", 64), ("ring=4 ring=1024", 1024), ("ring=5", 64)])
def test_the_minimum_that_is_said_is_enough(tmp_path, words, ring):
    kernel = tmp_path / "kernel"
    kernel.write_bytes(elf_of(3 * MIB))
    with pytest.raises(UsageError, match=r"4 MiB are too little for 2 kernels on 2 CPUs .* of 1\.0 MiB: the minimum is") as refused:
        memory_need.check(make_topology(2, 1, "4M", None), 2, kernel, MIB, words, grub=False)
    least = re.search(r"minimum is (\d+M)$", str(refused.value))[1]
    memory_need.check(make_topology(2, 1, least, None), 2, kernel, MIB, words, grub=False)
    assert int(least[:-1]) == -(-memory_need.need(make_topology(2, 1, None, None), 2, 3 * MIB, MIB, ring) // MIB)


def test_grub_needs_room_for_itself(tmp_path):
    (tmp_path / "kernel").write_bytes(elf_of(MIB))
    memory_need.check(make_topology(1, 1, "8M", None), 1, tmp_path / "kernel", MIB, "", grub=False)
    with pytest.raises(UsageError, match=f"the minimum is {memory_need.GRUB // MIB + 1}M$"):
        memory_need.check(make_topology(1, 1, "8M", None), 1, tmp_path / "kernel", MIB, "", grub=True)


def elf_of(size: int) -> bytes:
    """An executable whose one segment has SIZE bytes of memory."""
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1" + bytes(9), 2, 62, 1, MIB, 64, 0, 0, 64, 56, 1, 64, 0, 0)
    return header + struct.pack("<IIQQQQQQ", 1, 7, 0, MIB, MIB, 100, size, PAGE)
