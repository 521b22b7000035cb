/* System calls that send messages on sockets, with files and credentials as control data. */
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
#include "mm/space/space.h"
#include "mm/user/user_copy.h"
#include "msg/slice.h"
#include "tasks/process/group.h"
#include "tasks/thread/thread.h"

#define MSG_OOB 0x1u
#define MSG_NOSIGNAL 0x4000u
#define TRANSFER_MAX 0x7ffff000ull
#define CONTROL_MAX 20480u /* bytes, as Linux's optmem_max */

/* Reads one piece of control data: descriptors are appended to FDS, credentials are checked and stored in CALL. */
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

/* Sends all of T, with the files at PLACES beside its first byte. CALL has the destination, and as its `files` 0 as
 * soon as the files belong to a message. */
static int64_t send_all(struct transfer *t, struct socket_call *call, const struct file_place *places, uint32_t flags)
{
    size_t files = call->files * sizeof(*places), head = sizeof(*call) + files;
    uint64_t chunk = t->total < FILE_CHUNK - head ? t->total : FILE_CHUNK - head;
    struct socket_result result;
    struct file_answer answer;
    uint8_t *memory;
    int64_t error = 0;

    if (chunk < t->total && !message_is_stream(t->fd)) {
        error = datagram_send(t->fd, &t->spans, t->total, call, places, (flags & MESSAGE_DONT_WAIT) != 0);
        if (error == -EPIPE && (flags & MSG_NOSIGNAL) == 0)
            files_signal_broken_pipe();
        return error;
    }
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
            if (places != NULL && call->files > 0)
                memcpy(memory + sizeof(*call), places, files);
            error = socket_do(t->fd, (struct socket_call *)(void *)memory, head + part, &result, sizeof(result),
                              (flags & MESSAGE_DONT_WAIT) != 0, "room in a socket", &answer);
            if (error == 0 && (result.flags & MESSAGE_TOOK) != 0)
                call->files = 0;
            if (error != 0 || result.length > part)
                break;
            t->done += result.length;
            part -= result.length;
            /* The files have been sent; move the rest of the data to directly behind the call. */
            memmove(memory + sizeof(*call), memory + head + result.length, part);
            head = sizeof(*call);
            if (slice_check())
                error = -EINTR;
        } while (part > 0 && error == 0);
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
    places = (struct file_place *)(void *)fds; /* the array of descriptors lies behind that of the places */
    if (error == 0 && message->name != 0 && message->name_size != 0)
        error = socket_read_name(message->name, message->name_size, &call);
    if (error == 0)
        error = socket_find_node(&call, false);
    if (error == 0)
        error = message_begin(&t, fd, message);
    if (error == 0)
        error = read_control(message, (int32_t *)(places + SOCKET_FILES_MAX), &count, &call);
    if (error == 0 && count > 0)
        error = socket_share((int32_t *)(places + SOCKET_FILES_MAX), count, places);
    if (error == 0) {
        call.files = count;
        error = send_all(&t, &call, places, flags);
        if (call.files > 0)
            socket_drop(places, call.files); /* they have not been sent */
    } else {
        error = files_error(fd, error);
    }
    message_end(&t);
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
