/* System calls that move data through descriptors. Operations on files never wait (kernel/file/remote.h). The calling
 * thread waits here for the file's events: a read when it has moved nothing yet, a write until all has been written. A
 * signal or a move may end the wait. */
#include "kernel/calls/files/files.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/arch/x86_64/traps.h"
#include "kernel/calls/calls.h"
#include "kernel/calls/common/anonymous.h"
#include "kernel/calls/common/datagram.h"
#include "kernel/calls/common/files.h"
#include "kernel/calls/common/spans.h"
#include "kernel/calls/files/count.h"
#include "kernel/calls/files/live.h"
#include "kernel/calls/files/partly.h"
#include "kernel/file/limit.h"
#include "kernel/file/operation.h"
#include "kernel/ipc/pipe/pipe.h"
#include "kernel/tty/job.h"
#include "kernel/tty/tty.h"
#include "mm/frame/heap.h"
#include "mm/user/user_copy.h"
#include "msg/slice.h"
#include "tasks/process/group.h"
#include "tasks/remote/watch.h"
#include "tasks/thread/thread.h"

#define TRANSFER_MAX 0x7ffff000ull /* bytes of one read or write, as in Linux */
#define ENTRIES_CHUNK 16384u       /* bytes of directory entries: an entry takes longer than its bytes */
#define SMALL 256u                 /* up to so many bytes are copied through a buffer on the stack */
#define NOT_NEAR INT64_MIN         /* of transfer_near */
#define RWF_HIPRI 1u
#define RWF_DSYNC 2u
#define RWF_SYNC 4u
#define RWF_APPEND 16u

/* Copies SIZE bytes, or what has been copied when the program is killed or cannot be written further, to SPANS. Returns
 * how many, or SIZE if it is not positive, or -EFAULT. */
static int64_t give_bytes(struct spans *spans, const uint8_t *from, int64_t size)
{
    int64_t done = 0;

    while (done < size) {
        uint64_t part = size - done < FILE_CHUNK ? (uint64_t)(size - done) : FILE_CHUNK;
        int64_t count = spans_move_some(spans, (uint8_t *)(uintptr_t)from + done, part, true);

        if (count <= 0)
            return done > 0 ? done : count;
        done += count;
        if ((uint64_t)count < part || slice_check())
            return done;
    }
    return size <= 0 ? size : done;
}

/* Reads a file in memory of this kernel without an intermediate copy, up to the first page of the program that cannot
 * be written. Returns false, with nothing done, if FD is not such a file. */
static bool read_near(int64_t fd, struct spans *spans, int64_t at, int64_t *result)
{
    struct file *file = file_near(thread_current()->group, fd);
    bool done = file != NULL && file->kind->seekable && (file->flags & (OPEN_ACCESS | OPEN_PATH)) == 0;
    const struct spans begin = *spans;
    uint64_t offset = (uint64_t)at;
    const void *from = NULL;

    while (done) {
        *spans = begin;
        *result = file_peek(file, spans->total, at, &offset, &from);
        *result = give_bytes(spans, from, *result);
        if (at >= 0 || *result <= 0 || file_advance(file, offset, (uint64_t)*result))
            break; /* otherwise another thread has changed the offset meanwhile: read again */
    }
    if (file != NULL)
        file_unpin(file);
    return done;
}

static int64_t read_loop(int64_t fd, struct spans *spans, int64_t at, uint8_t *buffer, uint64_t size)
{
    struct file_request request = {
        .operation = at < 0 ? MSG_FILE_READ : MSG_FILE_READ_AT, .fd = (int32_t)fd, .move.group = job_group()};
    struct group *group = thread_current()->group;
    struct file_answer answer;
    uint64_t done = 0;
    uint32_t late = 0; /* TTY_LATE */
    int64_t count, given;

    for (;;) {
        uint64_t part = spans->total - done < size ? spans->total - done : size;
        uint64_t good = spans_reach(spans, part); /* checked first: bytes that cannot be stored would be lost */

        request.move.offset = at < 0 ? 0 : at + (int64_t)done;
        request.move.flags = late | (good == part && done == 0 ? FILE_KEEP : 0);
        if (__builtin_expect(good == part, 1))
            count = file_call(group, &request, NULL, 0, buffer, part, &answer);
        else
            count = partly_read(&request, &part, good, buffer, done == 0, &answer);
        if (live_is(count, &answer))
            count = live_memory(fd, &answer, at < 0 ? -1 : request.move.offset, buffer, part, false);
        if (count == -TTY_WHO) {
            count = job_check(&request.move.group, &answer, SIGTTIN);
            if (count == 0)
                continue;
        }
        if (count == -EAGAIN && (answer.flags & FILE_SIGNALS) != 0)
            count = signalfd_take(answer.seen, (answer.flags & FILE_MAY_WAIT) != 0, buffer, part);
        if (count == -EAGAIN && (answer.flags & (FILE_MAY_WAIT | FILE_SIGNALS)) == FILE_MAY_WAIT && done == 0) {
            count = files_wait(&answer, "input of a file");
            if (count == 0) {
                late = 0; /* the time limit begins anew with new bytes */
                continue;
            }
            if (count == 1 && (answer.flags & FILE_TIMED) != 0)
                return -EAGAIN;
            if (count == 1) { /* the time limit of a terminal: read the bytes that it has */
                late = TTY_LATE;
                continue;
            }
            return count;
        }
        if (count < 0)
            return done > 0 ? (int64_t)done : count;
        if ((uint64_t)count > part)
            return -EPROTO;
        given = spans_move_some(spans, buffer, (uint64_t)count, true);
        done += given > 0 ? (uint64_t)given : 0;
        if (given < count)
            return done > 0 ? (int64_t)done : -EFAULT;
        if (done == spans->total || (uint64_t)count < part || (answer.flags & FILE_READ_ON) == 0 || slice_check())
            return (int64_t)done;
    }
}

static bool is_socket(int64_t fd)
{
    struct file_request request = {.operation = MSG_FILE_STAT, .fd = (int32_t)fd};
    struct file_facts facts;
    struct file_answer answer;

    return file_call(thread_current()->group, &request, NULL, 0, &facts, sizeof(facts), &answer) >= 0 &&
           (facts.mode & FILE_TYPE_MASK) == FILE_SOCKET;
}

static int64_t write_loop(int64_t fd, struct spans *spans, int64_t at, uint8_t *buffer, uint64_t size)
{
    struct file_request request = {
        .operation = at < 0 ? MSG_FILE_WRITE : MSG_FILE_WRITE_AT,
        .fd = (int32_t)fd,
        .move = {.flags = (spans->total <= PIPE_WHOLE ? FILE_WHOLE : 0) | spans->extra, .group = job_group()}};
    uint64_t done = 0, begin = 0, end = 0; /* bytes written; the part of the buffer that is not written yet */
    struct file_answer answer;
    int64_t count;

    do {
        if (begin == end) {
            uint64_t part = spans->total - done < size ? spans->total - done : size;

            count = spans_move_some(spans, buffer, part, false);
            if (__builtin_expect((uint64_t)count != part, 0)) {
                count = done > 0 && count <= 0 ? 0
                                               : partly_write(fd, at, buffer, part, count > 0 ? (uint64_t)count : 0);
                if (count <= 0)
                    return done > 0 ? (int64_t)done : count;
                if ((uint64_t)count < part)
                    spans->total = done + (uint64_t)count;
            }
            begin = 0;
            end = (uint64_t)count;
        }
        request.move.offset = at < 0 ? 0 : at + (int64_t)done;
        count = files_write(&request, buffer + begin, end - begin, &answer);
        if (live_is(count, &answer)) {
            count = live_memory(fd, &answer, at < 0 ? -1 : request.move.offset, buffer + begin, end - begin, true);
            if (count == 0) /* the process no longer has that memory, and waiting would not help */
                return (int64_t)done;
        }
        if (count == -TTY_WHO) {
            count = job_check(&request.move.group, &answer, SIGTTOU);
            if (count == 0)
                continue;
        }
        if (count == -EAGAIN && (answer.flags & FILE_MAY_WAIT) != 0) {
            count = files_wait(&answer, "room in a file");
            if (count == 0)
                continue;
            if (count == 1)
                count = -EAGAIN;
        }
        if (count == -EPIPE && (done == 0 || !is_socket(fd))) /* no SIGPIPE after a partial write to a socket */
            files_signal_broken_pipe();
        if (done == 0)
            file_limit_notify(count, &answer);
        if (count < 0)
            return done > 0 ? (int64_t)done : count;
        done += (uint64_t)count;
        begin += (uint64_t)count;
    } while (done < spans->total && !slice_check());
    return (int64_t)done;
}

/* A socket has answered that one request does not carry its next message, or the one that is written. */
static int64_t transfer_message(int64_t fd, struct spans *spans, bool reading)
{
    struct socket_call call = {.operation = SOCKET_SEND};
    int64_t result;

    spans->index = 0;
    spans->offset = 0;
    if (reading)
        return datagram_receive(fd, spans, spans->total);
    result = datagram_send(fd, spans, spans->total, &call, NULL, false);
    if (result == -EPIPE)
        files_signal_broken_pipe();
    return result;
}

static int64_t transfer(int64_t fd, struct spans *spans, int64_t at, bool reading)
{
    uint64_t small[SMALL / 8];
    uint64_t size;
    uint8_t *memory;
    int64_t result;

    for (uint32_t i = 0; i < spans->count; i++) {
        if (!user_range(spans->list[i].address, spans->list[i].size))
            return files_error(fd, -EFAULT);
    }
    if (spans->total > TRANSFER_MAX)
        spans->total = TRANSFER_MAX;
    if (reading && read_near(fd, spans, at, &result))
        return result;
    size = spans->total < FILE_CHUNK ? spans->total : FILE_CHUNK;
    memory = size <= SMALL ? (uint8_t *)small : heap_alloc_unset(size);
    if (memory == NULL)
        return -ENOMEM;
    result = (reading ? read_loop : write_loop)(fd, spans, at, memory, size);
    if (size > SMALL)
        heap_free(memory, size);
    return __builtin_expect(result == -EMSGSIZE, 0) ? transfer_message(fd, spans, reading) : result;
}

/* Returns whether SIZE bytes at ADDRESS, not none and not more than a page, can be written. */
static bool has_room(uint64_t address, uint64_t size)
{
    uint64_t last = address + size - 1;

    return user_probe((uint8_t *)address) == 0 &&
           (address / PAGE_SIZE == last / PAGE_SIZE || user_probe((uint8_t *)last) == 0);
}

/* One try of transfer_near: the kind's result, or NOT_NEAR, with nothing done. */
static inline __attribute__((always_inline)) int64_t move_near(struct file *file, uint64_t address, uint64_t size,
                                                               bool reading)
{
    uint64_t small[SMALL / 8];
    int64_t result;

    if (!reading)
        return user_read(small, address, size) != 0 ? NOT_NEAR : file->kind->write(file, small, size, FILE_WHOLE);
    if (!has_room(address, size)) /* checked first: bytes that cannot be stored would be lost */
        return NOT_NEAR;
    result = file->kind->read(file, small, size);
    if (result > 0 && user_write(address, small, (uint64_t)result) != 0)
        return -EFAULT;
    return result;
}

static inline uint64_t events_seen(const struct file *file)
{
    return __atomic_load_n(&file->events->source.events, __ATOMIC_ACQUIRE);
}

/* Goes on with transfer_near on FILE, which was not ready when it had counted SEEN events. */
static __attribute__((noinline)) int64_t move_waiting(struct file *file, uint64_t address, uint64_t size, bool reading,
                                                      uint64_t seen)
{
    struct wait_reason reason = {.what = reading ? "input of a file" : "room in a file", .kernel = -1, .key = file->id};
    int64_t result = -EAGAIN;

    if (file->kind->poll == NULL || file->kind->timeout != NULL)
        return NOT_NEAR; /* it does not simply wait for the file's next event */
    while (result == -EAGAIN && (file->flags & OPEN_NONBLOCK) == 0) {
        result = watch_wait(&file->events->source, seen, &reason, 0);
        if (result != 0)
            break;
        seen = events_seen(file);
        result = move_near(file, address, size, reading);
    }
    return result;
}

/* Reads from where the file keeps its bytes to the program's memory. */
static __attribute__((noinline)) int64_t move_out(struct file *file, uint64_t address, uint64_t size, int64_t at)
{
    int64_t result = FILE_AS_ANY;

    if (user_reach(address, size) == size) /* then most copies need no fault, which is not allowed under locks */
        result = file->kind->read_out(file, size, at, user_write_mapped, address);
    return result == FILE_AS_ANY ? NOT_NEAR : result;
}

/* A shorter path for a read or write of one span whose descriptor and file are on this kernel: of a file that hands out
 * its bytes, or a small one, for which the file is found once and stays pinned while the thread waits. Returns false if
 * nothing was done, and the usual path has to be taken. */
static inline __attribute__((always_inline)) bool transfer_near(int64_t fd, uint64_t address, uint64_t size, int64_t at,
                                                                bool reading, int64_t *result)
{
    struct file *file = size - 1 < (reading ? FILE_CHUNK : SMALL) ? file_near(thread_current()->group, fd) : NULL;
    uint64_t seen;

    if (file == NULL)
        return false;
    *result = NOT_NEAR;
    if ((file->flags & OPEN_PATH) != 0 || (file->flags & OPEN_ACCESS) == (reading ? 1u : 0u) ||
        !user_range(address, size)) {
        ; /* an error, which the usual path finds */
    } else if (file->kind->whole && at < 0 && (!reading || size <= SMALL)) {
        seen = events_seen(file);
        *result = move_near(file, address, size, reading);
        if (*result == -EAGAIN)
            *result = move_waiting(file, address, size, reading, seen);
    } else if (reading && file->kind->read_out != NULL) {
        *result = move_out(file, address, size, at);
    }
    file_unpin(file);
    return *result >= 0 || (*result != NOT_NEAR && *result != -EPIPE && *result != -FILE_WHO);
}

static __attribute__((noinline)) int64_t transfer_one(const struct call *c, int64_t at, bool reading)
{
    struct span span = {c->a[1], c->a[2]};
    struct spans spans = {.list = &span, .count = 1, .total = span.size};

    return transfer((int32_t)c->a[0], &spans, at, reading);
}

/* Returns the result of a write after DONE bytes, fewer than requested. If a move or a freeze has interrupted it, which
 * the program must not notice, the write is resumed afterwards: without a signal a write to a pipe is never short. */
static int64_t write_on(uint64_t done)
{
    struct thread *thread = thread_current();

    if ((thread->due & THREAD_DUE_SIGNAL) != 0 || (thread->due & THREAD_DUE_INTERRUPTS) == 0)
        return (int64_t)done;
    thread->context.restart_function = RESTART_WRITE;
    thread->context.restart_argument[0] = done;
    return -ERESTART_RESTARTBLOCK;
}

int64_t files_write_again(struct call *c)
{
    uint64_t done = thread_current()->context.restart_argument[0];
    struct span span = {c->a[1] + done, c->a[2] - done};
    struct spans spans = {.list = &span, .count = 1, .total = span.size};
    int64_t more = transfer((int32_t)c->a[0], &spans, -1, false);

    if (more < 0 && more != -ERESTARTSYS)
        return count_write((int64_t)done);
    done += more > 0 ? (uint64_t)more : 0;
    return count_write(done < c->a[2] ? write_on(done) : (int64_t)done);
}

int64_t call_read(struct call *c)
{
    int64_t result;

    if (!transfer_near((int32_t)c->a[0], c->a[1], c->a[2], -1, true, &result))
        result = transfer_one(c, -1, true);
    return count_read(result);
}

int64_t call_write(struct call *c)
{
    int64_t done;

    if (!transfer_near((int32_t)c->a[0], c->a[1], c->a[2], -1, false, &done))
        done = transfer_one(c, -1, false);
    return count_write(done > 0 && (uint64_t)done < c->a[2] ? write_on((uint64_t)done) : done);
}

int64_t call_pread64(struct call *c)
{
    int64_t at = (int64_t)c->a[3], result;

    if (at < 0)
        return -EINVAL;
    if (!transfer_near((int32_t)c->a[0], c->a[1], c->a[2], at, true, &result))
        result = transfer_one(c, at, true);
    return count_read(result);
}

int64_t call_pwrite64(struct call *c)
{
    return (int64_t)c->a[3] < 0 ? -EINVAL : count_write(transfer_one(c, (int64_t)c->a[3], false));
}

static int64_t do_vector(const struct call *c, int64_t at, uint32_t extra, bool reading)
{
    int64_t fd = (int32_t)c->a[0];
    struct spans spans;
    int64_t result;

    if (c->a[2] == 0)
        return files_error(fd, 0);
    result = spans_take(&spans, c->a[1], c->a[2]);
    if (result != 0)
        return result == -ENOMEM ? result : files_error(fd, result);
    spans.extra = extra;
    result = transfer(fd, &spans, at, reading);
    spans_free(&spans);
    return result;
}

static int64_t transfer_vector(const struct call *c, int64_t at, uint32_t extra, bool reading)
{
    int64_t result = do_vector(c, at, extra, reading);

    return reading ? count_read_any(result) : count_write_any(result);
}

int64_t call_readv(struct call *c)
{
    return transfer_vector(c, -1, 0, true);
}

int64_t call_writev(struct call *c)
{
    return transfer_vector(c, -1, 0, false);
}

static int64_t transfer_vector_at(const struct call *c, bool reading)
{
    return (int64_t)c->a[3] < 0 ? -EINVAL : transfer_vector(c, (int64_t)c->a[3], 0, reading);
}

int64_t call_preadv(struct call *c)
{
    return transfer_vector_at(c, true);
}

int64_t call_pwritev(struct call *c)
{
    return transfer_vector_at(c, false);
}

/* Offset -1 stands for the file's own offset. */
static int64_t transfer_vector_flags(const struct call *c, bool reading)
{
    uint32_t flags = (uint32_t)c->a[5];
    int64_t at = (int64_t)c->a[3];

    if (at < -1)
        return -EINVAL;
    if ((flags & ~(RWF_HIPRI | RWF_DSYNC | RWF_SYNC | (reading ? 0 : RWF_APPEND))) != 0)
        return files_error((int32_t)c->a[0], -EOPNOTSUPP);
    return transfer_vector(c, at, (flags & RWF_APPEND) != 0 ? FILE_APPEND : 0, reading);
}

int64_t call_preadv2(struct call *c)
{
    return transfer_vector_flags(c, true);
}

int64_t call_pwritev2(struct call *c)
{
    return transfer_vector_flags(c, false);
}

int64_t call_lseek(struct call *c)
{
    return files_seek((int32_t)c->a[0], (int64_t)c->a[1], (uint32_t)c->a[2]);
}

int64_t call_getdents64(struct call *c)
{
    int64_t fd = (int32_t)c->a[0];
    uint64_t size = (uint32_t)c->a[2] < ENTRIES_CHUNK ? (uint32_t)c->a[2] : ENTRIES_CHUNK;
    struct file_request request = {.operation = MSG_FILE_ENTRIES, .fd = (int32_t)fd};
    struct file_answer answer;
    uint64_t good;
    uint8_t *buffer;
    int64_t result;

    if (!user_range(c->a[1], size))
        return files_error(fd, -EFAULT);
    buffer = heap_alloc(size + 1);
    if (buffer == NULL)
        return -ENOMEM;
    good = size > 0 ? user_reach(c->a[1], size) : 0; /* checked first: entries that cannot be stored would be lost */
    result = file_call(thread_current()->group, &request, NULL, 0, buffer, good, &answer);
    if (live_is(result, &answer))
        result = live_entries(fd, &answer, buffer, good);
    if (result == -EINVAL && good < size) /* there is an entry, and it does not fit */
        result = -EFAULT;
    if (result > 0 && user_write(c->a[1], buffer, (uint64_t)result) != 0)
        result = -EFAULT;
    heap_free(buffer, size + 1);
    return result;
}
