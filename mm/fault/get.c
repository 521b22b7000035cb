/* The short way of a fault, both sides. See the header, and mm/retrieve/retrieval.md for the protocol. */
#include "mm/fault/get.h"

#include <stddef.h>

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/instance/instance.h"
#include "kernel/instance/window.h"
#include "kernel/lib/log.h"
#include "mm/fault/huge.h"
#include "mm/fault/runs.h"
#include "mm/frame/frame.h"
#include "mm/frame/heap.h"
#include "mm/frame/reference.h"
#include "mm/frame/zero_page.h"
#include "mm/lease/lease.h"
#include "mm/policy/policy.h"
#include "msg/channel.h"

static bool overlap(uint64_t a_start, uint64_t a_end, uint64_t b_start, uint64_t b_end)
{
    return a_start < b_end && b_start < a_end;
}

#define WANTS_BLOCK 2 /* an answer's result */

/* --- what waits for answers --- */

/* One of the first NUMBER questions that overlaps the range is under way. */
static bool asked_locked(const struct space *space, uint64_t start, uint64_t end, uint64_t number)
{
    list_for_each(node, &space->gets) {
        const struct space_get *get = container_of(node, const struct space_get, node);

        if (get->number <= number && overlap(get->start, get->end, start, end))
            return true;
    }
    return false;
}

bool space_defer_locked(struct space *space, struct space_deferred *deferred)
{
    deferred->number = space->get_count;
    if (list_empty(&space->gets) || !asked_locked(space, deferred->start, deferred->end, deferred->number))
        return false;
    list_append(&space->deferred, &deferred->node);
    return true;
}

/* An answer has come: moves what waited for nothing else to READY. */
static void collect_ready_locked(struct space *space, struct list *ready)
{
    list_for_each_safe(node, &space->deferred) {
        struct space_deferred *deferred = container_of(node, struct space_deferred, node);

        if (asked_locked(space, deferred->start, deferred->end, deferred->number))
            continue;
        list_remove(&deferred->node);
        list_append(ready, &deferred->node);
    }
}

static void run_ready(struct list *ready)
{
    list_for_each_safe(node, ready) {
        struct space_deferred *deferred = container_of(node, struct space_deferred, node);

        list_remove(&deferred->node);
        deferred->run(deferred);
    }
}

struct awaiting {
    struct space_deferred deferred;
    struct completion done;
};

static void awaited(struct space_deferred *deferred)
{
    completion_signal(&container_of(deferred, struct awaiting, deferred)->done);
}

void space_gets_await(struct space *space, struct space_range range)
{
    struct awaiting awaiting = {.deferred = {.start = range.start, .end = range.end, .run = awaited}};
    struct wait_reason reason = {
        .what = "answer to a fault of another thread", .kernel = (int32_t)space->home, .key = range.start};
    bool waits;

    completion_init(&awaiting.done);
    spin_lock(&space->lock);
    waits = space_defer_locked(space, &awaiting.deferred);
    spin_unlock(&space->lock);
    if (waits)
        completion_wait(&awaiting.done, &reason);
}

/* --- the asking kernel --- */

bool space_get_possible(struct space *space)
{
    return space->retrieval->home_knows && space->home != instance.kernel;
}

/* What the page is allowed here, as the answer says, and what lies around it as far as the home says: changes of that
 * wait for the answer. */
static void note_area_locked(struct space_get *get, const struct msg_space_got *answer)
{
    uint64_t size = PAGE_SIZE << answer->block, start = get->page & ~(size - 1);

    if (get->area != NULL &&
        area_set_reserved(&get->space->areas, get->area, get->page, start, start + size, space_got_prot(answer),
                          answer->backed != 0 ? answer->run[0] : BACKING_NONE))
        get->area = NULL;
}

/* The same for all of the page's table, which the home said is one area and stays so until this answer. There is
 * memory: for a table without an area one is reserved. */
static void note_block_area_locked(struct space_get *get, const struct msg_space_got *answer)
{
    uint64_t start = get->page & ~(LEAF_SIZE - 1);

    if (!area_grow_together(&get->space->areas, start, start + LEAF_SIZE, space_got_prot(answer)))
        note_area_locked(get, answer);
}

/* The answer makes sense. */
static bool answer_valid(const struct space_get *get, const struct msg_space_got *answer, uint64_t entry)
{
    if (answer->block > SPACE_BLOCK_MAX)
        return false;
    if (answer->kind == SPACE_TAKEN)
        return get->spare != 0 && (entry == 0 || (entry & PAGING_FRAME) == get->spare);
    if (answer->kind == SPACE_WANTS_BLOCK)
        return get->huge == SPACE_HUGE_MAY;
    if (answer->kind == SPACE_TAKEN_BLOCK)
        return get->huge == SPACE_HUGE_BLOCK && get->block != 0 && answer->block == SPACE_BLOCK_MAX;
    if (answer->kind == SPACE_FRAME)
        return (answer->frame & ~PAGING_FRAME) == 0 && frame_owner(answer->frame) != KERNELS_MAX;
    return answer->kind == SPACE_NONE || answer->kind == SPACE_AREA || answer->kind == SPACE_BUSY;
}

/* SEEN, the page's entry, to be written. One that is empty is in no large page, so the table is as it looks. */
static uint64_t *writable_locked(struct space_get *get, const uint64_t *seen)
{
    return *seen == 0 ? (uint64_t *)(uintptr_t)seen : paging_entry(&get->space->tables, get->page, false);
}

/* The spare frame is the page's, and ours to hold. */
static void hold_spare_locked(struct space_get *get, const uint64_t *seen, uint64_t flags)
{
    uint64_t *entry = writable_locked(get, seen);

    if (get->block == 0) /* else it is counted */
        frame_share(get->spare);
    *entry = get->spare | flags | PAGING_SOFT_HELD;
    space_hold_pages_locked(get->space, 1);
    get->spare = 0;
}

/* 0, a negative errno, 1: take the long way, or WANTS_BLOCK. The page's table is there. */
static int take_answer_locked(struct space_get *get, const struct msg_space_got *answer)
{
    struct space *space = get->space;
    const uint64_t *seen = get->entry;
    uint64_t flags;

    if (!answer_valid(get, answer, *seen) || answer->kind == SPACE_BUSY)
        return 1;
    if (answer->kind == SPACE_NONE) {
        space_count_answer_locked(space, SPACE_NONE, false);
        return -EFAULT;
    }
    note_area_locked(get, answer);
    if (answer->kind == SPACE_WANTS_BLOCK)
        return WANTS_BLOCK;
    if (answer->kind == SPACE_TAKEN_BLOCK) {
        note_block_area_locked(get, answer);
        huge_hold_block_locked(space, get->page, get->block, answer->prot);
        get->block = get->spare = 0;
        return 0;
    }
    flags = space_page_flags(answer->prot, answer->cow != 0);
    if (answer->kind == SPACE_TAKEN ||
        (answer->kind == SPACE_FRAME && answer->frame == get->spare)) { /* the answer that said so was lost */
        hold_spare_locked(get, seen, flags);
        space_count_answer_locked(space, SPACE_AREA, answer->backed != 0);
        return 0;
    }
    if (!area_allows(answer->prot, get->access))
        return -EACCES;
    if (answer->kind == SPACE_AREA || (*seen & PAGING_SOFT_LIMBO) != 0)
        return 1;
    if (*seen == 0)
        *paging_entry(&space->tables, get->page,
                      false) = answer->frame | flags |
                               (window_owns(answer->frame, PAGE_SIZE) ? 0 : PAGING_SOFT_BORROWED);
    space_count_answer_locked(space, SPACE_FRAME, answer->backed != 0);
    if (answer->runs != 0)
        space_runs_install_locked(space, get->page, get->start, get->end, answer->run, answer->runs,
                                  space_got_prot(answer));
    if (get->huge != SPACE_HUGE_NO && answer->runs != 0 && SPACE_RUN_LENGTH(answer->run[0]) == LEAF_ENTRIES)
        huge_show_locked(space, get->page, answer->prot);
    return 0;
}

/* With all the runs that it says it has. */
static bool answer_whole(const struct msg_space_got *answer, int length)
{
    return length >= (int)sizeof(*answer) &&
           (answer->runs <= SPACE_RUNS_SHORT ||
            (answer->runs <= SPACE_RUNS_MAX &&
             (size_t)length >= offsetof(struct msg_space_got, run) + answer->runs * sizeof(answer->run[0])));
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
    get->result = get->lost ? 1 : take_answer_locked(get, reply);
    if (space->retrieval->adapts && !get->lost && get->result <= 0)
        space_adapt_answer_locked(space, reply, get->page);
    list_remove(&get->node);
    if (!list_empty(&space->deferred))
        collect_ready_locked(space, &ready);
    spin_unlock(&space->lock);
    run_ready(&ready);
    completion_signal(&get->done); /* now the task may end, and the space with it */
}

/* The question begins: what its answer needs is there, and changes of what that may bring wait for it. A large page
 * that another thread has brought stays one. */
static bool begin_locked(struct space_get *get, bool wide)
{
    struct space *space = get->space;

    if (get->entry == NULL && (get->entry = paging_entry(&space->tables, get->page, true)) == NULL)
        return false;
    if (get->area == NULL && area_find(&space->areas, get->page) == NULL && (get->area = area_reserve()) == NULL)
        return false;
    wide = wide || get->area != NULL;
    get->start = wide ? get->page & ~(LEAF_SIZE - 1) : get->page;
    get->end = get->start + (wide ? LEAF_SIZE : PAGE_SIZE);
    get->number = ++space->get_count;
    list_append(&space->gets, &get->node);
    return true;
}

/* Another thread's answer has brought the page meanwhile. */
static bool here_locked(const struct space_get *get)
{
    const struct area *area = area_find(&get->space->areas, get->page);
    const uint64_t *entry = paging_look(&get->space->tables, get->page);

    return area != NULL && area_allows(area->prot, get->access) && entry != NULL && *entry != 0 &&
           (*entry & PAGING_SOFT_LIMBO) == 0 && ((get->access & AREA_WRITE) == 0 || (*entry & PAGING_SOFT_COW) == 0);
}

/* Asks once, with RUNS. False: there is no memory for the answer. */
static bool question(struct space_get *get, uint32_t runs)
{
    struct space *space = get->space;
    struct msg_space_get ask = {
        .space = space->id, .page = get->page, .spare = get->spare, .access = get->access, .runs = (uint16_t)runs};
    struct wait_reason reason = {.what = "mapping of a page", .kernel = (int32_t)space->home, .key = get->page};
    struct msg_asking asking;
    const uint64_t *leaf;
    bool begun;

    completion_init(&get->done);
    spin_lock(&space->lock);
    leaf = paging_look(&space->tables, get->page & ~(LEAF_SIZE - 1));
    get->entry = leaf != NULL ? leaf + paging_index(get->page) : NULL;
    if (get->huge != SPACE_HUGE_NO && (runs > SPACE_RUNS_SHORT || !huge_may_take_locked(space, get->page, leaf)))
        get->huge = SPACE_HUGE_NO;
    ask.huge = (uint16_t)get->huge;
    begun = begin_locked(get, runs != 0 || get->huge != SPACE_HUGE_NO);
    spin_unlock(&space->lock);
    if (!begun)
        return false;
    msg_ask(&asking, space->home, runs > SPACE_RUNS_SHORT ? MSG_SPACE_GET_MANY : MSG_SPACE_GET, &ask, sizeof(ask),
            take_answer, get);
    msg_wait(&get->done, &reason);
    return true;
}

/* Another thread of this kernel brings a block for the page's 2 MiB: waits for it. True: the page is here. */
static bool block_comes(struct space_get *get)
{
    struct space *space = get->space;
    bool asked = false, here;

    spin_lock(&space->lock);
    list_for_each(node, &space->gets) {
        const struct space_get *other = container_of(node, const struct space_get, node);

        asked |= other->huge == SPACE_HUGE_BLOCK && other->start == (get->page & ~(LEAF_SIZE - 1));
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

/* The home would give the page's 2 MiB a block of ours; without one it is asked for the page alone. */
static void question_with_block(struct space_get *get, uint32_t runs)
{
    uint64_t block;

    get->result = 0;
    if (block_comes(get))
        return;
    block = huge_block();
    if (block != 0) {
        if (get->spare != 0)
            frame_free_zeroed(get->spare);
        get->spare = block + (get->page & (LEAF_SIZE - 1));
    }
    get->block = block;
    get->huge = block != 0 ? SPACE_HUGE_BLOCK : SPACE_HUGE_NO;
    if (!question(get, runs))
        get->result = -ENOMEM;
    if (get->block == 0)
        return;
    huge_block_release(block, get->spare == 0 ? block + (get->page & (LEAF_SIZE - 1)) : 0);
    get->spare = 0;
}

/* A frame of ours for PAGE, if that is what is wanted as far as is known here; NEAR: it would be. */
static uint64_t spare_for(struct space *space, uint64_t page, bool *near)
{
    const struct area *area;
    bool elsewhere;
    uint64_t frame;
    uint32_t prot;

    spin_lock(&space->lock);
    area = area_find(&space->areas, page);
    prot = area != NULL ? area->prot : 0;
    frame = policy_frame_here_locked(space, prot, page, true, &elsewhere);
    *near = !elsewhere;
    spin_unlock(&space->lock);
    return frame;
}

int space_get_page(struct space *space, uint64_t page, uint32_t access)
{
    bool near;
    struct space_get get = {.space = space, .page = page, .access = access, .spare = spare_for(space, page, &near)};
    uint32_t runs = space->prefetch; /* read once: it may change */
    bool asked;

    get.huge = near ? SPACE_HUGE_MAY : SPACE_HUGE_NO;
    get.result = -ENOMEM;
    asked = question(&get, runs);
    if (asked && get.result == WANTS_BLOCK)
        question_with_block(&get, runs);
    if (asked && get.lost && runs > SPACE_RUNS_SHORT) {
        question(&get, 0); /* an answer of one slot needs no memory here */
        if (get.lost) {
            log_line("mm: frame %lx is lost: there is no memory to ask who has it", (unsigned long)get.spare);
            get.spare = 0;
            get.result = -ENOMEM;
        }
    }
    area_unreserve(get.area);
    if (get.spare != 0)
        frame_free_zeroed(get.spare);
    return get.result;
}

/* --- the home --- */

/* PAGE, which is in AREA, gets the asker's frame SPARE. */
static void take_spare_locked(struct space *space, uint64_t page, uint64_t spare, const struct area *area,
                              struct msg_space_got *got)
{
    uint64_t *entry = paging_entry(&space->tables, page, true);

    if (entry == NULL)
        return; /* the long way says that there is no memory */
    *entry = spare | space_page_flags(area->prot, false) | PAGING_SOFT_BORROWED;
    got->kind = SPACE_TAKEN;
}

/* What lies around PAGE in its table and area, if nobody is about to change that, or may without a word. */
static void add_runs_locked(const struct space *space, uint64_t page, const struct area *area, uint32_t most,
                            struct msg_space_got *got)
{
    uint64_t start = page & ~(LEAF_SIZE - 1), end = start + LEAF_SIZE;

    if (start < area->start)
        start = area->start;
    if (end > area->end)
        end = area->end;
    lease_clip_locked(space, page, &start, &end);
    if (!space_locking->taken_locked(space, start, end))
        got->runs = (uint8_t)space_runs_list_locked(space, page, start, end, got->run, most);
}

/* The largest block around PAGE that AREA has all of. */
static uint32_t block_of(const struct area *area, uint64_t page)
{
    uint32_t block = SPACE_BLOCK_MAX;

    while ((page & ~((PAGE_SIZE << block) - 1)) < area->start || (page | ((PAGE_SIZE << block) - 1)) >= area->end)
        block--;
    return block;
}

/* Nobody is about to change anything of the block around PAGE, or may without a word. */
static inline bool block_still_locked(const struct space *space, uint64_t page, uint32_t block)
{
    uint64_t start = page & ~((PAGE_SIZE << block) - 1);

    return !space_locking->taken_locked(space, start, start + (PAGE_SIZE << block)) &&
           (space->leases.ranges.root == NULL ||
            lease_lowest_locked(space, start, start + (PAGE_SIZE << block)) == start + (PAGE_SIZE << block));
}

/* The page of AREA, if nobody has one yet, comes from a file of this kernel, and may be the asker's as it is. What is
 * written at once is the asker's own. True: there is one now. */
static bool find_file_locked(struct space *space, uint64_t page, const struct area *area, uint32_t access)
{
    const uint64_t *entry = paging_entry(&space->tables, page, false);

    return (entry == NULL || *entry == 0) && ((access & AREA_WRITE) == 0 || (area->prot & AREA_SHARED) != 0) &&
           space_install_file_locked(space, page, area, access) == 0;
}

static void answer_locked(struct space *space, const struct msg_space_get *ask, struct msg_space_got *got)
{
    uint32_t runs;
    uint64_t page = ask->page & ~(PAGE_SIZE - 1);
    const struct area *area = area_find(&space->areas, page);
    const uint64_t *entry = paging_look(&space->tables, page);
    uint32_t block = area != NULL ? block_of(area, page) : 0;
    bool still;

    still = block_still_locked(space, page, block);
    if (!still && space->leases.ranges.root != NULL) { /* a lease of the home's own is in the way */
        lease_share_locked(space, page, page + PAGE_SIZE);
        still = block_still_locked(space, page, block);
    }
    /* a question may have been on its way while the strategy changed */
    if (!space->retrieval->home_knows || (!still && (block == 0 || !block_still_locked(space, page, 0))) ||
        (entry != NULL && (*entry & PAGING_SOFT_LIMBO) != 0)) {
        got->kind = SPACE_BUSY;
        return;
    }
    if (area == NULL)
        return;
    got->kind = SPACE_AREA;
    got->block = still && area->backing == BACKING_NONE ? (uint8_t)block : 0;
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
    if (area->backing != BACKING_NONE && find_file_locked(space, page, area, ask->access))
        entry = paging_entry(&space->tables, page, false);
    if (entry == NULL || *entry == 0) {
        if (ask->huge != SPACE_HUGE_NO && got->block == SPACE_BLOCK_MAX && huge_wanted_locked(space, area, page)) {
            got->kind = huge_answer_locked(space, area, ask);
            if (got->kind != SPACE_AREA)
                return;
        }
        if (ask->spare != 0 && area->backing == BACKING_NONE &&
            policy_accepts_locked(space, area->prot, page, ask->spare))
            take_spare_locked(space, page, ask->spare, area, got);
        return;
    }
    got->cow = (*entry & PAGING_SOFT_COW) != 0;
    if (got->cow != 0 && (ask->access & AREA_WRITE) != 0) {
        got->kind = SPACE_BUSY; /* it has to be copied */
        return;
    }
    got->kind = SPACE_FRAME;
    got->frame = *entry & PAGING_FRAME;
    if ((*entry & PAGING_SOFT_BORROWED) == 0)
        frame_lend(got->frame);
    runs = ask->runs == 0 && ask->huge != SPACE_HUGE_NO && paging_large(&space->tables, page) != 0 ? 1 : ask->runs;
    if (runs != 0 && got->cow == 0 && got->backed == 0)
        add_runs_locked(space, page, area, runs, got);
}

/* 0, and the answer to M is in GOT; or a negative errno. */
static int answer(const struct msg *m, struct msg_space_got *got)
{
    const struct msg_space_get *ask = m->data;
    struct space *space = space_get(ask->space);
    int error = 0;

    if (space == NULL)
        return -ESRCH;
    if (space->home != instance.kernel || (ask->spare & (PAGE_SIZE - 1)) != 0 || ask->page >= USER_END ||
        (ask->spare != 0 && frame_owner(ask->spare) != m->ticket.kernel))
        error = -EPROTO;
    spin_lock(&space->lock);
    if (error == 0)
        answer_locked(space, ask, got);
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

struct long_answer {
    struct msg_kept kept;
    union {
        struct msg_space_got got;
        uint8_t room[offsetof(struct msg_space_got, run) + SPACE_RUNS_MAX * sizeof(uint64_t)];
    } bytes;
};

static void long_answer_gone(struct msg_kept *kept)
{
    struct long_answer *answer = container_of(kept, struct long_answer, kept);

    heap_free(answer, sizeof(*answer));
}

static void handle_get_many(const struct msg *m)
{
    const struct msg_space_get *ask = m->data;
    struct long_answer *long_answer = ask->runs <= SPACE_RUNS_MAX ? heap_alloc(sizeof(*long_answer)) : NULL;
    int error = ask->runs <= SPACE_RUNS_MAX ? -ENOMEM : -EPROTO;

    if (long_answer != NULL)
        error = answer(m, &long_answer->bytes.got);
    if (error != 0) {
        heap_free(long_answer, sizeof(*long_answer));
        msg_reply_error(&m->ticket, error);
        return;
    }
    msg_keep(m, &long_answer->kept, NULL);
    msg_kept_reply_long(&long_answer->kept, &long_answer->bytes, sizeof(long_answer->bytes), long_answer_gone);
}

void space_get_init(void)
{
    msg_register(MSG_SPACE_GET, handle_get, sizeof(struct msg_space_get), sizeof(struct msg_space_got));
    msg_register(MSG_SPACE_GET_MANY, handle_get_many, sizeof(struct msg_space_get), sizeof(struct msg_space_got));
}
