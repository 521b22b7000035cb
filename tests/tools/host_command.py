"""Runs tools/kettle for the tests of the host command, on a build folder that holds the fake kernel."""

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from hosttools.image import cpio

HERE = Path(__file__).resolve().parent
KETTLE = HERE.parents[1] / "tools" / "kettle"
FAKE_FLAGS = ("-m32 -ffreestanding -nostdlib -static -fno-pie -no-pie -O1 -Wall -Wextra -Werror -fno-stack-protector "
              "-fcf-protection=none -mno-sse -Wl,-Ttext-segment=0x200000,--build-id=none,-z,noexecstack,-e,start").split()
LIMIT = 120  # seconds; what runs longer is stuck
PROGRAM = "int main(void) { return 0; }"


@dataclass
class Done:
    """One finished command."""

    status: int
    stdout: bytes
    stderr: str
    seconds: float


def compile_c(target: Path, text: str, *flags: str, compiler: str = "musl-gcc") -> Path:
    """Compiles C TEXT to TARGET."""
    subprocess.run([compiler, *flags, "-x", "c", "-", "-o", str(target)], input=text.encode(), check=True)
    return target


def make_build(folder: Path) -> Path:
    """A build folder in FOLDER with the fake kernel and an image of one program, `inside`."""
    build = folder / "build"
    build.mkdir()
    subprocess.run(["gcc", *FAKE_FLAGS, str(HERE / "fake_kernel.c"), "-o", str(build / "kettle.elf")], check=True)
    archive = cpio.Archive()
    archive.add_file("/bin/inside", b"not looked at", executable=True)
    (build / "initramfs.cpio").write_bytes(archive.finish())
    return build


def environment(build: Path, **more: str) -> dict[str, str]:
    """The environment of a command that takes its build products from BUILD."""
    return {**os.environ, "KETTLE_BUILD": str(build), **more}


def kettle(build: Path, *arguments: object, stdin: bytes | None = b"", **more: str) -> Done:
    """Runs tools/kettle ARGUMENTS to its end; STDIN None stands for /dev/null."""
    started = time.monotonic()
    how = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
    done = subprocess.run([str(KETTLE), *map(str, arguments)], capture_output=True, timeout=LIMIT, check=False,
                          env=environment(build, **more), **how)
    return Done(done.returncode, done.stdout, done.stderr.decode(), time.monotonic() - started)


def processes_with(word: str) -> list[str]:
    """The command lines of running processes that mention WORD."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if word in command:
            found.append(command)
    return found


def until_it_runs(run, has_begun):
    """RUN(SECONDS), which nothing but that time limit ends, with the first of some limits in which its machine HAS_BEGUN: a busy
    host may need more for the boot alone. Returns the limit and what the run gave."""
    for seconds in (2, 10, 50):
        given = run(seconds)
        if has_begun(given):
            break
    return seconds, given


def wait_until(condition) -> bool:
    """Waits until CONDITION() holds; whether it did within LIMIT seconds."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def stub_emulators(folder: Path) -> str:
    """A PATH in which every emulator only leaves the file FOLDER/started behind."""
    for name in ("qemu-system-x86_64", "bochs"):
        stub = folder / name
        stub.write_text(f"#!/bin/sh\ntouch '{folder}/started'\n")
        stub.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"
