/* An operation on a socket. See the header. */
#include "kernel/calls/common/socket.h"

#include "kernel/abi/errno.h"
#include "kernel/calls/common/anonymous.h"
#include "kernel/calls/common/files.h"
#include "tasks/process/group.h"
#include "tasks/thread/thread.h"

int64_t socket_do(int64_t fd, struct socket_call *call, size_t size, struct socket_result *result, size_t room,
                  bool dont_wait, const char *why, struct file_answer *answer)
{
    const struct credentials *own = &thread_current()->context.credentials;
    int64_t value;

    if ((call->flags & MESSAGE_CREDENTIALS) == 0)
        call->user = (struct socket_user){thread_current()->group->id, own->uid, own->gid};
    call->acting = (struct socket_user){thread_current()->group->id, own->euid, own->egid};
    for (;;) {
        value = anonymous_call(fd, SPECIAL_SOCKET, 0, call, size, result, room, answer);
        if (value != -EAGAIN || (answer->flags & FILE_MAY_WAIT) == 0 || dont_wait)
            break;
        value = files_wait(answer, why);
        if (value != 0)
            return value == 1 ? -EAGAIN : value;
    }
    if (value < 0)
        return value;
    if (result->name_size > SOCKET_NAME_MAX || result->files > SOCKET_FILES_MAX ||
        sizeof(*result) + result->files * sizeof(struct file_place) + result->size > room)
        return -EPROTO;
    return 0;
}
