/* splice(2), tee(2), vmsplice(2): moving bytes between pipes and other files. Each step is one operation on a file,
 * which never waits. An end of a pipe is held (kernel/ipc/pipe/hold.h) from the operation that returns its bytes, or
 * reserves room, to the operation that reports how many bytes were moved. Nothing is held while the thread waits.
 * kernel/ipc/pipe/splice.md has the protocol.
 *
 * The file has over 500 lines because the three calls share the moves in both directions. */
#include "kernel/abi/errno.h"
#include "kernel/abi/signal.h"
#include "kernel/calls/calls.h"
#include "kernel/calls/common/files.h"
#include "kernel/calls/common/spans.h"
#include "kernel/calls/files/live.h"
#include "kernel/file/anonymous.h"
#include "kernel/file/limit.h"
#include "kernel/file/remote.h"
#include "kernel/tty/job.h"
#include "kernel/tty/tty.h"
#include "mm/frame/heap.h"
#include "mm/user/user_copy.h"
#include "msg/channel.h"
#include "tasks/process/group.h"
#include "tasks/sched/sched.h"
#include "tasks/thread/thread.h"

#define TRANSFER_MAX 0x7ffff000ull /* bytes of one call, as in Linux */
#define SPLICE_MOVE 1u
#define SPLICE_NONBLOCK 2u
#define SPLICE_MORE 4u
#define SPLICE_GIFT 8u
#define SPLICE_ALL (SPLICE_MOVE | SPLICE_NONBLOCK | SPLICE_MORE | SPLICE_GIFT)
#define DEVICE_NULL 0x103u
#define DEVICE_ZERO 0x105u
#define DEVICE_FULL 0x107u

/* One of two files. */
struct side {
    int64_t fd;
    int64_t flags; /* as F_GETFL returns them */
    struct file_facts facts;
    bool pipe;
    uint64_t address; /* user address of an offset, or 0 */
    int64_t at;       /* the offset that was read there, or -1 */
};

/* One call. */
struct moving {
    struct side in, out;
    uint64_t size;
    uint64_t asked; /* SIZE before it was limited to TRANSFER_MAX */
    bool nonblock;  /* the call must not wait for pipes */
    bool copies;    /* tee: the bytes stay in the pipe */
    uint8_t *buffer;
    size_t room; /* bytes of BUFFER */
    uint64_t done;
};

/* --- the ends of a pipe --- */

/* Performs WHAT on the pipe FD. ANSWER has the place of the file, for pipe_let_go, or the event to wait for after
 * -EAGAIN. */
static int64_t pipe_call(int64_t fd, enum file_special what, uint64_t count, void *result, size_t room,
                         struct file_answer *answer)
{
    struct file_request request = {
        .operation = MSG_FILE_OPERATE, .fd = (int32_t)fd, .special = {.what = what, .argument = count}};
    int64_t value;

    do
        value = file_call(thread_current()->group, &request, NULL, 0, result, room, answer);
    while (value == -ESRCH); /* the file was closed meanwhile: the home knows what FD refers to now */
    return value;
}

/* Ends the hold of the pipe at ANSWER. If BYTES is NULL, COUNT of the held bytes have been taken; otherwise COUNT bytes
 * at BYTES are put into the reserved room. */
static void pipe_let_go(const struct file_answer *answer, enum file_special what, uint64_t count, const void *bytes)
{
    struct file_request request = {
        .operation = MSG_FILE_OPERATE, .fd = -1, .special = {.what = what, .argument = bytes == NULL ? count : 0}};
    const struct file_place place = {.id = answer->id, .kernel = answer->kernel};
    struct file_answer end;

    /* a failure would lose the bytes */
    file_call_surely(&place, &request, bytes, bytes != NULL ? count : 0, NULL, 0, &end);
}

/* Waits for the pipe that returned ANSWER with -EAGAIN. Returns 0 when the caller is to retry, or the call's error. */
static int64_t pipe_wait(const struct moving *m, const struct file_answer *answer, const char *why)
{
    if (m->nonblock)
        return -EAGAIN;
    return files_wait(answer, why);
}

/* Reserves up to SIZE bytes of room in the pipe FD and returns how many. */
static int64_t hold_room(int64_t fd, uint64_t size, struct file_answer *answer)
{
    uint64_t room = 0;
    int64_t value = pipe_call(fd, SPECIAL_PIPE_ROOM, size, &room, sizeof(room), answer);

    return value < 0 ? value : (int64_t)room;
}

/* --- from a pipe --- */

/* Writes COUNT bytes to OUT and returns as file_call does. The caller waits if necessary. */
static int64_t write_some(struct moving *m, struct file_request *request, size_t count, struct file_answer *answer)
{
    int64_t value;

    request->move.offset = m->out.at < 0 ? 0 : m->out.at + (int64_t)m->done;
    value = files_write(request, m->buffer, count, answer);
    if (live_is(value, answer))
        return -EINVAL;
    if (value == -EPIPE)
        files_signal_broken_pipe();
    if (m->done == 0)
        file_limit_notify(value, answer);
    return value;
}

/* Handles the result VALUE and ANSWER of a write by which OUT has accepted nothing. Returns 0 when the caller is to
 * retry, or the call's error. */
static int64_t after_write(const struct moving *m, struct file_request *request, const struct file_answer *answer,
                           int64_t value)
{
    if (value == -TTY_WHO)
        return job_check(&request->move.group, answer, SIGTTOU);
    if (live_is(value, answer))
        return -EINVAL;
    if (value != -EAGAIN)
        return value;
    if (m->out.pipe)
        return m->done > 0 ? -EAGAIN : pipe_wait(m, answer, "room in a pipe");
    if ((answer->flags & FILE_MAY_WAIT) == 0)
        return -EAGAIN;
    value = files_wait(answer, "room in a file");
    return value == 1 ? -EAGAIN : value;
}

/* The result at the end of IN, an empty pipe without writers. If OUT is a pipe, too, it must have a reader and room
 * even so. */
static int64_t at_end(const struct moving *m, struct file_answer *answer)
{
    int64_t value;

    if (!m->out.pipe || m->done > 0)
        return 0;
    while ((value = hold_room(m->out.fd, 1, answer)) == -EAGAIN) {
        value = pipe_wait(m, answer, "room in a pipe");
        if (value != 0)
            return value;
    }
    if (value > 0) {
        pipe_let_go(answer, SPECIAL_PIPE_PUT, 0, m->buffer);
        return 0;
    }
    if (value == -EPIPE)
        files_signal_broken_pipe();
    return value;
}

/* Moves bytes once from IN, a pipe, to OUT. Returns how many, or 0 at the end; *AGAIN: nothing was moved, and the
 * caller is to retry. */
static int64_t turn_out(struct moving *m, struct file_request *request, bool *again)
{
    uint64_t left = m->size - m->done;
    struct file_answer from, to;
    int64_t count, written;

    *again = false;
    count = pipe_call(m->in.fd, m->copies ? SPECIAL_PIPE_LOOK : SPECIAL_PIPE_TAKE, left < m->room ? left : m->room,
                      m->buffer, m->room, &from);
    if (count == -EAGAIN) {
        count = m->done > 0 ? -EAGAIN : pipe_wait(m, &from, "input of a pipe");
        *again = count == 0;
        return count;
    }
    if (count == 0) {
        return at_end(m, &to);
    }
    if (count < 0)
        return count;
    written = write_some(m, request, (size_t)count, &to);
    if (!m->copies)
        pipe_let_go(&from, SPECIAL_PIPE_TAKEN, written > 0 ? (uint64_t)written : 0, NULL);
    if (written > 0)
        return written;
    written = written == 0 ? -EIO : after_write(m, request, &to, written);
    *again = written == 0;
    return written;
}

static int64_t move_out(struct moving *m)
{
    struct file_request request = {.operation = m->out.at < 0 ? MSG_FILE_WRITE : MSG_FILE_WRITE_AT,
                                   .fd = (int32_t)m->out.fd,
                                   .move = {.flags = FILE_STREAM, .group = job_group()}};
    int64_t count = 0;
    bool again;

    while (m->done < m->size) {
        if (files_interrupted()) {
            count = -ERESTARTSYS;
            break;
        }
        count = turn_out(m, &request, &again);
        if (again)
            continue;
        if (count <= 0)
            break;
        m->done += (uint64_t)count;
        if (m->copies) /* the pipe still begins with the same bytes */
            break;
    }
    return m->done > 0 ? (int64_t)m->done : count;
}

/* --- into a pipe --- */

/* Handles the error VALUE and ANSWER of a read of IN. Returns 0 when the caller is to retry, or the call's error. */
static int64_t after_read(const struct moving *m, struct file_request *request, const struct file_answer *answer,
                          int64_t value)
{
    bool socket = (m->in.facts.mode & FILE_TYPE_MASK) == FILE_SOCKET;

    if (value == -TTY_WHO)
        return job_check(&request->move.group, answer, SIGTTIN);
    if (live_is(value, answer))
        return -EINVAL;
    if (value != -EAGAIN)
        return value;
    if (m->done > 0 || (answer->flags & FILE_MAY_WAIT) == 0 || (socket && m->nonblock))
        return -EAGAIN;
    value = files_wait(answer, "input of a file");
    if (value == 1 && (answer->flags & FILE_TIMED) != 0)
        return -EAGAIN;
    request->move.flags = value == 1 ? TTY_LATE : 0;
    return value == 1 ? 0 : value;
}

/* Moves bytes once from IN to OUT, a pipe. *AGAIN as in turn_out; *LAST: IN may have no more bytes now. */
static int64_t turn_in(struct moving *m, struct file_request *request, bool *again, bool *last)
{
    uint64_t left = m->size - m->done;
    struct file_answer from, to;
    int64_t room, count;

    *again = false;
    room = hold_room(m->out.fd, left < m->room ? left : m->room, &to);
    if (room == -EAGAIN) {
        room = m->done > 0 ? -EAGAIN : pipe_wait(m, &to, "room in a pipe");
        *again = room == 0;
    }
    if (room == -EPIPE)
        files_signal_broken_pipe();
    if (room <= 0)
        return room;
    request->move.offset = m->in.at < 0 ? 0 : m->in.at + (int64_t)m->done;
    count = file_call(thread_current()->group, request, NULL, 0, m->buffer, (size_t)room, &from);
    pipe_let_go(&to, SPECIAL_PIPE_PUT, count > 0 ? (uint64_t)count : 0, m->buffer);
    *last = count < room || (from.flags & FILE_READ_ON) == 0;
    if (live_is(count, &from))
        return -EINVAL;
    if (count < 0) {
        count = after_read(m, request, &from, count);
        *again = count == 0;
    }
    return count;
}

static int64_t move_in(struct moving *m)
{
    struct file_request request = {.operation = m->in.at < 0 ? MSG_FILE_READ : MSG_FILE_READ_AT,
                                   .fd = (int32_t)m->in.fd,
                                   .move.group = job_group()};
    bool again, last = false;
    int64_t count = 0;

    while (m->done < m->size && !last) {
        if (m->done > 0 && files_interrupted())
            break;
        count = turn_in(m, &request, &again, &last);
        if (again) {
            last = false;
            continue;
        }
        if (count <= 0)
            break;
        m->done += (uint64_t)count;
    }
    return m->done > 0 ? (int64_t)m->done : count;
}

/* --- the calls --- */

static int64_t side_find(struct side *side, int64_t fd)
{
    struct file_request request = {.operation = MSG_FILE_STAT, .fd = (int32_t)fd};
    struct file_answer answer;
    int64_t result;

    *side = (struct side){.fd = fd, .at = -1};
    side->flags = files_get_flags(fd);
    if (side->flags < 0 || (side->flags & OPEN_PATH) != 0)
        return -EBADF;
    result = file_call(thread_current()->group, &request, NULL, 0, &side->facts, sizeof(side->facts), &answer);
    side->pipe = (side->facts.mode & FILE_TYPE_MASK) == FILE_FIFO;
    return result < 0 ? result : 0;
}

static int64_t sides_find(struct moving *m, uint64_t in, uint64_t out)
{
    int64_t error = side_find(&m->in, (int32_t)in);

    return error != 0 ? error : side_find(&m->out, (int32_t)out);
}

static bool same_pipe(const struct moving *m)
{
    return m->in.facts.inode == m->out.facts.inode && m->in.facts.device == m->out.facts.device;
}

static bool opened_right(const struct moving *m)
{
    return (m->in.flags & OPEN_ACCESS) != 1 && (m->out.flags & OPEN_ACCESS) != 0;
}

/* Returns whether splice accepts a file of this type. Files without a type (eventfd) and directories are refused. */
static bool side_allows(const struct side *side, bool reading)
{
    uint64_t number = side->facts.number;

    switch (side->facts.mode & FILE_TYPE_MASK) {
    case FILE_REGULAR:
    case FILE_SOCKET:
        return true;
    case FILE_CHARACTER:
        return number != DEVICE_ZERO && number != DEVICE_FULL && (!reading || number != DEVICE_NULL);
    default:
        return false;
    }
}

/* Checks the type and the offset of SIDE, which is not a pipe. As on Linux, the range of OUT is checked with the size
 * that the program asked for, that of IN with the limited size. */
static int64_t side_check(const struct moving *m, const struct side *side)
{
    uint64_t size = side == &m->out ? m->asked : m->size;
    int64_t end;

    if (size > INT64_MAX)
        return -EINVAL;
    if (side->address != 0 && files_seek(side->fd, 0, 1) == -ESPIPE)
        return -EINVAL;
    if (side == &m->out && (side->flags & OPEN_APPEND) != 0)
        return -EINVAL;
    if (side->address != 0 && (side->at < 0 || __builtin_add_overflow(side->at, (int64_t)size, &end)))
        return -EINVAL;
    return side_allows(side, side == &m->in) ? 0 : -EINVAL;
}

static int64_t side_finish(const struct side *side, uint64_t done)
{
    int64_t at = side->at + (int64_t)done;

    return side->address != 0 ? user_write(side->address, &at, sizeof(at)) : 0;
}

static int64_t move(struct moving *m)
{
    int64_t result;

    m->room = m->size < FILE_CHUNK ? (size_t)m->size : FILE_CHUNK;
    m->buffer = heap_alloc_unset(m->room);
    if (m->buffer == NULL)
        return -ENOMEM;
    result = m->in.pipe ? move_out(m) : move_in(m);
    heap_free(m->buffer, m->room);
    return result;
}

static int64_t check_splice(struct moving *m)
{
    bool nonblock_in = (m->in.flags & OPEN_NONBLOCK) != 0, nonblock_out = (m->out.flags & OPEN_NONBLOCK) != 0;

    if ((m->in.pipe && m->in.address != 0) || (m->out.pipe && m->out.address != 0))
        return -ESPIPE;
    if ((m->out.address != 0 && user_read(&m->out.at, m->out.address, sizeof(m->out.at)) != 0) ||
        (m->in.address != 0 && user_read(&m->in.at, m->in.address, sizeof(m->in.at)) != 0))
        return -EFAULT;
    if (!opened_right(m))
        return -EBADF;
    m->nonblock |= (m->in.pipe && nonblock_in) || (m->out.pipe && nonblock_out);
    if (m->in.pipe && m->out.pipe)
        return same_pipe(m) ? -EINVAL : 0;
    if (!m->in.pipe && !m->out.pipe)
        return -EINVAL;
    return side_check(m, m->in.pipe ? &m->out : &m->in);
}

int64_t call_splice(struct call *c)
{
    uint32_t flags = (uint32_t)c->a[5];
    struct moving m;
    int64_t result;

    if (c->a[4] == 0)
        return 0;
    if ((flags & ~SPLICE_ALL) != 0)
        return -EINVAL;
    m = (struct moving){.size = c->a[4] < TRANSFER_MAX ? c->a[4] : TRANSFER_MAX,
                        .asked = c->a[4],
                        .nonblock = (flags & SPLICE_NONBLOCK) != 0};
    result = sides_find(&m, c->a[0], c->a[2]);
    m.in.address = c->a[1];
    m.out.address = c->a[3];
    if (result == 0)
        result = check_splice(&m);
    if (result == 0)
        result = move(&m);
    if (result >= 0 && (side_finish(&m.out, (uint64_t)result) != 0 || side_finish(&m.in, (uint64_t)result) != 0))
        return -EFAULT;
    return result;
}

int64_t call_tee(struct call *c)
{
    uint32_t flags = (uint32_t)c->a[3];
    struct moving m;
    int64_t result;

    if ((flags & ~SPLICE_ALL) != 0)
        return -EINVAL;
    if (c->a[2] == 0)
        return 0;
    m = (struct moving){.size = c->a[2] < TRANSFER_MAX ? c->a[2] : TRANSFER_MAX,
                        .nonblock = (flags & SPLICE_NONBLOCK) != 0,
                        .copies = true};
    result = sides_find(&m, c->a[0], c->a[1]);
    if (result != 0)
        return result;
    if (!opened_right(&m))
        return -EBADF;
    if (!m.in.pipe || !m.out.pipe || same_pipe(&m))
        return -EINVAL;
    m.nonblock |= ((m.in.flags | m.out.flags) & OPEN_NONBLOCK) != 0;
    return move(&m);
}

/* --- memory --- */

/* Copies bytes from SPANS into the pipe OUT. */
static int64_t give(struct moving *m, struct spans *spans)
{
    struct file_request request = {.operation = MSG_FILE_WRITE, .fd = (int32_t)m->out.fd, .move.flags = FILE_STREAM};
    size_t begin = 0, end = 0; /* the part of the buffer that is not written yet */
    struct file_answer answer;
    int64_t count = 0;

    while (m->done < m->size) {
        if (m->done > 0 && files_interrupted())
            break;
        if (begin == end) {
            uint64_t left = m->size - m->done;

            count = spans_move_some(spans, m->buffer, left < m->room ? left : m->room, false);
            if (count < 0)
                break;
            begin = 0;
            end = (size_t)count;
        }
        count = files_write(&request, m->buffer + begin, end - begin, &answer);
        if (count == -EPIPE)
            files_signal_broken_pipe();
        if (count == -EAGAIN && m->done == 0) {
            count = pipe_wait(m, &answer, "room in a pipe");
            if (count == 0)
                continue;
        }
        if (count <= 0)
            break;
        begin += (size_t)count;
        m->done += (uint64_t)count;
    }
    return m->done > 0 ? (int64_t)m->done : count;
}

/* Moves bytes from the pipe IN to SPANS. Bytes that cannot be stored stay in the pipe. */
static int64_t receive(struct moving *m, struct spans *spans)
{
    struct file_answer answer;
    int64_t count = 0;

    while (m->done < m->size) {
        uint64_t left = m->size - m->done;

        if (files_interrupted()) {
            count = -ERESTARTSYS;
            break;
        }
        count = pipe_call(m->in.fd, SPECIAL_PIPE_TAKE, left < m->room ? left : m->room, m->buffer, m->room, &answer);
        if (count == -EAGAIN && m->done == 0) {
            count = pipe_wait(m, &answer, "input of a pipe");
            if (count == 0)
                continue;
        }
        if (count <= 0)
            break;
        count = spans_move_some(spans, m->buffer, (uint64_t)count, true);
        pipe_let_go(&answer, SPECIAL_PIPE_TAKEN, count > 0 ? (uint64_t)count : 0, NULL);
        if (count < 0)
            break;
        m->done += (uint64_t)count;
    }
    return m->done > 0 ? (int64_t)m->done : count;
}

int64_t call_vmsplice(struct call *c)
{
    struct moving m = {.nonblock = ((uint32_t)c->a[3] & SPLICE_NONBLOCK) != 0};
    struct spans spans;
    int64_t result;

    if (((uint32_t)c->a[3] & ~SPLICE_ALL) != 0)
        return -EINVAL;
    result = side_find(&m.out, (int32_t)c->a[0]);
    if (result != 0)
        return result;
    m.in = m.out;
    result = spans_take(&spans, c->a[1], c->a[2]);
    if (result != 0)
        return result;
    for (uint32_t i = 0; i < spans.count && result == 0; i++)
        result = user_range(spans.list[i].address, spans.list[i].size) ? 0 : -EFAULT;
    if (result == 0 && spans.total > 0 && !m.out.pipe)
        result = -EBADF;
    m.size = spans.total < TRANSFER_MAX ? spans.total : TRANSFER_MAX;
    m.room = m.size < FILE_CHUNK ? (size_t)m.size : FILE_CHUNK;
    if (result == 0 && m.size > 0) {
        m.buffer = heap_alloc_unset(m.room);
        if (m.buffer == NULL)
            result = -ENOMEM;
        else
            result = ((m.out.flags & OPEN_ACCESS) != 0 ? give : receive)(&m, &spans);
        heap_free(m.buffer, m.room);
    }
    spans_free(&spans);
    return result;
}
