/* Buddy allocator. See the header.
 *
 * Each range begins with a struct frame for each of its pages. A free block's links lie in the block itself. The
 * instance has one lock for all of it: with one CPU, the common case, it is never contended. */
#include "mm/frame/frame.h"

#include <stddef.h>

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/lib/list.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "mm/frame/refuse.h"

#define RANGES_MAX 64
#define RESERVE_PART 64u /* one frame in RESERVE_PART is kept from programs */
#define RESERVE_LEAST 32u
#define ZEROED_MAX 16u /* the most frames kept in ZEROED */
#define STATE_INSIDE 0 /* not the first frame of a block, or never handed out */
#define STATE_FREE 1
#define STATE_USED 2

struct frame {
    uint8_t state; /* STATE_* of the block that starts here */
    uint8_t order;
    uint16_t note;   /* of whoever has allocated the block */
    uint32_t spaces; /* references of address spaces */
};

struct range {
    uint64_t base;  /* physical address of frames[0] */
    uint64_t count; /* frames */
    uint32_t node;
    uint64_t delta; /* virtual minus physical */
    struct frame *frames;
};

static struct spinlock lock;
static struct range ranges[RANGES_MAX];                        /* [k] lock; [i] after start */
static uint32_t range_count;                                   /* [i] */
static struct list free_lists[NODES_MAX][FRAME_ORDER_MAX + 1]; /* [k] lock; valid for the nodes in `nodes` */
static uint64_t nodes;                                         /* [i] after start */
static struct frame_stats counts;                              /* [k] lock */
static uint64_t free_on[NODES_MAX];                            /* [k] lock: each node's part of counts.free */
static uint64_t zeroed[ZEROED_MAX];                            /* [k] lock: STATE_USED, but counted as free */
static volatile uint32_t zeroed_count;                         /* [k] lock */
static bool (*give_up)(void);                                  /* [i] after start */
static bool (*privileged)(void);                               /* [i] after start */

static struct list *links_of(const struct range *range, uint64_t index)
{
    return (struct list *)(range->base + index * PAGE_SIZE + range->delta);
}

static struct range *range_of(uint64_t frame)
{
    for (uint32_t i = 0; i < range_count; i++) {
        if (frame >= ranges[i].base && frame - ranges[i].base < ranges[i].count * PAGE_SIZE)
            return &ranges[i];
    }
    return NULL;
}

static void block_free(struct range *range, uint64_t index, uint32_t order)
{
    range->frames[index].state = STATE_FREE;
    range->frames[index].order = (uint8_t)order;
    list_prepend(&free_lists[range->node][order], links_of(range, index));
}

static void block_merge(struct range *range, uint64_t index, uint32_t order)
{
    uint64_t first = range->base >> PAGE_SHIFT;

    while (order < FRAME_ORDER_MAX) {
        uint64_t buddy = ((first + index) ^ (1ull << order)) - first; /* wraps when below the range */

        if (buddy >= range->count || buddy + (1ull << order) > range->count ||
            range->frames[buddy].state != STATE_FREE || range->frames[buddy].order != order)
            break;
        list_remove(links_of(range, buddy));
        range->frames[buddy].state = STATE_INSIDE;
        range->frames[index].state = STATE_INSIDE;
        if (buddy < index)
            index = buddy;
        order++;
    }
    block_free(range, index, order);
}

int frame_add_range(uint64_t base, uint64_t size, uint64_t delta, uint32_t node)
{
    uint64_t count = size / PAGE_SIZE;
    uint64_t own = (count * sizeof(struct frame) + PAGE_SIZE - 1) / PAGE_SIZE; /* pages of bookkeeping */
    struct range *range = &ranges[range_count];

    if (range_count == RANGES_MAX)
        return -E2BIG;
    if (count <= own)
        return -ENOMEM;
    spin_lock(&lock);
    if ((nodes >> node & 1) == 0) {
        for (uint32_t i = 0; i <= FRAME_ORDER_MAX; i++)
            list_init(&free_lists[node][i]);
        nodes |= 1ull << node;
    }
    range->node = node;
    range->base = base + own * PAGE_SIZE;
    range->count = count - own;
    range->delta = delta;
    range->frames = (struct frame *)(base + delta);
    memset(range->frames, 0, range->count * sizeof(struct frame));
    range_count++;
    for (uint64_t index = 0; index < range->count;) { /* makes the largest aligned blocks that fit */
        uint32_t order = FRAME_ORDER_MAX;
        uint64_t number = (range->base >> PAGE_SHIFT) + index;

        while ((number & ((1ull << order) - 1)) != 0 || index + (1ull << order) > range->count)
            order--;
        block_free(range, index, order);
        index += 1ull << order;
    }
    counts.free += range->count;
    free_on[node] += range->count;
    counts.total += range->count;
    spin_unlock(&lock);
    return 0;
}

/* Returns the frames of ZEROED to the free lists. */
static void zeroed_drop_locked(void)
{
    while (zeroed_count > 0) {
        uint64_t frame = zeroed[--zeroed_count];
        struct range *range = range_of(frame);

        block_merge(range, (frame - range->base) / PAGE_SIZE, 0);
    }
}

/* The smallest free block of ORDER or more on NODE, with its order in *AT; NULL: there is none. */
static struct list *find_on_locked(uint32_t node, uint32_t order, uint32_t *at)
{
    for (*at = order; *at <= FRAME_ORDER_MAX; (*at)++) {
        if (!list_empty(&free_lists[node][*at]))
            return free_lists[node][*at].next;
    }
    return NULL;
}

/* The same on the first node of SET that has such a block. */
static struct list *find_locked(uint64_t set, uint32_t order, uint32_t *at)
{
    struct list *links = NULL;

    for (set &= nodes; set != 0 && links == NULL; set &= set - 1)
        links = find_on_locked((uint32_t)__builtin_ctzll(set), order, at);
    return links;
}

static uint64_t alloc_on(uint64_t set, uint32_t order)
{
    struct range *range;
    uint64_t frame, index;
    struct list *links;
    uint32_t at = 0;

    spin_lock(&lock);
    links = find_locked(set, order, &at);
    if (links == NULL && zeroed_count > 0) {
        zeroed_drop_locked();
        links = find_locked(set, order, &at);
    }
    if (links == NULL) {
        spin_unlock(&lock);
        return 0;
    }
    range = NULL;
    for (uint32_t i = 0; i < range_count && range == NULL; i++) {
        if ((uint64_t)links - ranges[i].delta - ranges[i].base < ranges[i].count * PAGE_SIZE)
            range = &ranges[i];
    }
    assert(range != NULL);
    frame = (uint64_t)links - range->delta;
    index = (frame - range->base) / PAGE_SIZE;
    list_remove(links);
    while (at > order) {
        at--;
        block_free(range, index + (1ull << at), at);
    }
    range->frames[index] = (struct frame){.state = STATE_USED, .order = (uint8_t)order};
    counts.free -= 1ull << order;
    free_on[range->node] -= 1ull << order;
    spin_unlock(&lock);
    return frame;
}

/* The number of frames that are kept from pages of programs. */
static inline uint64_t reserve(void)
{
    uint64_t frames = counts.total / RESERVE_PART;

    return frames > RESERVE_LEAST ? frames : RESERVE_LEAST;
}

void frame_set_privileged(bool (*function)(void))
{
    privileged = function;
}

/* True when COUNT frames cannot be taken and LEAVE still be left, or for privileged tasks a quarter of the reserve
 * less. */
static inline bool is_short(uint64_t leave, uint64_t count)
{
    uint64_t free = __atomic_load_n(&counts.free, __ATOMIC_RELAXED);

    if (__builtin_expect(free >= leave + count, 1))
        return false;
    return free + reserve() / 4 < leave + count || privileged == NULL || !privileged();
}

/* True when less than COUNT frames can be taken without the part of the reserve that is for what nobody can refuse. */
static inline bool is_low(uint64_t count)
{
    return is_short(reserve() / 2, count);
}

bool frame_is_low(void)
{
    return is_low(1);
}

uint64_t frame_alloc(uint32_t order)
{
    return is_low(1ull << order) ? 0 : alloc_on(UINT64_MAX, order);
}

uint64_t frame_alloc_sure(uint32_t order)
{
    return alloc_on(UINT64_MAX, order);
}

uint16_t *frame_note(uint64_t frame)
{
    const struct range *range = range_of(frame);

    assert(range != NULL);
    return &range->frames[(frame - range->base) / PAGE_SIZE].note;
}

uint64_t frame_nodes(void)
{
    return nodes;
}

static uint64_t zeroed_take(void)
{
    uint64_t frame = 0;

    spin_lock(&lock);
    if (zeroed_count > 0) {
        frame = zeroed[--zeroed_count];
        counts.free--;
        free_on[range_of(frame)->node]--;
    }
    spin_unlock(&lock);
    return frame;
}

void frame_free_zeroed(uint64_t frame)
{
    bool kept;

    spin_lock(&lock);
    kept = zeroed_count < ZEROED_MAX;
    if (kept) {
        zeroed[zeroed_count++] = frame;
        counts.free++;
        free_on[range_of(frame)->node]++;
    }
    spin_unlock(&lock);
    if (!kept)
        frame_free(frame, 0);
}

uint64_t frame_alloc_zeroed(void)
{
    uint64_t frame = zeroed_count > 0 ? zeroed_take() : 0;

    if (frame != 0)
        return frame;
    frame = frame_alloc(0);
    if (frame != 0)
        memset((void *)(frame + range_of(frame)->delta), 0, PAGE_SIZE);
    return frame;
}

void frame_set_give_up(bool (*function)(void))
{
    give_up = function;
}

bool frame_make_room(void)
{
    return give_up != NULL && give_up();
}

/* True when more than LEAVE frames are free, if necessary after the shrinker has released some. */
static bool is_left(uint64_t leave)
{
    while (is_short(leave, 1)) {
        if (!frame_make_room())
            return false;
    }
    return true;
}

bool frame_is_short(void)
{
    return __atomic_load_n(&counts.free, __ATOMIC_RELAXED) <= reserve();
}

uint64_t frame_alloc_page(bool zeroed)
{
    if (!is_left(reserve()))
        return 0;
    return zeroed ? frame_alloc_zeroed() : frame_alloc(0);
}

uint64_t frame_alloc_page_on(uint64_t set, bool zeroed)
{
    uint64_t frame;

    if ((nodes & ~set) == 0)
        return frame_alloc_page(zeroed);
    if ((nodes & set) == 0 || !is_left(reserve()))
        return 0;
    frame = alloc_on(set, 0);
    if (frame != 0 && zeroed)
        memset((void *)(frame + range_of(frame)->delta), 0, PAGE_SIZE);
    return frame;
}

/* Splits the allocated block of ORDER at FRAME into single frames with one reference each. */
static void split(uint64_t frame, uint32_t order)
{
    struct range *range = range_of(frame);
    uint64_t index = (frame - range->base) / PAGE_SIZE;

    spin_lock(&lock);
    for (uint64_t i = index; i < index + (1ull << order); i++)
        range->frames[i] = (struct frame){.state = STATE_USED, .order = 0, .spaces = 1};
    spin_unlock(&lock);
}

uint64_t frame_alloc_pages(uint32_t order)
{
    uint64_t frame = 0;

    if (__atomic_load_n(&counts.free, __ATOMIC_RELAXED) > reserve() + (1ull << order))
        frame = frame_alloc(order);
    if (frame != 0)
        split(frame, order);
    return frame;
}

uint64_t frame_alloc_table(void)
{
    return !refuse(__builtin_return_address(0)) && is_left(reserve() / 2) ? frame_alloc_zeroed() : 0;
}

void frame_free(uint64_t frame, uint32_t order)
{
    struct range *range = range_of(frame);
    uint64_t index;

    if (range == NULL || (frame & (PAGE_SIZE - 1)) != 0)
        panic("mm: frame %lx freed, which is not ours", (unsigned long)frame);
    spin_lock(&lock);
    index = (frame - range->base) / PAGE_SIZE;
    if (range->frames[index].state != STATE_USED || range->frames[index].order != order)
        panic("mm: frame %lx freed twice or with another order", (unsigned long)frame);
    if (range->frames[index].spaces != 0)
        panic("mm: frame %lx freed while a space has it", (unsigned long)frame);
    block_merge(range, index, order);
    counts.free += 1ull << order;
    free_on[range->node] += 1ull << order;
    spin_unlock(&lock);
}

/* The bookkeeping of a single frame in use, or NULL. */
static struct frame *single_locked(const struct range *range, uint64_t frame)
{
    struct frame *single = &range->frames[(frame - range->base) / PAGE_SIZE];

    return single->state == STATE_USED && single->order == 0 ? single : NULL;
}

void frame_share(uint64_t frame)
{
    const struct range *range = range_of(frame);
    struct frame *single;

    spin_lock(&lock);
    single = range != NULL ? single_locked(range, frame) : NULL;
    if (single == NULL)
        panic("mm: frame %lx shared, which is free or not ours", (unsigned long)frame);
    single->spaces++;
    spin_unlock(&lock);
}

void frame_release(uint64_t frame)
{
    struct range *range = range_of(frame);
    struct frame *single;

    spin_lock(&lock);
    single = range != NULL ? single_locked(range, frame) : NULL;
    if (single == NULL || single->spaces == 0)
        panic("mm: frame %lx released, which no space has", (unsigned long)frame);
    if (--single->spaces == 0) {
        block_merge(range, (frame - range->base) / PAGE_SIZE, 0);
        counts.free++;
        free_on[range->node]++;
    }
    spin_unlock(&lock);
}

uint32_t frame_spaces(uint64_t frame)
{
    const struct range *range = range_of(frame);
    const struct frame *single;
    uint32_t spaces = 0;

    if (range == NULL || (frame & (PAGE_SIZE - 1)) != 0)
        return 0;
    spin_lock(&lock);
    single = single_locked(range, frame);
    if (single != NULL)
        spaces = single->spaces;
    spin_unlock(&lock);
    return spaces;
}

bool frame_is_free(uint64_t frame)
{
    const struct range *range = range_of(frame);
    bool free = false;

    if (range == NULL)
        return false;
    spin_lock(&lock);
    for (uint32_t order = 0; order <= FRAME_ORDER_MAX && !free; order++) {
        uint64_t head = frame & ~((PAGE_SIZE << order) - 1); /* the start of the block of ORDER that would contain it */
        const struct frame *block;

        if (head < range->base)
            break;
        block = &range->frames[(head - range->base) / PAGE_SIZE];
        free = block->state == STATE_FREE && block->order >= order;
    }
    spin_unlock(&lock);
    return free;
}

void frame_lend(uint64_t frame)
{
    struct range *range = range_of(frame);

    assert(range != NULL);
    spin_lock(&lock);
    counts.lent++;
    spin_unlock(&lock);
}

void frame_stats(struct frame_stats *out)
{
    spin_lock(&lock);
    *out = counts;
    spin_unlock(&lock);
}

void frame_stats_on(uint32_t node, uint64_t *free, uint64_t *total)
{
    *total = 0;
    spin_lock(&lock);
    *free = free_on[node];
    for (uint32_t i = 0; i < range_count; i++)
        *total += ranges[i].node == node ? ranges[i].count : 0;
    spin_unlock(&lock);
}

uint64_t frame_next_shared(uint64_t from, uint32_t *spaces)
{
    for (uint32_t i = 0; i < range_count; i++) {
        const struct range *range = &ranges[i];
        uint64_t index = from > range->base ? (from - range->base) / PAGE_SIZE : 0;

        for (; index < range->count; index++) {
            if (range->frames[index].spaces == 0)
                continue;
            *spaces = range->frames[index].spaces;
            return range->base + index * PAGE_SIZE;
        }
    }
    return 0;
}
