/* Open regular files. See the header, and content.h for the bytes. Reads and writes hold the node's lock, so each is
 * atomic with respect to the others, and an append always goes to the end of the file. */
#include "kernel/fs/node/regular.h"

#include "kernel/abi/errno.h"
#include "kernel/file/anonymous.h"
#include "kernel/file/wire.h"
#include "kernel/fs/node/lock.h"
#include "kernel/fs/node/map.h"
#include "kernel/fs/node/notify.h"
#include "kernel/fs/node/policy.h"
#include "kernel/lib/string.h"
#include "mm/frame/frame.h"
#include "mm/mempolicy/mempolicy.h"

#define FIONREAD 0x541bu
#define SEEK_DATA 3u
#define SEEK_HOLE 4u
#define SEEK_LAST SEEK_HOLE
#define KEEP_SIZE 1u /* mode of fallocate: do not change the length */
#define PUNCH_HOLE 2u
#define DAY 86400000000000ull /* ns */

static struct node *node_of(const struct file *file)
{
    return file->state;
}

static bool may_write(const struct file *file)
{
    return (file->flags & OPEN_ACCESS) != 0;
}

static bool may_read(const struct file *file)
{
    return (file->flags & OPEN_ACCESS) != 1;
}

void node_accessed_locked(struct node *node)
{
    uint64_t now;

    if (node->atime > node->mtime && node->atime > node->ctime && node_now() - node->atime < DAY)
        return;
    now = node_now();
    node->atime = now;
}

/* AT negative: reads at the file's offset, and advances it. */
static int64_t read_bytes(struct file *file, void *result, size_t size, int64_t at)
{
    struct node *node = node_of(file);
    int64_t count;

    if (!may_read(file))
        return -EBADF;
    if (at < 0)
        spin_lock(&file->lock);
    spin_lock(&node->lock);
    count = content_read(&node->content, at < 0 ? file->offset : (uint64_t)at, result, size);
    node_accessed_locked(node);
    spin_unlock(&node->lock);
    if (at < 0) {
        file->offset += count > 0 ? (uint64_t)count : 0;
        spin_unlock(&file->lock);
    }
    return count;
}

static int64_t read_out(struct file *file, size_t size, int64_t at, file_put put, uint64_t to)
{
    struct node *node = node_of(file);
    int64_t count;

    if (at < 0)
        spin_lock(&file->lock);
    spin_lock(&node->lock);
    count = content_read_out(&node->content, at < 0 ? file->offset : (uint64_t)at, size, put, to);
    if (count >= 0)
        node_accessed_locked(node);
    spin_unlock(&node->lock);
    if (at < 0) {
        file->offset += count > 0 ? (uint64_t)count : 0;
        spin_unlock(&file->lock);
    }
    if (count > 0)
        inotify_node(node, WATCH_ACCESS);
    return count < 0 ? FILE_AS_ANY : count;
}

/* Bytes that a call is about to write. */
struct span {
    uint64_t at;
    size_t size;
};

/* Before a write of SPAN: has a policy place the pages that it makes; SPAN may become shorter. Not 0: nothing is to be
 * written. */
static __attribute__((noinline)) int64_t place_locked(struct node *node, struct span *span, uint32_t extra, int refused)
{
    uint64_t end = span->at + span->size, placed;
    int64_t error;

    if ((extra & FILE_BY_POLICY) != 0) {
        placed = node_frames_end_locked(node, span->at, end);
        if (placed < end && ((extra & FILE_AS_PLACED) == 0 || placed == span->at))
            return -FILE_PLACES;
        span->size = placed - span->at;
        return 0;
    }
    error = node_policy_write_locked(node, span->at, &end, NULL, mempolicy_own_node(), refused);
    span->size = end - span->at;
    return error;
}

/* The same for all of it, or an error, after which a part may have been placed. OTHER: the policy of the caller's
 * thread, on node CENTRE. */
static int64_t place_all_locked(struct node *node, const struct span *span, const struct policy *other, uint32_t centre,
                                int refused)
{
    uint64_t behind = span->at + span->size;
    int64_t error = 0;

    for (uint64_t at = span->at, end; error == 0 && at < behind; at = end) {
        end = behind;
        error = node_policy_write_locked(node, at, &end, other, centre, refused);
    }
    return error;
}

/* The answer to a call that would write SPAN, after VALUE. */
static int64_t answer_for(int64_t value, const struct span *span, struct file_answer *answer)
{
    bool wanted = value == -EXDEV || value == -FILE_PLACES;

    if (wanted || value == -EAGAIN) {
        answer->id = wanted ? span->at : 0;
        answer->seen = wanted ? span->at + span->size : 0;
    }
    return value == -ENOMEM ? -ENOSPC : value == -EAGAIN || value == -EXDEV ? FILE_MOVES : value;
}

/* SPAN becomes what was written, or would be. EXTRA: FILE_APPEND, FILE_BY_POLICY, FILE_AS_PLACED. */
static int64_t write_locked(struct node *node, const void *data, struct span *span, uint32_t extra, int refused)
{
    int64_t count;

    if ((extra & FILE_APPEND) != 0)
        span->at = node->content.size;
    if ((node->seals & (SEAL_WRITE | SEAL_FUTURE_WRITE)) != 0)
        return -EPERM;
    if ((node->seals & SEAL_GROW) != 0 && span->at + span->size > node->content.size) {
        if (span->at >= node->content.size)
            return -EPERM;
        span->size = node->content.size - span->at;
    }
    if (__builtin_expect((extra & FILE_BY_POLICY) != 0 || node->policies != NULL, 0) &&
        (count = place_locked(node, span, extra, refused)) != 0)
        return count;
    count = content_write(&node->content, span->at, data, span->size);
    if (count > 0)
        node_changed_locked(node);
    return count;
}

/* AT negative: writes at the file's offset, and advances it. */
static int64_t write_bytes(struct file *file, const struct file_request *request, const void *data, size_t size,
                           int64_t at, struct file_answer *answer)
{
    uint32_t extra = request->move.flags | ((file->flags & OPEN_APPEND) != 0 ? FILE_APPEND : 0);
    struct node *node = node_of(file);
    struct span span;
    int64_t count = -ENOMEM;

    if (!may_write(file))
        return -EBADF;
    if (size == 0)
        return 0;
    if (at < 0)
        spin_lock(&file->lock);
    for (int turn = 0; turn < 2 && count == -ENOMEM; turn++) {
        if (turn != 0 && !node_drop_idle())
            break;
        span = (struct span){at < 0 ? file->offset : (uint64_t)at, size};
        spin_lock(&node->lock);
        count = write_locked(node, data, &span, extra, -(int)request->refused);
        spin_unlock(&node->lock);
    }
    if (at < 0) {
        if (count > 0)
            file->offset = span.at + (uint64_t)count;
        spin_unlock(&file->lock);
    }
    return __builtin_expect(count > 0, 1) ? count : answer_for(count, &span, answer);
}

/* FILE_OPERATE with SPECIAL_NEW_PAGES: see kernel/file/wire.h. */
static int64_t operate(struct file *file, const struct file_request *request, const void *data, size_t size,
                       void *result, size_t room, struct file_answer *answer)
{
    struct node *node = node_of(file);
    struct file_new_pages wanted;
    int64_t error = 0;
    struct span span;

    (void)result;
    (void)room;
    if (request->special.what != SPECIAL_NEW_PAGES)
        return -EINVAL;
    if (size != sizeof(wanted))
        return -EPROTO;
    memcpy(&wanted, data, sizeof(wanted));
    if (wanted.size > FILE_NEW_PAGES_MAX || wanted.at > CONTENT_MAX - wanted.size || wanted.centre >= NODES_MAX ||
        !mempolicy_is_valid(&wanted.policy))
        return -EPROTO;
    if (!may_write(file))
        return -EBADF;
    span = (struct span){wanted.at, wanted.size};
    spin_lock(&node->lock);
    if ((node->seals & (SEAL_WRITE | SEAL_FUTURE_WRITE)) == 0)
        error = place_all_locked(node, &span, &wanted.policy, wanted.centre, -(int)request->refused);
    spin_unlock(&node->lock);
    return answer_for(error, &span, answer);
}

static int64_t seek_locked(const struct file *file, const struct node *node, int64_t offset, uint32_t whence)
{
    int64_t base;

    if (whence >= SEEK_DATA) {
        if (offset < 0)
            return -ENXIO;
        return whence == SEEK_DATA ? content_seek_data(&node->content, (uint64_t)offset)
                                   : content_seek_hole(&node->content, (uint64_t)offset);
    }
    base = whence == 0 ? 0 : whence == 1 ? (int64_t)file->offset : (int64_t)node->content.size;
    if (__builtin_add_overflow(base, offset, &base))
        return -EOVERFLOW;
    return base < 0 ? -EINVAL : base;
}

static int64_t seek(struct file *file, int64_t offset, uint32_t whence)
{
    struct node *node = node_of(file);
    int64_t result;

    if (whence > SEEK_LAST)
        return -EINVAL;
    spin_lock(&file->lock);
    spin_lock(&node->lock);
    result = seek_locked(file, node, offset, whence);
    spin_unlock(&node->lock);
    if (result >= 0)
        file->offset = (uint64_t)result;
    spin_unlock(&file->lock);
    return result;
}

/* Sets the length. If programs map pages that the file loses, a revocation is under way on return, and *ANSWER says how
 * to wait for its end. */
static int64_t resize(struct file *file, int64_t size, struct file_answer *answer)
{
    if (size < 0 || !may_write(file))
        return -EINVAL;
    size = node_resize(node_of(file), (uint64_t)size, answer);
    return size == -EAGAIN ? FILE_MOVES : size;
}

/* Returns true if there are BYTES of free memory now. */
static bool has_room(uint64_t bytes)
{
    struct frame_stats stats;

    frame_stats(&stats);
    return bytes / PAGE_SIZE <= stats.free;
}

/* Does REQUEST, one step of fallocate. ALL: bytes that this step and those that follow are to cover. */
static int64_t allocate(struct file *file, const struct file_request *request, int64_t length, int64_t all,
                        struct file_answer *answer)
{
    struct node *node = node_of(file);
    int64_t offset = request->space.offset;
    struct span span = {(uint64_t)offset, (uint64_t)length};
    uint64_t end = (uint64_t)offset + (uint64_t)length;
    uint32_t mode = request->space.mode;
    struct page_tree none = {0};
    int64_t error = -ENOMEM;

    if (!may_write(file))
        return -EBADF;
    if (end > CONTENT_MAX || (uint64_t)offset + (uint64_t)all > CONTENT_MAX)
        return -EFBIG;
    if ((mode & PUNCH_HOLE) == 0 && !has_room((uint64_t)all))
        return -ENOSPC; /* ignores that some pages may have frames already */
    if ((mode & PUNCH_HOLE) != 0)
        error = node_punch(node, (uint64_t)offset, end, answer);
    for (int turn = 0; turn < 2 && error == -ENOMEM && (mode & PUNCH_HOLE) == 0; turn++) {
        if (turn != 0 && !node_drop_idle())
            break;
        spin_lock(&node->lock);
        if ((node->seals & SEAL_GROW) != 0 && end > node->content.size)
            error = -EPERM;
        else if ((mode & FILE_ALLOCATE_BY_POLICY) != 0 && node_frames_end_locked(node, span.at, end) < end)
            error = -FILE_PLACES;
        else
            error = place_all_locked(node, &span, NULL, mempolicy_own_node(), -(int)request->refused);
        if (error == 0)
            error = content_fill(&node->content, (uint64_t)offset, end);
        if (error == 0 && (mode & KEEP_SIZE) == 0 && end > node->content.size)
            error = content_resize(&node->content, end, &none); /* the file grows, so nothing is cut */
        if (error == 0)
            node_changed_locked(node);
        spin_unlock(&node->lock);
    }
    return answer_for(error, &span, answer);
}

static int64_t facts(struct file *file, void *result, size_t room)
{
    struct file_facts facts;

    if (room < sizeof(facts))
        return -EPROTO;
    node_facts(node_of(file), &facts);
    memcpy(result, &facts, sizeof(facts));
    return sizeof(facts);
}

static int64_t control(struct file *file, uint32_t command, const void *data, size_t size, void *result, size_t room)
{
    struct node *node = node_of(file);
    int64_t rest;
    int32_t number;

    if (command != FIONREAD)
        return FILE_AS_ANY;
    if (size != FILE_CONTROL_MAX || room < FILE_CONTROL_MAX)
        return -EPROTO;
    spin_lock(&file->lock);
    rest = (int64_t)(node->content.size - file->offset);
    spin_unlock(&file->lock);
    number = rest < 0 ? 0 : (int32_t)rest;
    memcpy(result, data, size);
    memcpy(result, &number, sizeof(number));
    return 0;
}

static int64_t change_seals(struct file *file, bool add, uint32_t seals)
{
    struct node *node = node_of(file);
    int64_t error = 0;

    spin_lock(&node->lock);
    if (!add)
        error = node->seals;
    else if (!may_write(file) || (node->seals & SEAL_SEAL) != 0)
        error = -EPERM;
    else if ((seals & ~SEAL_ALL) != 0)
        error = -EINVAL;
    else if ((seals & SEAL_WRITE & ~node->seals) != 0 && node_maps_written_locked(node))
        error = -EBUSY;
    else
        node->seals |= seals;
    spin_unlock(&node->lock);
    return error;
}

/* Grants the file to HOME for mmap, and says in ANSWER whether the mapping may write. The order of the checks is
 * Linux's. */
static int64_t map(struct file *file, bool shared, bool write, uint32_t home, struct file_answer *answer)
{
    struct node *node = node_of(file);
    bool writes = shared && (file->flags & OPEN_ACCESS) == 2;
    int error;

    if ((shared && write && !writes) || !may_read(file))
        return -EACCES;
    if ((node->seals & (SEAL_WRITE | SEAL_FUTURE_WRITE)) != 0 && shared) {
        if (write)
            return -EPERM;
        writes = false;
    }
    error = home < KERNELS_MAX ? node_maps_grant(node, home, writes) : -EPROTO;
    if (error == 0) {
        spin_lock(&node->lock);
        node_accessed_locked(node); /* once for the mapping, as on Linux */
        spin_unlock(&node->lock);
    }
    if (writes)
        answer->flags |= FILE_MAP_WRITES;
    return error != 0 ? error : (int64_t)node->number;
}

static int64_t lock(struct file *file, const struct file_request *request, const void *data, size_t size, void *result,
                    size_t room, struct file_answer *answer)
{
    struct file_lock lock;
    int64_t error;

    if (size != sizeof(lock) || (request->lock == LOCK_TEST && room < sizeof(lock)))
        return -EPROTO;
    memcpy(&lock, data, sizeof(lock));
    error = node_lock(file, node_of(file), request->lock, &lock, answer);
    if (room >= sizeof(lock))
        memcpy(result, &lock, sizeof(lock));
    return error;
}

static int64_t act_on(struct file *file, const struct file_request *request, const void *data, size_t size,
                      void *result, size_t room, struct file_answer *answer)
{
    int64_t sizes[2];

    switch (request->operation) {
    case MSG_FILE_READ:
        return read_bytes(file, result, room, -1);
    case MSG_FILE_READ_AT:
        return request->move.offset < 0 ? -EINVAL : read_bytes(file, result, room, request->move.offset);
    case MSG_FILE_WRITE:
        return write_bytes(file, request, data, size, -1, answer);
    case MSG_FILE_WRITE_AT:
        return request->move.offset < 0 ? -EINVAL
                                        : write_bytes(file, request, data, size, request->move.offset, answer);
    case MSG_FILE_SEEK:
        return seek(file, request->seek.offset, request->seek.whence);
    case MSG_FILE_STAT:
        return facts(file, result, room);
    case MSG_FILE_CONTROL:
        return control(file, request->control.command, data, size, result, room);
    case MSG_FILE_RESIZE:
        return resize(file, request->space.offset, answer);
    case MSG_FILE_ALLOCATE:
        if (size != sizeof(sizes))
            return -EPROTO;
        memcpy(sizes, data, sizeof(sizes));
        return request->space.offset < 0 || sizes[0] <= 0 || sizes[1] < sizes[0]
                   ? -EINVAL
                   : allocate(file, request, sizes[0], sizes[1], answer);
    case MSG_FILE_ADVISE:
        return request->ahead != 0 && !may_read(file) ? -EBADF : 0;
    case MSG_FILE_SYNC:
        return 0; /* the file is only in memory */
    case MSG_FILE_MAP:
        return map(file, request->map.shared != 0, request->map.writes != 0, request->map.home, answer);
    case MSG_FILE_LOCK:
        return lock(file, request, data, size, result, room, answer);
    case MSG_FILE_SEALS:
        return change_seals(file, request->seals.adds != 0, request->seals.seals);
    default:
        return FILE_AS_ANY;
    }
}

/* Notifies watches after the operation. */
static int64_t act(struct file *file, const struct file_request *request, const void *data, size_t size, void *result,
                   size_t room, struct file_answer *answer)
{
    int64_t value = act_on(file, request, data, size, result, room, answer);

    if (__builtin_expect(inotify_watches == 0, 1))
        return value;
    if ((request->operation == MSG_FILE_READ || request->operation == MSG_FILE_READ_AT) && value > 0)
        inotify_node(node_of(file), WATCH_ACCESS);
    else if ((request->operation == MSG_FILE_WRITE || request->operation == MSG_FILE_WRITE_AT) && value > 0)
        inotify_node(node_of(file), WATCH_MODIFY);
    else if ((request->operation == MSG_FILE_RESIZE || request->operation == MSG_FILE_ALLOCATE) && value == 0)
        inotify_node(node_of(file), WATCH_MODIFY);
    return value;
}

static void forget(struct file *file)
{
    node_put(node_of(file));
}

/* A file with FLAGS keeps its node from being executed. Access mode 3 is neither reading nor writing. */
static bool is_writer(uint32_t flags)
{
    uint32_t access = flags & OPEN_ACCESS;

    return (access == 1 || access == 2) && (flags & (OPEN_RUN | OPEN_UNCOUNTED)) == 0;
}

/* Counts an open file with FLAGS. */
static int count_in(struct node *node, uint32_t flags)
{
    bool run = (flags & OPEN_RUN) != 0, busy;

    spin_lock(&node->lock);
    busy = run ? node->writers != 0 : node->runs != 0 && (is_writer(flags) || (flags & OPEN_TRUNCATE) != 0);
    if (!busy) {
        node->runs += run ? 1 : 0;
        node->writers += is_writer(flags) ? 1 : 0;
    }
    spin_unlock(&node->lock);
    return busy ? -ETXTBSY : 0;
}

static void count_out(struct node *node, uint32_t flags)
{
    spin_lock(&node->lock);
    node->runs -= (flags & OPEN_RUN) != 0 ? 1 : 0;
    node->writers -= is_writer(flags) ? 1 : 0;
    spin_unlock(&node->lock);
}

static void release(struct file *file)
{
    count_out(node_of(file), file->flags);
    if ((file->flags & (OPEN_PATH | OPEN_QUIET)) == 0)
        inotify_node(node_of(file), may_write(file) ? WATCH_CLOSE_WRITE : WATCH_CLOSE_NOWRITE);
    node_lock_release(file, node_of(file));
}

static int await_moves(struct file *file, const struct file_request *request, const void *data,
                       const struct file_answer *answer)
{
    struct node *node = node_of(file);
    struct file_new_pages wanted;

    node_await_moves(node);
    if (answer->id >= answer->seen)
        return 0;
    if (request->operation != MSG_FILE_OPERATE)
        return node_policy_await(node, answer->id, answer->seen, NULL, mempolicy_own_node());
    memcpy(&wanted, data, sizeof(wanted)); /* which `operate` has checked */
    return node_policy_await(node, answer->id, answer->seen, &wanted.policy, wanted.centre);
}

static const struct file_kind regular_kind = {.act = act,
                                              .read_out = read_out,
                                              .operate = operate,
                                              .release = release,
                                              .forget = forget,
                                              .await_moves = await_moves,
                                              .of_node = true,
                                              .locks = true};

int regular_open(struct node *node, uint32_t flags, struct file **out)
{
    struct file_facts facts = {.inode = node->number, .mode = node->mode};
    int error = count_in(node, flags);

    if (error != 0)
        return error;
    node_hold(node);
    *out = file_create(&regular_kind, &facts, flags, node, &node->events);
    if (*out != NULL)
        return 0;
    count_out(node, flags);
    node_put(node);
    return -ENOMEM;
}
