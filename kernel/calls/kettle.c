/* Kettle's own system calls. libc/kettle.h documents them. */
#include "boot/instance.h"
#include "kernel/abi/errno.h"
#include "kernel/calls/calls.h"
#include "kernel/fs/file.h"
#include "kernel/fs/initramfs.h"
#include "kernel/fs/path.h"
#include "kernel/lib/string.h"
#include "kernel/machine.h"
#include "mm/heap.h"
#include "mm/space.h"
#include "msg/channel.h"
#include "tasks/exec.h"
#include "tasks/migrate.h"
#include "tasks/sched.h"

#define SPAWN_PATH_MAX 512u

int64_t call_kettle_migrate(struct call *c)
{
    int result = migrate_thread((int32_t)c->a[0]);

    if (result == 1) {
        c->replaced = true;
        return 0;
    }
    return result;
}

int64_t call_kettle_kernel(struct call *c)
{
    (void)c;
    return instance.kernel;
}

int64_t call_kettle_kernels(struct call *c)
{
    (void)c;
    return instance.kernels;
}

int64_t call_kettle_node(struct call *c)
{
    return c->a[0] < instance.kernels ? (int64_t)instance.plan.kernels[c->a[0]].node : -EINVAL;
}

int64_t call_kettle_start(struct call *c)
{
    return c->a[0] < instance.kernels ? start_kernels(1ull << c->a[0]) : -EINVAL;
}

int64_t call_kettle_started(struct call *c)
{
    return c->a[0] < instance.kernels ? msg_peer_started((uint32_t)c->a[0]) : -EINVAL;
}

/* Copies the strings that the null-terminated array at ADDRESS points to behind one another. */
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

static int64_t spawn(const char *path, const struct exec_strings *strings)
{
    struct group *parent = thread_current()->group;
    struct file_table *files;
    struct cpio_entry entry;
    struct thread *thread;
    char name[SPAWN_PATH_MAX];
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
    files = file_table_create(parent->files);
    if (files == NULL)
        return -ENOMEM;
    error = exec_create(entry.data, entry.size, path, strings, parent, files, &thread);
    if (error != 0) {
        file_table_free(files);
        return error;
    }
    error = thread->tid;
    sched_start(thread);
    return error;
}

int64_t call_kettle_spawn(struct call *c)
{
    struct exec_strings strings = {0};
    char *buffer;
    char path[SPAWN_PATH_MAX];
    int64_t size = user_read_string(path, c->a[0], sizeof(path));

    if (thread_current()->group->home != instance.kernel)
        return -ENOSYS; /* only where the caller's children are known and the files are */
    if (size < 0)
        return size;
    buffer = heap_alloc(EXEC_STRINGS_MAX);
    if (buffer == NULL)
        return -ENOMEM;
    strings.argv = buffer;
    size = read_strings(c->a[1], buffer, EXEC_STRINGS_MAX, &strings.argc);
    if (size >= 0) {
        strings.argv_size = (size_t)size;
        strings.envp = buffer + size;
        size = read_strings(c->a[2], buffer + size, EXEC_STRINGS_MAX - (size_t)size, &strings.envc);
    }
    if (size >= 0) {
        strings.envp_size = (size_t)size;
        size = spawn(path, &strings);
    }
    heap_free(buffer, EXEC_STRINGS_MAX);
    return size;
}
