/* System calls that send and receive messages on sockets, with files and credentials beside them.
 *
 * Long because both directions share the walk over the program's memory. */
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/calls/calls.h"
#include "kernel/calls/common/anonymous.h"
#include "kernel/calls/common/socket.h"
#include "kernel/calls/common/spans.h"
#include "kernel/calls/files/files.h"
#include "kernel/calls/ipc/socket.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "mm/user/user_copy.h"
#include "tasks/process/group.h"
#include "tasks/thread/thread.h"

#define MSG_OOB 0x1u
#define MSG_WAITALL 0x100u
#define MSG_NOSIGNAL 0x4000u
#define MSG_WAITFORONE 0x10000u
#define MSG_CMSG_CLOEXEC 0x40000000u
#define SOL_SOCKET 1
#define SCM_RIGHTS 1
#define SCM_CREDENTIALS 2
#define SO_TYPE 3u
#define IOV_MAX 1024u
#define MESSAGES_MAX 1024u
#define TRANSFER_MAX 0x7ffff000ull
#define CONTROL_MAX 20480u /* bytes, as Linux's optmem_max */
#define SECOND 1000000000ull
#define CREDENTIALS_SIZE 12u

struct message { /* struct msghdr */
    uint64_t name;
    uint32_t name_size, pad;
    uint64_t spans, count;
    uint64_t control, control_size;
    uint32_t flags, pad2;
};

struct message_of_many { /* struct mmsghdr */
    struct message message;
    uint32_t length, pad;
};

struct control_head { /* struct cmsghdr */
    uint64_t size;
    int32_t level, type;
};

/* What is being sent or received. */
struct transfer {
    int64_t fd;
    struct spans spans;
    uint64_t total;
    uint64_t done;
};

/* Reads the spans of MESSAGE; to be ended also when it fails. */
static int64_t transfer_begin(struct transfer *t, int64_t fd, const struct message *message)
{
    struct span *list;

    *t = (struct transfer){.fd = fd, .spans = {.count = (uint32_t)message->count}};
    if (message->count > IOV_MAX)
        return -EMSGSIZE;
    list = heap_alloc(message->count * sizeof(*list) + 1);
    if (list == NULL)
        return -ENOMEM;
    t->spans.list = list;
    if (user_read(list, message->spans, message->count * sizeof(*list)) != 0)
        return -EFAULT;
    for (uint32_t i = 0; i < t->spans.count; i++) {
        if ((int64_t)list[i].size < 0)
            return -EINVAL;
        if (!user_range(list[i].address, list[i].size))
            return -EFAULT;
        t->total += list[i].size < TRANSFER_MAX - t->total ? list[i].size : TRANSFER_MAX - t->total;
    }
    return 0;
}

static void transfer_end(struct transfer *t)
{
    if (t->spans.list != NULL)
        spans_free(&t->spans);
}

/* --- sending --- */

/* One piece of control data: descriptors, or who sends, which goes to CALL. */
static int64_t read_piece(const struct control_head *head, const uint8_t *data, size_t size, int32_t *fds,
                          uint32_t *count, struct socket_call *call)
{
    uint32_t more = (uint32_t)(size / sizeof(int32_t));

    if (head->level != SOL_SOCKET)
        return 0;
    if (head->type == SCM_RIGHTS) {
        if (more > SOCKET_FILES_MAX - *count)
            return -EINVAL;
        memcpy(fds + *count, data, more * sizeof(int32_t));
        *count += more;
        return 0;
    }
    if (head->type != SCM_CREDENTIALS || size != CREDENTIALS_SIZE)
        return -EINVAL;
    memcpy(&call->user, data, sizeof(call->user));
    call->flags |= MESSAGE_CREDENTIALS;
    return socket_sender(&call->user);
}

static int64_t read_control(const struct message *message, int32_t *fds, uint32_t *count, struct socket_call *call)
{
    size_t size = message->control_size;
    uint8_t *bytes;
    int64_t error = 0;

    *count = 0;
    if (message->control == 0 || size == 0)
        return 0;
    if (size > CONTROL_MAX)
        return -ENOBUFS;
    bytes = heap_alloc(size);
    if (bytes == NULL)
        return -ENOMEM;
    if (user_read(bytes, message->control, size) != 0)
        error = -EFAULT;
    for (size_t at = 0; error == 0 && size - at >= sizeof(struct control_head);) {
        struct control_head head;

        memcpy(&head, bytes + at, sizeof(head));
        if (head.size < sizeof(head) || head.size > size - at) {
            error = -EINVAL;
            break;
        }
        error = read_piece(&head, bytes + at + sizeof(head), head.size - sizeof(head), fds, count, call);
        if ((head.size + 7) / 8 * 8 > size - at)
            break;
        at += (head.size + 7) / 8 * 8;
    }
    heap_free(bytes, size);
    return error;
}

static bool is_stream(int64_t fd)
{
    struct socket_call call = {.operation = SOCKET_GET_OPTION, .a = SO_TYPE};
    struct {
        struct socket_result result;
        uint32_t type;
    } got = {.type = SOCKET_STREAM}; /* of what is no socket: that is said later */
    struct file_answer answer;

    socket_do(fd, &call, sizeof(call), &got.result, sizeof(got), true, "", &answer);
    return got.type == SOCKET_STREAM;
}

/* Sends all of T, the files at PLACES with its first byte. CALL has the name. */
static int64_t send_all(struct transfer *t, struct socket_call *call, const struct file_place *places, uint32_t flags)
{
    size_t files = call->files * sizeof(*places), head = sizeof(*call) + files;
    uint64_t chunk = t->total < FILE_CHUNK - head ? t->total : FILE_CHUNK - head;
    struct socket_result result;
    struct file_answer answer;
    uint8_t *memory;
    int64_t error = 0;

    if (chunk < t->total && !is_stream(t->fd))
        return -EMSGSIZE;
    memory = heap_alloc_unset(head + chunk);
    if (memory == NULL)
        return -ENOMEM;
    do {
        uint64_t part = t->total - t->done < chunk ? t->total - t->done : chunk;

        if (spans_move(&t->spans, memory + head, part, false) != 0) {
            error = -EFAULT;
            break;
        }
        do {
            memcpy(memory, call, sizeof(*call));
            if (call->files > 0)
                memcpy(memory + sizeof(*call), places, files);
            error = socket_do(t->fd, (struct socket_call *)(void *)memory, head + part, &result, sizeof(result),
                              (flags & MESSAGE_DONT_WAIT) != 0, "room in a socket", &answer);
            if (error != 0 || result.length > part)
                break;
            t->done += result.length;
            part -= result.length;
            /* The files have gone; the rest moves to behind the call. */
            memmove(memory + sizeof(*call), memory + head + result.length, part);
            call->files = 0;
            head = sizeof(*call);
        } while (part > 0);
    } while (error == 0 && t->done < t->total);
    heap_free(memory, sizeof(*call) + files + chunk);
    if (t->done > 0)
        return (int64_t)t->done;
    if (error == -EPIPE && (flags & MSG_NOSIGNAL) == 0)
        files_signal_broken_pipe();
    return error;
}

static int64_t send_message(int64_t fd, const struct message *message, uint32_t flags)
{
    struct socket_call call = {.operation = SOCKET_SEND};
    struct file_place *places = NULL;
    int32_t *fds = heap_alloc(SOCKET_FILES_MAX * (sizeof(int32_t) + sizeof(*places)));
    struct transfer t = {.total = 0};
    int64_t error = (flags & MSG_OOB) != 0 ? -EOPNOTSUPP : 0;
    uint32_t count = 0;

    if (fds == NULL)
        return -ENOMEM;
    places = (struct file_place *)(void *)fds; /* the descriptors behind them */
    if (error == 0 && message->name != 0 && message->name_size != 0)
        error = socket_read_name(message->name, message->name_size, &call);
    if (error == 0)
        error = socket_find_node(&call, false);
    if (error == 0)
        error = transfer_begin(&t, fd, message);
    if (error == 0)
        error = read_control(message, (int32_t *)(places + SOCKET_FILES_MAX), &count, &call);
    if (error == 0 && count > 0)
        error = socket_share((int32_t *)(places + SOCKET_FILES_MAX), count, places);
    if (error == 0) {
        call.files = count;
        error = send_all(&t, &call, places, flags);
        if (count > 0 && (error < 0 || (error == 0 && t.total == 0 && is_stream(fd))))
            socket_drop(places, count); /* they have not gone */
    } else {
        error = files_error(fd, error);
    }
    transfer_end(&t);
    heap_free(fds, SOCKET_FILES_MAX * (sizeof(int32_t) + sizeof(*places)));
    return error;
}

int64_t call_sendto(struct call *c)
{
    struct span span = {c->a[1], c->a[2]};
    struct message message = {.name = c->a[4], .name_size = (uint32_t)c->a[5]};
    struct socket_call call = {.operation = SOCKET_SEND};
    struct transfer t = {.fd = (int32_t)c->a[0], .spans = {.list = &span, .count = 1}, .total = c->a[2]};
    int64_t error = 0;

    if (t.total > TRANSFER_MAX)
        t.total = TRANSFER_MAX;
    if (((uint32_t)c->a[3] & MSG_OOB) != 0)
        error = -EOPNOTSUPP;
    else if (!user_range(span.address, span.size))
        error = -EFAULT;
    else if (message.name != 0)
        error = socket_read_name(message.name, message.name_size, &call);
    if (error == 0)
        error = socket_find_node(&call, false);
    return error != 0 ? files_error(t.fd, error) : send_all(&t, &call, NULL, (uint32_t)c->a[3]);
}

int64_t call_sendmsg(struct call *c)
{
    struct message message;

    if (user_read(&message, c->a[1], sizeof(message)) != 0)
        return files_error((int32_t)c->a[0], -EFAULT);
    return send_message((int32_t)c->a[0], &message, (uint32_t)c->a[2]);
}

/* --- receiving --- */

/* Control data as it is written. */
struct control {
    uint64_t address, room, used;
    bool cut;
};

/* The bytes that one piece has room for, or 0. */
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
        control->cut = true; /* as Linux: those that there was room for */
    return most > 0 ? put_piece(control, SCM_RIGHTS, fds, most * sizeof(int32_t)) : 0;
}

/* Receives what comes first, to RESULT, places and data; behind FIRST, of which there was some, only what is from the
 * same sender, if the receiver is told who that is. */
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
    if (good < bytes) {
        call.flags |= MESSAGE_FIT;
        call.a = (uint32_t)good;
        call.asked = bytes;
    }

    return socket_do(t->fd, &call, sizeof(call), result, room, (flags & MESSAGE_DONT_WAIT) != 0,
                     "a message of a socket", &answer);
}

/* Receives into T. CONTROL may have room for files. What was received first is described in FIRST. */
static int64_t receive_all(struct transfer *t, struct control *control, uint32_t flags, struct socket_result *first)
{
    uint32_t files = control->room > sizeof(struct control_head)
                         ? (uint32_t)((control->room - sizeof(struct control_head)) / sizeof(int32_t))
                         : 0;
    uint64_t chunk;
    struct socket_result *result;
    size_t head;
    bool lost = false; /* what was received has not all come to the program */
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
        lost = error != 0;
    } while (error == 0 && (flags & (MSG_WAITALL | MESSAGE_PEEK)) == MSG_WAITALL && t->done < t->total &&
             result->size > 0 && first->files == 0 && (first->flags & (MESSAGE_CUT | MESSAGE_CONTROL_CUT)) == 0 &&
             is_stream(t->fd));
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
    result = transfer_begin(&t, fd, &message);
    if (result == 0 && (flags & MSG_OOB) != 0)
        result = -EOPNOTSUPP;
    if (result != 0) {
        transfer_end(&t);
        return files_error(fd, result);
    }
    control.address = message.control;
    control.room = message.control != 0 ? message.control_size : 0;
    result = receive_all(&t, &control, flags, &first);
    transfer_end(&t);
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

/* --- several at once --- */

int64_t call_sendmmsg(struct call *c)
{
    uint64_t count = (uint32_t)c->a[2] < MESSAGES_MAX ? (uint32_t)c->a[2] : MESSAGES_MAX;
    int64_t result = 0;
    uint64_t done = 0;

    for (; done < count; done++) {
        uint64_t at = c->a[1] + done * sizeof(struct message_of_many);
        struct message message;
        uint32_t length;

        result = user_read(&message, at, sizeof(message)) != 0
                     ? -EFAULT
                     : send_message((int32_t)c->a[0], &message, (uint32_t)c->a[3]);
        if (result < 0)
            break;
        length = (uint32_t)result;
        if (user_write(at + offsetof(struct message_of_many, length), &length, sizeof(length)) != 0) {
            result = -EFAULT;
            break;
        }
    }
    return done > 0 ? (int64_t)done : result < 0 ? result : files_error((int32_t)c->a[0], 0);
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
    return done > 0 ? (int64_t)done : result < 0 ? result : files_error((int32_t)c->a[0], 0);
}
