/* What the home knows of accesses, and what it decides. See the header. */
#include "mm/seen/seen.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "mm/mempolicy/mempolicy.h"
#include "mm/page/zero_page.h"
#include "mm/seen/block.h"
#include "mm/seen/hint.h"
#include "mm/space/entry.h"
#include "msg/call.h"
#include "msg/channel.h"
#include "msg/trace.h"

#define PART_BYTES (SEEN_BLOCK_PAGES * PAGE_SIZE) /* the usual block */
#define PLACES_FIRST 64u
#define PLACES_MOST (1u << 13) /* half of them are used: 256 MiB of memory that other nodes use in the usual blocks */
#define NOBODY SEEN_NOBODY
#define ALL_NODES (UINT8_MAX - 1)
#define AGED_AT_ONCE 4u                          /* places whose blocks grow old at once */
#define AGED_MOST 32u                            /* times with each report */
#define HELD_MOST 64u                            /* blocks of a report, times nodes, for which the lock is held */
#define FRESH_HERE(half_ns) ((half_ns) / 40 * 3) /* less than the shortest period, which is a tenth */

volatile uint32_t seen_policy_now;
volatile uint32_t seen_way_now;
volatile uint64_t seen_half_ns = 1000000000;
volatile uint64_t seen_block_bytes = PART_BYTES;

/* A hash table with open addressing. Blocks never leave it but all at once. */
struct seen {
    uint32_t places, count, wanted;
    uint32_t cursor;          /* of seen_next */
    uint32_t aged;            /* of grow_old: the next place */
    uint32_t grown_age;       /* of grow_old: the period in which blocks grow old */
    uint32_t grown;           /* of grow_old: places that it has gone through in that period */
    uint64_t bytes;           /* of a block */
    uint64_t forgotten;       /* when it was full and all was forgotten, clock_now ns; 0: never */
    uint32_t load[NODES_MAX]; /* of each node: pages of blocks with several users */
    uint8_t blocks[];
};

void (*seen_begin)(void);
void (*seen_soon)(void);

const struct seen_policy *seen_policy_locked(const struct space *space)
{
    uint32_t own = seen_choice_policy(space->numa);

    return &seen_policies[own != 0 ? own - 1 : seen_policy_now];
}

uint32_t seen_way_locked(const struct space *space)
{
    uint32_t own = seen_choice_way(space->numa);

    return own != 0 ? own - 1 : seen_way_now;
}

void seen_choose_locked(struct space *space, uint32_t numa)
{
    if (space->numa == numa)
        return;
    space->numa = numa;
    if (seen_policy_locked(space)->choose != NULL && seen_begin != NULL)
        seen_begin();
}

static uint32_t nodes(void)
{
    return instance.plan.node_count;
}

static size_t block_size(void)
{
    return (sizeof(struct seen_block) + nodes() * sizeof(uint16_t) + 7) & ~7ul;
}

static size_t table_size(uint32_t places)
{
    return sizeof(struct seen) + places * block_size();
}

static struct seen_block *block_at(struct seen *seen, uint32_t place)
{
    return (struct seen_block *)(void *)(seen->blocks + place * block_size());
}

/* The block NUMBER, or the unused place where it would be. */
static struct seen_block *find(struct seen *seen, uint64_t number)
{
    uint32_t place = (uint32_t)(number * 0x9e3779b97f4a7c15ull >> 40);
    struct seen_block *block;

    do {
        place = (place + 1) & (seen->places - 1);
        block = block_at(seen, place);
    } while (block->number != 0 && block->number != number);
    return block;
}

static struct seen_tables tables; /* [a] */

void seen_count(struct seen_tables *out)
{
    out->small = __atomic_load_n(&tables.small, __ATOMIC_RELAXED);
    out->large = __atomic_load_n(&tables.large, __ATOMIC_RELAXED);
}

static uint64_t *count_of(uint32_t places)
{
    return table_size(places) > PAGE_SIZE / 2 ? &tables.large : &tables.small;
}

static struct seen *create(uint32_t places, uint64_t bytes)
{
    struct seen *seen = heap_alloc(table_size(places)); /* zeros */

    if (seen != NULL) {
        seen->places = places;
        seen->bytes = bytes;
        __atomic_fetch_add(count_of(places), 1, __ATOMIC_RELAXED);
    }
    return seen;
}

static void destroy(struct seen *seen)
{
    __atomic_fetch_sub(count_of(seen->places), 1, __ATOMIC_RELAXED);
    heap_free(seen, table_size(seen->places));
}

/* Makes room for one more block. When the table may not grow any more, everything is forgotten. False: no memory. */
static bool make_room(struct space *space, uint64_t bytes)
{
    struct seen *old = space->seen;
    uint32_t places = old == NULL ? PLACES_FIRST : old->places;
    struct seen *more;

    if (old != NULL && old->count < old->places / 2)
        return true;
    if (old != NULL && places == PLACES_MOST) {
        memset(old->blocks, 0, places * block_size());
        memset(old->load, 0, sizeof(old->load));
        old->count = old->wanted = 0;
        old->forgotten = clock_now();
        return true;
    }
    more = create(old == NULL ? places : 2 * places, bytes);
    if (more == NULL)
        return false;
    for (uint32_t i = 0; old != NULL && i < places; i++) {
        if (block_at(old, i)->number != 0)
            memcpy(find(more, block_at(old, i)->number), block_at(old, i), block_size());
    }
    if (old != NULL) {
        memcpy(more->load, old->load, sizeof(more->load));
        more->count = old->count;
        more->wanted = old->wanted;
        destroy(old);
    }
    space->seen = more;
    return true;
}

static void age_block(struct seen *seen, struct seen_block *block, uint32_t age)
{
    seen_block_age(block, nodes(), seen->load, age);
}

/* Some of the blocks grow old, so that those that nobody reports any more leave the loads of nodes; each once in a
 * period. */
static void grow_old(struct seen *seen, uint32_t age)
{
    if (seen->grown_age != age) {
        seen->grown_age = age;
        seen->grown = 0;
    }
    for (uint32_t i = 0; i < AGED_AT_ONCE && seen->grown < seen->places; i++, seen->grown++) {
        struct seen_block *block = block_at(seen, seen->aged);

        seen->aged = (seen->aged + 1) & (seen->places - 1);
        if (block->number != 0)
            age_block(seen, block, age);
    }
}

/* What nodes have used of the block NUMBER; NULL: nothing is known of it. */
static const uint16_t *used_of(struct seen *seen, uint64_t number, uint32_t age)
{
    struct seen_block *block = number != 0 ? find(seen, number) : NULL;

    if (block == NULL || block->number == 0)
        return NULL;
    age_block(seen, block, age);
    return block->used;
}

/* The node of the first page of the block at START of BYTES that has a frame; nodes() if none has. */
static uint32_t node_of_locked(const struct space *space, uint64_t start, uint64_t bytes)
{
    const uint64_t *entry = paging_look(&space->tables, start);

    for (uint32_t i = 0; entry != NULL && i < bytes / PAGE_SIZE; i++) {
        if (entry[i] != 0 && (entry[i] & PAGING_SOFT_PENDING_FREE) == 0 && !zero_page_is(entry[i]))
            return policy_node_of(entry[i] & PAGING_FRAME);
    }
    return nodes();
}

/* The record of the block NUMBER, of BYTES, which is made if need be. NULL: no memory. */
static struct seen_block *record(struct space *space, uint64_t number, uint64_t bytes, uint32_t age)
{
    struct seen_block *block = space->seen != NULL ? find(space->seen, number) : NULL;

    if (block != NULL && block->number != 0)
        return block;
    if (!make_room(space, bytes))
        return NULL;
    block = find(space->seen, number);
    *block = (struct seen_block){.number = number,
                                 .since = clock_now(),
                                 .age = age,
                                 .told = age,
                                 .last = NOBODY,
                                 .wanted = NOBODY,
                                 .tried = NOBODY,
                                 .load = NOBODY};
    space->seen->count++;
    return block;
}

static bool is_known(struct space *space, uint64_t number)
{
    return space->seen != NULL && find(space->seen, number)->number != 0;
}

/* The nodes to which the areas of [START, END) may follow their users. The policy of an area forbids it, as in Linux,
 * unless it has BALANCING. */
static uint64_t may_follow_locked(struct space *space, uint64_t start, uint64_t end)
{
    uint64_t nodes_left = UINT64_MAX;

    for (const struct area *area = area_next(&space->areas, start); area != NULL && area->start < end;
         area = area_next(&space->areas, area->end)) {
        uint32_t number = area->prot >> AREA_POLICY_SHIFT;
        const struct policy *policy = number != 0 ? policy_known_locked(space, number) : NULL;

        if (number != 0)
            nodes_left &= policy != NULL && (policy->flags & POLICY_BALANCING) != 0 ? policy->nodes : 0;
    }
    return nodes_left;
}

uint64_t seen_may_follow(struct space *space, uint64_t page)
{
    uint64_t nodes;

    spin_lock(&space->lock);
    nodes = may_follow_locked(space, page, page + PAGE_SIZE);
    spin_unlock(&space->lock);
    return nodes;
}

/* Where POLICY wants BLOCK, which is HERE and of which NODE has just used PAGES. */
static uint32_t choose(struct space *space, const struct seen_policy *policy, struct seen_block *block, uint32_t here,
                       uint32_t node, uint32_t pages)
{
    struct seen *seen = space->seen;
    uint32_t own = instance.plan.kernels[instance.kernel].node;
    struct seen_view view = {.nodes = nodes(),
                             .memory = policy_machine_nodes(),
                             .block = block->number - 1,
                             .here = here,
                             .home = own,
                             .now = node,
                             .pages = pages,
                             .fresh = clock_now() - block->since <
                                      (here == own ? FRESH_HERE(seen_half_ns) : seen_half_ns),
                             .last = block->last != NOBODY ? block->last : SEEN_STAYS,
                             .written = block->written,
                             .replicated = block->replicated,
                             .used = block->used,
                             .load = seen->load,
                             .weight = block->weight,
                             .settled = block->load != NOBODY && clock_now() - block->shared >= seen_half_ns,
                             .before = policy->beside ? used_of(seen, block->number - 1, block->age) : NULL,
                             .after = policy->beside ? used_of(seen, block->number + 1, block->age) : NULL,
                             .distance = instance.plan.distance};
    uint32_t to;

    view.memory &= may_follow_locked(space, view.block * seen->bytes, (view.block + 1) * seen->bytes);
    if (view.memory == 0)
        return SEEN_STAYS;
    to = policy->choose(&view);
    return to == SEEN_REPLICATE || (to < view.nodes && (view.memory >> to & 1) != 0) ? to : SEEN_STAYS;
}

/* Whether where BLOCK is to be may soon be decided: it has not been known, or had several users, for as long as counts
 * take to become half. If all was forgotten in that time, it may be forgotten again before. */
static bool is_undecided(const struct seen *seen, const struct seen_block *block)
{
    uint64_t now = clock_now();

    if (seen->forgotten != 0 && now - seen->forgotten < seen_half_ns)
        return false;
    return now - block->since < seen_half_ns || (block->load != NOBODY && now - block->shared < seen_half_ns);
}

/* SEEN says that its node has used PAGES sixteenths of the block at START of BYTES, and has WRITTEN one.
 * Returns whether it is to look again soon. */
static bool note_locked(struct space *space, const struct msg_space_seen *seen, uint64_t start, uint64_t bytes,
                        uint32_t pages, bool written, uint32_t age)
{
    const struct seen_policy *policy = seen_policy_locked(space);
    uint32_t here = node_of_locked(space, start, bytes), node = seen->node, to;
    uint64_t number = start / bytes + 1;
    struct seen_block *block;

    if (policy->choose == NULL || here == nodes())
        return false;
    if (here == node && !is_known(space, number))
        return false; /* memory that its own node alone uses is not worth a word */
    if (here == instance.plan.kernels[instance.kernel].node && !is_known(space, number) && seen_soon != NULL)
        seen_soon(); /* does this kernel use it, too? */
    block = record(space, number, bytes, age);
    if (block == NULL)
        return false;
    age_block(space->seen, block, age);
    seen_block_see(block, space->seen->load, node, pages, written, age);
    /* as if it were not to move yet: that is decided anew */
    seen_block_place(block, nodes(), space->seen->load, here, clock_now());
    to = choose(space, policy, block, here, node, pages);
    if (seen_block_stuck(block, here, to, age))
        to = SEEN_STAYS;
    seen_block_place(block, nodes(), space->seen->load, to < nodes() ? to : here, clock_now());
    block->last = (uint8_t)node;
    space->seen->wanted += (to != SEEN_STAYS) - (block->wanted != NOBODY);
    block->wanted = to == SEEN_REPLICATE ? ALL_NODES : to != SEEN_STAYS ? (uint8_t)to : NOBODY;
    space->stats.seen_decided += to != SEEN_STAYS;
    if (to != SEEN_STAYS && seen_soon != NULL)
        seen_soon(); /* moves are made after a look */
    if (to != SEEN_STAYS)
        trace_note("wants memory on this node", (uint32_t)space->id, instance.kernel, start / PART_BYTES, to);
    return to != SEEN_STAYS || is_undecided(space->seen, block);
}

/* Notes some of the blocks of BYTES that SEEN reports, from page *PAGE of it on, and sets *PAGE to the first that is
 * left. Returns whether the kernel that reports them is to look again soon. */
static bool note_some(struct space *space, const struct msg_space_seen *seen, uint64_t bytes, uint32_t *page)
{
    uint32_t count = (uint32_t)(bytes / PAGE_SIZE), age, blocks = LEAF_ENTRIES / count;
    bool again = false;

    spin_lock(&space->lock);
    age = (uint32_t)(clock_now() / seen_half_ns);
    if (space->seen != NULL && space->seen->bytes != bytes) { /* it has changed: all is forgotten */
        destroy(space->seen);
        space->seen = NULL;
    }
    for (uint32_t held = 0; *page < LEAF_ENTRIES && held < HELD_MOST; *page += count) {
        uint32_t pages = seen_pages(seen, *page, count), first = *page / SEEN_BLOCK_PAGES;
        uint32_t parts = count > SEEN_BLOCK_PAGES ? count / SEEN_BLOCK_PAGES : 1;

        if (pages == 0)
            continue;
        held += nodes();
        again |= note_locked(space, seen, seen->start + *page * PAGE_SIZE, bytes, pages,
                             (seen->written >> first & ((1ull << parts) - 1)) != 0, age);
        if (space->seen != NULL && (blocks <= AGED_MOST || *page / count % (blocks / AGED_MOST) == 0))
            grow_old(space->seen, age);
    }
    spin_unlock(&space->lock);
    return again;
}

/* Returns whether the kernel that reports SEEN is to look again soon. Threads here that fault wait only while some of
 * its blocks are noted. */
static bool note(struct space *space, const struct msg_space_seen *seen)
{
    uint64_t bytes = seen_block_bytes;
    uint32_t page = 0;
    bool again = false;

    while (page < LEAF_ENTRIES)
        again |= note_some(space, seen, bytes, &page);
    return again;
}

void seen_mapped_locked(const struct space *space, uint64_t frame)
{
    if (seen_soon != NULL && seen_policy_locked(space)->choose != NULL &&
        policy_node_of(frame) != instance.plan.kernels[instance.kernel].node)
        seen_soon();
}

/* Takes BLOCK, which is wanted, from those that are to move. */
static void take(struct seen *seen, struct seen_block *block)
{
    block->replicated = block->wanted == ALL_NODES;
    block->wanted = NOBODY;
    seen->wanted--;
}

/* The 2 MiB in which the block NUMBER is; reports are of these. */
static uint64_t leaf_of(const struct seen *seen, uint64_t number)
{
    return (number - 1) * seen->bytes / LEAF_SIZE;
}

/* Takes the blocks beside NUMBER, in steps of STEP, that are to move to NODE, too, and are in the same 2 MiB. Returns
 * how many. */
static uint64_t take_beside(struct seen *seen, uint64_t number, uint64_t step, uint8_t node)
{
    uint64_t leaf = leaf_of(seen, number), count = 0;

    for (number += step; node != ALL_NODES && number != 0 && leaf_of(seen, number) == leaf; number += step, count++) {
        struct seen_block *block = find(seen, number);

        if (block->number == 0 || block->wanted != node)
            break;
        take(seen, block);
    }
    return count;
}

bool seen_next(struct space *space, uint64_t *start, uint64_t *bytes, uint32_t *node)
{
    bool found = false;

    spin_lock(&space->lock);
    for (uint32_t left = space->seen != NULL && space->seen->wanted != 0 ? space->seen->places : 0; left > 0 && !found;
         left--) {
        struct seen *seen = space->seen;
        struct seen_block *block = block_at(seen, seen->cursor);
        uint8_t wanted = block->wanted;
        uint64_t before, after;

        seen->cursor = (seen->cursor + 1) & (seen->places - 1);
        if (block->number == 0 || wanted == NOBODY)
            continue;
        take(seen, block);
        before = take_beside(seen, block->number, UINT64_MAX, wanted);
        after = take_beside(seen, block->number, 1, wanted);
        *start = (block->number - 1 - before) * seen->bytes;
        *bytes = (before + 1 + after) * seen->bytes;
        if (*bytes > USER_END - *start)
            *bytes = USER_END - *start;
        *node = wanted == ALL_NODES ? SEEN_REPLICATE : wanted;
        found = true;
    }
    spin_unlock(&space->lock);
    return found;
}

void seen_not_moved(struct space *space, uint64_t page, uint32_t node)
{
    struct seen_block *block;

    spin_lock(&space->lock);
    block = space->seen != NULL ? find(space->seen, page / space->seen->bytes + 1) : NULL;
    if (block != NULL && block->number != 0) {
        block->tried = (uint8_t)node;
        block->tried_age = block->age;
    }
    spin_unlock(&space->lock);
}

void seen_not_replicated(struct space *space, uint64_t start)
{
    struct seen_block *block;

    spin_lock(&space->lock);
    block = space->seen != NULL ? find(space->seen, start / space->seen->bytes + 1) : NULL;
    if (block != NULL && block->number != 0) {
        block->replicated = false;
        block->written = SEEN_WRITTEN; /* it is not tried again as long as if somebody had written to it */
    }
    spin_unlock(&space->lock);
}

void seen_end(struct space *space)
{
    hint_end(space);
    if (space->seen != NULL)
        destroy(space->seen);
    space->seen = NULL;
}

static bool is_valid(const struct space *space, const struct msg_space_seen *seen)
{
    return space->home == instance.kernel && (seen->start & (LEAF_SIZE - 1)) == 0 && seen->start < USER_END &&
           seen->node < nodes();
}

static void handle_seen(const struct msg *m)
{
    const struct msg_space_seen *seen = m->data;
    struct space *space = space_get(seen->space);
    int error = space == NULL ? -ESRCH : is_valid(space, seen) ? 0 : -EPROTO;
    struct msg_seen_answer answer = {0};

    if (error == 0)
        answer.soon = note(space, seen);
    if (space != NULL)
        space_put(space);
    if (error != 0)
        msg_reply_error(&m->ticket, error);
    else
        msg_reply(&m->ticket, &answer, sizeof(answer));
}

bool seen_report(uint32_t home, const struct msg_space_seen *seen)
{
    struct msg_seen_answer answer = {0};
    struct space *space;

    if (home != instance.kernel) { /* an error costs one observation */
        return msg_call(home, MSG_SPACE_SEEN, seen, sizeof(*seen), &answer, sizeof(answer), "accesses that were seen",
                        seen->start) == sizeof(answer) &&
               answer.soon != 0;
    }
    space = space_get(seen->space);
    if (space == NULL)
        return false;
    if (space->home == instance.kernel)
        answer.soon = note(space, seen);
    space_put(space);
    return answer.soon != 0;
}

void seen_init(void)
{
    msg_register(MSG_SPACE_SEEN, handle_seen, sizeof(struct msg_space_seen), sizeof(struct msg_seen_answer));
}
