"""libc/alloc_trace.c and hosttools.measure.allocations: what a program on the host records, and whose an address is."""

import os
import re
import subprocess

import pytest

from host_command import compile_c
from hosttools.errors import UsageError
from hosttools.measure import allocations
from hosttools.paths import ROOT

WRAP = "-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free"
TEXT = """\
#include <pthread.h>
#include <stdlib.h>
static void *other(void *unused)
{
    for (int i = 0; i < 1000; i++)
        free(malloc(i));                                  // line 6
    return unused;
}
int main(void)
{
    pthread_t thread[2];
    char *volatile a = malloc(100);                       // line 12
    char *volatile b = calloc(3, 5);                      // line 13
    a = realloc(a, 200000);                               // line 14
    free(b);                                              // line 15
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], 0, other, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], 0);
    return 0;
}
"""


@pytest.fixture(scope="module", params=["musl-gcc", "gcc"])
def program(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("alloc")
    (folder / "mine.c").write_text(TEXT)
    target = folder / "mine"
    subprocess.run([request.param, "-static", "-g", "-O1", "-fno-builtin", "-pthread", str(folder / "mine.c"),
                    str(ROOT / "build/libc/liballoctrace.a"), WRAP, "-o", str(target)], check=True)
    return target


def test_every_call_is_recorded_with_its_line(program, tmp_path):
    out = tmp_path / "out"
    subprocess.run([program], env={**os.environ, "KETTLE_ALLOC_TRACE": str(out)}, check=True)
    found = allocations.parse(out.read_text())
    sites = allocations.resolve(found, program)
    own = [item for item in found if re.search(r"mine\.c:1[2-5]$", sites[item.caller])]
    assert [(item.call, item.size, sites[item.caller].rpartition(":")[2]) for item in own] == [
        ("malloc", 100, "12"), ("calloc", 15, "13"), ("realloc", 200000, "14"), ("free", 0, "15")]
    assert own[2].before == own[0].address and own[3].before == own[1].address
    loops = [item for item in found if sites[item.caller].endswith("mine.c:6")]
    assert len(loops) == 4000 and len({item.thread for item in loops}) == 2
    assert all(a.time <= b.time for a, b in zip(own, own[1:]))
    heap = allocations.Heap(found)
    assert heap.owner(own[2].address + 199999) == own[2]
    assert heap.owner(own[2].address + 200000) != own[2]


def test_it_may_go_to_standard_error_or_nowhere(program):
    done = subprocess.run([program], env={**os.environ, "KETTLE_ALLOC_TRACE": "-"}, capture_output=True, text=True, check=True)
    assert len(allocations.parse("and else\n" + done.stderr)) >= 4004
    quiet = {name: value for name, value in os.environ.items() if name != "KETTLE_ALLOC_TRACE"}
    done = subprocess.run([program], env=quiet, capture_output=True, text=True, check=True)
    assert done.stdout == done.stderr == ""


def line(sequence, call="malloc", size=16, address=0x1000, before=0):
    return f"@alloc 5 7 {sequence} {call} {size} {address:#x} {before:#x} 0x400100\n"


def test_a_missing_record_is_told():
    with pytest.raises(UsageError, match="record 1 is missing; the next one is 2"):
        allocations.parse(line(0) + line(2))


def test_an_address_belongs_to_the_last_that_had_it():
    found = allocations.parse(line(1, size=64) + "noise\n" + line(0, size=32) + line(2, address=0x2000) +
                              line(3, "free", 0, 0, 0x1000))
    heap = allocations.Heap(found)
    assert heap.owner(0x1000 + 40).sequence == 1 and heap.owner(0x2000).sequence == 2
    assert heap.owner(0x2010) is None and heap.owner(0) is None
    assert allocations.Heap(found, until=1).owner(0x1000 + 40) is None


def test_a_program_without_debug_information_is_no_error(tmp_path):
    path = compile_c(tmp_path / "bare", "int main(void) { return 0; }", "-static")
    assert allocations.resolve(allocations.parse(line(0)), path) == {0x400100: "??:0"}
    with pytest.raises(UsageError):
        allocations.resolve(allocations.parse(line(0)), tmp_path / "missing")
