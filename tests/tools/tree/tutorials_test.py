"""The tutorials do what they say, in a copy of this tree; and tools/run-tutorial notices when one does not."""

import importlib.util
import os
import subprocess
import sys
from importlib.machinery import SourceFileLoader

import pytest

from hosttools.paths import ROOT

TOOL = ROOT / "tools/run-tutorial"
PAGES = (("message.md",), ("retrieval-strategy.md", "benchmark-row.md"), ("numa-policy.md",))  # from the longest; each in a copy of its own


def load():
    loader = SourceFileLoader("run_tutorial", str(TOOL))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_tutorial", loader))
    sys.modules["run_tutorial"] = module  # where dataclasses look for it
    loader.exec_module(module)
    return module


tool = load()


def test_all_tutorials_are_known():
    assert {page.name for page in (ROOT / "docs/tutorials").glob("*.md")} == {*sum(PAGES, ()), "README.md"}


@pytest.mark.parametrize("pages", PAGES, ids=lambda pages: pages[0])
def test_the_tutorials_do_what_they_say(pages):
    whole = ["--whole"] if os.environ.get("KETTLE_LONG") == "1" else []  # the build of this tree has compiled the others
    done = subprocess.run([sys.executable, TOOL, *whole, *(ROOT / "docs/tutorials" / page for page in pages)], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_copy_has_the_guest_programs_that_a_page_names(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("$ tools/kettle run -- test-vm seed=1\n")
    rooms = {folder.name for folder in tool.guest_folders([page])}
    assert rooms == {"files", "harness", "vm", "mm", "numa"}  # each with what the one before it includes
    page.write_text("$ tools/kettle run -- tour\n")
    assert {folder.name for folder in tool.guest_folders([page])} == {"files", "harness"}


def test_a_diff_changes_the_one_place_that_it_names():
    assert tool.change("a\nb\nc\nd\n", " a\n-b\n+B\n@@\n+x\n d\n", "page:1") == "a\nB\nc\nx\nd\n"


@pytest.mark.parametrize("diff", [" z\n+y\n", " a\n+y\n", "b\n"])
def test_a_diff_that_does_not_fit_is_an_error(diff):
    with pytest.raises(tool.Wrong, match="page:1"):
        tool.change("a\nb\na\n", diff, "page:1")


@pytest.mark.parametrize("expected, printed, same", [
    (["1 ok", "..."], ["1 ok", "x", "y"], True),
    (["...", "end"], ["x", "end"], True),
    (["...", "end"], ["end", "x"], False),
    (["took 10 us  of 20"], ["took 19 us of 11"], True),
    (["took 10 us"], ["took 21 us"], False),
    (["call 0x4b12"], ["call 0x4b13"], False),
    (["k2 took 10us"], ["k1 took 10us"], False),
    (["0 violations"], ["1 violations"], False),
    (["3 sent"], ["3 received"], False),
    ([], ["a warning"], False),
    (["one line"], [], False),
])
def test_what_a_command_prints_is_compared(expected, printed, same):
    assert tool.same_lines(expected, printed) is same


def run_page(tmp_path, text):
    page = tmp_path / "page.md"
    page.write_text(text)
    for block in tool.blocks(page):
        if block.file:
            tool.apply(block, tmp_path)
        else:
            tool.run_console(block, tmp_path)


def test_blocks_are_applied_in_their_order(tmp_path):
    run_page(tmp_path, '```c title="room/a.c"\nint a;\n```\ntext\n```console\n$ cat room/a.c\nint a;\n$ true\n```\n'
                       '```diff title="room/a.c"\n-int a;\n+int b;\n```\n```console\n$ cat room/a.c\nint b;\n```\n')


@pytest.mark.parametrize("text, problem", [
    ("```console\n$ false\n```\n", "status 1"),
    ("```console\n$ echo yes\nno\n```\n", "where the page has\nno"),
    ("```console\necho yes\n```\n", "begins with"),
    ('```diff title="missing.c"\n+int a;\n```\n', "no file missing.c"),
    ('```c title="page.md"\nint a;\n```\n', "exists already"),
])
def test_a_page_that_is_wrong_is_noticed(tmp_path, text, problem):
    with pytest.raises(tool.Wrong, match=problem):
        run_page(tmp_path, text)
