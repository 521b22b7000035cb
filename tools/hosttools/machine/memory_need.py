"""How much memory a machine needs at least for its kernels to start. With less, the emulator could not even place what it
loads, and the guest would reset without a word.

The parts of a chunk are those of chunk_layout_compute (kernel/instance/instance.c); tests/tools/machine/memory_need_test.py compares
the constants with the sources. What a kernel needs beyond its chunk was measured, as the least memory with which `hello` runs
on 1, 2, 4, 8, 16 and 64 kernels, and on one kernel of 4 CPUs; what GRUB needs, with initial file systems of 9, 13 and 19 MiB.
tests/qemu/test_boot.py boots machines of the result.
"""

from pathlib import Path

from hosttools.errors import UsageError
from hosttools.image import elf
from hosttools.machine import boot_options
from hosttools.machine.topology import KERNELS_MAX, MIB, PAGE, Topology

STACK = 16384  # STACK_SIZE
POOL = 96 * PAGE  # POOL_PAGES
CHANNEL_HEAD = 3 * PAGE  # struct channel_head
RING_SLOT = 64  # RING_SLOT_SIZE
CLASSES = 2  # MSG_CLASSES: rings from each kernel

LOADED = 1280 << 10  # below 1 MiB, the firmware's tables and the page tables at boot
HEAP = 688 << 10  # what a kernel needs beyond its chunk until the first program runs
CPU = 64 << 10  # what a kernel needs for each CPU but its first
GRUB = 22 * MIB  # what GRUB needs besides the initial file system; with less it starts the kernel without that


def need(topology: Topology, kernels: int, image: int, initramfs: int, ring: int) -> int:
    """The bytes that a machine of KERNELS kernels needs, whose rings have RING slots; IMAGE and INITRAMFS are the bytes of
    what it boots."""
    rings = min(topology.cpus, KERNELS_MAX) * CLASSES * ring * RING_SLOT
    chunk = image + STACK + CHANNEL_HEAD + rings + POOL
    return LOADED + image + initramfs + kernels * (chunk + HEAP) + (topology.cpus - kernels) * CPU


def check(topology: Topology, kernels: int, kernel: Path, initramfs: int, words: str, grub: bool) -> None:
    """Raises UsageError when the machine has too little memory for KERNELS kernels of the image KERNEL. WORDS is their command
    line. GRUB: it loads them."""
    given = dict(word.split("=", 1) for word in words.split() if "=" in word)
    row = boot_options.rows()["ring"]
    ring = given.get("ring", row.fallback)
    least = need(topology, kernels, elf.loaded_size(kernel), initramfs, int(ring if row.allows(ring) else row.fallback))
    if grub:
        least = max(least, GRUB + initramfs)
    size = sum(topology.memory)
    if size < least:
        raise UsageError(f"--mem: {size / MIB:.4g} MiB are too little for {kernels} kernel{'s' if kernels > 1 else ''} on "
                         f"{topology.cpus} CPU{'s' if topology.cpus > 1 else ''} and an initial file system of "
                         f"{initramfs / MIB:.1f} MiB: the minimum is {-(-least // MIB)}M")
