"""What a run was made with: this tree's commit, the files that were booted, the host and its emulator."""

import functools
import hashlib
import os
import platform
import re
import subprocess

from hosttools.machine.qemu import PROGRAM
from hosttools.paths import ROOT

UNKNOWN = "unknown"


@functools.cache
def commit() -> str:
    """The commit of this tree, with -dirty behind it when files differ from it."""
    done = subprocess.run(["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
                          capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else UNKNOWN


def sha256(data: bytes) -> str:
    """The digest of DATA, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


@functools.cache
def qemu_version() -> str:
    """The version of QEMU, as 7.2.17."""
    try:
        told = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=False).stdout
    except OSError:
        return UNKNOWN
    found = re.search(r"version (\S+)", told)
    return found[1] if found else UNKNOWN


def describe() -> dict[str, object]:
    """The host, for --json."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            found = re.search(r"^model name\s*:\s*(.*)$", file.read(), re.M)
    except OSError:
        found = None
    return {"cpu_model": found[1] if found else UNKNOWN, "cpus": os.cpu_count(), "system": platform.release(),
            "qemu": qemu_version()}
