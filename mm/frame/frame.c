/* Frames for everybody: whom a frame is given to, and how many spaces refer to it. See the header. */
#include "mm/frame/frame.h"

#include <stddef.h>

#include "kernel/arch/x86_64/cpu.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "mm/frame/buddy.h"
#include "mm/frame/cache.h"
#include "mm/frame/refuse.h"

#define RESERVE_PART 64u /* one frame in RESERVE_PART is kept from programs */
#define RESERVE_LEAST 32u
#define OBJECTS_LEAVE(reserve) ((reserve)*3 / 4)

static uint64_t reserve = RESERVE_LEAST; /* [i] after start: frames that are kept from pages of programs */
static uint64_t objects_leave = OBJECTS_LEAVE(RESERVE_LEAST); /* [i] the same: from objects and tables of users */
static uint64_t lent;                                         /* [a] */
static bool (*give_up)(void);                                 /* [i] after start */
static bool (*privileged)(void);                              /* [i] after start */
static void (*refused)(void);                                 /* [i] after start */

int frame_add_range(uint64_t base, uint64_t size, uint64_t delta, uint32_t node)
{
    int error = buddy_add_range(base, size, delta, node);

    if (buddy_total / RESERVE_PART > RESERVE_LEAST)
        reserve = buddy_total / RESERVE_PART;
    objects_leave = OBJECTS_LEAVE(reserve);
    return error;
}

void frame_start_cpu(uint32_t node)
{
    cache_start(node);
}

uint64_t frame_nodes(void)
{
    return buddy_nodes;
}

/* --- taking and giving --- */

/* A block of ORDER from a node of SET, if necessary put together of what the CPUs keep. */
static uint64_t alloc_block(uint64_t set, uint32_t order)
{
    uint64_t frame = buddy_take(set, order);

    return frame == 0 && cache_drain() ? buddy_take(set, order) : frame;
}

/* A frame of a node of SET from a CPU that keeps none of them. */
static __attribute__((noinline)) uint64_t alloc_elsewhere(uint64_t set, bool zeroed)
{
    uint64_t frame = alloc_block(set, 0);

    if (frame != 0 && zeroed)
        memset(frame_contents(frame), 0, PAGE_SIZE);
    return frame;
}

/* A single frame, the one that the CPU keeps rather than another. */
static uint64_t alloc_single(uint64_t set, bool zeroed)
{
    uint64_t frame = cache_take(set, zeroed);

    return frame != 0 ? frame : alloc_elsewhere(set, zeroed);
}

/* The same for a page of a program or a file. */
static uint64_t alloc_page(uint64_t set, bool zeroed)
{
    uint64_t frame = cache_take_page(set, zeroed);

    return frame != 0 ? frame : alloc_elsewhere(set, zeroed);
}

/* --- who may have what is left --- */

static inline uint64_t free_count(void)
{
    return buddy_free + cache_count(UINT64_MAX);
}

void frame_set_privileged(bool (*function)(void))
{
    privileged = function;
}

/* What the CPUs keep goes back first: then the smallest blocks are taken before others, and of the last frames some are
 * blocks for objects of several pages. */
static __attribute__((noinline)) bool is_short_slowly(uint64_t leave, uint64_t count)
{
    uint64_t free;

    cache_drain();
    free = free_count();
    if (free >= leave + count)
        return false;
    return free + reserve / 2 < leave + count || privileged == NULL || !privileged();
}

/* True when COUNT frames cannot be taken and LEAVE still be left, or for privileged tasks half of the reserve
 * less. While the free blocks alone are enough, nobody looks at what the CPUs keep. */
static inline bool is_short(uint64_t leave, uint64_t count)
{
    return __builtin_expect(buddy_free < leave + count, 0) && is_short_slowly(leave, count);
}

/* True when less than COUNT frames can be taken without the part of the reserve that is for what nobody can refuse. */
static inline bool is_low(uint64_t count)
{
    return is_short(objects_leave, count);
}

bool frame_is_low(void)
{
    return is_low(1);
}

uint64_t frame_alloc(uint32_t order)
{
    if (is_low(1ull << order))
        return 0;
    return order == 0 ? alloc_single(UINT64_MAX, false) : alloc_block(UINT64_MAX, order);
}

uint64_t frame_alloc_sure(uint32_t order)
{
    return order == 0 ? alloc_single(UINT64_MAX, false) : alloc_block(UINT64_MAX, order);
}

uint16_t *frame_note(uint64_t frame)
{
    const struct range *range = range_of(frame);

    assert(range != NULL);
    return &range_frame(range, frame)->note;
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
static inline bool is_left(uint64_t leave)
{
    while (is_short(leave, 1)) {
        if (!frame_make_room())
            return false;
    }
    return true;
}

bool frame_is_short(void)
{
    return buddy_free <= reserve && free_count() <= reserve;
}

bool frame_is_lacking(uint32_t order)
{
    if (order <= FRAME_ORDER_COSTLY && is_low(1))
        return true;
    return order <= FRAME_ORDER_ROOT && frame_is_short() && privileged != NULL && privileged();
}

void frame_set_refused(void (*function)(void))
{
    refused = function;
}

void frame_refused(uint32_t order)
{
    if (refused != NULL && frame_is_lacking(order))
        refused();
}

uint64_t frame_alloc_zeroed(void)
{
    uint64_t frame = is_left(objects_leave) ? alloc_single(UINT64_MAX, true) : 0;

    if (__builtin_expect(frame == 0, 0))
        frame_refused(0);
    return frame;
}

bool frame_is_ample(void)
{
    return buddy_free > 4 * reserve;
}

uint64_t frame_alloc_page(bool zeroed)
{
    return is_left(reserve) ? alloc_page(UINT64_MAX, zeroed) : 0;
}

uint64_t frame_alloc_page_on(uint64_t set, bool zeroed)
{
    if ((buddy_nodes & ~set) == 0)
        return frame_alloc_page(zeroed);
    return (buddy_nodes & set) != 0 && is_left(reserve) ? alloc_page(set, zeroed) : 0;
}

/* Makes the block FRAME, or 0, single frames with a reference each. */
static uint64_t made_single(uint64_t frame, uint32_t order)
{
    struct frame *single;

    if (frame == 0)
        return 0;
    single = range_frame(range_of(frame), frame);
    for (uint64_t i = 0; i < 1ull << order; i++)
        single[i] = (struct frame){.state = FRAME_USED, .spaces = 1};
    return frame;
}

uint64_t frame_alloc_pages(uint32_t order)
{
    return made_single(free_count() > reserve + (1ull << order) ? frame_alloc(order) : 0, order);
}

uint64_t frame_alloc_run(uint64_t set, uint32_t most, uint32_t *count)
{
    uint32_t order = 0;
    uint64_t frame = 0;

    while (1u << order < most)
        order++;
    if ((buddy_nodes & set) == 0)
        return 0;
    for (; order > 0; order--) {
        if (free_count() > reserve + (1ull << order))
            frame = made_single(alloc_block(set, order), order);
        if (frame != 0)
            break;
    }
    if (frame == 0) {
        *count = 1;
        return made_single(frame_alloc_page_on(set, false), 0);
    }
    *count = 1u << order < most ? 1u << order : most;
    if (1u << order > most)
        frame_release_run(frame + most * PAGE_SIZE, (1u << order) - most);
    return frame;
}

uint64_t frame_alloc_table(void)
{
    return refuse(__builtin_return_address(0)) ? 0 : frame_alloc_zeroed();
}

/* The range of FRAME, which must be a block of ORDER without references. */
static struct range *range_to_free(uint64_t frame, uint32_t order)
{
    struct range *range = range_of(frame);
    const struct frame *block;

    if (range == NULL || (frame & (PAGE_SIZE - 1)) != 0)
        panic("mm: frame %lx freed, which is not ours", (unsigned long)frame);
    block = range_frame(range, frame);
    if (block->state != FRAME_USED || block->order != order)
        panic("mm: frame %lx freed twice or with another order", (unsigned long)frame);
    if (block->spaces != 0)
        panic("mm: frame %lx freed while a space has it", (unsigned long)frame);
    return range;
}

void frame_free(uint64_t frame, uint32_t order)
{
    struct range *range = range_to_free(frame, order);

    if (order == 0)
        cache_give(range, frame, false);
    else
        buddy_give(range, frame, order);
}

void frame_free_zeroed(uint64_t frame)
{
    cache_give(range_to_free(frame, 0), frame, true);
}

/* --- references --- */

/* The bookkeeping of a single frame in use, or NULL. RANGE, where FRAME lies, may be NULL. */
static inline bool is_single(const struct frame *frame)
{
    return frame->state == FRAME_USED && frame->order == 0;
}

static inline struct frame *single_of(const struct range *range, uint64_t frame)
{
    struct frame *single = range != NULL ? range_frame(range, frame) : NULL;

    return single != NULL && is_single(single) ? single : NULL;
}

/* The same if FRAME is in the range found last, as most are. A fork and an exit count each page, so this and the two
 * functions below keep the rest out of their way. */
static inline struct frame *single_near(const struct range *last, uint64_t frame)
{
    return frame - last->base < last->size ? single_of(last, frame) : NULL;
}

static __attribute__((noinline)) void share_slowly(uint64_t frame)
{
    struct frame *single = single_of(range_of(frame), frame);

    if (single == NULL)
        panic("mm: frame %lx shared, which is free or not ours", (unsigned long)frame);
    cpu_add(&single->spaces, 1);
}

void frame_share(uint64_t frame)
{
    struct frame *single = single_near(buddy_range_last, frame);

    if (single == NULL)
        share_slowly(frame);
    else
        cpu_add(&single->spaces, 1);
}

/* The range of the PAGES frames from FIRST on, which must be ours. */
static struct range *range_of_run(uint64_t first, uint64_t pages, const char *what)
{
    struct range *range = range_of(first);

    if (range == NULL || first + pages * PAGE_SIZE - range->base > range->size)
        panic("mm: frames %lx %s, which are not ours", (unsigned long)first, what);
    return range;
}

void frame_share_run(uint64_t first, uint64_t pages)
{
    struct frame *single = range_frame(range_of_run(first, pages, "shared"), first);

    for (const struct frame *end = single + pages; single < end; single++) {
        if (!is_single(single))
            panic("mm: one of %lu frames from %lx on shared, which is free", (unsigned long)pages,
                  (unsigned long)first);
        cpu_add(&single->spaces, 1);
    }
}

static __attribute__((noinline)) void release_slowly(uint64_t frame)
{
    struct range *range = range_of(frame);
    struct frame *single = single_of(range, frame);

    if (single == NULL || single->spaces == 0)
        panic("mm: frame %lx released, which no space has", (unsigned long)frame);
    if (cpu_add(&single->spaces, -1u) == 0)
        cache_give(range, frame, false);
}

void frame_release(uint64_t frame)
{
    struct range *last = buddy_range_last;
    struct frame *single = single_near(last, frame);
    uint32_t spaces = single != NULL && !cpu_several ? single->spaces : 0;

    if (spaces == 0) {
        release_slowly(frame);
        return;
    }
    single->spaces = spaces - 1;
    if (spaces == 1)
        cache_give(last, frame, false);
}

#define RUN_LEAST 16u /* frames in a row that are freed as blocks */

/* Frees the COUNT frames of RANGE from FIRST on, which were single frames in use. What is given to a CPU last is taken
 * first, so the lowest is given last: pages that are touched one after another then have consecutive frames again. */
static void free_run(struct range *range, uint64_t first, uint64_t count)
{
    if (count >= RUN_LEAST) {
        buddy_give_run(range, first, count);
        return;
    }
    while (count-- > 0)
        cache_give(range, first + count * PAGE_SIZE, false);
}

void frame_release_run(uint64_t first, uint64_t pages)
{
    struct range *range = range_of_run(first, pages, "released");
    uint64_t free = first, end = first + pages * PAGE_SIZE;
    struct frame *single = range_frame(range, first);

    for (uint64_t frame = first; frame < end; frame += PAGE_SIZE, single++) {
        if (!is_single(single) || single->spaces == 0)
            panic("mm: frame %lx released, which no space has", (unsigned long)frame);
        if (cpu_add(&single->spaces, -1u) == 0)
            continue;
        if (free < frame)
            free_run(range, free, (frame - free) / PAGE_SIZE);
        free = frame + PAGE_SIZE;
    }
    free_run(range, free, (end - free) / PAGE_SIZE);
}

bool frame_runs_add_slowly(struct frame_runs *runs, uint64_t frame)
{
    if (runs->count > 0 && runs->run[runs->count - 1].pages < FRAME_RUN_PAGES) {
        uint64_t *first = &runs->run[runs->count - 1].first, *pages = &runs->run[runs->count - 1].pages;

        if (frame == *first + *pages * PAGE_SIZE || frame + PAGE_SIZE == *first) {
            *first = frame < *first ? frame : *first;
            ++*pages;
            return true;
        }
    }
    if (runs->count == FRAME_RUNS)
        return false;
    runs->run[runs->count].first = frame;
    runs->run[runs->count++].pages = 1;
    return true;
}

void frame_runs_release_all(struct frame_runs *runs)
{
    for (uint32_t i = 0; i < runs->count; i++) {
        if (runs->run[i].pages == 1)
            frame_release(runs->run[i].first);
        else
            frame_release_run(runs->run[i].first, runs->run[i].pages);
    }
    runs->count = 0;
}

uint32_t frame_spaces(uint64_t frame)
{
    const struct frame *single = (frame & (PAGE_SIZE - 1)) == 0 ? single_of(range_of(frame), frame) : NULL;

    return single != NULL ? single->spaces : 0;
}

uint64_t frame_next_shared(uint64_t from, uint32_t *spaces)
{
    uint32_t left = FRAMES_LOOKED;

    for (uint32_t i = 0; i < buddy_range_count; i++) {
        const struct range *range = &buddy_ranges[i];
        uint64_t index = from > range->base ? (from - range->base) / PAGE_SIZE : 0;

        for (; index < range->size / PAGE_SIZE; index++) {
            if (range->frames[index].spaces == 0 && left-- > 0)
                continue;
            *spaces = range->frames[index].spaces;
            return range->base + index * PAGE_SIZE;
        }
    }
    return 0;
}

/* --- what is free --- */

bool frame_is_free(uint64_t frame)
{
    const struct range *range = range_of(frame);

    return range != NULL && (range_frame(range, frame)->state == FRAME_CACHED || buddy_has(range, frame));
}

void frame_lend(void)
{
    if (cpu_several)
        __atomic_fetch_add(&lent, 1, __ATOMIC_RELAXED);
    else
        lent++;
}

void frame_stats(struct frame_stats *out)
{
    *out = (struct frame_stats){.free = free_count(), .total = buddy_total, .lent = lent};
}

void frame_stats_on(uint32_t node, uint64_t *free, uint64_t *total)
{
    buddy_count(node, free, total);
    *free += cache_count(1ull << node);
}
