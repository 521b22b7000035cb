/* Operations on descriptors at the home of their group. See the header. */
#include "kernel/file/home.h"

#include "kernel/abi/errno.h"
#include "kernel/file/anonymous.h"
#include "kernel/file/descriptor.h"
#include "kernel/file/descriptor_cache.h"
#include "kernel/file/file.h"
#include "kernel/file/operation.h"
#include "kernel/file/rule.h"
#include "kernel/file/table.h"
#include "kernel/file/table_share.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"

/* The file, or a proxy, for file ID of KERNEL; it takes over an open that the request transfers. -ENOSPC: no memory,
 * and the open is still the caller's. */
static int64_t stand_in(uint64_t id, uint32_t kernel, struct file **out)
{
    struct file *file;

    if (kernel >= instance.kernels)
        return -EPROTO;
    if (kernel == instance.kernel) { /* the request has transferred an open, which keeps it open */
        file = file_find(id);
        if (file == NULL)
            return -EPROTO;
        file_unpin(file);
    } else {
        file = file_create_proxy(kernel, id);
        if (file == NULL)
            return -ENOSPC;
    }
    *out = file;
    return 0;
}

static int64_t install(struct file_table *table, const struct file_request *request)
{
    struct file *file;
    int64_t error = stand_in(request->install.id, request->install.kernel, &file);

    return error != 0 ? error : table_add(table, file, 0, request->install.flags & DESCRIPTOR_CLOEXEC);
}

static int64_t locate(struct file_table *table, const void *data, size_t size, void *result, size_t room)
{
    size_t count = size / sizeof(int32_t);

    if (room / sizeof(struct file_place) < count)
        return -EPROTO;
    for (size_t i = 0; i < count; i++) {
        struct file_place place = {.id = 0};
        struct file *file;
        int32_t fd;

        memcpy(&fd, (const uint8_t *)data + i * sizeof(fd), sizeof(fd));
        file = table_find(table, fd);
        if (file != NULL) {
            place.id = file->id;
            place.kernel = file->kernel;
            file_unpin(file);
        }
        memcpy((uint8_t *)result + i * sizeof(place), &place, sizeof(place));
    }
    return (int64_t)(count * sizeof(struct file_place));
}

/* FILE_SET_DIRECTORY, FILE_SET_ROOT: makes the descriptor's file, or with fd -1 a file of which the request transfers
 * an open, the working directory or the root. */
static int64_t set_directory(struct file_table *table, const struct file_request *request)
{
    struct file *file;
    int64_t error;

    if (request->fd >= 0) {
        file = table_find(table, request->fd);
        if (file == NULL)
            return -EBADF;
        file_open_again(file);
        file_unpin(file);
    } else {
        error = stand_in(request->install.id, request->install.kernel, &file);
        if (error != 0)
            return error;
    }
    (request->operation == MSG_FILE_SET_ROOT ? file_table_set_root : file_table_set_working_directory)(table, file);
    return 0;
}

static int64_t act_on_table(struct file_table *table, const struct file_request *request, const void *data, size_t size,
                            void *result, size_t room)
{
    switch (request->operation) {
    case MSG_FILE_CLOSE:
        return table_close(table, request->fd);
    case MSG_FILE_DUPLICATE:
        return table_duplicate(table, request->fd, request->close.to, request->close.flags & DESCRIPTOR_CLOEXEC);
    case MSG_FILE_GET_DESCRIPTOR:
        return table_get_flags(table, request->fd);
    case MSG_FILE_SET_DESCRIPTOR:
        return table_set_flags(table, request->fd, request->flags & DESCRIPTOR_CLOEXEC);
    case MSG_FILE_PIPE:
        return anonymous_add(table, ANONYMOUS_PIPE, request->flags, data, size, result, room);
    case MSG_FILE_INSTALL:
        return install(table, request);
    case MSG_FILE_LOCATE:
        return locate(table, data, size, result, room);
    case MSG_FILE_SET_DIRECTORY:
    case MSG_FILE_SET_ROOT:
        return set_directory(table, request);
    case MSG_FILE_NOTE_UNDO:
        __atomic_store_n(&table->undo, request->process, __ATOMIC_RELAXED);
        return 0;
    case MSG_FILE_NOTE_OWNER:
        __atomic_store_n(&table->process, request->process, __ATOMIC_RELAXED);
        return 0;
    case MSG_FILE_GET_PROGRAM:
        return room == 0 ? -EPROTO : file_table_program(table, result, room);
    case MSG_FILE_LIST:
        return (int64_t)(table_list(table, request->first, result, (uint32_t)(room / sizeof(int32_t))) *
                         sizeof(int32_t));
    case MSG_FILE_NEW:
        return anonymous_add(table, request->make.what, request->make.flags, data, size, result, room);
    default:
        return -EPROTO;
    }
}

/* If the process may have locks on the file of FD, returns true with FILE_UNLOCKS in ANSWER: the caller, which can
 * wait, removes them while the file is still open. */
static bool unlocks(struct file_table *table, int64_t fd, struct file_answer *answer)
{
    struct file *file = table_find(table, fd);
    bool found = file != NULL && table_has_locks(table, file);

    if (found)
        *answer = (struct file_answer){
            .id = file->id, .kernel = (uint16_t)file->kernel, .flags = FILE_UNLOCKS, .seen = (uint64_t)fd};
    if (file != NULL)
        file_unpin(file);
    return found;
}

static void close_range_at_home(struct file_table *table, const struct file_request *request,
                                struct file_answer *answer)
{
    int64_t gone = (int64_t)request->range.unlocked - 1, stopped;

    do
        answer->value = table_close_range(table, (uint32_t)request->fd, request->range.last, request->range.flags != 0,
                                          gone, &stopped);
    while (stopped >= 0 && !unlocks(table, stopped, answer)); /* again if STOPPED has been closed meanwhile */
}

/* Operations that close. */
static int64_t close_at_home(struct file_table *table, const struct file_request *request, struct file_answer *answer)
{
    struct file *from;

    *answer = (struct file_answer){.flags = 0};
    switch (request->operation) {
    case MSG_FILE_CLOSE_RANGE:
        close_range_at_home(table, request, answer);
        break;
    case MSG_FILE_DUPLICATE_TO:
        from = table_find(table, request->fd);
        if (from == NULL || request->fd == request->close.to || request->close.unlocked != 0 ||
            !table_may_have(table, request->close.to) || !unlocks(table, request->close.to, answer))
            answer->value = table_duplicate_to(table, request->fd, request->close.to,
                                               request->close.flags & DESCRIPTOR_CLOEXEC);
        if (from != NULL)
            file_unpin(from);
        break;
    default:
        if (request->close.unlocked != 0 || !unlocks(table, request->fd, answer))
            answer->value = table_close(table, request->fd);
    }
    return answer->value;
}

/* Before FILE_LOCATE looks up one descriptor, or a directory: how long its answer lasts. The counts DESCRIPTORS and
 * DIRECTORY were read before it was known that answers last. */
static void stamp_place(const struct file_table *table, const void *data, size_t size, uint64_t descriptors,
                        uint64_t directory, struct file_answer *answer)
{
    int32_t fd;

    if (size != sizeof(fd))
        return;
    memcpy(&fd, data, sizeof(fd));
    answer->flags = FILE_STAMPED | (table->process != 0 ? FILE_NOTED : 0);
    answer->seen = fd < 0 ? directory : descriptors;
}

int64_t home_do(struct file_table *table, const struct file_request *request, const void *data, size_t size,
                void *result, size_t room, struct file_answer *answer)
{
    const struct file_rule *rule = file_rule(request->operation);
    uint64_t stamp = descriptor_cache_stamp(table->descriptors->count);
    uint64_t directory = request->operation == MSG_FILE_LOCATE
                             ? descriptor_cache_stamp(table->directories->directory_count)
                             : 0;
    bool limited = __atomic_load_n(&table->file_limit, __ATOMIC_ACQUIRE) != UINT64_MAX;
    bool lasts = !limited && !__atomic_load_n(&table->left, __ATOMIC_ACQUIRE); /* STAMP changes when that changes */
    struct file *file = NULL;
    bool here;

    if (rule->closes)
        return close_at_home(table, request, answer);
    if (__builtin_expect(limited, 0) && rule->grows) {
        *answer = (struct file_answer){.flags = FILE_LIMITED_SIZE, .seen = table->file_limit};
        return 0;
    }
    if (file_is_for_table(request->operation)) {
        *answer = (struct file_answer){.flags = 0};
        if (request->operation == MSG_FILE_LOCATE && lasts)
            stamp_place(table, data, size, stamp, directory, answer);
        answer->value = act_on_table(table, request, data, size, result, room);
        return answer->value;
    }
    if (request->fd != FILE_WORKING_DIRECTORY || request->operation == MSG_FILE_PATH ||
        request->operation == MSG_FILE_STAT)
        file = table_find(table, request->fd);
    if (file != NULL && request->operation == MSG_FILE_LOCK && size == sizeof(struct file_lock))
        table_note_lock(table, data);
    if (file == NULL) {
        *answer = (struct file_answer){.value = -EBADF};
        return answer->value;
    }
    here = file->kernel == instance.kernel && !file->kind->waits;
    if (here)
        here = file_do(file, request, data, size, result, room, answer) != FILE_MOVES;
    if (!here)
        *answer = (struct file_answer){.id = file->id,
                                       .seen = stamp,
                                       .kernel = (uint16_t)file->kernel,
                                       .flags = FILE_ELSEWHERE | (lasts ? FILE_STAMPED : 0) |
                                                (table->process != 0 ? FILE_NOTED : 0)};
    file_unpin(file);
    return answer->value;
}
