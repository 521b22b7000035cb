"""`kettle debug`: a machine with gdb on one of its kernels, stopped where that kernel enters its C code.

gdb has the terminal; the program's output appears among its own, and the program gets no input.
"""

import argparse
import asyncio
import shutil
import tempfile
from pathlib import Path

from hosttools.errors import MachineError, UsageError
from hosttools.paths import ROOT
from hosttools.progress import Progress
from hosttools.run import run
from hosttools.run.session import FileSink, Session

SCRIPT = ROOT / "tools" / "gdb" / "kettle.py"
CONNECT_LIMIT = 10.0  # seconds for QEMU to open the debugger's socket
POLL = 0.02


def gdb_command(kernel_image: Path, socket: Path, kernels: list[list[int]], kernel: int) -> list[str]:
    """The gdb that attaches to SOCKET and runs the machine until KERNEL starts."""
    return ["gdb", "-q", str(kernel_image),
            "-ex", "set confirm off", "-ex", "set pagination off",
            "-ex", f"source {SCRIPT}", "-ex", f"python set_kernels({kernels})",
            "-ex", f"target remote {socket}", "-ex", f"kstart {kernel}"]


def main(options: argparse.Namespace) -> int:
    """Debugs what OPTIONS ask for; returns the exit status."""
    if options.os != "kettle" or options.emulator != "qemu":
        raise UsageError("debug is for Kettle under QEMU")
    if options.json:
        raise UsageError("debug is interactive: leave out --json")
    plan = run.check(options)
    if options.kernel >= len(plan.kernels):
        raise UsageError(f"--kernel {options.kernel}: the kernels are 0 to {len(plan.kernels) - 1}")
    if shutil.which("gdb") is None:
        raise UsageError(f"gdb is not installed: run {ROOT / 'tools' / 'setup'}")
    return asyncio.run(_debug(plan))


async def _debug(plan: run.Plan) -> int:
    options = plan.options
    with tempfile.TemporaryDirectory(prefix="kettle-") as folder, run.log_files(options) as logs:
        door = Path(folder, "gdb")
        progress = Progress(quiet=True)
        machine = run.make_machine(plan, Path(folder), progress, (
            "-S", "-chardev", f"socket,id=gdb,path={door},server=on,wait=off", "-gdb", "chardev:gdb"))
        session = Session(machine, FileSink(1), logs, timeout=options.timeout, debugger=True,
                          on_warning=progress.warn)
        running = asyncio.create_task(session.run())
        try:
            await _wait_for(door, running)
            gdb = await asyncio.create_subprocess_exec(
                *gdb_command(plan.kernel, door, plan.kernels, options.kernel))
            status = await gdb.wait()
        finally:
            session.stop()
            outcome = await running
    if outcome.kind == "machine" and outcome.problem:
        print(outcome.problem)
    return status


async def _wait_for(door: Path, running: asyncio.Task) -> None:
    """Waits until QEMU listens at DOOR."""
    for _ in range(int(CONNECT_LIMIT / POLL)):
        if door.exists() or running.done():
            break
        await asyncio.sleep(POLL)
    if not door.exists():
        raise MachineError("QEMU did not open the debugger's socket")
