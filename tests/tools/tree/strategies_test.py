"""Retrieval strategies are listed in one place, mm/retrieve/strategies.def; everything else reads it."""

import re
import subprocess
import sys

import pytest

from hosttools.machine.strategies import strategies, strategy_names
from hosttools.paths import ROOT

FOLDERS = ("boot", "kernel", "libc", "mm", "msg", "tasks", "tests", "tools", "userland", "docs/options.md", "docs/design.md")


def test_each_row_has_its_file_and_name():
    files = "".join(file.read_text() for file in (ROOT / "mm/retrieve").glob("*.c"))
    for strategy in strategies():
        match = re.search(rf'const struct space_retrieval space_retrieve_{strategy.name} = \{{\s*\.name = "(\w+)"(.*?)\}};', files,
                          re.DOTALL)
        assert match, strategy.name
        assert match[1] == strategy.name
        assert (".home_knows = true" in match[2]) == (strategy.finds == "directory"), strategy.name


def test_no_other_file_lists_them():
    """Three different names in one line are a list that a new strategy would have to be added to."""
    word = re.compile(r"[`\"'|= ](" + "|".join(strategy_names()) + r")(?=[`\"'|,\\])")
    listed = subprocess.run(["git", "ls-files", *FOLDERS], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    lists = [f"{file}:{number}: {line.strip()}" for file in listed
             if file not in ("mm/retrieve/strategies.def", "mm/retrieve/retrieval.md") and (ROOT / file).is_file()
             for number, line in enumerate((ROOT / file).read_text(errors="replace").splitlines(), 1)
             if len(set(word.findall(line))) >= 3]
    assert not lists, "\n".join(lists)


def test_the_page_has_the_table():
    done = subprocess.run([sys.executable, ROOT / "tools/strategy-table", "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_line_that_is_no_row_is_an_error(tmp_path):
    table = tmp_path / "strategies.def"
    table.write_text('/* a comment */\nSTRATEGY(nearest, GUESSING, "a", "b", "c")\n')
    with pytest.raises(ValueError, match="not a row: STRATEGY.nearest"):
        strategies(table)
