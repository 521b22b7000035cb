"""docs/results/allocations.md lists functions that allocate, once each, and no other: `tests/allocations/run --sites` brings it
up to date without running anything."""

import re
import tomllib
from collections import Counter

from hosttools.paths import ROOT

ROW = re.compile(r"^\| (\S+\.[ch]) \| (\w+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (.*) \|$", re.M)
CALL = re.compile(r"\b(?:heap_alloc|heap_alloc_unset|frame_alloc_table|msg_memory\.allocate_unset)\(")
ITSELF = {"mm/frame/heap.c", "mm/frame/heap.h", "mm/frame/frame.c", "mm/frame/frame.h"}


def listed():
    return ROW.findall((ROOT / "docs/results/allocations.md").read_text())


def sources():
    """The kernel's sources that allocate; what a comment mentions is no call."""
    found = set()
    for room in ("boot", "kernel", "mm", "msg", "tasks"):
        for path in (ROOT / room).rglob("*.[ch]"):
            name = str(path.relative_to(ROOT))
            if name not in ITSELF and CALL.search(re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)):
                found.add(name)
    return found


def test_every_source_that_allocates_is_listed_and_no_other():
    assert {row[0] for row in listed()} == sources()


def test_every_function_is_listed_once_and_in_its_source():
    rows = listed()
    assert max(Counter((row[0], row[1]) for row in rows).values()) == 1
    for source, function, *_ in rows:
        assert re.search(rf"\b{function}\(", (ROOT / source).read_text()), f"{source} has no {function}"


def test_counts_agree_and_what_was_not_refused_says_why():
    rows = listed()
    for source, function, calls, reached, refused, times, why in rows:
        assert int(refused) <= int(reached) <= int(calls) and int(times) >= int(refused), (source, function)
        assert (why != "") == (int(refused) < int(calls)), (source, function)
    assert sum(int(row[4]) for row in rows) > 100


def test_reasons_are_of_what_there_is():
    functions = {f"{row[0]}:{row[1]}" for row in listed()}
    for name in tomllib.loads((ROOT / "tests/allocations/why.toml").read_text())["why"]:
        assert name in functions or (ROOT / name).exists(), name
