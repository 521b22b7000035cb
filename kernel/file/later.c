/* Requests that a worker does. See the header. */
#include "kernel/file/later.h"

#include "kernel/abi/errno.h"
#include "kernel/file/operation.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "msg/channel.h"

static void answered(struct msg_kept *kept)
{
    struct later *later = container_of(kept, struct later, kept);

    heap_free(later, later->size);
}

struct later *later_keep(const struct msg *m, size_t room)
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

void later_answer(struct later *later, size_t size)
{
    msg_kept_reply_long(&later->kept, later->answer, (uint32_t)size, answered);
}

static void do_call(struct work *work)
{
    struct later *later = container_of(work, struct later, work);
    const struct msg_file_call *call = (const struct msg_file_call *)later->message;
    struct file_answer *result = (struct file_answer *)(void *)later->answer;
    size_t size = later->length - sizeof(*call);

    *result = (struct file_answer){.flags = 0};
    file_do(later->file, &call->request, call + 1, size, result + 1, call->room, result);
    file_unpin(later->file);
    later_answer(later, sizeof(*result) + file_result_size(&call->request, result, call->room));
}

void file_later(const struct msg *m, struct file *file)
{
    const struct msg_file_call *call = m->data;
    struct later *later = later_keep(m, sizeof(struct file_answer) + call->room);

    if (later == NULL) {
        file_unpin(file);
        return;
    }
    later->file = file;
    later->work.run = do_call;
    work_submit(&later->work);
}
