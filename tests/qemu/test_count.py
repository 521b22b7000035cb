"""`tools/kettle run --count` and userland/bench/mark.h: what is counted of programs on Kettle and on Linux."""

import subprocess

import pytest

from conftest import ROOT, run_until

COLUMNS = ("user", "kernel", "idle")
ROUNDS = 5
# Each piece once in each of ROUNDS rounds, in a region of its own: round * 16 + the piece's number.
PIECES = r"""
#include <sys/mman.h>
#include <unistd.h>
#include "userland/bench/mark.h"

#define PIECE(number, text) \
    __asm__ volatile("" : "+D"(page)); /* in its register before the region */ \
    mark_begin(round * 16 + number); \
    __asm__ volatile(text : "+D"(page) : : "rax", "rcx", "memory"); \
    mark_end(round * 16 + number)

static inline __attribute__((always_inline)) void pieces(const int round, char *page)
{
    PIECE(0, "");
    PIECE(1, "mov $10000, %%ecx\n 1: dec %%ecx\n jnz 1b");
    PIECE(2, "jmp 1f\n 1: movb $1, (%%rdi)\n incb (%%rdi)\n jmp 2f\n 2:"); /* the first touch of a page */
    PIECE(3, "incb (%%rdi)\n incb (%%rdi)");
    PIECE(4, "mov $110, %%eax\n push %%r11\n syscall\n pop %%r11"); /* getppid */
}
int main(void)
{
    char *pages = mmap(0, 5 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pieces(0, pages);
    pieces(1, pages + 4096);
    pieces(2, pages + 2 * 4096);
    pieces(3, pages + 3 * 4096);
    pieces(4, pages + 4 * 4096);
    return 0;
}
"""
USER = {0: 0, 1: 20001, 2: 5, 3: 2, 4: 4}  # piece 2: the instruction that faults is started twice
SYSCALLS = r"""
#include <unistd.h>
#include "userland/bench/mark.h"
int main(void)
{
    getppid();
    mark_begin(1);
    for (int i = 0; i < 100; i++)
        getppid();
    mark_end(1);
    return 0;
}
"""
TWO_CPUS = r"""
#include <pthread.h>
#include <stdatomic.h>
#include "libc/kettle.h"
#include "userland/bench/mark.h"

#define LOOP(count) __asm__ volatile("mov %0, %%ecx\n 1: dec %%ecx\n jnz 1b" ::"i"(count) : "ecx")
static atomic_int ready, done, failed;

static void meet(void)
{
    for (ready++; ready < 2;)
        __asm__ volatile("pause");
}

static void *other(void *unused)
{
    failed = kettle_migrate(1) != 0;
    meet();
    mark_begin(1);
    LOOP(3000000);
    mark_end(1);
    done = 1;
    return unused;
}

int main(void)
{
    pthread_t thread;
    if (pthread_create(&thread, 0, other, 0))
        return 1;
    meet();
    mark_begin(2);
    LOOP(2000000);
    mark_end(2);
    while (!done)
        __asm__ volatile("pause");
    if (pthread_join(thread, 0) || failed)
        return 2;
    return 0;
}
"""
# A region whose number is known only at run time; C++, without optimization; and out of range.
RUNTIME = r"""
#include "userland/bench/mark.h"
int main(int argc, char **)
{
    for (int region = argc + 9; region < 257; region++) {
        mark_begin(region);
        __asm__ volatile("mov $1000, %%ecx\n 1: dec %%ecx\n jnz 1b" ::: "ecx");
        mark_end(region);
    }
}
"""


def regions(told) -> dict:
    assert told["counts"] is not None
    return {region["region"]: region for region in told["counts"]}


def column(region, name) -> int:
    return sum(cpu[name] for cpu in region["cpus"])


@pytest.fixture(scope="module")
def pieces(musl):
    return musl("pieces", PIECES, "-O2", f"-I{ROOT}")


@pytest.mark.parametrize("options", [("--icount", "3"), ("--tcg", "single"), ("--tcg", "multi", "--cpus", "2")])
def test_user_instructions_are_exact(run_json, pieces, options):
    counted = regions(run_json("--cpus", "1", *options, "--count", "--", pieces))
    assert {number: column(region, "user") for number, region in counted.items()} == {
        turn * 16 + piece: instructions for turn in range(ROUNDS) for piece, instructions in USER.items()}
    assert all(region["entries"] == 1 and not region["errors"] and not region["open"] for region in counted.values())
    assert all(len(region["cpus"]) == (2 if "2" in options else 1) for region in counted.values())
    for turn in range(ROUNDS):
        assert column(counted[turn * 16], "kernel") == column(counted[turn * 16 + 3], "kernel") == 0
        assert column(counted[turn * 16 + 2], "kernel") > 100 and column(counted[turn * 16 + 4], "kernel") > 10


@pytest.mark.linux
def test_user_instructions_are_exact_on_linux(run_json, pieces):
    """Other processes may run inside a region, so a piece counts what its rounds agree on: the least."""
    counted = regions(run_json("--os", "linux", "--cpus", "1", "--icount", "4", "--count", "--", pieces))
    least = {piece: min(column(counted[turn * 16 + piece], "user") for turn in range(ROUNDS)) for piece in USER}
    assert least == USER
    assert all(column(region, "idle") == 0 for region in counted.values())
    assert column(counted[2], "kernel") > 500


def test_two_runs_count_the_same(run_json, musl):
    program = musl("syscalls", SYSCALLS, "-O2", f"-I{ROOT}")
    options = ("--cpus", "2", "--icount", "2", "--seed", "7", "--count", "--", program)
    told = [run_json(*options)["counts"] for _ in range(2)]
    assert told[0] == told[1] and column(told[0][0], "kernel") > 1000


@pytest.mark.parametrize("threads", ["single", "multi"])
def test_two_cpus_are_counted_each_for_itself(run_json, musl, threads):
    library = ROOT / "build" / "libc" / "libkettle.a"
    program = musl("two", TWO_CPUS, "-O2", f"-I{ROOT}", "-pthread", "-Wl,--whole-archive", str(library),
                   "-Wl,--no-whole-archive")
    counted = regions(run_json("--cpus", "2", "--kernels", "core", "--tcg", threads, "--count", "--", program))
    assert counted[1]["cpus"][1]["user"] == 6000001
    assert counted[2]["cpus"][0]["user"] == 4000001


def test_the_idle_column_has_what_the_idle_functions_execute(run_json, musl, tmp_path, monkeypatch):
    """With a kernel one of whose functions bears the name of an idle loop; the profile tells how much it executes."""
    program = musl("syscalls", SYSCALLS, "-O2", f"-I{ROOT}")
    build = ROOT / "build"
    options = ("--cpus", "1", "--icount", "2", "--profile", tmp_path / "profile", "--", program)
    usual = run_json(*options)
    subprocess.run(["objcopy", "--redefine-sym", "syscall_dispatch=idle_poll_test", build / "kettle.elf",
                    tmp_path / "kettle.elf"], check=True)
    for name in ("initramfs.cpio", "plugin", "venv"):
        (tmp_path / name).symlink_to(build / name)
    monkeypatch.setenv("KETTLE_BUILD", str(tmp_path))
    renamed = run_json(*options)
    part = {row["function"]: row["instructions"] for row in renamed["profile"]}["idle_poll_test"]
    assert column(renamed["counts"][0], "idle") == part >= 1000
    for name in ("user", "kernel", "idle"):
        moved = {"user": 0, "kernel": -part, "idle": part}[name]
        assert column(renamed["counts"][0], name) == column(usual["counts"][0], name) + moved


@pytest.mark.parametrize("system, function", [("kettle", "syscall_dispatch"), pytest.param("linux", "do_syscall_64", marks=pytest.mark.linux)])
def test_the_profile_sums_up_to_the_kernel_column(run, musl, tmp_path, system, function):
    program = musl("syscalls", SYSCALLS, "-O2", f"-I{ROOT}")
    done = run("--os", system, "--cpus", "2", "--tcg", "single", "--profile", tmp_path / "profile", "--", program)
    assert done.status == 0, done.explain()
    table, _, profile = done.stderr.partition("instructions  function\n")
    rows = [line.split() for line in table.splitlines()[1:] if line.split()[2] != "all"]
    assert table.splitlines()[0].split() == ["region", "entries", "cpu", *COLUMNS]
    whole = [line.split() for line in (tmp_path / "profile").read_text().splitlines()[1:]]
    assert sum(int(count) for count, _ in whole) == sum(int(row[4]) + int(row[5]) for row in rows)
    assert [line.split() for line in profile.splitlines()] == whole[:30]
    assert function in dict(reversed(row) for row in whole)


def test_a_region_may_be_known_only_at_run_time(run_json, musl):
    """The loop, and the few instructions of two tables."""
    text = RUNTIME
    for name, flags in (("runtime", ["-O2"]), ("runtime-O0", ["-O0"])):
        counted = regions(run_json("--cpus", "1", "--count", "--", musl(name, text, "-xc++", f"-I{ROOT}", *flags,
                                                                         compiler="gcc")))
        assert sorted(counted) == list(range(10, 256))
        assert all(2001 <= column(region, "user") <= 2050 for region in counted.values())


def test_a_program_that_is_ended_leaves_its_counts(musl, run, tmp_path):
    text = '#include "userland/bench/mark.h"\nint main(void) { mark_begin(1); for (;;) __asm__ volatile("pause"); }'
    done = run_until(run, lambda done: "kettle: region 1: " in done.stderr, "--cpus", "2", "--count", "--",
                     musl("stays", text, f"-I{ROOT}", "-O2"))
    assert done.status == 124 and "kettle: region 1: never ended; counted to the machine's end\n" in done.stderr
    row = done.stderr.split("region  entries")[1].splitlines()[1].split()
    assert row[:3] == ["1", "1", "0"] and int(row[3]) > 1000
