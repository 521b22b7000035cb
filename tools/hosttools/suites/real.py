"""Programs that people run, as the benchmark `workloads` has them: Debian's zstd, tcc and sqlite, built static.

userland/bench/real has what drives them. They are built from Debian's sources as `kettle programs` builds them, in folders of
their own, without their test programs; the first time takes some minutes and needs the archive.
"""

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Callable, Sequence

from hosttools.errors import UsageError
from hosttools.paths import ROOT, build_dir
from hosttools.programs import builds
from hosttools.programs.sources import Debian
from hosttools.results.runs import Run

PROGRAMS = ("zstd", "tcc", "sqlite")
STEPS = {"zstd": 1, "tcc": 3, "sqlite": 2}  # of the recipe's build: what the program itself needs
# What the guest gets of the built source, in /src/PROGRAM.
FILES = {"zstd": {"programs/zstd": "zstd"}, "tcc": {"tcc": "tcc", "libtcc1.a": "libtcc1.a", "include": "include", "musl": "musl"},
         "sqlite": {}}
SQLBENCH = "programs/sqlbench"
SQLBENCH_SOURCE = ROOT / "userland" / "bench" / "real" / "sqlite" / "sqlbench.c"
SQLITE_OPTIONS = ("-DSQLITE_THREADSAFE=1", "-DSQLITE_OMIT_LOAD_EXTENSION")
PREFIX = "real"  # of the runs' names


def name(program: str) -> str:
    """Under which name PROGRAM is built: beside the one whose tests are run."""
    return f"{program}-alone"


def program(program_name: str, threads: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The machine's options with the program's files, and the command that makes it work with THREADS threads."""
    if program_name == "sqlite":
        return (), (os.path.relpath(build_dir() / SQLBENCH, ROOT), "--json", "--threads", str(threads))
    tree = os.path.relpath(builds.home(name(program_name)) / "tree", ROOT)
    files = tuple(word for host, guest in FILES[program_name].items()
                  for word in ("--file", f"{tree}/{host}:/src/{program_name}/{guest}"))
    return files, ("realbench", "--json", "--threads", str(threads), program_name)


def prepare(runs: Sequence[Run], say: Callable[[str], None]) -> list[Run]:
    """Builds the programs that RUNS need; returns the runs that can be made. Of what cannot be built, SAY is told."""
    kept = list(runs)
    for each in PROGRAMS:
        if any(_needs(run, each) for run in runs):
            try:
                _build(each, say)
            except UsageError as error:
                say(f"{each} is left out: {error}")
                kept = [run for run in kept if not _needs(run, each)]
    return kept


def _needs(run: Run, each: str) -> bool:
    return run.name.startswith(f"{PREFIX}-{each}-") or run.name == f"profile-{each}"


def _build(each: str, say: Callable[[str], None]) -> None:
    recipe = builds.recipes()[each]
    built = builds.build(replace(recipe, name=name(each), build=recipe.build[:STEPS[each]]), Debian(), say)
    if each == "sqlite":
        _build_sqlbench(built.tree, say)


def _build_sqlbench(tree: Path, say: Callable[[str], None]) -> None:
    """sqlbench, with sqlite as one file; by the C library of the image's programs."""
    target, source = build_dir() / SQLBENCH, tree / "sqlite3.c"
    if target.is_file() and target.stat().st_mtime > max(source.stat().st_mtime, SQLBENCH_SOURCE.stat().st_mtime):
        return
    compiler = shutil.which("musl-gcc")
    if compiler is None:
        raise UsageError("musl-gcc is missing: run tools/setup")
    say("building sqlbench")
    done = subprocess.run([compiler, "-static", "-O2", "-w", *SQLITE_OPTIONS, "-D_GNU_SOURCE", "-I", ROOT, "-isystem", tree,
                           SQLBENCH_SOURCE, source, "-o", target, "-lpthread", "-lm"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise UsageError(f"sqlbench: {done.stderr.strip().splitlines()[-1]}")
