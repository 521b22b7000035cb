"""The programs of tests/programs: their recipes, and what is built of them in build/programs."""

import hashlib
import os
import shutil
import subprocess
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

from hosttools.errors import UsageError
from hosttools.paths import ROOT, build_dir
from hosttools.programs.sources import Debian

RECIPES = ROOT / "tests" / "programs"
TOOLBOX = "busybox-static"
SHELL = "bash-static"  # /bin/sh: busybox as a shell would run its own tools in place of those of PATH
SHELL_PLACES = ("/bin/sh", "/bin/bash", "/usr/bin/bash")  # in the guest
STATES = ("passed", "skipped", "failed")


@dataclass(frozen=True)
class Recipe:
    """What tests/programs/NAME.toml says; README.md there has the words."""

    name: str
    package: str
    about: str
    build: tuple[str, ...]
    take: tuple[str, ...] = ()
    cases: str = ""  # none: it is for others only
    run: str = ""
    limit: int = 300
    memory: str = "1G"
    share: str = ""  # none
    short: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    provides: dict[str, str] = field(default_factory=dict)
    leave: dict[str, str] = field(default_factory=dict)
    differs: dict[str, str] = field(default_factory=dict)
    fails: dict[str, str] = field(default_factory=dict)
    notes: str = ""


@dataclass(frozen=True)
class Built:
    """A program whose source lies, built, in `tree`."""

    recipe: Recipe
    tree: Path
    version: str


def recipes() -> dict[str, Recipe]:
    """All recipes by name. UsageError for one that is not as it should be."""
    return {path.stem: read_recipe(path.stem, path.read_text()) for path in sorted(RECIPES.glob("*.toml"))}


def read_recipe(name: str, text: str) -> Recipe:
    """The recipe of TEXT. UsageError when it is not one."""
    try:
        words = tomllib.loads(text)
        fixed = {key: tuple(value) if isinstance(value, list) else value for key, value in words.items()}
        return Recipe(name=name, **fixed)
    except (tomllib.TOMLDecodeError, TypeError) as error:
        raise UsageError(f"tests/programs/{name}.toml: {error}") from None


def home(name: str) -> Path:
    """The folder of a program's products."""
    return build_dir().resolve() / "programs" / name


def build(recipe: Recipe, debian: Debian, say: Callable[[str], None]) -> Built:
    """Fetches and builds what RECIPE says, unless that was done. UsageError when it cannot be."""
    folder, tree = home(recipe.name), home(recipe.name) / "tree"
    stamp = folder / "built"
    wanted = hashlib.sha256("\n".join((recipe.package, *recipe.build)).encode()).hexdigest()
    if stamp.exists() and stamp.read_text().split()[0] == wanted and tree.is_dir():
        return Built(recipe, tree, stamp.read_text().split()[1])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    say(f"fetching the source of {recipe.package}")
    version = debian.source(recipe.package, tree)
    _same_time(tree)
    with open(folder / "log", "w") as log:
        for step in recipe.build:
            say(f"building {recipe.name}: {step}")
            done = subprocess.run(["sh", "-ec", step], cwd=tree, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False,
                                  env={**os.environ, "LC_ALL": "C", "FORCE_UNSAFE_CONFIGURE": "1"})
            if done.returncode != 0:
                raise UsageError(f"{recipe.name}: '{step}' failed: see {folder / 'log'}")
    stamp.write_text(f"{wanted} {version}\n")
    return Built(recipe, tree, version)


def _same_time(tree: Path) -> None:
    """Gives all files one time. Debian's patches leave some newer than what was made of them with tools that need not be
    here, as autoconf."""
    now = tree.stat().st_mtime
    for folder, _, files in os.walk(tree):
        for name in files:
            os.utime(os.path.join(folder, name), (now, now), follow_symlinks=False)


def _unpacked(package: str, debian: Debian) -> Path:
    """The folder with the files of Debian's PACKAGE. UsageError when it cannot be had."""
    target = home(package)
    if not target.is_dir():
        target.parent.mkdir(parents=True, exist_ok=True)
        debian.package(package, target)
    return target


def toolbox(debian: Debian) -> Path:
    """Debian's busybox: the tools that checks use."""
    return _unpacked(TOOLBOX, debian) / "bin" / "busybox"


def shell(debian: Debian) -> Path:
    """Debian's static bash, of the same source as the recipe's, which takes minutes to build."""
    return _unpacked(SHELL, debian) / "bin" / "bash-static"


def list_cases(built: Built) -> list[str]:
    """The names of the program's checks, without those left out. UsageError when there are none."""
    done = subprocess.run(["sh", "-ec", built.recipe.cases], cwd=built.tree, capture_output=True, text=True, check=False,
                          env={**os.environ, "LC_ALL": "C"})
    found = [name for name in done.stdout.split() if name not in built.recipe.leave]
    if done.returncode != 0 or not found:
        raise UsageError(f"{built.recipe.name}: its checks cannot be listed: {done.stderr.strip()}")
    return list(dict.fromkeys(found))


def taken(built: Built) -> list[Path]:
    """The files and folders of the tree that go into the guest. UsageError when a pattern means nothing."""
    found: list[Path] = []
    for pattern in built.recipe.take:
        paths = sorted(built.tree.glob(pattern)) if pattern != "." else [built.tree]
        if not paths:
            raise UsageError(f"{built.recipe.name}: there is no {pattern} in {built.tree}")
        found += paths
    return found
