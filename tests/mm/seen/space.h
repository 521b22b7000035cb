/* For tests of what the home knows of a space and of looks at it: a space with areas and two leaf tables of pages whose
 * frames are on chosen nodes, and a clock. Included once. */
#ifndef TESTS_MM_SEEN_SPACE_H
#define TESTS_MM_SEEN_SPACE_H

#include "kernel/arch/x86_64/clock.h"
#include "kernel/instance/instance.h"
#include "mm/mempolicy/mempolicy.h"
#include "mm/page/zero_page.h"
#include "mm/seen/seen.h"
#include "mm/seen/table.h"
#include "mm/space/entry.h"
#include "msg/trace.h"
#include "tests/stand_in/heap.h"
#include "tests/test.h"

#define NODES 3u
#define TABLES 2u
#define START (8 * LEAF_SIZE) /* of the tables */
#define NODE_SHIFT 32u        /* of a frame's address */

struct instance instance;
static struct space space;
static uint64_t pages[TABLES][LEAF_ENTRIES];
static struct policy policies[POLICY_MAX + 1]; /* by their numbers; mode 0: none */
static uint64_t now;

uint64_t clock_now(void)
{
    return now;
}

uint32_t policy_node_of(uint64_t frame)
{
    return (uint32_t)(frame >> NODE_SHIFT & (NODES_MAX - 1));
}

bool zero_page_compare(uint64_t entry)
{
    (void)entry;
    return false;
}

void trace_note(const char *what, uint32_t tid, uint32_t peer, uint64_t first, uint64_t second)
{
    (void)what, (void)tid, (void)peer, (void)first, (void)second;
}

static inline void put_page(uint64_t address, uint32_t node, uint64_t flags)
{
    pages[(address - START) / LEAF_SIZE][address % LEAF_SIZE / PAGE_SIZE] = (uint64_t)node << NODE_SHIFT |
                                                                            (address & PAGING_FRAME) | PAGING_PRESENT |
                                                                            flags;
}

/* An empty space, whose home this kernel on node 0 is. */
static inline void begin(void)
{
    if (space.areas.head.next != NULL)
        area_list_clear(&space.areas);
    space = (struct space){.id = 7};
    area_list_init(&space.areas);
    memset(pages, 0, sizeof(pages));
    memset(policies, 0, sizeof(policies));
    memset(&instance, 0, sizeof(instance));
    instance.plan.node_count = NODES;
    instance.plan.kernel_count = 1;
    for (uint32_t node = 0; node < NODES; node++) {
        for (uint32_t from = 0; from < NODES; from++)
            instance.plan.distance[node][from] = node == from ? 10 : 20;
    }
    now = 1000000000000;
}

#endif
