/* Accesses that faults show. See the header. What was counted is kept in a table of chains until the driver reports it,
 * one record for each leaf table and node. */
#include "mm/seen/hint.h"

#include "kernel/arch/x86_64/cpu.h"
#include "mm/frame/heap.h"
#include "mm/mempolicy/mempolicy.h"
#include "mm/page/zero_page.h"
#include "mm/seen/seen.h"
#include "mm/space/entry.h"
#include "msg/channel.h"

#define CHAINS 64u
#define RECORDS_MOST 4096u /* of a space; what more is used between two reports is not counted: 8 GiB by one node */

struct record {
    struct record *next;
    bool remote;
    struct msg_space_seen seen;
};

struct hints {
    uint32_t count;
    struct record *chains[CHAINS];
};

static struct record **chain_of(struct hints *hints, uint64_t start, uint32_t node)
{
    return &hints->chains[(start / LEAF_SIZE + node) % CHAINS];
}

/* NULL: no memory, or there are too many. */
static struct record *record_of(struct space *space, uint64_t start, uint32_t node)
{
    struct record **chain = chain_of(space->hints, start, node), *record = *chain;

    while (record != NULL && (record->seen.start != start || record->seen.node != node))
        record = record->next;
    if (record != NULL)
        return record;
    record = space->hints->count < RECORDS_MOST ? heap_alloc(sizeof(*record)) : NULL;
    if (record == NULL)
        return NULL;
    *record = (struct record){.next = *chain,
                              .seen = {.space = space->id,
                                       .start = start,
                                       .node = (uint16_t)node,
                                       .kernel = (uint16_t)instance.kernel,
                                       .written = UINT32_MAX}};
    *chain = record;
    space->hints->count++;
    return record;
}

/* COUNT pages from PAGE on, whose frames begin with that of ENTRY, are used by NODE. */
static void count_locked(struct space *space, uint64_t page, uint32_t count, uint64_t entry, uint32_t node)
{
    bool remote = policy_node_of(entry & PAGING_FRAME) != node;
    struct record *record;

    space->stats.hint_faults++;
    if (seen_way_locked(space) != SEEN_BY_FAULTS || seen_policy_locked(space)->choose == NULL)
        return; /* hidden by a look before that was so */
    record = record_of(space, page & ~(LEAF_SIZE - 1), node);
    if (record == NULL)
        return;
    if (remote)
        space->stats.seen_remote += count;
    else
        space->stats.seen_local += count;
    record->remote |= remote;
    for (uint32_t i = 0; i < count; i++) {
        seen_add(&record->seen, paging_index(page) + i);
        seen_note_page_locked(space, page + i * PAGE_SIZE, node);
    }
}

void hint_take_locked(struct space *space, uint64_t page, const uint64_t *seen)
{
    const uint64_t hidden = PAGING_PRESENT | PAGING_SOFT_HINT | PAGING_SOFT_ASKED;
    uint64_t start = page & ~(LEAF_SIZE - 1);

    if ((*seen & hidden) == PAGING_SOFT_HINT) { /* so its table is no large page's, and may be changed */
        uint64_t *entry = (uint64_t *)(uintptr_t)seen;

        *entry = space_entry_shown(*entry); /* no flush: no TLB has an entry that is not present */
        count_locked(space, page, 1, *entry, cpu_self()->node);
    } else if ((*seen & PAGING_PRESENT) != 0 && paging_large_show(&space->tables, start)) {
        count_locked(space, start, LEAF_ENTRIES, paging_large(&space->tables, start), cpu_self()->node);
    }
}

/* The mark is left by a question that has made the entry present again. The hardware may set bits meanwhile. */
static bool hide_small_locked(struct space *space, uint64_t va)
{
    uint64_t *leaf = paging_entry(&space->tables, va, false);
    bool hidden = false;

    for (uint32_t i = 0; (i = paging_next_used(leaf, i, LEAF_ENTRIES)) < LEAF_ENTRIES; i++) {
        uint64_t old = leaf[i];

        if ((old & PAGING_PRESENT) == 0 || zero_page_is(old))
            continue;
        __atomic_fetch_xor(&leaf[i], PAGING_PRESENT | (~old & PAGING_SOFT_HINT), __ATOMIC_RELEASE);
        space->stats.hints_set++;
        hidden = true;
    }
    return hidden;
}

bool hint_begin_locked(struct space *space)
{
    if (space->hints == NULL)
        space->hints = heap_alloc(sizeof(*space->hints)); /* zeros */
    return space->hints != NULL;
}

void hint_hide_locked(struct space *space, uint64_t va)
{
    bool hidden;

    if (!hint_begin_locked(space))
        return;
    if (paging_large(&space->tables, va) == 0) {
        hidden = hide_small_locked(space, va);
    } else {
        hidden = paging_large_hide(&space->tables, va);
        space->stats.hints_set += hidden;
    }
    if (hidden)
        space_flush(space, va, va + LEAF_SIZE);
}

bool hint_next_locked(struct space *space, struct msg_space_seen *out, bool *remote)
{
    struct hints *hints = space->hints;

    for (uint32_t i = 0; hints != NULL && hints->count > 0 && i < CHAINS; i++) {
        struct record *record = hints->chains[i];

        if (record == NULL)
            continue;
        *out = record->seen;
        *remote = record->remote;
        hints->chains[i] = record->next;
        hints->count--;
        heap_free(record, sizeof(*record));
        return true;
    }
    return false;
}

void hint_forget_locked(struct space *space)
{
    struct msg_space_seen out;
    bool remote;

    while (hint_next_locked(space, &out, &remote)) {
    }
}

void hint_end(struct space *space)
{
    hint_forget_locked(space);
    heap_free(space->hints, sizeof(*space->hints));
    space->hints = NULL;
}
