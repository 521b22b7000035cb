/* MPOL_WEIGHTED_INTERLEAVE, and the counters of frames: tests of test-mempolicy. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/guest/harness/several_kernels.h"
#include "tests/guest/harness/spread_memory.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/numa/mempolicy.h"
#include "tests/guest/numa/node.h"

#define WEIGHT_FILE "/sys/kernel/mm/mempolicy/weighted_interleave/node%d"

/* Writes TEXT to the weight of NODE. Returns 0 or an errno. */
static int set_weight(int node, const char *text)
{
    char path[128];
    int fd, error = 0;

    snprintf(path, sizeof(path), WEIGHT_FILE, node);
    fd = open(path, O_WRONLY | O_TRUNC);
    if (fd < 0)
        return errno;
    if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        error = errno;
    close(fd);
    return error;
}

static int weight_of(int node)
{
    char path[128], text[16] = "";
    int fd;

    snprintf(path, sizeof(path), WEIGHT_FILE, node);
    fd = open(path, O_RDONLY);
    if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0 || strchr(text, '\n') == NULL)
        return -1;
    close(fd);
    return atoi(text);
}

/* The node of the page with NUMBER, when node n has weight n + 1. */
static int weighted_node(unsigned long number)
{
    unsigned long turn = number % ((unsigned long)mempolicy_node_count * (unsigned long)(mempolicy_node_count + 1) / 2);
    int node = 0;

    for (; turn > (unsigned long)node; node++)
        turn -= (unsigned long)node + 1;
    return node;
}

/* The counter NAME of NODE's numastat, or -1. */
static long counter_of(int node, const char *name)
{
    char path[128], text[256] = "";
    const char *at;
    int fd;

    snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/numastat", node);
    fd = open(path, O_RDONLY);
    if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
        return -1;
    close(fd);
    at = strstr(text, name);
    return at != NULL ? atol(at + strlen(name)) : -1;
}

static long interleave_hits(int node)
{
    return counter_of(node, "interleave_hit ");
}

/* The weights are read on every kernel, whichever has written them. */
static void expect_weights(int times, const char *when)
{
    for (int i = 0; i < kernels_count(); i++) {
        kernels_go(i);
        for (int node = 0; node < mempolicy_node_count; node++)
            CHECK(weight_of(node) == (times != 0 ? node + 1 : 1), "%s: kernel %d: node %d has weight %d", when, i, node,
                  weight_of(node));
    }
    kernels_go(0);
}

void mempolicy_test_weighted(void)
{
    int status[PAGES], mode = -1;
    unsigned long nodes = 0;
    long hits[64];
    char *at;

    if (mempolicy_skip_one_node() || (at = spread_memory_map(PAGES, PRIVATE)) == NULL)
        return;
    expect_weights(0, "at first");
    for (int node = 0; node < mempolicy_node_count; node++) {
        char text[16];

        kernels_go(node + 1);
        snprintf(text, sizeof(text), node % 2 == 0 ? "%d\n" : "0x%x", node + 1);
        CHECK(set_weight(node, text) == 0, "weight of node %d: %s", node, strerror(errno));
        hits[node] = interleave_hits(node);
    }
    expect_weights(1, "set");
    CHECK(mempolicy_bind(at, PAGES, WEIGHTED, mempolicy_all_nodes(), 0) == 0, "mbind: %s", strerror(errno));
    CHECK(syscall(SYS_get_mempolicy, &mode, &nodes, BITS + 1, at, F_ADDR) == 0 && mode == WEIGHTED &&
              nodes == mempolicy_all_nodes(),
          "mode %d nodes %lx", mode, nodes);
    mempolicy_touch(at, PAGES);
    node_of_each(at, PAGES, status);
    for (long i = 0; i < PAGES; i++) {
        int wanted = weighted_node((uintptr_t)at / PAGE + (uintptr_t)i);

        CHECK(status[i] == wanted, "page %ld is on %d, not %d", i, status[i], wanted);
        hits[wanted]++;
    }
    for (int node = 0; node < mempolicy_node_count; node++)
        CHECK(interleave_hits(node) == hits[node], "node %d: %ld interleaved, not %ld", node, interleave_hits(node),
              hits[node]);
    mempolicy_expect_content(at, PAGES, "weighted");
    for (int node = 0; node < mempolicy_node_count; node++)
        CHECK(set_weight(node, node % 2 == 0 ? "\n" : "0") == 0, "reset: %s", strerror(errno));
    expect_weights(0, "reset");
    munmap(at, PAGES * PAGE);
}

/* Frames for pages that move, and for those of files, are counted like those that a program touches. */
void mempolicy_test_counted(void)
{
    char *at = spread_memory_map(PAGES, PRIVATE);
    long sums[2] = {0, 0}, before;
    static char page[PAGE];
    int fd = (int)syscall(SYS_memfd_create, "counted", 0);

    if (!CHECK(at != NULL && fd >= 0, "%s", strerror(errno)))
        return;
    mempolicy_touch(at, PAGES);
    for (int node = 0; node < mempolicy_node_count && mempolicy_node_count > 1; node++) {
        before = counter_of(node, "numa_hit ");
        CHECK(mempolicy_bind(at, PAGES, BIND, 1ul << (node + 1) % mempolicy_node_count, MOVE) == 0, "away: %s",
              strerror(errno));
        CHECK(mempolicy_bind(at, PAGES, BIND, 1ul << node, MOVE) == 0, "move: %s", strerror(errno));
        CHECK(counter_of(node, "numa_hit ") - before >= PAGES, "node %d: %ld, then %ld", node, before,
              counter_of(node, "numa_hit "));
    }
    for (int after = 0; after < 2; after++) {
        for (int node = 0; node < mempolicy_node_count; node++)
            sums[after] += counter_of(node, "numa_hit ") + counter_of(node, "numa_miss ");
        for (long i = 0; i < PAGES && after == 0; i++)
            CHECK(write(fd, page, PAGE) == PAGE, "write: %s", strerror(errno));
    }
    CHECK(sums[1] - sums[0] >= PAGES, "%ld frames for a file", sums[1] - sums[0]);
    close(fd);
    munmap(at, PAGES * PAGE);
}

/* On each kernel a process changes the same weight, a few times at once with the others. */
void mempolicy_test_weights_at_once(void)
{
    enum { ROUNDS = 12, CHANGES = 4 };

    for (int round = 0; round < ROUNDS; round++) {
        pid_t children[64];
        int count = kernels_count(), weight;

        for (int i = 0; i < count; i++) {
            children[i] = fork();
            if (children[i] == 0) {
                char text[16];
                int error = 0;

                kernels_go(i);
                snprintf(text, sizeof(text), "%d", i + 1);
                for (int change = 0; change < CHANGES && error == 0; change++)
                    error = set_weight(0, text);
                _exit(error);
            }
        }
        for (int i = 0; i < count; i++)
            CHECK_EXITS(children[i], 0);
        weight = weight_of(0);
        for (int i = 0; i < count; i++) {
            kernels_go(i);
            CHECK(weight_of(0) == weight, "round %d: kernel %d has weight %d, kernel 0 has %d", round, i, weight_of(0),
                  weight);
        }
        kernels_go(0);
    }
    CHECK(set_weight(0, "\n") == 0, "reset: %s", strerror(errno));
}

void mempolicy_test_weight_errors(void)
{
    static const char *const wrong[] = {
        "256", "-1", "x", "1 ", "1\n\n", " 1", "0x", "08", "1x", "+", "99999999999999999999"};
    pid_t child;
    int status = -1;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        CHECK(set_weight(0, wrong[i]) == EINVAL, "'%s' is no weight", wrong[i]);
    CHECK(weight_of(0) == 1, "weight %d", weight_of(0));
    CHECK(set_weight(0, "") == 0, "nothing written");
    CHECK(set_weight(64, "1") == ENOENT, "no such node");
    CHECK(set_weight(0, "+0377\n") == 0 && weight_of(0) == 255 && set_weight(0, "\n") == 0, "octal");
    child = fork();
    if (child == 0)
        _exit(setuid(1) == 0 && set_weight(0, "2") == EACCES && weight_of(0) == 1 ? 0 : 1);
    CHECK(waitpid(child, &status, 0) == child && status == 0, "only root sets weights: %x", (unsigned)status);
    CHECK_ERROR(mempolicy_set(WEIGHTED | BALANCING, 1), EINVAL);
    CHECK_ERROR(mempolicy_set(WEIGHTED, 0), EINVAL);
    CHECK_ERROR(mempolicy_set(WEIGHTED + 1, 1), EINVAL);
}
