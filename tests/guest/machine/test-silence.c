/* test-silence: what a program can see of long operations that the kernel makes in slices: they end when the program is
 * killed, others run meanwhile, and what others do between two slices is not lost. How long a kernel answers nobody is
 * measured by silencebench. A Linux program but for where it runs. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/tap.h"
#include "userland/thread.h"

#define PAGE 4096ul
#define SPAN (2ul << 20)
#define SPANS 1023
#define LARGE (24ul << 20)
#define ROUNDS 12

/* Writes 2 GiB to /dev/null with one call. */
static void write_much(atomic_int *begun)
{
    static struct iovec spans[SPANS];
    char *memory = mmap(NULL, SPAN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int null = open("/dev/null", O_WRONLY);

    if (memory == MAP_FAILED || null < 0)
        _exit(1);
    memset(memory, 1, SPAN);
    for (int i = 0; i < SPANS; i++)
        spans[i] = (struct iovec){memory, SPAN};
    *begun = 1;
    writev(null, spans, SPANS);
    _exit(0);
}

/* The bytes that PID, which has ended, wrote. */
static unsigned long bytes_written(pid_t pid)
{
    char path[32], text[512] = "";
    const char *at;
    int file;

    snprintf(path, sizeof(path), "/proc/%d/io", pid);
    file = (int)MUST(open(path, O_RDONLY));
    MUST(read(file, text, sizeof(text) - 1));
    close(file);
    at = strstr(text, "wchar: ");
    REQUIRE(at != NULL, "%s has \"%s\"", path, text);
    return strtoul(at + 7, NULL, 10);
}

static void test_killed(void)
{
    atomic_int *begun = tap_share(sizeof(*begun));
    pid_t child = FORK();
    siginfo_t ended;

    if (child == 0)
        write_much(begun);
    UNTIL(*begun, "a process that writes");
    MUST(kill(child, SIGKILL));
    MUST(waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT));
    CHECK(bytes_written(child) < SPANS * SPAN, "the call went on to its end");
    CHECK_DIES(child, SIGKILL);
}

struct unmapping {
    char *memory;
    atomic_int round;
    atomic_ulong lost;
};

/* Maps a page at the end of the range as soon as the range is free there, and looks whether it stays. */
static void map_in_between(struct thread *thread)
{
    struct unmapping *u = thread->argument;

    if (thread->index != 0)
        thread_move(thread->index);
    for (int round = 1; round <= ROUNDS; round++) {
        char *wanted = u->memory + LARGE - PAGE * (size_t)round, *got;

        while (u->round < round)
            sched_yield();
        do
            got = mmap(wanted, PAGE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | 0x100000 /* MAP_FIXED_NOREPLACE */, -1, 0);
        while (got == MAP_FAILED);
        *(volatile char *)got = (char)round;
        while (u->round < round + 100)
            sched_yield();
        if (*(volatile char *)got != (char)round)
            u->lost++;
        munmap(got, PAGE);
        u->round = 0;
    }
}

static void map_at(char *at)
{
    void *got = mmap(at, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

    REQUIRE(got == at, "mmap: %s", strerror(errno));
    MUST(madvise(at, LARGE, MADV_NOHUGEPAGE));
    for (size_t i = 0; i < LARGE; i += PAGE)
        at[i] = 2;
}

static void unmap_while_others_map(int kernel)
{
    struct unmapping u = {.memory = mmap(NULL, LARGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)};
    struct thread thread = {.index = kernel, .argument = &u};

    REQUIRE(u.memory != MAP_FAILED, "mmap: %s", strerror(errno));
    REQUIRE(thread_start(&thread, map_in_between), "clone: %s", strerror(errno));
    for (int round = 1; round <= ROUNDS; round++) {
        map_at(u.memory);
        u.round = round;
        MUST(munmap(u.memory, LARGE));
        u.round = round + 100;
        UNTIL(u.round == 0, "the other thread");
    }
    CHECK(thread_join(&thread), "the thread ends");
    CHECK(u.lost == 0, "%lu of %d mappings were lost", (unsigned long)u.lost, ROUNDS);
}

static void test_unmap(void)
{
    unmap_while_others_map(0);
}

static void test_unmap_far(void)
{
    if (tap_skip_alone())
        return;
    unmap_while_others_map(1);
}

static const struct tap_test tests[] = {
    {"killed", "a large write ends when its process is killed by another one of the same CPU", test_killed},
    {"unmap", "a mapping that a thread makes in a range that is being unmapped stays", test_unmap},
    {"unmap-far", "so does one that a thread on another kernel makes", test_unmap_far},
};

int main(int argc, char **argv)
{
    const struct tap_program program = {.tests = tests, .count = TAP_COUNT(tests), .apart = true};

    return tap_main(argc, argv, &program);
}
