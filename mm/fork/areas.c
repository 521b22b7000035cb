/* Fork: the child's areas, and the objects behind them. */
#include "kernel/abi/errno.h"
#include "kernel/lib/list.h"
#include "mm/area/backing.h"
#include "mm/file/hold.h"
#include "mm/fork/internal.h"
#include "mm/retrieve/wire.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "msg/call.h"
#include "msg/slice.h"

#define AREAS_AT_ONCE 32u /* that are copied under the parent's lock */

/* Adds an area of the parent to the child, unless the parent has marked it AREA_DONTFORK. */
static int append_area(struct space *child, uint64_t start, uint64_t end, uint32_t prot, uint64_t backing)
{
    if ((prot & AREA_DONTFORK) != 0)
        return 0;
    return area_append_backed(&child->areas, start, end, prot & ~AREA_LOCKED, backing);
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

int fork_copy_areas(struct fork *fork)
{
    struct msg_space_page ask = {.space = fork->parent->id};
    const struct msg_space_areas *answer;
    int error = 0;

    if (fork->parent->home == instance.kernel)
        return copy_areas_here(fork->parent, fork->child);
    if (!fork_buffers(fork))
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
        slice_check();
        fork->child->break_start = answer->break_start;
        fork->child->break_now = answer->break_now;
        if (error == 0 && answer->next != 0 && answer->next <= ask.page)
            error = -EPROTO;
        ask.page = answer->next;
    } while (error == 0 && ask.page != 0);
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
