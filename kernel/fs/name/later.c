/* Requests that a worker does. See the header. */
#include "kernel/fs/name/later.h"

#include "kernel/abi/errno.h"
#include "kernel/file/remote.h"
#include "kernel/fs/name/path.h"
#include "kernel/fs/node/permission.h"
#include "kernel/fs/share/share.h"
#include "kernel/fs/tree/tree.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "msg/channel.h"
#include "tasks/remote/work.h"

struct later {
    struct work work;
    struct msg_kept kept;
    struct file *file; /* FILE_CALL's */
    size_t size;       /* of this, the message and the answer */
    uint32_t length;   /* of the message */
    uint8_t *answer;   /* behind the message */
    uint64_t message[];
};

static void answered(struct msg_kept *kept)
{
    struct later *later = container_of(kept, struct later, kept);

    heap_free(later, later->size);
}

/* Keeps M with ROOM bytes for its answer; NULL: there was no memory, and M is answered. */
static struct later *keep(const struct msg *m, size_t room)
{
    size_t before = sizeof(struct later) + (m->length + 7u) / 8 * 8;
    struct later *later = heap_alloc_unset(before + room);

    if (later == NULL) {
        msg_reply_error(&m->ticket, -ENOMEM);
        return NULL;
    }
    memset(later, 0, sizeof(*later));
    later->size = before + room;
    later->length = m->length;
    later->answer = (uint8_t *)later + before;
    memcpy(later->message, m->data, m->length);
    msg_keep(m, &later->kept, NULL);
    return later;
}

static void answer(struct later *later, size_t size)
{
    msg_kept_reply_long(&later->kept, later->answer, (uint32_t)size, answered);
}

/* --- one open file --- */

static void do_call(struct work *work)
{
    struct later *later = container_of(work, struct later, work);
    const struct msg_file_call *call = (const struct msg_file_call *)later->message;
    struct file_answer *result = (struct file_answer *)(void *)later->answer;
    size_t size = later->length - sizeof(*call);

    *result = (struct file_answer){.flags = 0};
    file_do(later->file, &call->request, call + 1, size, result + 1, call->room, result);
    file_unpin(later->file);
    answer(later, sizeof(*result) + file_result_size(&call->request, result, call->room));
}

void file_later(const struct msg *m, struct file *file)
{
    const struct msg_file_call *call = m->data;
    struct later *later = keep(m, sizeof(struct file_answer) + call->room);

    if (later == NULL) {
        file_unpin(file);
        return;
    }
    later->file = file;
    later->work.run = do_call;
    work_submit(&later->work);
}

/* --- a name --- */

static void do_name(struct work *work)
{
    struct later *later = container_of(work, struct later, work);
    struct msg_file_name *asked = (struct msg_file_name *)later->message;
    const char *first = (const char *)(asked + 1);
    bool as_user = (asked->operation & NAME_FOR_USER) != 0;
    struct tree_result result;
    struct file_user user;
    uint8_t *to = later->answer;

    if (as_user)
        first += permission_take(first, later->length - sizeof(*asked), &user);
    asked->operation &= ~NAME_FOR_USER;
    share_do(asked, as_user ? &user : NULL, first, first + strlen(first) + 1, &result);
    memcpy(to, &result.answer, sizeof(result.answer));
    to += sizeof(result.answer);
    if (result.answer.facts != 0) {
        memcpy(to, &result.facts, sizeof(result.facts));
        to += sizeof(result.facts);
    }
    if (result.text != NULL) {
        size_t length = strlen(result.text) + 1;

        memcpy(to, result.text, length);
        to += length;
        heap_free(result.text, PATH_MAX);
    }
    answer(later, (size_t)(to - later->answer));
}

void name_later(const struct msg *m)
{
    struct later *later = keep(m, sizeof(struct msg_file_named) + sizeof(struct file_facts) + PATH_MAX);

    if (later == NULL)
        return;
    later->work.run = do_name;
    work_submit(&later->work);
}
