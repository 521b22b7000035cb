/* The short way of a fault, both sides. See the header, and mm/retrieval.md for the protocol. */
#include "mm/get.h"

#include "boot/instance.h"
#include "boot/window.h"
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/lib/panic.h"
#include "mm/frame.h"
#include "mm/heap.h"
#include "mm/reference.h"
#include "msg/channel.h"

static bool overlap(uint64_t a_start, uint64_t a_end, uint64_t b_start, uint64_t b_end)
{
    return a_start < b_end && b_start < a_end;
}

/* --- what waits for answers --- */

static bool asked_locked(const struct space *space, uint64_t start, uint64_t end)
{
    list_for_each(node, &space->gets) {
        const struct space_get *get = container_of(node, const struct space_get, node);

        if (overlap(get->page, get->page + PAGE_SIZE, start, end))
            return true;
    }
    return false;
}

bool space_defer_locked(struct space *space, struct space_deferred *deferred)
{
    if (list_empty(&space->gets) || !asked_locked(space, deferred->start, deferred->end))
        return false;
    list_append(&space->deferred, &deferred->node);
    return true;
}

/* An answer has come: moves what waited for nothing else to READY. */
static void collect_ready_locked(struct space *space, struct list *ready)
{
    list_for_each_safe(node, &space->deferred) {
        struct space_deferred *deferred = container_of(node, struct space_deferred, node);

        if (asked_locked(space, deferred->start, deferred->end))
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

/* What the page is allowed here, as the answer says: only the page, for what lies around it may be changing. */
static struct area *note_area_locked(struct space *space, uint64_t page, uint32_t prot)
{
    struct area *area = area_find(&space->areas, page);

    if (area == NULL && area_set(&space->areas, page, page + PAGE_SIZE, prot) == 0)
        area = area_find(&space->areas, page);
    return area;
}

/* 0, a negative errno, or 1: take the long way. The page's table is there. */
static int take_answer_locked(struct space_get *get, const struct msg_space_got *answer)
{
    struct space *space = get->space;
    uint64_t *entry = paging_entry(&space->tables, get->page, false);
    const struct area *area;
    uint64_t flags;

    if (answer->kind == SPACE_BUSY || (*entry & PAGING_SOFT_LIMBO) != 0)
        return 1;
    if (answer->kind == SPACE_NONE) {
        space->stats.fetched_none++;
        return -EFAULT;
    }
    area = note_area_locked(space, get->page, answer->prot);
    if (!area_allows(answer->prot, get->access) && answer->kind != SPACE_TAKEN)
        return area != NULL ? -EFAULT : 1;
    if (answer->kind == SPACE_AREA)
        return 1;
    flags = space_page_flags(answer->prot, answer->cow != 0);
    if (answer->kind == SPACE_TAKEN) {
        assert(*entry == 0 || (*entry & PAGING_FRAME) == get->spare);
        frame_share(get->spare);
        *entry = get->spare | flags | PAGING_SOFT_HELD;
        get->spare = 0;
        space->stats.fetched_area++;
        return area != NULL ? 0 : -ENOMEM;
    }
    if (area == NULL)
        return 1;
    if (*entry == 0)
        *entry = answer->frame | flags | (window_owns(answer->frame, PAGE_SIZE) ? 0 : PAGING_SOFT_BORROWED);
    space->stats.fetched_frame++;
    return 0;
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
    get->result = length == (int)sizeof(struct msg_space_got) ? take_answer_locked(get, reply) : 1;
    list_remove(&get->node);
    if (!list_empty(&space->deferred))
        collect_ready_locked(space, &ready);
    spin_unlock(&space->lock);
    run_ready(&ready);
    completion_signal(&get->done); /* now the task may end, and the space with it */
}

int space_get_page(struct space *space, uint64_t page, uint32_t access)
{
    struct space_get get = {.space = space, .page = page, .access = access, .spare = frame_alloc_zeroed()};
    struct msg_space_get ask = {.space = space->id, .page = page, .spare = get.spare, .access = access};
    struct wait_reason reason = {.what = "mapping of a page", .kernel = (int32_t)space->home, .key = page};
    struct msg_asking asking;

    completion_init(&get.done);
    spin_lock(&space->lock);
    if (paging_entry(&space->tables, page, true) == NULL) {
        spin_unlock(&space->lock);
        if (get.spare != 0)
            frame_free_zeroed(get.spare);
        return -ENOMEM;
    }
    list_append(&space->gets, &get.node);
    spin_unlock(&space->lock);
    msg_ask(&asking, space->home, MSG_SPACE_GET, &ask, sizeof(ask), take_answer, &get);
    msg_wait(&get.done, &reason);
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

static void answer_locked(struct space *space, const struct msg_space_get *ask, struct msg_space_got *got)
{
    uint64_t page = ask->page & ~(PAGE_SIZE - 1);
    const struct area *area = area_find(&space->areas, page);
    const uint64_t *entry = paging_entry(&space->tables, page, false);

    if (space_locking->taken_locked(space, page, page + PAGE_SIZE) ||
        (entry != NULL && (*entry & PAGING_SOFT_LIMBO) != 0)) {
        got->kind = SPACE_BUSY;
        return;
    }
    if (area == NULL)
        return;
    got->kind = SPACE_AREA;
    got->prot = area->prot;
    if (!area_allows(area->prot, ask->access))
        return;
    if (entry == NULL || *entry == 0) {
        if (ask->spare != 0)
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
}

static void handle_get(const struct msg *m)
{
    const struct msg_space_get *ask = m->data;
    struct msg_space_got got = {.kind = SPACE_NONE};
    struct space *space = space_get(ask->space);
    int error = space == NULL ? -ESRCH : 0;

    if (space != NULL) {
        if (space->home != instance.kernel || (ask->spare & (PAGE_SIZE - 1)) != 0 || ask->page >= USER_END ||
            (ask->spare != 0 && frame_owner(ask->spare) != m->ticket.kernel))
            error = -EPROTO;
        spin_lock(&space->lock);
        if (error == 0)
            answer_locked(space, ask, &got);
        spin_unlock(&space->lock);
        space_put(space);
    }
    if (error != 0)
        msg_reply_error(&m->ticket, error);
    else
        msg_reply(&m->ticket, &got, sizeof(got));
}

void space_get_init(void)
{
    msg_register(MSG_SPACE_GET, handle_get, sizeof(struct msg_space_get), sizeof(struct msg_space_got));
}
