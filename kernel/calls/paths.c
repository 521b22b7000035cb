/* System calls on paths. What a path means depends on the working directory, which the process's home knows; what it
 * names is asked of kernel 0, or made here (kernel/fs/name.h). */
#include "kernel/abi/errno.h"
#include "kernel/calls/calls.h"
#include "kernel/calls/files.h"
#include "kernel/fs/name.h"
#include "kernel/fs/path.h"
#include "kernel/fs/proc.h"
#include "kernel/fs/table.h"
#include "kernel/lib/string.h"
#include "mm/heap.h"
#include "mm/space.h"
#include "tasks/group.h"
#include "tasks/thread.h"

#define AT_SYMLINK_NOFOLLOW 0x100u
#define AT_EMPTY_PATH 0x1000u
#define LINKS_MAX 8
#define OPEN_NOFOLLOW 0400000u

/* Replaces the last component of NAME by TARGET (LENGTH bytes, and room for PATH_MAX with the NUL). */
static int64_t follow_beside(char *target, size_t length, char *name, bool *folder)
{
    size_t parent = strnlen(name, PATH_MAX);

    while (parent > 0 && name[parent - 1] != '/')
        parent--;
    if (parent + length + 1 > PATH_MAX)
        return -ENAMETOOLONG;
    memmove(target + parent, target, length + 1);
    memcpy(target, name, parent);
    return path_normalize(target, name, PATH_MAX, folder);
}

/* Replaces NAME (PATH_MAX bytes), if it is a symbolic link, by where it leads. -ELOOP. */
static int64_t follow(char *name, bool *folder)
{
    char *target = NULL;
    int64_t error = 0;

    for (int i = 0; proc_has(name) && error == 0; i++) {
        int64_t length;

        if (target == NULL)
            target = heap_alloc(PATH_MAX);
        if (target == NULL)
            return -ENOMEM;
        length = proc_link(name, target, PATH_MAX - 1);
        if (length < 0)
            break;
        target[length] = '\0';
        if (i == LINKS_MAX)
            error = -ELOOP;
        else if (target[0] == '/')
            error = path_normalize(target, name, PATH_MAX, folder);
        else
            error = follow_beside(target, (size_t)length, name, folder);
    }
    if (target != NULL)
        heap_free(target, PATH_MAX);
    return error;
}

int64_t files_name(int64_t directory, uint64_t path, bool link, char **out, bool *folder)
{
    char *text = heap_alloc(PATH_MAX);
    int64_t error = -ENOMEM;

    *out = heap_alloc(PATH_MAX);
    if (text != NULL && *out != NULL) {
        error = user_read_string(text, path, PATH_MAX);
        if (error >= 0)
            error = name_absolute(thread_current()->group, directory, text, *out, folder);
        if (error == 0 && link)
            error = follow(*out, folder);
    }
    if (text != NULL)
        heap_free(text, PATH_MAX);
    if (error != 0 && *out != NULL)
        heap_free(*out, PATH_MAX);
    return error;
}

static int64_t open_at(int64_t directory, uint64_t path, uint32_t flags)
{
    struct file_place place;
    bool folder;
    char *name;
    int64_t result = files_name(directory, path, (flags & OPEN_NOFOLLOW) == 0, &name, &folder);

    if (result != 0)
        return result;
    result = name_open(name, folder, flags, &place);
    heap_free(name, PATH_MAX);
    if (result != 0)
        return result;
    result = files_simple(FILE_INSTALL, (flags & OPEN_CLOEXEC) != 0 ? DESCRIPTOR_CLOEXEC : 0, (int64_t)place.id,
                          place.kernel);
    if (result == -ENOSPC) {
        file_drop(place.kernel, place.id);
        result = -ENOMEM;
    }
    return result;
}

int64_t call_open(struct call *c)
{
    return open_at(NAME_FOLDER, c->a[0], (uint32_t)c->a[1]);
}

int64_t call_openat(struct call *c)
{
    return open_at((int32_t)c->a[0], c->a[1], (uint32_t)c->a[2]);
}

static int64_t facts_at(int64_t directory, uint64_t path, bool link, struct file_facts *facts)
{
    bool folder;
    char *name;
    int64_t error = files_name(directory, path, link, &name, &folder);

    if (error != 0)
        return error;
    error = name_stat(name, folder, facts);
    heap_free(name, PATH_MAX);
    return error;
}

struct linux_stat { /* as asm/stat.h for x86-64 */
    uint64_t dev, ino, nlink;
    uint32_t mode, uid, gid, pad;
    uint64_t rdev;
    int64_t size, block_size, blocks;
    uint64_t atime, atime_ns, mtime, mtime_ns, ctime, ctime_ns;
    int64_t unused[3];
};

_Static_assert(sizeof(struct linux_stat) == 144, "Linux ABI");

static int64_t give_stat(int64_t error, const struct file_facts *facts, uint64_t address)
{
    bool device = (facts->mode & FILE_TYPE_MASK) == FILE_CHARACTER;
    struct linux_stat stat = {.dev = device ? 4 : facts->device,
                              .ino = facts->inode,
                              .nlink = 1,
                              .mode = facts->mode,
                              .rdev = device ? facts->device : 0,
                              .size = (facts->mode & FILE_TYPE_MASK) == FILE_REGULAR ? (int64_t)facts->size : 0,
                              .block_size = PAGE_SIZE,
                              .blocks = (int64_t)((facts->size + 511) / 512),
                              .atime = facts->mtime,
                              .mtime = facts->mtime,
                              .ctime = facts->mtime};

    return error < 0 ? error : user_write(address, &stat, sizeof(stat));
}

static int64_t stat_fd(int64_t fd, uint64_t address)
{
    struct file_request request = {.operation = FILE_STAT, .fd = (int32_t)fd};
    struct file_facts facts = {0};
    struct file_answer answer;
    int64_t error = file_call(thread_current()->group, &request, NULL, 0, &facts, sizeof(facts), &answer);

    return give_stat(error, &facts, address);
}

int64_t call_fstat(struct call *c)
{
    return stat_fd((int32_t)c->a[0], c->a[1]);
}

static int64_t stat_at(int64_t directory, uint64_t path, bool link, uint64_t address)
{
    struct file_facts facts = {0};
    int64_t error = facts_at(directory, path, link, &facts);

    return give_stat(error, &facts, address);
}

int64_t call_stat(struct call *c)
{
    return stat_at(NAME_FOLDER, c->a[0], true, c->a[1]);
}

int64_t call_lstat(struct call *c)
{
    return stat_at(NAME_FOLDER, c->a[0], false, c->a[1]);
}

static bool is_empty(uint64_t path)
{
    char first;

    return user_read(&first, path, 1) == 0 && first == '\0';
}

int64_t call_newfstatat(struct call *c)
{
    if ((c->a[3] & AT_EMPTY_PATH) != 0 && is_empty(c->a[1]) && (int32_t)c->a[0] != NAME_FOLDER)
        return stat_fd((int32_t)c->a[0], c->a[2]);
    return stat_at((int32_t)c->a[0], c->a[1], (c->a[3] & AT_SYMLINK_NOFOLLOW) == 0, c->a[2]);
}

/* As root: everything may be read, devices written, what has any execute bit run. */
static int64_t access_at(int64_t directory, uint64_t path, uint32_t mode)
{
    struct file_facts facts = {0};
    int64_t error;

    if ((mode & ~7u) != 0)
        return -EINVAL;
    error = facts_at(directory, path, true, &facts);
    if (error < 0)
        return error;
    if ((mode & 2) != 0 && (facts.mode & FILE_TYPE_MASK) != FILE_CHARACTER)
        return -EROFS;
    return (mode & 1) != 0 && (facts.mode & 0111) == 0 ? -EACCES : 0;
}

int64_t call_access(struct call *c)
{
    return access_at(NAME_FOLDER, c->a[0], (uint32_t)c->a[1]);
}

int64_t call_faccessat(struct call *c)
{
    return access_at((int32_t)c->a[0], c->a[1], (uint32_t)c->a[2]);
}

static int64_t set_folder(const char *name)
{
    struct file_request request = {.operation = FILE_SET_FOLDER};
    struct file_answer answer;

    return file_call(thread_current()->group, &request, name, strlen(name) + 1, NULL, 0, &answer);
}

int64_t call_chdir(struct call *c)
{
    struct file_facts facts;
    bool folder;
    char *name;
    int64_t error = files_name(NAME_FOLDER, c->a[0], true, &name, &folder);

    if (error != 0)
        return error;
    error = name_stat(name, true, &facts);
    if (error == 0)
        error = set_folder(name);
    heap_free(name, PATH_MAX);
    return error;
}

/* A text of the process or of a descriptor behind a slash, on the heap (PATH_MAX bytes). Returns its length. */
static int64_t get_text(uint32_t operation, int64_t fd, char **out)
{
    struct file_request request = {.operation = operation, .fd = (int32_t)fd};
    struct file_answer answer;
    char *text = heap_alloc(PATH_MAX);
    int64_t length;

    *out = text;
    if (text == NULL)
        return -ENOMEM;
    text[0] = '/';
    length = file_call(thread_current()->group, &request, NULL, 0, text + 1, PATH_MAX - 1, &answer);
    if (length >= 0)
        return length + 1;
    heap_free(text, PATH_MAX);
    return length;
}

int64_t call_fchdir(struct call *c)
{
    char *text;
    int64_t error = get_text(FILE_PATH, (int32_t)c->a[0], &text);

    if (error < 0)
        return error;
    error = set_folder(text + 1);
    heap_free(text, PATH_MAX);
    return error;
}

int64_t call_getcwd(struct call *c)
{
    char *text;
    int64_t length = get_text(FILE_GET_FOLDER, -1, &text);
    int64_t result;

    if (length < 0)
        return length;
    result = length + 1;
    if ((uint64_t)result > c->a[1])
        result = -ERANGE;
    else if (user_write(c->a[0], text, (uint64_t)result) != 0)
        result = -EFAULT;
    heap_free(text, PATH_MAX);
    return result;
}

static int64_t read_link(int64_t directory, uint64_t path, uint64_t address, uint64_t size)
{
    struct file_facts facts;
    bool folder;
    char *name, *target = NULL;
    int64_t result = files_name(directory, path, false, &name, &folder);

    if (result != 0)
        return result;
    result = name_stat(name, folder, &facts);
    if (result == 0 && (facts.mode & FILE_TYPE_MASK) != FILE_LINK)
        result = -EINVAL;
    if (result == 0) {
        target = heap_alloc(PATH_MAX);
        result = target == NULL ? -ENOMEM : proc_link(name, target, PATH_MAX);
    }
    if (result > 0) {
        result = (uint64_t)result < size ? result : (int64_t)size;
        if (user_write(address, target, (uint64_t)result) != 0)
            result = -EFAULT;
    }
    heap_free(name, PATH_MAX);
    if (target != NULL)
        heap_free(target, PATH_MAX);
    return result;
}

int64_t call_readlink(struct call *c)
{
    return (int32_t)c->a[2] <= 0 ? -EINVAL : read_link(NAME_FOLDER, c->a[0], c->a[1], (uint32_t)c->a[2]);
}

int64_t call_readlinkat(struct call *c)
{
    return (int32_t)c->a[3] <= 0 ? -EINVAL : read_link((int32_t)c->a[0], c->a[1], c->a[2], (uint32_t)c->a[3]);
}
