"""Bochs: a second opinion about the machine. It boots the same kernel from an ISO image, through GRUB.

COM1 is a TCP connection to the tool (the only mode that passes every byte as it is), the kernel's log comes from port
0xe9 over Bochs' standard output, mixed with what its debugger says. Bochs has no NUMA tables and no NMI to give.
"""

import asyncio
import os
import socket
import subprocess
from pathlib import Path

from hosttools.errors import MachineError
from hosttools.machine.machine import Machine
from hosttools.machine.topology import MIB, Topology

CPU_MODEL = "corei7_haswell_4770"
FIRMWARE = Path("/usr/share/bochs")
CONNECT_LIMIT = 30.0  # seconds from the start to Bochs' connection for COM1


def configuration(topology: Topology, iso: Path, log: Path, port: int) -> str:
    """The bochsrc of a machine with the CPUs and memory of TOPOLOGY that boots ISO; COM1 connects to PORT."""
    size = topology.memory[0] // MIB
    return "\n".join([
        "config_interface: textconfig",
        "display_library: sdl2",
        f"romimage: file={FIRMWARE}/BIOS-bochs-latest",
        f"vgaromimage: file={FIRMWARE}/VGABIOS-lgpl-latest",
        f"cpu: model={CPU_MODEL}, count={topology.cpus}, ips=10000000, quantum=32, reset_on_triple_fault=0",
        f"memory: guest={size}, host={min(size, 1024)}",
        "clock: sync=none, time0=1704067200",
        "floppy_bootsig_check: disabled=1",
        f"ata0-master: type=cdrom, path=\"{iso}\", status=inserted",
        "boot: cdrom",
        f"com1: enabled=1, mode=socket-client, dev=localhost:{port}",
        "port_e9_hack: enabled=1",
        "sound: driver=dummy",
        "speaker: enabled=0",
        "panic: action=fatal",
        "error: action=report",
        f"log: {log}",
        ""])


def make_iso(script: Path, kernel: Path, module: Path, command_line: str, iso: Path) -> None:
    """Makes a bootable ISO image with tools/make-iso. Raises MachineError when that fails."""
    done = subprocess.run([script, kernel, module, command_line, iso], stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        raise MachineError(f"make-iso failed: {done.stdout.strip()}")


class BochsMachine(Machine):
    """A machine under Bochs."""

    def __init__(self, folder: Path, topology: Topology, iso: Path) -> None:
        super().__init__(folder)
        self._topology = topology
        self._iso = iso
        self._commands = folder / "debugger"
        self._configuration = folder / "bochsrc"
        self.command = ["bochs", "-q", "-f", str(self._configuration), "-rc", str(self._commands)]

    async def start(self) -> None:
        self._commands.write_text("c\n")  # Debian's Bochs stops in its debugger before the first instruction
        listener = socket.create_server(("127.0.0.1", 0))
        listener.setblocking(False)
        with listener:
            self._configuration.write_text(configuration(
                self._topology, self._iso, self.folder / "bochs.log", listener.getsockname()[1]))
            reader, writer = os.pipe2(os.O_CLOEXEC)
            os.set_blocking(reader, False)
            self.logs, self._writers = [reader], [writer]
            # No window: SDL's dummy driver draws nowhere.
            await self._spawn(stdout=writer, environment={"SDL_VIDEODRIVER": "dummy", "SDL_AUDIODRIVER": "dummy"})
            self.terminal_out = self.terminal_in = await self._accept(listener)

    async def _accept(self, listener: socket.socket) -> int:
        accept = asyncio.create_task(asyncio.get_running_loop().sock_accept(listener))
        ended = asyncio.create_task(self.wait())
        await asyncio.wait({accept, ended}, timeout=CONNECT_LIMIT, return_when=asyncio.FIRST_COMPLETED)
        ended.cancel()
        if not accept.done():
            accept.cancel()
            await self.stop()
            raise MachineError(f"Bochs did not start: {self.messages()}")
        connection, _ = accept.result()
        return connection.detach()

    async def end_input(self) -> None:
        """Bochs' serial port has no way to tell: the guest's reader waits."""

    async def dump_waits(self) -> bool:
        return False

    def messages(self) -> str:
        """Why Bochs gave up, of all that it tells."""
        log = self.folder / "bochs.log"
        told = super().messages() + ("\n" + log.read_text(errors="replace") if log.exists() else "")
        return "\n".join(line for line in told.splitlines() if ">>PANIC<<" in line)
