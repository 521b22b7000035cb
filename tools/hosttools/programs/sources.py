"""Sources and packages of Debian, through apt with a configuration of its own: that of the machine stays as it is.

apt-get source wants deb-src lines; they are made of the machine's own deb lines. Everything lies in build/programs.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Sequence

from hosttools.errors import UsageError
from hosttools.paths import build_dir

MACHINE_LISTS = Path("/etc/apt")
LISTS_TIME = 24 * 3600  # seconds for which the package lists are good


class Debian:
    """Fetches from the archives that this machine's apt knows. Any method raises UsageError, with apt's words, when there
    is no way to them."""

    def __init__(self) -> None:
        self._folder = build_dir() / "programs" / "apt"
        self._ready = False

    def source(self, package: str, target: Path) -> str:
        """Unpacks the newest source of PACKAGE that can be had to TARGET, which must not exist; returns its version."""
        self._prepare()
        problem = "no such source package"
        for version in self._versions(package):
            with_version = f"{package}={version}"
            work = target.with_name(f"{target.name}.fetch")
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir(parents=True)
            done = self._apt(["apt-get", "-q", "source", with_version], work)
            trees = [path for path in work.iterdir() if path.is_dir()]
            if done.returncode == 0 and len(trees) == 1:
                os.replace(trees[0], target)
                shutil.rmtree(work)
                return version
            problem = _words(done)  # a mirror may lack the newest: an older one is as good
        raise UsageError(f"apt-get source {package}: {problem}")

    def package(self, package: str, target: Path) -> str:
        """Unpacks the binary package PACKAGE to TARGET, which must not exist; returns its version."""
        self._prepare()
        work = target.with_name(f"{target.name}.fetch")
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        done = self._apt(["apt-get", "-q", "download", package], work)
        files = list(work.glob("*.deb"))
        if done.returncode != 0 or len(files) != 1:
            raise UsageError(f"apt-get download {package}: {_words(done)}")
        subprocess.run(["dpkg-deb", "-x", files[0], work / "root"], check=True)
        version = subprocess.run(["dpkg-deb", "-f", files[0], "Version"], check=True, capture_output=True, text=True).stdout
        os.replace(work / "root", target)
        shutil.rmtree(work)
        return version.strip()

    def _prepare(self) -> None:
        """Makes the configuration, and reads the lists when they are old."""
        if self._ready:
            return
        if shutil.which("dpkg-source") is None or shutil.which("apt-get") is None:
            raise UsageError("apt-get or dpkg-source is missing: run tools/setup")
        lists = self._folder / "lists"
        (lists / "partial").mkdir(parents=True, exist_ok=True)
        parts = self._folder / "parts"
        shutil.rmtree(parts, ignore_errors=True)
        parts.mkdir()
        for file in [MACHINE_LISTS / "sources.list", *sorted((MACHINE_LISTS / "sources.list.d").glob("*"))]:
            if file.is_file() and file.suffix in (".list", ".sources"):
                (parts / file.name).write_text(with_sources(file.read_text(), file.suffix))
        stamp = self._folder / "stamp"
        if not stamp.exists() or not 0 <= _now(stamp) - stamp.stat().st_mtime < LISTS_TIME:
            done = self._apt(["apt-get", "-q", "update"], self._folder)
            if done.returncode != 0:
                raise UsageError(f"apt-get update: {_words(done)}")
            stamp.touch()
        self._ready = True

    def _versions(self, package: str) -> list[str]:
        """The versions of a source package in the lists, the newest first."""
        done = self._apt(["apt-cache", "showsrc", "--only-source", package], self._folder)
        found = list(dict.fromkeys(re.findall(r"^Version: (\S+)$", done.stdout, re.M)))
        newest: list[str] = []
        for version in found:
            place = next((index for index, other in enumerate(newest)
                          if subprocess.run(["dpkg", "--compare-versions", version, "gt", other], check=False).returncode == 0),
                         len(newest))
            newest.insert(place, version)
        return newest

    def _apt(self, command: Sequence[str], folder: Path) -> subprocess.CompletedProcess:
        options = {"Dir::Etc::sourcelist": "/dev/null", "Dir::Etc::sourceparts": self._folder / "parts",
                   "Dir::State::lists": self._folder / "lists", "Dir::Cache::pkgcache": "", "Dir::Cache::srcpkgcache": "",
                   "APT::Sandbox::User": ""}
        words = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
        return subprocess.run([command[0], *words, *command[1:]], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=False, env={**os.environ, "LC_ALL": "C"})


def with_sources(text: str, suffix: str) -> str:
    """TEXT of an apt list (.list: lines; .sources: paragraphs), naming sources as well."""
    if suffix == ".sources":
        return re.sub(r"^Types:.*$", "Types: deb deb-src", text, flags=re.M)
    lines = [line for line in text.splitlines() if line.startswith("deb ")]
    return "".join(f"{line}\n{line.replace('deb ', 'deb-src ', 1)}\n" for line in lines)


def _now(stamp: Path) -> float:
    """The file system's time, which need not be the machine's."""
    probe = stamp.with_name("probe")
    probe.touch()
    return probe.stat().st_mtime


def _words(done: subprocess.CompletedProcess) -> str:
    lines = [line for line in f"{done.stderr}\n{done.stdout}".splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith("E:")] or lines[-1:] or ["no message"]
    return telling[0]
