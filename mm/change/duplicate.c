/* A shared area mapped at a second place of the same address space: the pages of the second place map the frames of the
 * first and have a reference of their own to each, as those of a fork's child. mm/change/remap.md, mm/fork/fork.md. */
#include "kernel/abi/errno.h"
#include "kernel/instance/window.h"
#include "kernel/lib/panic.h"
#include "mm/change/change.h"
#include "mm/change/internal.h"
#include "mm/frame/frame.h"
#include "mm/frame/heap.h"
#include "mm/frame/reference.h"
#include "mm/space/entry.h"
#include "mm/space/limit.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"

#define PAIRS 256u /* the most pages in one batch */

struct duplicate {
    struct space *space;
    uint64_t from, to;
    uint32_t prot;
    uint32_t count;
    struct msg_space_pair pairs[PAIRS]; /* pages of the new place and their frames */
    uint64_t frames[PAIRS];
};

/* Gathers the next batch: pages of [AT, END) of the first place. -EAGAIN: one is not mapped here; -ENOMEM. */
static int gather(struct duplicate *d, uint64_t at, uint64_t end)
{
    int error = 0;

    d->count = 0;
    spin_lock(&d->space->lock);
    for (; at < end && d->count < PAIRS && error == 0; at += PAGE_SIZE) {
        const uint64_t *entry = paging_look(&d->space->tables, at);
        uint64_t page = at - d->from + d->to;

        if (entry == NULL || *entry == 0 || (*entry & PAGING_SOFT_PENDING_FREE) != 0)
            error = -EAGAIN;
        else if (paging_entry(&d->space->tables, page, true) == NULL)
            error = -ENOMEM;
        else
            d->pairs[d->count++] = (struct msg_space_pair){page, *entry & PAGING_FRAME};
    }
    spin_unlock(&d->space->lock);
    return error;
}

/* Counts the second place's references to the frames of the batch. On an error none is counted. */
static int count_references(struct duplicate *d)
{
    kernel_set done = 0;
    int error = 0;

    for (uint32_t i = 0; i < d->count && error == 0; i++) {
        uint32_t owner = frame_owner(d->pairs[i].frame), found = 0;

        if ((done >> owner & 1) != 0)
            continue;
        for (uint32_t k = i; k < d->count; k++) {
            if (frame_owner(d->pairs[k].frame) != owner)
                continue;
            d->frames[found++] = d->pairs[k].frame;
            if (owner == instance.kernel)
                frame_share(d->pairs[k].frame);
        }
        if (owner != instance.kernel)
            error = share_frames(owner, d->frames, found);
        if (error == 0)
            done |= 1ull << owner;
    }
    for (uint32_t i = 0; i < d->count && error != 0; i++) {
        if ((done >> frame_owner(d->pairs[i].frame) & 1) != 0)
            release_one(d->pairs[i].frame);
    }
    return error;
}

static void install(const struct duplicate *d)
{
    spin_lock(&d->space->lock);
    for (uint32_t i = 0; i < d->count; i++) {
        uint64_t *entry = paging_entry(&d->space->tables, d->pairs[i].page, true);

        assert(entry != NULL && *entry == 0); /* gather has made the table, and the new place is locked */
        *entry = space_entry(d->space, d->pairs[i].page, d->pairs[i].frame, d->prot, false, true, 0);
        space_hold_pages_locked(d->space, 1);
    }
    spin_unlock(&d->space->lock);
}

static int copy_pages(struct duplicate *d, uint64_t length)
{
    uint64_t end = d->from + length;
    int error = 0;

    for (uint64_t at = d->from; at < end && error == 0; at += d->count * PAGE_SIZE) {
        error = gather(d, at, end);
        if (error == 0)
            error = count_references(d);
        if (error != 0)
            break;
        error = d->space->retrieval->record_many(d->space, d->pairs, d->count);
        if (error == 0) {
            install(d);
            continue;
        }
        for (uint32_t i = 0; i < d->count; i++)
            release_one(d->pairs[i].frame);
    }
    return error;
}

int space_duplicate(struct space *space, struct space_lock *lock, uint64_t from, uint64_t length, uint64_t to,
                    uint64_t room, uint32_t prot, uint64_t backing)
{
    struct msg_space_change map = {.space = space->id,
                                   .start = to,
                                   .length = room,
                                   .operation = MSG_SPACE_MAP,
                                   .prot = prot | space_unlimited(),
                                   .map = {.how = SPACE_MAP_KEEP, .backing = backing}};
    struct duplicate *d = heap_alloc(sizeof(*d));
    int64_t place = -ENOMEM;
    int error;

    if (d != NULL && backing_may_grow(backing, length / PAGE_SIZE, room / PAGE_SIZE))
        place = space_ask_home(space, &map);
    if (place < 0) {
        heap_free(d, sizeof(*d));
        return (int)place;
    }
    *d = (struct duplicate){.space = space, .from = from, .to = to, .prot = prot};
    spin_lock(&space->lock);
    /* as at the home, which may have added AREA_LOCKED; and no more than the pages that are recorded there for this
     * kernel */
    error = area_set_backed(&space->areas, to, to + length, prot, backing);
    spin_unlock(&space->lock);
    if (error == 0)
        error = copy_pages(d, length);
    if (error != 0)
        space_unmap_everywhere(space, lock, to, room);
    heap_free(d, sizeof(*d));
    return error;
}
