/* test-migrate: what one kernel changes in a program's mappings is changed for all. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "userland/tests/machine.h"
#include "userland/tests/migrate.h"
#include "userland/tests/tap.h"
#include "userland/tests/visit.h"

void test_map(void)
{
    char *areas[VISIT_MAX] = {0};

    if (!visit_begin(VISIT_FEW))
        return;
    for (int i = 0; i < visit.count; i++) {
        visit_move(visit.kernels[i]);
        areas[i] = visit_map(2, READ_WRITE);
        if (areas[i] == NULL)
            return;
        for (int j = 0; j < i; j++)
            EXPECT(areas[i] + 2 * PAGE <= areas[j] || areas[j] + 2 * PAGE <= areas[i], "%p and %p overlap",
                   (void *)areas[i], (void *)areas[j]);
        areas[i][0] = (char)i; /* its second page stays untouched here */
    }
    for (int k = 0; k < visit.count; k++) {
        int next = (k + 1) % visit.count;

        visit_move(visit.kernels[k]);
        for (int i = 0; i < visit.count; i++)
            EXPECT(areas[i][0] == (char)i, "the area of kernel %d holds %d", visit.kernels[i], areas[i][0]);
        EXPECT(areas[next][PAGE] == 0, "the untouched page of kernel %d is not zero", visit.kernels[next]);
        areas[next][PAGE] = (char)k;
    }
    for (int i = 0; i < visit.count; i++) {
        /* Unmapped by another kernel than the one that mapped it. */
        visit_move(visit.kernels[(i + 1) % visit.count]);
        EXPECT(munmap(areas[i], 2 * PAGE) == 0, "%s", strerror(errno));
    }
    visit_move(visit.home);
    for (int i = 0; i < visit.count; i++)
        EXPECT(!visit_readable(areas[i]) && !visit_readable(areas[i] + PAGE), "the area of kernel %d is still there",
               visit.kernels[i]);
}

void test_unmap(void)
{
    const long pages = 4;

    if (!visit_begin(VISIT_FEW))
        return;
    for (int k = 0; k < visit.count; k++) {
        char *area;
        char *again;

        visit_move(visit.home);
        area = visit_map(pages, READ_WRITE);
        if (area == NULL)
            return;
        memset(area, 1, (size_t)(pages * PAGE));
        for (int i = 0; i < visit.count; i++) {
            visit_move(visit.kernels[i]);
            EXPECT(area[0] == 1 && area[2 * PAGE] == 1, "pages differ");
        }
        visit_move(visit.kernels[k]);
        EXPECT(munmap(area + PAGE, (size_t)(2 * PAGE)) == 0, "%s", strerror(errno));
        for (int i = 0; i < visit.count; i++) {
            visit_move(visit.kernels[i]);
            EXPECT(!visit_readable(area + PAGE) && !visit_writable(area + 2 * PAGE),
                   "unmapped on kernel %d and still there", visit.kernels[k]);
            EXPECT(area[0] == 1 && area[3 * PAGE] == 1, "the neighbours changed");
        }
        visit_move(visit_after(visit.kernels[k], 1));
        again = mmap(area + PAGE, (size_t)(2 * PAGE), READ_WRITE, ANONYMOUS | MAP_FIXED, -1, 0);
        EXPECT(again == area + PAGE, "%s", strerror(errno));
        for (int i = 0; i < visit.count; i++) {
            visit_move(visit.kernels[i]);
            EXPECT(area[PAGE] == i && area[2 * PAGE] == 0, "mapped anew and holds %d and %d", area[PAGE],
                   area[2 * PAGE]);
            area[PAGE]++;
        }
        EXPECT(munmap(area, (size_t)(pages * PAGE)) == 0, "%s", strerror(errno));
    }
    visit_move(visit.home);
}

void test_protect(void)
{
    char *area;

    if (!visit_begin(VISIT_FEW))
        return;
    area = visit_map(3, READ_WRITE);
    if (area == NULL)
        return;
    area[0] = area[PAGE] = 1; /* the third page stays untouched */
    for (int k = 0; k < visit.count; k++) {
        visit_move(visit.kernels[k]);
        EXPECT(mprotect(area, 3 * PAGE, PROT_READ) == 0, "%s", strerror(errno));
        for (int i = 0; i < visit.count; i++) {
            visit_move(visit.kernels[i]);
            EXPECT(area[0] == 1 && area[2 * PAGE] == 0, "contents changed");
            EXPECT(!visit_writable(area + 100) && !visit_writable(area + 2 * PAGE),
                   "read-only on kernel %d, writable here", visit.kernels[k]);
        }
        EXPECT(mprotect(area + PAGE, PAGE, PROT_NONE) == 0, "%s", strerror(errno));
        for (int i = 0; i < visit.count; i++) {
            visit_move(visit.kernels[i]);
            EXPECT(!visit_readable(area + PAGE) && visit_readable(area), "the middle page alone is closed");
        }
        EXPECT(mprotect(area, 3 * PAGE, READ_WRITE) == 0, "%s", strerror(errno));
        for (int i = 0; i < visit.count; i++) {
            visit_move(visit.kernels[i]);
            EXPECT(area[PAGE] == 1, "the middle page lost its contents");
            area[PAGE] = 1;
            EXPECT(visit_writable(area + 100), "not writable again");
        }
    }
    visit_move(visit.home);
    munmap(area, 3 * PAGE);
}

static char *break_set(char *to)
{
    return (char *)machine_call1(SYS_brk, (long)to);
}

/* Nothing in here may use malloc, which moves the break too. */
void test_break(void)
{
    char *start = break_set(NULL);

    if (!visit_begin(VISIT_FEW))
        return;
    for (int i = 0; i < visit.count; i++) {
        visit_move(visit.kernels[i]);
        EXPECT(break_set(NULL) == start + i * PAGE, "the break is at %p", (void *)break_set(NULL));
        for (int j = 0; j < i; j++)
            EXPECT(start[j * PAGE] == (char)(j + 1), "page %d holds %d", j, start[j * PAGE]);
        EXPECT(break_set(start + (i + 1) * PAGE) == start + (i + 1) * PAGE, "cannot grow");
        EXPECT(start[i * PAGE] == 0, "new memory is not zero");
        start[i * PAGE] = (char)(i + 1);
    }
    for (int i = 0; i < visit.count; i++) {
        visit_move(visit.kernels[i]);
        EXPECT(break_set(start) == start, "cannot shrink");
        for (int k = 0; k < visit.count; k++) {
            visit_move(visit.kernels[k]);
            EXPECT(!visit_readable(start) && break_set(NULL) == start, "given back and still there");
        }
        EXPECT(break_set(start + PAGE) == start + PAGE, "cannot grow");
        EXPECT(start[0] == 0, "what comes back is not zero");
        start[0] = 1;
    }
    break_set(start);
    visit_move(visit.home);
}

void test_malloc(void)
{
    enum { BLOCKS = 96 };
    static unsigned char *blocks[BLOCKS];
    static size_t sizes[BLOCKS];
    uint64_t state = 5;

    if (!visit_begin(VISIT_FEW))
        return;
    for (int round = 0; round < 400; round++) {
        size_t i = tap_random(&state) % BLOCKS;

        if (round % 8 == 0)
            visit_move(visit_random());
        if (blocks[i] != NULL) {
            EXPECT(blocks[i][0] == (unsigned char)i && blocks[i][sizes[i] - 1] == (unsigned char)i, "block %zu changed",
                   i);
            if (round % 3 == 0) {
                free(blocks[i]);
                blocks[i] = NULL;
            }
        }
        sizes[i] = 1 + tap_random(&state) % (round % 16 == 0 ? 200000 : 2000);
        blocks[i] = realloc(blocks[i], sizes[i]);
        if (!EXPECT(blocks[i] != NULL, "%zu bytes: %s", sizes[i], strerror(errno)))
            break;
        memset(blocks[i], (int)i, sizes[i]);
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        if (i % 8 == 0)
            visit_move(visit_random());
        free(blocks[i]);
    }
    visit_move(visit.home);
}
