/* System calls on extended attributes (kernel/fs/node/attribute.h). A call with a path opens the file (O_PATH),
 * performs the operation, and closes the file again. The order of the checks is Linux's (fs/xattr.c). */
#include "kernel/abi/errno.h"
#include "kernel/calls/calls.h"
#include "kernel/calls/common/files.h"
#include "kernel/calls/common/path.h"
#include "kernel/file/remote.h"
#include "kernel/fs/node/attribute.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "mm/user/user_copy.h"
#include "tasks/process/group.h"
#include "tasks/thread/thread.h"

#define LIST_MAX 65536u

/* The file of a call, given by a descriptor or by a path. */
struct target {
    struct file_place place; /* the file opened by path; id 0: the file is FD */
    int64_t fd;
};

static int64_t find_path(struct call *c, bool follow, struct target *target)
{
    struct msg_file_name asked = {.operation = MSG_NAME_OPEN, .flags = OPEN_PATH | (follow ? 0 : OPEN_NO_FOLLOW)};
    struct name_result opened;
    int64_t error = files_name(&asked, NAME_WORKING_DIRECTORY, c->a[0], &opened);

    name_result_free(&opened);
    *target = (struct target){.place = opened.place};
    return error;
}

static int64_t find_fd(struct call *c, struct target *target)
{
    int64_t flags = files_get_flags((int32_t)c->a[0]);

    *target = (struct target){.fd = (int32_t)c->a[0]};
    return flags < 0 || (flags & OPEN_PATH) != 0 ? -EBADF : 0;
}

static void drop(const struct target *target)
{
    if (target->place.id != 0)
        file_drop(target->place.kernel, target->place.id);
}

static int64_t ask(const struct target *target, enum attribute_operation what, uint32_t flags, bool trusted,
                   const void *data, size_t size, void *result, size_t room)
{
    struct file_request request = {.operation = MSG_FILE_ATTRIBUTE,
                                   .fd = target->place.id != 0 ? -1 : (int32_t)target->fd,
                                   .attribute = {.what = what, .flags = flags, .trusted = trusted}};
    struct file_answer answer;

    return target->place.id != 0 ? file_call_at(&target->place, &request, data, size, result, room, &answer)
                                 : file_call(thread_current()->group, &request, data, size, result, room, &answer);
}

static bool begins(const char *text, const char *with, const char **rest)
{
    size_t length = strlen(with);

    *rest = text + length;
    return strncmp(text, with, length) == 0;
}

/* Checks whether the current thread may read, or WRITE, the attribute NAME, whatever the file. */
static int64_t check_name(const char *name, bool write)
{
    bool root = thread_current()->context.credentials.euid == 0;
    const char *rest;

    if (begins(name, "trusted.", &rest)) {
        if (!root)
            return write ? -EPERM : -ENODATA;
        return *rest == '\0' ? -EINVAL : 0;
    }
    if (begins(name, "security.", &rest)) {
        if (write && !root)
            return -EPERM;
        return *rest == '\0' ? -EINVAL : 0;
    }
    return -EOPNOTSUPP;
}

static int64_t read_name(uint64_t address, char name[ATTRIBUTE_NAME_MAX + 1])
{
    int64_t length = user_read_string(name, address, ATTRIBUTE_NAME_MAX + 1);

    if (length == -ENAMETOOLONG || length == 0)
        return -ERANGE;
    return length < 0 ? length : 0;
}

static int64_t set(struct call *c, const struct target *target)
{
    uint64_t size = c->a[3];
    uint32_t flags = (uint32_t)c->a[4];
    char *data, name[ATTRIBUTE_NAME_MAX + 1];
    size_t name_size;
    int64_t error;

    if ((flags & ~(ATTRIBUTE_CREATE | ATTRIBUTE_REPLACE)) != 0)
        return -EINVAL;
    error = read_name(c->a[1], name);
    if (error != 0)
        return error;
    if (size > ATTRIBUTE_SIZE_MAX)
        return -E2BIG;
    name_size = strlen(name) + 1;
    data = heap_alloc(name_size + size);
    if (data == NULL)
        return -ENOMEM;
    memcpy(data, name, name_size);
    if (size > 0 && user_read(data + name_size, c->a[2], size) != 0)
        error = -EFAULT;
    if (error == 0)
        error = check_name(name, true);
    if (error == 0 && size > ATTRIBUTE_MESSAGE_MAX)
        error = -ENOSPC;
    if (error == 0)
        error = ask(target, ATTRIBUTE_SET, flags, false, data, name_size + size, NULL, 0);
    heap_free(data, name_size + size);
    return error;
}

/* Reads an attribute or the list of attributes and writes it to user address AT, which has SIZE bytes. */
static int64_t give(const struct target *target, enum attribute_operation what, bool trusted, const char *name,
                    uint64_t at, uint64_t size)
{
    size_t room = size < FILE_CHUNK ? size : FILE_CHUNK;
    void *result = room > 0 ? heap_alloc_unset(room) : NULL;
    int64_t value;

    if (room > 0 && result == NULL)
        return -ENOMEM;
    value = ask(target, what, 0, trusted, name, name != NULL ? strlen(name) + 1 : 0, result, room);
    if (room > 0 && value > (int64_t)room)
        value = -EPROTO;
    if (value > 0 && room > 0 && user_write(at, result, (uint64_t)value) != 0)
        value = -EFAULT;
    heap_free(result, room);
    return value;
}

static int64_t get(struct call *c, const struct target *target)
{
    char name[ATTRIBUTE_NAME_MAX + 1];
    int64_t error = read_name(c->a[1], name);

    if (error == 0)
        error = check_name(name, false);
    return error != 0 ? error : give(target, ATTRIBUTE_GET, false, name, c->a[2], c->a[3]);
}

static int64_t list(struct call *c, const struct target *target)
{
    bool root = thread_current()->context.credentials.euid == 0;

    return give(target, ATTRIBUTE_LIST, root, NULL, c->a[1], c->a[2] < LIST_MAX ? c->a[2] : LIST_MAX);
}

static int64_t take(struct call *c, const struct target *target)
{
    char name[ATTRIBUTE_NAME_MAX + 1];
    int64_t error = read_name(c->a[1], name);

    if (error == 0)
        error = check_name(name, true);
    return error != 0 ? error : ask(target, ATTRIBUTE_TAKE, 0, false, name, strlen(name) + 1, NULL, 0);
}

typedef int64_t (*operation)(struct call *c, const struct target *target);

static int64_t by_path(struct call *c, bool follow, operation operation)
{
    struct target target;
    int64_t result = find_path(c, follow, &target);

    if (result == 0) {
        result = operation(c, &target);
        drop(&target);
    }
    return result;
}

static int64_t by_fd(struct call *c, operation operation)
{
    struct target target;
    int64_t error = find_fd(c, &target);

    return error != 0 ? error : operation(c, &target);
}

#define THREE(name, operation)                                                                                         \
    int64_t call_##name(struct call *c)                                                                                \
    {                                                                                                                  \
        return by_path(c, true, operation);                                                                            \
    }                                                                                                                  \
    int64_t call_l##name(struct call *c)                                                                               \
    {                                                                                                                  \
        return by_path(c, false, operation);                                                                           \
    }                                                                                                                  \
    int64_t call_f##name(struct call *c)                                                                               \
    {                                                                                                                  \
        return by_fd(c, operation);                                                                                    \
    }

THREE(setxattr, set)
THREE(getxattr, get)
THREE(listxattr, list)
THREE(removexattr, take)
