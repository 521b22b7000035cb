#!/usr/bin/env python3
"""Captures the ACPI tables that QEMU's firmware builds, as fixtures for tests/boot/acpi/capture_test.c.

    tests/boot/acpi/capture.py [NAME...]

starts each machine below without a disk, waits until the firmware has written an RSDP, reads the RSDP and every table
it leads to out of the guest's memory, and writes tests/boot/tables/NAME.acpi:

    # comment
    @ ADDRESS LENGTH        physical, hexadecimal and decimal
    hexadecimal bytes, 32 a line
"""

import json
import pathlib
import socket
import struct
import subprocess
import sys
import tempfile
import time

FOLDER = pathlib.Path(__file__).parent / "tables"
BIOS_START, BIOS_SIZE = 0xE0000, 0x20000
DEADLINE = 30.0


def nodes(sizes, cpus, distances=()):
    """-numa options: one size in MiB a node (0: none), then (first, last) CPU and node, then (from, to, value)."""
    options = []
    for node, size in enumerate(sizes):
        if size:
            options += ["-object", f"memory-backend-ram,id=m{node},size={size}M"]
            options += ["-numa", f"node,nodeid={node},memdev=m{node}"]
        else:
            options += ["-numa", f"node,nodeid={node}"]
    for first, last, node in cpus:
        for cpu in range(first, last + 1):
            options += ["-numa", f"cpu,node-id={node},socket-id={cpu}"]
    for source, target, value in distances:
        options += ["-numa", f"dist,src={source},dst={target},val={value}"]
    return options


def sockets(count):
    return ["-smp", f"{count},sockets={count},cores=1,threads=1"]


RING = [(a, b, 10 + 6 * min((a - b) % 4, (b - a) % 4)) for a in range(4) for b in range(4) if a != b]

MACHINES = {
    "q35-1cpu": ["-m", "256M", *sockets(1)],
    "pc-2cpus": ["-M", "pc", "-m", "128M", *sockets(2)],
    "q35-8cpus-4nodes": [
        "-m", "512M", *sockets(8),
        *nodes([128] * 4, [(2 * n, 2 * n + 1, n) for n in range(4)], RING),
    ],
    # node 7 has memory and no CPU; memory goes beyond 4 GiB
    "q35-64cpus-8nodes": [
        "-m", "5120M", *sockets(64),
        *nodes([640] * 8, [(9 * n, 9 * n + 8, n) for n in range(6)] + [(54, 63, 6)]),
    ],
    # node 1 has CPUs and no memory, node 2 neither, node 3 memory only; two CPUs are not plugged in
    "q35-odd": [
        "-m", "333M", "-smp", "4,maxcpus=6,sockets=6,cores=1,threads=1",
        *nodes([77, 0, 0, 256], [(0, 1, 0), (2, 5, 1)], [(0, 1, 20), (0, 2, 30), (0, 3, 40), (1, 2, 20), (1, 3, 15), (2, 3, 20)]),
    ],
}  # fmt: skip


class Machine:
    """A QEMU with a control socket."""

    def __init__(self, options, folder):
        path = folder / "control"
        machine = [] if "-M" in options else ["-M", "q35"]
        self.process = subprocess.Popen(
            ["qemu-system-x86_64", "-nodefaults", "-display", "none", "-net", "none", *machine, *options]
            + ["-qmp", f"unix:{path},server=on,wait=off"]
        )
        self.folder = folder
        deadline = time.monotonic() + DEADLINE
        while not path.exists():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit("QEMU did not start")
            time.sleep(0.05)
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        self.stream = self.socket.makefile("rw")
        self.stream.readline()
        self.command("qmp_capabilities")

    def command(self, name, **arguments):
        self.stream.write(json.dumps({"execute": name, "arguments": arguments}) + "\n")
        self.stream.flush()
        while True:
            answer = json.loads(self.stream.readline())
            if "error" in answer:
                raise SystemExit(f"{name}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]

    def read(self, address, size):
        path = self.folder / "memory"
        self.command("pmemsave", val=address, size=size, filename=str(path))
        return path.read_bytes()

    def stop(self):
        self.command("quit")
        self.process.wait()


def find_rsdp(machine):
    """(address, bytes) of the RSDP, once the firmware has written it."""
    deadline = time.monotonic() + DEADLINE
    while time.monotonic() < deadline:
        area = machine.read(BIOS_START, BIOS_SIZE)
        for offset in range(0, BIOS_SIZE, 16):
            if area[offset : offset + 8] == b"RSD PTR " and sum(area[offset : offset + 20]) % 256 == 0:
                size = struct.unpack_from("<I", area, offset + 20)[0] if area[offset + 15] >= 2 else 20
                return BIOS_START + offset, area[offset : offset + size]
        time.sleep(0.2)
    raise SystemExit("the firmware wrote no RSDP")


def read_table(machine, address):
    size = struct.unpack_from("<I", machine.read(address, 36), 4)[0]
    return machine.read(address, size)


def capture(options):
    """[(address, bytes)] of the RSDP, the root tables and what they list."""
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(options, pathlib.Path(folder))
        try:
            pieces = [find_rsdp(machine)]
            rsdp = pieces[0][1]
            roots = [(struct.unpack_from("<I", rsdp, 16)[0], "I")]
            if rsdp[15] >= 2:
                roots.append((struct.unpack_from("<Q", rsdp, 24)[0], "Q"))
            listed = set()
            for address, kind in roots:
                if address:
                    table = read_table(machine, address)
                    pieces.append((address, table))
                    listed.update(value for (value,) in struct.iter_unpack("<" + kind, table[36:]))
            pieces += [(address, read_table(machine, address)) for address in sorted(listed)]
            return pieces
        finally:
            machine.stop()


def main():
    FOLDER.mkdir(exist_ok=True)
    for name in sys.argv[1:] or MACHINES:
        options = MACHINES[name]
        lines = [f"# made by tests/boot/acpi/capture.py: QEMU {' '.join(options)}"]
        for address, data in capture(options):
            lines.append(f"@ {address:#x} {len(data)}")
            lines += [data[at : at + 32].hex() for at in range(0, len(data), 32)]
        (FOLDER / f"{name}.acpi").write_text("\n".join(lines) + "\n")
        print(f"{name}: {sum(1 for line in lines if line[0] == '@')} tables")


if __name__ == "__main__":
    main()
