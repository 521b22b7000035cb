"""docs/panics.md lists every panic of the kernel, once, and no other."""

import re
from collections import Counter

from hosttools.paths import ROOT

ROOMS = ("boot", "kernel", "mm", "msg", "tasks")
PANIC = re.compile(r'\bpanic\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)')
ITSELF = {"kernel/lib/panic.h", "kernel/lib/panic.c"}  # assert, and an example


def panics():
    """The messages of the sources."""
    found = set()
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.[ch]")):
            if str(path.relative_to(ROOT)) not in ITSELF:
                for call in PANIC.finditer(path.read_text()):
                    found.add("".join(re.findall(r'"((?:[^"\\]|\\.)*)"', call[1])))
    return found


def listed():
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", (ROOT / "docs/panics.md").read_text(), re.M)
    return Counter(message for message, why in rows if message not in ("panic",) and why.strip())


def test_every_panic_is_listed_once():
    assert len(panics()) > 30
    assert set(listed()) == panics()
    assert max(listed().values()) == 1
