/* Retrieval strategy `broadcast`, as published (Popcorn thesis 5.7.3): it asks every kernel of the machine, whether it
 * hosts the group or not, what it maps at the page. A frame takes precedence over an area, and an area over nothing. A
 * copy-on-write page is copied before a second kernel maps it. */
#include "kernel/lib/string.h"
#include "mm/retrieve/internal.h"
#include "mm/retrieve/wire.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "msg/channel.h"
#include "msg/request/call.h"

static int broadcast_fetch(struct space *space, uint64_t page, struct msg_space_mapping *answer)
{
    struct msg_space_fetch ask = {space->id, page};
    struct space_fetching fetching = {.answer = answer};

    memset(answer, 0, sizeof(*answer));
    msg_gather(msg_peers_reachable(), MSG_SPACE_FETCH, &ask, sizeof(ask), space_take_mapping, &fetching,
               "mapping fetch", page);
    space_add_own_area(space, page, answer);
    return fetching.error;
}

const struct space_retrieval space_retrieve_broadcast = {.name = "broadcast",
                                                         .fetch = broadcast_fetch,
                                                         .record = space_record_nothing,
                                                         .record_many = space_record_none_of_many,
                                                         .breaks_first = true};
