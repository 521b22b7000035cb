"""The initial file system of a guest: the base image of the build, then what one run adds to it.

A run adds the program, the files of --file, and .kettle/run, which tells the first process its arguments and
environment: strings that each end in a NUL: path, decimal argc, the arguments, decimal envc, the environment.
"""

import os
import stat
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence

from hosttools.errors import UsageError, did_you_mean
from hosttools.image import cpio, elf
from hosttools.paths import ROOT, build_dir

RUN_FILE = "/.kettle/run"
PROGRAM_FOLDER = "/run"
DEFAULT_ENVIRONMENT = {"PATH": "/bin", "HOME": "/"}


@dataclass(frozen=True)
class GuestFile:
    """A host file or folder and the absolute guest path where it is to appear."""

    host: Path
    guest: str


@dataclass(frozen=True)
class Job:
    """What the guest is to run, checked: `data` is the host program's bytes, or None for one of the image."""

    path: str  # absolute guest path
    data: bytes | None
    argv: tuple[str, ...]
    environment: tuple[str, ...]  # K=V
    files: tuple[GuestFile, ...]
    links: tuple[tuple[str, str], ...] = ()  # absolute guest paths and what they say

    def archive(self) -> bytes:
        """The cpio archive that goes behind the base image."""
        archive = cpio.Archive()
        if self.data is not None:
            archive.add_file(self.path, self.data, executable=True)
        for path, target in self.links:
            archive.add_link(path, target)
        for item in self.files:
            _add_tree(archive, item.host, item.guest)
        archive.add_file(RUN_FILE, run_file(self.path, self.argv, self.environment))
        return archive.finish()


def run_file(path: str, argv: Sequence[str], environment: Sequence[str]) -> bytes:
    """The contents of .kettle/run."""
    strings = [path, str(len(argv)), *argv, str(len(environment)), *environment]
    return b"".join(os.fsencode(string) + b"\0" for string in strings)


def make_job(program: str, arguments: Sequence[str], environment: Sequence[str], files: Sequence[str],
             base_image: Path | None) -> Job:
    """Checks what was typed: PROGRAM, its ARGUMENTS, --env and --file values. A PROGRAM without '/' that is no host
    file is looked up in BASE_IMAGE (None: not built), and then among those that `kettle programs` builds. Raises
    UsageError."""
    path, data = _find_program(program, base_image)
    variables = dict(DEFAULT_ENVIRONMENT)
    for assignment in environment:
        name, equals, value = assignment.partition("=")
        if not equals or not name:
            raise UsageError(f"--env '{assignment}' is not of the form NAME=VALUE")
        variables[name] = value
    items = tuple(_parse_file(text) for text in files)
    for item in items:
        if item.guest in (RUN_FILE, path):
            raise UsageError(f"--file: {item.guest} is taken by the run itself")
    return Job(path, data, (program, *arguments), tuple(f"{k}={v}" for k, v in variables.items()), items)


def _find_program(program: str, base_image: Path | None) -> tuple[str, bytes | None]:
    host = Path(program)
    if not program:
        raise UsageError("the program's name is empty")
    if "/" in program or host.exists():
        return f"{PROGRAM_FOLDER}/{host.name}", elf.check_program(host)
    if base_image is None:
        raise UsageError(f"{program}: no such file, and there is no image with programs yet: run make first")
    names = image_programs(base_image)
    if program in names:
        return f"/bin/{program}", None
    recipe = _recipe_of(program)
    if recipe is None:
        raise UsageError(f"{program}: no such file, and no such program in the image{did_you_mean(program, names)} "
                         "('kettle list' lists all)")
    host = build_dir() / "programs" / recipe / "tree" / program
    if not host.is_file():
        raise UsageError(f"{program} is not built yet: 'kettle programs --fetch --only {recipe}' fetches its source and "
                         "builds it")
    return f"{PROGRAM_FOLDER}/{program}", elf.check_program(host)


def _recipe_of(program: str) -> str | None:
    """The recipe in tests/programs that builds PROGRAM as one of the files that it takes; None: there is none."""
    for path in sorted((ROOT / "tests" / "programs").glob("*.toml")):
        if program in tomllib.loads(path.read_text()).get("take", ()):
            return path.stem
    return None


def image_programs(base_image: Path) -> list[str]:
    """The names of the programs in the image, sorted. Raises UsageError when the image is damaged."""
    try:
        found = [name for name, mode, _ in cpio.entries(base_image.read_bytes())
                 if name.startswith("bin/") and not stat.S_ISDIR(mode)]
    except (OSError, ValueError) as error:
        raise UsageError(f"{base_image}: {error}") from None
    return sorted(name.removeprefix("bin/") for name in found)


def program_data(job: Job, base_image: Path | None) -> bytes | None:
    """The bytes of the program of JOB, or None when it is only a link in the image."""
    if job.data is not None or base_image is None:
        return job.data
    name = job.path.lstrip("/")
    return next((data for path, mode, data in cpio.entries(base_image.read_bytes())
                 if path == name and stat.S_ISREG(mode)), None)


def _parse_file(text: str) -> GuestFile:
    """HOST[:GUEST]; GUEST is taken from '/', ends in '/' for a folder to put it in, and is /NAME when not given."""
    host, colon, guest = text.rpartition(":")
    if not colon or Path(text).exists():
        host, guest = text, "/"
    if not host or not Path(host).exists():
        raise UsageError(f"--file {text}: no such file: {host or text}")
    if ".." in guest.split("/"):
        raise UsageError(f"--file {text}: '..' in a guest path")
    if not guest or guest.endswith("/"):
        guest += os.path.basename(os.path.abspath(host))
    return GuestFile(Path(host), os.path.normpath("/" + guest.lstrip("/")))


def _add_tree(archive: cpio.Archive, host: Path, guest: str) -> None:
    """Adds a file, or a folder with all it holds; links inside a folder stay links."""
    try:
        if not host.is_dir():
            _add_file(archive, host, guest)
            return
        archive.add_folder(guest)
        for entry in sorted(os.scandir(host), key=lambda entry: entry.name):
            below = f"{guest.rstrip('/')}/{entry.name}"
            if entry.is_symlink():
                archive.add_link(below, os.readlink(entry.path))
            else:
                _add_tree(archive, Path(entry.path), below)
    except OSError as error:
        raise UsageError(f"--file {error.filename}: {error.strerror}") from None


def _add_file(archive: cpio.Archive, host: Path, guest: str) -> None:
    if not host.is_file():
        raise UsageError(f"--file {host}: neither a regular file nor a folder")
    archive.add_file(guest, host.read_bytes(), executable=os.access(host, os.X_OK))
