/* test-zero: memory that is read before it is written. A child process begins alone on its kernel, where such pages
 * cost nothing; what it has read must stay true when it writes, forks, moves, and is no longer alone. With the word
 * `busy` it does not look at the machine's memory, which others use meanwhile. */
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/mm/audit.h"
#include "userland/thread.h"

#define PAGES 48l
#define MANY 4096l

static bool zeros(const char *area, long first, long last)
{
    for (long i = first * PAGE; i < last * PAGE; i++) {
        if (area[i] != 0)
            return false;
    }
    return true;
}

/* Runs BODY in a child whose home is each kernel in turn. */
static void each_home(int (*body)(void *context))
{
    for (int k = 0; k < kernels_count(); k++) {
        long home = k;
        int end;

        kernels_go(k);
        end = tap_fork(body, &home);
        CHECK(end == 0, "home %d: %d", k, end);
    }
    kernels_go(0);
}

static int body_write(void *context)
{
    char *area = spread_memory_map(PAGES, PRIVATE);

    (void)context;
    if (area == NULL || !zeros(area, 0, PAGES))
        return 1;
    area[5 * PAGE + 7] = 'x';
    if (area[5 * PAGE + 7] != 'x' || !zeros(area, 0, 5) || !zeros(area, 6, PAGES))
        return 2;
    area[5 * PAGE + 7] = 0;
    if (!zeros(area, 0, PAGES) || !audit_own())
        return 3;
    if (madvise(area, PAGES * PAGE, MADV_DONTNEED) != 0 || !zeros(area, 0, PAGES))
        return 4;
    return munmap(area, PAGES * PAGE) == 0 && audit_own() ? 0 : 5;
}

static void test_write(void)
{
    each_home(body_write);
}

/* Pages are read at home; then each kernel writes some of them. */
static int body_move(void *context)
{
    const long *home = context;
    char *area = spread_memory_map(PAGES, PRIVATE);
    long count = kernels_count();

    if (area == NULL || !zeros(area, 0, PAGES))
        return 1;
    for (long k = 1; k <= count; k++) {
        kernels_go(*home + k);
        if (!zeros(area, PAGES / 2, PAGES))
            return 2;
        for (long page = k - 1; page < PAGES / 2; page += count)
            area[page * PAGE + 1] = (char)('a' + page);
    }
    for (long k = 0; k < count; k++) {
        kernels_go(*home + k);
        for (long page = 0; page < PAGES / 2; page++) {
            if (area[page * PAGE + 1] != (char)('a' + page) || area[page * PAGE] != 0)
                return 3;
        }
        if (!zeros(area, PAGES / 2, PAGES))
            return 4;
    }
    if (!audit_own())
        return 5;
    kernels_go(*home);
    area[(PAGES - 1) * PAGE] = 'h';
    kernels_go(*home + 1);
    return area[(PAGES - 1) * PAGE] == 'h' && zeros(area, PAGES / 2, PAGES - 1) && audit_own() ? 0 : 6;
}

static void test_move(void)
{
    each_home(body_move);
}

static int body_child_writes(void *context)
{
    char *area = context;

    if (!zeros(area, 0, 4) || area[4 * PAGE] != 'p')
        return 1;
    area[0] = 'c';
    kernels_go(1);
    area[PAGE] = 'c';
    if (!zeros(area, 2, 4) || !audit_own())
        return 2;
    kernels_go(0);
    return area[PAGE] == 'c' && area[0] == 'c' ? 0 : 3;
}

static int body_fork(void *context)
{
    const long *home = context;
    char *area = spread_memory_map(PAGES, PRIVATE);

    if (area == NULL || !zeros(area, 0, PAGES))
        return 1;
    area[4 * PAGE] = 'p';
    if (tap_fork(body_child_writes, area) != 0 || !zeros(area, 0, 4))
        return 2;
    kernels_go(*home + 1); /* the fork is on another kernel than the home, which has the pages */
    if (tap_fork(body_child_writes, area) != 0 || !zeros(area, 0, 4))
        return 3;
    area[PAGE] = 'q';
    kernels_go(*home);
    area[2 * PAGE] = 'r';
    return area[PAGE] == 'q' && zeros(area, 0, 1) && zeros(area, 3, 4) && audit_own() ? 0 : 4;
}

static void test_fork(void)
{
    each_home(body_fork);
}

static int body_remap(void *context)
{
    const long *home = context;
    char *area = spread_memory_map(PAGES, PRIVATE), *moved;

    if (area == NULL || !zeros(area, 0, PAGES))
        return 1;
    moved = mremap(area, PAGES / 2 * PAGE, PAGES * PAGE, MREMAP_MAYMOVE);
    if (moved == MAP_FAILED || moved == area || !zeros(moved, 0, PAGES))
        return 2;
    moved[3 * PAGE] = 'm';
    if (mprotect(moved, PAGES * PAGE, PROT_NONE) != 0 || mprotect(moved, PAGES * PAGE, PROT_READ) != 0)
        return 3;
    if (moved[3 * PAGE] != 'm' || !zeros(moved, 0, 3) || mprotect(moved, PAGES * PAGE, READ_WRITE) != 0)
        return 4;
    moved[4 * PAGE] = 'n';
    kernels_go(*home + 1);
    moved[5 * PAGE] = 'o';
    if (moved[4 * PAGE] != 'n' || !zeros(moved, 6, PAGES))
        return 5;
    area = mremap(moved, PAGES * PAGE, PAGES * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, moved + 2 * PAGES * PAGE);
    if (area == MAP_FAILED || area[5 * PAGE] != 'o' || !zeros(area, 6, PAGES))
        return 6;
    kernels_go(*home);
    area[7 * PAGE] = 'p';
    return zeros(area, 8, PAGES) && audit_own() ? 0 : 7;
}

static void test_remap(void)
{
    each_home(body_remap);
}

/* A thread reads until it sees what the other writes: the CPU must not keep to what it has read before. */
static struct {
    char *area;
    atomic_int ready;
} watched;

static void watch(struct thread *thread)
{
    const volatile char *area = watched.area;
    long seen = 0;

    for (long page = 0; page < PAGES; page++)
        seen += area[page * PAGE];
    atomic_store(&watched.ready, 1);
    for (long page = 0; page < PAGES; page++) {
        long end = thread_time() + 60000000000l;

        while (area[page * PAGE] != 'w' && thread_time() < end) {
            /* until the other thread has come to it */
        }
        seen += area[page * PAGE] == 'w';
    }
    atomic_store(&thread->result, seen);
}

static int body_watch(void *context)
{
    struct thread thread = {.argument = context};

    watched.area = spread_memory_map(PAGES, PRIVATE);
    atomic_store(&watched.ready, 0);
    if (!thread_start(&thread, watch) || !thread_wait(&watched.ready, 1))
        return 1;
    for (long page = 0; page < PAGES; page++)
        watched.area[page * PAGE] = 'w';
    return thread_join(&thread) && atomic_load(&thread.result) == PAGES ? 0 : 2;
}

static void test_watch(void)
{
    each_home(body_watch);
}

static long free_pages(void)
{
    char line[128];
    long kilobytes = -1;
    FILE *file = fopen("/proc/meminfo", "r");

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (sscanf(line, "MemFree: %ld", &kilobytes) == 1)
            break;
    }
    if (file != NULL)
        fclose(file);
    return kilobytes / 4;
}

static int body_cheap(void *context)
{
    char *area = spread_memory_map(MANY, PRIVATE);
    long before = free_pages();

    (void)context;
    for (long page = 0; page < MANY; page++) {
        if (area[page * PAGE] != 0)
            return 1;
    }
    return before - free_pages() < MANY / 2 ? 0 : 2;
}

static void test_cheap(void)
{
    each_home(body_cheap);
}

static const struct tap_test tests[] = {
    {"write", "memory that was only read is zero, is written page by page, and is zero again when discarded",
     test_write},
    {"move", "memory that was only read stays correct when threads move to other kernels and write there", test_move},
    {"fork", "a child and its parent have separate pages of memory that was only read", test_fork},
    {"remap", "memory that was only read can be moved and protected like other memory", test_remap},
    {"watch", "a thread that has read a page sees what another thread writes", test_watch},
    {"cheap", "reading alone takes no frames but those of page tables", test_cheap},
};

int main(int argc, char **argv)
{
    bool quiet = !tap_take(&argc, &argv, "busy");

    kernels_find();
    return tap_run(argc, argv, tests, quiet ? TAP_COUNT(tests) : TAP_COUNT(tests) - 1);
}
