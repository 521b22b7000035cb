"""Executables of many megabytes, on every kernel and from any file."""

import re

from conftest import TIMEOUT

WORDS = 5 << 20  # 20 MiB of data, each word its own number

PROGRAM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

__asm__(".data\n.balign 8\nwords:\n.set i, 0\n.rept WORDS\n.long i\n.set i, i + 1\n.endr\n");
extern unsigned words[];

/* Runs FILE in a process whose home is the kernel of CPU; what it found is its status. */
static int run(const char *file, int cpu)
{
    cpu_set_t one, all;
    int status;

    sched_getaffinity(0, sizeof(all), &all);
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    if (sched_setaffinity(0, sizeof(one), &one) != 0)
        return -1;
    if (fork() == 0) {
        execl(file, file, "check", (char *)0);
        perror(file);
        _exit(99);
    }
    wait(&status);
    sched_setaffinity(0, sizeof(all), &all);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

static int copy(const char *from, const char *to)
{
    static char buffer[1 << 16];
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT, 0755);
    ssize_t count;

    while ((count = read(in, buffer, sizeof(buffer))) > 0)
        if (write(out, buffer, count) != count)
            return -1;
    close(in);
    return count != 0 ? -1 : close(out);
}

/* Reads of other kernels' files that KERNEL has sent. */
static long reads_sent(unsigned kernel)
{
    FILE *file = fopen("/proc/kettle/messages", "r");
    char line[512];
    long count = -1, sent;
    unsigned of;

    while (fgets(line, sizeof(line), file) != NULL)
        if (sscanf(line, "kernel %u FILE_READ_AT sent %ld", &of, &sent) == 2 && of == kernel)
            count = sent;
    fclose(file);
    return count;
}

/* How many pages a child gets before it is killed. */
static long take_all(void)
{
    volatile long *count = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = fork();

    if (child == 0) {
        long pages = 1l << 18;
        volatile char *area = mmap(0, pages * 4096, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        for (*count = 0; *count < pages; ++*count)
            area[*count * 4096] = 1;
        _exit(0);
    }
    waitpid(child, NULL, 0);
    return *count;
}

int main(int argc, char **argv)
{
    int cpus = sysconf(_SC_NPROCESSORS_ONLN);

    if (argc > 1 && strcmp(argv[1], "short") == 0) {
        copy("/run/large", "/copy");
        for (int i = 0; i < 3; i++) { /* the last finds no room but what is kept */
            long most = take_all();

            printf("%ld pages, run %d\n", most, run("/copy", 0));
        }
        return 0;
    }
    if (argc > 1 && strcmp(argv[1], "again") == 0) {
        copy("/run/large", "/copy");
        for (int i = 0; i < 3; i++) {
            long before = reads_sent(1);
            int status = run("/copy", 1);

            printf("run %d: %d, %ld calls\n", i, status, reads_sent(1) - before);
        }
        return 0;
    }
    if (argc > 1) {
        for (unsigned i = 0; i < WORDS; i++)
            if (words[i] != i)
                return 1;
        return 42;
    }
    for (int cpu = 0; cpu < cpus; cpu++)
        printf("image %d: %d\n", cpu, run("/run/large", cpu));
    printf("copy: %d\n", copy("/run/large", "/copy"));
    for (int cpu = 0; cpu < cpus; cpu++)
        printf("copy %d: %d\n", cpu, run("/copy", cpu));
    truncate("/copy", 10 << 20); /* its data ends in the middle */
    printf("cut: %d\n", run("/copy", cpus - 1));
    return 0;
}
"""


def test_a_large_program_runs_on_every_kernel(run, musl):
    program = musl("large", PROGRAM.replace("WORDS", str(WORDS)))
    done = run("--cpus", 3, "--mem", "1G", "--kernels", "core", "--", program, timeout=TIMEOUT)
    wanted = [f"{kind} {cpu}: 42" for kind in ("image", "copy") for cpu in range(3)]
    assert done.status == 0, done.explain()
    lines = [line for line in done.stdout.decode().splitlines() if "format error" not in line]
    assert lines == [*wanted[:3], "copy: 0", *wanted[3:], "cut: 99"], done.explain()


def test_a_large_program_is_read_once_where_memory_is_not_short(run, musl):
    program = musl("large", PROGRAM.replace("WORDS", str(WORDS)))
    done = run("--cpus", 2, "--mem", "1G", "--kernels", "core", "--", program, "again", timeout=TIMEOUT)
    assert done.status == 0, done.explain()
    calls = [int(count) for count in re.findall(r"^run \d: 42, (\d+) calls$", done.stdout.decode(), re.MULTILINE)]
    whole = WORDS * 4 // 61440
    assert len(calls) == 3 and calls[0] >= whole and max(calls[1:]) < whole / 4, done.explain()


def test_what_is_kept_of_programs_goes_before_those_who_run(run, musl):
    program = musl("large", PROGRAM.replace("WORDS", str(WORDS)))
    done = run("--cpus", 1, "--mem", "512M", "--", program, "short", timeout=TIMEOUT)
    assert done.status == 0, done.explain()
    found = re.findall(r"^(\d+) pages, run 42$", done.stdout.decode(), re.MULTILINE)
    most = [int(pages) for pages in found]
    assert len(most) == 3 and min(most[1:]) > most[0] - WORDS * 4 // 4096 // 4, done.explain()
