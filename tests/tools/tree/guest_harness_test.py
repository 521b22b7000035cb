"""The harness of tests/guest: what it reports of tests that hold, fail, crash, hang and skip, in one process and apart."""

import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]

PROGRAM = r"""
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "tests/guest/harness/tap.h"

static void test_good(void) { CHECK(1 + 1 == 2, "the sum is %d", 1 + 1); }
static void test_bad(void) { CHECK(1 + 1 == 3, "the sum is %d", 1 + 1); CHECK_ERROR(close(-1), EPERM); }
static void test_skipped(void) { tap_skip("no luck"); }
static void *fails(void *unused) { CHECK(0, "in a thread"); return unused; }
static void test_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, fails, 0);
    pthread_join(thread, 0);
}
static void test_child(void)
{
    pid_t child = FORK();
    if (child == 0) {
        CHECK(0, "in a child");
        _exit(3);
    }
    CHECK_EXITS(child, 3);
}
static void test_executed(void) { CHECK_CHILD_EXITS("seven", "7", 7); CHECK_CHILD_DIES("seven", "0", SIGUSR1); }
static void test_required(void) { MUST(close(-1)); }
static void test_dies(void) { raise(SIGKILL); }
static void test_hangs(void) { tap_await("Godot"); for (;;) pause(); }
static void test_until(void) { UNTIL(0, "the impossible"); }
static void test_orphan(void) { if (FORK() == 0) for (;;) pause(); }

static int child_seven(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[2], "0") == 0)
        raise(SIGUSR1);
    return argc == 3 ? argv[2][0] - '0' : 99;
}

static const struct tap_test tests[] = {
    {"good", "holds", test_good}, {"bad", "does not hold", test_bad}, {"skipped", "is skipped", test_skipped},
    {"thread", "fails in a thread", test_thread}, {"child", "fails in a child", test_child},
    {"executed", "executes itself", test_executed}, {"required", "stops", test_required}, {"dies", "dies", test_dies},
    {"hangs", "hangs", test_hangs}, {"until", "waits", test_until}, {"orphan", "leaves a child", test_orphan},
};
static const struct tap_child children[] = {{"seven", child_seven}};

int main(int argc, char **argv)
{
    struct tap_program program = {.tests = tests, .count = TAP_COUNT(tests), .children = children,
                                  .child_count = TAP_COUNT(children), .parameters = "[apart] [N]"};
    long number = 0;

    program.apart = tap_take(&argc, &argv, "apart");
    if (tap_take_number(&argc, &argv, &number))
        tap_note("number %ld", number);
    return tap_main(argc, argv, &program);
}
"""


class Harness(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        source = pathlib.Path(cls.folder.name) / "program.c"
        source.write_text(PROGRAM)
        cls.program = source.with_suffix("")
        command = ["musl-gcc", "-static", "-O1", "-std=c11", "-D_GNU_SOURCE", "-DTAP_PATIENCE=INT64_C(1000000000)", "-I."]
        parts = sorted((ROOT / "tests/guest/harness").glob("tap*.c"))
        subprocess.run([*command, "-o", cls.program, source, *parts, "libc/kettle.c"], cwd=ROOT, check=True)

    def run_program(self, *arguments):
        done = subprocess.run([self.program, *arguments], capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout.splitlines()

    def expect(self, status, lines, *arguments):
        """What is printed but for comments is LINES."""
        found_status, found = self.run_program(*arguments)
        self.assertEqual([line for line in found if not line.startswith("#")], lines, found)
        self.assertEqual(found_status, status)
        return found

    def test_what_holds_and_what_is_skipped(self):
        for mode in ([], ["apart"]):
            self.expect(0, ["1..2", "ok 1 - good: holds", "ok 2 - skipped: is skipped # SKIP no luck"], *mode, "good", "skipped")

    def test_every_failure_is_explained_and_the_first_is_in_the_result(self):
        for mode in ([], ["apart"]):
            found = self.expect(
                1, ["1..2", "not ok 1 - bad: does not hold: 1 + 1 == 3: the sum is 2", "ok 2 - good: holds"], *mode, "bad", "good"
            )
            self.assertEqual(sum("program.c" in line for line in found), 2)
            self.assertTrue(any("close(-1): fails with EBADF, not EPERM" in line for line in found))

    def test_checks_of_threads_and_children_count(self):
        for mode in ([], ["apart"]):
            self.expect(
                1,
                ["1..2", "not ok 1 - thread: fails in a thread: 0: in a thread", "not ok 2 - child: fails in a child: 0: in a child"],
                *mode, "thread", "child",
            )  # fmt: skip

    def test_children_that_are_executed(self):
        self.expect(0, ["1..1", "ok 1 - executed: executes itself"], "apart", "executed")
        self.assertEqual(self.run_program("@seven", "5")[0], 5)
        self.assertEqual(self.run_program("@eight")[0], 2)

    def test_apart_the_next_test_runs_whatever_becomes_of_one(self):
        self.expect(
            1,
            [
                "1..6",
                "not ok 1 - dies: dies: the test died of signal 9",
                "not ok 2 - required: stops: close(-1): EBADF",
                "not ok 3 - hangs: hangs: takes too long; waits for Godot",
                "not ok 4 - until: waits: 0: still waiting for the impossible",
                "not ok 5 - orphan: leaves a child: childless: the test leaves a child behind",
                "ok 6 - good: holds",
            ],
            "apart", "dies", "required", "hangs", "until", "orphan", "good",
        )  # fmt: skip

    def test_in_one_process_the_test_that_ends_it_is_named(self):
        for name, wrong in (
            ("required", "stops: close(-1): EBADF"),
            ("hangs", "hangs: takes too long; waits for Godot"),
            ("until", "waits: 0: still waiting for the impossible"),
        ):
            self.expect(71, ["1..3", "ok 1 - good: holds", f"not ok 2 - {name}: {wrong}"], "good", name, "good")

    def test_arguments(self):
        status, found = self.run_program("--help")
        self.assertEqual((status, found[0]), (0, "usage: program [apart] [N] [TEST...]"))
        self.assertIn("  skipped            is skipped", found)
        self.assertEqual(self.run_program("good", "unknown"), (2, []))
        self.assertIn("# number 12", self.run_program("apart", "12", "good")[1])


if __name__ == "__main__":
    unittest.main()
