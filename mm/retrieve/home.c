/* Retrieval strategy `home`: the group's home maps every page that any kernel maps, so its page tables are the
 * directory. A fault elsewhere asks the home alone, and a frame that is allocated elsewhere is recorded at the home
 * before it is mapped: one or two round trips, whatever the number of kernels. mm/retrieve/retrieval.md has the
 * protocol. */
#include "kernel/abi/errno.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "mm/frame/reference.h"
#include "mm/page/install.h"
#include "mm/retrieve/internal.h"
#include "mm/retrieve/wire.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "msg/channel.h"
#include "msg/request/call.h"

int space_fetch_home(struct space *space, uint64_t page, struct msg_space_mapping *answer)
{
    struct msg_space_fetch ask = {space->id, page};
    int length;

    memset(answer, 0, sizeof(*answer));
    if (space->home == instance.kernel) {
        space_answer(space, page, answer); /* a page that the home does not map is mapped nowhere */
        return 0;
    }
    length = msg_call(space->home, MSG_SPACE_FETCH, &ask, sizeof(ask), answer, sizeof(*answer), "mapping fetch", page);
    if (length == (int)sizeof(*answer))
        return 0;
    memset(answer, 0, sizeof(*answer));
    return length < 0 ? length : -EPROTO;
}

int space_record_home(struct space *space, uint64_t page, uint64_t frame, bool cow)
{
    struct msg_space_record record = {space->id, page, frame, cow ? 1 : 0};
    int length;

    if (space->home == instance.kernel)
        return 0;
    length = msg_call(space->home, MSG_SPACE_RECORD, &record, sizeof(record), NULL, 0, "record of a new frame", page);
    return length < 0 ? length : 0;
}

static void handle_record(const struct msg *m)
{
    const struct msg_space_record *record = m->data;
    struct space *space = space_get(record->space);
    int error = -ESRCH;

    if (space != NULL) {
        error = space->home == instance.kernel && (record->page & (PAGE_SIZE - 1)) == 0 && frame_exists(record->frame)
                    ? space_install(space, record->page, record->frame, false, record->cow != 0)
                    : -EPROTO;
        space_put(space);
    }
    if (error != 0)
        msg_reply_error(&m->ticket, error);
    else
        msg_reply(&m->ticket, NULL, 0);
}

int space_record_many_home(struct space *space, const struct msg_space_pair *pairs, uint32_t count)
{
    size_t size = sizeof(struct msg_space_page) + count * sizeof(*pairs);
    struct msg_space_page *fill;
    int length;

    if (space->home == instance.kernel)
        return 0;
    fill = heap_alloc(size);
    if (fill == NULL)
        return -ENOMEM;
    fill->space = space->id;
    memcpy(fill + 1, pairs, count * sizeof(*pairs));
    length = msg_call(space->home, MSG_SPACE_FILL, fill, (uint32_t)size, NULL, 0, "record of new frames", pairs->page);
    heap_free(fill, size);
    return length < 0 ? length : 0;
}

/* First does for all pages what can fail, and then makes the entries: all or none. KERNEL maps the pages, too. */
static int fill(struct space *space, const struct msg_space_pair *pairs, uint64_t count, uint32_t kernel)
{
    int error = 0;

    spin_lock(&space->lock);
    for (uint64_t i = 0; i < count && error == 0; i++) {
        const uint64_t *entry;

        if (area_find(&space->areas, pairs[i].page) == NULL || (pairs[i].page & (PAGE_SIZE - 1)) != 0 ||
            !frame_exists(pairs[i].frame)) {
            error = -EFAULT;
            break;
        }
        entry = paging_entry(&space->tables, pairs[i].page, true);
        error = entry == NULL ? -ENOMEM : *entry != 0 ? -EEXIST : 0;
    }
    spin_unlock(&space->lock);
    for (uint64_t i = 0; i < count && error == 0; i++) {
        space_mark(space, pairs[i].page, pairs[i].page + PAGE_SIZE, kernel);
        error = space_install(space, pairs[i].page, pairs[i].frame, false, false);
    }
    return error;
}

static void handle_fill(const struct msg *m)
{
    const struct msg_space_page *message = m->data;
    struct space *space = space_get(message->space);
    int error = -ESRCH;

    if (space != NULL) {
        error = -EPROTO;
        if (space->home == instance.kernel && (m->length - sizeof(*message)) % sizeof(struct msg_space_pair) == 0)
            error = fill(space, (const struct msg_space_pair *)(message + 1),
                         (m->length - sizeof(*message)) / sizeof(struct msg_space_pair), m->ticket.kernel);
        space_put(space);
    }
    if (error != 0)
        msg_reply_error(&m->ticket, error);
    else
        msg_reply(&m->ticket, NULL, 0);
}

static void home_init(void)
{
    msg_register(MSG_SPACE_FILL, handle_fill, sizeof(struct msg_space_page), 0);
    msg_register(MSG_SPACE_RECORD, handle_record, sizeof(struct msg_space_record), 0);
}

const struct space_retrieval space_retrieve_home = {.name = "home",
                                                    .init = home_init,
                                                    .fetch = space_fetch_home,
                                                    .record = space_record_home,
                                                    .record_many = space_record_many_home,
                                                    .home_knows = true};
