/* System calls that open files by their paths, check access, and set the working and the root directory
 * (kernel/fs/name/name.h). */
#include "kernel/abi/errno.h"
#include "kernel/calls/calls.h"
#include "kernel/calls/common/files.h"
#include "kernel/calls/common/path.h"
#include "kernel/file/path.h"
#include "kernel/file/permission.h"
#include "kernel/file/remote.h"
#include "kernel/file/root.h"
#include "kernel/fs/name/name.h"
#include "kernel/fs/tree/tree.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "mm/space/space.h"
#include "mm/user/user_copy.h"
#include "tasks/process/call.h"
#include "tasks/process/group.h"
#include "tasks/process/process.h"
#include "tasks/thread/thread.h"

#define AT_EACCESS 0x200u
#define PROC_DEVICE 2u

static int64_t open_at(int64_t directory, uint64_t path, uint32_t flags, uint32_t mode)
{
    bool makes = (flags & (OPEN_CREATE | OPEN_TEMPORARY)) != 0 && (flags & OPEN_PATH) == 0;
    struct name name = {.directory = directory};
    struct name_result opened;
    int64_t result;
    char *text = files_path(path, &result);

    if (text == NULL)
        return result;
    name.path = text;
    result = name_open(thread_current()->group, &name,
                       (flags & ~(OPEN_RUN | OPEN_QUIET | OPEN_PLACE | OPEN_UNCOUNTED)) | OPEN_INSTALL | OPEN_LARGE,
                       makes ? files_mode(mode & 07777) : 0, &opened);
    name_result_free(&opened);
    heap_free(text, PATH_MAX);
    if (result != 0)
        return result;
    if (opened.installed)
        return opened.fd;
    return files_give(MSG_FILE_INSTALL, &opened.place, (flags & OPEN_CLOEXEC) != 0 ? DESCRIPTOR_CLOEXEC : 0);
}

int64_t call_open(struct call *c)
{
    return open_at(NAME_WORKING_DIRECTORY, c->a[0], (uint32_t)c->a[1], (uint32_t)c->a[2]);
}

int64_t call_openat(struct call *c)
{
    return open_at((int32_t)c->a[0], c->a[1], (uint32_t)c->a[2], (uint32_t)c->a[3]);
}

int64_t call_creat(struct call *c)
{
    return open_at(NAME_WORKING_DIRECTORY, c->a[0], 1 | OPEN_CREATE | OPEN_TRUNCATE, (uint32_t)c->a[1]);
}

/* Checks whether the current thread has the rights MAY (MAY_*) to a file with FACTS. */
static int64_t check_facts(const struct file_facts *facts, uint32_t may)
{
    struct file_user user;
    size_t size = permission_user(&thread_current()->context.credentials, &user);

    return permission_check(size != 0 ? &user : NULL, facts->mode, facts->uid, facts->gid, may);
}

/* MODE has MAY_* bits. Checks with the real user and group, or with AT_EACCESS with the effective ones. */
static int64_t access_at(int64_t directory, uint64_t path, uint32_t mode, uint32_t flags)
{
    struct msg_file_name asked = {.operation = MSG_NAME_STAT, .flags = files_flags(flags)};
    struct credentials *credentials = &thread_current()->context.credentials;
    uint32_t fsuid = credentials->fsuid, fsgid = credentials->fsgid;
    struct name_result result;
    int64_t error;

    if ((mode & ~7u) != 0 || (flags & ~(AT_EACCESS | AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)) != 0)
        return -EINVAL;
    if ((flags & AT_EACCESS) == 0) { /* file operations use fsuid and fsgid: replace them during the check */
        credentials->fsuid = credentials->uid;
        credentials->fsgid = credentials->gid;
    }
    error = files_name(&asked, directory, path, &result);
    if (error == 0 && (mode & MAY_WRITE) != 0 && result.facts.device == PROC_DEVICE)
        error = -EROFS;
    if (error == 0)
        error = check_facts(&result.facts, mode);
    credentials->fsuid = fsuid;
    credentials->fsgid = fsgid;
    return error;
}

int64_t call_access(struct call *c)
{
    return access_at(NAME_WORKING_DIRECTORY, c->a[0], (uint32_t)c->a[1], 0);
}

int64_t call_faccessat(struct call *c)
{
    return access_at((int32_t)c->a[0], c->a[1], (uint32_t)c->a[2], 0);
}

int64_t call_faccessat2(struct call *c)
{
    return access_at((int32_t)c->a[0], c->a[1], (uint32_t)c->a[2], (uint32_t)c->a[3]);
}

/* Checks whether the current thread may search the directory that is open as PLACE. Root may. */
static int64_t may_enter(const struct file_place *place)
{
    struct file_request request = {.operation = MSG_FILE_STAT, .fd = -1};
    struct file_facts facts = {0};
    struct file_answer answer;
    int64_t error;

    if (thread_current()->context.credentials.fsuid == 0)
        return 0;
    error = file_call_at(place, &request, NULL, 0, &facts, sizeof(facts), &answer);
    return error < 0 ? error : check_facts(&facts, MAY_EXECUTE);
}

/* Returns whether the directory that is open as PLACE can be a root directory: it must be in the tree of kernel 0. */
static bool is_of_tree(const struct file_place *place)
{
    struct file_request request = {.operation = MSG_FILE_STAT, .fd = -1};
    struct file_facts facts = {0};
    struct file_answer answer;

    return place->kernel == 0 && file_call_at(place, &request, NULL, 0, &facts, sizeof(facts), &answer) >= 0 &&
           facts.device == TREE_DEVICE;
}

/* Opens the directory whose path is at user address PATH, and which the thread may enter. The caller owns the open at
 * *PLACE. */
static int64_t open_directory(uint64_t path, struct file_place *place)
{
    struct name name = {.directory = NAME_WORKING_DIRECTORY};
    struct name_result opened;
    int64_t error;
    char *text = files_path(path, &error);

    *place = (struct file_place){.id = 0};
    if (text == NULL)
        return error;
    name.path = text;
    error = name_open(thread_current()->group, &name, OPEN_PATH | OPEN_DIRECTORY, 0, &opened);
    name_result_free(&opened);
    heap_free(text, PATH_MAX);
    if (error != 0)
        return error;
    *place = opened.place;
    error = may_enter(place);
    if (error != 0)
        file_drop(place->kernel, place->id);
    return error;
}

/* See kernel/file/root.md. */
int64_t call_chroot(struct call *c)
{
    struct file_place place;
    int64_t error = open_directory(c->a[0], &place);

    if (error != 0)
        return error;
    error = credentials_need_root();
    if (error == 0 && !is_of_tree(&place))
        error = -EINVAL; /* a directory below /proc, or in a share */
    if (error == 0)
        return files_give(MSG_FILE_SET_ROOT, &place, 0);
    file_drop(place.kernel, place.id);
    return error;
}

int64_t call_chdir(struct call *c)
{
    struct file_place place;
    int64_t error = open_directory(c->a[0], &place);

    return error != 0 ? error : files_give(MSG_FILE_SET_DIRECTORY, &place, 0);
}

int64_t call_fchdir(struct call *c)
{
    struct file_request request = {.operation = MSG_FILE_STAT, .fd = (int32_t)c->a[0]};
    struct file_facts facts = {0};
    struct file_answer answer;
    int64_t error;

    if (request.fd < 0)
        return -EBADF;
    error = file_call(thread_current()->group, &request, NULL, 0, &facts, sizeof(facts), &answer);
    if (error < 0)
        return error;
    if ((facts.mode & FILE_TYPE_MASK) != FILE_DIRECTORY)
        return -ENOTDIR;
    error = check_facts(&facts, MAY_EXECUTE);
    return error != 0 ? error : files_do((struct file_request){.operation = MSG_FILE_SET_DIRECTORY, .fd = request.fd});
}

int64_t call_getcwd(struct call *c)
{
    char *text = heap_alloc_unset(PATH_MAX);
    int64_t result;

    if (text == NULL)
        return -ENOMEM;
    result = root_to_working_directory(text, PATH_MAX);
    if (result == -EBADF) { /* no working directory was set: it is the root */
        memcpy(text, "/", 2);
        result = 1;
    }
    if (result >= 0)
        result = (uint64_t)result + 1 > c->a[1] ? -ERANGE : result + 1;
    if (result > 0 && user_write(c->a[0], text, (uint64_t)result) != 0)
        result = -EFAULT;
    heap_free(text, PATH_MAX);
    return result;
}

static int64_t read_link(int64_t directory, uint64_t path, uint64_t address, int32_t size)
{
    struct msg_file_name asked = {.operation = MSG_NAME_READ_LINK, .flags = NAME_NO_FOLLOW | NAME_EMPTY};
    struct name_result result;
    int64_t length;

    if (size <= 0)
        return -EINVAL;
    if (directory == NAME_WORKING_DIRECTORY)
        asked.flags = NAME_NO_FOLLOW;
    length = files_name(&asked, directory, path, &result);
    if (length == 0) {
        length = (int64_t)strlen(result.text);
        if (length > size)
            length = size;
        if (user_write(address, result.text, (uint64_t)length) != 0)
            length = -EFAULT;
    }
    name_result_free(&result);
    return length;
}

int64_t call_readlink(struct call *c)
{
    return read_link(NAME_WORKING_DIRECTORY, c->a[0], c->a[1], (int32_t)c->a[2]);
}

int64_t call_readlinkat(struct call *c)
{
    return read_link((int32_t)c->a[0], c->a[1], c->a[2], (int32_t)c->a[3]);
}
