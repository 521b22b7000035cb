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
#include "userland/tests/migrate.h"
#include "userland/tests/tap.h"
#include "userland/tests/visit.h"

#define SURVIVED 99

/* --- where a thread may go --- */

static void test_errors(void)
{
    const int wrong[] = {-1, kettle_kernels(), 64, 1000, INT_MAX, INT_MIN};

    if (!tap_on_kettle()) {
        tap_skip("no Kettle");
        return;
    }
    EXPECT(kettle_kernels() >= 1 && kettle_kernels() <= VISIT_MAX, "%d kernels", kettle_kernels());
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        EXPECT_ERROR(kettle_migrate(wrong[i]), EINVAL);
        EXPECT_ERROR(kettle_node(wrong[i]), EINVAL);
        EXPECT_ERROR(kettle_start(wrong[i]), EINVAL);
        EXPECT_ERROR(kettle_started(wrong[i]), EINVAL);
        EXPECT(kettle_kernel() == visit.home, "moved by a mistake");
    }
}

static void test_not_started(void)
{
    int started[VISIT_MAX];

    if (tap_kernels(started) == kettle_kernels()) {
        tap_skip("all kernels are started");
        return;
    }
    for (int kernel = 0; kernel < kettle_kernels(); kernel++) {
        if (kettle_started(kernel) == 0)
            EXPECT_ERROR(kettle_migrate(kernel), EAGAIN);
        EXPECT(kettle_kernel() == visit.home, "moved by a mistake");
    }
}

static void test_stay(void)
{
    if (!tap_on_kettle()) {
        tap_skip("no Kettle");
        return;
    }
    for (int i = 0; i < 20; i++)
        visit_move(visit.home);
    EXPECT(kettle_start(visit.home) == 0 && kettle_started(visit.home) == 1, "home is started");
}

static void test_visit(void)
{
    if (!visit_begin(VISIT_ALL))
        return;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < visit.count; i++) {
            visit_move(visit.kernels[i]);
            EXPECT(kettle_kernels() >= visit.count && kettle_started(visit.kernels[i]) == 1 &&
                       kettle_node(visit.kernels[i]) >= 0,
                   "kernel %d sees another machine", visit.kernels[i]);
        }
        for (int i = visit.count - 1; i >= 0; i--)
            visit_move(visit.kernels[i]);
        for (int i = 0; i < visit.count; i++)
            visit_move(visit_random());
        for (int i = 0; i < visit.count; i++) {
            visit_move(visit.kernels[i]);
            visit_move(visit.home);
        }
    }
}

static void test_often(void)
{
    if (!visit_begin(VISIT_ALL))
        return;
    for (int i = 0; i < 500; i++) {
        if (!visit_move(visit_away()) || !visit_move(visit.home))
            return;
    }
}

static _Thread_local int local = 31;

static void test_identity(void)
{
    pid_t process = getpid();
    long thread = syscall(SYS_gettid);

    if (!visit_begin(VISIT_ALL))
        return;
    for (int i = 0; i < 2 * visit.count; i++) {
        visit_move(visit.kernels[i % visit.count]);
        errno = i;
        EXPECT(errno == i && local == 31 + i, "thread-local memory: %d, %d", errno, local);
        local++;
        EXPECT(getpid() == process, "process %d, not %d", getpid(), process);
        EXPECT(syscall(SYS_gettid) == thread, "thread %ld, not %ld", syscall(SYS_gettid), thread);
    }
    visit_move(visit.home);
    local = 31;
}

static void test_time(void)
{
    long last = 0;

    if (!visit_begin(VISIT_ALL))
        return;
    for (int i = 0; i < 10 * visit.count && i < 200; i++) {
        int kernel = visit_random();
        long now;

        visit_move(kernel);
        for (int j = 0; j < 5; j++) {
            now = visit_time();
            EXPECT(now >= last, "%ld ns earlier than before the move", last - now);
            last = now;
        }
    }
    visit_move(visit.home);
    EXPECT(visit_time() - last < 60000000000l, "a minute was lost");
}

static void test_sleep(void)
{
    if (!visit_begin(VISIT_FEW))
        return;
    for (int i = 0; i < visit.count; i++) {
        struct timespec time = {0, 5000000};
        long begin;

        visit_move(visit.kernels[i]);
        begin = visit_time();
        EXPECT(nanosleep(&time, NULL) == 0, "%s", strerror(errno));
        EXPECT(visit_time() - begin >= 5000000, "slept %ld ns", visit_time() - begin);
        EXPECT(kettle_kernel() == visit.kernels[i], "woke up on another kernel");
    }
    visit_move(visit.home);
}

/* --- memory --- */

static long data_marks[VISIT_MAX + 1] = {1};
static long bss_marks[VISIT_MAX];

static void test_memory_kinds(void)
{
    long stack_marks[VISIT_MAX] = {0};
    long *heap_marks;
    long *mapped_marks;

    if (!visit_begin(VISIT_FEW))
        return;
    heap_marks = calloc(VISIT_MAX, sizeof(long));
    mapped_marks = (long *)visit_map(1, READ_WRITE);
    EXPECT(heap_marks != NULL && mapped_marks != NULL, "%s", strerror(errno));
    if (heap_marks == NULL || mapped_marks == NULL) {
        free(heap_marks);
        return;
    }
    for (int round = 1; round <= 3; round++) {
        for (int i = 0; i < visit.count; i++) {
            visit_move(visit.kernels[i]);
            for (int j = 0; j < visit.count; j++) {
                long expected = (j < i ? round : round - 1) * 1000 + (round > 1 || j < i ? j : 0);

                EXPECT(data_marks[j + 1] == expected && bss_marks[j] == expected && heap_marks[j] == expected &&
                           stack_marks[j] == expected && mapped_marks[j] == expected,
                       "mark %d: %ld %ld %ld %ld %ld, should all be %ld", j, data_marks[j + 1], bss_marks[j],
                       heap_marks[j], stack_marks[j], mapped_marks[j], expected);
            }
            data_marks[i + 1] = bss_marks[i] = heap_marks[i] = stack_marks[i] = mapped_marks[i] = round * 1000 + i;
        }
    }
    visit_move(visit.home);
    munmap(mapped_marks, PAGE);
    free(heap_marks);
}

/* Pages that nobody touched before are touched first on a kernel other than the one that mapped them. */
static void test_memory_first_remote(void)
{
    char *area;

    if (!visit_begin(VISIT_FEW))
        return;
    area = visit_map(3l * visit.count, READ_WRITE);
    if (area == NULL)
        return;
    for (int i = 0; i < visit.count; i++) {
        visit_move(visit.kernels[i]);
        for (int j = 0; j < 3; j++) {
            char *page = area + (3 * i + j) * PAGE;

            EXPECT(page[0] == 0 && page[PAGE - 1] == 0, "page %d is not zero", 3 * i + j);
            page[0] = (char)(i + 1);
            page[PAGE - 1] = (char)(j + 1);
        }
    }
    for (int k = visit.count - 1; k >= 0; k--) {
        visit_move(visit.kernels[k]);
        for (int i = 0; i < visit.count; i++) {
            for (int j = 0; j < 3; j++) {
                char *page = area + (3 * i + j) * PAGE;

                EXPECT(page[0] == (char)(i + 1) && page[PAGE - 1] == (char)(j + 1), "page %d holds %d and %d",
                       3 * i + j, page[0], page[PAGE - 1]);
            }
        }
    }
    visit_move(visit.home);
    munmap(area, (size_t)(3 * visit.count * PAGE));
}

/* A page read first everywhere, which may be a shared page of zeros, and then written somewhere. */
static void test_memory_read_first(void)
{
    volatile char *area;

    if (!visit_begin(VISIT_FEW))
        return;
    area = visit_map(visit.count, READ_WRITE);
    if (area == NULL)
        return;
    for (int k = 0; k < visit.count; k++) {
        visit_move(visit.kernels[k]);
        for (int i = 0; i < visit.count; i++)
            EXPECT(area[i * PAGE + 7] == 0, "page %d is not zero", i);
    }
    for (int k = 0; k < visit.count; k++) {
        visit_move(visit.kernels[k]);
        area[k * PAGE + 7] = (char)(k + 1);
    }
    for (int k = 0; k < visit.count; k++) {
        visit_move(visit.kernels[k]);
        for (int i = 0; i < visit.count; i++)
            EXPECT(area[i * PAGE + 7] == i + 1, "page %d written on kernel %d holds %d", i, visit.kernels[i],
                   area[i * PAGE + 7]);
    }
    visit_move(visit.home);
    munmap((void *)area, (size_t)(visit.count * PAGE));
}

static void test_memory_one_frame(void)
{
    enum { PAGES = 4 };
    volatile long *area;

    if (!visit_begin(VISIT_ALL))
        return;
    area = (long *)visit_map(PAGES, READ_WRITE);
    if (area == NULL)
        return;
    for (long i = 0; i < 200; i++) {
        visit_move(visit_after(visit.home, (int)(i % visit.count)));
        for (long page = 0; page < PAGES; page++) {
            volatile long *word = &area[page * PAGE / (long)sizeof(long)];

            EXPECT(*word == i * (page + 1), "page %ld holds %ld after %ld additions", page, *word, i);
            *word += page + 1;
        }
    }
    visit_move(visit.home);
    munmap((void *)area, PAGES * PAGE);
}

static void test_memory_large(void)
{
    enum { WORDS = 1 << 17 }; /* 1 MiB */
    uint64_t *words;
    unsigned wrong = 0;

    if (!visit_begin(VISIT_FEW))
        return;
    words = malloc(WORDS * sizeof(uint64_t));
    EXPECT(words != NULL, "%s", strerror(errno));
    if (words == NULL)
        return;
    for (uint64_t i = 0; i < WORDS; i++)
        words[i] = i;
    for (int stop = 0; stop < visit.count; stop++) {
        visit_move(visit_after(visit.home, stop));
        for (size_t i = 0; i < WORDS; i++)
            words[i] = words[i] * 3 + 1;
    }
    visit_move(visit.home);
    for (uint64_t i = 0; i < WORDS; i++) {
        uint64_t expected = i;

        for (int stop = 0; stop < visit.count; stop++)
            expected = expected * 3 + 1;
        wrong += words[i] != expected;
    }
    EXPECT(wrong == 0, "%u of %d words are wrong", wrong, WORDS);
    free(words);
}

/* Each level's frame lies on stack pages first touched on another kernel. */
static int stack_dive(int level)
{
    volatile int frame[1500];
    int kernel = visit.kernels[level % visit.count];

    if (!visit_move(kernel))
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
    if (!visit_begin(VISIT_ALL))
        return;
    EXPECT(stack_dive(40) == 40, "frames changed");
    visit_move(visit.home);
}

static void test_memory_code(void)
{
    static const unsigned char answer[] = {0xb8, 0, 0, 0, 0, 0xc3}; /* mov $N, %eax; ret */

    if (!visit_begin(VISIT_FEW))
        return;
    for (int i = 0; i < visit.count; i++) {
        int (*code)(void);
        char *area;

        visit_move(visit.kernels[i]);
        area = visit_map(1, READ_WRITE);
        if (area == NULL)
            return;
        memcpy(area, answer, sizeof(answer));
        area[1] = (char)(i + 1);
        EXPECT(mprotect(area, PAGE, PROT_READ | PROT_EXEC) == 0, "%s", strerror(errno));
        memcpy(&code, &area, sizeof(code));
        visit_move(visit_after(visit.kernels[i], 1));
        EXPECT(code() == i + 1, "code written on kernel %d answers %d", visit.kernels[i], code());
        EXPECT(munmap(area, PAGE) == 0, "%s", strerror(errno));
    }
    visit_move(visit.home);
}

/* --- kernels that start later --- */

static void test_start(void)
{
    int started[VISIT_MAX];

    if (tap_kernels(started) == kettle_kernels()) {
        tap_skip("all kernels are started");
        return;
    }
    for (int kernel = kettle_kernels() - 1; kernel >= 0; kernel--) {
        if (kettle_started(kernel) == 1)
            continue;
        EXPECT(kettle_start(kernel) == 0, "kernel %d: %s", kernel, strerror(errno));
        EXPECT(kettle_started(kernel) == 1, "kernel %d is not started", kernel);
        data_marks[0] = kernel;
        visit_move(kernel);
        EXPECT(data_marks[0] == kernel, "memory differs on kernel %d", kernel);
        visit_move(visit.home);
    }
    EXPECT(tap_kernels(started) == kettle_kernels(), "%d kernels are started", tap_kernels(started));
    test_memory_one_frame();
}

static const struct tap_test tests[] = {
    {"a kernel that does not exist is EINVAL", test_errors},
    {"a kernel that is not started is EAGAIN", test_not_started},
    {"moving to where the thread is succeeds", test_stay},
    {"a thread reaches every kernel in every order and comes back", test_visit},
    {"a thread moves a thousand times", test_often},
    {"process id, thread id and thread-local memory stay the same", test_identity},
    {"time never goes backwards", test_time},
    {"sleeping works on every kernel", test_sleep},
    {"globals, heap, stack and mappings keep every kernel's writes", test_memory_kinds},
    {"pages touched first on another kernel are seen on all", test_memory_first_remote},
    {"pages read as zero everywhere show a later write everywhere", test_memory_read_first},
    {"a page written in turns never loses a write", test_memory_one_frame},
    {"1 MiB is rewritten on kernel after kernel", test_memory_large},
    {"a stack grows and unwinds across kernels", test_memory_stack},
    {"code written on one kernel runs on another", test_memory_code},
    {"what is mapped on one kernel is used and unmapped on others", test_map},
    {"what is unmapped on one kernel is gone on all and zero when mapped anew", test_unmap},
    {"what is protected on one kernel is protected on all", test_protect},
    {"the break moves for all kernels", test_break},
    {"malloc, realloc and free work on any kernel", test_malloc},
    {"system calls reach memory that their kernel has not seen", test_kernel_access},
    {"output from all kernels comes in order", test_output},
    {"a program that exits on another kernel gives its status", test_exit},
    {"a program that dies on another kernel gives its signal", test_die},
    {"a change of mappings at home kills who violates it elsewhere", test_die_of_change},
    {"away from home no child is started or waited for", test_spawn_elsewhere},
    {"after every move, at home children start and are waited for", test_spawn_back},
    {"a kernel started later is reached and sees all memory", test_start},
};

int main(int argc, char **argv)
{
    visit.home = kettle_kernel();
    if (argc == 3 && migrate_child(argv[1], atoi(argv[2])))
        return SURVIVED;
    if (argc > 1) {
        puts("usage: test-migrate\n\nChecks that threads move between kernels unharmed; writes TAP.");
        return strcmp(argv[1], "--help") == 0 ? 0 : 2;
    }
    return tap_run(tests, TAP_COUNT(tests));
}
