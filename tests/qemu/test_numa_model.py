"""`tools/kettle run --numa-model` and --trace: figures that are arithmetic, on Kettle and on Linux."""

import json

import jsonschema
import pytest

from conftest import ROOT, long_run
from hosttools.measure import trace

# Caches so small that a list of 4096 lines fits into none, and lists of four nodes.
LINES = 4096
CACHES = "cache=16K:4,llc=64K:16,ghz=2.5,prefetch=0"
MATRIX = [[102, 138, 172, 140], [143, 107, 141, 172], [179, 141, 102, 141], [141, 175, 142, 108]]  # opteron-4
SELF = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "userland/bench/mark.h"

#define LINES 4096
#define ROUNDS 4
#define TURNS 16

static char *lists[4];
static _Alignas(4096) volatile char shared[64];
static _Alignas(4096) atomic_int turn;

static void bind_to(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0)
        _exit(3);
}

static char *list_on(int node)
{
    unsigned long mask = 1ul << node;
    char *list = mmap(0, LINES * 64, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (list == MAP_FAILED || syscall(SYS_mbind, list, LINES * 64l, 2, &mask, 5, 0) != 0)
        _exit(4);
    for (long i = 0; i < LINES * 64; i += 64)
        list[i] = 1;
    return list;
}

/* 3 * LINES + 1 instructions in one line of code. */
#define STRIDE(region, list, step) do { \
    char *at = (list), *end = at + LINES * (step); \
    __asm__ volatile("" : "+r"(at), "+r"(end)); \
    mark_begin(region); \
    __asm__ volatile(".balign 64\n 1: movb (%0), %%al\n add %2, %0\n cmp %1, %0\n jb 1b" \
                     : "+r"(at) : "r"(end), "i"(step) : "rax", "memory"); \
    mark_end(region); \
} while (0)

/* Lines of two lists in turn. */
#define HALF(region, one, other) do { \
    char *at = (one), *end = at + LINES * 32; long away = (other) - at; \
    __asm__ volatile("" : "+r"(at), "+r"(end), "+r"(away)); \
    mark_begin(region); \
    __asm__ volatile(".balign 64\n 1: movb (%0), %%al\n movb 64(%0,%2), %%al\n add $64, %0\n cmp %1, %0\n jb 1b" \
                     : "+r"(at) : "r"(end), "r"(away) : "rax", "memory"); \
    mark_end(region); \
} while (0)

static void *other(void *unused)
{
    bind_to(1);
    for (int i = 0; i < TURNS; i++) {
        while (turn != 2 * i + 1)
            __asm__ volatile("pause");
        shared[0] = 1;
        turn = 2 * i + 2;
    }
    while (turn != 2 * TURNS + 1) /* or its end would push the line out of its cache */
        __asm__ volatile("pause");
    return unused;
}

int main(void)
{
    pthread_t thread;
    bind_to(0);
    for (int node = 0; node < 4; node++)
        lists[node] = list_on(node);
    for (int round = 0; round < ROUNDS; round++) {
        int base = round * 16;
        for (int node = 0; node < 4; node++) {
            switch (base + node) {
            #define ONE(r, n) case r * 16 + n: STRIDE(r * 16 + n, lists[n], 64); break;
            #define ALL(r) ONE(r, 0) ONE(r, 1) ONE(r, 2) ONE(r, 3)
            ALL(0) ALL(1) ALL(2) ALL(3)
            }
        }
        if (round == 0) HALF(4, lists[0], lists[3]);
        if (round == 1) HALF(20, lists[0], lists[3]);
        if (round == 2) HALF(36, lists[0], lists[3]);
        if (round == 3) HALF(52, lists[0], lists[3]);
    }
    if (pthread_create(&thread, 0, other, 0) != 0)
        return 5;
    for (int i = 0; i < TURNS; i++) {
        shared[0] = 2;
        turn = 2 * i + 1;
        while (turn != 2 * i + 2)
            __asm__ volatile("pause");
        #define TURN(n) case n: mark_begin(100 + n); shared[0] = 2; mark_end(100 + n); break;
        switch (i) {
        TURN(0) TURN(1) TURN(2) TURN(3) TURN(4) TURN(5) TURN(6) TURN(7)
        TURN(8) TURN(9) TURN(10) TURN(11) TURN(12) TURN(13) TURN(14) TURN(15)
        }
    }
    turn = 2 * TURNS + 1;
    return pthread_join(thread, 0);
}
"""
# A page of a list longer than the TLB, again and again; on node NODE.
WALKS = r"""
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "userland/bench/mark.h"
#define PAGES 512
int main(void)
{
    char *list = mmap(0, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned long mask = 1ul << NODE;
    madvise(list, PAGES * 4096, 15); /* small pages */
    if (syscall(SYS_mbind, list, PAGES * 4096l, 2, &mask, 8, 0) != 0)
        return 1;
    for (int round = 0; round < 4; round++) {
        char *at = list, *end = list + PAGES * 4096;
        if (round == 3) mark_begin(1);
        __asm__ volatile(".balign 64\n 1: movb $1, (%0)\n add $4096, %0\n cmp %1, %0\n jb 1b" : "+r"(at) : "r"(end) : "memory");
        if (round == 3) mark_end(1);
    }
    return 0;
}
"""


def first_cpu(told, region) -> dict:
    return next(item["cpus"][0] for item in told["numa_model"]["regions"] if item["region"] == region)


def cycles(cpu) -> int:
    return sum(cpu["modelled_cycles"].values())


def least(told, piece, rounds=4) -> dict:
    """The round of a piece in which least was executed: what interrupts it is in none."""
    return min((first_cpu(told, turn * 16 + piece) for turn in range(1, rounds)), key=cycles)


@pytest.fixture(scope="module")
def program(musl):
    return musl("numa-self", SELF, "-O2", f"-I{ROOT}", "-pthread")


# Linux does not start several CPUs with --icount: without it the interrupts of a busy host may be in every round.
@pytest.fixture(params=[("--icount", "0", "--seed", "1"), pytest.param(("--os", "linux"), marks=[pytest.mark.linux, pytest.mark.skipif(
    not long_run(), reason="not exact on a busy host")])], ids=["kettle", "linux"])
def told(request, run_json, program):
    return run_json("--cpus", "4", "--nodes", "4", *request.param, "--numa-model", f"opteron-4,tlb=0,{CACHES}", "--", program)


def ns(value) -> int:
    return round(value * 2.5)


def test_figures_are_arithmetic(told):
    """A stride through memory of each node, all local and all remote; half and half; a line that two nodes write. The code of a
    piece is executed once in a round: a line or two of it that had to be fetched are there, too."""
    pieces = {node: [LINES if other == node else 0 for other in range(4)] for node in range(4)}
    pieces[4] = [LINES // 2, 0, 0, LINES // 2]
    for piece, lines in pieces.items():
        cpu = least(told, piece)
        code = cpu["misses"] - LINES
        assert cpu["references"] == LINES and code in (0, 1, 2)
        fetched = [came - line for came, line in zip(cpu["lines_from_node"], lines)]
        assert min(fetched) >= 0 and sum(fetched) == code
        came = cpu["lines_from_node"]
        assert (cpu["local"], cpu["remote"], cpu["llc_hits"]) == (came[0], sum(came[1:]), 0)
        assert cycles(cpu) == cpu["instructions"] + sum(count * ns(latency) for count, latency in zip(came, MATRIX[0]))
    cpu = min((first_cpu(told, 100 + turn) for turn in range(16)), key=cycles)
    assert (cpu["instructions"], cpu["references"], cpu["remote"], cpu["forwards"]) == (1, 1, 1, 1)
    assert cycles(cpu) == 1 + ns(MATRIX[0][1])


def test_two_runs_are_the_same(run_json, program):
    options = ("--cpus", "4", "--nodes", "4", "--icount", "0", "--seed", "5", "--numa-model", f"opteron-4,{CACHES}", "--", program)
    whole = [run_json(*options) for _ in range(2)]
    jsonschema.validate(whole[0], json.loads((ROOT / "docs" / "run.schema.json").read_text()))
    runs = [told["numa_model"] for told in whole]
    assert runs[0] == runs[1] and runs[0]["regions"]


@pytest.mark.parametrize("memory", ["256M", "4G", "131080K,131064K"])
def test_walks_are_of_the_guest_s_page_tables(run_json, musl, memory):
    """Each page is a walk, each walk reads an entry of every level, and its end is where the access went: also above 4 GiB, and
    on nodes whose sizes are not those of the emulator's blocks."""
    nodes = 2 if "," in memory else 4
    told = run_json("--cpus", nodes, "--nodes", nodes, "--mem", memory, "--icount", "0", "--seed", "1", "--numa-model",
                    "slit,tlb=64:4,check=1,cache=16K:4,llc=64K:16,prefetch=0", "--",
                    musl("walks", WALKS, "-O2", f"-I{ROOT}", f"-DNODE={nodes - 1}"))
    cpu = first_cpu(told, 1)
    assert cpu["lines_from_node"][nodes - 1] >= 500
    assert 512 <= cpu["walks"] <= 514
    assert cpu["walk_references"] / cpu["walks"] in (4, 5)
    assert (cpu["walks_unresolved"], cpu["stale_translations"]) == (0, 0)


@pytest.mark.parametrize("system", ["kettle", pytest.param("linux", marks=pytest.mark.linux)])
def test_the_modelled_tlb_forgets_what_the_guest_drops(run_json, musl, system):
    """With check=1 each translation is compared with the emulator's: while pages come, are copied after forks and go."""
    text = r"""
    #include <sys/mman.h>
    #include <sys/wait.h>
    #include <unistd.h>
    #include "userland/bench/mark.h"
    #define SIZE (1 << 20)
    int main(void)
    {
        mark_begin(1);
        for (int round = 0; round < 8; round++) {
            volatile char *p = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            for (int i = 0; i < SIZE; i += 4096) p[i] = 1;
            if (fork() == 0) {
                for (int i = 0; i < SIZE; i += 8192) p[i] = 2;
                _exit(p[4096] != 1);
            }
            for (int i = 0; i < SIZE; i += 4096) p[i] = 3;
            wait(0);
            mprotect((void *)p, SIZE, PROT_READ);
            munmap((void *)p, SIZE);
        }
        mark_end(1);
        return 0;
    }
    """
    told = run_json("--os", system, "--cpus", "2", "--nodes", "2", "--numa-model", "slit,check=1", "--",
                    musl("drops", text, "-O2", f"-I{ROOT}"))
    cpus = told["numa_model"]["regions"][0]["cpus"]
    assert sum(cpu["walks"] for cpu in cpus) > 1000
    assert [(cpu["walks_unresolved"], cpu["stale_translations"]) for cpu in cpus] == [(0, 0)] * 2


def test_the_trace_has_each_access(run_json, program, tmp_path):
    """Those of the program in regions, in order; thinned, every so manieth."""
    options = ("--cpus", "4", "--nodes", "4", "--icount", "0", "--seed", "1", "--numa-model", f"opteron-4,tlb=0,{CACHES}")
    told = run_json(*options, "--trace", tmp_path / "all", "--", program)
    whole = trace.read(tmp_path / "all")
    assert len(whole.records) == told["numa_model"]["trace_records"] > 16 * LINES
    user = whole.records[whole.records["column"] == 0]
    steps = [int(b) - int(a) for a, b in zip(user["address"][:LINES - 1], user["address"][1:LINES])]
    assert set(steps) == {64} and set(user["memory_node"][:LINES]) == {0}
    assert list(user["memory_node"][LINES:2 * LINES]) == [1] * LINES
    assert not any(user["write"][:LINES]) and set(user["size_shift"][:LINES]) == {0}
    run_json(*options, "--trace", f"{tmp_path / 'some'},every=7", "--", program)
    some = trace.read(tmp_path / "some")
    assert some.every == 7 and (some.records["address"] == whole.records["address"][::7]).all()
    run_json(*options, "--trace", f"{tmp_path / 'memory'},of=memory", "--", program)
    memory = trace.read(tmp_path / "memory").records
    assert len(memory) == sum(int(source) >= 2 for source in whole.records["source"])


def test_a_table_says_that_figures_are_modelled(run, program):
    done = run("--cpus", "4", "--nodes", "4", "--numa-model", f"opteron-4,{CACHES}", "--", program)
    assert done.status == 0 and "modelled, not measured" in done.stderr and "modelled cycles" in done.stderr, done.explain()
