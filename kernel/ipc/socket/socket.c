/* Sockets: connecting, and what each state answers. See the header; bytes: queue.c, options: option.c.
 *
 * Long because it is all that is done with a socket, one function for each. */
#include "kernel/abi/errno.h"
#include "kernel/file/anonymous.h"
#include "kernel/fs/node/node.h"
#include "kernel/instance/instance.h"
#include "kernel/ipc/socket/internal.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"

#define SOCKET_DEVICE 8u
#define BACKLOG_MOST 4096u /* SOMAXCONN */
#define FIONREAD 0x541bu
#define TIOCOUTQ 0x5411u

static const struct file_kind socket_kind;

static struct socket *create(uint32_t type, uint32_t flags)
{
    struct file_facts facts = {.device = SOCKET_DEVICE, .mode = FILE_SOCKET | 0777};
    struct socket *socket = heap_alloc(sizeof(*socket));

    if (socket == NULL)
        return NULL;
    socket->type = type;
    socket->accepted = true;
    socket->send_room = socket->receive_room = SOCKET_BUFFER;
    list_init(&socket->peer_node);
    list_init(&socket->senders);
    list_init(&socket->told);
    list_init(&socket->queue);
    list_init(&socket->backlog);
    list_init(&socket->backlog_node);
    list_init(&socket->name_node);
    socket->file = file_create(&socket_kind, &facts, flags | 2, socket, NULL);
    if (socket->file == NULL) {
        heap_free(socket, sizeof(*socket));
        return NULL;
    }
    return socket;
}

static void set_peer_locked(struct socket *socket, struct socket *peer)
{
    list_remove(&socket->peer_node);
    socket->peer = peer;
    if (peer != NULL)
        list_append(&peer->senders, &socket->peer_node);
}

static void join_locked(struct socket *a, struct socket *b)
{
    set_peer_locked(a, b);
    set_peer_locked(b, a);
    a->state = b->state = SOCKET_CONNECTED;
}

static int create_pair(uint32_t type, uint32_t flags, const struct socket_user *user, struct file *made[2])
{
    struct socket *a = create(type, flags);
    struct socket *b = a != NULL ? create(type, flags) : NULL;

    if (b == NULL) {
        if (a != NULL)
            file_close(a->file);
        return -ENOMEM;
    }
    spin_lock(&socket_lock);
    join_locked(a, b);
    a->user = b->user = a->peer_user = b->peer_user = a->writer = b->writer = *user;
    spin_unlock(&socket_lock);
    made[0] = a->file;
    made[1] = b->file;
    return 0;
}

static int make_one(uint32_t flags, const void *data, size_t size, struct file *made[2])
{
    struct socket *socket;
    uint32_t words[2];

    if (size != sizeof(words))
        return -EPROTO;
    memcpy(words, data, sizeof(words));
    socket = create(words[0], flags);
    if (socket == NULL)
        return -ENOMEM;
    made[0] = socket->file;
    return 0;
}

static int make_pair(uint32_t flags, const void *data, size_t size, struct file *made[2])
{
    struct socket_pair_start pair;

    if (size != sizeof(pair))
        return -EPROTO;
    memcpy(&pair, data, sizeof(pair));
    return create_pair(pair.type, flags, &pair.user, made);
}

void socket_init(void)
{
    anonymous_register(ANONYMOUS_SOCKET, make_one);
    anonymous_register(ANONYMOUS_SOCKET_PAIR, make_pair);
}

/* --- connecting --- */

static int64_t bind_locked(struct socket *socket, const struct socket_call *call)
{
    if (socket->name_size != 0)
        return call->name_size == 0 ? 0 : -EINVAL;
    return socket_name_bind(socket, call->name, call->name_size, call->node);
}

static int64_t listen_locked(struct socket *socket, const struct socket_call *call, struct list *told)
{
    if (socket->type == SOCKET_DATAGRAM)
        return -EOPNOTSUPP;
    if (socket->name_size == 0 || socket->state == SOCKET_CONNECTED)
        return -EINVAL;
    socket->backlog_most = call->a < BACKLOG_MOST ? call->a : BACKLOG_MOST;
    socket->state = SOCKET_LISTENING;
    socket->user = socket->peer_user = call->acting;
    socket_note_locked(socket, told); /* who waits for room in the backlog */
    return 0;
}

static int64_t connect_datagram_locked(struct socket *socket, const struct socket_call *call, struct list *told)
{
    struct socket *target = NULL;
    int error = call->named != 0 ? socket_name_find(socket->type, call->name, call->name_size, call->node, &target) : 0;

    if (error != 0)
        return error;
    if (target != NULL && target->peer != NULL && target->peer != socket)
        return -EPERM; /* it receives from another only */
    set_peer_locked(socket, target);
    socket->lost = false;
    socket->state = target != NULL ? SOCKET_CONNECTED : SOCKET_NEW;
    socket_note_locked(socket, told);
    return 0;
}

/* Who is told -EAGAIN is to wait for the events of SOCKET, in place of its own. */
static void wait_for_locked(struct socket *socket, struct file_answer *answer)
{
    socket->file->wanted = true;
    answer->id = socket->file->id;
    answer->seen = __atomic_load_n(&socket->file->events->source.events, __ATOMIC_ACQUIRE);
}

/* END is a new socket of this kernel for the listener's side; *USED says whether it is needed. The order of the checks
 * is Linux's. */
static int64_t connect_locked(struct socket *socket, const struct socket_call *call, struct socket *end, bool *used,
                              struct file_answer *answer, struct list *told)
{
    struct socket *target;
    int error = call->named != 0 ? socket_name_find(socket->type, call->name, call->name_size, call->node, &target)
                                 : -EINVAL;

    if (error != 0)
        return error;
    if (target->state != SOCKET_LISTENING || target->no_read)
        return -ECONNREFUSED;
    if (target->waiting > target->backlog_most) { /* what the caller is to wait for is the listener */
        wait_for_locked(target, answer);
        return -EAGAIN;
    }
    if (socket->state != SOCKET_NEW)
        return socket->state == SOCKET_CONNECTED ? -EISCONN : -EINVAL;
    *used = true;
    join_locked(socket, end);
    memcpy(end->name, target->name, target->name_size);
    end->name_size = target->name_size; /* and is found by it no more than before */
    end->accepted = false;
    end->credentials = target->credentials;
    socket->user = end->peer_user = call->acting;
    socket->writer = call->user;
    socket->peer_user = end->user = end->writer = target->user;
    list_append(&target->backlog, &end->backlog_node);
    target->waiting++;
    socket_note_locked(target, told);
    socket_note_locked(socket, told);
    return 0;
}

static void give_name(const struct socket *socket, struct socket_result *result)
{
    result->name_size = socket->name_size;
    memcpy(result->name, socket->name, socket->name_size);
}

static int64_t accept_locked(struct socket *socket, const struct socket_call *call, struct file_place *place,
                             struct socket_result *result, struct list *told)
{
    struct socket *end;

    if (socket->type == SOCKET_DATAGRAM)
        return -EOPNOTSUPP;
    if (socket->state != SOCKET_LISTENING)
        return -EINVAL;
    if (list_empty(&socket->backlog)) {
        if (socket->no_read)
            return -EINVAL;
        socket->file->wanted = true;
        return -EAGAIN;
    }
    end = container_of(socket->backlog.next, struct socket, backlog_node);
    list_remove(&end->backlog_node);
    socket->waiting--;
    end->accepted = true;
    end->file->flags = (call->flags & OPEN_NONBLOCK) | 2;
    *place = (struct file_place){.id = end->file->id, .kernel = instance.kernel};
    result->files = 1;
    if (end->peer != NULL)
        give_name(end->peer, result);
    socket_note_locked(socket, told);
    return 0;
}

static int64_t shutdown_locked(struct socket *socket, const struct socket_call *call, struct list *told)
{
    struct socket *peer = socket->type == SOCKET_DATAGRAM ? NULL : socket->peer;

    if (call->a > 2)
        return -EINVAL;
    socket->no_read |= call->a != 1;
    socket->no_write |= call->a != 0;
    if (peer != NULL) {
        peer->no_write |= call->a != 1;
        peer->no_read |= call->a != 0;
        socket_note_locked(peer, told);
    }
    socket_note_locked(socket, told);
    return 0;
}

/* --- the file --- */

static int64_t socket_read(struct file *file, void *data, size_t size)
{
    struct socket_result result = {.flags = 0};
    struct list told;
    int64_t count;

    list_init(&told);
    spin_lock(&socket_lock);
    count = socket_receive_locked(file->state, 0, NULL, data, (uint32_t)size, NULL, 0, &result, &told);
    spin_unlock(&socket_lock);
    socket_tell(&told);
    socket_sweep();
    return count;
}

/* What is sent from SOCKET says by whom: as on Linux also if it wants that of others itself. */
static bool names_sender_locked(const struct socket *socket)
{
    return socket->credentials || (socket->peer != NULL && socket->peer->credentials);
}

static int64_t socket_write(struct file *file, const void *data, size_t size, uint32_t flags)
{
    struct socket *socket = file->state;
    struct socket_call call = {.user = socket->writer};
    struct socket *full;
    struct list told;
    int64_t count;

    (void)flags;
    if (size == FILE_CHUNK && socket->type != SOCKET_STREAM)
        return -EMSGSIZE; /* there may be more of it */
    list_init(&told);
    spin_lock(&socket_lock);
    if (names_sender_locked(socket))
        count = -FILE_WHO;
    else
        count = socket_send_locked(socket, &call, NULL, data, (uint32_t)size, &full, &told);
    spin_unlock(&socket_lock);
    socket_tell(&told);
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
    uint32_t room; /* behind the result */
    struct file_answer *answer;
    struct socket *end; /* for a connection */
    bool end_used;
    struct list told;
};

static int64_t receive(struct operation *o)
{
    struct file_place *places = (struct file_place *)(o->result + 1);
    uint64_t need = (uint64_t)o->call.a + (uint64_t)o->call.b * sizeof(*places);
    int64_t count = o->call.a;

    if (o->call.b > SOCKET_FILES_MAX || need > o->room)
        return -EPROTO;
    if ((o->call.flags & MESSAGE_FIT) != 0)
        count = socket_fit_locked(o->socket, o->call.flags, o->call.asked, o->call.a, &o->told);
    if (count < 0)
        return count;
    /* The data comes behind as many places as there are; it is put behind all, and moved. */
    count = socket_receive_locked(
        o->socket, o->call.flags, (o->call.flags & MESSAGE_CREDENTIALS) != 0 ? &o->call.user : NULL,
        (uint8_t *)(places + o->call.b), (uint32_t)count, places, o->call.b, o->result, &o->told);
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
        return bind_locked(socket, &o->call);
    case SOCKET_LISTEN:
        return listen_locked(socket, &o->call, &o->told);
    case SOCKET_CONNECT:
        value = socket->type == SOCKET_DATAGRAM
                    ? connect_datagram_locked(socket, &o->call, &o->told)
                    : connect_locked(socket, &o->call, o->end, &o->end_used, o->answer, &o->told);
        if (value == -EAGAIN)
            o->answer->tenths = file_tenths(socket->timeouts[1]);
        return value;
    case SOCKET_ACCEPT:
        if (o->room < sizeof(struct file_place))
            return -EPROTO;
        value = accept_locked(socket, &o->call, (struct file_place *)(o->result + 1), o->result, &o->told);
        if (value == -EAGAIN)
            o->answer->tenths = file_tenths(socket->timeouts[0]);
        return value;
    case SOCKET_SHUTDOWN:
        return shutdown_locked(socket, &o->call, &o->told);
    case SOCKET_SEND:
        value = socket_send_locked(socket, &o->call, o->places, o->data, o->size, &full, &o->told);
        if (value == -EAGAIN)
            o->answer->tenths = file_tenths(socket->timeouts[1]);
        if (value == -EAGAIN && socket->type == SOCKET_DATAGRAM)
            wait_for_locked(full, o->answer);
        o->result->length = value > 0 ? (uint32_t)value : 0;
        return value < 0 ? value : 0;
    case SOCKET_RECEIVE:
        return receive(o);
    case SOCKET_NAME:
        give_name(socket, o->result);
        return 0;
    case SOCKET_PEER:
        if (socket->state != SOCKET_CONNECTED || socket->peer == NULL)
            return -ENOTCONN;
        give_name(socket->peer, o->result);
        return 0;
    case SOCKET_GET_OPTION:
        value = socket_get_option_locked(socket, o->call.a, (uint8_t *)(o->result + 1), o->room);
        o->result->size = value > 0 ? (uint32_t)value : 0;
        return value < 0 ? value : 0;
    case SOCKET_SET_OPTION:
        return socket_set_option_locked(socket, o->call.a, o->data, o->size, &o->told);
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
        o.end = create(o.socket->type, 0);
        if (o.end == NULL)
            return -ENOMEM;
    }
    *o.result = (struct socket_result){.flags = 0};
    list_init(&o.told);
    spin_lock(&socket_lock);
    value = o.socket->closed ? -EBADF : act_locked(&o); /* found before it was closed: nothing is to refer to it */
    spin_unlock(&socket_lock);
    socket_tell(&o.told);
    socket_sweep();
    if (o.end != NULL && !o.end_used)
        file_close(o.end->file);
    if (value < 0)
        return value;
    return (int64_t)(sizeof(*o.result) + o.result->files * sizeof(struct file_place) + o.result->size);
}

/* Its peer, and whoever sends to it, have nobody there any more. */
static void leave_locked(struct socket *socket, struct list *told)
{
    struct socket *peer = socket->peer;

    if (peer != NULL && socket->type != SOCKET_DATAGRAM && (!list_empty(&socket->queue) || !socket->accepted))
        peer->error = ECONNRESET; /* it has sent what nobody has received */
    set_peer_locked(socket, NULL);
    while (!list_empty(&socket->senders)) {
        struct socket *sender = container_of(socket->senders.next, struct socket, peer_node);

        set_peer_locked(sender, NULL);
        sender->lost = true;
        socket_note_locked(sender, told);
    }
}

static void release(struct file *file)
{
    struct socket *socket = file->state;
    struct list told, refused;
    struct node *named;

    list_init(&told);
    list_init(&refused);
    spin_lock(&socket_lock);
    socket->closed = true;
    list_remove(&socket->name_node);
    named = socket->node;
    socket->node = NULL;
    leave_locked(socket, &told);
    socket->state = SOCKET_NEW;
    socket_drop_queue_locked(socket);
    while (!list_empty(&socket->backlog)) {
        struct list *node = socket->backlog.next;

        list_remove(node);
        list_append(&refused, node);
    }
    spin_unlock(&socket_lock);
    if (named != NULL)
        node_put(named);
    socket_tell(&told);
    while (!list_empty(&refused)) {
        struct socket *end = container_of(refused.next, struct socket, backlog_node);

        list_remove(&end->backlog_node);
        file_close(end->file);
    }
    socket_sweep();
}

static void forget(struct file *file)
{
    heap_free(file->state, sizeof(struct socket));
}

static const struct file_kind socket_kind = {.socket = true,
                                             .read = socket_read,
                                             .write = socket_write,
                                             .poll = socket_poll,
                                             .control = socket_control,
                                             .operate = socket_operate,
                                             .timeout = socket_timeout,
                                             .release = release,
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
