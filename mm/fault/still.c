/* Pages that move, on each kernel that maps them. See the header. */
#include "mm/fault/still.h"

#include "kernel/abi/errno.h"
#include "mm/area/backing.h"
#include "mm/frame/abroad.h"
#include "mm/frame/frame.h"
#include "mm/frame/reference.h"
#include "mm/lock/lock.h"
#include "mm/page/replica.h"
#include "mm/seen/mark.h"
#include "mm/space/entry.h"
#include "mm/space/question.h"

struct walk {
    struct space *space;
    const struct msg_space_change *change;
    const struct area *area; /* the one found last */
    bool flush;              /* a TLB may have an entry that allows more, or has the old frame */
    bool pending;            /* a page that is to be still has an entry that a failed unmap has left */
};

static uint64_t end_of(const struct msg_space_change *change)
{
    return change->start + change->length;
}

/* True if a peer may ask for this. The mover's own kernel, and the home, check it as the others do: what one of them
 * would refuse is refused before anything has changed. */
static bool is_valid(const struct msg_space_change *change)
{
    uint64_t pages = change->length / PAGE_SIZE;

    if (change->start >= USER_END || change->length > USER_END - change->start)
        return false;
    if (pages > SPACE_CHOSEN_MAX)
        return pages <= LEAF_ENTRIES;
    return change->still.chosen != 0 && (pages == SPACE_CHOSEN_MAX || change->still.chosen >> pages == 0);
}

/* Whether the page at VA moves, and how many of the pages below it do. */
static bool is_chosen(const struct msg_space_change *change, uint64_t va, uint32_t *before)
{
    uint64_t index = (va - change->start) / PAGE_SIZE;

    *before = (uint32_t)index;
    if (change->length / PAGE_SIZE > SPACE_CHOSEN_MAX)
        return true;
    *before = kernel_set_count(change->still.chosen & ((1ull << index) - 1));
    return (change->still.chosen >> index & 1) != 0;
}

/* ENTRY, which is still, as its area has it. */
static uint64_t writable(uint64_t entry, uint32_t prot)
{
    return (entry & ~PAGING_SOFT_STILL) | (space_page_flags(prot, (entry & PAGING_SOFT_COW) != 0) & PAGING_WRITE);
}

static void still_entry(void *context, uint64_t va, uint64_t *entry, uint64_t size)
{
    struct walk *walk = context;
    uint32_t before;

    (void)size;
    if (!is_chosen(walk->change, va, &before))
        return;
    if ((*entry & PAGING_SOFT_PENDING_FREE) != 0) { /* it keeps its frame, which the mover would release */
        walk->pending = true;
        return;
    }
    walk->flush |= (*entry & PAGING_WRITE) != 0;
    *entry = (*entry & ~PAGING_WRITE) | PAGING_SOFT_STILL;
}

/* ENTRY has a reference to a frame of this kernel. */
static bool owns_here(uint64_t entry)
{
    return (entry & (PAGING_SOFT_OWNING | PAGING_SOFT_REMOTE)) == PAGING_SOFT_OWNING;
}

/* ENTRY, as FLAGS (SPACE_STILL_*) say, but for its frame. A copy-on-write page has a frame of its own from now on,
 * unless it is a file's. */
static uint64_t with_flags(uint64_t entry, uint64_t flags)
{
    if ((flags & SPACE_STILL_COW) != 0)
        return entry;
    return (flags & SPACE_STILL_BACK) != 0 ? entry | PAGING_SOFT_COW
                                           : entry & ~(PAGING_SOFT_COW | PAGING_SOFT_REPLICATED);
}

/* An entry that has the frame already stays: a kernel that has refused it, and gets it back. The reference to the old
 * frame goes to the mover, and that to the new one comes from it: what a mover has counts as abroad, also if this
 * kernel is the mover. Where it has none, which only a faulty kernel's has not by now, the entry stays. */
static void replace_entry(void *context, uint64_t va, uint64_t *entry, uint64_t size)
{
    struct walk *walk = context;
    uint64_t old = *entry, new, frame;
    uint32_t before;

    (void)size;
    if ((*entry & PAGING_SOFT_PENDING_FREE) != 0 || !is_chosen(walk->change, va, &before))
        return;
    frame = (walk->change->still.frame & PAGING_FRAME) + before * PAGE_SIZE;
    if ((old & PAGING_FRAME) == frame)
        return;
    walk->flush = true;
    new = space_entry_with(walk->space, va, with_flags(old, walk->change->still.frame), frame);
    if (owns_here(new) && !abroad_take(new &PAGING_FRAME))
        return;
    if (owns_here(old))
        abroad_add(old & PAGING_FRAME);
    *entry = new;
}

/* A mark goes with it (mm/move/lazy.md). No flush: a CPU with the entry that is not writable in its TLB faults once
 * more, and finds this one; an entry that is not present is in no TLB. */
static void writable_entry(void *context, uint64_t va, uint64_t *entry, uint64_t size)
{
    struct walk *walk = context;
    uint32_t before;

    (void)size;
    if ((*entry & (PAGING_SOFT_STILL | PAGING_SOFT_MARKED)) == 0 || !is_chosen(walk->change, va, &before))
        return;
    if ((*entry & PAGING_SOFT_MARKED) != 0)
        *entry = mark_removed(*entry);
    if ((*entry & PAGING_SOFT_STILL) == 0)
        return;
    if (walk->area == NULL || va < walk->area->start || va >= walk->area->end)
        walk->area = area_find(&walk->space->areas, va);
    *entry = writable(*entry, walk->area != NULL ? walk->area->prot : 0);
}

/* Returns whether an entry is pending free that must not be. */
static bool walk_locked(struct space *space, const struct msg_space_change *change,
                        void (*visit)(void *context, uint64_t va, uint64_t *entry, uint64_t size))
{
    struct walk walk = {.space = space, .change = change};

    paging_visit(&space->tables, change->start, end_of(change), visit, &walk);
    if (walk.flush)
        space_flush(space, change->start, end_of(change));
    return walk.pending;
}

/* Whoever has got one of the pages since the lock was granted has been marked before. */
static int64_t who_has_locked(const struct space *space, const struct msg_space_change *change)
{
    if (space->home != instance.kernel)
        return 0;
    return space_still_answer(space_sharers_locked(space, (struct space_range){change->start, end_of(change)}),
                              space->home);
}

int64_t space_apply_still_locked(struct space *space, const struct msg_space_change *change)
{
    if (!is_valid(change))
        return -EPROTO;
    replicas_drop_locked(space, change->start, end_of(change));
    return walk_locked(space, change, still_entry) ? -EAGAIN : 0;
}

/* True if the frames from FIRST on are another kernel's, or the mover has a reference to each. */
static bool has_movers(uint64_t first, uint64_t count)
{
    bool has = true;

    for (uint64_t i = 0; i < count && has && frame_owner(first) == instance.kernel; i++)
        has = abroad_count(first + i * PAGE_SIZE) != 0;
    return has;
}

int64_t space_apply_replace_locked(struct space *space, const struct msg_space_change *change)
{
    uint64_t first = change->still.frame & ~SPACE_STILL_FLAGS;
    uint64_t last = first + (space_still_count(change) - 1) * PAGE_SIZE;

    if (!is_valid(change) || !frame_exists(first) || frame_owner(last) != frame_owner(first) ||
        !has_movers(first, space_still_count(change)))
        return -EPROTO;
    space_questions_supersede_locked(space, change->start, end_of(change));
    walk_locked(space, change, replace_entry);
    return who_has_locked(space, change);
}

int64_t space_apply_writable_locked(struct space *space, const struct msg_space_change *change)
{
    if (!is_valid(change))
        return -EPROTO;
    space_questions_supersede_locked(space, change->start, end_of(change));
    walk_locked(space, change, writable_entry);
    return who_has_locked(space, change);
}

bool space_still_answer_locked(struct space *space, uint64_t page, const struct area *area,
                               const struct msg_space_get *ask, struct msg_space_got *got)
{
    const uint64_t *entry = paging_look(&space->tables, page);

    if (area == NULL || (ask->access & AREA_WRITE) != 0 || !area_allows(area->prot, ask->access) || entry == NULL ||
        (*entry & (PAGING_SOFT_STILL | PAGING_SOFT_PENDING_FREE)) != PAGING_SOFT_STILL)
        return false;
    *got = (struct msg_space_got){.kind = SPACE_MOVES,
                                  .prot = (uint16_t)area->prot,
                                  .policy = (uint8_t)(area->prot >> AREA_POLICY_SHIFT),
                                  .cow = (*entry & PAGING_SOFT_COW) != 0,
                                  .replicated = (*entry & PAGING_SOFT_REPLICATED) != 0,
                                  .frame = *entry & PAGING_FRAME};
    if (area->backing != BACKING_NONE) {
        got->backed = 1;
        got->run[0] = area_backing_at(area, page);
    }
    if ((*entry & PAGING_SOFT_REMOTE) == 0)
        frame_lend();
    space->stats.moving_read++;
    return true;
}

uint64_t space_still_entry_locked(struct space *space, uint64_t page, const struct msg_space_got *got)
{
    return (space_entry(space, page, got->frame, got->prot, got->cow != 0, false,
                        got->replicated != 0 ? PAGING_SOFT_REPLICATED : 0) &
            ~PAGING_WRITE) |
           PAGING_SOFT_STILL;
}

void space_still_end_locked(struct space *space, uint64_t page)
{
    const struct area *area = area_find(&space->areas, page);
    const uint64_t *seen = paging_look(&space->tables, page);
    uint64_t *entry;

    if (seen == NULL || (*seen & PAGING_SOFT_STILL) == 0)
        return;
    entry = paging_entry(&space->tables, page, false);
    *entry = writable(*entry, area != NULL ? area->prot : 0);
}
