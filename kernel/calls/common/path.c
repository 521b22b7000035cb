/* Helpers for system calls that take paths. See the header. */
#include "kernel/calls/common/path.h"

#include "kernel/abi/errno.h"
#include "kernel/file/path.h"
#include "mm/frame/heap.h"
#include "mm/space/space.h"
#include "mm/user/user_copy.h"
#include "tasks/process/group.h"
#include "tasks/process/process.h"
#include "tasks/process/wire.h"
#include "tasks/thread/thread.h"

char *files_path(uint64_t path, int64_t *error)
{
    char *text = heap_alloc_unset(PATH_MAX);

    *error = text == NULL ? -ENOMEM : user_read_string(text, path, PATH_MAX);
    if (*error >= 0) {
        *error = 0;
        return text;
    }
    heap_free(text, PATH_MAX);
    return NULL;
}

int64_t files_name(const struct msg_file_name *asked, int64_t directory, uint64_t path, struct name_result *result)
{
    struct name name = {.directory = directory};
    int64_t error;
    char *text = files_path(path, &error);

    *result = (struct name_result){.text = NULL};
    if (text == NULL)
        return error;
    name.path = text;
    error = name_do(thread_current()->group, asked, &name, NULL, result);
    heap_free(text, PATH_MAX);
    return error;
}

uint32_t files_mode(uint32_t mode)
{
    struct msg_process_call call = {
        .id = thread_current()->group->id, .type = MSG_PROCESS_UMASK, .umask = PROCESS_UMASK_ASK};
    struct msg_process_result result;
    int64_t mask = process_call(&call, &result);

    return mask < 0 ? mode : mode & ~(uint32_t)mask;
}

bool files_empty(uint64_t path)
{
    char first;

    return user_read(&first, path, 1) == 0 && first == '\0';
}

uint32_t files_flags(uint32_t flags)
{
    return ((flags & AT_SYMLINK_NOFOLLOW) != 0 ? NAME_NO_FOLLOW : 0) | ((flags & AT_EMPTY_PATH) != 0 ? NAME_EMPTY : 0);
}
