/* Fork: the child's areas, and the objects behind them. */
#include "mm/retrieve/areas.h"
#include "kernel/abi/errno.h"
#include "kernel/lib/list.h"
#include "mm/area/backing.h"
#include "mm/file/hold.h"
#include "mm/fork/internal.h"
#include "mm/lease/lease.h"
#include "mm/retrieve/wire.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "msg/slice.h"

#define AREAS_AT_ONCE 32u /* that are copied under the parent's lock */

/* Adds an area of the parent to the child, unless the parent has marked it AREA_DONTFORK. */
static int append_area(struct space *child, uint64_t start, uint64_t end, uint32_t prot, uint64_t backing)
{
    int error;

    if ((prot & AREA_DONTFORK) != 0)
        return 0;
    child->areas.follows++; /* the parent may have them; the end of a lease may have cut one in two */
    error = area_append_backed(&child->areas, start, end, prot & ~AREA_LOCKED, backing);
    child->areas.follows--;
    return error;
}

static int copy_areas_here(struct space *parent, struct space *child)
{
    const struct area *area;
    uint64_t at = 0;
    int error = 0;

    spin_lock(&parent->lock);
    child->break_start = parent->break_start;
    child->break_now = parent->break_now;
    while (error == 0 && (area = area_next(&parent->areas, at)) != NULL) {
        for (uint32_t i = 0; i < AREAS_AT_ONCE && area != NULL && error == 0; i++) {
            uint64_t start = area->start > at ? area->start : at; /* a map may have merged it with the last one */

            error = append_area(child, start, area->end, area->prot, area_backing_at(area, start));
            at = area->end;
            area = area_after(&parent->areas, area);
        }
        spin_unlock(&parent->lock);
        slice_check();
        spin_lock(&parent->lock);
    }
    spin_unlock(&parent->lock);
    return error;
}

/* Asks KERNEL for the areas from FROM on and appends those below UNTIL. LEASED: KERNEL has leased them. The answer's
 * head stays in fork->buffer. */
static int append_from(struct fork *fork, uint32_t kernel, uint64_t from, uint64_t until, bool leased)
{
    struct msg_space_areas *answer = (struct msg_space_areas *)(void *)fork->buffer;
    const struct msg_space_area *areas = (const struct msg_space_area *)(answer + 1);
    int length = space_areas_held(fork->parent->id, kernel, from, answer), error = 0;

    if (length < 0)
        return length;
    for (size_t i = 0; i < ((size_t)length - sizeof(*answer)) / sizeof(*areas) && error == 0; i++) {
        uint64_t end = areas[i].end < until ? areas[i].end : until;

        if (areas[i].start >= until)
            break;
        if (leased && (areas[i].prot & (AREA_SHARED | AREA_DONTFORK)) == AREA_SHARED) {
            fork->fills_leased = true;
            return -EAGAIN;
        }
        error = append_area(fork->child, areas[i].start, end, (uint32_t)areas[i].prot, areas[i].backing);
    }
    slice_check();
    return error == 0 && answer->next != 0 && answer->next <= from && answer->holder == 0 ? -EPROTO : error;
}

/* Appends the areas of a lease, which KERNEL has, from FROM to its end, UNTIL. A lease that KERNEL has not recorded has
 * none. */
static int append_lease(struct fork *fork, uint32_t kernel, uint64_t from, uint64_t until)
{
    const struct msg_space_areas *answer = (const struct msg_space_areas *)(const void *)fork->buffer;
    int error;

    if (kernel >= KERNELS_MAX || until <= from)
        return -EPROTO;
    do {
        error = append_from(fork, kernel, from, until, true);
        from = answer->next;
    } while (error == 0 && from != 0 && from < until);
    return error;
}

int fork_copy_areas(struct fork *fork)
{
    const struct space *parent = fork->parent;
    const struct msg_space_areas *answer;
    uint64_t at = 0;
    int error = 0;

    if (parent->home == instance.kernel && lease_map_empty(&parent->leases.map)) /* the home's own are given up */
        return copy_areas_here(fork->parent, fork->child);
    if (!fork_buffers(fork))
        return -ENOMEM;
    answer = (const struct msg_space_areas *)(const void *)fork->buffer;
    do {
        error = append_from(fork, parent->home, at, USER_END, false);
        if (error != 0)
            break;
        fork->child->break_start = answer->break_start;
        fork->child->break_now = answer->break_now;
        at = answer->next;
        if (answer->holder != 0) {
            uint64_t until = answer->until;

            error = append_lease(fork, (uint32_t)(answer->holder - 1), at, until);
            at = until < USER_END ? until : 0;
        }
    } while (error == 0 && at != 0);
    return error;
}

int fork_hold_files(struct space *child, uint32_t parent)
{
    uint64_t last = BACKING_NONE;
    struct area *failed = NULL;
    int error = 0;

    list_for_each(node, &child->areas.head) {
        struct area *area = container_of(node, struct area, node);

        slice_check();
        if (!backing_is_file(area->backing))
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
        if (backing_is_file(area->backing))
            file_hold_untake(area->backing, parent);
    }
    if (error == 0)
        area_list_refers(&child->areas);
    return error == -ENXIO ? -EPROTO : error;
}
