"""What `kettle shell` runs when no program is named: Debian's static busybox of the host as the guest's shell and toolbox.

It goes into this run's archive as /bin/busybox, with a link in /bin for each of its programs whose name is free there. The guest's
terminal begins as a user's does, with lines, keys and the size of the host's window.
"""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Mapping, Sequence

from hosttools.errors import UsageError
from hosttools.image import elf, image
from hosttools.paths import ROOT

PROGRAM = "busybox"
GUEST = f"/bin/{PROGRAM}"
PACKAGE = "busybox-static"


def make_job(environment: Sequence[str], files: Sequence[str], base_image: Path | None) -> image.Job:
    """The job of an interactive shell. Raises UsageError."""
    host = find()
    taken = image.image_programs(base_image) if base_image is not None else []
    job = image.make_job(str(host), ["-c", start_script(shutil.get_terminal_size(), os.environ)], environment, files, base_image)
    return image.Job(GUEST, job.data, ("sh", *job.argv[1:]), job.environment, job.files, links(host, taken))


def find() -> Path:
    """The host's static busybox."""
    name = shutil.which(PROGRAM)
    if name is None:
        raise UsageError(f"kettle shell needs Debian's {PACKAGE}: run {ROOT / 'tools' / 'setup'}")
    path = Path(name).resolve()
    try:
        elf.check_program(path)
    except UsageError as error:
        raise UsageError(f"kettle shell needs Debian's {PACKAGE}: {error}") from None
    return path


def links(busybox: Path, taken: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Guest path and target of a link for each program of BUSYBOX whose name is not in TAKEN."""
    done = subprocess.run([str(busybox), "--list"], capture_output=True, text=True, check=False)
    names = done.stdout.split()
    if done.returncode != 0 or "sh" not in names:
        raise UsageError(f"{busybox} --list does not list its programs")
    return tuple((f"/bin/{name}", PROGRAM) for name in names if name != PROGRAM and name not in taken)


def start_script(size: os.terminal_size, variables: Mapping[str, str]) -> str:
    """What the shell does first: the terminal as the user knows it, then itself with a prompt."""
    locale = variables.get("LC_ALL") or variables.get("LC_CTYPE") or variables.get("LANG") or ""
    wide = " iutf8" if locale.upper().replace("-", "").endswith("UTF8") else ""
    return f"stty sane ixon{wide} rows {size.lines} columns {size.columns}; exec sh"
