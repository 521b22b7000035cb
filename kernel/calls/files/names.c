/* System calls that create, remove and rename files by their paths. */
#include "kernel/abi/errno.h"
#include "kernel/calls/calls.h"
#include "kernel/calls/common/files.h"
#include "kernel/calls/common/path.h"
#include "kernel/file/limit.h"
#include "kernel/file/path.h"
#include "kernel/file/remote.h"
#include "mm/frame/heap.h"
#include "tasks/process/group.h"
#include "tasks/thread/thread.h"

/* Performs ASKED, which returns no data, with one path. */
static int64_t with_one(const struct msg_file_name *asked, int64_t directory, uint64_t path)
{
    struct name_result result;
    int64_t error = files_name(asked, directory, path, &result);

    name_result_free(&result);
    return error;
}

static int64_t with_two(const struct msg_file_name *asked, int64_t directory, uint64_t path, int64_t other_directory,
                        uint64_t other)
{
    struct name names[2] = {{.directory = directory}, {.directory = other_directory}};
    struct name_result result = {.text = NULL};
    int64_t error;
    char *first = files_path(path, &error), *second = first != NULL ? files_path(other, &error) : NULL;

    names[0].path = first;
    names[1].path = second;
    if (error == 0)
        error = name_do(thread_current()->group, asked, &names[0], &names[1], &result);
    name_result_free(&result);
    heap_free(first, PATH_MAX);
    heap_free(second, PATH_MAX);
    return error;
}

static int64_t make_directory(int64_t directory, uint64_t path, uint32_t mode)
{
    struct msg_file_name asked = {.operation = MSG_NAME_CREATE, .mode = FILE_DIRECTORY | files_mode(mode & 01777)};

    return with_one(&asked, directory, path);
}

int64_t call_mkdir(struct call *c)
{
    return make_directory(NAME_WORKING_DIRECTORY, c->a[0], (uint32_t)c->a[1]);
}

int64_t call_mkdirat(struct call *c)
{
    return make_directory((int32_t)c->a[0], c->a[1], (uint32_t)c->a[2]);
}

static int64_t make_node(int64_t directory, uint64_t path, uint32_t mode, uint64_t device)
{
    struct msg_file_name asked = {.operation = MSG_NAME_CREATE};

    switch (mode & FILE_TYPE_MASK) {
    case 0:
        mode |= FILE_REGULAR;
        break;
    case FILE_CHARACTER:
    case FILE_BLOCK:
        asked.number = device;
        break;
    case FILE_REGULAR:
    case FILE_FIFO:
    case FILE_SOCKET:
        break;
    case FILE_DIRECTORY:
        return -EPERM;
    default:
        return -EINVAL;
    }
    asked.mode = (mode & FILE_TYPE_MASK) | files_mode(mode & 07777);
    return with_one(&asked, directory, path);
}

int64_t call_mknod(struct call *c)
{
    return make_node(NAME_WORKING_DIRECTORY, c->a[0], (uint32_t)c->a[1], (uint32_t)c->a[2]);
}

int64_t call_mknodat(struct call *c)
{
    return make_node((int32_t)c->a[0], c->a[1], (uint32_t)c->a[2], (uint32_t)c->a[3]);
}

static int64_t make_link(uint64_t target, int64_t directory, uint64_t path)
{
    struct msg_file_name asked = {.operation = MSG_NAME_CREATE, .mode = FILE_LINK | 0777};

    if (files_empty(target))
        return -ENOENT;
    return with_two(&asked, directory, path, NAME_WORKING_DIRECTORY, target);
}

int64_t call_symlink(struct call *c)
{
    return make_link(c->a[0], NAME_WORKING_DIRECTORY, c->a[1]);
}

int64_t call_symlinkat(struct call *c)
{
    return make_link(c->a[0], (int32_t)c->a[1], c->a[2]);
}

static int64_t remove_name(int64_t directory, uint64_t path, uint32_t operation)
{
    struct msg_file_name asked = {.operation = operation};

    return with_one(&asked, directory, path);
}

int64_t call_unlink(struct call *c)
{
    return remove_name(NAME_WORKING_DIRECTORY, c->a[0], MSG_NAME_UNLINK);
}

int64_t call_rmdir(struct call *c)
{
    return remove_name(NAME_WORKING_DIRECTORY, c->a[0], MSG_NAME_REMOVE_DIRECTORY);
}

int64_t call_unlinkat(struct call *c)
{
    if ((c->a[2] & ~(uint64_t)AT_REMOVEDIR & UINT32_MAX) != 0)
        return -EINVAL;
    return remove_name((int32_t)c->a[0], c->a[1],
                       (c->a[2] & AT_REMOVEDIR) != 0 ? MSG_NAME_REMOVE_DIRECTORY : MSG_NAME_UNLINK);
}

static int64_t rename_at(int64_t directory, uint64_t path, int64_t to_directory, uint64_t to, uint32_t flags)
{
    struct msg_file_name asked = {.operation = MSG_NAME_RENAME, .flags = flags};

    if ((flags & ~(NAME_NO_REPLACE | NAME_EXCHANGE)) != 0 || flags == (NAME_NO_REPLACE | NAME_EXCHANGE))
        return -EINVAL;
    return with_two(&asked, directory, path, to_directory, to);
}

int64_t call_rename(struct call *c)
{
    return rename_at(NAME_WORKING_DIRECTORY, c->a[0], NAME_WORKING_DIRECTORY, c->a[1], 0);
}

int64_t call_renameat(struct call *c)
{
    return rename_at((int32_t)c->a[0], c->a[1], (int32_t)c->a[2], c->a[3], 0);
}

int64_t call_renameat2(struct call *c)
{
    return rename_at((int32_t)c->a[0], c->a[1], (int32_t)c->a[2], c->a[3], (uint32_t)c->a[4]);
}

static int64_t link_at(int64_t directory, uint64_t path, int64_t to_directory, uint64_t to, uint32_t flags)
{
    struct msg_file_name asked = {.operation = MSG_NAME_LINK};

    if ((flags & ~(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH)) != 0)
        return -EINVAL;
    if ((flags & AT_EMPTY_PATH) != 0 && credentials_need_root() != 0)
        return -ENOENT; /* as Linux: the holder of a descriptor may not give its file a name without privilege */
    asked.flags = (flags & AT_SYMLINK_FOLLOW) != 0 ? 0 : NAME_NO_FOLLOW;
    if ((flags & AT_EMPTY_PATH) != 0)
        asked.flags |= NAME_EMPTY;
    return with_two(&asked, directory, path, to_directory, to);
}

int64_t call_link(struct call *c)
{
    return link_at(NAME_WORKING_DIRECTORY, c->a[0], NAME_WORKING_DIRECTORY, c->a[1], 0);
}

int64_t call_linkat(struct call *c)
{
    return link_at((int32_t)c->a[0], c->a[1], (int32_t)c->a[2], c->a[3], (uint32_t)c->a[4]);
}

int64_t call_truncate(struct call *c)
{
    /* OPEN_NONBLOCK: the open of a FIFO must not wait, because a FIFO cannot be truncated anyway. */
    struct msg_file_name asked = {.operation = MSG_NAME_OPEN, .flags = 1 | OPEN_NONBLOCK | OPEN_LARGE | OPEN_QUIET};
    struct file_request request = {.operation = MSG_FILE_RESIZE, .fd = -1, .space.offset = (int64_t)c->a[1]};
    struct name_result opened;
    struct file_answer answer;
    int64_t error;

    if (request.space.offset < 0)
        return -EINVAL;
    error = files_name(&asked, NAME_WORKING_DIRECTORY, c->a[0], &opened);
    name_result_free(&opened);
    if (error != 0)
        return error == -ENXIO ? -EINVAL : error;
    error = file_limit_check((uint64_t)request.space.offset);
    if (error == 0)
        error = file_call_at(&opened.place, &request, NULL, 0, NULL, 0, &answer);
    if (error >= 0)
        files_settle(&answer);
    file_drop(opened.place.kernel, opened.place.id);
    return error;
}

/* Files are in memory, so there is nothing to write back. */
int64_t call_sync(struct call *c)
{
    (void)c;
    return 0;
}

int64_t call_syncfs(struct call *c)
{
    return files_error((int32_t)c->a[0], 0);
}
