/* test-block: libc/numa.h. Blocks are on the nodes that were chosen, move while threads on all kernels write to them,
 * and are where the library says. A Linux program but for where it runs. */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "libc/numa.h"
#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/numa/node.h"
#include "userland/thread.h"

#define PAGES 48l
#define SIZE ((size_t)(PAGES * PAGE))
#define WRITERS 4
#define ROUNDS 12

static uint64_t nodes;
static int node_count;

/* The node at position INDEX of those with memory, in turn. */
static int nth_node(int index)
{
    uint64_t rest = nodes;

    for (index %= node_count; index > 0; index--)
        rest &= rest - 1;
    return __builtin_ctzll(rest);
}

static void expect_on(const char *block, int node, const char *when)
{
    size_t on[KETTLE_NODES];
    long sum = kettle_block_where(block, SIZE, on);

    CHECK(sum == PAGES && on[node] == (size_t)PAGES, "%s: %ld pages, %zu on node %d", when, sum, on[node], node);
}

static void test_on(void)
{
    for (int i = 0; i < node_count; i++) {
        char *block = kettle_block_on(SIZE - 7, nth_node(i));
        size_t on[KETTLE_NODES];

        if (!CHECK(block != NULL, "make: %s", strerror(errno)))
            return;
        CHECK(kettle_block_where(block, SIZE, on) == 0, "nothing is touched");
        spread_memory_fill(block, 0, PAGES, i + 1);
        expect_on(block, nth_node(i), "touched from every kernel");
        CHECK(kettle_block_free(block, SIZE - 7) == 0, "free: %s", strerror(errno));
    }
}

static void test_local(void)
{
    for (int i = 0; i < kernels_count(); i++) {
        char *block = kettle_block_local(SIZE);
        int before;

        if (!CHECK(block != NULL, "make: %s", strerror(errno)))
            return;
        kernels_go(i);
        before = node_here();
        memset(block, 1, SIZE);
        if (node_here() == before) /* a kernel may have CPUs of several nodes */
            expect_on(block, before, "local");
        kettle_block_free(block, SIZE);
    }
    kernels_go(0);
}

static void test_interleaved(void)
{
    char *block = kettle_block_interleaved(SIZE, 0), *weighted = kettle_block_weighted(SIZE, 0);
    size_t on[KETTLE_NODES], of[KETTLE_NODES];

    if (!CHECK(block != NULL && (weighted != NULL || errno == EINVAL), "make: %s", strerror(errno)))
        return;
    if (weighted == NULL) { /* Linux before 6.9 */
        CHECK(kettle_migrate(0) != 0 && errno == ENOSYS, "Kettle weights");
        weighted = kettle_block_interleaved(SIZE, 0);
    }
    spread_memory_fill(block, 0, PAGES, 3);
    spread_memory_fill(weighted, 0, PAGES, 4);
    CHECK(kettle_block_where(block, SIZE, on) == PAGES && kettle_block_where(weighted, SIZE, of) == PAGES, "all pages");
    for (int i = 0; i < node_count; i++) {
        long least = PAGES / node_count, most = (PAGES + node_count - 1) / node_count;
        int node = nth_node(i);

        CHECK((long)on[node] >= least && (long)on[node] <= most, "node %d has %zu", node, on[node]);
        CHECK((long)of[node] >= least && (long)of[node] <= most, "node %d has %zu by equal weights", node, of[node]);
    }
    CHECK(spread_memory_holds(block, 0, PAGES, 3), "content");
    kettle_block_free(block, SIZE);
    kettle_block_free(weighted, SIZE);
}

struct writer {
    char *block;
    int number;
    volatile int *stop;
    uint64_t sum; /* what it has added */
};

/* Adds to a word of its own in every page, on a kernel of its own. */
static void *write_on(void *argument)
{
    struct writer *writer = argument;

    kernels_go(writer->number);
    do {
        for (long page = 0; page < PAGES; page++) {
            volatile uint64_t *word = (volatile uint64_t *)(writer->block + page * PAGE) + 8 * writer->number;

            *word += (uint64_t)page + 1;
            writer->sum += (uint64_t)page + 1;
        }
    } while (!*writer->stop);
    return NULL;
}

static uint64_t sum_of(const char *block, int number)
{
    uint64_t sum = 0;

    for (long page = 0; page < PAGES; page++)
        sum += ((const volatile uint64_t *)(block + page * PAGE))[8 * number];
    return sum;
}

static void test_move(void)
{
    char *block = kettle_block_on(SIZE, nth_node(0));
    struct writer writers[WRITERS];
    pthread_t threads[WRITERS];
    volatile int stop = 0;
    int started = 0;

    if (!CHECK(block != NULL, "make: %s", strerror(errno)))
        return;
    memset(block, 0, SIZE);
    for (; started < WRITERS; started++) {
        writers[started] = (struct writer){block, started, &stop, 0};
        if (!CHECK(pthread_create(&threads[started], NULL, write_on, &writers[started]) == 0, "a thread"))
            break;
    }
    for (int i = 1; i <= ROUNDS; i++) {
        long left = kettle_block_move(block, SIZE, nth_node(i));

        CHECK(left == 0, "round %d: %ld left: %s", i, left, left < 0 ? strerror(errno) : "");
        expect_on(block, nth_node(i), "moved while threads write");
    }
    stop = 1;
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < started; i++)
        CHECK(sum_of(block, i) == writers[i].sum && writers[i].sum > 0, "writer %d: %llu, not %llu", i,
              (unsigned long long)sum_of(block, i), (unsigned long long)writers[i].sum);
    kettle_block_free(block, SIZE);
}

/* Halves at the nodes of CONTEXT; the last page stays. */
static int place_halves(void *context, size_t page, size_t pages)
{
    const int *of = context;

    return page == pages - 1 ? -1 : of[page >= pages / 2];
}

static int place_wrongly(void *context, size_t page, size_t pages)
{
    (void)context;
    return page == pages / 2 ? KETTLE_NODES : nth_node(1);
}

static void test_place(void)
{
    char *block = kettle_block_on(SIZE, nth_node(0));
    int halves[2] = {nth_node(1), nth_node(2)};
    size_t on[KETTLE_NODES], wanted[KETTLE_NODES] = {0};

    if (!CHECK(block != NULL, "make: %s", strerror(errno)))
        return;
    spread_memory_fill(block, 0, PAGES, 5);
    CHECK(kettle_placement_register("halves", place_halves, halves) == 0, "register: %s", strerror(errno));
    CHECK_ERROR(kettle_placement_register("halves", place_halves, halves), EEXIST);
    CHECK_ERROR(kettle_placement_register("", place_halves, halves), EINVAL);
    CHECK_ERROR(kettle_placement_register("12345678901234567890123456789012", place_halves, halves), EINVAL);
    CHECK_ERROR(kettle_block_place_by(block, SIZE, "no such"), ENOENT);
    CHECK_ERROR(kettle_block_place(block, SIZE, place_wrongly, NULL), EINVAL);
    expect_on(block, nth_node(0), "nothing has moved");
    CHECK(kettle_block_place_by(block, SIZE, "halves") == 0, "place: %s", strerror(errno));
    wanted[halves[0]] += PAGES / 2;
    wanted[halves[1]] += PAGES - PAGES / 2 - 1;
    wanted[nth_node(0)]++;
    CHECK(kettle_block_where(block, SIZE, on) == PAGES && memcmp(on, wanted, sizeof(on)) == 0, "halves");
    CHECK(kettle_block_place_by(block, SIZE, "parts") == 0, "place: %s", strerror(errno));
    for (int i = 0; i < node_count; i++) {
        size_t there[KETTLE_NODES];

        CHECK(kettle_block_where(block + i * (PAGES / node_count) * PAGE, PAGE, there) == 1 && there[nth_node(i)] == 1,
              "part %d is on node %d", i, nth_node(i));
    }
    CHECK(spread_memory_holds(block, 0, PAGES, 5), "content");
    kettle_block_free(block, SIZE);
}

static void test_counts(void)
{
    for (int i = 0; i < node_count; i++) {
        struct kettle_node_counts before, after;
        char *block = kettle_block_on(SIZE, nth_node(i));

        if (!CHECK(block != NULL && kettle_node_counts(nth_node(i), &before) == 0, "%s", strerror(errno)))
            return;
        memset(block, 1, SIZE);
        CHECK(kettle_node_counts(nth_node(i), &after) == 0 && after.hit >= before.hit + PAGES &&
                  after.local + after.other == after.hit + after.miss && after.free <= after.size && after.size > 0,
              "node %d: hits %llu, then %llu", nth_node(i), (unsigned long long)before.hit,
              (unsigned long long)after.hit);
        kettle_block_free(block, SIZE);
    }
}

static void test_errors(void)
{
    char *block = kettle_block_local(SIZE);
    struct kettle_node_counts counts;
    size_t on[KETTLE_NODES];
    int status = -1;
    pid_t child;

    if (!CHECK(block != NULL, "make: %s", strerror(errno)))
        return;
    CHECK(kettle_block_local(0) == NULL && errno == EINVAL, "no size");
    CHECK(kettle_block_local(SIZE_MAX) == NULL && errno == ENOMEM, "too large");
    CHECK(kettle_block_on(SIZE, -1) == NULL && errno == EINVAL, "no node");
    CHECK(kettle_block_on(SIZE, 63) == NULL && errno == EINVAL, "no such node");
    CHECK(kettle_block_interleaved(SIZE, 1ull << 63) == NULL && errno == EINVAL, "no such nodes");
    CHECK_ERROR(kettle_block_move(block, SIZE, 63), EINVAL);
    CHECK_ERROR(kettle_block_move(block, 0, nth_node(0)), EINVAL);
    CHECK_ERROR(kettle_block_where(block, 0, on), EINVAL);
    CHECK_ERROR(kettle_node_counts(64, &counts), ENOENT);
    memset(block, 7, SIZE);
    child = fork();
    if (child == 0) /* both have the pages, which stay: this is no error */
        _exit(kettle_block_move(block, SIZE, nth_node(0)) >= 0 && block[SIZE - 1] == 7 ? 0 : 1);
    CHECK(waitpid(child, &status, 0) == child && status == 0, "a child: %x", (unsigned)status);
    munmap(block + PAGE, PAGE);
    CHECK_ERROR(kettle_block_where(block, SIZE, on), EFAULT);
    CHECK_ERROR(kettle_block_move(block, SIZE, nth_node(0)), EFAULT);
    kettle_block_free(block, SIZE);
}

int main(int argc, char **argv)
{
    static const struct tap_test tests[] = {
        {"on", "a block's pages are on its node, whoever touches them", test_on},
        {"local", "a local block's pages are on the node of who touches them", test_local},
        {"interleaved", "the pages of an interleaved block are spread evenly", test_interleaved},
        {"move", "a block moves while threads on all kernels write to it, and no write is lost", test_move},
        {"place", "a registered placement moves each page to its node, and a wrong one moves none", test_place},
        {"counts", "the counters of a node count what is allocated there", test_counts},
        {"errors", "wrong arguments are refused", test_errors},
    };

    kernels_find();
    nodes = kettle_nodes();
    node_count = __builtin_popcountll(nodes);
    return tap_run(argc, argv, tests, TAP_COUNT(tests));
}
