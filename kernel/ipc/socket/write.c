/* Writes with the writer's credentials. See the header. */
#include "kernel/ipc/socket/write.h"

#include "kernel/abi/errno.h"
#include "kernel/file/anonymous.h"
#include "kernel/file/remote.h"
#include "kernel/ipc/socket/socket.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "tasks/process/group.h"
#include "tasks/thread/thread.h"

#define ROOM (FILE_CHUNK - sizeof(struct socket_call)) /* bytes of data that fit beside a call */

int64_t socket_write_as(struct group *group, int32_t fd, const void *data, size_t size, struct file_answer *answer)
{
    const struct credentials *own = &thread_current()->context.credentials;
    struct file_request request = {.operation = MSG_FILE_OPERATE, .fd = fd, .special.what = SPECIAL_SOCKET};
    size_t part = size < ROOM ? size : ROOM;
    struct socket_call *call = heap_alloc_unset(sizeof(*call) + part);
    struct socket_result result;
    int64_t value;

    if (call == NULL) {
        *answer = (struct file_answer){.value = -ENOMEM};
        return -ENOMEM;
    }
    *call = (struct socket_call){.operation = SOCKET_SEND,
                                 .flags = part < size ? MESSAGE_PART : 0,
                                 .user = {group->id, own->uid, own->gid},
                                 .acting = {group->id, own->euid, own->egid}};
    memcpy(call + 1, data, part);
    value = file_call(group, &request, call, sizeof(*call) + part, &result, sizeof(result), answer);
    heap_free(call, sizeof(*call) + part);
    if (value < 0)
        return value;
    return value < (int64_t)sizeof(result) || result.length > part ? -EPROTO : (int64_t)result.length;
}
