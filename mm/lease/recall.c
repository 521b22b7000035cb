/* Recalling leases. The home recalls the leases that overlap a wanted range, one of each holder at a time; a holder
 * gives its lease up and reports the areas and pages that it has there. See mm/lease/lease.md. */
#include "kernel/abi/errno.h"
#include "kernel/instance/window.h"
#include "kernel/lib/list.h"
#include "kernel/wait/completion.h"
#include "mm/frame/frame.h"
#include "mm/frame/heap.h"
#include "mm/frame/reference.h"
#include "mm/lease/internal.h"
#include "mm/lease/lease.h"
#include "mm/lease/wire.h"
#include "mm/space/entry.h"
#include "mm/space/question.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "msg/channel.h"
#include "msg/request/call.h"
#include "msg/request/long_answer.h"

#define TABLES_A_PART 64u /* page tables that a handler looks through for a part of an answer */
#define LOOK_MAX 64u      /* leases that a wait with a recall under way looks at in one step, because handlers do it */

/* A recall of one lease, which has begun and is not over. */
struct lease_recall {
    struct list node;            /* [k] space->lock: in space->leases.under_way */
    struct lease_recall *start;  /* the next one in a list of recalls that are to begin */
    struct lease_wait *wait;     /* [i] whose recall it is; it stays as long */
    struct space_range claim;    /* [k] the most that the holder may give up */
    uint32_t kernel;             /* [i] the holder */
    struct msg_space_recall ask; /* its range: at first what is wanted, then what the holder gives up */
    struct msg_asking asking;
};

/* A waiter for a range, with its recalls. */
struct lease_wait {
    struct list node;         /* [k] space->lock: in space->leases.waits, or in a list of waiters that are done */
    struct space *space;      /* [i] with a reference */
    struct space_range range; /* [i] */
    uint64_t next;            /* [k] where in it the wait looks next for leases to recall */
    lease_done done;
    void *context;
    int error;               /* [k] it fails with it as soon as its recalls are over, and begins no more of them */
    bool noted;              /* [k] it has begun a recall */
    kernel_set asked;        /* [k] the holders of leases that it recalls: one lease of each */
    struct lease_recall own; /* [k] one of its recalls needs no memory: so that some recall of each lease can begin */
};

/* --- the home --- */

static bool claimed_locked(const struct space *space, uint64_t start, uint64_t end)
{
    list_for_each(node, &space->leases.under_way) {
        const struct lease_recall *recall = container_of(node, const struct lease_recall, node);

        if (recall->claim.start < end && start < recall->claim.end)
            return true;
    }
    return false;
}

/* Memory for another recall of WAIT, or NULL: this lease has to wait until an earlier recall of WAIT is over. */
static struct lease_recall *memory_for(struct lease_wait *wait)
{
    return wait->own.wait == NULL ? &wait->own : heap_alloc_unset(sizeof(struct lease_recall));
}

/* Begins a recall of what WAIT wants of LEASE: it is returned, in front of START, for lease_recall. START: the lease
 * is being recalled already, or there is no memory. What is recalled may split a lease in two: one of empty pages goes
 * as a whole if there are many. */
static struct lease_recall *begin_one_locked(struct space *space, struct lease_wait *wait, const struct lease *lease,
                                             struct lease_recall *start)
{
    struct space_range wanted = {lease->start > wait->range.start ? lease->start : wait->range.start,
                                 lease->end < wait->range.end ? lease->end : wait->range.end};
    struct lease_recall *recall;

    if (lease->empty && space->leases.map.empties >= LEASE_EMPTIES_MAX)
        wanted = (struct space_range){lease->start, lease->end};
    recall = claimed_locked(space, wanted.start, wanted.end) ? NULL : memory_for(wait);
    if (recall == NULL)
        return start;
    recall->wait = wait;
    recall->start = start;
    recall->claim = (struct space_range){lease->start, lease->end};
    recall->kernel = lease->kernel;
    recall->ask = (struct msg_space_recall){.space = space->id, .start = wanted.start, .end = wanted.end};
    list_append(&space->leases.under_way, &recall->node);
    wait->asked |= 1ull << lease->kernel;
    return recall;
}

/* As begin_locked, of the leases in [FROM, TO), a part of the wait's range. *LEFT: how many it may look at. As long as
 * WAIT has nothing under way it looks on: it passes over leases only whose recall somebody else has begun. */
static struct lease_recall *begin_in_locked(struct space *space, struct lease_wait *wait, uint64_t from, uint64_t to,
                                            uint32_t *left, struct lease_recall *start)
{
    const struct lease *lease = from < to ? lease_others_locked(space, from, to) : NULL;

    for (; lease != NULL && lease->start < to && (*left > 0 || wait->asked == 0);
         lease = lease_map_after(&space->leases.map, lease)) {
        *left -= *left > 0 ? 1 : 0;
        wait->next = lease->end < wait->range.end ? lease->end : wait->range.end;
        if (lease->kernel != instance.kernel && (wait->asked >> lease->kernel & 1) == 0)
            start = begin_one_locked(space, wait, lease, start);
    }
    return start;
}

/* Begins recalls for WAIT: of one lease in its range of each holder that WAIT has not asked, as far as it finds them
 * among the next LOOK_MAX leases, and of one at least, unless others recall all that are left or a fork holds recalls
 * back. Returns them, in front of START. There may be as many leases as areas, and each end of a recall comes here: so
 * it goes on where it was, and from the start of the range behind its end. */
static struct lease_recall *begin_locked(struct space *space, struct lease_wait *wait, struct lease_recall *start)
{
    uint64_t from = wait->next;
    uint32_t left = LOOK_MAX;

    if (space->leases.held)
        return start;
    start = begin_in_locked(space, wait, from, wait->range.end, &left, start);
    start = begin_in_locked(space, wait, wait->range.start, from, &left, start);
    if (wait->asked != 0 && !wait->noted) {
        lease_note_recall_locked(space, wait->range);
        wait->noted = true;
    }
    return start;
}

int lease_wait_some_locked(struct space *space, struct space_range range, lease_done done, void *context,
                           struct lease_recall **start)
{
    struct lease_wait *wait;

    lease_share_locked(space, range.start, range.end);
    if (lease_others_locked(space, range.start, range.end) == NULL)
        return 0;
    wait = heap_alloc(sizeof(*wait));
    if (wait == NULL)
        return -ENOMEM;
    wait->space = space;
    wait->range = range;
    wait->next = range.start;
    wait->done = done;
    wait->context = context;
    space_hold(space);
    *start = begin_locked(space, wait, NULL);
    list_append(&space->leases.waits, &wait->node);
    return 1;
}

/* Records the areas and pages of ANSWER, all of which must be in the range that HOLDER gives up. From now on the
 * directory has what HOLDER keeps there. */
static int note_locked(struct space *space, uint32_t holder, const struct msg_space_recalled *answer)
{
    const struct msg_space_area *areas = (const struct msg_space_area *)(answer + 1);
    const struct msg_space_pair *pairs = (const struct msg_space_pair *)(areas + answer->areas);
    int error = 0;

    for (uint32_t i = 0; i < answer->areas && error == 0; i++) {
        if (areas[i].start < answer->start || areas[i].end > answer->end || areas[i].start >= areas[i].end ||
            ((areas[i].start | areas[i].end) & (PAGE_SIZE - 1)) != 0 || (areas[i].prot & ~(uint64_t)AREA_BITS) != 0 ||
            backing_is_file(areas[i].backing))
            return -EPROTO;
        sharers_mark(&space->sharers, areas[i].start, areas[i].end, 1ull << holder);
        space->areas.follows++; /* the holder has it already */
        error = area_set_backed(&space->areas, areas[i].start, areas[i].end, (uint32_t)areas[i].prot, areas[i].backing);
        space->areas.follows--;
    }
    if (answer->pending != 0) /* no area tells where: as after an unmap that has failed */
        sharers_mark_all(&space->sharers, 1ull << holder);
    for (uint32_t i = 0; i < answer->pairs && error == 0; i++) {
        uint64_t page = pairs[i].page & ~SPACE_PAIR_COW;
        int borrowed;

        if ((page & (PAGE_SIZE - 1)) != 0 || page < answer->start || page >= answer->end ||
            frame_owner(pairs[i].frame) == KERNELS_MAX)
            return -EPROTO;
        borrowed = space_borrow_page_locked(space, page, pairs[i].frame, page != pairs[i].page, 0);
        if (borrowed < 0)
            return borrowed == -EFAULT
                       ? -EPROTO
                       : -ENOMEM; /* there is another frame: an unmap that was out of memory has left an entry here */
    }
    return error;
}

static bool answer_valid(const struct lease_recall *recall, const struct msg_space_recalled *answer, int length)
{
    return length >= (int)sizeof(*answer) && answer->areas <= RECALLED_AREAS && answer->pairs <= RECALLED_PAGES &&
           (size_t)length == sizeof(*answer) + answer->areas * sizeof(struct msg_space_area) +
                                 answer->pairs * sizeof(struct msg_space_pair) &&
           ((answer->start | answer->end) & (PAGE_SIZE - 1)) == 0 && answer->start <= recall->ask.start &&
           answer->end >= recall->ask.end && answer->start >= recall->claim.start && answer->end <= recall->claim.end &&
           (answer->next == 0 || (answer->next > recall->ask.from && answer->next < answer->end));
}

/* Returns 1: there are more parts; 0: the recall is over; or a negative errno. */
static int take_answer_locked(struct lease_recall *recall, const struct msg_space_recalled *answer, int length)
{
    struct space *space = recall->wait->space;
    int error;

    if (length == -ESRCH) /* the group ends */
        return lease_recalled_locked(space, recall->ask.start, recall->ask.end);
    if (length < 0)
        return length;
    if (!answer_valid(recall, answer, length))
        return -EPROTO;
    recall->ask.start = answer->start;
    recall->ask.end = answer->end;
    recall->claim = (struct space_range){answer->start, answer->end};
    error = note_locked(space, recall->kernel, answer);
    if (error == 0 && answer->next != 0) {
        recall->ask.from = answer->next;
        return 1;
    }
    return error != 0 ? error : lease_recalled_locked(space, answer->start, answer->end);
}

/* A recall of OVER has ended, or, if that is NULL, a fork holds no recall back any more. Moves waiters that have
 * nothing more to wait for, or that fail, to READY, and begins recalls for the others, which it returns. A wait with
 * recalls under way, other than OVER, is left alone until one of them ends. FAILED: the range of a recall that had no
 * memory, with which the waiters for a part of it fail; or NULL. */
static struct lease_recall *go_on_locked(struct space *space, const struct lease_wait *over,
                                         const struct space_range *failed, struct list *ready)
{
    struct lease_recall *start = NULL;

    list_for_each_safe(node, &space->leases.waits) {
        struct lease_wait *wait = container_of(node, struct lease_wait, node);

        if (wait != over && wait->asked != 0)
            continue;
        if (failed != NULL && wait->range.start < failed->end && failed->start < wait->range.end)
            wait->error = -ENOMEM;
        if (wait->error == 0)
            start = begin_locked(space, wait, start);
        if (wait->asked == 0 &&
            (wait->error != 0 || lease_others_locked(space, wait->range.start, wait->range.end) == NULL)) {
            list_remove(&wait->node);
            list_append(ready, &wait->node);
        }
    }
    return start;
}

/* Ends the waiters that go_on_locked has moved to READY. */
static void end_ready(struct list *ready)
{
    list_for_each_safe(node, ready) {
        struct lease_wait *over = container_of(node, struct lease_wait, node);

        list_remove(&over->node);
        over->done(over->context, over->error);
        space_put(over->space);
        heap_free(over, sizeof(*over));
    }
}

/* RECALL, which does not exist any more afterwards, has ended with ERROR. Returns recalls that are to begin now. */
static struct lease_recall *end_locked(struct lease_recall *recall, int error, struct list *ready)
{
    struct lease_wait *wait = recall->wait;
    struct space_range range = {recall->ask.start, recall->ask.end};

    list_remove(&recall->node);
    wait->asked &= ~(1ull << recall->kernel);
    if (recall == &wait->own)
        recall->wait = NULL;
    else
        heap_free(recall, sizeof(*recall));
    return go_on_locked(wait->space, wait, error != 0 ? &range : NULL, ready);
}

static void take_answer(void *context, uint32_t kernel, const void *reply, int length)
{
    struct lease_recall *start = context;
    struct space *space = start->wait->space;
    struct list ready;
    int more;

    (void)kernel;
    list_init(&ready);
    spin_lock(&space->lock);
    more = take_answer_locked(start, reply, length);
    if (more < 0 && (length >= 0 || start->ask.from != 0)) /* its first answer has given the lease up */
        space->leases.torn = true;
    else if (more == 0)
        lease_torn_locked(space); /* if this was the last lease, nothing is missing any more */
    if (more <= 0)
        start = end_locked(start, more, &ready);
    spin_unlock(&space->lock);
    lease_recall(start);
    end_ready(&ready);
}

bool lease_torn_locked(struct space *space)
{
    if (space->leases.torn && lease_others_locked(space, 0, USER_END) == NULL)
        space->leases.torn = false;
    return space->leases.torn;
}

bool lease_hold_locked(struct space *space)
{
    if (!list_empty(&space->leases.waits) || lease_torn_locked(space))
        return false;
    lease_share_locked(space, 0, USER_END);
    space->leases.held = true;
    return true;
}

void lease_resume(struct space *space)
{
    struct lease_recall *start;
    struct list ready;

    list_init(&ready);
    spin_lock(&space->lock);
    start = go_on_locked(space, NULL, NULL, &ready);
    spin_unlock(&space->lock);
    lease_recall(start);
    end_ready(&ready);
}

void lease_recall(struct lease_recall *start)
{
    while (start != NULL) {
        struct lease_recall *next = start->start; /* START may be freed before msg_ask returns */

        start->start = NULL;
        msg_ask(&start->asking, start->kernel, MSG_SPACE_RECALL, &start->ask, sizeof(start->ask), take_answer, start);
        start = next;
    }
}

struct awaiting {
    struct completion done;
    int error;
};

static void awaited(void *context, int error)
{
    struct awaiting *awaiting = context;

    awaiting->error = error;
    completion_signal(&awaiting->done);
}

int lease_await(struct space *space, struct space_range range)
{
    struct wait_reason reason = {.what = "recall of a lease", .kernel = -1, .key = range.start};
    struct awaiting awaiting = {.error = 0};
    struct lease_recall *start;
    int waits;

    completion_init(&awaiting.done);
    spin_lock(&space->lock);
    reason.kernel = lease_holder_locked(space, range);
    waits = lease_wait_locked(space, range, awaited, &awaiting, &start);
    spin_unlock(&space->lock);
    lease_recall(start);
    if (waits <= 0)
        return waits;
    completion_wait(&awaiting.done, &reason);
    return awaiting.error != 0 ? awaiting.error : 1;
}

int lease_await_found(struct space *space,
                      bool (*find)(struct space *space, const void *context, struct space_range *range),
                      const void *context)
{
    struct space_range range;
    int waited;

    do {
        spin_lock(&space->lock);
        if (!find(space, context, &range) || lease_map_empty(&space->leases.map))
            return 0;
        lease_share_locked(space, range.start, range.end);
        if (lease_others_locked(space, range.start, range.end) == NULL)
            return 0;
        spin_unlock(&space->lock);
        waited = lease_await(space, range);
    } while (waited >= 0);
    return waited;
}

/* --- the holder --- */

static void add_area(struct msg_space_recalled *out, uint64_t start, uint64_t end, const struct area *area)
{
    struct msg_space_area *areas = (struct msg_space_area *)(out + 1);

    areas[out->areas++] = (struct msg_space_area){
        .start = start, .end = end, .prot = area->prot, .backing = area_backing_at(area, start)};
}

/* Adds the pages with an owning entry in [START, END), as many as fit, of TABLES_A_PART page tables at most; OUT->next
 * is where to continue. */
static void add_pages_locked(struct space *space, uint64_t start, uint64_t end, struct msg_space_recalled *out)
{
    struct msg_space_area *areas = (struct msg_space_area *)(out + 1);
    struct msg_space_pair *pairs = (struct msg_space_pair *)(areas + out->areas);
    uint32_t tables = 0;
    const uint64_t *leaf;

    for (uint64_t va = start; (leaf = paging_next_leaf_look(&space->tables, &va, end)) != NULL; va += LEAF_SIZE) {
        uint32_t first = va < start ? paging_index(start) : 0;
        uint32_t last = end - va < LEAF_SIZE ? paging_index(end) : LEAF_ENTRIES;

        if (tables++ == TABLES_A_PART) {
            out->next = va;
            return;
        }
        for (uint32_t i = first; (i = paging_next_used(leaf, i, last)) < last; i++) {
            uint64_t page = va + i * PAGE_SIZE, frame = leaf[i] & PAGING_FRAME;

            if ((leaf[i] & PAGING_SOFT_PENDING_FREE) != 0)
                out->pending = 1;
            if ((leaf[i] & PAGING_SOFT_OWNING) == 0 || (leaf[i] & PAGING_SOFT_PENDING_FREE) != 0)
                continue;
            if (out->pairs == RECALLED_PAGES) {
                out->next = page;
                return;
            }
            pairs[out->pairs++] = (struct msg_space_pair){
                page | ((leaf[i] & PAGING_SOFT_COW) != 0 ? SPACE_PAIR_COW : 0), frame};
            if ((leaf[i] & PAGING_SOFT_REMOTE) == 0)
                frame_lend();
        }
    }
}

/* Adds the areas and pages of the range that is given up, from FROM on, as many as fit in one reply. */
static void list_locked(struct space *space, uint64_t from, struct msg_space_recalled *out)
{
    uint64_t end = out->end;

    for (const struct area *area = area_next(&space->areas, from); area != NULL && area->start < end;
         area = area_after(&space->areas, area)) {
        if (out->areas == RECALLED_AREAS) {
            out->next = end = area->start;
            break;
        }
        add_area(out, area->start > from ? area->start : from, area->end < end ? area->end : end, area);
    }
    add_pages_locked(space, from, end, out);
}

static void give_up_locked(struct space *space, const struct msg_space_recall *ask, struct msg_space_recalled *out)
{
    const struct lease *lease = lease_map_next(&space->leases.map, ask->start);

    *out = (struct msg_space_recalled){.start = ask->start, .end = ask->end};
    if (ask->from == 0) {
        space->leases.recalls++;
        if (lease != NULL && lease->start <= ask->start && lease->end >= ask->end) {
            struct space_range given = lease_widen_locked(space, lease, ask->start, ask->end);

            out->start = given.start;
            out->end = lease_remove_locked(space, given.start, given.end);
        } else {
            lease_map_remove(&space->leases.map, ask->start,
                             ask->end); /* a lease that was granted but is not recorded here */
        }
    }
    list_locked(space, ask->from != 0 ? ask->from : out->start, out);
}

static bool ask_valid(const struct msg_space_recall *ask)
{
    return ((ask->start | ask->end | ask->from) & (PAGE_SIZE - 1)) == 0 && ask->start < ask->end &&
           ask->end <= USER_END && (ask->from == 0 || (ask->from >= ask->start && ask->from < ask->end));
}

/* A recall that is kept, perhaps until the answers to questions of the range have arrived: one may bring a lease. */
struct late_recall {
    struct long_answer answer;
    struct space_deferred deferred;
    struct space *space; /* exists until the answer: SPACE->late counts this */
    struct msg_space_recall ask;
};

_Static_assert(sizeof(struct late_recall) + LONG_ANSWER_MAX <= MSG_MAX, "the list follows");

static void give(struct late_recall *late)
{
    struct msg_space_recalled *out = (struct msg_space_recalled *)(void *)(late + 1);

    spin_lock(&late->space->lock);
    give_up_locked(late->space, &late->ask, out);
    spin_unlock(&late->space->lock);
    __atomic_fetch_sub(&late->space->late, 1, __ATOMIC_RELEASE);
    long_answer_give(
        &late->answer, out,
        (int)(sizeof(*out) + out->areas * sizeof(struct msg_space_area) + out->pairs * sizeof(struct msg_space_pair)));
}

static void run_deferred(struct space_deferred *deferred)
{
    give(container_of(deferred, struct late_recall, deferred));
}

/* Keeps M, whose recall LATE is. True: nothing holds it up. */
static bool keep(struct space *space, const struct msg *m, struct late_recall *late)
{
    bool waits;

    late->space = space;
    late->ask = *(const struct msg_space_recall *)m->data;
    late->deferred = (struct space_deferred){.start = late->ask.start, .end = late->ask.end, .run = run_deferred};
    __atomic_fetch_add(&space->late, 1, __ATOMIC_RELAXED); /* the caller has a reference to it */
    long_answer_keep(m, &late->answer);
    spin_lock(&space->lock);
    waits = late->ask.from == 0 && space_defer_locked(space, &late->deferred);
    spin_unlock(&space->lock);
    return !waits;
}

static void handle_recall(const struct msg *m)
{
    const struct msg_space_recall *ask = m->data;
    struct space *space = space_get(ask->space);
    struct late_recall *late = NULL;
    int error = space == NULL ? -ESRCH : -EPROTO;

    if (space != NULL && ask_valid(ask) && space->home == m->ticket.kernel) {
        late = long_answer_create(MSG_MAX);
        error = -ENOMEM;
    }
    if (late == NULL)
        msg_reply_error(&m->ticket, error);
    else if (keep(space, m, late))
        give(late);
    if (space != NULL)
        space_put(space);
}

void recall_init(void)
{
    msg_register(MSG_SPACE_RECALL, handle_recall, sizeof(struct msg_space_recall), sizeof(struct msg_space_recalled));
}
