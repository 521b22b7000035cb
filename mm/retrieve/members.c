/* Retrieval strategy `members`: asks every kernel that hosts the group, at once, what it maps at the page. Precedence
 * of the answers as published (Popcorn thesis 5.7.3): a frame over an area, an area over nothing. */
#include "kernel/abi/errno.h"
#include "kernel/lib/string.h"
#include "mm/page/install.h"
#include "mm/retrieve/internal.h"
#include "mm/retrieve/wire.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "msg/channel.h"
#include "msg/request/call.h"

void space_take_mapping(void *context, uint32_t kernel, const void *reply, int length)
{
    struct space_fetching *fetching = context;
    struct msg_space_mapping answer;

    (void)kernel;
    if (length != (int)sizeof(answer)) {
        fetching->error = length < 0 ? length : -EPROTO;
        return;
    }
    memcpy(&answer, reply, sizeof(answer));
    if (answer.kind > fetching->answer->kind && answer.kind <= SPACE_FRAME)
        *fetching->answer = answer;
}

void space_add_own_area(struct space *space, uint64_t page, struct msg_space_mapping *answer)
{
    const struct area *area;

    if (answer->kind != SPACE_NONE)
        return;
    spin_lock(&space->lock);
    area = area_find(&space->areas, page);
    if (area != NULL)
        *answer = (struct msg_space_mapping){.kind = SPACE_AREA,
                                             .prot = area->prot,
                                             .start = area->start,
                                             .end = area->end,
                                             .backing = area_backing_at(area, page)};
    spin_unlock(&space->lock);
}

static int members_fetch(struct space *space, uint64_t page, struct msg_space_mapping *answer)
{
    struct msg_space_fetch ask = {space->id, page};
    struct space_fetching fetching = {.answer = answer};
    kernel_set others;

    memset(answer, 0, sizeof(*answer));
    spin_lock(&space->lock);
    others = space->members & ~(1ull << instance.kernel);
    spin_unlock(&space->lock);
    msg_multicast(others, MSG_SPACE_FETCH, &ask, sizeof(ask), space_take_mapping, &fetching, "mapping fetch", page);
    space_add_own_area(space, page, answer);
    return fetching.error;
}

int space_record_nothing(struct space *space, uint64_t page, uint64_t frame, bool cow)
{
    (void)cow;
    (void)space;
    (void)page;
    (void)frame;
    return 0; /* there is no directory */
}

int space_record_none_of_many(struct space *space, const struct msg_space_pair *pairs, uint32_t count)
{
    (void)space;
    (void)pairs;
    (void)count;
    return 0;
}

static void handle_fetch(const struct msg *m)
{
    const struct msg_space_fetch *ask = m->data;
    struct msg_space_mapping answer = {.kind = SPACE_NONE};
    struct space *space = ask->page < USER_END ? space_get(ask->space) : NULL;

    if (space != NULL) {
        space_answer(space, ask->page, &answer);
        /* the asker holds the page's lock: nobody reads or clears its mark in between */
        if (space->home == instance.kernel && space->retrieval->home_knows && answer.kind != SPACE_NONE)
            space_mark(space, ask->page, ask->page + 1, m->ticket.kernel);
        space_put(space);
    }
    msg_reply(&m->ticket, &answer, sizeof(answer));
}

static void members_init(void)
{
    msg_register(MSG_SPACE_FETCH, handle_fetch, sizeof(struct msg_space_fetch), sizeof(struct msg_space_mapping));
}

const struct space_retrieval space_retrieve_members = {.name = "members",
                                                       .init = members_init,
                                                       .fetch = members_fetch,
                                                       .record = space_record_nothing,
                                                       .record_many = space_record_none_of_many};
