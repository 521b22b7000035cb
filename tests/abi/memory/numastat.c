/* numastat of a node counts pages that are touched, interleaved, moved and written to files, and a large page as one.
 */
#include "abi.h"
#include <sys/syscall.h>

#define PAGES 64
#define LARGE (2l << 20)
#define NODES 2

static const char *const names[] = {"numa_hit",       "numa_miss",  "numa_foreign",
                                    "interleave_hit", "local_node", "other_node"};
enum { HIT, MISS, FOREIGN, INTERLEAVE, LOCAL, OTHER, COUNTERS };

struct counters {
    long of[NODES][COUNTERS];
};

static struct counters read_counters(void)
{
    struct counters counters;

    for (int node = 0; node < NODES; node++) {
        char path[64], name[32];
        FILE *file;

        snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/numastat", node);
        file = fopen(path, "r");
        MUST(file != NULL ? 0 : -1);
        for (int i = 0; i < COUNTERS; i++)
            MUST(fscanf(file, "%31s %ld", name, &counters.of[node][i]) == 2 && strcmp(name, names[i]) == 0 ? 0 : -1);
        fclose(file);
    }
    return counters;
}

/* By how much counter KIND of NODE, or of all nodes (-1), has grown. */
static long grown(const struct counters *before, const struct counters *after, int node, int kind)
{
    long sum = 0;

    for (int i = 0; i < NODES; i++)
        sum += node < 0 || node == i ? after->of[i][kind] - before->of[i][kind] : 0;
    return sum;
}

static char *small(void)
{
    char *at = MAP(PAGES * PAGE, MAP_PRIVATE);

    MUST(madvise(at, PAGES * PAGE, MADV_NOHUGEPAGE));
    return at;
}

static void prefer(char *at, int mode, unsigned long nodes, int flags)
{
    MUST(syscall(SYS_mbind, at, PAGES * PAGE, mode, &nodes, 65ul, flags));
}

static void touch(char *at, long pages)
{
    for (long i = 0; i < pages; i++)
        at[i * PAGE] = 1;
}

int main(void)
{
    struct counters before, after;
    char *at;
    int file;

    at = small();
    before = read_counters();
    touch(at, PAGES);
    after = read_counters();
    SHOW(grown(&before, &after, -1, HIT) >= PAGES);
    SHOW(grown(&before, &after, -1, LOCAL) >= PAGES);
    for (int node = 0; node < NODES; node++) {
        at = small();
        prefer(at, 1, 1ul << node, 0);
        before = read_counters();
        touch(at, PAGES);
        after = read_counters();
        SHOW(grown(&before, &after, node, HIT) >= PAGES);
        SHOW(grown(&before, &after, -1, MISS) == grown(&before, &after, -1, FOREIGN));
        before = read_counters();
        prefer(at, 1, 1ul << !node, 2);
        after = read_counters();
        SHOW(grown(&before, &after, !node, HIT) >= PAGES);
    }
    at = small();
    prefer(at, 3, 3, 0);
    before = read_counters();
    touch(at, PAGES);
    after = read_counters();
    for (int node = 0; node < NODES; node++)
        SHOW(grown(&before, &after, node, INTERLEAVE) == PAGES / NODES);
    SHOW(grown(&before, &after, -1, OTHER) >= PAGES / NODES);
    at = MAP(2 * LARGE, MAP_PRIVATE);
    at = (char *)(((uintptr_t)at + LARGE - 1) & ~(uintptr_t)(LARGE - 1));
    MUST(madvise(at, LARGE, MADV_HUGEPAGE));
    before = read_counters();
    touch(at, LARGE / PAGE);
    after = read_counters();
    SHOW(grown(&before, &after, -1, HIT) >= 1);
    SHOW(grown(&before, &after, -1, HIT) < LARGE / PAGE);
    file = MUST(syscall(SYS_memfd_create, "numastat", 0));
    before = read_counters();
    for (int i = 0; i < PAGES; i++)
        MUST(write(file, at, PAGE) == PAGE ? 0 : -1);
    after = read_counters();
    SHOW(grown(&before, &after, -1, HIT) >= PAGES);
    return 0;
}
