/* Files without names. See the header. */
#include "kernel/calls/common/anonymous.h"

#include "kernel/abi/errno.h"
#include "kernel/file/remote.h"
#include "tasks/thread/thread.h"

int64_t anonymous_new(enum anonymous what, uint32_t flags, const void *data, size_t size, int32_t fds[2])
{
    struct file_request request = {.operation = MSG_FILE_NEW, .make = {.what = what, .flags = flags}};
    struct file_answer answer;
    int64_t result = file_call(thread_current()->group, &request, data, size, fds, 2 * sizeof(fds[0]), &answer);

    return result < 0 ? result : fds[0];
}

int64_t anonymous_call(int64_t fd, enum file_special what, uint32_t argument, const void *data, size_t size,
                       void *result, size_t room, struct file_answer *answer)
{
    struct file_request request = {
        .operation = MSG_FILE_OPERATE, .fd = (int32_t)fd, .special = {.what = what, .argument = argument}};

    return file_call(thread_current()->group, &request, data, size, result, room, answer);
}

int64_t anonymous_locate(const int32_t *fds, uint32_t count, struct file_place *places)
{
    struct file_request request = {.operation = MSG_FILE_LOCATE};
    struct file_answer answer;
    int64_t result = file_call(thread_current()->group, &request, fds, count * sizeof(*fds), places,
                               count * sizeof(*places), &answer);

    return result < 0 ? result : 0;
}
