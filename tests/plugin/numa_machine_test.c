/* The modelled machine: what each kind of access costs and counts, to the cycle.
 * sources: tools/plugin/numa/machine.c tools/plugin/numa/cache.c tools/plugin/numa/link.c tools/plugin/numa/prefetch.c
 */
#include "tools/plugin/numa/machine.h"

#include <stdlib.h>

#include "tests/test.h"

#define LINE 64
#define NODE (UINT64_C(1) << 20)
#define LLC 30

enum { LOCAL0 = 102, REMOTE01 = 138, REMOTE10 = 143, LOCAL1 = 107 };

static struct numa_machine machine;
static uint64_t counters[4][64];

/* Two nodes with two CPUs each: a cache of 4 sets of 2 ways for a CPU, of 16 sets of 4 ways for a node. */
static struct numa_config config_plain(void)
{
    return (struct numa_config){.nodes = 2,
                                .cpus = 4,
                                .node_of = {0, 0, 1, 1},
                                .place_of = {0, 1, 0, 1},
                                .memory = {NODE, NODE},
                                .low = 2 * NODE,
                                .latency = {{LOCAL0, REMOTE01}, {REMOTE10, LOCAL1}},
                                .cache = {4, 2},
                                .llc = {16, 4},
                                .tlb = {0, 1},
                                .llc_cycles = LLC};
}

static void begin(struct numa_config config)
{
    numa_machine_free(&machine);
    memset(counters, 0, sizeof(counters));
    CHECK(numa_machine_make(&machine, &config));
    for (int cpu = 0; cpu < 4; cpu++) {
        machine.cpus[cpu].counters = counters[cpu];
    }
}

static uint64_t go(unsigned int cpu, enum numa_access access, uint64_t ram)
{
    counters[cpu][COLUMN_USER]++;
    return numa_access(&machine, cpu, access, ram, 0x1000).cycles;
}

TEST(stride_local, "every line of a stride through local memory is a miss and costs the local latency")
{
    begin(config_plain());
    for (uint64_t i = 0; i < 1000; i++) {
        CHECK_EQ(go(0, NUMA_READ, i * LINE), LOCAL0);
    }
    CHECK_EQ(counters[0][NUMA_REFERENCES], 1000);
    CHECK_EQ(counters[0][NUMA_MISSES], 1000);
    CHECK_EQ(counters[0][NUMA_LOCAL], 1000);
    CHECK_EQ(counters[0][NUMA_REMOTE], 0);
    CHECK_EQ(numa_clock(&machine.cpus[0]), 1000 + 1000 * LOCAL0);
    CHECK_EQ(counters[0][NUMA_STALLS_USER], 1000 * LOCAL0);
    CHECK_EQ(counters[0][NUMA_COUNTER_COUNT], 1000);
}

TEST(all_remote, "a matrix that is not symmetric costs each direction its own")
{
    begin(config_plain());
    for (uint64_t i = 0; i < 1000; i++) {
        CHECK_EQ(go(0, NUMA_READ, NODE + i * LINE), REMOTE01);
        CHECK_EQ(go(2, NUMA_READ, NODE / 2 + i * LINE), REMOTE10);
    }
    CHECK_EQ(counters[0][NUMA_REMOTE], 1000);
    CHECK_EQ(counters[2][NUMA_REMOTE], 1000);
    CHECK_EQ(counters[2][NUMA_LOCAL], 0);
    CHECK_EQ(counters[0][NUMA_COUNTER_COUNT + 1], 1000);
    CHECK_EQ(counters[2][NUMA_COUNTER_COUNT], 1000);
}

TEST(half, "lines of two nodes in turn are half local and half remote")
{
    begin(config_plain());
    for (uint64_t i = 0; i < 1000; i++) {
        go(2, NUMA_READ, i % 2 * NODE + i * LINE);
    }
    CHECK_EQ(counters[2][NUMA_LOCAL], 500);
    CHECK_EQ(counters[2][NUMA_REMOTE], 500);
    CHECK_EQ(numa_clock(&machine.cpus[2]), 1000 + 500 * LOCAL1 + 500 * REMOTE10);
}

TEST(ping_pong, "a line that two nodes write in turn is brought from the other's cache each time")
{
    begin(config_plain());
    CHECK_EQ(go(0, NUMA_WRITE, 0), LOCAL0);
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(go(2, NUMA_WRITE, 0), REMOTE10);
        CHECK_EQ(go(0, NUMA_WRITE, 0), REMOTE01);
    }
    CHECK_EQ(counters[2][NUMA_FORWARDS], 100);
    CHECK_EQ(counters[0][NUMA_FORWARDS], 100);
    CHECK_EQ(counters[0][NUMA_REMOTE], 100);
}

TEST(shared_read, "a line that all read is shared, and a write to it waits for the other node")
{
    begin(config_plain());
    CHECK_EQ(go(0, NUMA_READ, 0), LOCAL0);
    CHECK_EQ(go(1, NUMA_READ, 0), LLC);
    CHECK_EQ(go(2, NUMA_READ, 0), REMOTE10);
    for (int i = 0; i < 10; i++) {
        for (unsigned int cpu = 0; cpu < 3; cpu++) {
            CHECK_EQ(go(cpu, NUMA_READ, 0), 0);
        }
    }
    CHECK_EQ(go(1, NUMA_WRITE, 0), REMOTE01);
    CHECK_EQ(counters[1][NUMA_UPGRADES], 1);
    CHECK_EQ(go(1, NUMA_WRITE, 0), 0);
    CHECK_EQ(go(0, NUMA_READ, 0), LLC);
    CHECK_EQ(go(2, NUMA_READ, 0), REMOTE10);
    CHECK_EQ(counters[2][NUMA_FORWARDS], 1);
}

TEST(furthest, "a write to a line that two other nodes hold waits for the further one")
{
    struct numa_config config = config_plain();
    config.nodes = 3;
    config.node_of[3] = 2;
    config.place_of[3] = 0;
    config.memory[2] = NODE;
    config.latency[0][2] = 111;
    config.latency[2][0] = config.latency[2][1] = config.latency[2][2] = 99;
    begin(config);
    go(0, NUMA_READ, 0);
    go(2, NUMA_READ, 0);
    go(3, NUMA_READ, 0);
    CHECK_EQ(go(0, NUMA_WRITE, 0), REMOTE01);
    go(2, NUMA_READ, 0);
    go(3, NUMA_READ, 0);
    CHECK_EQ(go(1, NUMA_WRITE, 0), REMOTE01);
    CHECK_EQ(go(3, NUMA_WRITE, 0), 99);
    CHECK_EQ(counters[3][NUMA_FORWARDS], 1);
}

TEST(alone, "who read a line alone writes it without asking")
{
    begin(config_plain());
    go(0, NUMA_READ, 0);
    CHECK_EQ(go(0, NUMA_WRITE, 0), 0);
    CHECK_EQ(counters[0][NUMA_UPGRADES], 0);
    go(1, NUMA_READ, 0);
    CHECK_EQ(go(0, NUMA_WRITE, 0), LLC);
    CHECK_EQ(counters[0][NUMA_UPGRADES], 1);
}

TEST(capacities, "a list is served by the first cache that holds it")
{
    begin(config_plain());
    for (int round = 0; round < 3; round++) {
        for (uint64_t i = 0; i < 8; i++) {
            CHECK_EQ(go(0, NUMA_READ, i * LINE), round == 0 ? LOCAL0 : 0);
        }
    }
    begin(config_plain());
    for (int round = 0; round < 3; round++) {
        for (uint64_t i = 0; i < 64; i++) {
            CHECK_EQ(go(0, NUMA_READ, i * LINE), round == 0 ? LOCAL0 : LLC);
        }
    }
    CHECK_EQ(counters[0][NUMA_LLC_HITS], 128);
    begin(config_plain());
    for (int round = 0; round < 3; round++) {
        for (uint64_t i = 0; i < 80; i++) { /* five lines for four ways, in order: each is gone when its turn comes */
            CHECK_EQ(go(0, NUMA_READ, i * LINE), LOCAL0);
        }
    }
}

TEST(inclusion, "what leaves a node's cache leaves its CPUs' caches")
{
    begin(config_plain());
    go(0, NUMA_READ, 0);
    for (uint64_t i = 1; i <= 4; i++) {
        go(1, NUMA_READ, i * 16 * LINE);
    }
    CHECK_EQ(go(0, NUMA_READ, 0), LOCAL0);
}

TEST(walks, "reads of page tables are counted by themselves")
{
    begin(config_plain());
    CHECK_EQ(go(0, NUMA_WALK, NODE), REMOTE01);
    CHECK_EQ(go(0, NUMA_WALK, 0), LOCAL0);
    CHECK_EQ(go(0, NUMA_WALK, 0), 0);
    CHECK_EQ(counters[0][NUMA_WALK_REFERENCES], 3);
    CHECK_EQ(counters[0][NUMA_WALK_LOCAL], 1);
    CHECK_EQ(counters[0][NUMA_WALK_REMOTE], 1);
    CHECK_EQ(counters[0][NUMA_MISSES], 0);
}

TEST(prefetch, "a stride is fetched ahead after three misses, and who comes too early waits for the rest")
{
    struct numa_config config = config_plain();
    config.prefetch = 1;
    begin(config);
    for (uint64_t i = 0; i < 3; i++) {
        CHECK_EQ(go(0, NUMA_READ, i * LINE), LOCAL0);
    }
    /* The third access began at its own instruction and fetched line 3, which is there LOCAL0 later; it took LOCAL0
     * itself, so after one instruction more line 3 has come. */
    CHECK_EQ(go(0, NUMA_READ, 3 * LINE), 0);
    /* That one took nothing, so line 4 has been on its way for one cycle. */
    CHECK_EQ(go(0, NUMA_READ, 4 * LINE), LOCAL0 - 1);
    CHECK_EQ(go(0, NUMA_READ, 5 * LINE), 0);
    CHECK_EQ(counters[0][NUMA_MISSES], 3);
    CHECK_EQ(counters[0][NUMA_PREFETCHES], 4);
    CHECK_EQ(counters[0][NUMA_COUNTER_COUNT], 7);
}

TEST(prefetch_page, "nothing is fetched ahead beyond a page")
{
    struct numa_config config = config_plain();
    config.prefetch = 8;
    begin(config);
    for (uint64_t i = 61; i < 64; i++) {
        go(0, NUMA_READ, i * LINE);
    }
    CHECK_EQ(counters[0][NUMA_PREFETCHES], 0);
}

TEST(links, "lines beyond what a link carries wait for the next slot")
{
    struct numa_config config = config_plain();
    config.link = LINK_SLOT_CYCLES / 4 * NUMA_LINK_UNIT; /* four lines a slot */
    begin(config);
    uint64_t clock = 0;
    uint64_t lines[64] = {0}; /* in each slot so far */
    for (uint64_t i = 0; i < 20; i++) {
        uint64_t now = clock + 1;
        uint64_t slot = now / LINK_SLOT_CYCLES;
        while (lines[slot] == 4) {
            slot++;
        }
        lines[slot]++;
        uint64_t wait = slot > now / LINK_SLOT_CYCLES ? slot * LINK_SLOT_CYCLES - now : 0;
        CHECK_EQ(go(0, NUMA_READ, i * LINE), LOCAL0 + wait);
        clock = now + LOCAL0 + wait;
    }
    CHECK(counters[0][NUMA_WAITS] > 0);
    CHECK_EQ(counters[0][NUMA_STALLS_USER], 20 * LOCAL0 + counters[0][NUMA_WAITS]);
}

TEST(clocks, "after a meeting the clocks of all CPUs are compared from where the furthest is")
{
    begin(config_plain());
    for (uint64_t i = 0; i < 10; i++) {
        go(0, NUMA_READ, i * LINE);
    }
    numa_clocks_meet(&machine);
    for (int cpu = 0; cpu < 4; cpu++) {
        CHECK_EQ(numa_clock(&machine.cpus[cpu]) + machine.cpus[cpu].ahead, 10 * (LOCAL0 + 1));
    }
}

/* A line may be written in one node only, there by one CPU; what a CPU's cache holds, its node's holds and knows. */
static void check_caches(void)
{
    for (uint64_t i = 0; i < 256; i++) {
        uint64_t line = i % 128 + i / 128 * (NODE / LINE);
        int nodes = 0;
        int owners = 0;
        for (uint32_t node = 0; node < 2; node++) {
            uint32_t at = cache_find(&machine.llcs[node], line);
            nodes += at != CACHE_NOWHERE;
            owners += at != CACHE_NOWHERE && machine.llcs[node].entries[at].exclusive;
            for (unsigned int place = 0; place < 2; place++) {
                uint32_t own = cache_find(&machine.cpus[node * 2 + place].cache, line);
                if (own != CACHE_NOWHERE) {
                    const struct cache_entry *entry = &machine.cpus[node * 2 + place].cache.entries[own];
                    CHECK(at != CACHE_NOWHERE && machine.llcs[node].entries[at].holders >> place & 1);
                    CHECK(!entry->exclusive || machine.llcs[node].entries[at].exclusive);
                    CHECK(!entry->exclusive || machine.llcs[node].entries[at].holders == 1u << place);
                    CHECK(!entry->dirty || entry->exclusive);
                }
            }
        }
        CHECK(owners <= 1 && (owners == 0 || nodes == 1));
    }
}

TEST(random_accesses, "whatever four CPUs do, no line is writable twice and every miss was served once")
{
    struct numa_config config = config_plain();
    config.prefetch = 2;
    begin(config);
    uint64_t state = 1;
    for (int i = 0; i < 20000; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        uint64_t line = state >> 40 & (i % 2 == 0 ? 127 : 7);
        go(state >> 33 & 3, state >> 36 & 1 ? NUMA_WRITE : NUMA_READ, (state >> 35 & 1) * NODE + line * LINE);
        if (i % 50 == 0) {
            check_caches();
        }
    }
    for (int cpu = 0; cpu < 4; cpu++) {
        const uint64_t *count = counters[cpu];
        CHECK_EQ(count[NUMA_MISSES], count[NUMA_LLC_HITS] + count[NUMA_LOCAL] + count[NUMA_REMOTE]);
        CHECK(count[NUMA_MISSES] > 100 && count[NUMA_FORWARDS] > 100 && count[NUMA_UPGRADES] > 10);
    }
    numa_machine_free(&machine);
}
