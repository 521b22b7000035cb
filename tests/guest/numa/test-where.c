/* test-where: move_pages without nodes, which tells where pages are, with long lists in any order, from every kernel
 * and from another process. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/numa/node.h"

#define PAGES 700l                                  /* more than one question has, in one area */
#define FORKED (-1000)                              /* untouched shared memory, which a fork may give frames */
#define LEASED 20l                                  /* pages of each kernel alone */
#define MOST (3 * PAGES + LEASED * KERNELS_MAX + 2) /* of the list */

/* The pages of a process, and where they should be. */
static struct list {
    pid_t process; /* 0: the caller's */
    long count;
    const void *address[MOST];
    int expected[MOST];
} list;
static int status[MOST + 1];

static void add(const char *address, int expected)
{
    list.address[list.count] = address;
    list.expected[list.count++] = expected;
}

/* Swaps pages of the list, so that hardly any follows its neighbour; done twice, they are in order again. */
static void scramble(void)
{
    for (long i = 0; i < list.count / 2; i += 2) {
        long other = list.count - 1 - i;
        const void *address = list.address[i];
        int expected = list.expected[i];

        list.address[i] = list.address[other];
        list.expected[i] = list.expected[other];
        list.address[other] = address;
        list.expected[other] = expected;
    }
}

/* How many of the first COUNT pages of the list are reported to be elsewhere; -1: none are reported. */
static long wrong(long count)
{
    long found = 0;

    memset(status, 0x55, sizeof(status));
    if (syscall(SYS_move_pages, list.process, count, list.address, NULL, status, 0) != 0)
        return -1;
    for (long i = 0; i < count; i++)
        found += list.expected[i] == FORKED ? status[i] < 0 && status[i] != -ENOENT : status[i] != list.expected[i];
    return found + (status[count] != 0x55555555);
}

/* Private pages, of which each kernel has touched every so manieth, and some are untouched; shared ones,
 * of which half are untouched; pages that one kernel alone has; and addresses of no page. */
static bool make_list(void)
{
    char *area = spread_memory_map(PAGES, PRIVATE), *shared = spread_memory_map(PAGES, SHARED);
    int nodes[KERNELS_MAX];

    list.count = 0;
    list.process = 0;
    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        nodes[k] = node_here();
    }
    kernels_go(0);
    if (area == NULL || shared == NULL || !CHECK(munmap(area + 300 * PAGE, 10 * PAGE) == 0, "%s", strerror(errno)))
        return false;
    spread_memory_fill(area, 0, 300, 1);
    spread_memory_fill(area, 310, 600, 1);
    spread_memory_fill(shared, 0, PAGES / 2, 2);
    for (long i = 0; i < PAGES; i++) {
        int expected = i < 300               ? nodes[i % kernels_count()]
                       : i >= 310 && i < 600 ? nodes[(i - 310) % kernels_count()]
                                             : -EFAULT;

        add(area + i * PAGE + i % PAGE, expected);
    }
    for (long i = 0; i < PAGES; i++)
        add(shared + i * PAGE, i < PAGES / 2 ? nodes[i % kernels_count()] : -ENOENT);
    add((const char *)UINTPTR_MAX, -EFAULT);
    for (int k = 0; k < kernels_count(); k++) {
        char *own;

        kernels_go(k);
        own = spread_memory_map(LEASED, PRIVATE);
        if (own == NULL)
            return false;
        memset(own, 'a' + k, LEASED / 2 * PAGE);
        for (long i = 0; i < LEASED; i++)
            add(own + i * PAGE, i < LEASED / 2 ? nodes[k] : -EFAULT);
    }
    add((const char *)(1ul << 47), -EFAULT);
    for (long i = 0; i < PAGES; i++) /* pages may be named twice */
        add(area + i * PAGE, list.expected[i]);
    return true;
}

static void check_list(const char *who, int k)
{
    for (int order = 0; order < 2; order++) {
        CHECK(wrong(list.count) == 0, "%s, kernel %d, order %d: %ld wrong", who, k, order, wrong(list.count));
        CHECK(wrong(1) == 0 && wrong(64) == 0 && wrong(65) == 0 && wrong(512) == 0 && wrong(513) == 0,
              "%s, kernel %d, order %d: short lists", who, k, order);
        scramble();
    }
    CHECK(wrong(0) == 0, "%s, kernel %d: no pages", who, k);
}

static void test_lists(void)
{
    if (!make_list())
        return;
    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        check_list("own", k);
    }
    kernels_go(0);
}

static int ask_parent(void *context)
{
    long found = 0;

    (void)context;
    list.process = getppid();
    for (long i = 0; i < list.count; i++)
        list.expected[i] = list.expected[i] == -ENOENT ? FORKED : list.expected[i];
    for (int k = 0; k < kernels_count(); k++) {
        kernels_go(k);
        found |= wrong(list.count) | wrong(1) | wrong(513) | wrong(0);
        scramble();
        found |= wrong(list.count) | wrong(65);
    }
    return found == 0 ? 0 : 1;
}

static void test_process(void)
{
    if (!make_list())
        return;
    for (int k = 0; k < 2; k++) {
        kernels_go(k);
        CHECK(tap_fork(ask_parent, NULL) == 0, "a child of kernel %d", k);
    }
    kernels_go(0);
}

static void test_errors(void)
{
    char *area = spread_memory_map(4, PRIVATE);
    const void **addresses = (const void **)(void *)(area + 2 * PAGE - 2 * (long)sizeof(void *));
    int *last = (int *)(void *)(area + 2 * PAGE - (long)sizeof(int));
    long k;

    for (k = 0; area != NULL && k < kernels_count(); k++) {
        kernels_go(k);
        mprotect(area, 4 * PAGE, READ_WRITE);
        area[0] = 1;
        addresses[0] = addresses[1] = area;
        mprotect(area + 2 * PAGE, PAGE, PROT_NONE);
        CHECK_ERROR(syscall(SYS_move_pages, 0, 3, addresses, NULL, status, 0), EFAULT);
        CHECK(syscall(SYS_move_pages, 0, 2, addresses, NULL, status, 0) == 0 && status[0] >= 0 &&
                  status[1] == status[0],
              "kernel %ld: the list ends at a page's end", k);
        addresses[1] = area;
        CHECK_ERROR(syscall(SYS_move_pages, 0, 2, (const void *[]){area, area}, NULL, last, 0), EFAULT);
        CHECK_ERROR(syscall(SYS_move_pages, 999999, 1, addresses, NULL, status, 0), ESRCH);
        CHECK_ERROR(syscall(SYS_move_pages, 999999, 0, NULL, NULL, NULL, 0), ESRCH);
    }
    kernels_go(0);
}

static const struct tap_test tests[] = {
    {"lists", "move_pages tells where the pages of any list are, from every kernel", test_lists},
    {"process", "and where those of another process are", test_process},
    {"errors", "it refuses lists and statuses that are not there, and processes that do not exist", test_errors},
};

int main(int argc, char **argv)
{
    kernels_find();
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
