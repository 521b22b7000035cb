/* System calls that receive messages on sockets, with files and credentials as control data. */
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/calls/calls.h"
#include "kernel/calls/common/datagram.h"
#include "kernel/calls/common/files.h"
#include "kernel/calls/common/socket.h"
#include "kernel/calls/common/spans.h"
#include "kernel/calls/ipc/message.h"
#include "kernel/calls/ipc/socket.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "mm/user/user_copy.h"
#include "msg/slice.h"
#include "tasks/process/group.h"
#include "tasks/thread/thread.h"

#define MSG_OOB 0x1u
#define MSG_WAITALL 0x100u
#define MSG_WAITFORONE 0x10000u
#define MSG_CMSG_CLOEXEC 0x40000000u
#define TRANSFER_MAX 0x7ffff000ull
#define SECOND 1000000000ull

/* The program's buffer for control data: USED bytes are written; CUT: some did not fit. */
struct control {
    uint64_t address, room, used;
    bool cut;
};

/* Returns how many bytes of data one more piece can have, or 0. */
static uint64_t piece_room(const struct control *control)
{
    uint64_t left = control->room - control->used;

    return left > sizeof(struct control_head) ? left - sizeof(struct control_head) : 0;
}

static int64_t put_piece(struct control *control, int32_t type, const void *data, uint64_t size)
{
    struct control_head head = {.level = SOL_SOCKET, .type = type};
    uint64_t room = piece_room(control);

    if (room == 0) {
        control->cut = true;
        return 0;
    }
    if (size > room) {
        control->cut = true;
        size = room;
    }
    head.size = sizeof(head) + size;
    if (user_write(control->address + control->used, &head, sizeof(head)) != 0 ||
        user_write(control->address + control->used + sizeof(head), data, size) != 0)
        return -EFAULT;
    control->used += (head.size + 7) / 8 * 8;
    if (control->used > control->room)
        control->used = control->room;
    return 0;
}

static int64_t put_sender(struct control *control, const struct socket_result *result)
{
    const struct socket_user *user = &result->user;

    return (result->flags & MESSAGE_CREDENTIALS) != 0 ? put_piece(control, SCM_CREDENTIALS, user, sizeof(*user)) : 0;
}

static int64_t put_files(struct control *control, const struct socket_result *result, const struct file_place *places,
                         uint32_t flags)
{
    int32_t fds[SOCKET_FILES_MAX];
    uint64_t room;
    uint32_t most;
    int64_t ignored;

    if (result->files == 0)
        return 0;
    room = piece_room(control) / sizeof(int32_t);
    most = room < result->files ? (uint32_t)room : result->files;
    if (most < result->files) {
        control->cut = true;
        socket_drop(places + most, result->files - most);
    }
    most = socket_install(places, most, (flags & MSG_CMSG_CLOEXEC) != 0 ? DESCRIPTOR_CLOEXEC : 0, fds, &ignored);
    if (ignored != 0)
        control->cut = true; /* as in Linux, the descriptors that could be installed are returned */
    return most > 0 ? put_piece(control, SCM_RIGHTS, fds, most * sizeof(int32_t)) : 0;
}

/* Receives the next message, or bytes of a stream, to RESULT: places of files, then data. If T already has data, whose
 * first part is described by FIRST with the sender's credentials, only data of the same sender follows. */
static int64_t receive_some(struct transfer *t, const struct socket_result *first, struct socket_result *result,
                            size_t room, uint32_t files, uint32_t bytes, uint32_t flags)
{
    struct socket_call call = {
        .operation = SOCKET_RECEIVE, .flags = flags & (MESSAGE_PEEK | MESSAGE_CUT), .a = bytes, .b = files};
    uint64_t good = spans_reach(&t->spans, bytes);
    struct file_answer answer;

    if (t->done > 0 && (first->flags & MESSAGE_CREDENTIALS) != 0) {
        call.flags |= MESSAGE_CREDENTIALS;
        call.user = first->user;
    }
    if (t->total > bytes && t->done == 0)
        call.whole = (uint32_t)t->total;
    if (good < bytes) {
        call.flags |= MESSAGE_FIT;
        call.a = (uint32_t)good;
        call.asked = bytes;
    }

    return socket_do(t->fd, &call, sizeof(call), result, room, (flags & MESSAGE_DONT_WAIT) != 0,
                     "a message of a socket", &answer);
}

/* Receives into T. CONTROL may have room for files. *FIRST describes the first part that was received. */
static int64_t receive_all(struct transfer *t, struct control *control, uint32_t flags, struct socket_result *first)
{
    uint32_t files = control->room > sizeof(struct control_head)
                         ? (uint32_t)((control->room - sizeof(struct control_head)) / sizeof(int32_t))
                         : 0;
    uint64_t chunk;
    struct socket_result *result;
    size_t head;
    bool lost = false; /* received data or files could not be delivered to the program */
    int64_t error = 0;

    if (files > SOCKET_FILES_MAX)
        files = SOCKET_FILES_MAX;
    head = sizeof(*result) + files * sizeof(struct file_place);
    chunk = t->total < FILE_CHUNK - head ? t->total : FILE_CHUNK - head;
    result = heap_alloc_unset(head + chunk);
    if (result == NULL)
        return -ENOMEM;
    do {
        uint64_t part = t->total - t->done < chunk ? t->total - t->done : chunk;
        const struct file_place *places = (const struct file_place *)(result + 1);

        error = receive_some(t, first, result, head + chunk, files, (uint32_t)part, flags);
        if (error != 0)
            break;
        if (t->done == 0)
            *first = *result;
        first->files = result->files;
        first->flags |= result->flags & MESSAGE_CONTROL_CUT;
        if (spans_move(&t->spans, (uint8_t *)(uintptr_t)(places + result->files), result->size, true) != 0)
            error = -EFAULT;
        if (t->done == 0 && error == 0)
            error = put_sender(control, result);
        if (error == 0)
            error = put_files(control, result, places, flags);
        else if (result->files > 0)
            socket_drop(places, result->files);
        t->done += result->size;
        if (error == 0 && result->draft != 0)
            error = datagram_rest(t->fd, &t->spans, result, t->total, &t->done);
        else
            datagram_drop(t->fd, result->draft);
        lost = error != 0;
    } while (error == 0 && (flags & (MSG_WAITALL | MESSAGE_PEEK)) == MSG_WAITALL && t->done < t->total &&
             result->size > 0 && first->files == 0 && (first->flags & (MESSAGE_CUT | MESSAGE_CONTROL_CUT)) == 0 &&
             message_is_stream(t->fd) && !slice_check());
    heap_free(result, head + chunk);
    if (error != 0 && (t->done == 0 || lost))
        return error;
    return (flags & MESSAGE_CUT) != 0 && first->length > t->done ? first->length : (int64_t)t->done;
}

static int64_t receive_message(int64_t fd, uint64_t address, uint32_t flags)
{
    struct socket_result first = {.flags = 0};
    struct message message;
    struct transfer t;
    struct control control = {.used = 0};
    int64_t result;

    if (user_read(&message, address, sizeof(message)) != 0)
        return files_error(fd, -EFAULT);
    result = message_begin(&t, fd, &message);
    if (result == 0 && (flags & MSG_OOB) != 0)
        result = -EOPNOTSUPP;
    if (result != 0) {
        message_end(&t);
        return files_error(fd, result);
    }
    control.address = message.control;
    control.room = message.control != 0 ? message.control_size : 0;
    result = receive_all(&t, &control, flags, &first);
    message_end(&t);
    if (result < 0)
        return result;
    if (message.name != 0) {
        message.name_size = (int32_t)message.name_size < 0 ? 0 : message.name_size;
        if (first.name_size == 0)
            message.name_size = 0;
        else if (socket_write_name(message.name, &message.name_size, &first) != 0)
            return -EFAULT;
    }
    message.flags = (first.flags & (MESSAGE_CUT | MESSAGE_CONTROL_CUT)) | (control.cut ? MESSAGE_CONTROL_CUT : 0) |
                    (flags & MSG_CMSG_CLOEXEC);
    message.control_size = control.used;
    if (user_write(address + offsetof(struct message, name_size), &message.name_size, sizeof(message.name_size)) != 0 ||
        user_write(address + offsetof(struct message, control_size), &message.control_size,
                   sizeof(message.control_size) + sizeof(message.flags)) != 0)
        return -EFAULT;
    return result;
}

int64_t call_recvmsg(struct call *c)
{
    return receive_message((int32_t)c->a[0], c->a[1], (uint32_t)c->a[2]);
}

int64_t call_recvfrom(struct call *c)
{
    struct span span = {c->a[1], c->a[2]};
    struct transfer t = {.fd = (int32_t)c->a[0], .spans = {.list = &span, .count = 1}, .total = c->a[2]};
    struct socket_result first = {.flags = 0};
    struct control none = {.room = 0};
    uint32_t flags = (uint32_t)c->a[3], room = 0;
    int64_t result;

    if (t.total > TRANSFER_MAX)
        t.total = TRANSFER_MAX;
    if (!user_range(span.address, span.size))
        return files_error(t.fd, -EFAULT);
    if ((flags & MSG_OOB) != 0)
        return files_error(t.fd, -EOPNOTSUPP);
    result = receive_all(&t, &none, flags, &first);
    if (result < 0 || c->a[4] == 0)
        return result;
    if (user_read(&room, c->a[5], sizeof(room)) != 0)
        return -EFAULT;
    if ((int32_t)room < 0)
        return -EINVAL;
    if (first.name_size == 0)
        room = 0;
    else if (socket_write_name(c->a[4], &room, &first) != 0)
        return -EFAULT;
    return user_write(c->a[5], &room, sizeof(room)) != 0 ? -EFAULT : result;
}

int64_t call_recvmmsg(struct call *c)
{
    uint64_t count = (uint32_t)c->a[2] < MESSAGES_MAX ? (uint32_t)c->a[2] : MESSAGES_MAX;
    uint32_t flags = (uint32_t)c->a[3];
    uint64_t time[2], deadline = UINT64_MAX, done = 0;
    int64_t result = 0;

    if (c->a[4] != 0) {
        if (user_read(time, c->a[4], sizeof(time)) != 0)
            return -EFAULT;
        if ((int64_t)time[0] < 0 || time[1] >= SECOND)
            return -EINVAL;
        if (time[0] < INT64_MAX / SECOND / 4)
            deadline = clock_now() + time[0] * SECOND + time[1];
    }
    while (done < count) {
        uint64_t at = c->a[1] + done * sizeof(struct message_of_many);
        uint32_t length;

        result = receive_message((int32_t)c->a[0], at, flags & ~MSG_WAITFORONE);
        if (result < 0)
            break;
        length = (uint32_t)result;
        if (user_write(at + offsetof(struct message_of_many, length), &length, sizeof(length)) != 0)
            return -EFAULT;
        done++;
        if ((flags & MSG_WAITFORONE) != 0)
            flags |= MESSAGE_DONT_WAIT;
        if (clock_now() >= deadline)
            break;
    }
    if (done == 0)
        return result < 0 ? result : files_error((int32_t)c->a[0], 0);
    if (deadline != UINT64_MAX) { /* what is left */
        uint64_t now = clock_now(), left = now < deadline ? deadline - now : 0;

        time[0] = left / SECOND;
        time[1] = left % SECOND;
    }
    return c->a[4] != 0 && user_write(c->a[4], time, sizeof(time)) != 0 ? -EFAULT : (int64_t)done;
}
