/* The fast path of a fault, at the home: how it answers SPACE_GET. Handlers; nothing here waits. See mm/fault/get.h,
 * and mm/retrieve/retrieval.md for the protocol. */
#include <stddef.h>

#include "kernel/abi/errno.h"
#include "kernel/lib/list.h"
#include "mm/area/backing.h"
#include "mm/fault/around.h"
#include "mm/fault/get.h"
#include "mm/fault/huge.h"
#include "mm/fault/runs.h"
#include "mm/fault/still.h"
#include "mm/fault/wire.h"
#include "mm/frame/content.h"
#include "mm/frame/frame.h"
#include "mm/frame/reference.h"
#include "mm/lease/lease.h"
#include "mm/lock/lock.h"
#include "mm/mempolicy/mempolicy.h"
#include "mm/page/install.h"
#include "mm/page/zero_page.h"
#include "mm/retrieve/wire.h"
#include "mm/space/entry.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "msg/channel.h"
#include "msg/request/long_answer.h"

/* The answers by which the page has the asker's frame. */
#define TAKES (1u << SPACE_TAKEN | 1u << SPACE_COPIED | 1u << SPACE_TAKEN_BLOCK)

/* Maps the asker's frame SPARE at PAGE, which lies in AREA and whose entry is SEEN (paging_look), by a borrowed entry.
 */
static void take_spare_locked(struct space *space, uint64_t page, const uint64_t *seen, uint64_t spare,
                              const struct area *area, struct msg_space_got *got)
{
    uint64_t *entry = paging_entry_seen(&space->tables, page, seen);

    if (entry == NULL)
        return; /* the asker then takes the page's lock, and finds out there that memory is short */
    *entry = space_entry(space, page, spare, area->prot, false, false, PAGING_SOFT_REMOTE);
    got->kind = SPACE_TAKEN;
}

/* Adds runs of pages around PAGE, whose entry is ENTRY, in its table and area and up to the nearest leases, unless a
 * lock request overlaps that range. */
static void add_runs_locked(const struct space *space, uint64_t page, const uint64_t *entry, const struct area *area,
                            uint32_t most, struct msg_space_got *got)
{
    uint64_t start = page & ~(LEAF_SIZE - 1), end = start + LEAF_SIZE;

    if (backing_is_file(area->backing)) /* a file is mapped block by block: the asker has got the blocks below */
        start = page & ~(AROUND_ASKED * PAGE_SIZE - 1);
    if (start < area->start)
        start = area->start;
    if (end > area->end)
        end = area->end;
    lease_clip_locked(space, page, &start, &end);
    if (space_locking->taken_locked(space, start, end))
        return;
    got->runs = (uint8_t)space_runs_list_locked(entry, page, start, end, got->cow != 0, got->run + got->backed, most);
    if (got->runs == 1 && SPACE_RUN_LENGTH(space_got_runs(got)[0]) == 1)
        got->runs = 0; /* the page alone, which the asker maps in any case */
}

/* The order of the largest aligned block of pages around PAGE that lies in AREA and in one table. */
static uint32_t block_of(const struct area *area, uint64_t page)
{
    uint32_t block = SPACE_BLOCK_MAX;

    while ((page & ~((PAGE_SIZE << block) - 1)) < area->start || (page | ((PAGE_SIZE << block) - 1)) >= area->end)
        block--;
    return block;
}

/* True when neither a lock request nor a lease overlaps the block of 2^BLOCK pages around PAGE. */
static inline bool block_still_locked(const struct space *space, uint64_t page, uint32_t block)
{
    uint64_t start = page & ~((PAGE_SIZE << block) - 1);

    return !space_locking->taken_locked(space, start, start + (PAGE_SIZE << block)) &&
           (lease_map_empty(&space->leases.map) ||
            lease_lowest_locked(space, start, start + (PAGE_SIZE << block)) == start + (PAGE_SIZE << block));
}

/* Maps the page of the file behind AREA at PAGE, if the home has no entry there, the file is this kernel's, and the
 * asker does not need a copy of its own, as it does for a write to a private page. A page that is new to the file is
 * wanted on the node of SPARE, the asker's frame, which its thread's policy allows; without one it may be wanted where
 * this kernel has no memory, and the asker takes the page's lock. True: it is mapped now. */
static bool find_file_locked(struct space *space, uint64_t page, const struct area *area, uint32_t access,
                             uint64_t spare)
{
    const uint64_t *entry = paging_entry(&space->tables, page, false);
    struct placement where = {.centre = mempolicy_own_node()};

    if (spare != 0)
        where.centre = policy_node_of(spare);
    where.nodes = spare != 0 ? 1ull << where.centre : policy_machine_nodes() & ~frame_nodes();
    return (entry == NULL || *entry == 0) && ((access & AREA_WRITE) == 0 || (area->prot & AREA_SHARED) != 0) &&
           space_install_file_locked(space, page, area, access, &where) == 0;
}

/* How many spaces have the frame of ENTRY; 0: not known here. */
static uint32_t spaces_of(uint64_t entry, const struct msg_space_get *ask, uint32_t asker)
{
    if ((entry & PAGING_SOFT_REMOTE) == 0)
        return frame_spaces(entry & PAGING_FRAME);
    if ((ask->has & (SPACE_HAS_SOLE | SPACE_HAS_COPY)) == 0 || frame_owner(entry & PAGING_FRAME) != asker)
        return 0;
    return (ask->has & SPACE_HAS_SOLE) != 0 ? 1 : 2;
}

/* The kernels besides the home and ASKER that may have an entry for PAGE. */
static kernel_set others_locked(const struct space *space, uint64_t page, uint32_t asker)
{
    return space_sharers_locked(space, (struct space_range){page, page + PAGE_SIZE}) & space->members &
           ~(1ull << asker | 1ull << instance.kernel);
}

/* True when the asker's SPARE may replace the copy-on-write frame of ENTRY: no third kernel may have an entry, and the
 * space's reference to the old frame is the home's or the asker's. */
static bool may_copy_locked(const struct space *space, const struct area *area, uint64_t page, uint64_t entry,
                            const struct msg_space_get *ask, uint32_t asker)
{
    bool owning = (entry & PAGING_SOFT_OWNING) != 0, remote = (entry & PAGING_SOFT_REMOTE) != 0;

    return (ask->has & SPACE_HAS_NO_ENTRY) != 0 && ask->spare != 0 && frame_owner(ask->spare) == asker &&
           owning == !remote && remote == ((ask->has & SPACE_HAS_COPY) != 0) &&
           others_locked(space, page, asker) == 0 && mempolicy_accepts_locked(space, area->prot, page, ask->spare);
}

/* ASKER writes to a copy-on-write page. If no other space has the frame, it may be written to. Otherwise the asker's
 * frame takes its place, with the same content; from then on no kernel but the asker can have an entry for the old one,
 * and the asker has made its own not present. False: the page must be locked. */
static bool break_locked(struct space *space, const struct area *area, uint64_t page, const struct msg_space_get *ask,
                         uint32_t asker, struct msg_space_got *got)
{
    uint64_t *entry = paging_entry(&space->tables, page, false), old = *entry;
    uint32_t spaces = spaces_of(old, ask, asker);

    if ((old & PAGING_SOFT_REPLICATED) != 0)
        return false; /* others, or other threads of the asker, may have copies */
    if (spaces == 1) {
        if ((old & PAGING_SOFT_REMOTE) == 0) /* else a fork may have taken it since the asker has looked */
            *entry = space_entry(space, page, old & PAGING_FRAME, area->prot, false, (old & PAGING_SOFT_OWNING) != 0,
                                 0);
        got->cow = 0;
        return true;
    }
    if (spaces == 0 || !may_copy_locked(space, area, page, old, ask, asker))
        return false;
    if ((old & PAGING_SOFT_REMOTE) == 0)
        frame_copy_out(ask->spare, old & PAGING_FRAME);
    *entry = space_entry(space, page, ask->spare, area->prot, false, false, PAGING_SOFT_REMOTE);
    space_flush(space, page, page + PAGE_SIZE);
    if ((old & PAGING_SOFT_OWNING) != 0) {
        space_hold_pages_locked(space, -1);
        frame_release(old & PAGING_FRAME);
    }
    got->kind = SPACE_COPIED;
    return true;
}

/* Marks what KERNEL may map, or know of, by the answer GOT: the block that it describes, and from its first run, which
 * is the lowest, to its last. Not more: a mark of what is never mapped is not taken back by an unmap. */
static __attribute__((noinline)) void mark_locked(struct space *space, uint32_t kernel, uint64_t page,
                                                  const struct msg_space_got *got)
{
    uint64_t size = PAGE_SIZE << got->block, start = page & ~(size - 1), end = start + size;

    if (got->kind == SPACE_NONE || got->kind == SPACE_BUSY || got->kind == SPACE_LEASED)
        return;
    if (got->runs != 0) {
        const uint64_t *runs = space_got_runs(got);
        uint64_t table = page & ~(LEAF_SIZE - 1), last = runs[got->runs - 1];
        uint64_t first_page = table + SPACE_RUN_INDEX(runs[0]) * PAGE_SIZE;
        uint64_t last_end = table + (SPACE_RUN_INDEX(last) + SPACE_RUN_LENGTH(last)) * PAGE_SIZE;

        start = first_page < start ? first_page : start;
        end = last_end > end ? last_end : end;
    }
    sharers_mark(&space->sharers, start, end, 1ull << kernel);
}

/* Leases the empty pages around PAGE, which is one of them, to the asker. False: they are answered one by one. */
static bool lease_locked(struct space *space, const struct msg_space_get *ask, uint32_t asker, uint64_t page,
                         const struct area *area, const uint64_t *entry, struct msg_space_got *got)
{
    uint32_t prot = area->prot;
    struct space_range range;

    if (ask->spare == 0 || (ask->has & SPACE_HAS_DIRTY) != 0 || ask->huge == SPACE_HUGE_BLOCK ||
        !area_allows(prot, ask->access) ||
        !lease_empty_find_locked(space, asker, page, area, entry, ask->huge != SPACE_HUGE_NO, &range) ||
        (ask->huge != SPACE_HUGE_NO && huge_wanted_locked(space, area, page, ask->access)) ||
        !mempolicy_accepts_locked(space, prot, page, ask->spare) || !lease_empty_give_locked(space, asker, range))
        return false;
    if ((ask->has & SPACE_HAS_AREA) == 0)
        mempolicy_count_taken_locked(space, prot, ask->spare);
    got->kind = SPACE_LEASED;
    got->prot = (uint16_t)prot; /* it has no policy */
    got->run[0] = range.start;
    got->run[1] = range.end;
    return true;
}

/* BUSY, unless the page moves, or the asker has a lease of it that another thread of its has got meanwhile. */
static void refuse_locked(struct space *space, const struct msg_space_get *ask, uint32_t asker, uint64_t page,
                          const struct area *area, struct msg_space_got *got)
{
    if (!space->retrieval->home_knows)
        got->kind = SPACE_BUSY;
    else if (lease_is_of_locked(space, page, asker) && !space_locking->taken_locked(space, page, page + PAGE_SIZE))
        got->kind = SPACE_LEASED;
    else if (!space_still_answer_locked(space, page, area, ask, got))
        got->kind = SPACE_BUSY;
}

static void answer_locked(struct space *space, const struct msg_space_get *ask, uint32_t asker,
                          struct msg_space_got *got)
{
    uint32_t runs;
    uint64_t page = ask->page & ~(PAGE_SIZE - 1);
    const struct area *area = area_find(&space->areas, page);
    const uint64_t *entry = paging_look(&space->tables, page);
    bool known = (ask->has & SPACE_HAS_AREA) != 0 && ask->huge == SPACE_HUGE_NO;
    uint32_t block = area != NULL && !known ? block_of(area, page) : 0;
    bool still;

    if ((ask->has & SPACE_HAS_MEMORY) != 0 && area != NULL && (entry == NULL || *entry == 0) &&
        lease_locked(space, ask, asker, page, area, entry, got))
        return;
    still = block_still_locked(space, page, block);
    if (!still && !lease_map_empty(&space->leases.map)) { /* the home gives up a lease of its own here */
        lease_share_locked(space, page, page + PAGE_SIZE);
        still = block_still_locked(space, page, block);
    }
    /* home_knows: the strategy may have changed while the question was on its way */
    if (!space->retrieval->home_knows || (!still && (block == 0 || !block_still_locked(space, page, 0))) ||
        (entry != NULL && (*entry & PAGING_SOFT_PENDING_FREE) != 0)) {
        refuse_locked(space, ask, asker, page, area, got);
        return;
    }
    if (area == NULL)
        return;
    got->kind = SPACE_AREA;
    got->block = still && !backing_is_file(area->backing) ? (uint8_t)block : 0;
    got->prot = (uint16_t)area->prot;
    got->policy = (uint8_t)(area->prot >> AREA_POLICY_SHIFT);
    if (area->backing != BACKING_NONE) {
        got->backed = 1;
        got->run[0] = area_backing_at(area, page);
    }
    if (!area_allows(area->prot, ask->access))
        return;
    if (entry != NULL && zero_page_is(*entry))
        zero_page_let_go_locked(space, page, paging_entry(&space->tables, page, false));
    if (backing_is_file(area->backing) && find_file_locked(space, page, area, ask->access, ask->spare)) {
        entry = paging_entry(&space->tables, page, false);
        if ((ask->access & AREA_WRITE) == 0)
            around_map_locked(space, page, area, AROUND_ASKED);
    }
    if (entry == NULL || *entry == 0) {
        if (ask->huge != SPACE_HUGE_NO && got->block == SPACE_BLOCK_MAX &&
            huge_wanted_locked(space, area, page, ask->access) &&
            mempolicy_accepts_block_locked(space, area->prot, page, ask->huge == SPACE_HUGE_BLOCK ? ask->spare : 0)) {
            got->kind = huge_answer_locked(space, area, ask);
            if (got->kind != SPACE_AREA)
                return;
        }
        if (ask->spare != 0 && frame_owner(ask->spare) == asker && (ask->has & SPACE_HAS_DIRTY) == 0 &&
            (got->backed == 0 || (!backing_is_file(area->backing) && backing_left(got->run[0]) != 0)) &&
            mempolicy_accepts_locked(space, area->prot, page, ask->spare)) {
            if ((ask->has & SPACE_HAS_AREA) == 0)
                mempolicy_count_taken_locked(space, area->prot, ask->spare);
            take_spare_locked(space, page, entry, ask->spare, area, got);
        }
        return;
    }
    got->cow = (*entry & PAGING_SOFT_COW) != 0;
    if (got->cow != 0 && (ask->access & AREA_WRITE) != 0) {
        if (!break_locked(space, area, page, ask, asker, got)) {
            got->kind = SPACE_BUSY; /* the page must be copied with its lock */
            return;
        }
        if (got->kind == SPACE_COPIED)
            return;
    }
    got->kind = SPACE_FRAME;
    got->frame = *entry & PAGING_FRAME;
    got->replicated = (*entry & PAGING_SOFT_REPLICATED) != 0;
    got->marked = (*entry & PAGING_SOFT_MARKED) != 0;
    if ((*entry & PAGING_SOFT_REMOTE) == 0)
        frame_lend();
    runs = ask->runs == 0 && got->cow == 0 && ask->huge != SPACE_HUGE_NO && paging_large(&space->tables, page) != 0
               ? 1
               : ask->runs;
    if (got->backed != 0 && (runs == SPACE_RUNS_SHORT || runs == SPACE_RUNS_MAX))
        runs--; /* the backing has the place of one */
    if (runs != 0 && around_may_come(area))
        add_runs_locked(space, page, entry, area, runs, got);
}

/* Checks M and puts the answer into GOT. 0 or a negative errno. */
static int answer(const struct msg *m, struct msg_space_got *got)
{
    const struct msg_space_get *ask = m->data;
    struct space *space = space_get(ask->space);
    int error = 0;

    if (space == NULL)
        return -ESRCH;
    if (space->home != instance.kernel || (ask->spare & (PAGE_SIZE - 1)) != 0 || ask->page >= USER_END ||
        (ask->spare != 0 && frame_owner(ask->spare) != m->ticket.kernel &&
         (ask->huge != SPACE_HUGE_BLOCK || !frame_exists(ask->spare))))
        error = -EPROTO;
    spin_lock(&space->lock);
    if (error == 0) {
        answer_locked(space, ask, m->ticket.kernel, got);
        if ((1u << got->kind & TAKES) != 0 && got->kind != SPACE_TAKEN_BLOCK) /* that notes its owner by itself */
            owners_note(&space->owners, ask->page, m->ticket.kernel);
        if (!sharers_marked(&space->sharers, ask->page, got->block <= SHARERS_PART_ORDER && got->runs == 0,
                            1ull << m->ticket.kernel))
            mark_locked(space, m->ticket.kernel, ask->page, got);
    }
    spin_unlock(&space->lock);
    space_put(space);
    return error;
}

static void handle_get(const struct msg *m)
{
    const struct msg_space_get *ask = m->data;
    struct msg_space_got got = {.kind = SPACE_NONE};
    int error = ask->runs <= SPACE_RUNS_SHORT ? answer(m, &got) : -EPROTO;

    if (error != 0)
        msg_reply_error(&m->ticket, error);
    else
        msg_reply(&m->ticket, &got, sizeof(got));
}

union got_many {
    struct msg_space_got got;
    uint8_t room[offsetof(struct msg_space_got, run) + SPACE_RUNS_MAX * sizeof(uint64_t)];
};

struct got_long {
    struct long_answer head;
    union got_many many;
};

/* Only an answer with many runs takes several slots: it has nothing that the asker must know. An answer that takes the
 * asker's frame cannot be lost. */
static void handle_get_many(const struct msg *m)
{
    const struct msg_space_get *ask = m->data;
    union got_many many = {.got = {.kind = SPACE_NONE}};
    int error = ask->runs <= SPACE_RUNS_MAX ? answer(m, &many.got) : -EPROTO;
    uint32_t words = many.got.runs + space_got_backed(&many.got);
    struct got_long *answer = error == 0 && words > SPACE_RUNS_SHORT ? long_answer_create(sizeof(*answer)) : NULL;

    if (error != 0) {
        msg_reply_error(&m->ticket, error);
    } else if (answer != NULL) {
        answer->many = many;
        long_answer_send(m, &answer->head, &answer->many,
                         (uint32_t)(offsetof(struct msg_space_got, run) + words * sizeof(many.got.run[0])));
    } else {
        if (words > SPACE_RUNS_SHORT) /* without memory, fewer runs */
            many.got.runs = (uint8_t)(SPACE_RUNS_SHORT - space_got_backed(&many.got));
        msg_reply(&m->ticket, &many.got, sizeof(many.got));
    }
}

void space_get_init(void)
{
    msg_register(MSG_SPACE_GET, handle_get, sizeof(struct msg_space_get), sizeof(struct msg_space_got));
    msg_register(MSG_SPACE_GET_MANY, handle_get_many, sizeof(struct msg_space_get), sizeof(struct msg_space_got));
}
