/* Operations on one open file. See the header. */
#include "kernel/file/operation.h"

#include "kernel/abi/errno.h"
#include "kernel/file/anonymous.h"
#include "kernel/file/limit.h"
#include "kernel/file/permission.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/string.h"
#include "mm/frame/frame.h"

#define OPEN_ONLY                                                                                                      \
    (OPEN_CLOEXEC | OPEN_CREATE | OPEN_EXCLUSIVE | OPEN_TRUNCATE | OPEN_UNCOUNTED |                                    \
     0400u) /* flags that matter only to open */
#define FIONREAD 0x541bu
#define FIONBIO 0x5421u
#define ENTRY_LENGTH_AT 16 /* offset of d_reclen in an entry of getdents64 */

struct node_hooks node_hooks;

int64_t file_peek(struct file *file, size_t size, int64_t at, uint64_t *offset, const void **from)
{
    uint64_t length;

    *offset = (uint64_t)at;
    if (at < 0) {
        spin_lock(&file->lock);
        *offset = file->offset;
        spin_unlock(&file->lock);
    }
    length = *offset < file->facts.size ? file->facts.size - *offset : 0;
    *from = (const uint8_t *)file->data + *offset;
    return (int64_t)(length < size ? length : size);
}

bool file_advance(struct file *file, uint64_t offset, uint64_t count)
{
    bool same;

    spin_lock(&file->lock);
    same = file->offset == offset;
    if (same)
        file->offset = offset + count;
    spin_unlock(&file->lock);
    return same;
}

static int64_t read_file(struct file *file, void *result, size_t size, int64_t at)
{
    const void *from;
    uint64_t offset;
    int64_t count;

    if ((file->flags & OPEN_ACCESS) == 1)
        return -EBADF;
    if (file->kind->directory)
        return -EISDIR;
    if (file->kind->seekable) {
        do {
            count = file_peek(file, size, at, &offset, &from);
            memcpy(result, from, (size_t)count);
        } while (at < 0 && !file_advance(file, offset, (uint64_t)count));
        return count;
    }
    if (file->kind->read == NULL)
        return -EINVAL;
    if (at >= 0 && file->kind->poll != NULL)
        return -ESPIPE;
    return size == 0 ? 0 : file->kind->read(file, result, size);
}

static int64_t write_file(struct file *file, const void *data, size_t size, uint32_t flags, int64_t at)
{
    if ((file->flags & OPEN_ACCESS) == 0)
        return -EBADF;
    if (file->kind->write == NULL)
        return -EINVAL;
    if (at >= 0 && file->kind->poll != NULL)
        return -ESPIPE;
    return size == 0 ? 0 : file->kind->write(file, data, size, flags);
}

static int64_t seek(struct file *file, int64_t offset, uint32_t whence)
{
    int64_t base, result;

    if (!file->kind->seekable && !file->kind->directory)
        return !file->kind->no_seek && (file->kind->poll == NULL || (file->facts.mode & FILE_TYPE_MASK) == 0)
                   ? 0 /* /dev/null, eventfd and the like accept a seek, which has no effect */
                   : -ESPIPE;
    if (whence > 2 || (whence == 2 && file->kind->entries != NULL))
        return -EINVAL;
    spin_lock(&file->lock);
    base = whence == 0 ? 0 : whence == 1 ? (int64_t)file->offset : (int64_t)file->facts.size;
    if (__builtin_add_overflow(base, offset, &result))
        result = -EOVERFLOW;
    else if (result < 0)
        result = -EINVAL;
    else
        file->offset = (uint64_t)result;
    spin_unlock(&file->lock);
    return result;
}

/* Reads whole entries of a directory, from its offset on. */
static int64_t read_entries(struct file *file, void *result, size_t room)
{
    const uint8_t *data = file->data;
    size_t done = 0;
    uint16_t length = 0;

    if (!file->kind->directory)
        return -ENOTDIR;
    if (file->kind->entries != NULL)
        return file->kind->entries(file, result, room);
    spin_lock(&file->lock);
    while (file->offset < file->facts.size) {
        memcpy(&length, data + file->offset + ENTRY_LENGTH_AT, sizeof(length));
        if (length > file->facts.size - file->offset || length > room - done)
            break;
        memcpy((uint8_t *)result + done, data + file->offset, length);
        done += length;
        file->offset += length;
    }
    spin_unlock(&file->lock);
    if (done == 0 && file->offset < file->facts.size)
        return -EINVAL; /* no room for one entry, or no entry begins at the offset */
    return (int64_t)done;
}

static void set_flags(struct file *file, uint32_t change, uint32_t flags)
{
    spin_lock(&file->lock);
    file->flags = (file->flags & ~change) | (flags & change);
    spin_unlock(&file->lock);
}

static int64_t control(struct file *file, uint32_t command, const void *data, size_t size, void *result, size_t room)
{
    int32_t number;

    if (size != FILE_CONTROL_MAX || room < FILE_CONTROL_MAX)
        return -EPROTO;
    memcpy(result, data, size);
    if (command == FIONBIO) {
        memcpy(&number, data, sizeof(number));
        set_flags(file, OPEN_NONBLOCK, number != 0 ? OPEN_NONBLOCK : 0);
        return 0;
    }
    if (command == FIONREAD && file->kind->seekable) {
        spin_lock(&file->lock);
        number = file->offset < file->facts.size ? (int32_t)(file->facts.size - file->offset) : 0;
        spin_unlock(&file->lock);
        memcpy(result, &number, sizeof(number));
        return 0;
    }
    return file->kind->control != NULL ? file->kind->control(file, command, result) : -ENOTTY;
}

/* FILE_PATH: writes FILE's absolute name, seen from directory ROOT of this kernel (0: the tree's root). -ESRCH: ROOT
 * has been closed. */
static int64_t give_path(const struct file *file, uint64_t root, char *result, size_t room)
{
    size_t length = file->path != NULL ? strlen(file->path) + 1 : 1;

    if (file_node(file) != NULL) {
        struct file *from = root != 0 ? file_find(root) : NULL;
        int64_t value = root != 0 && from == NULL ? -ESRCH : 0;

        if (value == 0)
            value = node_hooks.name(file_node(file), from != NULL ? file_node(from) : NULL, result, room);
        if (from != NULL)
            file_unpin(from);
        return value;
    }
    if (!file->kind->directory)
        return -ENOTDIR;
    if (length >= room)
        return -ENAMETOOLONG;
    result[0] = '/';
    memcpy(result + 1, file->path != NULL ? file->path : "", length);
    return (int64_t)length;
}

static int64_t give_facts(struct file *file, struct file_facts *facts, size_t room)
{
    if (room < sizeof(*facts))
        return -EPROTO;
    if (file_node(file) != NULL) {
        node_hooks.facts(file_node(file), facts);
    } else {
        spin_lock(&file->lock);
        *facts = file->facts;
        spin_unlock(&file->lock);
    }
    return sizeof(*facts);
}

int64_t file_change_facts(struct file *file, const void *data, size_t size)
{
    struct file_user user;
    bool as_user = size > sizeof(struct node_change);
    struct node_change change;
    int error;

    if (size < sizeof(change) ||
        (as_user && permission_take((const uint8_t *)data + sizeof(change), size - sizeof(change), &user) == 0))
        return -EPROTO;
    memcpy(&change, data, sizeof(change));
    if (file_node(file) != NULL)
        return node_hooks.change(file_node(file), as_user ? &user : NULL, &change);
    spin_lock(&file->lock);
    error = permission_change(as_user ? &user : NULL, file->facts.mode, file->facts.uid, file->facts.gid, &change);
    if (error == 0) {
        if ((change.what & CHANGE_MODE) != 0)
            file->facts.mode = (file->facts.mode & FILE_TYPE_MASK) | (change.mode & 07777);
        if ((change.what & CHANGE_UID) != 0)
            file->facts.uid = change.uid;
        if ((change.what & CHANGE_GID) != 0)
            file->facts.gid = change.gid;
        if ((change.what & CHANGE_ATIME) != 0)
            file->facts.atime = change.atime;
        if ((change.what & CHANGE_MTIME) != 0)
            file->facts.mtime = change.mtime;
    }
    spin_unlock(&file->lock);
    return error;
}

static int64_t give_space(const struct file *file, struct file_space *space, size_t room)
{
    if (room < sizeof(*space))
        return -EPROTO;
    if (file_node(file) != NULL)
        node_hooks.space(space);
    else
        *space = (struct file_space){.type = file->kind->directory || file->owned != 0 ? PROCFS_MAGIC
                                             : file->kind->poll != NULL                ? PIPEFS_MAGIC
                                                                                       : TMPFS_MAGIC,
                                     .block = PAGE_SIZE};
    return sizeof(*space);
}

/* FILE_MAP: checks whether FILE can be mapped. The order of the checks is Linux's. */
static int64_t map_file(const struct file *file, bool shared, bool write)
{
    uint32_t access = file->flags & OPEN_ACCESS;

    if ((shared && write && access == 0) || access == 1)
        return -EACCES;
    if (file->kind->zeros)
        return 0;
    return -ENODEV;
}

/* Operations on content and locks, for the kinds that have neither: what Linux answers. */
static int64_t change_bytes(const struct file *file, const struct file_request *request)
{
    bool directory = file->kind->directory, pipe = (file->facts.mode & FILE_TYPE_MASK) == FILE_FIFO;

    switch (request->operation) {
    case MSG_FILE_ALLOCATE:
        return (file->flags & OPEN_ACCESS) == 0 ? -EBADF : pipe ? -ESPIPE : directory ? -EISDIR : -ENODEV;
    case MSG_FILE_ADVISE:
        return request->ahead != 0 ? (file->flags & OPEN_ACCESS) == 1 ? -EBADF : -EINVAL : pipe ? -ESPIPE : 0;
    case MSG_FILE_SYNC:
        return directory || file->kind->seekable ? 0 : -EINVAL;
    default:
        return -EINVAL;
    }
}

static int64_t act(struct file *file, const struct file_request *request, const void *data, size_t size, void *result,
                   size_t room)
{
    switch (request->operation) {
    case MSG_FILE_READ:
        return read_file(file, result, room, -1);
    case MSG_FILE_READ_AT:
        return request->move.offset < 0 ? -EINVAL : read_file(file, result, room, request->move.offset);
    case MSG_FILE_WRITE:
        return write_file(file, data, size, request->move.flags, -1);
    case MSG_FILE_WRITE_AT:
        return request->move.offset < 0 ? -EINVAL : write_file(file, data, size, 0, request->move.offset);
    case MSG_FILE_SEEK:
        return seek(file, request->seek.offset, request->seek.whence);
    case MSG_FILE_STAT:
        return give_facts(file, result, room);
    case MSG_FILE_GET_FLAGS:
        return file->flags & ~OPEN_ONLY;
    case MSG_FILE_SET_FLAGS:
        set_flags(file, OPEN_SETTABLE | ((file->facts.mode & FILE_TYPE_MASK) == FILE_FIFO ? OPEN_DIRECT : 0),
                  request->flags);
        return 0;
    case MSG_FILE_ENTRIES:
        return read_entries(file, result, room);
    case MSG_FILE_PATH:
        return give_path(file, request->root, result, room);
    case MSG_FILE_MAP:
        return map_file(file, request->map.shared != 0, request->map.writes != 0);
    case MSG_FILE_CONTROL:
        return control(file, request->control.command, data, size, result, room);
    case MSG_FILE_RESIZE:
    case MSG_FILE_ALLOCATE:
    case MSG_FILE_ADVISE:
    case MSG_FILE_SYNC:
    case MSG_FILE_SEALS:
    case MSG_FILE_LOCK:
        return change_bytes(file, request);
    case MSG_FILE_CHANGE:
        return file_change_facts(file, data, size);
    case MSG_FILE_ATTRIBUTE:
        return node_hooks.attribute(file, request, data, size, result, room);
    case MSG_FILE_SPACE:
        return give_space(file, result, room);
    case MSG_FILE_OPENED:
        return file->kind->opened != NULL ? file->kind->opened(file, request->gives_up != 0) : 0;
    default:
        return -EPROTO;
    }
}

/* Whether OPERATION may be done on a file that was opened with O_PATH, which is a place without content (open(2)).
 * FILE_ATTRIBUTE comes from calls that take names; those that take descriptors look at the flags first. */
static bool is_for_places(uint32_t operation)
{
    switch (operation) {
    case MSG_FILE_STAT:
    case MSG_FILE_GET_FLAGS:
    case MSG_FILE_PATH:
    case MSG_FILE_ATTRIBUTE:
    case MSG_FILE_SPACE:
    case MSG_FILE_OPENED:
        return true;
    default:
        return false;
    }
}

int64_t file_do(struct file *file, const struct file_request *request, const void *data, size_t size, void *result,
                size_t room, struct file_answer *answer)
{
    bool waits = file->kind->poll != NULL && (file->flags & OPEN_NONBLOCK) == 0;

    if (request->operation == MSG_FILE_LIMITED)
        return file_limit_do(file, request->refused, data, size, answer);
    answer->id = file->id;
    answer->tenths = 0;
    answer->kernel = (uint16_t)instance.kernel;
    answer->flags = file->kind->one_read ? 0 : FILE_READ_ON;
    /* Read before the operation, so that a wait ends at once if the file changes after the operation. */
    answer->seen = file->kind->poll != NULL ? __atomic_load_n(&file->events->source.events, __ATOMIC_ACQUIRE) : 0;
    if ((file->flags & OPEN_PATH) != 0 && !is_for_places(request->operation))
        return answer->value = -EBADF;
    answer->value = FILE_AS_ANY;
    if (file->kind->act != NULL)
        answer->value = file->kind->act(file, request, data, size, result, room, answer);
    if (answer->value == FILE_AS_ANY && request->operation == MSG_FILE_OPERATE)
        answer->value = anonymous_operate(file, request, data, size, result, room, answer);
    else if (answer->value == FILE_AS_ANY)
        answer->value = act(file, request, data, size, result, room);
    if (answer->value == -EAGAIN && waits) {
        answer->flags |= FILE_MAY_WAIT;
        if (file->kind->timeout != NULL &&
            (request->operation == MSG_FILE_READ || request->operation == MSG_FILE_WRITE)) {
            answer->flags |= FILE_TIMED;
            answer->tenths = file_tenths(file->kind->timeout(file, request->operation == MSG_FILE_WRITE));
        }
    }
    if (answer->value == -EAGAIN && file->kind->signals != NULL) {
        answer->flags |= FILE_SIGNALS;
        answer->seen = file->kind->signals(file);
    }
    return answer->value;
}

int64_t file_do_waiting(struct file *file, const struct file_request *request, const void *data, size_t size,
                        void *result, size_t room, struct file_answer *answer)
{
    int64_t value = file_do(file, request, data, size, result, room, answer);
    struct file_request again;

    if (__builtin_expect(value != FILE_MOVES, 1))
        return value;
    again = *request;
    do {
        int error = file->kind->await_moves(file, &again, data, answer);

        if (error != 0)
            again.refused = (uint8_t)-error;
        value = file_do(file, &again, data, size, result, room, answer);
    } while (value == FILE_MOVES);
    return value;
}
