"""The Linux baseline: Debian's stock cloud kernel on the same QEMU machine, with the same program and files.

The kernel comes from the package linux-image-cloud-amd64 through apt, is unpacked into a cache and never installed or
booted on the host. Its first process is tools/linux/init.c.
"""

import asyncio
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Callable, Sequence

from hosttools.errors import UsageError
from hosttools.image import cpio
from hosttools.machine import streams
from hosttools.machine.qemu import Boot, Pace, QemuMachine
from hosttools.machine.topology import Topology
from hosttools.paths import ROOT, build_dir

PACKAGE = "linux-image-cloud-amd64"
COMPILER = "gcc"
WINDOW = 3072  # bytes of input under way: less than the buffer of a Linux terminal, which drops what does not fit
INIT_SOURCE = ROOT / "tools" / "linux" / "init.c"
# Linux's own console is COM2. Mitigations cost time and say nothing about an emulated CPU.
# no_timer_check: on a busy machine the emulated timer is late, for which Linux would panic now and then while it boots
COMMAND_LINE = "console=ttyS1 quiet loglevel=4 panic=-1 mitigations=off no_timer_check rdinit=/init"
REPEATABLE = "nokaslr norandmaps"


def cache_dir() -> Path:
    """Where unpacked kernels are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kettle" / "linux"


def kernel(say: Callable[[str], None]) -> Path:
    """The newest cached kernel image; fetches one the first time, telling SAY. UsageError when there is no way."""
    cached = sorted(cache_dir().glob("*/vmlinuz"), key=lambda path: _version_key(path.parent.name))
    if cached:
        return cached[-1]
    return _fetch_kernel(say)


def _version_key(name: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", name)]


def _fetch_kernel(say: Callable[[str], None]) -> Path:
    name = _versioned_package()
    if name is None:
        say("reading the package lists")
        _run([*_as_root(), "apt-get", "-q", "update"])
        name = _versioned_package()
    if name is None:
        raise UsageError(f"--os linux: apt knows no package {PACKAGE}")
    say(f"fetching {name}")
    cache_dir().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache_dir(), prefix="fetch-") as folder:
        # apt's own sandbox user could not write to this folder.
        download = ["apt-get", "-q", "-o", "APT::Sandbox::User=", "download", name]
        if subprocess.run(download, cwd=folder, capture_output=True, check=False).returncode != 0:
            _run([*_as_root(), "apt-get", "-q", "update"])  # the lists may name a version that is gone
            _run(download, cwd=folder)
        package = next(Path(folder).glob("*.deb"))
        _run(["dpkg-deb", "-x", str(package), f"{folder}/root"])
        image = next(Path(folder, "root", "boot").glob("vmlinuz-*"))
        target = cache_dir() / image.name.removeprefix("vmlinuz-")
        target.mkdir(exist_ok=True)
        os.replace(image, target / "vmlinuz")  # whole or not at all: another run may be looking
    return target / "vmlinuz"


def _versioned_package() -> str | None:
    """The newest package that PACKAGE stands for."""
    listed = subprocess.run(["apt-cache", "depends", PACKAGE], capture_output=True, text=True, check=False)
    names = re.findall(r"Depends: (linux-image-\d\S*)", listed.stdout)
    return max(names, key=_version_key, default=None)


def _as_root() -> list[str]:
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo"):
        return ["sudo"]
    raise UsageError("--os linux: needs root or sudo, once, for apt-get update")


def _run(command: Sequence[str], cwd: str | None = None) -> None:
    done = subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        lines = done.stdout.strip().splitlines() or ["no message"]
        telling = [line for line in lines if re.search(r"error:|^E:", line)] or lines[-1:]
        raise UsageError(f"--os linux: {command[0]} failed: {telling[0]}")


def init_program() -> bytes:
    """The first process, compiled when it is missing or older than its source."""
    target = build_dir() / "linux" / "init"
    if not target.exists() or target.stat().st_mtime < INIT_SOURCE.stat().st_mtime:
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh = target.with_name(f"init.{os.getpid()}")
        _run([COMPILER, "-static", "-O2", "-Wall", "-Wextra", "-o", str(fresh), str(INIT_SOURCE)])
        os.replace(fresh, target)
    return target.read_bytes()


def init_archive() -> bytes:
    """The cpio archive that makes a Linux guest of Kettle's image."""
    archive = cpio.Archive()
    archive.add_file("/init", init_program(), executable=True)
    return archive.finish()


def command_line(repeatable: bool, append: Sequence[str]) -> str:
    """Linux's options; APPEND has the last word."""
    return " ".join(filter(None, (COMMAND_LINE, REPEATABLE if repeatable else "", *append)))


class LinuxMachine(QemuMachine):
    """The QEMU machine with a second serial port, for Linux's console and for the word that input has ended."""

    def __init__(self, folder: Path, topology: Topology, pace: Pace, boot: Boot, extra: tuple[str, ...] = ()) -> None:
        super().__init__(folder, topology, pace, boot, (
            "-chardev", f"pipe,id=com2,path={folder}/com2", "-serial", "chardev:com2", *extra))
        self._control_line = -1
        self._sent = 0  # bytes of input
        self._was_read = asyncio.Event()  # all of them

    async def start(self) -> None:
        console, self._control_line = self._open_pipe("com2")
        try:
            await super().start()
        finally:
            self.logs.append(console)

    async def send_input(self, data: bytes) -> None:
        for first in range(0, len(data), WINDOW):
            piece = data[first:first + WINDOW]
            self._sent += len(piece)
            self._was_read.clear()
            await super().send_input(piece)
            await streams.write_all(self._control_line, b"%d\n" % self._sent)
            await self._was_read.wait()

    def input_was_read(self, count: int) -> None:
        if count == self._sent:
            self._was_read.set()

    async def end_input(self) -> None:
        await streams.write_all(self._control_line, b"end\n")

    async def dump_waits(self) -> bool:
        return False

    def close(self) -> None:
        super().close()
        if self._control_line != -1:
            os.close(self._control_line)
            self._control_line = -1
