/* Files that show the state at each operation. See the header. */
#include "kernel/fs/proc/live.h"

#include "kernel/abi/errno.h"
#include "kernel/file/wire.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "tasks/account/facts.h"
#include "tasks/process/permission.h"

/* The state of an open /proc/PID/mem: the process, and when the program began whose memory it is. */
struct memory {
    uint32_t process;
    uint64_t program_ns;
};

static int64_t give_back(uint32_t process, struct file_answer *answer)
{
    answer->flags |= FILE_YOURS;
    answer->seen = process;
    return -EAGAIN;
}

static int64_t give_memory(const struct memory *memory, struct file_answer *answer)
{
    answer->id = memory->program_ns;
    return give_back(memory->process, answer);
}

int64_t proc_live_seek(struct file *file, int64_t offset, uint32_t whence)
{
    int64_t result;

    if (whence > 1)
        return -EINVAL;
    spin_lock(&file->lock);
    if (whence == 1)
        offset = (int64_t)(file->offset + (uint64_t)offset);
    result = offset < 0 ? -EINVAL : offset;
    if (result >= 0)
        file->offset = (uint64_t)offset;
    spin_unlock(&file->lock);
    return result;
}

static int64_t act_memory(struct file *file, const struct file_request *request, const void *data, size_t size,
                          void *result, size_t room, struct file_answer *answer)
{
    uint32_t access = file->flags & OPEN_ACCESS;

    (void)data;
    (void)size;
    (void)result;
    (void)room;
    switch (request->operation) {
    case MSG_FILE_READ:
    case MSG_FILE_READ_AT:
        return access == 1 ? -EBADF : give_memory(file->state, answer);
    case MSG_FILE_WRITE:
    case MSG_FILE_WRITE_AT:
        return access == 0 ? -EBADF : give_memory(file->state, answer);
    case MSG_FILE_SEEK:
        return proc_live_seek(file, request->seek.offset, request->seek.whence);
    default:
        return FILE_AS_ANY;
    }
}

static int64_t act_descriptors(struct file *file, const struct file_request *request, const void *data, size_t size,
                               void *result, size_t room, struct file_answer *answer)
{
    (void)data;
    (void)size;
    (void)result;
    (void)room;
    if (request->operation != MSG_FILE_ENTRIES)
        return FILE_AS_ANY;
    return give_back((uint32_t)(uintptr_t)file->state, answer);
}

static void forget_memory(struct file *file)
{
    heap_free(file->state, sizeof(struct memory));
}

static const struct file_kind memory_kind = {.act = act_memory, .forget = forget_memory};
static const struct file_kind descriptors_kind = {.act = act_descriptors, .directory = true};

int64_t proc_live_memory(uint32_t process, const struct file_facts *facts, uint32_t flags, struct file **out)
{
    struct process_facts now;
    struct memory *memory;
    int64_t error = process_facts_of(process, &now); /* before the check, so that both are of one program */

    if (error == 0)
        error = credentials_may_reach(process, true);
    if (error != 0)
        return error == -EPERM ? -EACCES : error == -ENOMEM ? error : -ENOENT;
    memory = heap_alloc(sizeof(*memory));
    if (memory == NULL)
        return -ENOMEM;
    *memory = (struct memory){.process = process, .program_ns = now.program_ns};
    *out = file_create(&memory_kind, facts, flags, memory, NULL);
    if (*out == NULL)
        heap_free(memory, sizeof(*memory));
    return *out != NULL ? 0 : -ENOMEM;
}

int64_t proc_live_descriptors(uint32_t process, const char *name, const struct file_facts *facts, uint32_t flags,
                              struct file **out)
{
    size_t size = strlen(name) + 1;
    char *path;

    if ((flags & OPEN_PATH) == 0 && credentials_may_reach(process, true) == -EPERM)
        return -EACCES;
    path = heap_alloc(size);
    if (path == NULL)
        return -ENOMEM;
    memcpy(path, name, size);
    *out = file_create(&descriptors_kind, facts, flags, (void *)(uintptr_t)process, NULL);
    if (*out == NULL) {
        heap_free(path, size);
        return -ENOMEM;
    }
    (*out)->path = path;
    return 0;
}
