/* Leases, on the kernel that holds them and on the home that grants them. mm/lease/recall.c ends them. See the
 * header. */
#include "mm/lease/lease.h"

#include "boot/options/options.h"
#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/list.h"
#include "mm/area/backing.h"
#include "mm/frame/heap.h"
#include "mm/lease/internal.h"
#include "mm/lease/map.h"
#include "mm/lease/room.h"
#include "mm/lease/wire.h"
#include "mm/space/call_home.h"
#include "mm/space/entry.h"
#include "mm/space/limit.h"
#include "mm/space/wire.h"
#include "msg/channel.h"
#include "msg/request/call.h"
#include "msg/slice.h"

#define LEASE_MIN (64ull << 20)            /* bytes */
#define LEASE_TOP (MAP_TOP - (1ull << 40)) /* the home maps above it; the holes there are left for growth */
#define LARGEST (1ull << 30)               /* bytes of a mapping that is made in a lease */
#define LEASES_A_LOOK 64u                  /* that are freed between two looks whether the slice is over */
#define LOOKS 8u                           /* leases that are searched for room before another one is requested */
#define SHARING_MAX 64u                    /* areas that the home leases to itself, in a handler under locks */
#define COLOURS 256u                       /* pages by which the ends of mappings in leases differ */
#define COLOUR_STEP 37u                    /* of one kernel to the next; odd, so that all kernels have their own */
#define ALIGNMENT LEAF_SIZE                /* so that no page table has entries of two such leases */

static bool allowed; /* [i] boot option leases= */

bool leases_allowed_locked(const struct space *space)
{
    return allowed && space->retrieval->home_knows && space_locking->recalls && space->later == 0 &&
           !space_limited_locked(space) && list_empty(&space->leases.waits);
}

/* Returns the size of a lease that has room for LENGTH bytes. */
static uint64_t lease_size(uint64_t length)
{
    uint64_t size = (4 * length + ALIGNMENT - 1) & ~(ALIGNMENT - 1);

    return size > LEASE_MIN ? size : LEASE_MIN;
}

/* Grants KERNEL a lease with room for LENGTH bytes. Returns its start; 0: none is granted. */
static uint64_t grant_locked(struct space *space, uint32_t kernel, uint64_t length)
{
    uint64_t size, room, start;

    if (!leases_allowed_locked(space) || length == 0 || length > LARGEST || (space->members >> kernel & 1) == 0)
        return 0;
    size = lease_size(length);
    /* below the lease granted last; if there is no room, again from the top */
    room = space_gap_locked(space, size + ALIGNMENT, MAP_LOW, space->leases.low != 0 ? space->leases.low : LEASE_TOP,
                            0);
    if (room == 0)
        room = space_gap_locked(space, size + ALIGNMENT, MAP_LOW, LEASE_TOP, 0);
    if (room == 0)
        return 0;
    start = (room + ALIGNMENT) & ~(ALIGNMENT - 1);
    if (space_locking->taken_locked(space, start, start + size) || /* by a lock of the whole space */
        lease_map_set(&space->leases.map, start, start + size, kernel) != 0)
        return 0;
    space->leases.low = start;
    return start;
}

static void handle_lease(const struct msg *m)
{
    const struct msg_space_lease *wanted = m->data;
    struct space *space = space_get(wanted->space);
    struct msg_space_leased leased = {0};
    int error = space == NULL ? -ESRCH : space->home != instance.kernel ? -EPROTO : 0;

    if (error == 0) {
        spin_lock(&space->lock);
        leased.start = grant_locked(space, m->ticket.kernel, wanted->length);
        spin_unlock(&space->lock);
    }
    if (space != NULL)
        space_put(space);
    if (error != 0)
        msg_reply_error(&m->ticket, error);
    else
        msg_reply(&m->ticket, &leased, sizeof(leased));
}

void lease_init(void)
{
    allowed = option_is(instance.cmdline, "leases", "on");
    msg_register(MSG_SPACE_LEASE, handle_lease, sizeof(struct msg_space_lease), sizeof(struct msg_space_leased));
    recall_init();
}

void lease_begin(struct space *space)
{
    lease_map_init(&space->leases.map);
    list_init(&space->leases.waits);
    list_init(&space->leases.under_way);
}

void lease_end(struct space *space)
{
    heap_free(space->leases.memory, sizeof(struct lease));
    space->leases.memory = NULL;
    while (!lease_map_clear_some(&space->leases.map, LEASES_A_LOOK))
        slice_check();
}

bool lease_may_have(uint32_t prot, uint64_t backing)
{
    return (prot & (AREA_GROWS | AREA_LOCKED)) == 0 && !backing_is_file(backing);
}

static uint64_t hinted(const struct space *space, uint64_t hint, uint64_t length)
{
    const struct lease *lease = lease_map_find(&space->leases.map, hint);

    return lease != NULL && lease->kernel == instance.kernel && length <= lease->end - hint &&
                   !area_overlaps(&space->areas, hint, hint + length)
               ? hint
               : 0;
}

/* The end of what LENGTH bytes are looked for in first, in LEASE of this kernel. Leases begin alike, and if mappings in
 * them did, threads that walk through one of each side by side would find all at the same place of a direct-mapped
 * table of pages, as emulators have, or of a set of a TLB. So those too small for large pages end at another page in
 * each kernel's leases. */
static uint64_t coloured_end(const struct lease *lease, uint64_t length)
{
    uint64_t below = instance.kernel * COLOUR_STEP % COLOURS * PAGE_SIZE;

    return length < LEAF_SIZE && lease->end - lease->start >= LEASE_MIN ? lease->end - below : lease->end;
}

uint64_t lease_room_locked(const struct space *space, uint64_t hint, uint64_t length)
{
    const struct lease *lease = lease_map_next(&space->leases.map, space->leases.last);
    uint64_t room = 0;

    if (space->later != 0 || space->leases.frozen)
        return 0;
    if (hint != 0)
        return hinted(space, hint, length);
    for (uint32_t i = 0; i < LOOKS && lease != NULL && room == 0; i++) {
        if (lease->kernel == instance.kernel) {
            room = area_find_gap(&space->areas, length, lease->start, coloured_end(lease, length));
            if (room == 0)
                room = area_find_gap(&space->areas, length, lease->start, lease->end);
        }
        lease = lease_map_after(&space->leases.map, lease);
    }
    return room;
}

void lease_to_home_locked(struct space *space)
{
    const struct area *area = area_next(&space->areas, 0);

    if (!leases_allowed_locked(space))
        return;
    for (uint32_t i = 0; i < SHARING_MAX && area != NULL; i++, area = area_after(&space->areas, area)) {
        if (lease_may_have(area->prot, area->backing) && !space_locking->taken_locked(space, area->start, area->end) &&
            sharers_in(&space->sharers, area->start, area->end) == 0 &&
            lease_lowest_locked(space, area->start, area->end) == area->end)
            lease_map_set(&space->leases.map, area->start, area->end,
                          instance.kernel); /* without memory the area just stays shared */
    }
}

/* Records a lease that the home has granted. RECALLS: the number of recalls when it was requested. */
static bool note_locked(struct space *space, uint64_t start, uint64_t size, uint64_t recalls)
{
    if ((start & (PAGE_SIZE - 1)) != 0 || start > USER_END - size ||
        area_overlaps(&space->areas, start, start + size) ||
        space->leases.recalls != recalls /* one of them may have been of this lease */
        || lease_map_set(&space->leases.map, start, start + size, instance.kernel) != 0)
        return false;
    space->leases.last = start;
    return true;
}

static bool take_from_home(struct space *space, uint64_t length)
{
    struct msg_space_change reclaim = {
        .space = space->id, .length = lease_size(length), .operation = MSG_SPACE_RECLAIM};
    struct msg_space_lease wanted = {space->id, length};
    struct msg_space_leased leased = {0};
    uint64_t recalls;
    bool taken;

    spin_lock(&space->lock);
    recalls = space->leases.recalls;
    spin_unlock(&space->lock);
    if (msg_call(space->home, MSG_SPACE_LEASE, &wanted, sizeof(wanted), &leased, sizeof(leased), "lease of a range",
                 length) != (int)sizeof(leased) ||
        leased.start == 0)
        return false;
    reclaim.start = leased.start;
    spin_lock(&space->lock);
    taken = note_locked(space, reclaim.start, reclaim.length, recalls);
    spin_unlock(&space->lock);
    if (!taken)
        space_call_home(space, &reclaim); /* so that the home does not wait for this kernel there */
    return taken;
}

bool lease_take(struct space *space, uint64_t length)
{
    uint64_t start;

    if (!allowed || length > LARGEST || !space->retrieval->home_knows || !space_locking->recalls)
        return false;
    if (space->home != instance.kernel)
        return take_from_home(space, length);
    spin_lock(&space->lock);
    start = grant_locked(space, instance.kernel, length);
    if (start != 0)
        space->leases.last = start;
    spin_unlock(&space->lock);
    return start != 0;
}

struct lease *lease_memory_locked(struct space *space)
{
    struct lease *memory = space->leases.memory;

    if (!allowed || !space_locking->recalls)
        return NULL;
    space->leases.memory = NULL;
    return memory != NULL ? memory : heap_alloc_unset(sizeof(*memory));
}

void lease_memory_return_locked(struct space *space, struct lease *memory)
{
    if (space->leases.memory == NULL)
        space->leases.memory = memory;
    else
        heap_free(memory, sizeof(*memory));
}

bool lease_fits_locked(const struct space *space, struct space_range range)
{
    const struct lease *next;

    if (lease_map_empty(&space->leases.map))
        return true;
    next = lease_map_next(&space->leases.map, range.start);
    return next == NULL || next->start >= range.end;
}

void lease_note_locked(struct space *space, struct space_range range, struct lease *memory)
{
    lease_map_add_empty(&space->leases.map, range.start, range.end, instance.kernel, memory);
    space->leases.noted++;
}

bool lease_freeze_locked(struct space *space)
{
    if (space->home == instance.kernel)
        return false;
    if (lease_map_empty(&space->leases.map))
        space->leases.recalls++; /* as by a recall, a lease on its way is returned */
    else
        space->leases.frozen = true;
    return space->leases.frozen;
}

/* --- queries and removal --- */

static const struct lease *others(const struct space *space, uint64_t start, uint64_t end)
{
    const struct lease *lease;

    if (lease_map_empty(&space->leases.map) || lease_map_gap(&space->leases.map, start, end))
        return NULL;
    lease = lease_map_next(&space->leases.map, start);
    while (lease != NULL && lease->start < end && lease->kernel == instance.kernel)
        lease = lease_map_after(&space->leases.map, lease);
    return lease != NULL && lease->start < end ? lease : NULL;
}

const struct lease *lease_others_locked(const struct space *space, uint64_t start, uint64_t end)
{
    return space->home == instance.kernel ? others(space, start, end) : NULL;
}

kernel_set lease_holders_locked(const struct space *space)
{
    const struct lease *lease = lease_others_locked(space, 0, USER_END);
    kernel_set holders = 0;

    for (; lease != NULL; lease = lease_map_after(&space->leases.map, lease))
        holders |= 1ull << lease->kernel;
    return holders & ~(1ull << instance.kernel);
}

int32_t lease_holder_locked(const struct space *space, struct space_range range)
{
    const struct lease *lease = lease_others_locked(space, range.start, range.end);

    return lease != NULL ? (int32_t)lease->kernel : -1;
}

uint64_t lease_lowest_locked(const struct space *space, uint64_t start, uint64_t end)
{
    const struct lease *lease;

    if (lease_map_empty(&space->leases.map) || lease_map_gap(&space->leases.map, start, end))
        return end;
    lease = lease_map_find(&space->leases.map, start);
    if (lease != NULL)
        return lease->start;
    return space->leases.map.gap.end < end ? space->leases.map.gap.end : end; /* the gap that START is in */
}

void lease_clip_locked(const struct space *space, uint64_t page, uint64_t *start, uint64_t *end)
{
    const struct lease *above, *below;

    if (lease_map_empty(&space->leases.map) || lease_map_gap(&space->leases.map, *start, *end))
        return;
    above = lease_map_next(&space->leases.map, page);
    below = lease_map_before(&space->leases.map, above);
    if (above != NULL && above->start < *end)
        *end = above->start;
    if (below != NULL && below->end > *start)
        *start = below->end;
}

struct space_range lease_widen_locked(const struct space *space, const struct lease *lease, uint64_t start,
                                      uint64_t end)
{
    const struct area *low, *high;

    if (lease->empty) {
        start &= ~(LEAF_SIZE - 1);
        end = (end + LEAF_SIZE - 1) & ~(LEAF_SIZE - 1);
        return (struct space_range){start > lease->start ? start : lease->start, end < lease->end ? end : lease->end};
    }
    low = area_find(&space->areas, start);
    high = area_find(&space->areas, end - 1);
    if (low != NULL)
        start = low->start > lease->start ? low->start : lease->start;
    if (high != NULL)
        end = high->end < lease->end ? high->end : lease->end;
    return (struct space_range){start, end};
}

/* An unleased range that was a whole lease is where the next lease goes: its page tables exist already, and a process
 * that forks again and again does not use up addresses. */
static void note_free_locked(struct space *space, uint64_t start, uint64_t end)
{
    if (lease_map_empty(&space->leases.map)) /* then holes between areas are found, too */
        space->leases.low = 0;
    else if (end - start >= LEASE_MIN && end > space->leases.low && end <= LEASE_TOP)
        space->leases.low = end;
}

void lease_count_holes_locked(struct space *space)
{
    space->areas.holes = space->leases.map.empties;
}

int lease_recalled_locked(struct space *space, uint64_t start, uint64_t end)
{
    int error = lease_map_remove(&space->leases.map, start, end);

    if (error != 0)
        return error;
    lease_count_holes_locked(space);
    note_free_locked(space, start, end);
    return 0;
}

uint64_t lease_remove_locked(struct space *space, uint64_t start, uint64_t end)
{
    if (lease_map_remove(&space->leases.map, start, end) != 0) { /* no memory to split the lease */
        end = lease_map_find(&space->leases.map, start)->end;
        lease_map_remove(&space->leases.map, start, end);
    }
    note_free_locked(space, start, end);
    return end;
}

static void drop_locked(struct space *space, uint32_t kernel)
{
    const struct lease *lease = lease_map_next(&space->leases.map, 0);

    while (lease != NULL) {
        uint64_t start = lease->start, end = lease->end;

        if (lease->kernel == kernel)
            lease_map_remove(&space->leases.map, start, end); /* a whole lease: this needs no memory */
        lease = lease_map_next(&space->leases.map, end);
    }
}

void lease_share_locked(struct space *space, uint64_t start, uint64_t end)
{
    const struct lease *lease = NULL;

    if (start == 0 && end >= USER_END) {
        drop_locked(space, instance.kernel);
        space->leases.low = 0; /* holes are found again, although others keep their leases */
    } else if (!lease_map_empty(&space->leases.map)) {
        lease = lease_map_next(&space->leases.map, start);
    }
    while (lease != NULL && lease->start < end) {
        uint64_t next = lease->end;

        if (lease->kernel == instance.kernel) {
            struct space_range given = lease_widen_locked(space, lease, start > lease->start ? start : lease->start,
                                                          end < lease->end ? end : lease->end);

            lease_remove_locked(space, given.start, given.end);
        }
        lease = next < end ? lease_map_next(&space->leases.map, next) : NULL;
    }
}

void lease_forget_locked(struct space *space, uint32_t kernel)
{
    drop_locked(space, kernel);
    if (space->home != instance.kernel)
        return;
    lease_count_holes_locked(space);
    if (space->members == 1ull << instance.kernel)
        lease_share_locked(space, 0, USER_END);
}
