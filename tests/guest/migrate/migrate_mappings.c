/* test-migrate: what one kernel changes in a program's mappings is changed for all. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "tests/guest/harness/tap.h"
#include "tests/guest/migrate/migrate.h"
#include "tests/guest/migrate/migrate_route.h"
#include "userland/x86.h"

void migrate_test_map(void)
{
    char *areas[ROUTE_MAX] = {0};

    if (!route_begin(ROUTE_FEW))
        return;
    for (int i = 0; i < route.count; i++) {
        route_move(route.kernels[i]);
        areas[i] = route_map(2, READ_WRITE);
        if (areas[i] == NULL)
            return;
        for (int j = 0; j < i; j++)
            CHECK(areas[i] + 2 * PAGE <= areas[j] || areas[j] + 2 * PAGE <= areas[i], "%p and %p overlap",
                  (void *)areas[i], (void *)areas[j]);
        areas[i][0] = (char)i; /* its second page stays untouched here */
    }
    for (int k = 0; k < route.count; k++) {
        int next = (k + 1) % route.count;

        route_move(route.kernels[k]);
        for (int i = 0; i < route.count; i++)
            CHECK(areas[i][0] == (char)i, "the area of kernel %d holds %d", route.kernels[i], areas[i][0]);
        CHECK(areas[next][PAGE] == 0, "the untouched page of kernel %d is not zero", route.kernels[next]);
        areas[next][PAGE] = (char)k;
    }
    for (int i = 0; i < route.count; i++) {
        /* Unmapped by another kernel than the one that mapped it. */
        route_move(route.kernels[(i + 1) % route.count]);
        CHECK(munmap(areas[i], 2 * PAGE) == 0, "%s", strerror(errno));
    }
    route_move(route.home);
    for (int i = 0; i < route.count; i++)
        CHECK(!memory_readable(areas[i]) && !memory_readable(areas[i] + PAGE), "the area of kernel %d is still there",
              route.kernels[i]);
}

void migrate_test_unmap(void)
{
    const long pages = 4;

    if (!route_begin(ROUTE_FEW))
        return;
    for (int k = 0; k < route.count; k++) {
        char *area;
        char *again;

        route_move(route.home);
        area = route_map(pages, READ_WRITE);
        if (area == NULL)
            return;
        memset(area, 1, (size_t)(pages * PAGE));
        for (int i = 0; i < route.count; i++) {
            route_move(route.kernels[i]);
            CHECK(area[0] == 1 && area[2 * PAGE] == 1, "pages differ");
        }
        route_move(route.kernels[k]);
        CHECK(munmap(area + PAGE, (size_t)(2 * PAGE)) == 0, "%s", strerror(errno));
        for (int i = 0; i < route.count; i++) {
            route_move(route.kernels[i]);
            CHECK(!memory_readable(area + PAGE) && !memory_writable(area + 2 * PAGE),
                  "unmapped on kernel %d and still there", route.kernels[k]);
            CHECK(area[0] == 1 && area[3 * PAGE] == 1, "the neighbours changed");
        }
        route_move(route_after(route.kernels[k], 1));
        again = mmap(area + PAGE, (size_t)(2 * PAGE), READ_WRITE, PRIVATE | MAP_FIXED, -1, 0);
        CHECK(again == area + PAGE, "%s", strerror(errno));
        for (int i = 0; i < route.count; i++) {
            route_move(route.kernels[i]);
            CHECK(area[PAGE] == i && area[2 * PAGE] == 0, "mapped anew and holds %d and %d", area[PAGE],
                  area[2 * PAGE]);
            area[PAGE]++;
        }
        CHECK(munmap(area, (size_t)(pages * PAGE)) == 0, "%s", strerror(errno));
    }
    route_move(route.home);
}

void migrate_test_protect(void)
{
    char *area;

    if (!route_begin(ROUTE_FEW))
        return;
    area = route_map(3, READ_WRITE);
    if (area == NULL)
        return;
    area[0] = area[PAGE] = 1; /* the third page stays untouched */
    for (int k = 0; k < route.count; k++) {
        route_move(route.kernels[k]);
        CHECK(mprotect(area, 3 * PAGE, PROT_READ) == 0, "%s", strerror(errno));
        for (int i = 0; i < route.count; i++) {
            route_move(route.kernels[i]);
            CHECK(area[0] == 1 && area[2 * PAGE] == 0, "contents changed");
            CHECK(!memory_writable(area + 100) && !memory_writable(area + 2 * PAGE),
                  "read-only on kernel %d, writable here", route.kernels[k]);
        }
        CHECK(mprotect(area + PAGE, PAGE, PROT_NONE) == 0, "%s", strerror(errno));
        for (int i = 0; i < route.count; i++) {
            route_move(route.kernels[i]);
            CHECK(!memory_readable(area + PAGE) && memory_readable(area), "the middle page alone is closed");
        }
        CHECK(mprotect(area, 3 * PAGE, READ_WRITE) == 0, "%s", strerror(errno));
        for (int i = 0; i < route.count; i++) {
            route_move(route.kernels[i]);
            CHECK(area[PAGE] == 1, "the middle page lost its contents");
            area[PAGE] = 1;
            CHECK(memory_writable(area + 100), "not writable again");
        }
    }
    route_move(route.home);
    munmap(area, 3 * PAGE);
}

static char *break_set(char *to)
{
    return (char *)x86_syscall1(SYS_brk, (long)to);
}

/* Nothing in here may use malloc, which moves the break too. */
void migrate_test_break(void)
{
    char *start = break_set(NULL);

    if (!route_begin(ROUTE_FEW))
        return;
    for (int i = 0; i < route.count; i++) {
        route_move(route.kernels[i]);
        CHECK(break_set(NULL) == start + i * PAGE, "the break is at %p", (void *)break_set(NULL));
        for (int j = 0; j < i; j++)
            CHECK(start[j * PAGE] == (char)(j + 1), "page %d holds %d", j, start[j * PAGE]);
        CHECK(break_set(start + (i + 1) * PAGE) == start + (i + 1) * PAGE, "cannot grow");
        CHECK(start[i * PAGE] == 0, "new memory is not zero");
        start[i * PAGE] = (char)(i + 1);
    }
    for (int i = 0; i < route.count; i++) {
        route_move(route.kernels[i]);
        CHECK(break_set(start) == start, "cannot shrink");
        for (int k = 0; k < route.count; k++) {
            route_move(route.kernels[k]);
            CHECK(!memory_readable(start) && break_set(NULL) == start, "given back and still there");
        }
        CHECK(break_set(start + PAGE) == start + PAGE, "cannot grow");
        CHECK(start[0] == 0, "what comes back is not zero");
        start[0] = 1;
    }
    break_set(start);
    route_move(route.home);
}

void migrate_test_malloc(void)
{
    enum { BLOCKS = 96 };
    static unsigned char *blocks[BLOCKS];
    static size_t sizes[BLOCKS];
    uint64_t state = 5;

    if (!route_begin(ROUTE_FEW))
        return;
    for (int round = 0; round < 400; round++) {
        size_t i = tap_random(&state) % BLOCKS;

        if (round % 8 == 0)
            route_move(route_random());
        if (blocks[i] != NULL) {
            CHECK(blocks[i][0] == (unsigned char)i && blocks[i][sizes[i] - 1] == (unsigned char)i, "block %zu changed",
                  i);
            if (round % 3 == 0) {
                free(blocks[i]);
                blocks[i] = NULL;
            }
        }
        sizes[i] = 1 + tap_random(&state) % (round % 16 == 0 ? 200000 : 2000);
        blocks[i] = realloc(blocks[i], sizes[i]);
        if (!CHECK(blocks[i] != NULL, "%zu bytes: %s", sizes[i], strerror(errno)))
            break;
        memset(blocks[i], (int)i, sizes[i]);
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        if (i % 8 == 0)
            route_move(route_random());
        free(blocks[i]);
    }
    route_move(route.home);
}
