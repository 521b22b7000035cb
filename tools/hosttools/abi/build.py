"""The programs of tests/abi: which there are, and the executables they are linked into.

The programs of one folder, with one C library, are one executable, which does what its argv[0] says: hundreds of whole
glibc programs would be an image of hundreds of megabytes. Products lie in build/abi and are made when a source is newer.
"""

import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Sequence

from hosttools.errors import UsageError
from hosttools.paths import ROOT, build_dir

SOURCES = ROOT / "tests" / "abi"
RUNNER = SOURCES / "runner.c"
GUEST = "/abi"  # where executables lie in the guest
FOLDERS = ("memory", "threads", "futex", "signals", "processes", "files", "time", "vector", "openmp", "cxx")
LIBRARIES = ("musl", "glibc")
ONLY_GLIBC = ("openmp", "cxx")  # there is no libgomp and no libstdc++ for musl
FLAGS = ("-O1", "-pthread", "-fno-builtin", "-w", "-I", str(SOURCES))  # programs do wrong things on purpose: no warnings
C_FLAGS = ("-std=gnu11",)
CXX_FLAGS = ("-std=c++20",)
JOBS = 2


@dataclass(frozen=True, order=True)
class Program:
    """One program with one C library."""

    library: str
    folder: str
    name: str

    @property
    def file(self) -> str:
        """The guest's executable that has it."""
        return f"{GUEST}/{self.library}-{self.folder}"

    @property
    def title(self) -> str:
        """How people name it."""
        return f"{self.folder}/{self.name}"


def find(libraries: Sequence[str], only: Sequence[str]) -> list[Program]:
    """The programs with LIBRARIES, those whose title has one of ONLY in it if that is not empty. Raises UsageError when
    there are none."""
    found = [Program(library, folder, source.stem) for folder in FOLDERS for library in libraries
             if library == "glibc" or folder not in ONLY_GLIBC for source in _sources(folder)]
    found = [program for program in found if not only or any(word in program.title for word in only)]
    if not found:
        raise UsageError("no program of tests/abi is meant")
    return found


def shown(program: Program) -> str:
    """What a program shows, as its first line says."""
    first = source(program).read_text().split("\n", 1)[0]
    return first.removeprefix("/*").removeprefix("//").removesuffix("*/").strip()


def source(program: Program) -> Path:
    """The file that PROGRAM is made of."""
    return next(path for path in _sources(program.folder) if path.stem == program.name)


def headers(path: Path) -> list[Path]:
    """The headers of tests/abi that the program in PATH is made of: abi.h, and what it includes besides."""
    names = re.findall(r'^#include "([\w.-]+)"', path.read_text(), re.M)
    found = (next(filter(Path.is_file, (path.parent / name, SOURCES / name)), None) for name in names if name != "abi.h")
    return [SOURCES / "abi.h", *filter(None, found)]


def _sources(folder: str) -> list[Path]:
    return sorted(path for path in (SOURCES / folder).glob("*.c*") if path.suffix in (".c", ".cc"))


def build(programs: Sequence[Program], say: Callable[[str], None]) -> Path:
    """Makes the executables that PROGRAMS are in, and the runner; returns the folder that has them alone. Raises
    UsageError with the compiler's words."""
    wanted = sorted({(program.library, program.folder) for program in programs})
    out = build_dir() / "abi"
    (out / "bin").mkdir(parents=True, exist_ok=True)
    jobs = [job for library, folder in wanted for path in _sources(folder)
            if (job := _compile(out, library, folder, path)) is not None]
    if jobs:
        say(f"compiling {len(jobs)} programs")
        for library in sorted({library for library, _ in wanted}):
            _precompile(out, library)
    with ThreadPoolExecutor(JOBS) as pool:
        list(pool.map(_run, jobs))
        list(pool.map(lambda pair: _link(out, *pair), wanted))
    runner()
    return out / "bin"


def runner() -> Path:
    """The program that runs cases one after another in the guest, built."""
    target = build_dir() / "abi" / "bin" / "runner"
    if _older(target, [RUNNER]):
        target.parent.mkdir(parents=True, exist_ok=True)
        _run(["musl-gcc", "-static", "-O1", "-Wall", "-Wextra", "-o", str(target), str(RUNNER)])
    return target


def _precompile(out: Path, library: str) -> None:
    """Reads the headers once for all programs in C: most of the time goes there."""
    target = _headers(out, library) / "abi.h.gch"
    if _older(target, [SOURCES / "abi.h"]):
        target.parent.mkdir(parents=True, exist_ok=True)
        _run([_compiler(library), *FLAGS, *C_FLAGS, "-x", "c-header", "-o", str(target), str(SOURCES / "abi.h")])


def _headers(out: Path, library: str) -> Path:
    return out / library / "headers"


def _symbol(folder: str, name: str) -> str:
    return f"abi_{folder}_{name}".replace("-", "_")


def _compiler(library: str, cxx: bool = False) -> str:
    return "musl-gcc" if library == "musl" else "g++" if cxx else "gcc"


def _object(out: Path, library: str, folder: str, source: Path) -> Path:
    return out / library / folder / f"{source.stem}.o"


def _compile(out: Path, library: str, folder: str, source: Path) -> list[str] | None:
    target = _object(out, library, folder, source)
    if not _older(target, [source, *headers(source)]):
        return None
    target.parent.mkdir(parents=True, exist_ok=True)
    cxx = source.suffix == ".cc"
    return [_compiler(library, cxx), "-I", str(_headers(out, library)), *FLAGS, *(CXX_FLAGS if cxx else C_FLAGS), *(["-fopenmp"] if folder == "openmp" else []),
            f"-Dmain={_symbol(folder, source.stem)}", "-c", "-o", str(target), str(source)]


def _link(out: Path, library: str, folder: str) -> None:
    sources = _sources(folder)
    objects = [_object(out, library, folder, source) for source in sources]
    target = out / "bin" / f"{library}-{folder}"
    cxx = any(source.suffix == ".cc" for source in sources)
    table = out / library / folder / ("table.cc" if cxx else "table.c")
    text = _table(folder, sources, cxx)
    if not table.exists() or table.read_text() != text:
        table.write_text(text)
    if _older(target, [*objects, table]):
        _run([_compiler(library, cxx), "-static", *FLAGS, *(["-fopenmp"] if folder == "openmp" else []), "-o", str(target),
              str(table), *map(str, objects), "-lm", *(["-lrt"] if library == "glibc" else [])])


def _table(folder: str, sources: Sequence[Path], cxx: bool) -> str:
    """The main function of an executable."""
    symbols = [(source.stem, _symbol(folder, source.stem)) for source in sources]
    declared = "int {}(int, char **);\n" if cxx else "int {}();\n"
    return ("#include <stdio.h>\n#include <string.h>\n"
            + "".join(declared.format(symbol) for _, symbol in symbols)
            + "int main(int argc, char **argv)\n{\n"
            + "".join(f'    if (strcmp(argv[0], "{name}") == 0)\n        return {symbol}(argc, argv);\n'
                      for name, symbol in symbols)
            + '    fprintf(stderr, "no program %s here\\n", argv[0]);\n    return 127;\n}\n')


def _older(target: Path, sources: Sequence[Path]) -> bool:
    made = target.stat().st_mtime if target.exists() else 0
    return any(source.stat().st_mtime > made for source in sources)


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(list(command), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                          env={**os.environ, "LC_ALL": "C"})
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if "error" in line or "undefined" in line or "multiple" in line]
        raise UsageError("\n".join(lines[:20]) or done.stderr.strip() or f"{command[0]} failed")
