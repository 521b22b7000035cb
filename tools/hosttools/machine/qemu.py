"""QEMU: the command line of a machine, and the machine running.

The machine is the same for every guest: q35, a memory backend for each node, COM1 on a pair of pipes, the debug
console at port 0xe9 on another, isa-debug-exit at 0xf4, and QMP on a socket pair.
"""

import asyncio
import os
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

from hosttools.errors import MachineError
from hosttools.machine import streams
from hosttools.machine.control import Control
from hosttools.machine.machine import Machine
from hosttools.machine.topology import Topology

PROGRAM = "qemu-system-x86_64"
CPU_MODEL = "max,-erms,-fsrm"  # string instructions count once per iteration under TCG: without ERMS code avoids them
KVM = "/dev/kvm"
KVM_LIMIT = 10.0  # seconds for QEMU to set up a machine that does not run
POLL = 0.005  # seconds between looks at what QEMU has left in the pipe to COM1
FIXED_TIME = "2024-01-01T00:00:00"


def kvm_works() -> bool:
    """Whether QEMU can set up this CPU under KVM. That /dev/kvm is there and answers is not enough: where KVM is nested, QEMU
    may still fail to set the CPU's registers."""
    if not os.access(KVM, os.R_OK | os.W_OK):
        return False
    command = [PROGRAM, "-machine", "q35", "-accel", "kvm", "-cpu", CPU_MODEL, "-display", "none", "-nodefaults", "-S",
               "-monitor", "stdio"]
    try:
        done = subprocess.run(command, input=b"quit\n", capture_output=True, timeout=KVM_LIMIT, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


@dataclass(frozen=True)
class Pace:
    """How QEMU executes: the options --accel, --tcg, --icount, --turn, --seed and --prealloc."""

    threads: str = "multi"  # of TCG, or "single"
    icount: int | None = None
    seed: int | None = None
    accel: str = "tcg"  # or "kvm"
    prealloc: bool = False  # of memory
    turn: int | None = None  # microseconds of guest time; None: a CPU's turn ends at the next timer, after 100 ms at most

    def arguments(self) -> list[str]:
        """The emulator options of this pace."""
        arguments = ["-accel", f"tcg,thread={self.threads}" if self.accel == "tcg" else self.accel]
        if self.icount is not None:
            # sleep=off: an idle machine goes on to its next timer at once, instead of waiting for the host's clock.
            arguments += ["-icount", f"shift={self.icount},sleep=off"]
        if self.turn is not None:
            # With -icount a CPU's turn ends where any timer of the guest's clock is due. A filter of a network that nobody has is one
            # that the guest neither sees nor pays for.
            arguments += ["-netdev", "hubport,id=turn,hubid=0", "-netdev", "hubport,id=turns,hubid=1,netdev=turn",
                          "-object", f"filter-buffer,id=each,netdev=turns,interval={self.turn}"]
        if self.seed is not None:
            arguments += ["-seed", str(self.seed), "-rtc", f"base={FIXED_TIME},clock=vm"]
        return arguments


@dataclass(frozen=True)
class Boot:
    """What the machine starts: a kernel QEMU loads itself, or an ISO image."""

    kernel: Path | None = None
    initrd: Path | None = None
    command_line: str = ""
    iso: Path | None = None

    def arguments(self) -> list[str]:
        """The emulator options that boot this."""
        if self.iso is not None:
            return ["-cdrom", str(self.iso), "-boot", "d"]
        arguments = ["-kernel", str(self.kernel), "-append", self.command_line]
        return arguments + (["-initrd", str(self.initrd)] if self.initrd else [])


def topology_arguments(topology: Topology, prealloc: bool = False) -> list[str]:
    """-smp, -m, one memory backend a node, its CPUs, and the distances. A socket is a node where the CPUs divide
    evenly, otherwise each CPU is a socket of its own, so that no socket spans nodes. PREALLOC: the host's memory is the
    machine's before it starts, and not from the first touch of each page on."""
    cpus, nodes = topology.cpus, topology.nodes
    sockets = nodes if cpus % nodes == 0 else cpus
    arguments = ["-smp", f"cpus={cpus},sockets={sockets},cores={cpus // sockets},threads=1",
                 "-m", f"{sum(topology.memory)}B"]
    for node, size in enumerate(topology.memory):
        arguments += ["-object", f"memory-backend-ram,id=node{node},size={size}{',prealloc=on' if prealloc else ''}"]
        members = topology.node_cpus(node)
        span = f",cpus={members[0]}-{members[-1]}" if members else ""
        arguments += ["-numa", f"node,nodeid={node},memdev=node{node}{span}"]
    for source, row in enumerate(topology.distances or ()):
        for target, value in enumerate(row):
            arguments += ["-numa", f"dist,src={source},dst={target},val={value}"]
    return arguments


class QemuMachine(Machine):
    """A machine under QEMU."""

    def __init__(self, folder: Path, topology: Topology, pace: Pace, boot: Boot,
                 extra: tuple[str, ...] = ()) -> None:
        """EXTRA is added to QEMU's options."""
        super().__init__(folder)
        self.command = [
            PROGRAM, "-machine", "q35", "-cpu", CPU_MODEL, *pace.arguments(), *topology_arguments(topology, pace.prealloc),
            "-display", "none", "-nodefaults", "-no-reboot", *boot.arguments(),
            "-chardev", f"pipe,id=com1,path={folder}/com1", "-serial", "chardev:com1",
            "-chardev", f"pipe,id=log,path={folder}/log", "-device", "isa-debugcon,iobase=0xe9,chardev=log",
            "-device", "isa-debug-exit,iobase=0xf4,iosize=0x04", *extra]
        self._control: Control | None = None

    async def start(self) -> None:
        self.terminal_out, self.terminal_in = self._open_pipe("com1")
        log, unused = self._open_pipe("log")
        os.close(unused)
        self.logs = [log]
        ours, theirs = socket.socketpair()
        self.command += ["-chardev", f"socket,id=qmp,fd={theirs.fileno()}", "-mon", "chardev=qmp,mode=control"]
        with theirs:
            try:
                await self._spawn(pass_fds=(theirs.fileno(),))
            except MachineError:
                ours.close()
                raise
        self._control = Control(ours, self.kill)

    async def end_input(self) -> None:
        """A break on the line, once QEMU has taken the last byte."""
        while streams.pending(self.terminal_in):
            await asyncio.sleep(POLL)
        await self._execute("chardev-send-break", {"id": "com1"})

    async def dump_waits(self) -> bool:
        """An NMI on every CPU."""
        await self._execute("inject-nmi", {})
        return True

    async def stop(self) -> int:
        if self._control is not None:
            await self._control.close()
            self._control = None
        return await super().stop()

    async def _execute(self, command: str, arguments: dict[str, str]) -> None:
        if self._control is None:
            raise MachineError(f"QEMU: {command}: no control connection")
        await self._control.execute(command, arguments)
