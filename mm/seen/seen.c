/* What the home knows of accesses, and what it decides. See the header. */
#include "mm/seen/seen.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "mm/mempolicy/mempolicy.h"
#include "mm/page/zero_page.h"
#include "mm/seen/hint.h"
#include "mm/space/entry.h"
#include "msg/call.h"
#include "msg/channel.h"
#include "msg/trace.h"

#define PART_BYTES (SEEN_BLOCK_PAGES * PAGE_SIZE) /* of which reports tell, and the smallest block */
#define PLACES_FIRST 64u
#define PLACES_MOST (1u << 13) /* half of them are used: 256 MiB of memory that other nodes use */
#define NOBODY UINT8_MAX
#define ALL_NODES (UINT8_MAX - 1)
#define WRITTEN 4u /* halved like the counts: after three periods nobody has written it lately */
#define AGES_MOST 15u
#define FRESH_HERE(half_ns) ((half_ns) / 40 * 3) /* less than the shortest period, which is a tenth */

volatile uint32_t seen_policy_now;
volatile uint32_t seen_way_now;
volatile uint64_t seen_half_ns = 1000000000;
volatile uint64_t seen_block_bytes = PART_BYTES;

/* A block that another node than its own has used. */
struct block {
    uint64_t number; /* address / bytes of a block + 1; 0: an unused place */
    uint64_t since;  /* when the record was made, clock_now ns */
    uint32_t age;    /* the period in which USED was halved last */
    uint8_t last;    /* the node that was seen last */
    uint8_t wanted;  /* the node to which it is to move; NOBODY: none; ALL_NODES: it is to be replicated */
    uint8_t written; /* WRITTEN when a write was seen, halved with USED */
    bool replicated; /* and not written since, as far as it was seen */
    uint8_t load;    /* the node in whose load it is; NOBODY: none, it has one user */
    uint8_t weight;  /* in it: pages */
    uint64_t shared; /* since when it has several users, clock_now ns */
    uint16_t used[]; /* of each node */
};

/* A hash table with open addressing. Blocks never leave it but all at once. */
struct seen {
    uint32_t places, count, wanted;
    uint32_t cursor;          /* of seen_next */
    uint64_t bytes;           /* of a block */
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
    return (sizeof(struct block) + nodes() * sizeof(uint16_t) + 7) & ~7ul;
}

static size_t table_size(uint32_t places)
{
    return sizeof(struct seen) + places * block_size();
}

static struct block *block_at(struct seen *seen, uint32_t place)
{
    return (struct block *)(void *)(seen->blocks + place * block_size());
}

/* The block NUMBER, or the unused place where it would be. */
static struct block *find(struct seen *seen, uint64_t number)
{
    uint32_t place = (uint32_t)(number * 0x9e3779b97f4a7c15ull >> 40);
    struct block *block;

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

/* Halves the counts of BLOCK as often as they should have been since. */
static void grow_old(struct block *block, uint32_t age)
{
    uint32_t halvings = age - block->age < AGES_MOST ? age - block->age : AGES_MOST;

    for (uint32_t node = 0; node < nodes(); node++)
        block->used[node] = (uint16_t)(block->used[node] >> halvings);
    block->written = (uint8_t)(block->written >> halvings);
    block->age = age;
}

/* What nodes have used of the block NUMBER; NULL: nothing is known of it. */
static const uint16_t *used_of(struct seen *seen, uint64_t number, uint32_t age)
{
    struct block *block = number != 0 ? find(seen, number) : NULL;

    if (block == NULL || block->number == 0)
        return NULL;
    grow_old(block, age);
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
static struct block *record(struct space *space, uint64_t number, uint64_t bytes, uint32_t age)
{
    struct block *block = space->seen != NULL ? find(space->seen, number) : NULL;

    if (block != NULL && block->number != 0)
        return block;
    if (!make_room(space, bytes))
        return NULL;
    block = find(space->seen, number);
    *block = (struct block){
        .number = number, .since = clock_now(), .age = age, .last = NOBODY, .wanted = NOBODY, .load = NOBODY};
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
static uint32_t choose(struct space *space, const struct seen_policy *policy, struct block *block, uint32_t here,
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
                             .settled = block->load != NOBODY && clock_now() - block->shared >= seen_half_ns,
                             .before = used_of(seen, block->number - 1, block->age),
                             .after = used_of(seen, block->number + 1, block->age),
                             .distance = instance.plan.distance};
    uint32_t to;

    view.memory &= may_follow_locked(space, view.block * seen->bytes, (view.block + 1) * seen->bytes);
    if (view.memory == 0)
        return SEEN_STAYS;
    to = policy->choose(&view);
    return to == SEEN_REPLICATE || (to < view.nodes && (view.memory >> to & 1) != 0) ? to : SEEN_STAYS;
}

/* BLOCK, of which PAGES have just been used, is on NODE, or to come there: counts it in the node's load if it has
 * several users. */
static void load_locked(struct seen *seen, struct block *block, uint32_t node, uint32_t pages)
{
    bool shared = kernel_set_count(seen_users(block->used, nodes())) > 1;

    if (block->load != NOBODY)
        seen->load[block->load] -= block->weight;
    else if (shared)
        block->shared = clock_now();
    block->load = shared ? (uint8_t)node : NOBODY;
    block->weight = (uint8_t)pages;
    if (shared)
        seen->load[node] += pages;
}

/* NODE has used PAGES pages of each 64 KiB of the block at START of BYTES, and has WRITTEN one. */
static void note_locked(struct space *space, uint64_t start, uint64_t bytes, uint32_t node, uint32_t pages,
                        bool written, uint32_t age)
{
    const struct seen_policy *policy = seen_policy_locked(space);
    uint32_t here = node_of_locked(space, start, bytes), to;
    uint64_t number = start / bytes + 1;
    struct block *block;

    if (policy->choose == NULL || here == nodes())
        return;
    if (here == node && !is_known(space, number))
        return; /* memory that its own node alone uses is not worth a word */
    if (here == instance.plan.kernels[instance.kernel].node && !is_known(space, number) && seen_soon != NULL)
        seen_soon(); /* does this kernel use it, too? */
    block = record(space, number, bytes, age);
    if (block == NULL)
        return;
    grow_old(block, age);
    block->used[node] = (uint16_t)(block->used[node] + pages); /* at most 15 a look, halved each period */
    if (written) {
        block->written = WRITTEN;
        block->replicated = false;
    }
    load_locked(space->seen, block, here, pages); /* as if it were not to move yet: that is decided anew */
    to = choose(space, policy, block, here, node, pages);
    load_locked(space->seen, block, to < nodes() ? to : here, pages);
    block->last = (uint8_t)node;
    space->seen->wanted += (to != SEEN_STAYS) - (block->wanted != NOBODY);
    block->wanted = to == SEEN_REPLICATE ? ALL_NODES : to != SEEN_STAYS ? (uint8_t)to : NOBODY;
    space->stats.seen_decided += to != SEEN_STAYS;
    if (to != SEEN_STAYS && seen_soon != NULL)
        seen_soon(); /* moves are made after a look */
    if (to != SEEN_STAYS)
        trace_note("wants memory on this node", (uint32_t)space->id, instance.kernel, start / PART_BYTES, to);
}

static void note(struct space *space, const struct msg_space_seen *seen)
{
    uint32_t age = (uint32_t)(clock_now() / seen_half_ns);
    uint64_t bytes = seen_block_bytes;
    uint32_t parts = (uint32_t)(bytes / PART_BYTES);

    spin_lock(&space->lock);
    if (space->seen != NULL && space->seen->bytes != bytes) { /* it has changed: all is forgotten */
        destroy(space->seen);
        space->seen = NULL;
    }
    for (uint32_t i = 0; i < SEEN_BLOCKS; i += parts) {
        uint32_t pages = 0, parts_set = (uint32_t)(((1ull << parts) - 1) << i);

        for (uint32_t part = i; part < i + parts; part++)
            pages += seen_pages(seen, part);
        if (pages != 0)
            note_locked(space, seen->start + i * PART_BYTES, bytes, seen->node, (pages + parts - 1) / parts,
                        (seen->written & parts_set) != 0, age);
    }
    spin_unlock(&space->lock);
}

void seen_mapped_locked(const struct space *space, uint64_t frame)
{
    if (seen_soon != NULL && seen_policy_locked(space)->choose != NULL &&
        policy_node_of(frame) != instance.plan.kernels[instance.kernel].node)
        seen_soon();
}

bool seen_next(struct space *space, uint64_t *start, uint64_t *bytes, uint32_t *node)
{
    bool found = false;

    spin_lock(&space->lock);
    for (uint32_t left = space->seen != NULL && space->seen->wanted != 0 ? space->seen->places : 0; left > 0 && !found;
         left--) {
        struct block *block = block_at(space->seen, space->seen->cursor);

        space->seen->cursor = (space->seen->cursor + 1) & (space->seen->places - 1);
        if (block->number == 0 || block->wanted == NOBODY)
            continue;
        *start = (block->number - 1) * space->seen->bytes;
        *bytes = space->seen->bytes < USER_END - *start ? space->seen->bytes : USER_END - *start;
        *node = block->wanted == ALL_NODES ? SEEN_REPLICATE : block->wanted;
        block->replicated = block->wanted == ALL_NODES;
        block->wanted = NOBODY;
        space->seen->wanted--;
        found = true;
    }
    spin_unlock(&space->lock);
    return found;
}

void seen_not_replicated(struct space *space, uint64_t start)
{
    struct block *block;

    spin_lock(&space->lock);
    block = space->seen != NULL ? find(space->seen, start / space->seen->bytes + 1) : NULL;
    if (block != NULL && block->number != 0)
        block->replicated = false;
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

    if (error == 0)
        note(space, seen);
    if (space != NULL)
        space_put(space);
    if (error != 0)
        msg_reply_error(&m->ticket, error);
    else
        msg_reply(&m->ticket, NULL, 0);
}

void seen_report(uint32_t home, const struct msg_space_seen *seen)
{
    struct space *space;

    if (home != instance.kernel) { /* an error costs one observation */
        msg_call(home, MSG_SPACE_SEEN, seen, sizeof(*seen), NULL, 0, "accesses that were seen", seen->start);
        return;
    }
    space = space_get(seen->space);
    if (space == NULL)
        return;
    if (space->home == instance.kernel)
        note(space, seen);
    space_put(space);
}

void seen_init(void)
{
    msg_register(MSG_SPACE_SEEN, handle_seen, sizeof(struct msg_space_seen), 0);
}
