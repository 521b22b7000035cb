"""What `tools/kettle run` promises about a program: its output, its input, its status, and the machine's failures."""

import hashlib
import re

import pytest

from conftest import ROOT, long_run, run_until, tap_problems

BINARY = """
#include <unistd.h>
int main(void)
{
    static unsigned char block[4096];
    unsigned state = 1;
    for (int i = 0; i < 100; i++) {
        for (int j = 0; j < 4096; j++) {
            state = state * 1664525u + 1013904223u;
            block[j] = state >> 24;
        }
        for (long done = 0; done < 4096;)
            done += write(1, block + done, 4096 - done);
    }
    return 0;
}
"""

COPY = """
#include <unistd.h>
int main(void)
{
    static char block[1000];
    for (;;) {
        long count = read(0, block, sizeof(block));
        if (count <= 0)
            return count < 0;
        for (long done = 0; done < count;)
            done += write(1, block + done, count - done);
    }
}
"""

SHOW = """
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    char line[100] = "";
    FILE *file = fopen("/data/note", "r");
    if (file == NULL || fgets(line, sizeof(line), file) == NULL)
        return 9;
    printf("%d|%s|%s|%s|%s", argc, argv[1], argv[2], getenv("COLOUR"), line);
    return 0;
}
"""


def expected_binary() -> bytes:
    state, out = 1, bytearray()
    for _ in range(100 * 4096):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        out.append(state >> 24)
    return bytes(out)


@pytest.mark.parametrize("code", [0, 7, 255])
def test_status_is_the_programs(run, musl, code):
    program = musl(f"return{code}", f"int main(void) {{ return {code}; }}")
    assert run("--cpus", "2", "--", program).status == code


@pytest.mark.parametrize("text, status", [
    ("int main(void) { return *(volatile int *)0; }", 139),
    ("int main(void) { __asm__ volatile(\"ud2\"); }", 132),
    ("#include <stdlib.h>\nint main(void) { abort(); }", 134),
    ("int main(int c, char **v) { volatile int zero = 0; return 7 / zero; }", 136),
])
def test_status_of_a_signal_is_128_and_its_number(run, musl, text, status):
    done = run("--cpus", "1", "--", musl(f"dies{status}", text))
    assert done.status == status, done.explain()


def test_output_is_the_programs_byte_for_byte(run, musl):
    done = run("--cpus", "2", "--", musl("binary", BINARY))
    assert done.status == 0, done.explain()
    assert hashlib.sha256(done.stdout).digest() == hashlib.sha256(expected_binary()).digest()


def test_no_line_of_the_log_is_in_the_output(run):
    done = run("--cpus", "2", "--", "hello")
    assert done.stdout == b"hello, world\n", done.explain()
    assert "kernel: runs on" in done.log and "plan" in done.log


def test_input_reaches_the_program_and_ends(run, musl):
    text = bytes(range(1, 256)) * 40
    done = run("--cpus", "2", "--timeout", "60", "--", musl("copy", COPY), stdin=text)
    assert done.status == 0 and done.stdout == text, done.explain()


def test_arguments_environment_and_files(run, musl, tmp_path):
    (tmp_path / "note").write_text("from the host\n")
    done = run("--file", f"{tmp_path / 'note'}:/data/note", "--env", "COLOUR=blue", "--", musl("show", SHOW), "a b", "")
    assert done.stdout == b"3|a b||blue|from the host\n", done.explain()


@pytest.mark.parametrize("compiler, flags", [
    ("musl-gcc", []), ("gcc", []), ("gcc", ["-static-pie", "-fPIE"]), ("gcc", ["-mavx2", "-O3"])])
def test_unmodified_linux_programs(run, musl, compiler, flags):
    """Static programs of both C libraries, also position independent and with vector code, use stdio and malloc."""
    text = """
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    int main(void)
    {
        double sum = 0;
        double *values = malloc(100000 * sizeof(double));
        for (int i = 0; i < 100000; i++)
            values[i] = i * 0.5;
        for (int i = 0; i < 100000; i++)
            sum += values[i];
        free(values);
        printf("%.1f %s\\n", sum, strerror(2));
        return sum == 2499975000.0 ? 0 : 1;
    }
    """
    name = f"{compiler}{len(flags)}{'pie' if '-static-pie' in flags else ''}"
    done = run("--cpus", "2", "--", musl(name, text, *flags, compiler=compiler))
    assert done.status == 0 and done.stdout == b"2499975000.0 No such file or directory\n", done.explain()


def test_timeout_says_who_waits_for_what(run):
    done = run_until(run, lambda done: "spin in its program" in done.stderr, "--cpus", "2", "--", "spin")
    assert done.status == 124, done.explain()
    assert "kernel 0 cpu 0 runs thread 0:2 spin in its program, rip 4" in done.stderr, done.explain()
    assert re.search("kernel 1 cpu 1 runs thread 0:0 idle in .*sched_idle < ", done.stderr), done.explain()
    assert "waits for" in done.stderr


def test_timeout_says_what_kernels_have_asked_and_keep(run, musl):
    text = """
    #include <sched.h>
    #include <unistd.h>
    int main(void)
    {
        int ends[2];
        char byte;
        cpu_set_t set;
        pipe(ends);
        CPU_ZERO(&set);
        CPU_SET(1, &set);
        sched_setaffinity(0, sizeof(set), &set);
        return read(ends[0], &byte, 1) != 1;
    }
    """
    done = run_until(run, lambda done: "which is kept there" in done.stderr, "--cpus", "2", "--",
                     musl("asker", text, "-D_GNU_SOURCE"))
    assert done.status == 124, done.explain()
    asked = re.search(r"kernel 1 has asked kernel 0 (\w+), which is kept there", done.stderr)
    assert asked and f"kernel 0 keeps {asked[1]} of kernel 1" in done.stderr, done.explain()


@pytest.mark.parametrize("mode", [(), ("apart",)])
def test_a_test_that_waits_too_long_says_what_all_processes_wait_for(run, musl, mode):
    """By UNTIL, by the timer of a test in its program's process, and by the supervisor of one apart."""
    text = """
    #include <signal.h>
    #include <unistd.h>
    #include "tests/guest/harness/tap.h"
    static void stands(void)
    {
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, NULL);
        kill(getpid(), SIGTERM);
        for (;;)
            pause();
    }
    static void until(void)
    {
        pid_t child = FORK();
        if (child == 0)
            stands();
        while (!tap_sleeps(child, child))
            sched_yield();
        UNTIL(0, "the impossible");
    }
    static void hangs(void) { tap_await("Godot"); for (;;) pause(); }
    static const struct tap_test tests[] = {{"until", "waits", until}, {"hangs", "hangs", hangs}};
    int main(int argc, char **argv)
    {
        struct tap_program program = {.tests = tests, .count = TAP_COUNT(tests)};
        program.apart = tap_take(&argc, &argv, "apart");
        return tap_main(argc, argv, &program);
    }
    """
    parts = sorted((ROOT / "tests/guest/harness").glob("tap*.c"))
    program = musl("waits", text, "-D_GNU_SOURCE", "-DTAP_PATIENCE=INT64_C(300000000)", f"-I{ROOT}",
                   *map(str, parts), str(ROOT / "libc/kettle.c"))
    for test, told in (("until", rb" kernel \d+ cpu \d+ S .* a signal\n# waits: \d+ \(waits\) of \d+: ShdPnd:\t0*4000\n"),
                       ("hangs", rb" kernel \d+ cpu \d+ [SR] ")):
        done = run("--cpus", "2", "--", program, *mode, test)
        assert done.status != 0 and b"not ok 1 - " in done.stdout, done.explain()
        assert re.search(rb"# waits: \d+ \(waits\) of \d+: thread \d+" + told, done.stdout), done.explain()


@pytest.mark.parametrize("machine", [("--cpus", "1"), ("--cpus", "4", "--kernels", "2")])
def test_a_timeout_while_the_machine_boots_is_a_timeout(run, machine):
    """The word for the wait dump may come before there is anything to write of, on any CPU."""
    for tenths in (1, 2, 3, 4, 5, 6, 8, 10, 14, 20) if long_run() else (2, 4, 7, 11):
        done = run(*machine, "--timeout", str(tenths / 10), "--", "spin")
        assert done.status == 124 and "panic" not in done.stderr, done.explain()


def test_the_console_runs_programs_where_it_is_and_beside_itself(run):
    done = run("--cpus", "2", "--", "console", stdin=b"spin &\nnobody &\nmigrate 1\nexit7\nps\nexit 5\n")
    assert done.status == 5 and b"exit status 7" in done.stdout, done.explain()
    process = re.search(rb"^process (\d+)$", done.stdout, re.M)
    assert process and re.search(rb"^ *%s .* 0 +\S+ spin$" % process[1], done.stdout, re.M), done.explain()
    assert re.search(rb" 1 +\S+ ps$", done.stdout, re.M) and b"cannot run nobody" in done.stdout, done.explain()


@pytest.mark.parametrize("option, said", [
    ("retreive=members", "unknown option 'retreive'"),
    ("quiet", "unknown option 'quiet'"),
    ("retrieve=member", "invalid retrieve='member'; using home (STRATEGY)"),
    ("leases=no", "invalid leases='no'; using on (on|off)"),
    ("events=yes", "invalid events='yes'; using off (off|on)"),
    ("lock=peterson", "invalid lock='peterson'; using home (home|lamport)"),
    ("boot=foo", "invalid boot='foo'; using all (all|manual)"),
    ("seed=x", "invalid seed='x'; using 0 ("),
    ("tracesize=0", "invalid tracesize='0'; using 4096 (1..65536)"),
    ("ring=5", "invalid ring='5'; using 64 (4|8|"),
])
def test_a_boot_option_that_means_nothing_is_a_warning(run, option, said):
    done = run("--cpus", "2", "--append-raw", option, "--", "exit7")
    assert done.status == 7, done.explain()
    assert done.stderr.startswith(f"kettle: warning: {said}") and done.stderr.count("\n") == 1, done.explain()


def test_boot_options_that_mean_something_are_no_warning(run):
    options = ("audit=off balance=off boot=all events=off huge=never inject=off leases=on lock=home place=local poll=400 "
               "prefetch=0 ranges=on retrieve=home ring=64 seed=3 trace=off tracesize=100")
    done = run("--cpus", "2", "--append", options, "--", "exit7")
    assert (done.status, done.stderr) == (7, ""), done.explain()


@pytest.mark.parametrize("kernel", [0, 3])
def test_panic_says_which_kernel_and_where(run, kernel):
    done = run("--cpus", "4", "--append", f"panic={kernel}", "--", "spin")
    assert done.status == 125, done.explain()
    assert f"panic on kernel {kernel} cpu {kernel}: kernel: the boot option panic={kernel}" in done.stderr
    assert "first_task+0x" in done.stderr, "the backtrace has names"


@pytest.mark.parametrize("how", ["panic", "spin"])
def test_the_death_of_kernel_0_ends_the_machine_with_one_message(run, how):
    done = run("--cpus", "3", "--tcg", "single", "--", "kettle-ctl", "kill", "0", how)
    assert done.status == 125, done.explain()
    assert done.stderr.count("kettle: kernel 0 died (") == 1, done.explain()
    assert (("kernel 0 has died, as a program asked: it runs, and does not take interrupts" if how == "spin" else
             "panic on kernel 0 cpu 0: kernel: a program asks for this") in done.stderr), done.explain()


def test_the_death_of_another_kernel_is_a_warning(run):
    done = run("--cpus", "2", "--", "kettle-ctl", "kill", "1", "panic")
    assert done.status == 0, done.explain()
    assert "kettle: warning: a kernel died: panic on kernel 1 cpu 1: kernel: a program asks for this" in done.stderr


def test_without_survival_no_kernel_is_killed(run):
    done = run("--cpus", "2", "--append", "death=off", "--", "kettle-ctl", "kill", "1", "panic")
    assert done.status == 1 and b"Resource busy" in done.stdout, done.explain()


def test_linux_runs_the_same_program(run, musl, tmp_path):
    (tmp_path / "note").write_text("from the host\n")
    show, seven = musl("show", SHOW), musl("return7", "int main(void) { return 7; }")
    done = run("--os", "linux", "--cpus", "2", "--nodes", "2", "--file", f"{tmp_path / 'note'}:/data/note", "--env",
               "COLOUR=red", "--", show, "x", "y")
    assert done.status == 0 and done.stdout == b"3|x|y|red|from the host\n", done.explain()
    assert run("--os", "linux", "--", seven).status == 7


def test_linux_agrees_with_the_tests_of_the_library(run):
    """The test programs ask of Kettle what Linux does: Linux has to pass them too."""
    for program in ("test-libc", "test-memory"):
        done = run("--os", "linux", "--cpus", "1", "--", program)
        assert done.status == 0 and not tap_problems(done.stdout.decode()), done.explain()


def test_seeded_run_repeats(run_json):
    """With --icount and --seed two runs of one CPU print the same times."""
    runs = [run_json("--cpus", "1", "--icount", "2", "--seed", "5", "--", "tour")["stdout"] for _ in range(2)]
    assert runs[0] == runs[1]
