/* The fast path of a fault, at the kernel that asks. See the header, and mm/retrieve/retrieval.md for the protocol.
 * mm/fault/answer.c is the home's side.
 *
 * A task sends the question and waits; the handler of the answer installs what it brings under space->lock. */
#include "mm/fault/get.h"

#include <stddef.h>

#include "kernel/abi/errno.h"
#include "kernel/instance/window.h"
#include "kernel/lib/list.h"
#include "kernel/wait/completion.h"
#include "mm/area/backing.h"
#include "mm/fault/huge.h"
#include "mm/fault/runs.h"
#include "mm/fault/still.h"
#include "mm/fault/wire.h"
#include "mm/frame/content.h"
#include "mm/frame/frame.h"
#include "mm/frame/reference.h"
#include "mm/lease/lease.h"
#include "mm/mempolicy/mempolicy.h"
#include "mm/page/install.h"
#include "mm/page/replica.h"
#include "mm/retrieve/adaptive.h"
#include "mm/retrieve/wire.h"
#include "mm/seen/mark.h"
#include "mm/seen/seen.h"
#include "mm/space/entry.h"
#include "mm/space/question.h"
#include "mm/space/wire.h"
#include "msg/request/call.h"

#define WANTS_BLOCK 2 /* a result: the home wants a block of 2 MiB */

/* A question under way, and its answer. */
struct space_get {
    struct space_question question;
    struct space *space;
    uint64_t page;
    uint32_t access;
    const uint64_t *entry; /* the page's entry, whose table stays while the question is under way */
    struct lease *lease;   /* memory for a lease; NULL: none, or it has been used */
    struct area *area;     /* memory for the page's area; NULL: the area is known, or the memory has been used */
    uint64_t spare;        /* a frame of this kernel, zeroed or not as HAS says; 0: none, or it has been used */
    uint64_t block; /* a zeroed block of 2 MiB, perhaps of another kernel, that contains SPARE; 0: none, or it has
                       been used */
    uint32_t huge;  /* enum space_huge */
    uint32_t has;   /* enum space_has */
    uint32_t runs;  /* the most runs that are wanted */
    uint64_t taken; /* space->taken when the question began */
    uint64_t noted; /* space->leases.noted when the question began */
    bool breaks;    /* the page's entry is copy-on-write, and not present while the question is under way */
    bool lost;      /* the answer, of several slots, was lost for want of memory: it had not taken SPARE */
    int result;
    struct completion done;
};

/* True if a lease of empty pages has come since the question, by an answer that may have been sent later than this one:
 * the answers of SPACE_GET overtake those of SPACE_GET_MANY. */
static bool overtaken_locked(const struct space_get *get)
{
    return get->runs > SPACE_RUNS_SHORT && get->noted != get->space->leases.noted;
}

/* Makes an area of the block around the page, as the answer describes it, if this kernel has none there. Changes of the
 * block that reach this kernel are deferred until the answer has arrived, so the description is still true; but for
 * those that this kernel has made alone since, if a lease of empty pages has come: then only the page's. */
static void note_area_locked(struct space_get *get, const struct msg_space_got *answer)
{
    uint64_t size = overtaken_locked(get) ? PAGE_SIZE : PAGE_SIZE << answer->block, start = get->page & ~(size - 1);

    if (get->area != NULL &&
        area_set_reserved(&get->space->areas, get->area, get->page, start, start + size, space_got_prot(answer),
                          backing_at(space_got_backing(answer), (int64_t)(start - get->page))))
        get->area = NULL;
}

/* The same for all of the page's table, which lies in one area at the home. It needs no memory: where areas exist in
 * the table they are merged, and otherwise get->area is there. */
static void note_block_area_locked(struct space_get *get, const struct msg_space_got *answer)
{
    uint64_t start = get->page & ~(LEAF_SIZE - 1);

    if (!area_grow_together(&get->space->areas, start, start + LEAF_SIZE, space_got_prot(answer),
                            backing_at(space_got_backing(answer), (int64_t)(start - get->page))))
        note_area_locked(get, answer);
}

/* True when the lease of the answer fits the question, about a page that has no entry here. */
static bool lease_valid(const struct space_get *get, const struct msg_space_got *answer)
{
    struct space_range range = space_got_lease(answer);

    if (range.end == 0)
        return true;
    return ((range.start | range.end) & (PAGE_SIZE - 1)) == 0 && range.start >= get->question.start &&
           range.end <= get->question.end && range.start <= get->page && range.end > get->page && get->lease != NULL &&
           get->spare != 0 && get->block == 0 && (get->has & SPACE_HAS_DIRTY) == 0 && answer->backed == 0 &&
           (get->area != NULL || area_overlaps(&get->space->areas, range.start, range.end)) &&
           lease_fits_locked(get->space, range);
}

/* True when the answer fits the question; ENTRY is the page's entry. */
static bool answer_valid(const struct space_get *get, const struct msg_space_got *answer, uint64_t entry)
{
    if (answer->block > SPACE_BLOCK_MAX)
        return false;
    if (answer->kind == SPACE_TAKEN)
        return get->spare != 0 && (get->has & SPACE_HAS_DIRTY) == 0 &&
               (get->block == 0 || frame_owner(get->block) == instance.kernel) &&
               (entry == 0 || (entry & PAGING_FRAME) == get->spare);
    if (answer->kind == SPACE_LEASED)
        return space_got_lease(answer).end == 0 || (entry == 0 && lease_valid(get, answer));
    if (answer->kind == SPACE_COPIED)
        return get->spare != 0 && (get->has & SPACE_HAS_NO_ENTRY) != 0 &&
               (entry == 0 || ((entry & PAGING_SOFT_COW) != 0 && (entry & PAGING_SOFT_PENDING_FREE) == 0));
    if (answer->kind == SPACE_WANTS_BLOCK)
        return get->huge == SPACE_HUGE_MAY;
    if (answer->kind == SPACE_TAKEN_BLOCK)
        return get->huge == SPACE_HUGE_BLOCK && get->block != 0 && answer->block == SPACE_BLOCK_MAX;
    if (answer->kind == SPACE_FRAME || answer->kind == SPACE_MOVES)
        return (answer->frame & ~PAGING_FRAME) == 0 && frame_owner(answer->frame) != KERNELS_MAX;
    return answer->kind == SPACE_NONE || answer->kind == SPACE_AREA || answer->kind == SPACE_BUSY;
}

/* Maps the spare frame at the page by an owning entry. */
static inline __attribute__((always_inline)) void own_spare_locked(struct space_get *get, const uint64_t *seen,
                                                                   const struct msg_space_got *answer)
{
    uint64_t *entry = paging_entry_seen(&get->space->tables, get->page, seen);

    if (get->block == 0) /* the frames of a block have a reference already */
        frame_share(get->spare);
    *entry = space_entry_own(get->spare, answer->prot, answer->cow != 0, 0);
    space_hold_pages_locked(get->space, 1);
    if (answer->backed != 0)
        space_name_frame(get->spare, answer->run[0]);
    get->spare = 0;
}

/* The page is in a lease: one that comes with the answer, or that this kernel has had since the question was sent. This
 * needs no memory. Results as of take_answer_locked. */
static int take_lease_locked(struct space_get *get, const struct msg_space_got *answer)
{
    struct space *space = get->space;
    struct space_range range = space_got_lease(answer);

    if (range.end == 0)
        return lease_covers_locked(space, get->page, get->page + PAGE_SIZE) ? SPACE_GET_AGAIN : 1;
    lease_note_locked(space, range, get->lease);
    get->lease = NULL;
    if (!area_grow_together(&space->areas, range.start, range.end, space_got_prot(answer), BACKING_NONE) &&
        area_set_reserved(&space->areas, get->area, get->page, range.start, range.end, space_got_prot(answer),
                          BACKING_NONE))
        get->area = NULL;
    own_spare_locked(get, get->entry, answer);
    space_count_answer_locked(space, SPACE_AREA, false);
    return 0;
}

/* Makes the page's entry present again as it was before the question, unless a task that has the page's lock, so that
 * the answer is BUSY, has changed it. */
static void show_locked(const struct space_get *get)
{
    uint64_t *entry = paging_entry(&get->space->tables, get->page, false);

    if (entry != NULL && (*entry & PAGING_SOFT_ASKED) != 0)
        *entry = space_entry_shown(*entry);
}

/* The page has the spare frame, a copy of the frame that it had, and no other kernel but the home has an entry for it.
 * If the old frame's reference is this kernel's, it is released; its memory is, too. */
static void own_copy_locked(struct space_get *get, const struct msg_space_got *answer)
{
    uint64_t *entry = paging_entry(&get->space->tables, get->page, false), old = *entry;

    if (get->block == 0)
        frame_share(get->spare);
    *entry = space_entry_own(get->spare, answer->prot, false, 0);
    get->spare = 0;
    get->space->stats.cow_copies++;
    if ((old & PAGING_SOFT_OWNING) != 0)
        frame_release(old & PAGING_FRAME);
    else
        space_hold_pages_locked(get->space, 1);
}

/* No other space has the frame, which this kernel's copy-on-write entry should name. If the home has that from this
 * kernel, no fork must have been here since: the question may have been sent in the middle of one. The number of spaces
 * now says nothing, as a task that has locked the page may have seen more. False: the page must be locked. */
static bool upgrade_locked(struct space_get *get, const struct msg_space_got *answer)
{
    uint64_t *entry = paging_entry(&get->space->tables, get->page, false);

    if (answer->cow != 0 || (*entry & PAGING_FRAME) != answer->frame ||
        ((get->has & SPACE_HAS_SOLE) != 0 && get->taken != get->space->taken))
        return false;
    *entry = space_entry(get->space, get->page, *entry & PAGING_FRAME, answer->prot, false,
                         (*entry & PAGING_SOFT_OWNING) != 0, 0);
    get->space->stats.cow_upgrades++;
    return true;
}

/* Maps a copy of the page's frame in the spare frame, if the page is replicated. */
static bool copy_found_locked(struct space_get *get, const struct msg_space_got *answer)
{
    return answer->replicated != 0 && answer->cow != 0 && answer->marked == 0 && get->spare != 0 && get->block == 0 &&
           replica_install_locked(get->space, get->page, answer->frame, space_got_prot(answer), &get->spare);
}

/* Maps what the answer brings at the page, whose entry SEEN is empty: a copy, or the page's frame. */
static void map_found_locked(struct space_get *get, const uint64_t *seen, const struct msg_space_got *answer)
{
    struct space *space = get->space;

    if (copy_found_locked(get, answer))
        return;
    *paging_entry_seen(&space->tables, get->page,
                       seen) = space_entry(space, get->page, answer->frame, answer->prot, answer->cow != 0, false,
                                           answer->replicated != 0 ? PAGING_SOFT_REPLICATED : 0);
    seen_mapped_locked(space, answer->frame);
}

/* Installs what the answer brings; the page's table exists. 0, a negative errno, 1: the caller takes the page's lock,
 * or WANTS_BLOCK. */
static int take_answer_locked(struct space_get *get, const struct msg_space_got *answer)
{
    struct space *space = get->space;
    const uint64_t *seen = get->entry;
    bool new = *seen == 0;

    if (get->breaks)
        show_locked(get);
    if (!answer_valid(get, answer, *seen) || answer->kind == SPACE_BUSY)
        return 1;
    if (answer->kind == SPACE_NONE) {
        space_count_answer_locked(space, SPACE_NONE, false);
        return -EFAULT;
    }
    if (answer->kind == SPACE_LEASED)
        return take_lease_locked(get, answer);
    if (answer->kind == SPACE_AREA && overtaken_locked(get))
        return 1; /* the page may be in the lease, and unmapped there by now */
    note_area_locked(get, answer);
    if (answer->kind == SPACE_WANTS_BLOCK)
        return WANTS_BLOCK;
    if (answer->kind == SPACE_TAKEN_BLOCK) {
        note_block_area_locked(get, answer);
        huge_hold_block_locked(space, get->page, get->block, answer->prot);
        for (uint64_t i = 0; i < LEAF_ENTRIES && answer->backed != 0; i++)
            space_name_frame(
                get->block + i * PAGE_SIZE,
                backing_at(answer->run[0], (int64_t)(i * PAGE_SIZE) - (int64_t)(get->page & (LEAF_SIZE - 1))));
        get->block = get->spare = 0;
        return 0;
    }
    if (answer->kind == SPACE_TAKEN) {
        own_spare_locked(get, seen, answer);
        space_count_answer_locked(space, SPACE_AREA, backing_is_file(space_got_backing(answer)));
        return 0;
    }
    if (!area_allows(answer->prot, get->access))
        return space_forbidden(answer->prot);
    if (answer->kind == SPACE_MOVES) {
        if (get->question.superseded)
            return SPACE_GET_AGAIN;
        if (*seen == 0)
            *paging_entry_seen(&space->tables, get->page, seen) = space_still_entry_locked(space, get->page, answer);
        space_count_answer_locked(space, SPACE_FRAME, answer->backed != 0);
        return 0;
    }
    if (answer->kind == SPACE_COPIED) {
        own_copy_locked(get, answer);
        space_count_answer_locked(space, SPACE_FRAME, backing_is_file(space_got_backing(answer)));
        return 0;
    }
    if (answer->kind == SPACE_AREA || (*seen & PAGING_SOFT_PENDING_FREE) != 0)
        return 1;
    if (new)
        map_found_locked(get, seen, answer);
    else if ((*seen & PAGING_SOFT_COW) != 0 && (get->access & AREA_WRITE) != 0) {
        if (!upgrade_locked(get, answer))
            return 1;
    }
    space_count_answer_locked(space, SPACE_FRAME, backing_is_file(space_got_backing(answer)));
    if (answer->runs != 0)
        space_runs_install_locked(space, get->page, get->question.start, get->question.end, space_got_runs(answer),
                                  answer->runs, space_got_prot(answer), answer->cow != 0, space_got_backing(answer));
    if (new && answer->marked != 0 && !get->question.superseded && mark_new_locked(space, get->page))
        return SPACE_GET_AGAIN; /* the fault finds it marked, and moves it; a mark that is gone meanwhile supersedes */
    if (get->huge != SPACE_HUGE_NO && answer->runs != 0 && answer->cow == 0 &&
        SPACE_RUN_LENGTH(space_got_runs(answer)[0]) == LEAF_ENTRIES)
        huge_show_locked(space, get->page, answer->prot);
    return 0;
}

/* True when the answer has the length that its number of runs requires. */
static bool answer_whole(const struct msg_space_got *answer, int length)
{
    return length >= (int)sizeof(*answer) &&
           (answer->runs + space_got_backed(answer) <= SPACE_RUNS_SHORT ||
            (answer->runs + space_got_backed(answer) <= SPACE_RUNS_MAX &&
             (size_t)length >= offsetof(struct msg_space_got, run) +
                                   (answer->runs + space_got_backed(answer)) * sizeof(answer->run[0])));
}

/* Reports to strategy adaptive what the answer has brought. */
static void adapt_locked(struct space_get *get, const struct msg_space_got *answer)
{
    space_adapt_answer_locked(get->space, get->page, answer->kind == SPACE_FRAME,
                              answer->runs > 0 ? space_got_runs(answer)[answer->runs - 1] : 0);
}

static void take_answer(void *context, uint32_t kernel, const void *reply, int length)
{
    struct space_get *get = context;
    struct space *space = get->space;
    struct list ready;

    (void)kernel;
    list_init(&ready);
    spin_lock(&space->lock);
    space->stats.fetches++;
    get->lost = !answer_whole(reply, length);
    if (get->lost && get->breaks)
        show_locked(get);
    get->result = get->lost ? 1 : take_answer_locked(get, reply);
    if (space->retrieval->adapts && !get->lost && get->result <= 0)
        adapt_locked(get, reply);
    if (get->lease != NULL)
        lease_memory_return_locked(space, get->lease);
    space_question_end_locked(space, &get->question, &ready);
    spin_unlock(&space->lock);
    if (!list_empty(&ready))
        space_deferred_run(&ready);
    completion_signal(&get->done); /* last: then the task may end, and the space with it */
}

static bool is_own(uint64_t entry)
{
    return (entry & (PAGING_SOFT_OWNING | PAGING_SOFT_REMOTE | PAGING_SOFT_PENDING_FREE)) == PAGING_SOFT_OWNING;
}

/* True if the home may lease empty pages around the page: this kernel has no table there, or nothing in it, or a page
 * of its own is next to the page. Not by SPACE_GET_MANY: the grant of a fork's lock may overtake its answer. */
static bool may_lease(const struct space_get *get)
{
    uint32_t index = paging_index(get->page);

    if (get->spare == 0 || get->block != 0 || (get->has & SPACE_HAS_DIRTY) != 0 || get->runs > SPACE_RUNS_SHORT)
        return false;
    return get->entry == NULL || get->huge == SPACE_HUGE_MAY || (index > 0 && is_own(get->entry[-1])) ||
           (index + 1 < LEAF_ENTRIES && is_own(get->entry[1]));
}

/* Allocates what the answer needs in AREA, or where none is known, and registers the question, so that changes of the
 * range that the answer may bring are deferred. Does not split a large page that another thread has mapped meanwhile.
 * False: no memory. */
static bool begin_locked(struct space_get *get, const struct area *area, bool wide)
{
    struct space *space = get->space;
    bool leases = may_lease(get);

    if (get->entry == NULL && (get->entry = paging_entry(&space->tables, get->page, true)) == NULL)
        return false;
    if (area == NULL && get->area == NULL && (get->area = area_reserve()) == NULL)
        return false;
    get->lease = leases ? lease_memory_locked(space) : NULL;
    wide = wide || get->area != NULL || get->lease != NULL;
    get->question.start = wide ? get->page & ~(LEAF_SIZE - 1) : get->page;
    get->question.end = get->question.start + (wide ? LEAF_SIZE : PAGE_SIZE);
    get->question.page = get->page;
    get->question.copies = (get->has & SPACE_HAS_NO_ENTRY) != 0;
    get->noted = space->leases.noted;
    space_question_begin_locked(space, &get->question);
    return true;
}

/* True when the answer to another thread has made the page usable meanwhile. */
static bool here_locked(const struct space_get *get)
{
    const struct area *area = area_find(&get->space->areas, get->page);
    const uint64_t *entry = paging_look(&get->space->tables, get->page);

    return area != NULL && area_allows(area->prot, get->access) && entry != NULL && *entry != 0 &&
           (*entry & PAGING_SOFT_PENDING_FREE) == 0 &&
           ((get->access & AREA_WRITE) == 0 || (*entry & PAGING_SOFT_COW) == 0);
}

/* True if another thread of this kernel has a question about the page under way; *COPIES: the home may answer it with a
 * copy. */
static bool asked_locked(const struct space_get *get, bool *copies)
{
    bool asked = false;

    list_for_each(node, &get->space->gets) {
        const struct space_get *other = container_of(node, const struct space_get, question.node);

        if (other->page != get->page)
            continue;
        asked = true;
        *copies |= (other->has & SPACE_HAS_NO_ENTRY) != 0;
    }
    return asked;
}

/* The page has a frame that this kernel owns and may not write to: what the home has to know of it. False: the frame is
 * a peer's, which must be asked, too. */
static bool note_owned_locked(struct space_get *get, uint64_t entry)
{
    if ((entry & PAGING_SOFT_REMOTE) != 0)
        return false;
    if (frame_spaces(entry & PAGING_FRAME) == 1)
        get->has |= SPACE_HAS_SOLE;
    return true;
}

/* Takes a frame for the page: zeroed, or, if it is for a copy of what ENTRY maps, which need not be. */
static void take_spare_locked(struct space_get *get, const struct area *area, uint64_t entry)
{
    bool copy = entry != 0, elsewhere;

    get->spare = mempolicy_frame_here_locked(get->space, area != NULL ? area->prot : 0, get->page, !copy, &elsewhere);
    if (!copy) {
        get->huge = SPACE_HUGE_MAY; /* a block is got by the mempolicy of the area, which the answer tells */
        return;
    }
    get->has |= SPACE_HAS_DIRTY;
    if (get->spare != 0 && (entry & PAGING_SOFT_OWNING) != 0) { /* no thread of any space writes to it */
        frame_copy(get->spare, entry & PAGING_FRAME);
        get->has |= SPACE_HAS_COPY;
    }
}

/* Decides what is asked for. While an answer may change the page's frame, no other thread of this kernel may ask for
 * the page, and none can read it, as threads of the home may write to the new frame before the answer is here. False:
 * nothing is to be asked, and get->result is set. */
static bool prepare_locked(struct space_get *get, const struct area *area)
{
    uint64_t entry = get->entry != NULL ? *get->entry : 0;
    bool write = (get->access & AREA_WRITE) != 0, copies = false, breaks;
    bool asked = !list_empty(&get->space->gets) && asked_locked(get, &copies);

    if (write && replica_is(entry)) { /* another thread has read the page since this one has dropped the copy */
        replicas_drop_locked(get->space, get->page, get->page + PAGE_SIZE);
        entry = 0;
    }
    breaks = write && (entry & PAGING_SOFT_COW) != 0 && (entry & PAGING_SOFT_PENDING_FREE) == 0;
    get->result = SPACE_GET_AGAIN;
    if (asked && (breaks || copies))
        return false;
    if ((entry & PAGING_SOFT_ASKED) != 0) { /* the page has moved here while a question about it was under way */
        uint64_t *moved = paging_entry(&get->space->tables, get->page, false);

        *moved = space_entry_shown(*moved);
        return false;
    }
    get->result = 1;
    if (breaks && (entry & PAGING_SOFT_OWNING) != 0 && !note_owned_locked(get, entry))
        return false;
    if (write && !asked && (breaks || (entry == 0 && get->runs <= SPACE_RUNS_SHORT)))
        get->has |= SPACE_HAS_NO_ENTRY;
    get->result = -ENOMEM;
    if ((get->has & SPACE_HAS_SOLE) == 0)
        take_spare_locked(get, area, breaks ? entry : 0);
    if (breaks)
        get->runs = 0;
    get->breaks = breaks;
    get->taken = get->space->taken;
    return true;
}

/* Until the answer no thread of this kernel reads through the page's copy-on-write entry. */
static void hide_locked(struct space_get *get)
{
    uint64_t *entry = paging_entry(&get->space->tables, get->page, false);

    get->entry = entry;
    *entry = (*entry & ~PAGING_PRESENT) | PAGING_SOFT_ASKED;
    space_flush(get->space, get->page, get->page + PAGE_SIZE);
}

/* Asks once and waits for the answer; FIRST: decides what is asked for. False: nothing was asked, as get->result says,
 * or because there was no memory. */
static bool question(struct space_get *get, bool first)
{
    struct space *space = get->space;
    struct msg_space_get ask = {.space = space->id, .page = get->page, .access = (uint16_t)get->access};
    struct wait_reason reason = {.what = "mapping of a page", .kernel = (int32_t)space->home, .key = get->page};
    struct msg_asking asking;
    const struct area *area;
    const uint64_t *leaf;
    bool begun;

    completion_init(&get->done);
    spin_lock(&space->lock);
    leaf = paging_look(&space->tables, get->page & ~(LEAF_SIZE - 1));
    get->entry = leaf != NULL ? leaf + paging_index(get->page) : NULL;
    area = area_find(&space->areas, get->page);
    begun = !first || prepare_locked(get, area);
    if (begun) {
        if (get->huge != SPACE_HUGE_NO && (get->runs > SPACE_RUNS_SHORT || !huge_may_take(area, get->page, leaf)))
            get->huge = SPACE_HUGE_NO;
        begun = begin_locked(get, area, get->runs != 0 || get->huge != SPACE_HUGE_NO);
    }
    if (begun && get->breaks)
        hide_locked(get);
    spin_unlock(&space->lock);
    if (!begun)
        return false;
    if (get->huge == SPACE_HUGE_BLOCK || get->block == 0 || frame_owner(get->block) == instance.kernel)
        ask.spare = get->spare; /* the home takes another kernel's frame as a part of a block only */
    ask.has = (uint16_t)(get->has | (area != NULL ? SPACE_HAS_AREA : 0) | (get->lease != NULL ? SPACE_HAS_MEMORY : 0));
    ask.huge = (uint16_t)get->huge;
    ask.runs = (uint16_t)get->runs;
    msg_ask(&asking, space->home, get->runs > SPACE_RUNS_SHORT ? MSG_SPACE_GET_MANY : MSG_SPACE_GET, &ask, sizeof(ask),
            take_answer, get);
    msg_wait(&get->done, &reason);
    return true;
}

/* If another thread of this kernel has asked with a block for the page's 2 MiB, waits for its answer. True: the page is
 * usable here. */
static bool block_comes(struct space_get *get)
{
    struct space *space = get->space;
    bool asked = false, here;

    spin_lock(&space->lock);
    list_for_each(node, &space->gets) {
        const struct space_get *other = container_of(node, const struct space_get, question.node);

        asked |= other->huge == SPACE_HUGE_BLOCK && other->question.start == (get->page & ~(LEAF_SIZE - 1));
    }
    here = here_locked(get);
    spin_unlock(&space->lock);
    if (!asked || here)
        return here;
    space_gets_await(space, (struct space_range){get->page, get->page + PAGE_SIZE});
    spin_lock(&space->lock);
    here = here_locked(get);
    spin_unlock(&space->lock);
    return here;
}

/* A block for the page's 2 MiB by the mempolicy of its area, which the first answer has told. 0: there is none. */
static uint64_t block_wanted(const struct space_get *get)
{
    const struct area *area;
    bool known;
    uint32_t prot;

    spin_lock(&get->space->lock);
    area = area_find(&get->space->areas, get->page);
    known = area != NULL;
    prot = known ? area->prot : 0;
    spin_unlock(&get->space->lock);
    return known ? huge_block(get->space, prot, get->page) : 0;
}

/* Asks again with a block for the page's 2 MiB, or for the page alone if there is no block; not at all if another
 * thread's block has come, or if there is nothing to offer. */
static void question_with_block(struct space_get *get)
{
    uint64_t block;

    get->result = 0;
    if (block_comes(get))
        return;
    get->has &= ~SPACE_HAS_NO_ENTRY; /* another thread may have fetched the page since the first question */
    block = block_wanted(get);
    if (block == 0 && get->spare == 0) {
        get->result = 1; /* the page's frame is another kernel's, to be asked for with the page's lock */
        return;
    }
    if (block != 0) {
        if (get->spare != 0)
            frame_free_zeroed(get->spare);
        get->spare = block + (get->page & (LEAF_SIZE - 1));
    }
    get->block = block;
    get->huge = block != 0 ? SPACE_HUGE_BLOCK : SPACE_HUGE_NO;
    if (!question(get, false))
        get->result = -ENOMEM;
    if (get->block == 0)
        return;
    huge_block_release(block, get->spare == 0 ? block + (get->page & (LEAF_SIZE - 1)) : 0);
    get->spare = 0;
}

int space_get_page(struct space *space, uint64_t page, uint32_t access)
{
    struct space_get get; /* not set to zeros: the rest is set before it is used */
    bool asked;

    get.question.superseded = false;
    get.space = space;
    get.page = page;
    get.access = access;
    get.area = NULL;
    get.spare = get.block = 0;
    get.huge = SPACE_HUGE_NO;
    get.has = 0;
    get.runs = space->prefetch; /* read once: it may change */
    get.breaks = get.lost = false;
    asked = question(&get, true);
    if (asked && get.result == WANTS_BLOCK)
        question_with_block(&get);
    if (asked && get.lost && get.runs > SPACE_RUNS_SHORT) {
        get.runs = 0; /* an answer of one slot needs no memory and is not lost */
        get.has &= ~SPACE_HAS_NO_ENTRY;
        question(&get, false);
    }
    if (get.area != NULL)
        area_unreserve(get.area);
    if (get.spare != 0 && (get.has & SPACE_HAS_DIRTY) != 0)
        frame_free(get.spare, 0);
    else if (get.spare != 0)
        frame_free_zeroed(get.spare);
    if (get.result == SPACE_GET_AGAIN)
        space_gets_await(space, (struct space_range){page, page + PAGE_SIZE});
    return get.result;
}
