"""docs/options.md, boot/options/options.def and the kernel's sources have the same boot options, defaults and limits; and the
tool reads the rows as the kernel does."""

import re
import subprocess

import pytest

from hosttools.machine import boot_options
from hosttools.paths import ROOT

FOLDERS = ("boot", "kernel", "mm", "msg", "tasks")
USES = (r"option_(?:find|number|is)\([^,;]*, \"(\w+)\"", r"struct option \w+ = \{\s*\.name = \"(\w+)\"")
CHECKER = """
#include <stdio.h>
#include "boot/options/options.h"
int main(int count, char **words)
{
    for (int i = 1; i + 1 < count; i += 2)
        printf("%d\\n", option_valid(words[i], words[i + 1]));
}
"""
VALUES = ("", "on", "off", "of", "home", "homes", "all", "clear", "always", "least-loaded", "none", "core", "node", "0", "4", "5", "007",
          "32", "33", "64", "65", "400", "1024", "2048", "65536", "65537", "4294967294", "4294967295", "9223372036854775808",
          "9223372036854775809", "99999999999999999999999", "-1", "1x", "0-1", "0-1,2-3", "0,4", "0-256", "0-1-2", "0-1,", ",", "a,b",
          "seed:7", "seed:7,rate:100", "rate:101", "seed:", "seed:7,", "type:MIGRATE", "type:", "off,seed:7", "tag:/mnt", "tag:/mnt:ro",
          "tag:mnt", "tag:/a,tag:/b:ro", "tag:/a,none", "tag:/", "on|off", "0..32", "NUMBER", "on ")


def number(file: str, name: str) -> int:
    """The value of a #define."""
    found = re.search(rf"^#define {name} (\d+)", (ROOT / file).read_text(), re.M)
    assert found, name
    return int(found[1])


def test_the_page_has_each_option_once_with_its_default_and_values():
    page = re.findall(r"^\| `(\w+)` \| `([^`]+)` \| `([^`]+)` \|", (ROOT / "docs/options.md").read_text(), re.M)
    rows = boot_options.rows().values()
    assert sorted((name, fallback, values.replace("\\|", "|")) for name, fallback, values in page) == sorted(
        (row.name, row.fallback, row.values) for row in rows)
    text = boot_options.TABLE.read_text()
    assert len(rows) == len(re.findall(r"^OPTION\(", text, re.M)) >= 21, "each row was understood"


def test_what_the_kernel_looks_for_is_known():
    text = "".join(file.read_text() for folder in FOLDERS for file in (ROOT / folder).rglob("*.c"))
    used = {name for pattern in USES for name in re.findall(pattern, text)}
    assert used == set(boot_options.rows())


def test_the_rows_have_the_limits_of_the_sources():
    rows = boot_options.rows()
    ring = [int(value) for value in rows["ring"].values.split("|")]
    low, high = number("msg/ring.h", "RING_SLOTS_MIN"), number("msg/ring.h", "RING_SLOTS_MAX")
    assert ring == [1 << i for i in range(20) if low <= 1 << i <= high]
    assert int(rows["ring"].fallback) == number("msg/ring.h", "RING_SLOTS_DEFAULT")
    assert rows["prefetch"].values == f"0..{number('mm/retrieve/wire.h', 'SPACE_RUNS_MAX')}"
    assert int(rows["poll"].fallback) == number("msg/idle.h", "IDLE_POLLS_DEFAULT")
    kernels = number("kernel/abi/limits.h", "KERNELS_MAX")
    assert rows["panic"].values == f"none|0..{kernels - 1}" and f"|1..{kernels}|" in rows["kernels"].values


def test_each_default_is_allowed():
    assert [row.name for row in boot_options.rows().values() if not row.allows(row.fallback)] == []


def test_the_tool_and_the_kernel_read_the_rows_alike(tmp_path):
    (tmp_path / "check.c").write_text(CHECKER)
    subprocess.run(["gcc", f"-I{ROOT}", "-o", tmp_path / "check", tmp_path / "check.c", ROOT / "boot/options/options.c"], check=True)
    rows = [row for row in boot_options.rows().values() if row.values != "STRATEGY"]  # the names are of a table of mm
    pairs = [(row, value) for row in rows for value in VALUES]
    words = [word for row, value in pairs for word in (row.name, value)]
    told = subprocess.run([tmp_path / "check", *words], capture_output=True, text=True, check=True).stdout.split()
    assert len(told) == len(pairs)
    assert [(row.name, value) for (row, value), valid in zip(pairs, told) if row.allows(value) != (valid == "1")] == []


@pytest.mark.parametrize("name, known", [("MIGRATE", True), ("RELAY_URGENT", True), ("NOSUCH", False)])
def test_a_message_is_one_of_the_table(name, known):
    """The kernel checks that with its own table, behind what the row says."""
    assert boot_options.rows()["inject"].allows(f"seed:1,type:{name}") == known
