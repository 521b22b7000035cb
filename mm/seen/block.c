/* What the home knows of a block: counts, ageing, and its part of a node's load. See the header. */
#include "mm/seen/block.h"

#include "mm/seen/choice.h"
#include "msg/message.h"

#define HALVINGS_MOST 15u

static uint16_t sum(uint32_t a, uint32_t b)
{
    return (uint16_t)(a + b < UINT16_MAX ? a + b : UINT16_MAX);
}

/* The periods from THEN to AGE, at most HALVINGS_MOST; none if the length of a period has changed between them. */
static uint32_t since(uint32_t then, uint32_t age)
{
    if (then >= age)
        return 0;
    return age - then < HALVINGS_MOST ? age - then : HALVINGS_MOST;
}

void seen_block_leave(struct seen_block *block, uint32_t *load)
{
    if (block->load != SEEN_NOBODY)
        load[block->load] -= block->weight;
    block->load = SEEN_NOBODY;
}

void seen_block_age(struct seen_block *block, uint32_t nodes, uint32_t *load, uint32_t age)
{
    uint32_t halvings = since(block->age, age), left = SEEN_HALVED - block->halved;

    if (halvings > left)
        halvings = left;
    block->halved = (uint8_t)(block->halved + halvings);
    for (uint32_t node = 0; node < nodes; node++)
        block->used[node] = (uint16_t)(block->used[node] >> halvings);
    block->written = (uint8_t)(block->written >> halvings);
    block->age = age;
    block->told = block->told < age ? block->told : age;
    block->tried_age = block->tried_age < age ? block->tried_age : age;
    if (since(block->told, age) >= SEEN_IDLE)
        seen_block_leave(block, load);
}

/* Somebody reports BLOCK in the period AGE: who did in the period before in which anybody reported it is remembered. */
static void shift_kernels(struct seen_block *block, uint32_t age)
{
    uint32_t gap = since(block->told, age);

    if (gap == 0)
        return;
    block->kernels[1] = gap <= SEEN_FAR ? block->kernels[0] : 0;
    block->kernels[0] = 0;
}

void seen_block_see(struct seen_block *block, uint32_t *load, uint32_t node, uint32_t pages, bool written, uint32_t age)
{
    uint32_t weight = (uint32_t)block->weight >> since(block->told, age), used = pages * block->size;

    weight = used > weight ? used : weight;
    shift_kernels(block, age);
    if (block->load != SEEN_NOBODY)
        load[block->load] += weight - block->weight; /* modulo 2^32: it may become less */
    block->weight = (uint16_t)weight;
    block->used[node] = sum(block->used[node], pages);
    if (written) {
        block->written = SEEN_WRITTEN;
        block->replicated = false;
    }
    block->told = age;
    block->halved = 0;
}

void seen_block_place(struct seen_block *block, uint32_t nodes, uint32_t *load, uint32_t node, uint64_t now)
{
    bool was = block->load != SEEN_NOBODY, shared = kernel_set_count(seen_users(block->used, nodes)) > 1;

    seen_block_leave(block, load);
    if (!shared || block->replicated)
        return; /* each user of a replicated block has it near */
    if (!was)
        block->shared = now;
    block->load = (uint8_t)node;
    load[node] += block->weight;
}

bool seen_block_stuck(struct seen_block *block, uint32_t here, uint32_t to, uint32_t age)
{
    if (block->tried == here)
        block->tried = SEEN_NOBODY; /* it has come there */
    return (block->tried == SEEN_ANY_NODE ? to != SEEN_REPLICATE : block->tried != SEEN_NOBODY && block->tried == to) &&
           since(block->tried_age, age) < SEEN_STUCK;
}

uint32_t seen_block_move(struct seen_block *block)
{
    uint32_t rests = block->age > block->moved_age ? (block->age - block->moved_age) / SEEN_RESTS : 0;
    uint32_t moves = block->moves > rests ? block->moves - rests : 0;

    block->moves = (uint8_t)(moves < SEEN_DEAR ? moves + 1 : moves);
    block->moved_age = block->age;
    return moves;
}

void seen_block_try(struct seen_block *block, uint32_t node)
{
    if (block->tried == SEEN_ANY_NODE && block->tried_age == block->age)
        return; /* one page that cannot move anywhere is enough */
    block->tried = (uint8_t)node;
    block->tried_age = block->age;
}
