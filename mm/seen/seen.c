/* What the home knows of accesses, and what it decides. See the header. */
#include "mm/seen/seen.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "mm/mempolicy/mempolicy.h"
#include "mm/page/zero_page.h"
#include "mm/seen/draw_home.h"
#include "mm/seen/gather.h"
#include "mm/seen/group.h"
#include "mm/seen/hint.h"
#include "mm/seen/table.h"
#include "mm/space/entry.h"
#include "msg/channel.h"
#include "msg/request/call.h"
#include "msg/trace.h"

#define PART_BYTES (SEEN_BLOCK_PAGES * PAGE_SIZE) /* the usual block */
#define NOBODY SEEN_NOBODY
#define ALL_NODES (UINT8_MAX - 1)
#define AGED_MOST 32u                            /* times with each report */
#define HELD_MOST 64u                            /* blocks of a report, times nodes, for which the lock is held */
#define FRESH_HERE(half_ns) ((half_ns) / 40 * 3) /* less than the shortest period, which is a tenth */

volatile uint32_t seen_policy_now;
volatile uint32_t seen_ends;
volatile uint32_t seen_way_now;
volatile uint64_t seen_half_ns = 1000000000;
volatile uint64_t seen_block_bytes = PART_BYTES;
volatile uint64_t seen_room;

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

void seen_refresh_locked(struct space *space)
{
    uint32_t ends = seen_ends;

    if (space->seen_ends != ends && seen_choice_policy(space->numa) == 0) {
        hint_forget_locked(space);
        seen_destroy(space);
    }
    space->seen_ends = ends;
}

void seen_choose_locked(struct space *space, uint32_t numa)
{
    if (space->numa == numa)
        return;
    space->numa = numa;
    if (seen_policy_locked(space)->choose == NULL) {
        hint_forget_locked(space);
        seen_destroy(space);
    } else if (seen_begin != NULL) {
        seen_begin();
    }
}

static uint32_t nodes(void)
{
    return instance.plan.node_count;
}

/* What nodes have used of the block PLACE; NULL: nothing is known of it. */
static const uint16_t *used_of(struct seen *seen, struct seen_place place, uint32_t age)
{
    struct seen_block *block = place.number != 0 ? seen_find(seen, place.number) : NULL;

    if (block == NULL || block->number == 0)
        return NULL;
    seen_age(seen, block, age);
    return block->used;
}

/* The node of the frame of a page with ENTRY; nodes() if it has none. */
static uint32_t node_of(uint64_t entry)
{
    return entry != 0 && (entry & PAGING_SOFT_PENDING_FREE) == 0 && !zero_page_is(entry)
               ? policy_node_of(entry & PAGING_FRAME)
               : nodes();
}

/* The node of the first page of the block at START of BYTES that has a frame; nodes() if none has. */
static uint32_t node_of_locked(const struct space *space, uint64_t start, uint64_t bytes)
{
    const uint64_t *entry = paging_look(&space->tables, start);
    uint32_t node = nodes();

    for (uint32_t i = 0; entry != NULL && node == nodes() && i < bytes / PAGE_SIZE; i++)
        node = node_of(entry[i]);
    return node;
}

/* The record of the block PLACE, which is made if need be. BYTES: as seen_block_bytes. NULL: no memory, or PLACE is in
 * no region any more, as all has been forgotten. */
static struct seen_block *record(struct space *space, struct seen_place place, uint64_t bytes, uint32_t age)
{
    struct seen *seen = seen_table(space, bytes);
    struct seen_block *block = seen != NULL ? seen_find(seen, place.number) : NULL;

    if (block == NULL || block->number != 0)
        return block;
    if (!seen_make_room(space, 1))
        return NULL;
    seen = space->seen;
    if (seen->adaptive && seen_region_of(seen, seen_start(seen, place)) == NULL)
        return NULL;
    return seen_make(seen, place, age);
}

static bool is_known(struct space *space, uint64_t number)
{
    return space->seen != NULL && seen_find(space->seen, number)->number != 0;
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

/* What mbind or kettle_block_follow say of the first area in [START, END); NULL: nothing. */
static const struct policy *own_policy_locked(const struct space *space, uint64_t start, uint64_t end)
{
    const struct area *area = area_next(&space->areas, start);
    uint32_t number = area != NULL && area->start < end ? area->prot >> AREA_POLICY_SHIFT : 0;

    return number != 0 ? policy_known_locked(space, number) : NULL;
}

/* The policy of the memory in [START, END): that of its first area (kettle_block_follow), or the process's. Nobody
 * looks at a process whose policy is none. */
static const struct seen_policy *policy_of_locked(const struct space *space, uint64_t start, uint64_t end)
{
    const struct seen_policy *policy = seen_policy_locked(space);
    const struct policy *own = policy->choose != NULL ? own_policy_locked(space, start, end) : NULL;
    uint32_t follow = own != NULL ? policy_follow(own) : 0;

    return follow != 0 && follow <= SEEN_POLICIES ? &seen_policies[follow - 1] : policy;
}

uint64_t seen_may_follow(struct space *space, uint64_t page)
{
    uint64_t nodes = 0;

    spin_lock(&space->lock);
    if (seen_policy_moves(policy_of_locked(space, page, page + PAGE_SIZE)))
        nodes = may_follow_locked(space, page, page + PAGE_SIZE);
    spin_unlock(&space->lock);
    return nodes;
}

/* Whether PAGE may follow its users. */
static bool moves_locked(const struct space *space, uint64_t page)
{
    const struct area *area = area_find(&space->areas, page);

    return area != NULL && !backing_stays(area->backing) &&
           seen_policy_moves(policy_of_locked(space, page, page + PAGE_SIZE));
}

/* The node of the first of COUNT pages from page FIRST on that SEEN has used, that is not on its node and that may
 * follow it; its node if there is none. */
static uint32_t first_remote_locked(const struct space *space, const struct msg_space_seen *seen, uint32_t first,
                                    uint32_t count)
{
    const uint64_t *entry = paging_look(&space->tables, seen->start);

    for (uint32_t page = first; entry != NULL && page < first + count; page++) {
        uint32_t here = (seen->accessed[page / 64] >> page % 64 & 1) != 0 ? node_of(entry[page]) : nodes();

        if (here != nodes() && here != seen->node && moves_locked(space, seen->start + page * PAGE_SIZE))
            return here;
    }
    return seen->node;
}

/* The home node of the group to which the memory in [START, END) belongs; SEEN_STAYS: none. */
static uint32_t group_node_locked(const struct space *space, uint64_t start, uint64_t end)
{
    const struct policy *own = own_policy_locked(space, start, end);
    uint32_t group = own != NULL ? policy_group(own) : 0;
    uint32_t node = group != 0 ? groups_node_locked(space, group) : NODES_MAX;

    return node < nodes() ? node : SEEN_STAYS;
}

/* Where POLICY wants BLOCK, which is HERE and of which NODE has just used PAGES. */
static uint32_t choose(struct space *space, const struct seen_policy *policy, struct seen_block *block, uint32_t here,
                       uint32_t node, uint32_t pages)
{
    struct seen *seen = space->seen;
    struct seen_place place = {block->number, block->size};
    uint64_t start = seen_start(seen, place), bytes = seen_bytes(seen, place);
    uint32_t own = instance.plan.kernels[instance.kernel].node;
    struct seen_view view = {.nodes = nodes(),
                             .memory = policy_machine_nodes(),
                             .block = start / bytes,
                             .here = here,
                             .home = own,
                             .group = group_node_locked(space, start, start + bytes),
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
                             .waits = policy->draws && draw_waits_locked(seen, block, here),
                             .before = policy->beside ? used_of(seen, seen_before(seen, place), block->age) : NULL,
                             .after = policy->beside ? used_of(seen, seen_after(seen, place), block->age) : NULL,
                             .distance = instance.plan.distance};
    uint32_t to;

    view.memory &= may_follow_locked(space, start, start + bytes);
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

/* A block that a report tells of. */
struct told {
    struct seen_place place;
    uint64_t start, bytes;
    uint32_t pages; /* sixteenths that were used */
    bool written;
};

/* Where the block TOLD is, which SEEN has used: where its first page is. A block that adapts and that nobody else is
 * known to use may have joined, or split, with pages on several nodes. All that its user uses are to come there, so it
 * is where the first of them is that this one has not near. */
static uint32_t place_of_locked(struct space *space, const struct msg_space_seen *seen, const struct told *told)
{
    uint32_t here = node_of_locked(space, told->start, told->bytes);
    const struct seen_block *block = space->seen != NULL ? seen_find(space->seen, told->place.number) : NULL;

    if (here != seen->node || block == NULL || !space->seen->adaptive ||
        (block->number != 0 && (seen_users(block->used, nodes()) & ~(1ull << seen->node)) != 0))
        return here;
    return first_remote_locked(space, seen, (uint32_t)((told->start - seen->start) / PAGE_SIZE),
                               (uint32_t)(told->bytes / PAGE_SIZE));
}

/* The block NUMBER, if it is known, is to move nowhere. */
static void stay_locked(struct space *space, uint64_t number)
{
    struct seen_block *block = space->seen != NULL ? seen_find(space->seen, number) : NULL;

    if (block == NULL || block->number == 0 || block->wanted == NOBODY)
        return;
    block->wanted = NOBODY;
    space->seen->wanted--;
}

/* Another node than the block's own, HERE, is known to use it. */
static bool is_shared(const struct seen_block *block, uint32_t here)
{
    return (seen_users(block->used, nodes()) & ~(1ull << here)) != 0;
}

/* Others begin to use memory of the node HERE. Do its kernels use it, too? This kernel looks, if it is one of them, and
 * tells the others when its driver runs next. */
static void ask_users_locked(struct space *space, uint32_t here)
{
    for (kernel_set left = space->members & ~(1ull << instance.kernel); left != 0; left &= left - 1) {
        uint32_t kernel = (uint32_t)__builtin_ctzll(left);

        if (instance.plan.kernels[kernel].node == here)
            space->seen->tell |= 1ull << kernel;
    }
    if (seen_soon != NULL)
        seen_soon();
}

void seen_save_locked(struct space *space)
{
    seen_account_fill(&space->account, &seen_moves, clock_now(), seen_half_ns, kernel_set_count(space->members));
}

/* Whether POLICY may move or replicate a block of SPACE now: there is time left for that. */
static bool may_spend_locked(struct space *space, const struct seen_policy *policy)
{
    seen_save_locked(space);
    if (!policy->bounded || seen_account_has(&space->account))
        return true;
    space->stats.seen_refused++;
    return false;
}

/* SEEN says that its node has used the block TOLD. BYTES: as seen_block_bytes. Returns whether it is shared; *SOON:
 * whether its users are to look again soon. */
static bool note_block_locked(struct space *space, const struct msg_space_seen *seen, const struct told *told,
                              uint64_t bytes, uint32_t age, bool *soon)
{
    const struct seen_policy *policy = policy_of_locked(space, told->start, told->start + told->bytes);
    uint32_t node = seen->node, here = place_of_locked(space, seen, told), to;
    uint64_t number = told->place.number;
    struct seen_block *block;
    bool known = is_known(space, number);

    if (policy->choose == NULL)
        stay_locked(space, number);
    if (policy->choose == NULL)
        return false;
    if (here == nodes() || (here == node && !known)) { /* leased memory is its user's alone, too */
        draw_note_locked(space, policy, seen, NULL, node, told->pages, told->bytes, false);
        return false; /* memory that its own node alone uses is not worth a word */
    }
    block = record(space, told->place, bytes, age);
    if (block == NULL)
        return true;
    if (!known)
        ask_users_locked(space, here);
    seen_age(space->seen, block, age);
    seen_block_see(block, space->seen->load, node, told->pages, told->written, age);
    block->kernels[0] |= 1ull << seen->kernel;
    draw_note_locked(space, policy, seen, block, here, told->pages, told->bytes,
                     policy->draws && may_follow_locked(space, told->start, told->start + told->bytes) == 0);
    /* as if it were not to move yet: that is decided anew */
    seen_block_place(block, nodes(), space->seen->load, here, clock_now());
    to = choose(space, policy, block, here, node, told->pages);
    if (seen_block_stuck(block, here, to, age))
        to = SEEN_STAYS;
    if (to != SEEN_STAYS && !may_spend_locked(space, policy))
        to = SEEN_STAYS;
    seen_block_place(block, nodes(), space->seen->load, to < nodes() ? to : here, clock_now());
    seen_set_last(space->seen, block, node);
    space->seen->wanted += (to != SEEN_STAYS) - (block->wanted != NOBODY);
    block->wanted = to == SEEN_REPLICATE ? ALL_NODES : to != SEEN_STAYS ? (uint8_t)to : NOBODY;
    space->stats.seen_decided += to != SEEN_STAYS;
    if (to != SEEN_STAYS && seen_soon != NULL)
        seen_soon(); /* moves are made after a look */
    if (to != SEEN_STAYS)
        trace_note("wants memory on this node", (uint32_t)space->id, instance.kernel, told->start / PART_BYTES, to);
    *soon |= to != SEEN_STAYS || is_undecided(space->seen, block);
    return is_shared(block, here);
}

/* Blocks adapt: SEEN is added to what is known of its region, and blocks split and join as it says. False: nothing of
 * it is worth a record, or there is no memory for one. */
static bool adapt_locked(struct space *space, const struct msg_space_seen *seen, uint32_t age)
{
    struct seen_region *region = space->seen != NULL ? seen_region_of(space->seen, seen->start) : NULL;

    if (seen_policy_locked(space)->choose == NULL ||
        (region == NULL && first_remote_locked(space, seen, 0, LEAF_ENTRIES) == seen->node))
        return false;
    if (region == NULL && seen_table(space, 0) != NULL)
        region = seen_region_make(space, seen->start);
    if (region == NULL)
        return false;
    seen_region_see(region, seen, age);
    return seen_adapt(space, region, age);
}

/* Blocks adapt, and what SEEN has used is its node's alone: it is worth no record, but keeps threads where they are. */
static void note_own_locked(struct space *space, const struct msg_space_seen *seen)
{
    for (uint32_t page = 0; page < LEAF_ENTRIES; page += SEEN_BLOCK_PAGES) {
        uint64_t start = seen->start + page * PAGE_SIZE;
        uint32_t pages = seen_pages(seen, page, SEEN_BLOCK_PAGES);

        if (pages != 0)
            draw_note_locked(space, policy_of_locked(space, start, start + PART_BYTES), seen, NULL, seen->node, pages,
                             PART_BYTES, false);
    }
}

/* The block of SEEN, of BYTES or as its region says, in which PAGE is, as it was used. */
static struct told told_locked(const struct space *space, const struct msg_space_seen *seen, uint64_t bytes,
                               uint32_t page)
{
    uint64_t address = seen->start + page * PAGE_SIZE;
    struct told told = {.place = {bytes != 0 ? address / bytes + 1 : 0, 1}, .start = address, .bytes = bytes};
    uint32_t count, parts, first;

    if (bytes == 0) {
        told.place = seen_place_of(space->seen, address);
        told.start = seen_start(space->seen, told.place);
        told.bytes = seen_bytes(space->seen, told.place);
    }
    count = (uint32_t)(told.bytes / PAGE_SIZE);
    first = (uint32_t)((told.start - seen->start) / PAGE_SIZE);
    parts = count > SEEN_BLOCK_PAGES ? count / SEEN_BLOCK_PAGES : 1;
    told.pages = seen_pages(seen, first, count);
    told.written = (seen->written >> first / SEEN_BLOCK_PAGES & ((1ull << parts) - 1)) != 0;
    return told;
}

/* The first page of the next block of BYTES from page PAGE on, where one begins, that SEEN has used; LEAF_ENTRIES:
 * none. Blocks that adapt have no such order: PAGE. */
static uint32_t next_told(const struct msg_space_seen *seen, uint64_t bytes, uint32_t page)
{
    for (uint32_t word = page / 64; bytes != 0 && word < LEAF_ENTRIES / 64; word++) {
        uint64_t left = seen->accessed[word] & (word == page / 64 ? UINT64_MAX << page % 64 : UINT64_MAX);

        if (left != 0)
            return (word * 64 + (uint32_t)__builtin_ctzll(left)) & ~((uint32_t)(bytes / PAGE_SIZE) - 1);
    }
    return bytes != 0 ? LEAF_ENTRIES : page;
}

/* What is known of a report when its blocks have been noted: pages, times 16, that were used, and those of blocks that
 * others use. */
struct noted {
    uint64_t used, shared;
    bool soon;
};

/* Notes some of the blocks of BYTES that SEEN reports, from page *PAGE of it on, and sets *PAGE to the first that is
 * left. */
static void note_some(struct space *space, const struct msg_space_seen *seen, uint64_t bytes, uint32_t *page,
                      struct noted *noted)
{
    uint32_t age;

    spin_lock(&space->lock);
    age = (uint32_t)(clock_now() / seen_half_ns);
    seen_refresh_locked(space);
    seen_forget_others(space, bytes);
    if (bytes == 0 && *page == 0 && !adapt_locked(space, seen, age)) {
        note_own_locked(space, seen);
        *page = LEAF_ENTRIES;
    }
    for (uint32_t held = 0; (*page = next_told(seen, bytes, *page)) < LEAF_ENTRIES && held < HELD_MOST;) {
        struct told told;
        uint32_t count, every;

        if (bytes == 0 && (space->seen == NULL || seen_region_of(space->seen, seen->start) == NULL)) {
            *page = LEAF_ENTRIES; /* all has been forgotten */
            break;
        }
        told = told_locked(space, seen, bytes, *page);
        count = (uint32_t)(told.bytes / PAGE_SIZE);
        every = LEAF_ENTRIES / count / AGED_MOST;
        if (told.pages != 0) {
            held += nodes();
            noted->used += told.pages * count;
            if (note_block_locked(space, seen, &told, bytes, age, &noted->soon))
                noted->shared += told.pages * count;
            if (space->seen != NULL && (every <= 1 || *page / count % every == 0))
                seen_grow_old(space->seen, age);
        }
        *page = (uint32_t)((told.start + told.bytes - seen->start) / PAGE_SIZE);
    }
    spin_unlock(&space->lock);
}

/* Notes SEEN; ANSWER: its bit. Threads here that fault wait only while some of its blocks are
 * noted. */
static void note(struct space *space, const struct msg_space_seen *seen, struct msg_seen_answer *answer)
{
    struct noted noted = {0};
    uint64_t bytes = seen_block_bytes;
    uint32_t page = 0;

    while (page < LEAF_ENTRIES)
        note_some(space, seen, bytes, &page, &noted);
    answer->soon = noted.soon;
    answer->shared = noted.shared != 0 && SEEN_PART * noted.shared >= noted.used;
}

void seen_mapped_locked(const struct space *space, uint64_t frame)
{
    if (seen_soon != NULL && seen_policy_locked(space)->choose != NULL &&
        policy_node_of(frame) != instance.plan.kernels[instance.kernel].node)
        seen_soon();
}

/* Takes BLOCK, which is wanted, from those that are to move. *MOVES: how often one of them has lately, if that is more.
 */
static void take(struct seen *seen, struct seen_block *block, uint32_t *moves)
{
    uint32_t lately = seen_block_move(block);

    *moves = lately > *moves ? lately : *moves;
    block->replicated = block->wanted == ALL_NODES;
    if (block->replicated)
        seen_block_leave(block, seen->load);
    block->wanted = NOBODY;
    seen->wanted--;
}

/* Takes the blocks beside PLACE that are to move to NODE, too, and are in the same 2 MiB: those that SIDE gives.
 * Returns the bytes. */
static uint64_t take_beside(struct seen *seen, struct seen_place place, uint8_t node,
                            struct seen_place (*side)(struct seen *, struct seen_place), uint32_t *moves)
{
    uint64_t leaf = seen_start(seen, place) / LEAF_SIZE, bytes = 0;

    if (node == ALL_NODES)
        return 0;
    for (;;) {
        struct seen_block *block;

        place = side(seen, place);
        if (place.number == 0 || seen_start(seen, place) / LEAF_SIZE != leaf)
            return bytes;
        block = seen_find(seen, place.number);
        if (block->number == 0 || block->wanted != node)
            return bytes;
        take(seen, block, moves);
        bytes += seen_bytes(seen, place);
    }
}

bool seen_next(struct space *space, uint64_t *start, uint64_t *bytes, uint32_t *node, uint32_t *moves)
{
    bool found = false;

    *moves = 0;
    spin_lock(&space->lock);
    seen_refresh_locked(space);
    for (uint32_t left = space->seen != NULL && space->seen->wanted != 0 ? space->seen->places : 0; left > 0 && !found;
         left--) {
        struct seen *seen = space->seen;
        struct seen_block *block = seen_block_at(seen, seen->cursor);
        struct seen_place place = {block->number, block->size};
        uint8_t wanted = block->wanted;
        uint64_t before;

        seen->cursor = (seen->cursor + 1) & (seen->places - 1);
        if (block->number == 0 || wanted == NOBODY)
            continue;
        take(seen, block, moves);
        before = take_beside(seen, place, wanted, seen_before, moves);
        *start = seen_start(seen, place) - before;
        *bytes = before + seen_bytes(seen, place) + take_beside(seen, place, wanted, seen_after, moves);
        if (*bytes > USER_END - *start)
            *bytes = USER_END - *start;
        *node = wanted == ALL_NODES ? SEEN_REPLICATE : wanted;
        found = true;
    }
    spin_unlock(&space->lock);
    return found;
}

bool seen_spend(struct space *space, uint64_t cost)
{
    bool has = true;

    spin_lock(&space->lock);
    seen_save_locked(space);
    if (seen_policy_locked(space)->bounded) {
        seen_account_pay(&space->account, cost);
        has = seen_account_has(&space->account);
    }
    spin_unlock(&space->lock);
    return has;
}

/* The record of the block in which ADDRESS is; NULL: nothing is known of it. */
static struct seen_block *known_locked(struct space *space, uint64_t address)
{
    struct seen *seen = space->seen;
    struct seen_block *block = seen != NULL ? seen_find(seen, seen_place_of(seen, address).number) : NULL;

    return block != NULL && block->number != 0 ? block : NULL;
}

void seen_not_moved(struct space *space, uint64_t page, uint32_t node)
{
    struct seen_block *block;

    spin_lock(&space->lock);
    block = known_locked(space, page);
    if (block != NULL)
        seen_block_try(block, node);
    spin_unlock(&space->lock);
}

void seen_not_replicated(struct space *space, uint64_t start, uint64_t end)
{
    uint64_t next;

    spin_lock(&space->lock);
    for (uint64_t at = start; space->seen != NULL && at < end; at = next) { /* it may be several blocks by now */
        struct seen_place place = seen_place_of(space->seen, at);
        struct seen_block *block = seen_find(space->seen, place.number);

        next = seen_start(space->seen, place) + seen_bytes(space->seen, place);
        if (block->number == 0)
            continue;
        block->replicated = false;
        block->written = SEEN_WRITTEN; /* it is not tried again as long as if somebody had written to it */
    }
    spin_unlock(&space->lock);
}

void seen_end(struct space *space)
{
    hint_end(space);
    groups_end(space);
    seen_destroy(space);
}

static bool is_valid(const struct space *space, const struct msg_space_seen *seen)
{
    return space->home == instance.kernel && (seen->start & (LEAF_SIZE - 1)) == 0 && seen->start < USER_END &&
           seen->node < nodes() && seen->kernel < instance.plan.kernel_count;
}

/* A report of a space that is not at home here any more costs an observation, and so does a wrong one. */
static void note_report(const struct msg_space_seen *seen, struct msg_seen_answer *answer)
{
    struct space *space = space_get(seen->space);

    *answer = (struct msg_seen_answer){0};
    if (space == NULL)
        return;
    if (is_valid(space, seen))
        note(space, seen, answer);
    space_put(space);
}

static void handle_look(const struct msg *m)
{
    (void)m; /* also if the space has ended here, or has moved its home: a look costs little */
    if (seen_soon != NULL)
        seen_soon();
}

void seen_last(struct space *space, uint16_t *last)
{
    spin_lock(&space->lock);
    for (uint32_t node = 0; node < NODES_MAX; node++)
        last[node] = space->seen != NULL ? (uint16_t)space->seen->last[node] : 0;
    spin_unlock(&space->lock);
}

kernel_set seen_to_tell(struct space *space)
{
    kernel_set kernels = 0;

    spin_lock(&space->lock);
    if (space->seen != NULL) {
        kernels = space->seen->tell;
        space->seen->tell = 0;
    }
    spin_unlock(&space->lock);
    return kernels;
}

void seen_tell(kernel_set kernels, uint64_t id)
{
    struct msg_space_see_soon look = {.space = id};

    for (; kernels != 0; kernels &= kernels - 1)
        msg_notify((uint32_t)__builtin_ctzll(kernels), MSG_SPACE_SEE_SOON, &look, sizeof(look));
}

void seen_init(void)
{
    gather_init(note_report);
    groups_init();
    msg_register(MSG_SPACE_SEE_SOON, handle_look, sizeof(struct msg_space_see_soon), 0);
}
