/* Free blocks. See the header. */
#include "mm/frame/buddy.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/lib/list.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"

static struct spinlock lock;
static struct list free_lists[NODES_MAX][BLOCK_ORDER_MAX + 1]; /* [k] lock; valid for the nodes in buddy_nodes */
static uint64_t free_on[NODES_MAX];                            /* [k] lock: each node's part of buddy_free */

struct range buddy_ranges[RANGES_MAX];
uint32_t buddy_range_count;
struct range *volatile buddy_range_last = &buddy_ranges[0];
uint64_t buddy_delta;
uint64_t buddy_nodes;
uint64_t buddy_total;
volatile uint64_t buddy_free;

struct range *buddy_find_range(uint64_t frame)
{
    for (uint32_t i = 0; i < buddy_range_count; i++) {
        if (frame - buddy_ranges[i].base < buddy_ranges[i].size)
            return buddy_range_last = &buddy_ranges[i];
    }
    return NULL;
}

static struct list *links_of(const struct range *range, uint64_t index)
{
    return frame_contents(range->base + index * PAGE_SIZE);
}

static void block_free(struct range *range, uint64_t index, uint32_t order)
{
    range->frames[index].state = FRAME_FREE;
    range->frames[index].order = (uint8_t)order;
    list_prepend(&free_lists[range->node][order], links_of(range, index));
}

static void block_merge(struct range *range, uint64_t index, uint32_t order)
{
    uint64_t first = range->base >> PAGE_SHIFT, count = range->size / PAGE_SIZE;

    while (order < BLOCK_ORDER_MAX) {
        uint64_t buddy = ((first + index) ^ (1ull << order)) - first; /* wraps when below the range */

        if (buddy >= count || buddy + (1ull << order) > count || range->frames[buddy].state != FRAME_FREE ||
            range->frames[buddy].order != order)
            break;
        list_remove(links_of(range, buddy));
        range->frames[buddy].state = FRAME_INSIDE;
        range->frames[index].state = FRAME_INSIDE;
        if (buddy < index)
            index = buddy;
        order++;
    }
    block_free(range, index, order);
}

/* Counts 2^ORDER frames of NODE as free (SIGN 1) or in use (-1). */
static void count_locked(uint32_t node, uint32_t order, int64_t sign)
{
    buddy_free += (uint64_t)sign << order;
    free_on[node] += (uint64_t)sign << order;
}

int buddy_add_range(uint64_t base, uint64_t size, uint64_t delta, uint32_t node)
{
    uint64_t count = size / PAGE_SIZE;
    uint64_t own = (count * sizeof(struct frame) + PAGE_SIZE - 1) / PAGE_SIZE; /* pages of bookkeeping */
    struct range *range = &buddy_ranges[buddy_range_count];

    if (buddy_range_count == RANGES_MAX)
        return -E2BIG;
    if (count <= own)
        return -ENOMEM;
    assert(buddy_range_count == 0 || delta == buddy_delta);
    count -= own;
    spin_lock(&lock);
    if ((buddy_nodes >> node & 1) == 0) {
        for (uint32_t i = 0; i <= BLOCK_ORDER_MAX; i++)
            list_init(&free_lists[node][i]);
        buddy_nodes |= 1ull << node;
    }
    range->node = node;
    range->base = base + own * PAGE_SIZE;
    range->size = count * PAGE_SIZE;
    buddy_delta = delta;
    range->frames = (struct frame *)(base + delta);
    memset(range->frames, 0, count * sizeof(struct frame));
    buddy_range_count++;
    for (uint64_t index = 0; index < count;) { /* makes the largest aligned blocks that fit */
        uint32_t order = BLOCK_ORDER_MAX;
        uint64_t number = (range->base >> PAGE_SHIFT) + index;

        while ((number & ((1ull << order) - 1)) != 0 || index + (1ull << order) > count)
            order--;
        block_free(range, index, order);
        index += 1ull << order;
    }
    buddy_free += count;
    free_on[node] += count;
    buddy_total += count;
    spin_unlock(&lock);
    return 0;
}

/* The smallest free block of ORDER or more on NODE, with its order in *AT; NULL: there is none. */
static struct list *find_on_locked(uint32_t node, uint32_t order, uint32_t *at)
{
    for (*at = order; *at <= BLOCK_ORDER_MAX; (*at)++) {
        if (!list_empty(&free_lists[node][*at]))
            return free_lists[node][*at].next;
    }
    return NULL;
}

/* The same on the first node of SET that has such a block. */
static struct list *find_locked(uint64_t set, uint32_t order, uint32_t *at)
{
    struct list *links = NULL;

    for (set &= buddy_nodes; set != 0 && links == NULL; set &= set - 1)
        links = find_on_locked((uint32_t)__builtin_ctzll(set), order, at);
    return links;
}

/* Takes the free block LINKS of order AT, down to ORDER. */
static uint64_t take_locked(struct list *links, uint32_t at, uint32_t order)
{
    uint64_t frame = (uint64_t)links - buddy_delta;
    struct range *range = range_of(frame);
    uint64_t index = (frame - range->base) / PAGE_SIZE;

    list_remove(links);
    while (at > order) {
        at--;
        block_free(range, index + (1ull << at), at);
    }
    range->frames[index] = (struct frame){.state = FRAME_USED, .order = (uint8_t)order};
    count_locked(range->node, order, -1);
    return frame;
}

uint64_t buddy_take(uint64_t set, uint32_t order)
{
    struct list *links;
    uint64_t frame;
    uint32_t at = 0;

    if (order > FRAME_ORDER_MAX)
        return 0;
    spin_lock(&lock);
    links = find_locked(set, order, &at);
    frame = links != NULL ? take_locked(links, at, order) : 0;
    spin_unlock(&lock);
    return frame;
}

uint64_t buddy_take_some(uint32_t node, uint32_t most, uint32_t *order)
{
    struct list *links;
    uint64_t frame;
    uint32_t at = 0;

    spin_lock(&lock);
    links = find_on_locked(node, 0, &at);
    *order = at < most ? at : most;
    frame = links != NULL ? take_locked(links, at, *order) : 0;
    spin_unlock(&lock);
    return frame;
}

void buddy_give(struct range *range, uint64_t frame, uint32_t order)
{
    spin_lock(&lock);
    block_merge(range, (frame - range->base) / PAGE_SIZE, order);
    count_locked(range->node, order, 1);
    spin_unlock(&lock);
}

void buddy_give_run(struct range *range, uint64_t frame, uint64_t count)
{
    uint64_t index = (frame - range->base) / PAGE_SIZE;

    spin_lock(&lock);
    buddy_free += count;
    free_on[range->node] += count;
    for (uint64_t i = 0; i < count; i++)
        range->frames[index + i].state = FRAME_INSIDE;
    while (count > 0) {
        uint64_t number = (range->base >> PAGE_SHIFT) + index;
        uint32_t order = number != 0 ? (uint32_t)__builtin_ctzll(number) : BLOCK_ORDER_MAX;

        order = order < BLOCK_ORDER_MAX ? order : BLOCK_ORDER_MAX;
        while (1ull << order > count)
            order--;
        block_merge(range, index, order);
        index += 1ull << order;
        count -= 1ull << order;
    }
    spin_unlock(&lock);
}

bool buddy_has(const struct range *range, uint64_t frame)
{
    bool free = false;

    spin_lock(&lock);
    for (uint32_t order = 0; order <= BLOCK_ORDER_MAX && !free; order++) {
        uint64_t head = frame & ~((PAGE_SIZE << order) - 1); /* the start of the block of ORDER that would contain it */
        const struct frame *block;

        if (head < range->base)
            break;
        block = range_frame(range, head);
        free = block->state == FRAME_FREE && block->order >= order;
    }
    spin_unlock(&lock);
    return free;
}

void buddy_count(uint32_t node, uint64_t *free, uint64_t *total)
{
    *total = 0;
    spin_lock(&lock);
    *free = free_on[node];
    spin_unlock(&lock);
    for (uint32_t i = 0; i < buddy_range_count; i++)
        *total += buddy_ranges[i].node == node ? buddy_ranges[i].size / PAGE_SIZE : 0;
}
