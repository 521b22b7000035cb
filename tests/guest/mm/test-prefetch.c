/* test-prefetch: pages that come with the answer to a fault on another page. The argument says how many runs an answer
 * may bring, as prefetch= on the boot command line does. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/guest/harness/place.h"
#include "tests/guest/harness/tap.h"
#include "userland/thread.h"

#define PAGE 4096ul
#define PAGES 256ul /* of one table */
#define TABLE (512 * PAGE)

static unsigned long runs;

/* The figure NAME of kernel HERE in /proc/self/kettle. */
static unsigned long figure(int here, const char *name)
{
    FILE *file = fopen("/proc/self/kettle", "r");
    char line[512], start[32];
    unsigned long value = 0;

    if (file == NULL) {
        CHECK(false, "/proc/self/kettle: %s", strerror(errno));
        return 0;
    }
    snprintf(start, sizeof(start), "kernel %d ", here);
    while (fgets(line, sizeof(line), file) != NULL) {
        const char *at = strncmp(line, start, strlen(start)) == 0 ? strstr(line, name) : NULL;

        if (at != NULL)
            value = strtoul(at + strlen(name), NULL, 10);
    }
    fclose(file);
    return value;
}

/* PAGES pages in one table, which nobody has touched. */
static char *area(void)
{
    char *whole = mmap(NULL, 2 * TABLE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (whole == MAP_FAILED)
        return NULL;
    madvise(whole, 2 * TABLE, MADV_NOHUGEPAGE); /* an answer brings all of a large page along */
    return (char *)(((uintptr_t)whole + TABLE - 1) & ~(TABLE - 1));
}

/* Kernel 0 writes to all pages in turn, kernel 1 reads them. */
static void test_sequence(void)
{
    unsigned long before, fetches, brought, used;
    char *start = area();

    if (!CHECK(start != NULL, "%s", strerror(errno)) || !CHECK(thread_move(0) == 0, "no move"))
        return;
    for (unsigned long i = 0; i < PAGES; i++)
        *(volatile unsigned long *)(void *)(start + i * PAGE) = i + 1;
    if (!CHECK(thread_move(1) == 0, "no move"))
        return;
    before = figure(1, " frames ");
    brought = figure(1, " prefetched ");
    used = figure(1, " used ");
    for (unsigned long i = 0; i < PAGES; i++)
        CHECK(*(volatile unsigned long *)(void *)(start + i * PAGE) == i + 1, "page %lu has something else", i);
    fetches = figure(1, " frames ") - before;
    brought = figure(1, " prefetched ") - brought;
    used = figure(1, " used ") - used;
    tap_note("%lu pages with %lu runs an answer: %lu fetches, %lu brought along, %lu of them used", PAGES, runs,
             fetches, brought, used);
    if (runs == 0) {
        CHECK(fetches >= PAGES && brought == 0, "%lu fetches, %lu brought along", fetches, brought);
    } else {
        CHECK(fetches < PAGES / 2 && brought > PAGES / 2, "%lu fetches, %lu brought along", fetches, brought);
        CHECK(used > brought / 2 && used <= brought, "%lu of %lu used", used, brought);
    }
}

/* As above, with pages that have no consecutive frames, so that each is a run of its own. */
static void test_scattered(void)
{
    unsigned long before, fetches;
    char *start = area();

    if (!CHECK(start != NULL, "%s", strerror(errno)) || !CHECK(thread_move(0) == 0, "no move"))
        return;
    for (unsigned long i = 0; i < PAGES; i++) {
        unsigned long page = i / 2 + i % 2 * (PAGES / 2);

        *(volatile unsigned long *)(void *)(start + page * PAGE) = page + 1;
    }
    if (!CHECK(thread_move(1) == 0, "no move"))
        return;
    before = figure(1, " frames ");
    for (unsigned long i = 0; i < PAGES; i++)
        CHECK(*(volatile unsigned long *)(void *)(start + i * PAGE) == i + 1, "page %lu has something else", i);
    fetches = figure(1, " frames ") - before;
    tap_note("%lu runs of a page with %lu an answer: %lu fetches", PAGES, runs, fetches);
    CHECK(runs == 0 ? fetches >= PAGES : fetches < 2 * PAGES / runs && fetches >= PAGES / runs, "%lu fetches", fetches);
}

/* A page that was brought along is as every other one: it goes with an unmap, and it obeys a change of protection. */
static void test_change(void)
{
    char *start = area();

    if (!CHECK(start != NULL, "%s", strerror(errno)) || !CHECK(thread_move(0) == 0, "no move"))
        return;
    for (unsigned long i = 0; i < PAGES; i++)
        start[i * PAGE] = (char)i;
    CHECK(thread_move(1) == 0 && start[0] == 0, "page 0 has something else");
    CHECK(thread_move(0) == 0 && munmap(start + PAGE, PAGE) == 0 &&
              mmap(start + PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
                  start + PAGE,
          "%s", strerror(errno));
    start[PAGE] = 77;
    CHECK(thread_move(1) == 0, "no move");
    CHECK(start[PAGE] == 77 && start[2 * PAGE] == 2, "page 1 has %d, page 2 %d", start[PAGE], start[2 * PAGE]);
}

static const struct tap_test tests[] = {
    {"sequence", "pages touched in sequence are prefetched, and none when the option says none", test_sequence},
    {"scattered", "runs of one page come as many at once as the option says", test_scattered},
    {"change", "prefetched pages are unmapped with the others", test_change},
};

int main(int argc, char **argv)
{
    static const struct tap_program program = {.tests = tests, .count = TAP_COUNT(tests), .parameters = "RUNS"};
    long count = 0;

    if (!tap_take_number(&argc, &argv, &count) || count < 0 || place_count() < 2) {
        fprintf(stderr, "usage: test-prefetch RUNS [TEST...], on a machine of two kernels\n");
        return 2;
    }
    runs = (unsigned long)count;
    return tap_main(argc, argv, &program);
}
