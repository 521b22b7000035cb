/* Queries: which pages have frames (mincore), and where they are (move_pages without nodes). They take no lock if the
 * home's tables are the directory, and end no lease: the home, or the kernel that has leased the range, answers. A
 * lease of a part of the range is recalled first. */
#include "kernel/abi/errno.h"
#include "mm/area/backing.h"
#include "mm/change/change.h"
#include "mm/change/internal.h"
#include "mm/file/page.h"
#include "mm/frame/reference.h"
#include "mm/lease/decide.h"
#include "mm/lock/lock.h"
#include "mm/mempolicy/mempolicy.h"
#include "mm/page/zero_page.h"
#include "mm/space/call_home.h"
#include "mm/space/entry.h"
#include "mm/space/question.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "msg/channel.h"
#include "msg/request/call.h"

/* --- on one kernel --- */

static bool has_frame(const uint64_t *entry)
{
    return entry != NULL && *entry != 0 && (*entry & PAGING_SOFT_PENDING_FREE) == 0;
}

int64_t space_known_locked(const struct space *space, uint64_t start, uint64_t end)
{
    const struct lease *lease = lease_others_locked(space, start, end); /* of all of it: one of a part is recalled */

    if (lease != NULL)
        return SPACE_ELSEWHERE | (int64_t)lease->kernel;
    return space->home == instance.kernel || lease_has_locked(space, start, end) ? 0 : -EAGAIN;
}

static int64_t where_locked(struct space *space, uint64_t page)
{
    const struct area *area = area_find(&space->areas, page);
    const uint64_t *entry = paging_look(&space->tables, page);

    if (has_frame(entry))
        return zero_page_is(*entry) ? SPACE_WHERE_FAULT : (int64_t)(*entry & PAGING_FRAME);
    return area == NULL || (area->backing == BACKING_NONE && (area->prot & AREA_SHARED) == 0) ? SPACE_WHERE_FAULT
                                                                                              : SPACE_WHERE_NONE;
}

int64_t space_apply_resident_locked(struct space *space, const struct msg_space_change *change)
{
    uint64_t end = change->start + change->length;
    int64_t known = space_known_locked(space, change->start, end);
    uint64_t pages = 0;

    if (known > 0 || (known < 0 && space->retrieval->home_knows))
        return known;
    if (change->resident.frame != 0)
        return where_locked(space, change->start);
    for (uint32_t i = 0; i < SPACE_RESIDENT_MAX && i < change->length / PAGE_SIZE; i++)
        pages |= has_frame(paging_look(&space->tables, change->start + i * PAGE_SIZE)) ? 1ull << i : 0;
    return (int64_t)pages;
}

/* --- over kernels --- */

int64_t space_ask_who_knows(struct space *space, const struct msg_space_change *change)
{
    int64_t value = 0;
    bool known;

    spin_lock(&space->lock);
    known = space_decides_locked(space, space_change_range(change), DECIDES_LEASE) != DECIDES_NOT;
    if (known)
        value = space_apply_locked(space, change);
    spin_unlock(&space->lock);
    return known ? value : space_ask_home(space, change);
}

/* Performs CHANGE on the kernel that has leased the range. -EAGAIN: it has given the lease up. */
static int64_t ask_holder(struct space *space, uint32_t kernel, const struct msg_space_change *change)
{
    struct msg_space_changed changed;
    int length;

    if (kernel == instance.kernel)
        return space_apply(space, change);
    length = msg_call(kernel, change->operation, change, sizeof(*change), &changed, sizeof(changed),
                      "query of leased memory", change->start);
    if (length == -ESRCH)
        return -EAGAIN;
    return length < 0 ? length : length == (int)sizeof(changed) ? (int64_t)changed.value : -EPROTO;
}

/* Has the home recall the leases of CHANGE's range. */
static int reclaim(struct space *space, const struct msg_space_change *change)
{
    struct msg_space_change ask = {
        .space = space->id, .start = change->start, .length = change->length, .operation = MSG_SPACE_RECLAIM};

    return (int)space_ask_home(space, &ask);
}

int64_t space_query(struct space *space, const struct msg_space_change *change)
{
    int64_t value;
    int error;

    do {
        value = space_ask_who_knows(space, change);
        if (value >= 0 && (value & SPACE_ELSEWHERE) != 0)
            value = ask_holder(space, (uint32_t)(value & (KERNELS_MAX - 1)), change);
        /* EAGAIN: the holder has no lease there. It is on its way to it, is being recalled, or neither the lease nor
         * its return had memory. The last of these does not pass, so asking the home again is not enough. */
        error = value == -EAGAIN ? reclaim(space, change) : 0;
    } while (value == -EAGAIN && error == 0);
    return error != 0 ? error : value;
}

static void note_resident(void *context, uint32_t kernel, const void *reply, int length)
{
    const struct msg_space_changed *answer = reply;
    int64_t *pages = context;

    (void)kernel;
    if (length == (int)sizeof(*answer))
        *pages |= (int64_t)answer->value;
}

int64_t space_resident_pages(struct space *space, uint64_t start, uint32_t count)
{
    struct msg_space_change change = {
        .space = space->id, .start = start, .length = count * PAGE_SIZE, .operation = MSG_SPACE_RESIDENT};
    int64_t pages;

    if (space->retrieval->home_knows)
        return space_query(space, &change);
    pages = space_apply(space, &change);
    msg_multicast(space_others(space), MSG_SPACE_RESIDENT, &change, sizeof(change), note_resident, &pages,
                  "pages that are mapped", start);
    return pages;
}

int64_t space_cached_pages(struct space *space, uint64_t start, uint32_t count, uint64_t backing)
{
    int64_t pages = space_resident_pages(space, start, count);
    uint64_t cached;
    int error;

    if (pages < 0 || !backing_is_file(backing))
        return pages;
    error = file_pages_resident(backing, count, &cached);
    return error != 0 ? error : pages | (int64_t)cached;
}

/* Where PAGE, which is locked, is, for strategies that find by asking: as SPACE_RESIDENT with FRAME. */
static int64_t where_asking(struct space *space, uint64_t page)
{
    struct msg_space_mapping answer;
    const uint64_t *entry;
    int64_t here;
    bool known;
    int error;

    spin_lock(&space->lock);
    entry = paging_look(&space->tables, page);
    known = area_find(&space->areas, page) != NULL && entry != NULL && *entry != 0;
    here = where_locked(space, page);
    spin_unlock(&space->lock);
    if (known)
        return here;
    error = space->retrieval->fetch(space, page, &answer);
    if (error != 0 && answer.kind != SPACE_FRAME)
        return -ENOMEM;
    if (answer.kind == SPACE_NONE)
        return here;
    if (answer.kind == SPACE_FRAME)
        return frame_exists(answer.frame) ? (int64_t)answer.frame : SPACE_WHERE_FAULT;
    return answer.backing == BACKING_NONE && (answer.prot & AREA_SHARED) == 0 ? SPACE_WHERE_FAULT : SPACE_WHERE_NONE;
}

static int64_t fetch_where(struct space *space, uint64_t page)
{
    struct space_range range = {page, page + PAGE_SIZE};
    struct space_lock lock;
    int64_t where = space_acquire(space, range, &lock);

    if (where != 0)
        return where;
    space_gets_await(space, range);
    where = where_asking(space, page);
    space_release(space, &lock);
    return where;
}

int space_page_node(struct space *space, uint64_t address)
{
    struct msg_space_change change = {.space = space->id,
                                      .start = address & ~(PAGE_SIZE - 1),
                                      .length = PAGE_SIZE,
                                      .operation = MSG_SPACE_RESIDENT,
                                      .resident = {.frame = 1}};
    int64_t where;

    if (address >= USER_END)
        return -EFAULT;
    where = space->retrieval->home_knows ? space_query(space, &change) : fetch_where(space, change.start);
    if (where <= SPACE_WHERE_NONE)
        return where == SPACE_WHERE_NONE ? -ENOENT : where == SPACE_WHERE_FAULT ? -EFAULT : (int)where;
    return (int)policy_node_of((uint64_t)where);
}
