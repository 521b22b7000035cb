/* The file kind of sockets, and the dispatch of their operations. See the header; connect.c creates and connects
 * sockets, queue.c has their packets, option.c their options. */
#include "kernel/abi/errno.h"
#include "kernel/file/anonymous.h"
#include "kernel/fs/node/node.h"
#include "kernel/instance/instance.h"
#include "kernel/ipc/socket/internal.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "msg/slice.h"

#define FIONREAD 0x541bu
#define TIOCOUTQ 0x5411u

/* Whether the next message of SOCKET, which is no stream, has more than SIZE bytes. */
static bool socket_is_long_locked(const struct socket *socket, size_t size)
{
    return socket->type != SOCKET_STREAM && socket_readable_locked(socket) > size;
}

static int64_t socket_read(struct file *file, void *data, size_t size)
{
    struct socket_result result = {.flags = 0};
    struct list notified;
    int64_t count;

    list_init(&notified);
    spin_lock(&socket_lock);
    if (socket_is_condemned_locked(file->state))
        count = -EBADF;
    else if (size == FILE_CHUNK && socket_is_long_locked(file->state, size))
        count = -EMSGSIZE; /* the caller receives it in pieces */
    else
        count = socket_receive_locked(file->state, 0, NULL, data, (uint32_t)size, 0, NULL, 0, &result, &notified);
    spin_unlock(&socket_lock);
    socket_notify(&notified);
    socket_sweep();
    return count;
}

/* Must writes to SOCKET carry the writer's credentials? As on Linux, also if SOCKET itself has SO_PASSCRED. */
static bool names_sender_locked(const struct socket *socket)
{
    return socket->credentials || (socket->peer != NULL && socket->peer->credentials);
}

static int64_t socket_write(struct file *file, const void *data, size_t size, uint32_t flags)
{
    struct socket *socket = file->state;
    struct socket_call call = {.user = socket->writer};
    struct socket *full;
    struct list notified;
    uint64_t draft;
    int64_t count;

    (void)flags;
    if (size == FILE_CHUNK && socket->type != SOCKET_STREAM)
        return -EMSGSIZE; /* the message may be longer than what one request carries: the caller sends it in pieces */
    list_init(&notified);
    spin_lock(&socket_lock);
    if (socket_is_condemned_locked(socket))
        count = -EBADF;
    else if (names_sender_locked(socket))
        count = -FILE_WHO;
    else
        count = socket_send_locked(socket, &call, NULL, data, (uint32_t)size, &full, &draft, &notified);
    spin_unlock(&socket_lock);
    socket_notify(&notified);
    return count;
}

static uint32_t socket_poll(struct file *file)
{
    struct socket *socket = file->state;
    uint32_t state = 0;
    bool writable = socket->state != SOCKET_LISTENING;

    spin_lock(&socket_lock);
    if (!list_empty(&socket->queue) || !list_empty(&socket->backlog))
        state |= POLL_IN | POLL_IN_NORMAL;
    if (socket->error != 0)
        state |= POLL_ERR;
    if (socket->type != SOCKET_DATAGRAM) {
        if (socket->no_read || socket->lost)
            state |= POLL_IN | POLL_IN_NORMAL | POLL_READ_HUP;
        if ((socket->no_read && socket->no_write) || socket->lost || socket->state == SOCKET_NEW)
            state |= POLL_HUP;
    } else if (socket->no_read) {
        state |= POLL_IN | POLL_IN_NORMAL | POLL_READ_HUP;
    }
    if (socket->peer != NULL && socket->state != SOCKET_LISTENING)
        writable = socket_writable_locked(socket, socket->peer);
    if (writable)
        state |= POLL_OUT | POLL_OUT_NORMAL;
    file->wanted |= (state & (POLL_IN | POLL_OUT)) != (POLL_IN | POLL_OUT);
    spin_unlock(&socket_lock);
    return state;
}

static int64_t socket_control(struct file *file, uint32_t command, void *data)
{
    struct socket *socket = file->state;
    int64_t result = 0;
    uint32_t number = 0;

    spin_lock(&socket_lock);
    if (command == FIONREAD && socket->state == SOCKET_LISTENING)
        result = -EINVAL;
    else if (command == FIONREAD)
        number = socket_readable_locked(socket);
    else if (command == TIOCOUTQ)
        number = socket->peer != NULL ? socket->peer->queued : 0;
    else
        result = -ENOTTY;
    spin_unlock(&socket_lock);
    if (result == 0)
        memcpy(data, &number, sizeof(number));
    return result;
}

static uint64_t socket_timeout(struct file *file, bool writing)
{
    const struct socket *socket = file->state;

    return socket->timeouts[writing ? 1 : 0];
}

struct operation {
    struct socket *socket;
    struct socket_call call;
    struct file_place *places; /* of the call, then of the result */
    const uint8_t *data;
    uint32_t size;
    struct socket_result *result;
    uint32_t room; /* bytes behind the result */
    struct file_answer *answer;
    struct socket *end; /* the new socket of SOCKET_CONNECT; else NULL */
    bool end_used;
    struct list notified;
};

static int64_t receive(struct operation *o)
{
    struct file_place *places = (struct file_place *)(o->result + 1);
    uint64_t need = (uint64_t)o->call.a + (uint64_t)o->call.b * sizeof(*places);
    int64_t count = o->call.a;

    if (o->call.b > SOCKET_FILES_MAX || need > o->room)
        return -EPROTO;
    if (o->call.draft != 0) {
        count = o->call.b == 0 ? draft_receive_locked(o->socket, &o->call, (uint8_t *)places, o->call.a) : -EPROTO;
        o->result->size = count > 0 ? (uint32_t)count : 0;
        return count < 0 ? count : 0;
    }
    if ((o->call.flags & MESSAGE_FIT) != 0)
        count = socket_fit_locked(o->socket, o->call.flags, o->call.asked, o->call.a, &o->notified);
    if (count < 0)
        return count;
    /* The data follows the places of the files. How many there are is known only afterwards, so the data is received
     * behind room for all, and then moved. */
    count = socket_receive_locked(
        o->socket, o->call.flags, (o->call.flags & MESSAGE_CREDENTIALS) != 0 ? &o->call.user : NULL,
        (uint8_t *)(places + o->call.b), (uint32_t)count, o->call.whole, places, o->call.b, o->result, &o->notified);
    if (count == -EAGAIN)
        o->answer->tenths = file_tenths(o->socket->timeouts[0]);
    if (count < 0)
        return count;
    o->result->size = (uint32_t)count;
    memmove(places + o->result->files, places + o->call.b, (size_t)count);
    return 0;
}

static int64_t act_locked(struct operation *o)
{
    struct socket *socket = o->socket;
    struct socket *full = NULL;
    int64_t value;

    switch (o->call.operation) {
    case SOCKET_BIND:
        return socket_bind_locked(socket, &o->call);
    case SOCKET_LISTEN:
        return socket_listen_locked(socket, &o->call, &o->notified);
    case SOCKET_CONNECT:
        value = socket->type == SOCKET_DATAGRAM
                    ? socket_connect_datagram_locked(socket, &o->call, &o->notified)
                    : socket_connect_locked(socket, &o->call, o->end, &o->end_used, o->answer, &o->notified);
        if (value == -EAGAIN)
            o->answer->tenths = file_tenths(socket->timeouts[1]);
        return value;
    case SOCKET_ACCEPT:
        if (o->room < sizeof(struct file_place))
            return -EPROTO;
        value = socket_accept_locked(socket, &o->call, (struct file_place *)(o->result + 1), o->result, &o->notified);
        if (value == -EAGAIN)
            o->answer->tenths = file_tenths(socket->timeouts[0]);
        return value;
    case SOCKET_SHUTDOWN:
        return socket_shutdown_locked(socket, &o->call, &o->notified);
    case SOCKET_SEND:
        value = socket_send_locked(socket, &o->call, o->places, o->data, o->size, &full, &o->result->draft,
                                   &o->notified);
        if (value == -EAGAIN)
            o->answer->tenths = file_tenths(socket->timeouts[1]);
        if (value == -EAGAIN && socket->type == SOCKET_DATAGRAM)
            socket_wait_for_locked(full, o->answer);
        o->result->length = value > 0 ? (uint32_t)value : 0;
        if (o->result->draft == 0 &&
            (value > 0 || (value == 0 && socket->type != SOCKET_STREAM))) /* no bytes are no message of a stream */
            o->result->flags |= MESSAGE_TOOK;
        return value < 0 ? value : 0;
    case SOCKET_RECEIVE:
        return receive(o);
    case SOCKET_DROP:
        draft_drop_locked(socket, o->call.draft);
        return 0;
    case SOCKET_NAME:
        socket_give_name(socket, o->result);
        return 0;
    case SOCKET_PEER:
        if (socket->state != SOCKET_CONNECTED || socket_peer_locked(socket, &o->notified) == NULL)
            return -ENOTCONN;
        socket_give_name(socket->peer, o->result);
        return 0;
    case SOCKET_GET_OPTION:
        value = socket_get_option_locked(socket, o->call.a, (uint8_t *)(o->result + 1), o->room);
        o->result->size = value > 0 ? (uint32_t)value : 0;
        return value < 0 ? value : 0;
    case SOCKET_SET_OPTION:
        return socket_set_option_locked(socket, o->call.a, o->data, o->size, &o->notified);
    default:
        return -EPROTO;
    }
}

static int64_t socket_operate(struct file *file, const struct file_request *request, const void *data, size_t size,
                              void *result, size_t room, struct file_answer *answer)
{
    struct operation o = {.socket = file->state, .answer = answer, .result = result};
    size_t files;
    int64_t value;

    if (request->special.what != SPECIAL_SOCKET)
        return -EINVAL;
    if (size < sizeof(o.call) || room < sizeof(*o.result))
        return -EPROTO;
    memcpy(&o.call, data, sizeof(o.call));
    files = o.call.files * sizeof(struct file_place);
    if (o.call.name_size > SOCKET_NAME_MAX || o.call.files > SOCKET_FILES_MAX || size - sizeof(o.call) < files)
        return -EPROTO;
    o.places = (struct file_place *)(uintptr_t)((const uint8_t *)data + sizeof(o.call));
    o.data = (const uint8_t *)o.places + files;
    o.size = (uint32_t)(size - sizeof(o.call) - files);
    o.room = (uint32_t)(room - sizeof(*o.result));
    if (o.call.operation == SOCKET_CONNECT && o.socket->type != SOCKET_DATAGRAM) {
        o.end = socket_make(o.socket->type, 0);
        if (o.end == NULL)
            return -ENOMEM;
    }
    *o.result = (struct socket_result){.flags = 0};
    list_init(&o.notified);
    spin_lock(&socket_lock);
    if (o.socket->closed || socket_is_condemned_locked(o.socket)) /* since it was found */
        value = -EBADF;
    else
        value = act_locked(&o);
    spin_unlock(&socket_lock);
    socket_notify(&o.notified);
    socket_sweep();
    if (o.end != NULL && !o.end_used)
        file_close(o.end->file);
    if (value < 0)
        return value;
    return (int64_t)(sizeof(*o.result) + o.result->files * sizeof(struct file_place) + o.result->size);
}

/* SOCKET is closed: disconnects it from its peer and from all sockets that send to it. */
static void leave_locked(struct socket *socket, struct list *notified)
{
    struct socket *peer = socket->peer;

    if (peer != NULL && socket->type != SOCKET_DATAGRAM && (!list_empty(&socket->queue) || !socket->accepted))
        peer->error = ECONNRESET; /* SOCKET has not received all that the peer has sent, or was never accepted */
    socket_set_peer_locked(socket, NULL);
    socket_tell_senders_locked(socket, notified);
}

static void release(struct file *file)
{
    struct socket *socket = file->state;
    struct list notified;
    struct node *named;

    list_init(&notified);
    spin_lock(&socket_lock);
    socket->closed = true;
    list_remove(&socket->name_node);
    list_remove(&socket->backlog_node);
    list_remove(&socket->held_node);
    named = socket->node;
    socket->node = NULL;
    leave_locked(socket, &notified);
    socket->state = SOCKET_NEW;
    socket_drop_queue_locked(socket);
    draft_drop_all_locked(socket);
    socket_refuse_locked(socket);
    spin_unlock(&socket_lock);
    if (named != NULL)
        node_put(named);
    socket_notify(&notified);
    socket_sweep();
}

static void forget(struct file *file)
{
    heap_free(file->state, sizeof(struct socket));
}

const struct file_kind socket_kind = {.socket = true,
                                      .read = socket_read,
                                      .write = socket_write,
                                      .poll = socket_poll,
                                      .control = socket_control,
                                      .operate = socket_operate,
                                      .timeout = socket_timeout,
                                      .release = release,
                                      .fewer = socket_collect,
                                      .forget = forget,
                                      .whole = true,
                                      .one_read = true};

static void switch_queue(struct file *file, void *context)
{
    const uint32_t *kernels = context;

    if (file->kind == &socket_kind)
        socket_switch_queue(file->state, kernels[0], kernels[1]);
}

void socket_switch(uint32_t from, uint32_t to)
{
    uint32_t kernels[2] = {from, to};

    file_each(switch_queue, kernels);
}

struct looking {
    void (*each)(struct file *file, void *context);
    void *context;
};

static void look_at_socket(struct file *file, void *context)
{
    const struct looking *looking = context;
    struct socket *socket = file->state;

    if (file->kind != &socket_kind)
        return;
    socket_queue_files_each(socket, looking->each, looking->context);
    list_for_each(node, &socket->backlog) {
        looking->each(container_of(node, struct socket, backlog_node)->file, looking->context);
        slice_check();
    }
}

void socket_files_each(void (*each)(struct file *file, void *context), void *context)
{
    struct looking looking = {each, context};

    file_each(look_at_socket, &looking);
}
