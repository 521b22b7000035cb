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

#define BLOCK_BYTES (SEEN_BLOCK_PAGES * PAGE_SIZE)
#define PLACES_FIRST 64u
#define PLACES_MOST (1u << 13) /* half of them are used: 256 MiB of memory that other nodes use */
#define NOBODY UINT8_MAX
#define ALL_NODES (UINT8_MAX - 1)
#define WRITTEN 4u /* halved like the counts: after three periods nobody has written it lately */
#define AGES_MOST 15u

volatile uint32_t seen_policy_now;
volatile uint32_t seen_way_now;
volatile uint64_t seen_half_ns = 1000000000;

/* A block that another node than its own has used. */
struct block {
    uint64_t number; /* address / BLOCK_BYTES + 1; 0: an unused place */
    uint32_t age;    /* the period in which USED was halved last */
    uint8_t last;    /* the node that was seen last */
    uint8_t wanted;  /* the node to which it is to move; NOBODY: none; ALL_NODES: it is to be replicated */
    uint8_t written; /* WRITTEN when a write was seen, halved with USED */
    bool replicated; /* and not written since, as far as it was seen */
    uint16_t used[]; /* of each node */
};

/* A hash table with open addressing. Blocks never leave it but all at once. */
struct seen {
    uint32_t places, count, wanted;
    uint32_t cursor; /* of seen_next */
    uint8_t blocks[];
};

void (*seen_begin)(void);

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

static struct seen *create(uint32_t places)
{
    struct seen *seen = heap_alloc(table_size(places)); /* zeros */

    if (seen != NULL) {
        seen->places = places;
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
static bool make_room(struct space *space)
{
    struct seen *old = space->seen;
    uint32_t places = old == NULL ? PLACES_FIRST : old->places;
    struct seen *more;

    if (old != NULL && old->count < old->places / 2)
        return true;
    if (old != NULL && places == PLACES_MOST) {
        memset(old->blocks, 0, places * block_size());
        old->count = old->wanted = 0;
        return true;
    }
    more = create(old == NULL ? places : 2 * places);
    if (more == NULL)
        return false;
    for (uint32_t i = 0; old != NULL && i < places; i++) {
        if (block_at(old, i)->number != 0)
            memcpy(find(more, block_at(old, i)->number), block_at(old, i), block_size());
    }
    if (old != NULL) {
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

/* The node of the first page of the block at START that has a frame; nodes() if none has. */
static uint32_t node_of_locked(const struct space *space, uint64_t start)
{
    const uint64_t *entry = paging_look(&space->tables, start);

    for (uint32_t i = 0; entry != NULL && i < SEEN_BLOCK_PAGES; i++) {
        if (entry[i] != 0 && (entry[i] & PAGING_SOFT_PENDING_FREE) == 0 && !zero_page_is(entry[i]))
            return policy_node_of(entry[i] & PAGING_FRAME);
    }
    return nodes();
}

/* The record of the block NUMBER, which is made if need be. NULL: no memory. */
static struct block *record(struct space *space, uint64_t number, uint32_t age)
{
    struct block *block = space->seen != NULL ? find(space->seen, number) : NULL;

    if (block != NULL && block->number != 0)
        return block;
    if (!make_room(space))
        return NULL;
    block = find(space->seen, number);
    *block = (struct block){.number = number, .age = age, .last = NOBODY, .wanted = NOBODY};
    space->seen->count++;
    return block;
}

static bool is_known(struct space *space, uint64_t number)
{
    return space->seen != NULL && find(space->seen, number)->number != 0;
}

/* The nodes to which the block at START may follow its users. The policy of an area forbids it, as in Linux, unless it
 * has BALANCING. */
static uint64_t may_follow_locked(struct space *space, uint64_t start)
{
    const struct area *area = area_next(&space->areas, start);
    uint32_t number = area != NULL && area->start < start + BLOCK_BYTES ? area->prot >> AREA_POLICY_SHIFT : 0;
    const struct policy *policy = number != 0 ? policy_known_locked(space, number) : NULL;

    if (number == 0)
        return UINT64_MAX;
    return policy != NULL && (policy->flags & POLICY_BALANCING) != 0 ? policy->nodes : 0;
}

/* Where POLICY wants BLOCK, which is HERE and which NODE has just used. */
static uint32_t choose(struct space *space, const struct seen_policy *policy, struct block *block, uint32_t here,
                       uint32_t node)
{
    struct seen *seen = space->seen;
    struct seen_view view = {.nodes = nodes(),
                             .memory = policy_machine_nodes(),
                             .block = block->number - 1,
                             .here = here,
                             .home = instance.plan.kernels[instance.kernel].node,
                             .now = node,
                             .last = block->last != NOBODY ? block->last : SEEN_STAYS,
                             .written = block->written,
                             .used = block->used,
                             .before = used_of(seen, block->number - 1, block->age),
                             .after = used_of(seen, block->number + 1, block->age),
                             .distance = instance.plan.distance};
    uint32_t to;

    view.memory &= may_follow_locked(space, view.block * BLOCK_BYTES);
    if (view.memory == 0)
        return SEEN_STAYS;
    to = policy->choose(&view);
    if (to == SEEN_REPLICATE)
        return block->replicated ? SEEN_STAYS : to;
    return to < view.nodes && (view.memory >> to & 1) != 0 ? to : SEEN_STAYS;
}

/* NODE has used PAGES pages of the block at START, and has WRITTEN one. */
static void note_locked(struct space *space, uint64_t start, uint32_t node, uint32_t pages, bool written, uint32_t age)
{
    const struct seen_policy *policy = seen_policy_locked(space);
    uint32_t here = node_of_locked(space, start), to;
    uint64_t number = start / BLOCK_BYTES + 1;
    struct block *block;

    if (policy->choose == NULL || here == nodes())
        return;
    if (here == node && !is_known(space, number))
        return; /* memory that its own node alone uses is not worth a word */
    block = record(space, number, age);
    if (block == NULL)
        return;
    grow_old(block, age);
    block->used[node] = (uint16_t)(block->used[node] + pages); /* at most 15 a look, halved each period */
    if (written) {
        block->written = WRITTEN;
        block->replicated = false;
    }
    to = choose(space, policy, block, here, node);
    block->last = (uint8_t)node;
    space->seen->wanted += (to != SEEN_STAYS) - (block->wanted != NOBODY);
    block->wanted = to == SEEN_REPLICATE ? ALL_NODES : to != SEEN_STAYS ? (uint8_t)to : NOBODY;
    space->stats.seen_decided += to != SEEN_STAYS;
    if (to != SEEN_STAYS)
        trace_note("wants memory on this node", (uint32_t)space->id, instance.kernel, number - 1, to);
}

static void note(struct space *space, const struct msg_space_seen *seen)
{
    uint32_t age = (uint32_t)(clock_now() / seen_half_ns);

    spin_lock(&space->lock);
    for (uint32_t i = 0; i < SEEN_BLOCKS; i++) {
        uint32_t pages = seen_pages(seen, i);

        if (pages != 0)
            note_locked(space, seen->start + i * BLOCK_BYTES, seen->node, pages, (seen->written >> i & 1) != 0, age);
    }
    spin_unlock(&space->lock);
}

bool seen_next(struct space *space, uint64_t *start, uint32_t *node)
{
    bool found = false;

    spin_lock(&space->lock);
    for (uint32_t left = space->seen != NULL && space->seen->wanted != 0 ? space->seen->places : 0; left > 0 && !found;
         left--) {
        struct block *block = block_at(space->seen, space->seen->cursor);

        space->seen->cursor = (space->seen->cursor + 1) & (space->seen->places - 1);
        if (block->number == 0 || block->wanted == NOBODY)
            continue;
        *start = (block->number - 1) * BLOCK_BYTES;
        *node = block->wanted == ALL_NODES ? SEEN_REPLICATE : block->wanted;
        block->replicated = block->wanted == ALL_NODES;
        block->wanted = NOBODY;
        space->seen->wanted--;
        found = true;
    }
    spin_unlock(&space->lock);
    return found;
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
