/* Retrieval strategy `upfront` (Popcorn thesis 5.7.2, where it was considered and abandoned): a kernel that begins to
 * host a space fetches all its areas and pages, at the first fault there that asks the home. Later ones ask the home as
 * with strategy `home`, whose page tables are the directory. */
#include "mm/retrieve/upfront.h"

#include "kernel/abi/errno.h"
#include "mm/frame/heap.h"
#include "mm/lock/lock.h"
#include "mm/retrieve/internal.h"
#include "mm/retrieve/wire.h"
#include "mm/space/question.h"
#include "mm/space/wire.h"
#include "msg/channel.h"
#include "msg/request/call.h"
#include "msg/request/long_answer.h"

static int take_areas(struct space *space, uint8_t *buffer)
{
    const struct msg_space_areas *head = (const struct msg_space_areas *)(const void *)buffer;
    struct msg_space_page ask = {.space = space->id, .page = SPACE_AREAS_KEPT};
    int error = 0;

    do {
        int length = msg_call(space->home, MSG_SPACE_AREAS, &ask, sizeof(ask), buffer, MSG_MAX, "areas of a space", 0);
        const struct msg_space_area *areas = (const struct msg_space_area *)(head + 1);

        if (length < (int)sizeof(*head))
            return length < 0 ? length : -EPROTO;
        spin_lock(&space->lock);
        for (size_t i = 0; i < ((size_t)length - sizeof(*head)) / sizeof(*areas) && error == 0; i++)
            error = area_set_backed(&space->areas, areas[i].start, areas[i].end, (uint32_t)areas[i].prot,
                                    areas[i].backing);
        spin_unlock(&space->lock);
        if (error == 0 && head->next != 0 && head->next <= ask.page)
            error = -EPROTO;
        ask.page = head->next | SPACE_AREAS_KEPT;
    } while (error == 0 && head->next != 0);
    return error;
}

int space_fill(struct space *space)
{
    uint8_t *buffer = heap_alloc(MSG_MAX);
    struct space_lock lock;
    int error = buffer != NULL ? space_acquire(space, SPACE_HEAVY, &lock) : -ENOMEM;

    if (error == 0) {
        space_gets_await(space, SPACE_HEAVY);
        if (!space->filled) { /* another thread may have filled it meanwhile */
            error = take_areas(space, buffer);
            if (error == 0)
                error = space_list_take(space, space->home, buffer, PAGING_SOFT_PREFETCHED);
            space->filled = true;
        }
        space_release(space, &lock);
    }
    heap_free(buffer, MSG_MAX);
    return error;
}

const struct space_retrieval space_retrieve_upfront = {.name = "upfront",
                                                       .fetch = space_fetch_home,
                                                       .record = space_record_home,
                                                       .record_many = space_record_many_home,
                                                       .home_knows = true,
                                                       .fills = true};
