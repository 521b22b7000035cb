"""Executables of many megabytes, on every kernel and from any file."""

from conftest import TIMEOUT

WORDS = 5 << 20  # 20 MiB of data, each word its own number

PROGRAM = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
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

int main(int argc, char **argv)
{
    int cpus = sysconf(_SC_NPROCESSORS_ONLN);

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
