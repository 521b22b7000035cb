/* Creating and connecting sockets, one function for each operation. See kernel/ipc/socket/internal.h. */
#include "kernel/abi/errno.h"
#include "kernel/file/anonymous.h"
#include "kernel/instance/instance.h"
#include "kernel/ipc/socket/internal.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"

#define SOCKET_DEVICE 8u
#define BACKLOG_MOST 4096u /* SOMAXCONN */

struct socket *socket_make(uint32_t type, uint32_t flags)
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
    list_init(&socket->owing_node);
    list_init(&socket->notified);
    list_init(&socket->queue);
    list_init(&socket->drafts);
    list_init(&socket->backlog);
    list_init(&socket->backlog_node);
    list_init(&socket->name_node);
    list_init(&socket->flying_node);
    list_init(&socket->held_node);
    list_init(&socket->carriers);
    socket->file = file_create(&socket_kind, &facts, flags | 2, socket, NULL);
    if (socket->file == NULL) {
        heap_free(socket, sizeof(*socket));
        return NULL;
    }
    return socket;
}

static void join_locked(struct socket *a, struct socket *b)
{
    socket_set_peer_locked(a, b);
    socket_set_peer_locked(b, a);
    a->state = b->state = SOCKET_CONNECTED;
}

static int create_pair(uint32_t type, uint32_t flags, const struct socket_user *user, struct file *made[2])
{
    struct socket *a = socket_make(type, flags);
    struct socket *b = a != NULL ? socket_make(type, flags) : NULL;

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
    socket = socket_make(words[0], flags);
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

int64_t socket_bind_locked(struct socket *socket, const struct socket_call *call)
{
    if (socket->name_size != 0)
        return call->name_size == 0 ? 0 : -EINVAL;
    return socket_name_bind(socket, call->name, call->name_size, call->node);
}

int64_t socket_listen_locked(struct socket *socket, const struct socket_call *call, struct list *notified)
{
    if (socket->type == SOCKET_DATAGRAM)
        return -EOPNOTSUPP;
    if (socket->name_size == 0 || socket->state == SOCKET_CONNECTED)
        return -EINVAL;
    socket->backlog_most = call->a < BACKLOG_MOST ? call->a : BACKLOG_MOST;
    socket->state = SOCKET_LISTENING;
    socket->user = socket->peer_user = call->acting;
    socket_note_locked(socket, notified); /* connecting threads may wait for room in the backlog */
    return 0;
}

int64_t socket_connect_datagram_locked(struct socket *socket, const struct socket_call *call, struct list *notified)
{
    struct socket *target = NULL;
    int error = call->named != 0 ? socket_name_find(socket->type, call->name, call->name_size, call->node, &target) : 0;

    if (error != 0)
        return error;
    if (target != NULL && socket_peer_locked(target, notified) != NULL && target->peer != socket)
        return -EPERM; /* it is connected to another socket, and receives only from that */
    socket_set_peer_locked(socket, target);
    socket->lost = false;
    socket->state = target != NULL ? SOCKET_CONNECTED : SOCKET_NEW;
    socket_note_locked(socket, notified);
    return 0;
}

void socket_wait_for_locked(struct socket *socket, struct file_answer *answer)
{
    socket->file->wanted = true;
    answer->id = socket->file->id;
    answer->seen = __atomic_load_n(&socket->file->events->source.events, __ATOMIC_ACQUIRE);
}

/* The order of the checks is Linux's. */
int64_t socket_connect_locked(struct socket *socket, const struct socket_call *call, struct socket *end, bool *used,
                              struct file_answer *answer, struct list *notified)
{
    struct socket *target;
    int error = call->named != 0 ? socket_name_find(socket->type, call->name, call->name_size, call->node, &target)
                                 : -EINVAL;

    if (error != 0)
        return error;
    if (target->state != SOCKET_LISTENING || target->no_read)
        return -ECONNREFUSED;
    if (target->waiting > target->backlog_most) { /* the caller waits for the listener's events */
        socket_wait_for_locked(target, answer);
        return -EAGAIN;
    }
    if (socket->state != SOCKET_NEW)
        return socket->state == SOCKET_CONNECTED ? -EISCONN : -EINVAL;
    *used = true;
    join_locked(socket, end);
    memcpy(end->name, target->name, target->name_size);
    end->name_size = target->name_size; /* it is not in the list of names, so it cannot be found by its name */
    end->accepted = false;
    end->listener = target;
    end->credentials = target->credentials;
    socket->user = end->peer_user = call->acting;
    socket->writer = call->user;
    socket->peer_user = end->user = end->writer = target->user;
    list_append(&target->backlog, &end->backlog_node);
    target->waiting++;
    socket_note_locked(target, notified);
    socket_note_locked(socket, notified);
    return 0;
}

void socket_give_name(const struct socket *socket, struct socket_result *result)
{
    result->name_size = socket->name_size;
    memcpy(result->name, socket->name, socket->name_size);
}

int64_t socket_accept_locked(struct socket *socket, const struct socket_call *call, struct file_place *place,
                             struct socket_result *result, struct list *notified)
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
    socket_accepted_locked(end);
    end->file->flags = (call->flags & OPEN_NONBLOCK) | 2;
    *place = (struct file_place){.id = end->file->id, .kernel = instance.kernel};
    result->files = 1;
    if (end->peer != NULL)
        socket_give_name(end->peer, result);
    socket_note_locked(socket, notified);
    return 0;
}

int64_t socket_shutdown_locked(struct socket *socket, const struct socket_call *call, struct list *notified)
{
    struct socket *peer = socket->type == SOCKET_DATAGRAM ? NULL : socket->peer;

    if (call->a > 2)
        return -EINVAL;
    socket->no_read |= call->a != 1;
    socket->no_write |= call->a != 0;
    if (peer != NULL) {
        peer->no_write |= call->a != 1;
        peer->no_read |= call->a != 0;
        socket_note_locked(peer, notified);
    }
    socket_note_locked(socket, notified);
    return 0;
}
