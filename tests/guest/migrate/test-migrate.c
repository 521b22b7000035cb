/* test-migrate: a thread that moves from kernel to kernel finds everything as it left it.
 *
 * Here stand the tests of moving itself and of memory, and the table of all; migrate.h names the files of the
 * others. With one started kernel most tests are skipped; on a kernel that is no Kettle all of them are.
 *
 * Started with a name and a number it is one of the children of migrate_programs.c; one that should have died
 * and did not exits with SURVIVED. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/migrate/migrate.h"
#include "tests/guest/migrate/migrate_route.h"

#define SURVIVED 99

/* --- where a thread may go --- */

static void test_errors(void)
{
    const int wrong[] = {-1, kettle_kernels(), 64, 1000, INT_MAX, INT_MIN};

    if (!tap_on_kettle()) {
        tap_skip("no Kettle");
        return;
    }
    CHECK(kettle_kernels() >= 1 && kettle_kernels() <= ROUTE_MAX, "%d kernels", kettle_kernels());
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        CHECK_ERROR(kettle_migrate(wrong[i]), EINVAL);
        CHECK_ERROR(kettle_node(wrong[i]), EINVAL);
        CHECK_ERROR(kettle_start(wrong[i]), EINVAL);
        CHECK_ERROR(kettle_started(wrong[i]), EINVAL);
        CHECK(kettle_kernel() == route.home, "moved by a mistake");
    }
}

static void test_not_started(void)
{
    int started[ROUTE_MAX];

    if (tap_kernels(started) == kettle_kernels()) {
        tap_skip("all kernels are started");
        return;
    }
    for (int kernel = 0; kernel < kettle_kernels(); kernel++) {
        if (kettle_started(kernel) == 0)
            CHECK_ERROR(kettle_migrate(kernel), EAGAIN);
        CHECK(kettle_kernel() == route.home, "moved by a mistake");
    }
}

static void test_stay(void)
{
    if (!tap_on_kettle()) {
        tap_skip("no Kettle");
        return;
    }
    for (int i = 0; i < 20; i++)
        route_move(route.home);
    CHECK(kettle_start(route.home) == 0 && kettle_started(route.home) == 1, "home is started");
}

static void test_visit(void)
{
    if (!route_begin(ROUTE_ALL))
        return;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < route.count; i++) {
            route_move(route.kernels[i]);
            CHECK(kettle_kernels() >= route.count && kettle_started(route.kernels[i]) == 1 &&
                      kettle_node(route.kernels[i]) >= 0,
                  "kernel %d sees another machine", route.kernels[i]);
        }
        for (int i = route.count - 1; i >= 0; i--)
            route_move(route.kernels[i]);
        for (int i = 0; i < route.count; i++)
            route_move(route_random());
        for (int i = 0; i < route.count; i++) {
            route_move(route.kernels[i]);
            route_move(route.home);
        }
    }
}

static void test_often(void)
{
    if (!route_begin(ROUTE_ALL))
        return;
    for (int i = 0; i < 500; i++) {
        if (!route_move(route_away()) || !route_move(route.home))
            return;
    }
}

static _Thread_local int local = 31;

static void test_identity(void)
{
    pid_t process = getpid();
    long thread = syscall(SYS_gettid);

    if (!route_begin(ROUTE_ALL))
        return;
    for (int i = 0; i < 2 * route.count; i++) {
        route_move(route.kernels[i % route.count]);
        errno = i;
        CHECK(errno == i && local == 31 + i, "thread-local memory: %d, %d", errno, local);
        local++;
        CHECK(getpid() == process, "process %d, not %d", getpid(), process);
        CHECK(syscall(SYS_gettid) == thread, "thread %ld, not %ld", syscall(SYS_gettid), thread);
    }
    route_move(route.home);
    local = 31;
}

static void test_time(void)
{
    long last = 0;

    if (!route_begin(ROUTE_ALL))
        return;
    for (int i = 0; i < 10 * route.count && i < 200; i++) {
        int kernel = route_random();
        long now;

        route_move(kernel);
        for (int j = 0; j < 5; j++) {
            now = tap_time();
            CHECK(now >= last, "%ld ns earlier than before the move", last - now);
            last = now;
        }
    }
    route_move(route.home);
    CHECK(tap_time() - last < 60000000000l, "a minute was lost");
}

static void test_sleep(void)
{
    if (!route_begin(ROUTE_FEW))
        return;
    for (int i = 0; i < route.count; i++) {
        struct timespec time = {0, 5000000};
        long begin;

        route_move(route.kernels[i]);
        begin = tap_time();
        CHECK(nanosleep(&time, NULL) == 0, "%s", strerror(errno));
        CHECK(tap_time() - begin >= 5000000, "slept %ld ns", tap_time() - begin);
        CHECK(kettle_kernel() == route.kernels[i], "woke up on another kernel");
    }
    route_move(route.home);
}

/* --- memory --- */

static long data_marks[ROUTE_MAX + 1] = {1};
static long bss_marks[ROUTE_MAX];

static void test_memory_kinds(void)
{
    long stack_marks[ROUTE_MAX] = {0};
    long *heap_marks;
    long *mapped_marks;

    if (!route_begin(ROUTE_FEW))
        return;
    heap_marks = calloc(ROUTE_MAX, sizeof(long));
    mapped_marks = (long *)route_map(1, READ_WRITE);
    CHECK(heap_marks != NULL && mapped_marks != NULL, "%s", strerror(errno));
    if (heap_marks == NULL || mapped_marks == NULL) {
        free(heap_marks);
        return;
    }
    for (int round = 1; round <= 3; round++) {
        for (int i = 0; i < route.count; i++) {
            route_move(route.kernels[i]);
            for (int j = 0; j < route.count; j++) {
                long expected = (j < i ? round : round - 1) * 1000 + (round > 1 || j < i ? j : 0);

                CHECK(data_marks[j + 1] == expected && bss_marks[j] == expected && heap_marks[j] == expected &&
                          stack_marks[j] == expected && mapped_marks[j] == expected,
                      "mark %d: %ld %ld %ld %ld %ld, should all be %ld", j, data_marks[j + 1], bss_marks[j],
                      heap_marks[j], stack_marks[j], mapped_marks[j], expected);
            }
            data_marks[i + 1] = bss_marks[i] = heap_marks[i] = stack_marks[i] = mapped_marks[i] = round * 1000 + i;
        }
    }
    route_move(route.home);
    munmap(mapped_marks, PAGE);
    free(heap_marks);
}

/* Pages that nobody touched before are touched first on a kernel other than the one that mapped them. */
static void test_memory_first_remote(void)
{
    char *area;

    if (!route_begin(ROUTE_FEW))
        return;
    area = route_map(3l * route.count, READ_WRITE);
    if (area == NULL)
        return;
    for (int i = 0; i < route.count; i++) {
        route_move(route.kernels[i]);
        for (int j = 0; j < 3; j++) {
            char *page = area + (3 * i + j) * PAGE;

            CHECK(page[0] == 0 && page[PAGE - 1] == 0, "page %d is not zero", 3 * i + j);
            page[0] = (char)(i + 1);
            page[PAGE - 1] = (char)(j + 1);
        }
    }
    for (int k = route.count - 1; k >= 0; k--) {
        route_move(route.kernels[k]);
        for (int i = 0; i < route.count; i++) {
            for (int j = 0; j < 3; j++) {
                char *page = area + (3 * i + j) * PAGE;

                CHECK(page[0] == (char)(i + 1) && page[PAGE - 1] == (char)(j + 1), "page %d holds %d and %d", 3 * i + j,
                      page[0], page[PAGE - 1]);
            }
        }
    }
    route_move(route.home);
    munmap(area, (size_t)(3 * route.count * PAGE));
}

/* A page read first everywhere, which may be a shared page of zeros, and then written somewhere. */
static void test_memory_read_first(void)
{
    volatile char *area;

    if (!route_begin(ROUTE_FEW))
        return;
    area = route_map(route.count, READ_WRITE);
    if (area == NULL)
        return;
    for (int k = 0; k < route.count; k++) {
        route_move(route.kernels[k]);
        for (int i = 0; i < route.count; i++)
            CHECK(area[i * PAGE + 7] == 0, "page %d is not zero", i);
    }
    for (int k = 0; k < route.count; k++) {
        route_move(route.kernels[k]);
        area[k * PAGE + 7] = (char)(k + 1);
    }
    for (int k = 0; k < route.count; k++) {
        route_move(route.kernels[k]);
        for (int i = 0; i < route.count; i++)
            CHECK(area[i * PAGE + 7] == i + 1, "page %d written on kernel %d holds %d", i, route.kernels[i],
                  area[i * PAGE + 7]);
    }
    route_move(route.home);
    munmap((void *)area, (size_t)(route.count * PAGE));
}

static void test_memory_one_frame(void)
{
    enum { PAGES = 4 };
    volatile long *area;

    if (!route_begin(ROUTE_ALL))
        return;
    area = (long *)route_map(PAGES, READ_WRITE);
    if (area == NULL)
        return;
    for (long i = 0; i < 200; i++) {
        route_move(route_after(route.home, (int)(i % route.count)));
        for (long page = 0; page < PAGES; page++) {
            volatile long *word = &area[page * PAGE / (long)sizeof(long)];

            CHECK(*word == i * (page + 1), "page %ld holds %ld after %ld additions", page, *word, i);
            *word += page + 1;
        }
    }
    route_move(route.home);
    munmap((void *)area, PAGES * PAGE);
}

static void test_memory_large(void)
{
    enum { WORDS = 1 << 17 }; /* 1 MiB */
    uint64_t *words;
    unsigned wrong = 0;

    if (!route_begin(ROUTE_FEW))
        return;
    words = malloc(WORDS * sizeof(uint64_t));
    CHECK(words != NULL, "%s", strerror(errno));
    if (words == NULL)
        return;
    for (uint64_t i = 0; i < WORDS; i++)
        words[i] = i;
    for (int stop = 0; stop < route.count; stop++) {
        route_move(route_after(route.home, stop));
        for (size_t i = 0; i < WORDS; i++)
            words[i] = words[i] * 3 + 1;
    }
    route_move(route.home);
    for (uint64_t i = 0; i < WORDS; i++) {
        uint64_t expected = i;

        for (int stop = 0; stop < route.count; stop++)
            expected = expected * 3 + 1;
        wrong += words[i] != expected;
    }
    CHECK(wrong == 0, "%u of %d words are wrong", wrong, WORDS);
    free(words);
}

/* Each level's frame lies on stack pages first touched on another kernel. */
static int stack_dive(int level)
{
    volatile int frame[1500];
    int kernel = route.kernels[level % route.count];

    if (!route_move(kernel))
        return -1;
    for (int i = 0; i < 1500; i++)
        frame[i] = level + i;
    if (level > 0 && stack_dive(level - 1) != level - 1)
        return -1;
    for (int i = 0; i < 1500; i++) {
        if (frame[i] != level + i)
            return -1;
    }
    return level;
}

static void test_memory_stack(void)
{
    if (!route_begin(ROUTE_ALL))
        return;
    CHECK(stack_dive(40) == 40, "frames changed");
    route_move(route.home);
}

static void test_memory_code(void)
{
    static const unsigned char answer[] = {0xb8, 0, 0, 0, 0, 0xc3}; /* mov $N, %eax; ret */

    if (!route_begin(ROUTE_FEW))
        return;
    for (int i = 0; i < route.count; i++) {
        int (*code)(void);
        char *area;

        route_move(route.kernels[i]);
        area = route_map(1, READ_WRITE);
        if (area == NULL)
            return;
        memcpy(area, answer, sizeof(answer));
        area[1] = (char)(i + 1);
        CHECK(mprotect(area, PAGE, PROT_READ | PROT_EXEC) == 0, "%s", strerror(errno));
        memcpy(&code, &area, sizeof(code));
        route_move(route_after(route.kernels[i], 1));
        CHECK(code() == i + 1, "code written on kernel %d answers %d", route.kernels[i], code());
        CHECK(munmap(area, PAGE) == 0, "%s", strerror(errno));
    }
    route_move(route.home);
}

/* --- kernels that start later --- */

static void test_start(void)
{
    int started[ROUTE_MAX];

    if (tap_kernels(started) == kettle_kernels()) {
        tap_skip("all kernels are started");
        return;
    }
    for (int kernel = kettle_kernels() - 1; kernel >= 0; kernel--) {
        if (kettle_started(kernel) == 1)
            continue;
        CHECK(kettle_start(kernel) == 0, "kernel %d: %s", kernel, strerror(errno));
        CHECK(kettle_started(kernel) == 1, "kernel %d is not started", kernel);
        data_marks[0] = kernel;
        route_move(kernel);
        CHECK(data_marks[0] == kernel, "memory differs on kernel %d", kernel);
        route_move(route.home);
    }
    CHECK(tap_kernels(started) == kettle_kernels(), "%d kernels are started", tap_kernels(started));
    test_memory_one_frame();
}

static const struct tap_test tests[] = {
    {"errors", "a kernel that does not exist is EINVAL", test_errors},
    {"not-started", "a kernel that is not started is EAGAIN", test_not_started},
    {"stay", "moving to the kernel where the thread is succeeds", test_stay},
    {"visit", "a thread reaches every kernel in every order and comes back", test_visit},
    {"often", "a thread moves a thousand times", test_often},
    {"identity", "process id, thread id and thread-local memory stay the same", test_identity},
    {"time", "time never goes backwards", test_time},
    {"sleep", "sleeping works on every kernel", test_sleep},
    {"memory-kinds", "globals, heap, stack and mappings keep every kernel's writes", test_memory_kinds},
    {"memory-first-remote", "pages touched first on another kernel are seen on all", test_memory_first_remote},
    {"memory-read-first", "pages read as zero everywhere show a later write everywhere", test_memory_read_first},
    {"memory-one-frame", "a page written in turns never loses a write", test_memory_one_frame},
    {"memory-large", "1 MiB is rewritten on kernel after kernel", test_memory_large},
    {"memory-stack", "a stack grows and unwinds across kernels", test_memory_stack},
    {"memory-code", "code written on one kernel runs on another", test_memory_code},
    {"map", "what is mapped on one kernel is used and unmapped on others", migrate_test_map},
    {"unmap", "what is unmapped on one kernel is gone on all and zero when mapped anew", migrate_test_unmap},
    {"protect", "what is protected on one kernel is protected on all", migrate_test_protect},
    {"break", "the break moves for all kernels", migrate_test_break},
    {"malloc", "malloc, realloc and free work on any kernel", migrate_test_malloc},
    {"kernel-access", "system calls reach memory that their kernel has not seen", migrate_test_kernel_access},
    {"output", "output from all kernels comes in order", migrate_test_output},
    {"exit", "a program that exits on another kernel gives its status", migrate_test_exit},
    {"die", "a program that dies on another kernel gives its signal", migrate_test_die},
    {"die-of-change", "a change of mappings at home kills a thread elsewhere that violates it",
     migrate_test_die_of_change},
    {"spawn-elsewhere", "kettle_spawn and wait work on every kernel", migrate_test_spawn_elsewhere},
    {"spawn-back", "after every move children start and are waited for at home", migrate_test_spawn_back},
    {"start", "a kernel started later is reached and sees all memory", test_start},
};

int main(int argc, char **argv)
{
    route.home = kettle_kernel();
    if (argc == 3 && argv[1][0] == '@' && migrate_child(argv[1] + 1, atoi(argv[2])))
        return SURVIVED;
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
