/* Frames that CPUs keep. See the header.
 *
 * The first word of a frame that is kept is the address of the next one. Each CPU's lists have a lock, which others
 * take only to drain them: it precedes the lock of the blocks, and nobody holds two. */
#include "mm/frame/cache.h"

#include "kernel/arch/x86_64/cpu.h"
#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/lib/string.h"

#define DIRTY_MAX 512u  /* a CPU that has more returns GIVE_BACK of them */
#define GIVE_BACK 64u   /* under a lock and in one go, so not many */
#define REFILL_ORDER 4u /* of the block that a CPU without frames takes, and of those whose frames are zeroed ahead */
#define ZEROED_MAX 256u
#define DIRTY_IDLE 32u /* an idle CPU that has more returns them all, RETURN at a time */
#define RETURN 16u
#define RECENT_MAX 16u /* frames given last that pages get first: they may be in the CPU's caches, and are not many */
#define AHEAD_PART 8u  /* frames are zeroed ahead while more than one in AHEAD_PART is in a free block */

struct kept {
    uint64_t first;          /* [k] 0: none */
    uint64_t last;           /* [k] meaningless if there is none */
    volatile uint32_t count; /* [k] */
};

struct cache {
    struct spinlock lock;
    uint64_t nodes; /* [i] a bit for the node of its frames; 0: it has none */
    struct kept dirty, zeroed;
    struct kept ahead; /* what is left of the block whose frames are zeroed ahead */
    uint32_t recent;   /* [o] frames given since pages took as many, at most RECENT_MAX */
    bool returns;      /* [o] the CPU returns its dirty frames while it is idle */
} __attribute__((aligned(64)));

static struct cache caches[CPUS_MAX]; /* by the CPU's index */

static inline struct cache *own(void)
{
    return &caches[cpu_several ? cpu_index() : 0];
}

void cache_start(uint32_t node)
{
    own()->nodes = (buddy_nodes >> node & 1) != 0 ? 1ull << node : buddy_nodes & -buddy_nodes;
}

static inline void push_locked(struct kept *kept, uint64_t frame)
{
    *(uint64_t *)frame_contents(frame) = kept->first;
    if (kept->first == 0)
        kept->last = frame;
    kept->first = frame;
    kept->count++;
}

/* Adds FRAME, which is filled with zeros, behind the others: frames that are zeroed ahead one after another are taken
 * in that order, so that pages touched one after another have consecutive frames, which others fetch as one run. */
static inline void append_locked(struct kept *kept, uint64_t frame)
{
    if (kept->first == 0)
        kept->first = frame;
    else
        *(uint64_t *)frame_contents(kept->last) = frame;
    kept->last = frame;
    kept->count++;
}

/* Takes the first of KEPT, which is not empty, whose first word becomes 0. */
static inline uint64_t pop_locked(struct kept *kept)
{
    uint64_t frame = kept->first;
    uint64_t *link = frame_contents(frame);

    kept->first = *link;
    *link = 0;
    kept->count--;
    return frame;
}

/* Keeps the frames of the block FRAME of ORDER: the lowest address is taken first. */
static void keep_block_locked(struct kept *kept, uint64_t frame, uint32_t order)
{
    struct frame *single = range_frame(range_of(frame), frame);

    for (uint64_t i = 1ull << order; i-- > 0;) {
        single[i] = (struct frame){.state = FRAME_CACHED};
        push_locked(kept, frame + i * PAGE_SIZE);
    }
}

/* Gets a few frames from the free blocks. False: there are none. */
static bool refill_locked(struct cache *cache)
{
    uint32_t order;
    uint64_t frame = buddy_take_some((uint32_t)__builtin_ctzll(cache->nodes), REFILL_ORDER, &order);

    if (frame == 0)
        return false;
    keep_block_locked(&cache->dirty, frame, order);
    return true;
}

static inline uint64_t take_kept_locked(struct kept *kept)
{
    uint64_t frame = pop_locked(kept);

    *range_frame(range_of(frame), frame) = (struct frame){.state = FRAME_USED};
    return frame;
}

/* Takes a frame whose contents do not matter, though the CPU has none of this kind. */
static __attribute__((noinline)) uint64_t take_any_locked(struct cache *cache)
{
    if (refill_locked(cache))
        return take_kept_locked(&cache->dirty);
    if (cache->ahead.count > 0)
        return take_kept_locked(&cache->ahead);
    return cache->zeroed.count > 0 ? take_kept_locked(&cache->zeroed) : 0;
}

static uint64_t take_dirty(struct cache *cache)
{
    uint64_t frame;

    spin_lock(&cache->lock);
    frame = cache->dirty.count > 0 ? take_kept_locked(&cache->dirty) : take_any_locked(cache);
    spin_unlock(&cache->lock);
    return frame;
}

static __attribute__((noinline)) uint64_t take_and_zero(struct cache *cache)
{
    uint64_t frame = take_dirty(cache);

    if (frame != 0)
        memset(frame_contents(frame), 0, PAGE_SIZE);
    return frame;
}

static inline uint64_t take_zeroed(struct cache *cache)
{
    uint64_t frame;

    spin_lock(&cache->lock);
    frame = cache->zeroed.count > 0 ? take_kept_locked(&cache->zeroed) : 0;
    spin_unlock(&cache->lock);
    return frame;
}

uint64_t cache_take(uint64_t set, bool zeroed)
{
    struct cache *cache = own();
    uint64_t frame;

    if ((cache->nodes & set) == 0)
        return 0;
    if (!zeroed)
        return take_dirty(cache);
    frame = take_zeroed(cache);
    return frame != 0 ? frame : take_and_zero(cache);
}

/* Takes a frame to be zeroed ahead, or for one of many pages, or returns 0. Of whole blocks rather than what was given
 * back here in some order, so that pages which are touched one after another have consecutive frames also after many
 * programs have run. Never one that is zeroed already: on a node without free blocks that would go on for ever. */
static uint64_t take_ahead(struct cache *cache)
{
    uint64_t block, frame = 0;

    spin_lock(&cache->lock);
    if (cache->ahead.count == 0 && (block = buddy_take(cache->nodes, REFILL_ORDER)) != 0)
        keep_block_locked(&cache->ahead, block, REFILL_ORDER);
    if (cache->ahead.count > 0)
        frame = take_kept_locked(&cache->ahead);
    else if (cache->dirty.count > 0 || refill_locked(cache))
        frame = take_kept_locked(&cache->dirty);
    spin_unlock(&cache->lock);
    return frame;
}

/* Whether a page's frame is to be of a whole block: of what was given back here, in some order, there is nothing, or so
 * much that it is left to who is idle, and to what needs no order. */
static inline bool is_for_block(struct cache *cache)
{
    if (cache->recent > 0) {
        cache->recent--;
        return false;
    }
    return (cache->dirty.count == 0 || cache->dirty.count > DIRTY_IDLE) && buddy_free > buddy_total / AHEAD_PART;
}

uint64_t cache_take_page(uint64_t set, bool zeroed)
{
    struct cache *cache = own();
    uint64_t frame;

    if ((cache->nodes & set) == 0)
        return 0;
    frame = zeroed ? take_zeroed(cache) : 0;
    if (frame != 0)
        return frame;
    frame = is_for_block(cache) ? take_ahead(cache) : 0;
    if (frame == 0)
        return zeroed ? take_and_zero(cache) : take_dirty(cache);
    if (zeroed)
        memset(frame_contents(frame), 0, PAGE_SIZE);
    return frame;
}

static __attribute__((noinline)) void give_back_locked(struct kept *kept, uint32_t count)
{
    for (; count > 0 && kept->count > 0; count--) {
        uint64_t frame = pop_locked(kept);

        buddy_give(range_of(frame), frame, 0);
    }
}

void cache_give(struct range *range, uint64_t frame, bool zeroed)
{
    struct cache *cache = own();

    if ((cache->nodes >> range->node & 1) == 0) {
        buddy_give(range, frame, 0);
        return;
    }
    spin_lock(&cache->lock);
    range_frame(range, frame)->state = FRAME_CACHED;
    if (zeroed && cache->zeroed.count < ZEROED_MAX)
        push_locked(&cache->zeroed, frame);
    else
        push_locked(&cache->dirty, frame);
    if (cache->recent < RECENT_MAX)
        cache->recent++;
    if (cache->dirty.count > DIRTY_MAX)
        give_back_locked(&cache->dirty, GIVE_BACK);
    spin_unlock(&cache->lock);
}

/* Returns some of what was given back here to the free blocks, where it becomes larger ones. False: too few to do so.
 */
static bool return_some(struct cache *cache)
{
    if (cache->dirty.count > DIRTY_IDLE)
        cache->returns = true;
    if (!cache->returns)
        return false;
    spin_lock(&cache->lock);
    give_back_locked(&cache->dirty, RETURN);
    cache->returns = cache->dirty.count > 0;
    spin_unlock(&cache->lock);
    return true;
}

bool frame_idle(void)
{
    struct cache *cache = own();
    uint64_t frame;

    if (cache->nodes == 0)
        return false;
    if (cache->zeroed.count >= ZEROED_MAX || buddy_free <= buddy_total / AHEAD_PART)
        return return_some(cache);
    frame = take_ahead(cache);
    if (frame == 0)
        return false;
    memset(frame_contents(frame), 0, PAGE_SIZE);
    spin_lock(&cache->lock);
    range_frame(range_of(frame), frame)->state = FRAME_CACHED;
    append_locked(&cache->zeroed, frame);
    spin_unlock(&cache->lock);
    return true;
}

bool cache_drain(void)
{
    bool some = false;

    for (uint32_t i = 0; i < cpu_total; i++) {
        struct cache *cache = &caches[i];

        if (cache->dirty.count == 0 && cache->zeroed.count == 0 && cache->ahead.count == 0)
            continue;
        some = true;
        spin_lock(&cache->lock);
        give_back_locked(&cache->dirty, UINT32_MAX);
        give_back_locked(&cache->zeroed, UINT32_MAX);
        give_back_locked(&cache->ahead, UINT32_MAX);
        spin_unlock(&cache->lock);
    }
    return some;
}

uint64_t cache_count(uint64_t set)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < cpu_total; i++) {
        if ((set & caches[i].nodes) != 0)
            count += caches[i].dirty.count + caches[i].zeroed.count + caches[i].ahead.count;
    }
    return count;
}
