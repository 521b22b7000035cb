"""docs/options.md and boot/options/options.def have the boot options that the kernel looks for, and no others."""

import re

from hosttools.paths import ROOT

FOLDERS = ("boot", "kernel", "mm", "msg", "tasks")
USES = (r"option_(?:find|number)\([^,;]*, \"(\w+)\"", r"option_choose\(\"\w+\", \"(\w+)\"",
        r"struct option \w+ = \{\s*\.name = \"(\w+)\"")


def known() -> list[str]:
    return re.findall(r"^OPTION\((\w+)\)$", (ROOT / "boot/options/options.def").read_text(), re.M)


def test_the_page_has_each_option_once():
    rows = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/options.md").read_text(), re.M)
    assert sorted(rows) == sorted(known())


def test_what_the_kernel_looks_for_is_known():
    text = "".join(file.read_text() for folder in FOLDERS for file in (ROOT / folder).rglob("*.c"))
    used = {name for pattern in USES for name in re.findall(pattern, text)}
    assert used == set(known())
