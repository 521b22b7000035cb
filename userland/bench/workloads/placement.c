/* Placement of a workload's memory. userland/bench/workloads/placement.h is the contract. */
#include "userland/bench/workloads/placement.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "userland/bench/mark.h"
#include "userland/bench/workloads/team.h"

#define PLACING_REGION 0 /* for counting; no program has it */
#define PAGE 4096ul
#define BLOCKS_EACH 32                            /* of a thread */
#define BLOCKS_MAX (BLOCKS_EACH * (TEAM_MAX + 1)) /* those before there is a team come first */
#define NODES_MAX 64
#define MASK_BITS (NODES_MAX + 1l) /* Linux takes one bit less than it is told */
#define AT_ONCE 512
#define STATUS_WRONG 1

enum phase { PHASE_NONE, PHASE_TRACE, PHASE_START, PHASE_MOVE };

struct hint {
    long block, first, count;
    int node;
};

static struct {
    bool read;
    enum phase phase;
    struct hint *hints;
    long hint_count;
    char *blocks[BLOCKS_MAX]; /* NULL: there is none; its thread alone writes it */
    long block_pages[BLOCKS_MAX];
} plan;

static _Thread_local long first_block, block_count; /* of this thread */

/* Pages that are to be asked for, and then moved, together. */
struct batch {
    void *pages[AT_ONCE];
    int nodes[AT_ONCE], now[AT_ONCE];
    unsigned long count;
};

static _Noreturn void fail(const char *what, const char *why)
{
    fprintf(stderr, "workload: NUMA_PHASE: %s: %s\n", what, why);
    exit(STATUS_WRONG);
}

static void hints_read(const char *name)
{
    FILE *file = fopen(name, "r");
    struct hint hint;
    int fields;

    if (file == NULL)
        fail(name, strerror(errno));
    while ((fields = fscanf(file, "%ld %ld %ld %d", &hint.block, &hint.first, &hint.count, &hint.node)) == 4) {
        if (hint.block < 0 || hint.block >= BLOCKS_MAX || hint.first < 0 || hint.count < 1 || hint.node < 0 ||
            hint.node >= NODES_MAX)
            fail(name, "a number is out of range");
        plan.hints = realloc(plan.hints, (size_t)(plan.hint_count + 1) * sizeof(hint));
        if (plan.hints == NULL)
            fail(name, strerror(ENOMEM));
        plan.hints[plan.hint_count++] = hint;
    }
    if (fields != EOF || fclose(file) != 0)
        fail(name, "a line is not four numbers");
}

static void plan_read(void)
{
    const char *phase = getenv("NUMA_PHASE"), *name = getenv("NUMA_HINTS");

    plan.read = true;
    if (phase == NULL)
        return;
    if (strlen(phase) != 1 || phase[0] < '0' || phase[0] > '3')
        fail(phase, "it is 0 to 3");
    plan.phase = (enum phase)(phase[0] - '0');
    if (plan.phase < PHASE_START)
        return;
    if (name == NULL)
        fail(phase, "it needs NUMA_HINTS");
    hints_read(name);
}

/* The pages of HINT; ends the program when its block has not so many. */
static char *pages_of(const struct hint *hint)
{
    if (hint->first > plan.block_pages[hint->block] || hint->count > plan.block_pages[hint->block] - hint->first)
        fail("NUMA_HINTS", "a block of memory is shorter than in the run that was traced");
    return plan.blocks[hint->block] + (size_t)hint->first * PAGE;
}

/* Gives the pages of BLOCK, which nobody has touched, their nodes. */
static void place(long block)
{
    mark_begin(PLACING_REGION);
    for (long i = 0; i < plan.hint_count; i++) {
        uint64_t mask = 1ull << plan.hints[i].node;

        if (plan.hints[i].block == block &&
            syscall(SYS_mbind, pages_of(&plan.hints[i]), (unsigned long)plan.hints[i].count * PAGE, MPOL_PREFERRED,
                    &mask, MASK_BITS, 0) != 0)
            fail("mbind", strerror(errno));
    }
    mark_end(PLACING_REGION);
}

void placement_member(int me)
{
    first_block = BLOCKS_EACH * (me + 1);
    block_count = 0;
}

void placement_made(void *memory, size_t bytes)
{
    long block;

    if (!plan.read)
        plan_read();
    if (plan.phase == PHASE_NONE)
        return;
    if (block_count == BLOCKS_EACH)
        fail("blocks of memory", "a thread has more than 32");
    block = first_block + block_count++;
    if (plan.phase == PHASE_TRACE)
        printf("{\"block\": %ld, \"address\": %llu, \"bytes\": %zu}\n", block, (unsigned long long)(uintptr_t)memory,
               bytes);
    plan.blocks[block] = memory;
    plan.block_pages[block] = (long)((bytes + PAGE - 1) / PAGE);
    if (plan.phase == PHASE_START)
        place(block);
}

/* Moves those pages of BATCH that are elsewhere. Pages that nobody has touched are nowhere, and stay so. */
static void batch_move(struct batch *batch)
{
    unsigned long away = 0;

    if (batch->count != 0 && syscall(SYS_move_pages, 0, batch->count, batch->pages, NULL, batch->now, 0) < 0)
        fail("move_pages", strerror(errno));
    for (unsigned long i = 0; i < batch->count; i++) {
        if (batch->now[i] < 0 || batch->now[i] == batch->nodes[i])
            continue;
        batch->pages[away] = batch->pages[i];
        batch->nodes[away++] = batch->nodes[i];
    }
    if (away != 0 && syscall(SYS_move_pages, 0, away, batch->pages, batch->nodes, batch->now, MPOL_MF_MOVE) < 0)
        fail("move_pages", strerror(errno));
    batch->count = 0;
}

void placement_begin(void)
{
    static struct batch batch;

    for (long i = 0; plan.phase == PHASE_MOVE && i < plan.hint_count; i++) {
        const struct hint *hint = &plan.hints[i];

        if (plan.blocks[hint->block] == NULL)
            fail("NUMA_HINTS", "there are fewer blocks of memory than in the run that was traced");
        for (long page = 0; page < hint->count; page++) {
            batch.pages[batch.count] = pages_of(hint) + (size_t)page * PAGE;
            batch.nodes[batch.count++] = hint->node;
            if (batch.count == AT_ONCE)
                batch_move(&batch);
        }
    }
    batch_move(&batch);
}
