/* Fork of an address space that may span kernels. See space_fork in mm/space/space.h, and mm/fork/fork.md for the
 * protocol.
 *
 * The parent's heavy lock is held all the time, so no kernel resolves faults of it meanwhile, and of its areas none
 * changes but that a map may add one. The child is nobody else's yet. A long file: the steps on the parent's kernel and
 * those of the other members belong together, as in the protocol. */
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/base/layout.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "mm/fault/get.h"
#include "mm/file/hold.h"
#include "mm/frame/frame.h"
#include "mm/frame/heap.h"
#include "mm/frame/reference.h"
#include "mm/frame/zero_page.h"
#include "mm/lease/lease.h"
#include "mm/space/internal.h"
#include "mm/space/long_answer.h"
#include "msg/channel.h"

#define PAIRS_MAX ((MSG_MAX - sizeof(struct msg_space_taken)) / sizeof(struct msg_space_pair))
#define AREAS_MAX ((MSG_MAX - sizeof(struct msg_space_areas)) / sizeof(struct msg_space_area))
#define LEAVES_A_POLL 16u /* tables that are copied before this kernel looks for messages */

_Static_assert(PAIRS_MAX >= LEAF_ENTRIES && PAIRS_MAX * sizeof(uint64_t) <= MSG_MAX, "a table fits, and its frames");

struct fork {
    struct space *parent, *child;
    uint64_t *leaf;          /* the child's table for the 2 MiB at leaf_at */
    uint64_t leaf_at;        /* 1: none */
    const struct area *area; /* the child's, the last one looked up */
    uint8_t *buffer;         /* MSG_MAX bytes: what a kernel says, or pairs; NULL until needed */
    uint64_t *frames;        /* PAIRS_MAX of them */
};

/* The child's entry for PAGE, or NULL without memory. Quick for pages in ascending order. */
static uint64_t *child_entry(struct fork *fork, uint64_t page)
{
    uint64_t at = page & ~(LEAF_SIZE - 1);

    if (fork->leaf_at != at) {
        uint64_t *first = paging_entry(&fork->child->tables, at, true);

        if (first == NULL)
            return NULL;
        fork->leaf = first;
        fork->leaf_at = at;
    }
    return &fork->leaf[paging_index(page)];
}

static const struct area *child_area(struct fork *fork, uint64_t page)
{
    if (fork->area == NULL || page < fork->area->start || page >= fork->area->end)
        fork->area = area_find(&fork->child->areas, page);
    return fork->area;
}

static bool buffers(struct fork *fork)
{
    if (fork->buffer == NULL)
        fork->buffer = heap_alloc(MSG_MAX);
    if (fork->frames == NULL)
        fork->frames = heap_alloc(PAIRS_MAX * sizeof(fork->frames[0]));
    return fork->buffer != NULL && fork->frames != NULL;
}

/* --- areas --- */

/* What the parent has there the child gets, if it is to have it. */
static int append_area(struct space *child, uint64_t start, uint64_t end, uint32_t prot, uint64_t backing)
{
    if ((prot & AREA_DONTFORK) != 0)
        return 0;
    return area_append_backed(&child->areas, start, end, prot & ~AREA_LOCKED, backing);
}

static int copy_areas_here(struct space *parent, struct space *child)
{
    int error = 0;

    spin_lock(&parent->lock);
    child->break_start = parent->break_start;
    child->break_now = parent->break_now;
    list_for_each(node, &parent->areas.head) {
        const struct area *area = container_of(node, const struct area, node);

        error = append_area(child, area->start, area->end, area->prot, area->backing);
        if (error != 0)
            break;
    }
    spin_unlock(&parent->lock);
    return error;
}

/* From the home, which has all of them. */
static int copy_areas(struct fork *fork)
{
    struct msg_space_page ask = {.space = fork->parent->id};
    const struct msg_space_areas *answer;
    int error = 0;

    if (fork->parent->home == instance.kernel)
        return copy_areas_here(fork->parent, fork->child);
    if (!buffers(fork))
        return -ENOMEM;
    answer = (const struct msg_space_areas *)(const void *)fork->buffer;
    do {
        int length = msg_call(fork->parent->home, MSG_SPACE_AREAS, &ask, sizeof(ask), fork->buffer, MSG_MAX,
                              "areas for a fork", ask.page);
        const struct msg_space_area *areas = (const struct msg_space_area *)(answer + 1);

        if (length < 0)
            return length;
        for (size_t i = 0; i < ((size_t)length - sizeof(*answer)) / sizeof(*areas) && error == 0; i++)
            error = append_area(fork->child, areas[i].start, areas[i].end, (uint32_t)areas[i].prot, areas[i].backing);
        fork->child->break_start = answer->break_start;
        fork->child->break_now = answer->break_now;
        if (error == 0 && answer->next != 0 && answer->next <= ask.page)
            error = -EPROTO;
        ask.page = answer->next;
    } while (error == 0 && ask.page != 0);
    return error;
}

/* Each area of the child holds what is behind it, from before its pages are copied: what is revoked from now on is
 * revoked here, too. */
static int hold_files(struct space *child, uint32_t parent)
{
    uint64_t last = BACKING_NONE;
    struct area *failed = NULL;
    int error = 0;

    list_for_each(node, &child->areas.head) {
        struct area *area = container_of(node, struct area, node);

        if (area->backing == BACKING_NONE)
            continue;
        if (last != BACKING_NONE && backing_whole(area->backing) == backing_whole(last))
            error = file_hold_take_more(area->backing, parent);
        else
            error = file_hold_take(area->backing, parent);
        last = area->backing;
        if (error != 0) {
            failed = area;
            break;
        }
    }
    list_for_each(node, &child->areas.head) {
        const struct area *area = container_of(node, const struct area, node);

        if (area == failed || failed == NULL)
            break;
        if (area->backing != BACKING_NONE)
            file_hold_untake(area->backing, parent);
    }
    if (error == 0)
        area_list_refers(&child->areas);
    return error == -ENXIO ? -EPROTO : error;
}

uint32_t space_list_areas(struct space *space, uint64_t from, struct msg_space_areas *head)
{
    struct msg_space_area *areas = (struct msg_space_area *)(head + 1);
    uint32_t count = 0;

    spin_lock(&space->lock);
    *head = (struct msg_space_areas){.break_start = space->break_start, .break_now = space->break_now};
    for (const struct area *area = area_next(&space->areas, from); area != NULL;
         area = area_after(&space->areas, area)) {
        if (count == AREAS_MAX) {
            head->next = area->start;
            break;
        }
        /* since FROM was told, the first may have got a part before it */
        areas[count] = (struct msg_space_area){area->start > from ? area->start : from, area->end, area->prot, 0};
        areas[count].backing = area_backing_at(area, areas[count].start);
        count++;
    }
    spin_unlock(&space->lock);
    return (uint32_t)(sizeof(*head) + count * sizeof(*areas));
}

/* --- frames --- */

/* Gives back the references of pairs that do not come into the child. */
static void give_back(const struct msg_space_pair *pairs, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        if (pairs[i].frame != 0)
            release_one(pairs[i].frame);
    }
}

/* Counts the child's references to the frames of pairs whose owner, in the low bits of their pages, is of OWNERS. Where
 * that fails, the frame becomes 0. */
static int count_at_owners(struct fork *fork, struct msg_space_pair *pairs, uint64_t count, kernel_set owners)
{
    int result = 0;

    for (; owners != 0; owners &= owners - 1) {
        uint32_t owner = (uint32_t)__builtin_ctzll(owners);
        uint32_t found = 0;
        int error;

        for (uint64_t i = 0; i < count; i++) {
            if ((pairs[i].page & (PAGE_SIZE - 1)) == owner)
                fork->frames[found++] = pairs[i].frame;
        }
        error = share_frames(owner, fork->frames, found);
        if (error == 0)
            continue;
        result = error;
        for (uint64_t i = 0; i < count; i++) {
            if ((pairs[i].page & (PAGE_SIZE - 1)) == owner)
                pairs[i].frame = 0;
        }
    }
    return result;
}

/* Pages that KERNEL holds become the child's. KERNEL has counted its own frames. */
static int adopt(struct fork *fork, uint32_t kernel, struct msg_space_pair *pairs, uint64_t count)
{
    kernel_set owners = 0;
    int error = 0, counted;
    uint64_t i;

    for (i = 0; i < count; i++) {
        uint32_t owner = frame_owner(pairs[i].frame);

        if (owner == KERNELS_MAX || (pairs[i].page & (PAGE_SIZE - 1)) != 0 || pairs[i].page >= USER_END ||
            (owner == instance.kernel && frame_spaces(pairs[i].frame) == 0)) {
            error = -EPROTO;
            pairs[i].frame = 0;
            continue;
        }
        pairs[i].page |= owner;
        if (owner == instance.kernel)
            frame_share(pairs[i].frame);
        else if (owner != kernel)
            owners |= 1ull << owner;
    }
    counted = count_at_owners(fork, pairs, count, owners);
    if (error == 0)
        error = counted;
    for (i = 0; i < count && error == 0; i++) {
        uint32_t owner = (uint32_t)(pairs[i].page & (PAGE_SIZE - 1));
        const struct area *area = child_area(fork, pairs[i].page);
        uint64_t *entry = area != NULL ? child_entry(fork, pairs[i].page) : NULL;

        if (entry == NULL || *entry != 0) {
            error = entry == NULL && area != NULL ? -ENOMEM : -EPROTO;
            break;
        }
        *entry = pairs[i].frame | PAGING_SOFT_HELD | space_page_flags(area->prot, (area->prot & AREA_SHARED) == 0) |
                 (owner == instance.kernel ? 0 : PAGING_SOFT_BORROWED);
        space_hold_pages_locked(fork->child, 1); /* nobody else knows it yet */
    }
    if (error != 0)
        give_back(pairs + i, count - i);
    return error;
}

/* One table of the parent on this kernel: its private pages in [START, END) become COW, what is held is the child's
 * too. Frames of other kernels are left to the caller, in PAIRS. */
static int copy_leaf_locked(struct fork *fork, uint64_t *leaf, uint64_t start, uint64_t end, bool shared,
                            uint64_t *pairs)
{
    uint32_t last = paging_index(end - 1) + 1;
    struct msg_space_pair *pair;
    uint64_t *child = NULL;

    for (uint32_t i = paging_index(start); (i = paging_next_used(leaf, i, last)) < last; i++) {
        uint64_t page = (start & ~(LEAF_SIZE - 1)) + i * PAGE_SIZE;
        uint64_t entry = leaf[i];

        if ((entry & PAGING_SOFT_LIMBO) != 0)
            continue;
        if (!shared) {
            entry = (entry & ~PAGING_WRITE) | PAGING_SOFT_COW;
            leaf[i] = entry;
        }
        if ((entry & PAGING_SOFT_HELD) == 0)
            continue;
        if ((entry & PAGING_SOFT_BORROWED) != 0) {
            if (!buffers(fork))
                return -ENOMEM;
            pair = (struct msg_space_pair *)(void *)fork->buffer;
            pair[(*pairs)++] = (struct msg_space_pair){page, entry & PAGING_FRAME};
            continue;
        }
        if (child == NULL) {
            child = child_entry(fork, page);
            if (child == NULL)
                return -ENOMEM;
            child = fork->leaf;
        }
        frame_share(entry & PAGING_FRAME);
        child[i] = entry & ~(PAGING_ACCESSED | PAGING_DIRTY);
        space_hold_pages_locked(fork->child, 1);
    }
    return 0;
}

/* What this kernel has. The lock is free after each table, so that messages can be taken; the heavy lock keeps entries
 * as they are. The areas are the child's, which are all of the parent's: a map may join and free one of those. */
static int copy_own(struct fork *fork)
{
    struct space *parent = fork->parent;
    uint64_t pairs = 0;
    uint32_t tables = 0;
    int error = 0;

    list_for_each(node, &fork->child->areas.head) {
        const struct area *area = container_of(node, const struct area, node);
        bool more = (area->prot & AREA_NOT_COPIED) == 0;

        for (uint64_t va = area->start; more && error == 0; va += LEAF_SIZE) {
            uint64_t *leaf;

            spin_lock(&parent->lock);
            leaf = paging_next_leaf(&parent->tables, &va, area->end);
            more = leaf != NULL;
            if (more)
                error = copy_leaf_locked(fork, leaf, va > area->start ? va : area->start,
                                         va + LEAF_SIZE < area->end ? va + LEAF_SIZE : area->end,
                                         (area->prot & AREA_SHARED) != 0, &pairs);
            spin_unlock(&parent->lock);
            if (error == 0 && pairs > PAIRS_MAX - LEAF_ENTRIES) {
                error = adopt(fork, instance.kernel, (struct msg_space_pair *)(void *)fork->buffer, pairs);
                pairs = 0;
            }
            if (++tables % LEAVES_A_POLL == 0)
                msg_poll();
        }
    }
    if (error == 0 && pairs > 0)
        error = adopt(fork, instance.kernel, (struct msg_space_pair *)(void *)fork->buffer, pairs);
    return error;
}

/* What another kernel holds, some thousand pages a message. */
static int take_from(struct fork *fork, uint32_t kernel)
{
    struct msg_space_page ask = {.space = fork->parent->id};
    struct msg_space_taken *answer;
    int error;

    if (!buffers(fork))
        return -ENOMEM;
    answer = (struct msg_space_taken *)(void *)fork->buffer;
    do {
        int length = msg_call(kernel, MSG_SPACE_TAKE, &ask, sizeof(ask), fork->buffer, MSG_MAX, "pages for a fork",
                              ask.page);
        uint64_t next;

        if (length < 0)
            return length;
        next = answer->next;
        error = adopt(fork, kernel, (struct msg_space_pair *)(answer + 1),
                      ((size_t)length - sizeof(*answer)) / sizeof(struct msg_space_pair));
        if (error == 0 && next != 0 && next <= ask.page)
            error = -EPROTO;
        ask.page = next;
    } while (error == 0 && ask.page != 0);
    return error;
}

static uint32_t list_held(struct space *space, uint64_t from, struct msg_space_taken *head)
{
    struct msg_space_pair *pairs = (struct msg_space_pair *)(head + 1);
    const struct area *area = NULL;
    uint32_t count = 0;
    const uint64_t *leaf;

    *head = (struct msg_space_taken){0};
    spin_lock(&space->lock);
    for (uint64_t va = from; (leaf = paging_next_leaf_look(&space->tables, &va, USER_END)) != NULL; va += LEAF_SIZE) {
        if (count > PAIRS_MAX - LEAF_ENTRIES) {
            head->next = va;
            break;
        }
        for (uint32_t i = 0; (i = paging_next_used(leaf, i, LEAF_ENTRIES)) < LEAF_ENTRIES; i++) {
            uint64_t entry = leaf[i];

            if ((entry & PAGING_SOFT_HELD) == 0 || (entry & PAGING_SOFT_LIMBO) != 0 || zero_page_is(entry))
                continue; /* the child finds zeros without it */
            if (area == NULL || area->end <= va + i * PAGE_SIZE)
                area = area_next(&space->areas, va + i * PAGE_SIZE);
            if (area != NULL && area->start <= va + i * PAGE_SIZE && (area->prot & AREA_NOT_COPIED) != 0)
                continue;
            pairs[count++] = (struct msg_space_pair){va + i * PAGE_SIZE, entry & PAGING_FRAME};
            if ((entry & PAGING_SOFT_BORROWED) == 0)
                frame_share(entry & PAGING_FRAME);
        }
    }
    spin_unlock(&space->lock);
    return (uint32_t)(sizeof(*head) + count * sizeof(*pairs));
}

/* --- the other members are told --- */

struct guard {
    kernel_set holders; /* kernels that hold pages */
    int error;
};

static void note_guard(void *context, uint32_t kernel, const void *reply, int length)
{
    const struct msg_space_changed *answer = reply;
    struct guard *guard = context;

    if (length != (int)sizeof(*answer))
        guard->error = length < 0 ? length : -EPROTO;
    else if (answer->value != 0)
        guard->holders |= 1ull << kernel;
}

static int guard_others(struct fork *fork, kernel_set *holders)
{
    struct msg_space_change change = {
        .space = fork->parent->id, .start = 0, .length = USER_END, .operation = SPACE_GUARD};
    struct guard guard = {0};
    kernel_set others = space_others(fork->parent);

    if (others != 0)
        msg_multicast(others, MSG_SPACE_CHANGE, &change, sizeof(change), note_guard, &guard, "fork", 0);
    *holders = guard.holders;
    return guard.error;
}

/* --- shared pages that have no frame yet; a file's have it elsewhere --- */

/* The child gets frames for all of them first, marked as PAGING_SOFT_LIMBO, so that a fork that finds no memory for
 * them leaves the parent as it was. */
static int fill_child(struct fork *fork, const struct area *area)
{
    for (uint64_t page = area->start; page < area->end; page += PAGE_SIZE) {
        uint64_t *entry = child_entry(fork, page);
        uint64_t frame;

        if (entry == NULL)
            return -ENOMEM;
        if (*entry != 0)
            continue;
        frame = frame_alloc_page(true);
        if (frame == 0)
            return -ENOMEM;
        frame_share(frame);
        *entry = frame | PAGING_SOFT_HELD | PAGING_SOFT_LIMBO;
        space_hold_pages_locked(fork->child, 1); /* limbo ends with the fork */
        if (paging_index(page) == 0)
            msg_poll();
    }
    return 0;
}

/* The parent gets the pages too, here and, if it has to know, at its home. */
static int fill_parent(struct fork *fork, const struct area *area, const struct msg_space_pair *pairs, uint32_t count)
{
    struct space *parent = fork->parent;
    int error = 0;

    spin_lock(&parent->lock);
    if (!area_covers(&parent->areas, area->start, area->end))
        error = area_set(&parent->areas, area->start, area->end, area->prot);
    for (uint32_t i = 0; i < count && error == 0; i++) {
        if (paging_entry(&parent->tables, pairs[i].page, true) == NULL)
            error = -ENOMEM;
    }
    spin_unlock(&parent->lock);
    if (error == 0)
        error = parent->retrieval->record_many(parent, pairs, count);
    for (uint32_t i = 0; i < count && error == 0; i++) {
        error = space_install(parent, pairs[i].page, pairs[i].frame, true, false);
        assert(error == 0); /* area and table are there, and nobody had the page */
        *child_entry(fork, pairs[i].page) = pairs[i].frame | PAGING_SOFT_HELD | space_entry_flags(area->prot);
    }
    return error;
}

static int fill_area(struct fork *fork, const struct area *area)
{
    struct msg_space_pair *pairs;
    uint32_t count = 0;
    int error = buffers(fork) ? fill_child(fork, area) : -ENOMEM;

    pairs = (struct msg_space_pair *)(void *)fork->buffer;
    for (uint64_t page = area->start; page < area->end && error == 0; page += PAGE_SIZE) {
        uint64_t entry = *child_entry(fork, page); /* its table is there */

        if ((entry & PAGING_SOFT_LIMBO) != 0)
            pairs[count++] = (struct msg_space_pair){page, entry & PAGING_FRAME};
        if (count == PAIRS_MAX || (count > 0 && page + PAGE_SIZE == area->end)) {
            error = fill_parent(fork, area, pairs, count);
            count = 0;
        }
    }
    return error;
}

static int fill_shared(struct fork *fork)
{
    int error = 0;

    list_for_each(node, &fork->child->areas.head) {
        const struct area *area = container_of(node, const struct area, node);

        if (error == 0 && (area->prot & AREA_SHARED) != 0 && area->backing == BACKING_NONE)
            error = fill_area(fork, area);
    }
    return error;
}

/* --- the whole --- */

static int fork_locked(struct fork *fork)
{
    kernel_set holders = 0;
    int error;

    fork->child->revokes_seen = space_revokes();
    fork->child->areas.refers = false;
    error = copy_areas(fork);
    if (error == 0)
        error = policy_inherit(fork->parent, fork->child);
    if (error == 0)
        error = hold_files(fork->child, (uint32_t)fork->parent->id);
    if (error == 0)
        error = guard_others(fork, &holders);
    if (error == 0) {
        space_gets_await(fork->parent, SPACE_HEAVY);
        error = copy_own(fork);
        space_flush(fork->parent, 0, USER_END);
    }
    for (; holders != 0 && error == 0; holders &= holders - 1)
        error = take_from(fork, (uint32_t)__builtin_ctzll(holders));
    if (error == 0)
        error = fill_shared(fork);
    return error;
}

int space_fork(struct space *parent, struct space *child)
{
    struct fork fork = {.parent = parent, .child = child, .leaf_at = 1};
    int error = space_acquire(parent, SPACE_HEAVY);

    if (error != 0)
        return error;
    error = fork_locked(&fork);
    spin_lock(&parent->lock);
    parent->stats.forks++;
    spin_unlock(&parent->lock);
    space_release(parent, SPACE_HEAVY);
    heap_free(fork.buffer, MSG_MAX);
    heap_free(fork.frames, PAIRS_MAX * sizeof(fork.frames[0]));
    return error;
}

/* Answers with what LIST puts into the answer, if it can. */
static void answer_list(const struct msg *m, struct space *space, bool take)
{
    const struct msg_space_page *ask = m->data;
    struct long_answer *answer = long_answer_create();
    uint32_t length;

    if (answer == NULL) {
        msg_reply_error(&m->ticket, -ENOMEM);
        return;
    }
    if (take)
        length = list_held(space, ask->page, (struct msg_space_taken *)(void *)answer->bytes);
    else
        length = space_list_areas(space, ask->page, (struct msg_space_areas *)(void *)answer->bytes);
    long_answer_send(m, answer, length);
}

/* SPACE_AREAS of who looks from outside and locks nothing. */
struct late_areas {
    struct msg_kept kept;
    struct space *space; /* the recall has a reference */
    struct long_answer *answer;
    uint64_t from;
};

static void late_gone(struct msg_kept *kept)
{
    struct late_areas *late = container_of(kept, struct late_areas, kept);

    long_answer_free(late->answer);
    heap_free(late, sizeof(*late));
}

static void run_recalled(void *context, int error)
{
    struct late_areas *late = context;
    struct msg_space_areas *head = (struct msg_space_areas *)(void *)late->answer->bytes;

    if (error != 0)
        msg_kept_reply_error(&late->kept, error, late_gone);
    else
        msg_kept_reply_long(&late->kept, head, space_list_areas(late->space, late->from, head), late_gone);
}

/* 1: when what others have leased has been recalled, M is answered; 0: nobody has; -ENOMEM. */
static int defer_areas(const struct msg *m, struct space *space)
{
    const struct msg_space_page *ask = m->data;
    struct late_areas *late;
    struct lease_wait *start = NULL;
    int result;

    if (space->leases.ranges.root == NULL)
        return 0;
    late = heap_alloc(sizeof(*late));
    if (late == NULL)
        return -ENOMEM;
    late->answer = long_answer_create();
    late->space = space;
    late->from = ask->page;
    spin_lock(&space->lock);
    result = late->answer == NULL
                 ? -ENOMEM
                 : lease_wait_locked(space, (struct space_range){ask->page, USER_END}, run_recalled, late, &start);
    if (result > 0)
        msg_keep(m, &late->kept, NULL);
    spin_unlock(&space->lock);
    lease_recall(start);
    if (result <= 0)
        late_gone(&late->kept);
    return result;
}

static void handle_areas(const struct msg *m)
{
    const struct msg_space_page *ask = m->data;
    struct space *space = space_get(ask->space);
    int error = space == NULL ? -ESRCH : space->home != instance.kernel ? -EPROTO : defer_areas(m, space);

    if (error < 0)
        msg_reply_error(&m->ticket, error);
    else if (error == 0)
        answer_list(m, space, false);
    if (space != NULL)
        space_put(space);
}

static void handle_take(const struct msg *m)
{
    const struct msg_space_page *ask = m->data;
    struct space *space = space_get(ask->space);

    if (space == NULL) {
        msg_reply_error(&m->ticket, -ESRCH);
        return;
    }
    answer_list(m, space, true);
    space_put(space);
}

void space_fork_init(void)
{
    msg_register(MSG_SPACE_AREAS, handle_areas, sizeof(struct msg_space_page), sizeof(struct msg_space_areas));
    msg_register(MSG_SPACE_TAKE, handle_take, sizeof(struct msg_space_page), sizeof(struct msg_space_taken));
}
