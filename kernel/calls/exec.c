/* System calls that run programs: execve(2) and kettle_spawn. */
#include "boot/instance.h"
#include "kernel/abi/errno.h"
#include "kernel/calls/calls.h"
#include "kernel/fs/file.h"
#include "kernel/fs/initramfs.h"
#include "kernel/fs/path.h"
#include "kernel/lib/string.h"
#include "mm/heap.h"
#include "mm/space.h"
#include "tasks/migrate.h"
#include "tasks/process.h"
#include "tasks/spawn.h"

#define PATH_SIZE 4096u

/* What a program is given: path, arguments and environment in one buffer. */
struct given {
    char path[PATH_SIZE];
    char strings[EXEC_STRINGS_MAX];
    struct exec_strings list;
};

/* Copies the array of strings at user address ADDRESS to BUFFER, one after another. Returns the bytes used. */
static int64_t read_strings(uint64_t address, char *buffer, size_t room, uint32_t *count)
{
    size_t used = 0;

    *count = 0;
    for (;; address += sizeof(uint64_t)) {
        uint64_t string = 0;
        int64_t length;

        if (address != 0 && user_read(&string, address, sizeof(string)) != 0)
            return -EFAULT;
        if (string == 0)
            return (int64_t)used;
        length = user_read_string(buffer + used, string, room - used);
        if (length < 0)
            return length == -ENAMETOOLONG ? -E2BIG : length;
        used += (size_t)length + 1;
        (*count)++;
        if (used == room)
            return -E2BIG;
    }
}

static int64_t read_given(struct given *given, uint64_t path, uint64_t argv, uint64_t envp)
{
    int64_t size = user_read_string(given->path, path, sizeof(given->path));

    if (size < 0)
        return size;
    given->list.argv = given->strings;
    size = read_strings(argv, given->strings, EXEC_STRINGS_MAX, &given->list.argc);
    if (size < 0)
        return size;
    given->list.argv_size = (size_t)size;
    if (given->list.argc == 0) { /* as Linux: a program has at least an empty name */
        given->strings[0] = '\0';
        given->list.argc = 1;
        given->list.argv_size = 1;
    }
    given->list.envp = given->strings + given->list.argv_size;
    size = read_strings(envp, given->strings + given->list.argv_size, EXEC_STRINGS_MAX - given->list.argv_size,
                        &given->list.envc);
    if (size < 0)
        return size;
    given->list.envp_size = (size_t)size;
    return 0;
}

/* The content of the executable PATH. */
static int64_t find_program(const char *path, struct spawn_program *program)
{
    char name[512];
    struct cpio_entry entry;
    bool folder;
    int64_t error = path_normalize(path, name, sizeof(name), &folder);

    if (error == 0)
        error = initramfs_find(name, &entry);
    if (error != 0)
        return error == -EISDIR ? -EACCES : error;
    if (folder)
        return -ENOTDIR;
    if ((entry.mode & 0111) == 0)
        return -EACCES;
    program->file = entry.data;
    program->size = entry.size;
    return 0;
}

static int64_t exec_given(struct given *given)
{
    struct group *group = thread_current()->group;
    struct spawn_program program = {.path = given->path, .strings = &given->list};
    int64_t error = find_program(given->path, &program);

    if (error != 0)
        return error;
    if (group->home != instance.kernel) { /* a process changes its program at home; there this call begins again */
        spin_lock(&group->lock);
        migrate_order_locked(thread_current(), group->home);
        spin_unlock(&group->lock);
        return -ERESTARTNOINTR;
    }
    error = spawn_exec(&program);
    return error == -EAGAIN ? -ERESTARTNOINTR : error;
}

int64_t call_execve(struct call *c)
{
    struct given *given = heap_alloc(sizeof(*given));
    int64_t error = -ENOMEM;

    if (given != NULL)
        error = read_given(given, c->a[0], c->a[1], c->a[2]);
    if (error == 0)
        error = exec_given(given);
    heap_free(given, sizeof(*given));
    c->replaced = error == 0;
    return error;
}

static int64_t spawn_given(struct given *given)
{
    struct group *parent = thread_current()->group;
    struct spawn_program program = {.path = given->path, .strings = &given->list};
    int64_t error = find_program(given->path, &program);
    void *files;

    if (error == 0)
        error = group_hooks.fork_files(parent, &files);
    if (error != 0)
        return error;
    error = spawn_process(parent->id, &program, files, NULL);
    if (error < 0)
        group_hooks.release_files(files);
    return error;
}

int64_t call_kettle_spawn(struct call *c)
{
    struct given *given = heap_alloc(sizeof(*given));
    int64_t result = -ENOMEM;

    if (given != NULL)
        result = read_given(given, c->a[0], c->a[1], c->a[2]);
    if (result == 0)
        result = spawn_given(given);
    heap_free(given, sizeof(*given));
    return result;
}
