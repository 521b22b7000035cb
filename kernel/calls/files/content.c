/* System calls on the contents of files: their length, their holes, files without names, and copies from one file to
 * another. */
#include "kernel/abi/errno.h"
#include "kernel/calls/calls.h"
#include "kernel/calls/common/files.h"
#include "kernel/calls/files/count.h"
#include "kernel/calls/files/live.h"
#include "kernel/file/limit.h"
#include "kernel/file/remote.h"
#include "kernel/fs/node/nameless.h"
#include "mm/frame/heap.h"
#include "mm/user/user_copy.h"
#include "msg/slice.h"
#include "tasks/process/group.h"
#include "tasks/thread/thread.h"

#define TRANSFER_MAX 0x7ffff000ull /* bytes of one call, as in Linux */
#define MFD_CLOEXEC 1u
#define MFD_ALLOW_SEALING 2u
#define MEMFD_NAME_MAX 249u
#define ADVICE_LAST 5u
#define ALLOCATE_KEEP_SIZE 1u
#define ALLOCATE_PUNCH 2u
#define ALLOCATE_KNOWN (ALLOCATE_KEEP_SIZE | ALLOCATE_PUNCH)
#define ALLOCATE_PART (4ll << 20) /* bytes */

static int64_t change_file(const struct file_request *request, const void *data, size_t size)
{
    struct file_answer answer;
    bool by_policy = request->operation == MSG_FILE_ALLOCATE && (request->space.mode & ALLOCATE_PUNCH) == 0 &&
                     files_by_policy();
    int64_t result = by_policy ? files_call_by_policy(request, data, size, &answer)
                               : file_call(thread_current()->group, request, data, size, NULL, 0, &answer);

    file_limit_notify(result, &answer);
    files_settle(&answer);
    return result;
}

int64_t call_ftruncate(struct call *c)
{
    struct file_request request = {
        .operation = MSG_FILE_RESIZE, .fd = (int32_t)c->a[0], .space.offset = (int64_t)c->a[1]};

    return request.space.offset < 0 ? -EINVAL : change_file(&request, NULL, 0);
}

/* Allocates in parts, so that no message keeps the file's kernel busy for long. The file's size changes with the last
 * part. */
static int64_t allocate(struct file_request request, int64_t length)
{
    int64_t sizes[2] = {length, length}, result = 0;
    uint32_t mode = request.space.mode;

    while (sizes[1] > 0 && result == 0) {
        sizes[0] = sizes[1] < ALLOCATE_PART ? sizes[1] : ALLOCATE_PART;
        request.space.mode = sizes[0] < sizes[1] ? mode | ALLOCATE_KEEP_SIZE : mode;
        result = change_file(&request, sizes, sizeof(sizes));
        request.space.offset += sizes[0];
        sizes[1] -= sizes[0];
    }
    return result;
}

int64_t call_fallocate(struct call *c)
{
    struct file_request request = {.operation = MSG_FILE_ALLOCATE,
                                   .fd = (int32_t)c->a[0],
                                   .space = {.offset = (int64_t)c->a[2], .mode = (uint32_t)c->a[1]}};
    int64_t length = (int64_t)c->a[3], sizes[2] = {length, length};

    if (request.space.offset < 0 || length <= 0)
        return files_error(request.fd, -EINVAL);
    if ((request.space.mode & ~ALLOCATE_KNOWN) != 0 || request.space.mode == ALLOCATE_PUNCH)
        return files_error(request.fd, -EOPNOTSUPP);
    if ((request.space.mode & ALLOCATE_PUNCH) != 0)
        return change_file(&request, sizes, sizeof(sizes));
    return allocate(request, length);
}

int64_t call_fsync(struct call *c)
{
    return files_do((struct file_request){.operation = MSG_FILE_SYNC, .fd = (int32_t)c->a[0]});
}

int64_t call_fdatasync(struct call *c)
{
    return call_fsync(c);
}

/* Only checks the arguments: files are in memory, so there is nothing to write back. */
int64_t call_sync_file_range(struct call *c)
{
    int64_t offset = (int64_t)c->a[1], count = (int64_t)c->a[2], flags = files_get_flags((int32_t)c->a[0]), end;
    struct file_request request = {.operation = MSG_FILE_STAT, .fd = (int32_t)c->a[0]};
    struct file_facts facts = {0};
    struct file_answer answer;
    uint32_t type;

    if (flags < 0 || (flags & OPEN_PATH) != 0)
        return -EBADF;
    if (((uint32_t)c->a[3] & ~7u) != 0 || offset < 0 || __builtin_add_overflow(offset, count, &end) || end < offset)
        return -EINVAL;
    if (file_call(thread_current()->group, &request, NULL, 0, &facts, sizeof(facts), &answer) < 0)
        return -EBADF;
    type = facts.mode & FILE_TYPE_MASK;
    return type == FILE_REGULAR || type == FILE_BLOCK || type == FILE_DIRECTORY || type == FILE_LINK ? 0 : -ESPIPE;
}

int64_t call_readahead(struct call *c)
{
    return files_do((struct file_request){.operation = MSG_FILE_ADVISE, .fd = (int32_t)c->a[0], .ahead = 1});
}

int64_t call_fadvise64(struct call *c)
{
    int64_t error = files_do((struct file_request){.operation = MSG_FILE_ADVISE, .fd = (int32_t)c->a[0]});

    if (error != 0)
        return error;
    return (int64_t)c->a[2] < 0 || (uint32_t)c->a[3] > ADVICE_LAST ? -EINVAL : 0;
}

int64_t call_memfd_create(struct call *c)
{
    uint32_t flags = (uint32_t)c->a[1];
    char name[MEMFD_NAME_MAX + 1];
    uint64_t id;
    int64_t result;

    if ((flags & ~(MFD_CLOEXEC | MFD_ALLOW_SEALING)) != 0)
        return -EINVAL;
    result = user_read_string(name, c->a[0], sizeof(name));
    if (result < 0)
        return result == -ENAMETOOLONG ? -EINVAL : result;
    result = nameless_create((flags & MFD_ALLOW_SEALING) != 0 ? NAMELESS_SEALS : 0, &id);
    return result != 0 ? result
                       : files_give(MSG_FILE_INSTALL, &(struct file_place){.id = id},
                                    (flags & MFD_CLOEXEC) != 0 ? DESCRIPTOR_CLOEXEC : 0);
}

/* --- from one file to another --- */

/* The source or the destination of a copy. AT is its offset: the one at user ADDRESS, or, if that is 0, the
 * file's own. */
struct end {
    int64_t fd;
    uint64_t address;
    int64_t at;
};

/* Reads the offset of END. -ESPIPE: the file has no offset. */
static int64_t end_begin(struct end *end)
{
    if (end->address == 0) {
        end->at = files_seek(end->fd, 0, 1);
        return end->at < 0 ? end->at : 0;
    }
    if (user_read(&end->at, end->address, sizeof(end->at)) != 0)
        return -EFAULT;
    return end->at < 0 ? -EINVAL : 0;
}

/* Advances the offset of END by DONE bytes and returns DONE, or -EFAULT. */
static int64_t end_finish(const struct end *end, int64_t done)
{
    int64_t at = end->at + done;

    if (end->address != 0)
        return user_write(end->address, &at, sizeof(at)) != 0 ? -EFAULT : done;
    if (done > 0)
        files_seek(end->fd, at, 0);
    return done;
}

/* Writes up to SIZE bytes to FD, at offset AT, or at the file's offset if AT is negative. With WAITS, waits until the
 * file accepts some. */
static int64_t write_part(int64_t fd, const uint8_t *bytes, size_t size, int64_t at, bool waits)
{
    struct file_request request = {
        .operation = at < 0 ? MSG_FILE_WRITE : MSG_FILE_WRITE_AT, .fd = (int32_t)fd, .move.offset = at};
    struct file_answer answer;
    int64_t result;

    do {
        result = files_write(&request, bytes, size, &answer);
        if (live_is(result, &answer))
            return -EINVAL;
        if (result != -EAGAIN || (answer.flags & FILE_MAY_WAIT) == 0 || !waits)
            break;
        result = files_wait(&answer, "room in a file");
    } while (result >= 0);
    return result;
}

/* Copies up to SIZE bytes. If OUT->at is negative, they are written at the file's offset; the file may be a
 * pipe then. */
static int64_t copy(const struct end *in, const struct end *out, uint64_t size)
{
    size_t room = size < FILE_CHUNK ? size : FILE_CHUNK;
    uint8_t *buffer = heap_alloc_unset(room);
    int64_t done = 0, error = 0;

    if (buffer == NULL)
        return -ENOMEM;
    while ((uint64_t)done < size && error == 0) {
        struct file_request request = {
            .operation = MSG_FILE_READ_AT, .fd = (int32_t)in->fd, .move.offset = in->at + done};
        struct file_answer answer;
        size_t part = size - (uint64_t)done < room ? size - (uint64_t)done : room;
        int64_t count = file_call(thread_current()->group, &request, NULL, 0, buffer, part, &answer), written = 0;

        if (count <= 0) {
            error = live_is(count, &answer) ? -EINVAL : count;
            break;
        }
        while (written < count && error == 0) {
            int64_t more = write_part(out->fd, buffer + written, (size_t)(count - written),
                                      out->at < 0 ? -1 : out->at + done, done == 0);

            if (more <= 0)
                error = more != 0 ? more : -EIO;
            else {
                written += more;
                done += more;
            }
            if (slice_check())
                error = -EINTR;
        }
    }
    heap_free(buffer, room);
    if (error == -EPIPE && done == 0)
        files_signal_broken_pipe();
    return done > 0 ? done : error;
}

/* Returns 0 if FD is a regular file, and its open flags in *FLAGS. Otherwise returns ERROR, or -EISDIR for a directory
 * if ERROR is not 0. */
static int64_t check_regular(int64_t fd, int64_t error, int64_t *flags)
{
    struct file_request request = {.operation = MSG_FILE_STAT, .fd = (int32_t)fd};
    struct file_answer answer;
    struct file_facts facts;
    int64_t result;

    *flags = files_get_flags(fd);
    if (*flags < 0 || (*flags & OPEN_PATH) != 0)
        return -EBADF;
    result = file_call(thread_current()->group, &request, NULL, 0, &facts, sizeof(facts), &answer);
    if (result < 0)
        return result;
    if ((facts.mode & FILE_TYPE_MASK) == FILE_REGULAR)
        return 0;
    return (facts.mode & FILE_TYPE_MASK) == FILE_DIRECTORY && error != 0 ? -EISDIR : error;
}

static int64_t send_file(const struct call *c)
{
    struct end out = {.fd = (int32_t)c->a[0], .at = -1}, in = {.fd = (int32_t)c->a[1], .address = c->a[2]};
    uint64_t size = c->a[3] < TRANSFER_MAX ? c->a[3] : TRANSFER_MAX;
    int64_t flags, result = 0;

    if (in.address != 0 && user_read(&in.at, in.address, sizeof(in.at)) != 0)
        return -EFAULT;
    flags = files_get_flags(in.fd);
    if (flags < 0 || (flags & OPEN_PATH) != 0 || (flags & OPEN_ACCESS) == 1)
        return -EBADF;
    if (in.address != 0 && files_seek(in.fd, 0, 1) < 0)
        return -ESPIPE;
    if (in.address != 0 && in.at < 0)
        return -EINVAL;
    flags = files_get_flags(out.fd);
    if (flags < 0 || (flags & OPEN_PATH) != 0 || (flags & OPEN_ACCESS) == 0)
        return -EBADF;
    if ((flags & OPEN_APPEND) != 0 || check_regular(in.fd, -EINVAL, &flags) != 0)
        return -EINVAL;
    result = end_begin(&in);
    if (result != 0 || size == 0)
        return result;
    result = copy(&in, &out, size);
    return result > 0 ? end_finish(&in, result) : result;
}

/* Linux writes the offset back whatever the result is. */
static int64_t write_back(const struct call *c, int64_t result)
{
    int64_t at;

    if (result > 0 || result == -EFAULT || c->a[2] == 0)
        return result;
    return user_read(&at, c->a[2], sizeof(at)) != 0 || user_write(c->a[2], &at, sizeof(at)) != 0 ? -EFAULT : result;
}

static int64_t copy_range(const struct call *c)
{
    struct end in = {.fd = (int32_t)c->a[0], .address = c->a[1]}, out = {.fd = (int32_t)c->a[2], .address = c->a[3]};
    uint64_t size = c->a[4] < TRANSFER_MAX ? c->a[4] : TRANSFER_MAX;
    int64_t in_flags, out_flags, result;

    if (files_get_flags(in.fd) < 0 || files_get_flags(out.fd) < 0)
        return -EBADF;
    result = end_begin(&in);
    if (result == 0)
        result = end_begin(&out);
    if (result == 0 && c->a[5] != 0)
        result = -EINVAL;
    if (result == -ESPIPE)
        result = -EINVAL;
    if (result == 0)
        result = check_regular(in.fd, -EINVAL, &in_flags);
    if (result == 0)
        result = check_regular(out.fd, -EINVAL, &out_flags);
    if (result != 0)
        return result;
    if ((in_flags & OPEN_ACCESS) == 1 || (out_flags & OPEN_ACCESS) == 0 || (out_flags & OPEN_APPEND) != 0)
        return -EBADF;
    if (files_same(in.fd, out.fd) && in.at < out.at + (int64_t)size && out.at < in.at + (int64_t)size)
        return -EINVAL;
    if (size == 0)
        return 0;
    result = copy(&in, &out, size);
    if (result <= 0)
        return result;
    return end_finish(&in, result) < 0 || end_finish(&out, result) < 0 ? -EFAULT : result;
}

/* The accounting counts a copy as a read and a write. */
int64_t call_sendfile(struct call *c)
{
    return count_write(count_read(write_back(c, send_file(c))));
}

int64_t call_copy_file_range(struct call *c)
{
    return count_write(count_read(copy_range(c)));
}
