/* Operations on open files of shares. See kernel/fs/share/internal.h. Each operation is one or a few requests to the
 * server, and waits for them. Only FILE_LOCK sends no request and runs in any context, unless its range is relative to
 * the end of the file. An open file's mutex is held while its offset is used, as read(2) and write(2) require; other
 * operations on the file go on at the same time. */
#include "kernel/abi/errno.h"
#include "kernel/file/wire.h"
#include "kernel/fs/node/content.h"
#include "kernel/fs/node/lock.h"
#include "kernel/fs/node/node.h"
#include "kernel/fs/share/internal.h"
#include "kernel/fs/text/dirent.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"

#define FIONREAD 0x541bu
#define SEEK_DATA 3u
#define SEEK_HOLE 4u
#define LIST_ROOM 16384u /* bytes of entries requested at a time */

static bool may_write(const struct file *file)
{
    return (file->flags & OPEN_ACCESS) != 0;
}

static bool may_read(const struct file *file)
{
    return (file->flags & OPEN_ACCESS) != 1;
}

static uint64_t take_offset(struct file *file)
{
    uint64_t offset;

    spin_lock(&file->lock);
    offset = file->offset;
    spin_unlock(&file->lock);
    return offset;
}

static void set_offset(struct file *file, uint64_t offset)
{
    spin_lock(&file->lock);
    file->offset = offset;
    spin_unlock(&file->lock);
}

/* --- bytes --- */

/* AT negative: reads at the file's offset, and advances it. */
static int64_t read_bytes(struct file *file, void *result, size_t size, int64_t at)
{
    struct share_open *open = file->state;
    uint64_t offset;
    int64_t count;

    if (!may_read(file))
        return -EBADF;
    if (open->body == NULL)
        return open->list != NULL ? -EISDIR : -EINVAL;
    if (at >= 0)
        return p9_read(open->fid, (uint64_t)at, result, size);
    share_mutex_lock(&open->mutex);
    offset = take_offset(file);
    count = p9_read(open->fid, offset, result, size);
    if (count > 0)
        set_offset(file, offset + (uint64_t)count);
    share_mutex_unlock(&open->mutex);
    return count;
}

/* On return *AT is the offset at which the data was written. */
static int64_t write_at(struct share_open *open, const void *data, size_t size, uint64_t *at, bool append)
{
    struct share_body *body = open->body;
    struct p9_attributes attributes;
    int64_t count = 0;

    if (*at > INT64_MAX - size)
        return -EFBIG;
    if (!append && !__atomic_load_n(&body->loaded, __ATOMIC_ACQUIRE))
        return p9_write(open->fid, *at, data, size);
    share_mutex_lock(&body->mutex);
    if (append)
        count = p9_get(open->fid, &attributes);
    if (append && count == 0)
        *at = attributes.size;
    if (count == 0)
        count = p9_write(open->fid, *at, data, size);
    if (count > 0)
        share_body_write(body, *at, data, (size_t)count);
    share_mutex_unlock(&body->mutex);
    return count;
}

static int64_t write_bytes(struct file *file, const void *data, size_t size, uint32_t extra, int64_t at)
{
    struct share_open *open = file->state;
    bool append = (file->flags & OPEN_APPEND) != 0 || (extra & FILE_APPEND) != 0;
    uint64_t place = (uint64_t)at;
    int64_t count;

    if (!may_write(file))
        return -EBADF;
    if (open->body == NULL)
        return -EINVAL;
    if (size == 0)
        return 0;
    if (at >= 0)
        return write_at(open, data, size, &place, append);
    share_mutex_lock(&open->mutex);
    place = take_offset(file);
    count = write_at(open, data, size, &place, append);
    if (count > 0)
        set_offset(file, place + (uint64_t)count);
    share_mutex_unlock(&open->mutex);
    return count;
}

static int64_t seek_from(struct file *file, int64_t offset, uint32_t whence)
{
    struct share_open *open = file->state;
    struct p9_attributes attributes = {.size = 0};
    int64_t base = whence == 1 ? (int64_t)take_offset(file) : 0;
    int error = whence >= 2 ? p9_get(open->fid, &attributes) : 0;

    if (error != 0)
        return error;
    if (whence >= SEEK_DATA) { /* the whole file is data; the only hole is at its end */
        if (offset < 0 || (uint64_t)offset >= attributes.size)
            return -ENXIO;
        return whence == SEEK_DATA ? offset : (int64_t)attributes.size;
    }
    if (whence == 2)
        base = (int64_t)attributes.size;
    if (__builtin_add_overflow(base, offset, &base))
        return -EOVERFLOW;
    return base < 0 ? -EINVAL : base;
}

static int64_t seek(struct file *file, int64_t offset, uint32_t whence)
{
    struct share_open *open = file->state;
    int64_t result;

    if (whence > SEEK_HOLE || (whence >= 2 && open->body == NULL))
        return -EINVAL;
    share_mutex_lock(&open->mutex);
    result = seek_from(file, offset, whence);
    if (result >= 0)
        set_offset(file, (uint64_t)result);
    share_mutex_unlock(&open->mutex);
    return result;
}

static int64_t resize(struct file *file, int64_t size, struct file_answer *answer)
{
    struct share_open *open = file->state;
    struct p9_change change = {.what = P9_SET_SIZE, .size = (uint64_t)size};
    int64_t error;

    if (size < 0 || !may_write(file) || open->body == NULL)
        return -EINVAL;
    share_mutex_lock(&open->body->mutex);
    error = p9_set(open->fid, &change);
    if (error == 0)
        share_body_resize(open->body, (uint64_t)size, answer);
    share_mutex_unlock(&open->body->mutex);
    return error;
}

static int64_t map(struct file *file, bool shared, bool write, uint32_t home)
{
    struct share_open *open = file->state;

    if ((shared && write && (file->flags & OPEN_ACCESS) != 2) || !may_read(file))
        return -EACCES;
    if (open->body == NULL)
        return -ENODEV;
    return shared && write ? -EINVAL : share_body_map(open, home);
}

/* --- directories --- */

static bool is_nameless(struct share_open *open)
{
    bool nameless;

    spin_lock(&open->share->lock);
    nameless = open->nameless;
    spin_unlock(&open->share->lock);
    return nameless;
}

static uint32_t mode_of(uint8_t type)
{
    return (uint32_t)type << 12; /* DT_* are the type bits of st_mode */
}

/* Writes as many entries as fit, and sets *NEXT to the offset where the listing continues. */
static int64_t put_entries(struct p9_reader *from, uint8_t *to, size_t room, uint64_t *next)
{
    struct p9_entry entry;
    size_t done = 0;

    while (p9_get_entry(from, &entry)) {
        if (dirent_write(NULL, entry.name, entry.length, 0, 0, 0) > room - done)
            return done == 0 ? -EINVAL : (int64_t)done;
        done += dirent_write(to + done, entry.name, entry.length, entry.qid.path, mode_of(entry.type), entry.next);
        *next = entry.next;
    }
    return from->failed && done == 0 ? -EIO : (int64_t)done;
}

static int64_t entries(struct file *file, uint8_t *result, size_t room)
{
    struct share_open *open = file->state;
    struct p9_reader from = {.failed = false};
    uint8_t *bytes;
    uint64_t next;
    int64_t count;

    if (open->list == NULL)
        return -ENOTDIR;
    if (is_nameless(open))
        return -ENOENT; /* the directory was removed */
    bytes = heap_alloc_unset(LIST_ROOM);
    if (bytes == NULL)
        return -ENOMEM;
    share_mutex_lock(&open->mutex);
    next = take_offset(file);
    count = p9_read_directory(open->list, next, bytes, LIST_ROOM);
    if (count > 0) {
        from = (struct p9_reader){.at = bytes, .left = (uint32_t)count};
        count = put_entries(&from, result, room, &next);
        set_offset(file, next);
    }
    share_mutex_unlock(&open->mutex);
    heap_free(bytes, LIST_ROOM);
    return count;
}

/* --- any open file --- */

static int64_t give_facts(struct file *file, void *result, size_t room)
{
    struct share_open *open = file->state;
    struct p9_attributes attributes;
    struct file_facts facts;
    int error;

    if (room < sizeof(facts))
        return -EPROTO;
    error = p9_get(open->fid, &attributes);
    if (error != 0)
        return error;
    share_facts(open->share, &attributes, &facts);
    memcpy(result, &facts, sizeof(facts));
    return sizeof(facts);
}

/* Writes the name from ROOT on: an open directory, or 0, the tree's root. -ESRCH: ROOT was closed. */
static int64_t give_path(struct file *file, uint64_t root, char *result, size_t room)
{
    struct share_open *open = file->state;
    char *path = heap_alloc(PATH_MAX);
    int64_t length = -ENOENT;
    struct file *from;
    bool nameless;

    if (path == NULL)
        return -ENOMEM;
    from = root != 0 ? file_find(root) : NULL;
    spin_lock(&open->share->lock);
    nameless = open->nameless;
    memcpy(path, open->path, strlen(open->path) + 1);
    spin_unlock(&open->share->lock);
    if (root != 0 && from == NULL)
        length = -ESRCH;
    else if (!nameless)
        length = share_path(open->share, from != NULL ? file_node(from) : NULL, path, result, room);
    heap_free(path, PATH_MAX);
    if (from != NULL)
        file_unpin(from);
    return length;
}

static int64_t give_space(struct file *file, void *result, size_t room)
{
    struct share_open *open = file->state;
    struct p9_space space;
    struct file_space out;
    int error;

    if (room < sizeof(out))
        return -EPROTO;
    error = p9_statfs(open->fid, &space);
    if (error != 0)
        return error;
    out = (struct file_space){.type = V9FS_MAGIC,
                              .block = space.block,
                              .blocks = space.blocks,
                              .free = space.available,
                              .files = space.files,
                              .files_free = space.files_free};
    memcpy(result, &out, sizeof(out));
    return sizeof(out);
}

static int64_t control(struct file *file, uint32_t command, const void *data, size_t size, void *result, size_t room)
{
    struct share_open *open = file->state;
    struct p9_attributes attributes;
    int64_t rest;
    int32_t number;
    int error;

    if (command != FIONREAD || open->body == NULL)
        return FILE_AS_ANY;
    if (size != FILE_CONTROL_MAX || room < FILE_CONTROL_MAX)
        return -EPROTO;
    error = p9_get(open->fid, &attributes);
    if (error != 0)
        return error;
    rest = (int64_t)(attributes.size - take_offset(file));
    number = rest < 0 ? 0 : (int32_t)rest;
    memcpy(result, data, size);
    memcpy(result, &number, sizeof(number));
    return 0;
}

static int64_t change(struct file *file, const void *data, size_t size)
{
    struct share_open *open = file->state;
    struct node_change asked;

    if (size < sizeof(asked)) /* the user may follow; the server decides what is allowed */
        return -EPROTO;
    memcpy(&asked, data, sizeof(asked));
    return share_change(open->fid, &asked);
}

static int64_t sync(struct file *file)
{
    struct share_open *open = file->state;

    return open->body != NULL ? p9_sync(open->fid) : 0;
}

/* Makes a range that is relative to the end absolute: the node's size may differ from the file's. */
static int from_start(struct share_open *open, struct file_lock *lock)
{
    struct p9_attributes attributes;
    int error;

    if (lock->whence != 2)
        return 0;
    error = p9_get(open->fid, &attributes);
    if (error == 0 && __builtin_add_overflow(lock->start, (int64_t)attributes.size, &lock->start))
        error = -EOVERFLOW;
    lock->whence = 0;
    return error;
}

static int64_t lock(struct file *file, const struct file_request *request, const void *data, size_t size, void *result,
                    size_t room, struct file_answer *answer)
{
    struct share_open *open = file->state;
    struct file_lock lock;
    int64_t error;

    if (open->body == NULL)
        return FILE_AS_ANY;
    if (size != sizeof(lock) || (request->lock == LOCK_TEST && room < sizeof(lock)))
        return -EPROTO;
    memcpy(&lock, data, sizeof(lock));
    error = from_start(open, &lock);
    if (error == 0)
        error = node_lock(file, open->body->node, request->lock, &lock, answer);
    if (room >= sizeof(lock))
        memcpy(result, &lock, sizeof(lock));
    return error;
}

int64_t share_file_act(struct file *file, const struct file_request *request, const void *data, size_t size,
                       void *result, size_t room, struct file_answer *answer)
{
    struct share_open *open = file->state;

    switch (request->operation) {
    case MSG_FILE_READ:
        return read_bytes(file, result, room, -1);
    case MSG_FILE_READ_AT:
        return request->move.offset < 0 ? -EINVAL : read_bytes(file, result, room, request->move.offset);
    case MSG_FILE_WRITE:
        return write_bytes(file, data, size, request->move.flags, -1);
    case MSG_FILE_WRITE_AT:
        return request->move.offset < 0 ? -EINVAL
                                        : write_bytes(file, data, size, request->move.flags, request->move.offset);
    case MSG_FILE_SEEK:
        return seek(file, request->seek.offset, request->seek.whence);
    case MSG_FILE_ENTRIES:
        return entries(file, result, room);
    case MSG_FILE_STAT:
        return give_facts(file, result, room);
    case MSG_FILE_PATH:
        return give_path(file, request->root, result, room);
    case MSG_FILE_SPACE:
        return give_space(file, result, room);
    case MSG_FILE_CONTROL:
        return control(file, request->control.command, data, size, result, room);
    case MSG_FILE_CHANGE:
        return change(file, data, size);
    case MSG_FILE_RESIZE:
        return resize(file, request->space.offset, answer);
    case MSG_FILE_ALLOCATE:
        return !may_write(file) ? -EBADF : open->body == NULL ? -EISDIR : -EOPNOTSUPP;
    case MSG_FILE_ADVISE:
        return open->body == NULL ? FILE_AS_ANY : request->ahead != 0 && !may_read(file) ? -EBADF : 0;
    case MSG_FILE_SYNC:
        return sync(file);
    case MSG_FILE_MAP:
        return map(file, request->map.shared != 0, request->map.writes != 0, request->map.home);
    case MSG_FILE_LOCK:
        return lock(file, request, data, size, result, room, answer);
    default:
        return FILE_AS_ANY;
    }
}
