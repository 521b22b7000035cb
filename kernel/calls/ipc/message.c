/* The memory of a message that is sent or received. See the header. */
#include "kernel/calls/ipc/message.h"

#include "kernel/abi/errno.h"
#include "kernel/calls/common/socket.h"
#include "mm/frame/heap.h"
#include "mm/space/space.h"
#include "mm/user/user_copy.h"

#define IOV_MAX 1024u
#define SO_TYPE 3u
#define TRANSFER_MAX 0x7ffff000ull

int64_t message_begin(struct transfer *t, int64_t fd, const struct message *message)
{
    struct span *list;

    *t = (struct transfer){.fd = fd, .spans = {.count = (uint32_t)message->count}};
    if (message->count > IOV_MAX)
        return -EMSGSIZE;
    list = heap_alloc(message->count * sizeof(*list) + 1);
    if (list == NULL)
        return -ENOMEM;
    t->spans.list = list;
    if (user_read(list, message->spans, message->count * sizeof(*list)) != 0)
        return -EFAULT;
    for (uint32_t i = 0; i < t->spans.count; i++) {
        if ((int64_t)list[i].size < 0)
            return -EINVAL;
        if (!user_range(list[i].address, list[i].size))
            return -EFAULT;
        t->total += list[i].size < TRANSFER_MAX - t->total ? list[i].size : TRANSFER_MAX - t->total;
    }
    return 0;
}

void message_end(struct transfer *t)
{
    if (t->spans.list != NULL)
        spans_free(&t->spans);
}

bool message_is_stream(int64_t fd)
{
    struct socket_call call = {.operation = SOCKET_GET_OPTION, .a = SO_TYPE};
    struct {
        struct socket_result result;
        uint32_t type;
    } got = {.type = SOCKET_STREAM}; /* also if FD is no socket: its error is found later */
    struct file_answer answer;

    socket_do(fd, &call, sizeof(call), &got.result, sizeof(got), true, "", &answer);
    return got.type == SOCKET_STREAM;
}
