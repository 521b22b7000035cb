#!/usr/bin/env python3
"""Writes the fuzzers' first inputs, one folder for each fuzzer, into the folder given.

    tests/fuzz/seeds.py FOLDER
"""

import pathlib
import random
import struct
import sys

BASE = 0x10000  # FUZZ_BASE in fuzz.h
TABLES = pathlib.Path(__file__).parent.parent / "boot" / "tables"


def align(data, to):
    return data + bytes(-len(data) % to)


def with_checksum(data, at, length=None):
    data = bytearray(data)
    data[at] = 0
    data[at] = -sum(data[:length]) % 256
    return bytes(data)


def read_capture(path):
    """The pieces of a file that tests/boot/acpi/capture.py wrote, without their addresses."""
    pieces = []
    for line in path.read_text().splitlines():
        if line.startswith("@"):
            pieces.append(b"")
        elif not line.startswith("#"):
            pieces[-1] += bytes.fromhex(line)
    return pieces


def pack_tables(tables, revision):
    """An RSDP, its root table and TABLES as one piece of memory at BASE."""
    entry, name = ("<Q", b"XSDT") if revision >= 2 else ("<I", b"RSDT")
    root = BASE + 64
    root_length = 36 + len(tables) * struct.calcsize(entry)
    at = root + (root_length + 15) // 16 * 16
    entries, body = b"", b""
    for table in tables:
        entries += struct.pack(entry, at + len(body))
        body += align(table, 16)
    header = struct.pack("<4sIBB6s8sI4sI", name, root_length, 1, 0, b"KETTLE", b"FUZZSEED", 1, b"KTTL", 1)
    rsdp = struct.pack(
        "<8sB6sBIIQBxxx", b"RSD PTR ", 0, b"KETTLE", revision, 0 if revision >= 2 else root, 36, root if revision >= 2 else 0, 0
    )
    rsdp = with_checksum(with_checksum(rsdp, 8, 20), 32)
    return align(rsdp, 64) + align(with_checksum(header + entries, 9), 16) + body


def acpi():
    for path in sorted(TABLES.glob("*.acpi")):
        tables = [piece for piece in read_capture(path)[2:] if piece[:4] in (b"APIC", b"SRAT", b"SLIT")]
        for revision in (0, 2):
            packed = pack_tables(tables, revision)
            if len(packed) <= 1024:
                yield packed
    x2apic = b"".join(struct.pack("<BBHIII", 9, 16, 0, 300 + cpu, 1, cpu) for cpu in range(4))
    madt = struct.pack("<4sIBB28sIIBBHQ", b"APIC", 44 + 12 + len(x2apic), 3, 0, b"", 0xFEE00000, 0, 5, 12, 0, 0xFEE00000) + x2apic
    entries = b"".join(struct.pack("<BBHIIIII", 2, 24, 0, cpu * 7, 300 + cpu, 1, 0, 0) for cpu in range(4))
    srat = struct.pack("<4sIBB26s12x", b"SRAT", 48 + len(entries), 3, 0, b"") + entries
    yield pack_tables([with_checksum(madt, 9), with_checksum(srat, 9)], 2)


def multiboot2():
    def tag(kind, body):
        return align(struct.pack("<II", kind, 8 + len(body)) + body, 8)

    memory = struct.pack("<II", 24, 0)
    for base, size, kind in ((0, 0x9FC00, 1), (0x9FC00, 0x400, 2), (0x100000, 0x7EE0000, 1), (0x100000000, 1 << 30, 1)):
        memory += struct.pack("<QQII", base, size, kind, 0)
    tags = [
        tag(1, b"kernels=node boot=all\0"), tag(2, b"GRUB 2.06\0"), tag(3, struct.pack("<II", 0x200000, 0x300123) + b"initramfs\0"),
        tag(6, memory), tag(14, bytes(20)), tag(15, bytes(36)), tag(0, b""),
    ]  # fmt: skip
    for chosen in (tags, [tags[3], tags[-1]]):
        body = b"".join(chosen)
        yield struct.pack("<II", 8 + len(body), 0) + body


def pvh():
    ranges = ((0, 0x9FC00, 1), (0xFFFC0000, 0x40000, 2), (0x100000, 0x7EE0000, 1))
    memory = b"".join(struct.pack("<QQII", base, size, kind, 0) for base, size, kind in ranges)
    modules = struct.pack("<QQQQ", 0x7000000, 12345, 0, 0)
    cmdline = b"kernels=core seed=1\0"
    at = BASE + 56
    start = struct.pack(
        "<IIIIQQQQII", 0x336EC578, 1, 0, 1, at + len(memory), at + len(memory) + len(modules), 0xF5B00, at, len(ranges), 0
    )
    yield start + memory + modules + cmdline


def cpio():
    def entry(name, mode, data=b""):
        fields = (1, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
        header = b"070701" + b"".join(b"%08x" % field for field in fields)
        return align(align(header + name + b"\0", 4) + data, 4)

    trailer = entry(b"TRAILER!!!", 0)
    yield entry(b".", 0o40755) + entry(b"./bin/tour", 0o100755, b"program") + trailer
    yield align(entry(b"/etc/motd", 0o100644, b"hello\n") + trailer, 512) + entry(b"run/a.out", 0o100755, b"x" * 100) + trailer


def elf():
    def program(kind, segments):
        header = struct.pack(
            "<4sBBBB8xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 0, kind, 62, 1, segments[0][2] + 0x200, 64, 0, 0, 64, 56, len(segments) + 1, 0, 0, 0
        )
        headers = b"".join(
            struct.pack("<IIQQQQQQ", 1, flags, offset, address, address, size, memory, 4096)
            for flags, offset, address, size, memory in segments
        )
        headers += struct.pack("<IIQQQQQQ", 0x6474E551, 6, 0, 0, 0, 0, 0, 16)
        return (header + headers).ljust(segments[-1][1] + segments[-1][3], b"\x90")

    yield program(2, [(5, 0, 0x400000, 0x800, 0x800), (6, 0x800, 0x402800, 0x100, 0x1000)])
    yield program(3, [(5, 0, 0, 0x800, 0x800), (6, 0x800, 0x2800, 0x100, 0x1000), (4, 0x1000, 0x5000, 0x10, 0x10)])


def plan():
    source = random.Random(1)
    for choice in range(8):
        for size in (64, 256, 1024):
            yield bytes([choice]) + bytes([source.randrange(6), source.randrange(12)]) + source.randbytes(size)


def p9_message():
    """Answers of a 9P server, each behind the number of what was asked in tests/kernel/fs/share/p9_message_fuzz.c."""
    def answer(asked, kind, body):
        return bytes([asked]) + struct.pack("<IBH", 7 + len(body), kind, 0) + body

    qid = struct.pack("<BIQ", 0x80, 1, 4711)
    entry = qid + struct.pack("<QBH", 1, 4, 3) + b"one"
    attributes = struct.pack("<Q", 0x7ff) + qid + struct.pack("<III15Q", 0o100644, 0, 0, 1, *[0] * 14)
    yield answer(0, 111, struct.pack("<H", 2) + 2 * qid)
    yield answer(1, 117, struct.pack("<I", 5) + b"bytes")
    yield answer(2, 41, struct.pack("<I", 2 * len(entry)) + 2 * entry)
    yield answer(3, 25, attributes)
    yield answer(4, 23, struct.pack("<H", 4) + b"name")
    yield answer(5, 9, struct.pack("<II6QI", 1, 4096, 1, 2, 3, 4, 5, 6, 255))
    yield answer(6, 101, struct.pack("<IH", 65536, 8) + b"9P2000.L")
    yield answer(7, 121, b"")
    yield answer(0, 7, struct.pack("<I", 2))


def p9_client():
    """What a 9P server answers, one after the other, as tests/kernel/fs/share/p9_client_fuzz.c takes it: how, length, what is behind the header."""
    def answer(body):
        return struct.pack("<BH", 3, len(body)) + bytes(7) + body

    qid = struct.pack("<BIQ", 0x80, 1, 1)
    start = answer(struct.pack("<IH", 65536, 8) + b"9P2000.L") + answer(qid)
    yield start + b"\0" + answer(struct.pack("<H", 3) + 3 * qid)
    yield start + b"\2" + answer(struct.pack("<I", 5) + b"bytes") + b"\2" + answer(struct.pack("<I", 0))
    yield start + b"\3" + answer(struct.pack("<I", 300))
    yield start + b"\4" + answer(struct.pack("<I", 27) + qid + struct.pack("<QBH", 1, 4, 3) + b"one")
    yield start + b"\5" + answer(struct.pack("<H", 4) + b"name")
    yield start + b"\6" + answer(struct.pack("<Q", 0x7ff) + qid + struct.pack("<III15Q", 0o100644, 0, 0, 1, *[0] * 14))
    yield start + b"\7" + answer(bytes(64)) + b"\x08" + answer(qid) + b"\x09" + answer(b"")


def main():
    folder = pathlib.Path(sys.argv[1])
    for generate in (acpi, multiboot2, pvh, cpio, elf, plan, p9_message, p9_client):
        target = folder / generate.__name__
        target.mkdir(parents=True, exist_ok=True)
        for number, data in enumerate(generate()):
            (target / f"seed-{number}").write_bytes(data)


if __name__ == "__main__":
    main()
