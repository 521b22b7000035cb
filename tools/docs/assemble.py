"""Puts the Markdown pages of the tree, and the files that they link to, where mkdocs builds the site from.

    assemble.py FOLDER      writes FOLDER/pages and FOLDER/mkdocs.yml

Pages keep their paths, so links between them stay as they are. A linked source file becomes a page with its text, a linked
folder without a README.md a list of its files. The navigation has docs/ first and then the rooms, in the order of
tools/check-layers. A link to a file that is not in the tree is an error. Pages are GitHub's Markdown: where a list follows a
line of text, the blank line that Python's Markdown needs is added.
"""

import os
import posixpath
import re
import shutil
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"(?<=\]\()([^()\s#]+)(#[^()\s]*)?(?=\))")
CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
ITEM = re.compile(r"(?:[-*]|\d+\.) ")
PICTURES = (".svg", ".png")
LANGUAGES = {".c": "c", ".h": "c", ".def": "c", ".py": "python", ".S": "gas", ".mk": "make"}
# What is read first, in its folder; the rest follows by name.
FIRST = ("docs/running.md", "docs/tutorials", "docs/tutorials/message.md", "docs/tutorials/retrieval-strategy.md",
         "docs/tutorials/benchmark-row.md", "docs/design.md", "CONTRIBUTING.md", "docs/options.md", "docs/events.md",
         "docs/abi.md", "docs/limits.md")
LAST = ("docs/results",)
PARTS = ("docs", "boot", "msg", "mm", "tasks", "kernel", "libc", "userland", "tools", "tests")


class Missing(Exception):
    """A page links to what is not there."""


def tracked() -> set[str]:
    """The files of the tree: in git, or in its folders and about to be. What else lies in the root is a reader's."""
    listed = "".join(subprocess.run(["git", "ls-files", "-z", *which], cwd=ROOT, check=True, capture_output=True, text=True).stdout
                     for which in (("--cached",), ("--others", "--exclude-standard", *PARTS)))
    return {name for name in listed.split("\0") if name and (ROOT / name).is_file()}


def room_order() -> dict[str, int]:
    """The rank of each room, from the bottom."""
    loader = SourceFileLoader("check_layers", str(ROOT / "tools/check-layers"))
    module = module_from_spec(spec_from_loader("check_layers", loader))
    loader.exec_module(module)
    return module.LAYERS


def with_blank_lines(text: str) -> str:
    """TEXT with a blank line before each list, and items that belong to another indented as Python's Markdown wants it."""
    lines: list[str] = []
    fenced = False
    for line in text.split("\n"):
        fenced ^= line.startswith("```")
        before = lines[-1] if lines else ""
        if not fenced and ITEM.match(line) and before and not ITEM.match(before) and not before.startswith((" ", "|", "#")):
            lines.append("")
        lines.append(line)
    return "\n".join(lines)


class Site:
    """The pages, and what they link to."""

    def __init__(self, to: Path) -> None:
        self.files = tracked()
        self.folders = {parent.as_posix() for name in self.files for parent in Path(name).parents}
        self.pages = sorted(name for name in self.files if name.endswith(".md"))
        self.to = to
        self.sources: set[str] = set()  # files and folders that get a page of their own

    def target(self, page: str, link: str) -> str:
        """What the link of PAGE becomes: a path within the site, relative to PAGE."""
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), link))
        if path in self.folders:
            path = "" if path == "." else path
            if posixpath.join(path, "README.md") in self.files:
                return self.relative(page, posixpath.join(path, "README.md"))
            self.sources.add(path)
            return self.relative(page, posixpath.join(path, "files.md"))
        if path not in self.files:
            raise Missing(f"{page}: no {link} in the tree")
        if path.endswith((".md", *PICTURES)):
            return link
        self.sources.add(path)
        return self.relative(page, path + ".md")

    @staticmethod
    def relative(page: str, path: str) -> str:
        return posixpath.relpath(path, posixpath.dirname(page) or ".")

    def linked(self, page: str, text: str) -> str:
        """TEXT with its links, those in code as they are."""
        kept: list[str] = []

        def keep(match: re.Match[str]) -> str:
            kept.append(match[0])
            return f"\0{len(kept) - 1}\0"

        def change(match: re.Match[str]) -> str:
            return match[0] if "://" in match[1] else self.target(page, match[1]) + (match[2] or "")

        text = LINK.sub(change, CODE.sub(keep, text))
        return re.sub("\0(\\d+)\0", lambda match: kept[int(match[1])], text)

    def write(self, name: str, text: str) -> None:
        (self.to / name).parent.mkdir(parents=True, exist_ok=True)
        (self.to / name).write_text(text)

    def write_all(self) -> None:
        """Writes everything but the navigation."""
        for page in self.pages:
            self.write(page, self.linked(page, with_blank_lines((ROOT / page).read_text())))
        for name in self.files:
            if name.endswith(PICTURES):
                (self.to / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, self.to / name)
        shutil.copy(ROOT / "tools/docs/extra.css", self.to / "extra.css")
        for source in sorted(self.sources):
            head = f"---\nsearch:\n  exclude: true\n---\n\n# {source}\n\n"
            if source in self.folders:
                names = sorted({name[len(source) + 1:].split("/")[0] for name in self.files if name.startswith(source + "/")})
                self.write(f"{source}/files.md", head + "".join(f"- `{name}`\n" for name in names))
            else:
                language = LANGUAGES.get(Path(source).suffix, "text")
                text = (ROOT / source).read_text(errors="replace")
                self.write(source + ".md", f"{head}`````{language}\n{text}`````\n")

    def title(self, page: str) -> str:
        """The first heading of PAGE."""
        match = re.search(r"^# (.+)$", (ROOT / page).read_text(), re.MULTILINE)
        if match is None:
            raise Missing(f"{page}: no heading")
        return match[1].replace("`", "")


def navigation(site: Site) -> list[str]:
    """The lines of `nav:`: folders are sections, whose README.md is their first page."""
    order = room_order()

    def rank(path: str) -> tuple[int, str]:
        if path in FIRST:
            return FIRST.index(path) - len(FIRST), path
        # A folder without code is where the first room below it is.
        below = [place for room, place in order.items() if room == path or room.startswith(path + "/")]
        return (1 << 30 if path in LAST else min(below, default=0)), path

    def quoted(text: str) -> str:
        return "'" + text.replace("'", "''") + "'"

    def section(folder: str, indent: str) -> list[str]:
        own = [page for page in site.pages if posixpath.dirname(page) == folder]
        if folder == "docs":
            own.append("CONTRIBUTING.md")
        subs = {folder + "/" + page[len(folder) + 1:].split("/")[0] for page in site.pages
                if page.startswith(folder + "/") and "/" in page[len(folder) + 1:]}
        lines = []
        if folder + "/README.md" in own:
            own.remove(folder + "/README.md")
            lines.append(f"{indent}- {folder}/README.md")
        for path in sorted([*own, *subs], key=rank):
            if path in subs:
                inside = section(path, indent + "    ")
                lines += [f"{indent}- {quoted(path if folder != 'docs' else path.split('/')[-1])}:", *inside]
            else:
                lines.append(f"{indent}- {quoted(site.title(path))}: {path}")
        return lines

    lines = ["nav:", "  - Kettle: README.md"]
    for part in PARTS:
        if any(page.startswith(part + "/") for page in site.pages):
            lines += [f"  - {part}/:", *section(part, "      ")]
    placed = {line.rsplit(" ", 1)[1] for line in lines if line.endswith(".md")}
    missing = set(site.pages) - placed
    if missing:
        raise Missing(f"not in the navigation: {', '.join(sorted(missing))}")
    # Source files are reached from the pages, not from the navigation.
    return [*lines, "not_in_nav: |", *(f"  /{name}{'/files' if name in site.folders else ''}.md" for name in sorted(site.sources))]


def main() -> int:
    folder = Path(sys.argv[1]).resolve()
    pages = folder / "pages"
    shutil.rmtree(pages, ignore_errors=True)
    site = Site(pages)
    try:
        site.write_all()
        lines = navigation(site)
    except Missing as error:
        print(f"docs: {error}", file=sys.stderr)
        return 1
    config = os.path.relpath(ROOT / "tools/docs/mkdocs.yml", folder)
    (folder / "mkdocs.yml").write_text("\n".join([f"INHERIT: {config}", "docs_dir: pages", "site_dir: site", *lines]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
