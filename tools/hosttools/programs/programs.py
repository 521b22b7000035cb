"""`kettle programs`: real programs from Debian's sources run their own checks on Linux and on Kettle.

Each is fetched, built static and unmodified as its recipe in tests/programs says, and put into the guest with what its
checks need. A check is a case of guest_runs.py: a small script in the guest.
"""

import argparse
import re
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

from hosttools.abi import build as abi_build
from hosttools.errors import STATUS_USAGE, UsageError, did_you_mean
from hosttools.image import image
from hosttools.paths import built as product
from hosttools.programs import builds as program_builds, report as programs_report
from hosttools.programs.builds import Built, Recipe
from hosttools.programs.sources import Debian
from hosttools.progress import Progress
from hosttools.run.guest_runs import Result, check_machine, run_all
from hosttools.run.run import BASE_IMAGE

DIVISIONS = ("1", "node", "core")
GUEST_CASES = "/cases"
GUEST_TREES = "/src"  # what is built in .../NAME/tree lies in NAME below
SKIPPED = 77  # the status by which checks say that they cannot be made here
SHELLS = ("sh", "ash", "hush", "bash")
KEPT_LINES = 20  # of the output of a check that fails

Json = dict[str, Any]


@dataclass(frozen=True)
class Check:
    """One check of one program: `file` is a script of the guest."""

    file: str
    name: str
    title: str


def add_options(command: argparse.ArgumentParser, natural: Callable[[str], int]) -> None:
    """Adds the options of `kettle programs` to COMMAND."""
    command.add_argument("--only", action="append", default=[], metavar="NAME", help="this program; more than one may be given")
    command.add_argument("--case", action="append", default=[], metavar="NAME",
                         help="checks with NAME in theirs; more than one may be given")
    command.add_argument("--short", action="store_true", help="only the checks that recipes name for short runs")
    command.add_argument("--kernels", action="append", metavar="1|node|core|none",
                         help="how Kettle divides the machine; more than one may be given (default all three); "
                              "none: Linux only")
    command.add_argument("--os", choices=("both", "kettle", "linux"), default="both",
                         help="default both: what Linux does is what is asked of Kettle")
    command.add_argument("--cpus", type=natural, default=4, metavar="N", help="CPUs (default 4)")
    command.add_argument("--nodes", type=natural, default=2, metavar="M", help="NUMA nodes (default 2)")
    command.add_argument("--append", action="append", default=[], metavar="OPTS", help="more options for Kettle")
    command.add_argument("--inject", metavar="seed=N", help="as `kettle run --inject`")
    command.add_argument("--out", metavar="FOLDER", help="write programs.md and programs.json there; with --only, other "
                                                         "programs keep what is there of them")
    command.add_argument("--list", action="store_true", help="only list the programs")
    command.add_argument("--fetch", action="store_true", help="only fetch and build them")
    command.add_argument("-v", "--verbose", action="store_true", help="print the output of what fails on Kettle alone, and on "
                                                                      "standard error every step")


def main(options: argparse.Namespace) -> int:
    """Runs the command: 0 when Kettle passes every check that Linux passes, but those that recipes name, 1 when not, 2 when
    a program could not be fetched or built."""
    known = program_builds.recipes()
    for name in options.only:
        if name not in known:
            raise UsageError(f"--only {name}: no such program{did_you_mean(name, known)} (valid: {', '.join(known)})")
    chosen = [recipe for name, recipe in known.items()
              if recipe.cases and (not options.only or name in options.only) and (not options.short or recipe.short)]
    if options.list:
        for recipe in chosen:
            print(f"{recipe.name:12} {recipe.about}")
        return 0
    if options.out is not None and not Path(options.out).is_dir():
        raise UsageError(f"--out {options.out}: no such folder")
    for recipe in chosen:
        for _, arguments in _machines(options, recipe.memory):
            check_machine(arguments)
    data = programs_report.read(options.out)
    debian = Debian()
    with Progress(quiet=False) as progress:
        def say(text: str) -> None:
            progress.say(text)
            if options.verbose:
                print(text, file=sys.stderr, flush=True)

        ran, problems = [], []
        for recipe in chosen:
            try:
                built = _build(recipe, known, debian, say)
            except UsageError as error:  # the others can be run
                problems.append(f"kettle: {error}")
                continue
            if options.fetch:
                continue

            def save(entry: Json) -> None:
                data["programs"][entry["name"]] = entry
                if options.out is not None:
                    programs_report.save(data, Path(options.out))

            ran.append(_run_program(built, options, known, debian, say, save))
    if not options.fetch:
        print(programs_report.summary(ran))
        print(programs_report.differences(ran, options.verbose), end="")
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        return STATUS_USAGE
    return 1 if any(programs_report.unexpected(entry) or not programs_report.passes(entry) for entry in ran) else 0


def _machines(options: argparse.Namespace, memory: str) -> list[tuple[str, list[str]]]:
    """The machines of a program, by name: Linux, and Kettle divided in each way."""
    machine = ["--cpus", str(options.cpus), "--nodes", str(options.nodes), "--mem", memory]
    kettle = [*machine, *(word for text in options.append for word in ("--append", text)),
              *(["--inject", options.inject] if options.inject else [])]
    found = [] if options.os == "kettle" else [("linux", ["--os", "linux", *machine])]
    if options.os != "linux":
        found += [(name, [*kettle, "--kernels", name]) for name in options.kernels or DIVISIONS if name != "none"]
    return found


def _build(recipe: Recipe, known: dict[str, Recipe], debian: Debian, say: Callable[[str], None]) -> Built:
    for name in recipe.needs:
        program_builds.build(known[name], debian, say)
    program_builds.toolbox(debian)
    program_builds.shell(debian)
    return program_builds.build(recipe, debian, say)


def _run_program(built: Built, options: argparse.Namespace, known: dict[str, Recipe], debian: Debian,
                 say: Callable[[str], None], save: Callable[[Json], None]) -> Json:
    """Runs the checks of one program everywhere; returns what the report knows of it, having told SAVE after each system:
    what was found is not lost when a later one cannot end."""
    recipe = built.recipe
    names = [name for name in program_builds.list_cases(built)
             if (not options.case or any(word in name for word in options.case))
             and (not options.short or name in recipe.short)]
    if not names:
        raise UsageError(f"{recipe.name}: no check is meant")
    configurations = _machines(options, recipe.memory)
    entry: Json = {"name": recipe.name, "about": recipe.about, "version": built.version, "build": list(recipe.build),
                   "left": recipe.leave, "differs": recipe.differs, "fails": recipe.fails, "notes": recipe.notes,
                   "checks": {name: {} for name in names}, "output": {}, "seconds": {}, "machines": {}}
    runner = abi_build.runner()
    with tempfile.TemporaryDirectory(prefix="kettle-programs-") as folder:
        files = _guest_files(built, known, names, Path(folder), debian, options.cpus)
        shared = _shared_folder(recipe, Path(folder))
        checks = [Check(f"{GUEST_CASES}/{number}", name, f"{recipe.name} {name}") for number, name in enumerate(names)]
        for name, arguments in configurations:
            began = time.monotonic()
            entry["machines"][name] = shlex.join(arguments)
            results = run_all(checks, [*arguments, *files, *([] if name == "linux" else shared)], runner, recipe.limit,
                              lambda text: say(f"{name}: {text}"), session=True)
            entry["seconds"][name] = round(time.monotonic() - began)
            for check in checks:
                state = judge(results[check])
                entry["checks"][check.name][name] = state
                if state not in ("passed", "skipped"):
                    entry["output"].setdefault(check.name, {})[name] = [
                        *results[check].output[-KEPT_LINES:], *results[check].problem.splitlines()[:KEPT_LINES]]
            save(entry)
    return entry


def judge(result: Result) -> str:
    """What a check's end means: passed, skipped, or how it failed."""
    if result.how == "exit" and result.value == 0:
        return "passed"
    if result.how == "exit" and result.value == SKIPPED:
        return "skipped"
    return {"exit": f"status {result.value}", "signal": f"signal {result.value}", "hang": "hangs",
            "stuck": "hangs and cannot be killed", "panic": "the machine ends", "silence": "the machine hangs",
            "lost": "not run"}[result.how]


def _guest_files(built: Built, known: dict[str, Recipe], names: list[str], folder: Path, debian: Debian,
                 cpus: int) -> list[str]:
    """The options that put into the guest: the program's files, the scripts of its checks, and the toolbox."""
    busybox = program_builds.toolbox(debian)
    tree = f"{GUEST_TREES}/{built.recipe.name}"
    pairs = [(path, f"{tree}/{path.relative_to(built.tree)}") for path in program_builds.taken(built)]
    pairs.append((busybox, "/bin/busybox"))
    tools, absolute = folder / "tools", folder / "bin"  # programs name some of them /bin/NAME
    for place, taken in ((tools, []), (absolute, image.image_programs(product(BASE_IMAGE)))):
        place.mkdir()
        for applet in _applets(busybox):
            if applet not in taken:
                (place / applet).symlink_to("/bin/busybox")
    provided = {guest: program_builds.shell(debian) for guest in program_builds.SHELL_PLACES}
    for name in built.recipe.needs:
        provided |= {guest: program_builds.home(name) / "tree" / path for guest, path in known[name].provides.items()}
    for guest, path in provided.items():
        for place, where in ((tools, "/usr/bin"), (absolute, "/bin")):
            if str(Path(guest).parent) == where:
                (place / Path(guest).name).unlink(missing_ok=True)
        pairs.append((path, guest))
    (folder / "etc").mkdir()
    (folder / "etc" / "passwd").write_text("root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n")
    (folder / "etc" / "group").write_text("root:x:0:\nnogroup:x:65534:\n")
    pairs += [(tools, "/usr/bin"), (absolute, "/bin"), (folder / "etc", "/etc")]
    scripts = folder / "cases"
    scripts.mkdir()
    for number, name in enumerate(names):
        script = scripts / str(number)
        script.write_text(_script(built, name, number % cpus, cpus))
        script.chmod(0o755)
    pairs.append((scripts, GUEST_CASES))
    return [word for host, guest in pairs for word in ("--file", f"{host}:{guest}")]


def _shared_folder(recipe: Recipe, folder: Path) -> list[str]:
    """The options that give Kettle another file system, where the recipe wants one: an empty folder of the host."""
    if not recipe.share:
        return []
    host = folder / "shared"
    host.mkdir()
    host.chmod(0o1777)
    return ["--share", f"{host}:{recipe.share}"]


def _applets(busybox: Path) -> list[str]:
    """What busybox can be called, but a shell and by its own name."""
    listed = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True).stdout.split()
    return [name for name in listed if re.fullmatch(r"[\w.+\[-]+", name) and name not in (*SHELLS, busybox.name)]


def _script(built: Built, name: str, cpu: int, cpus: int) -> str:
    """A check as a script of the guest, where the runner has given it an empty folder to be in. What it starts is at home on
    the kernel that it is on itself then: it goes to CPU, starts itself once more, and there may use all."""
    tree = f"{GUEST_TREES}/{built.recipe.name}"
    return (f"#!/bin/sh\nPATH=/usr/bin:/bin TMPDIR=$PWD LC_ALL=C tree={tree} case={shlex.quote(name)}\n"
            "export PATH TMPDIR LC_ALL tree case\n"
            f"if [ \"$1\" != there ]; then taskset -p {1 << cpu:x} $$ >/dev/null && \"$0\" there; exit; fi\n"
            f"taskset -p {(1 << cpus) - 1:x} $$ >/dev/null || exit 99\ncd \"$tree\" || exit 99\n{built.recipe.run}\n")
