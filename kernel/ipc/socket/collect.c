/* Sockets that only packets hold, and only packets of such sockets, as when a socket is sent through itself: nobody can
 * receive them any more, so they are closed. The idea is that of Linux's collector for AF_UNIX.
 *
 * A socket is suspected when all opens of its file are those of packets. A suspect is held from outside when one of
 * these packets is not in the queue of a suspect; a socket in the queue of one that is held is held, too. What remains
 * loses its packets, which closes it. A listener's queue includes those of the sockets in its backlog.
 *
 * An open that a message or a receiver has is no packet's, so such a socket is no suspect. Packets in queues of other
 * kernels have opens here that no packet here accounts for: circles over several kernels stay. */
#include "kernel/ipc/socket/internal.h"
#include "kernel/lib/list.h"

static struct list flying = {&flying, &flying}; /* [l] sockets of this kernel that are in packets */

static struct socket *socket_of(const struct file *file)
{
    return file->kind == &socket_kind ? file->state : NULL;
}

void socket_takes_off_locked(const struct file *file)
{
    struct socket *socket = socket_of(file);

    if (socket != NULL && socket->flying++ == 0)
        list_append(&flying, &socket->flying_node);
}

void socket_lands_locked(const struct file *file)
{
    struct socket *socket = socket_of(file);

    if (socket != NULL && --socket->flying == 0)
        list_remove(&socket->flying_node);
}

/* Calls EACH for the suspects in the packets of QUEUE. */
static void each_in_queue(struct list *queue, void (*each)(struct socket *socket, struct list *held), struct list *held)
{
    list_for_each(node, queue) {
        const struct packet *packet = container_of(node, struct packet, node);

        for (uint32_t i = 0; i < packet->files; i++) {
            struct socket *socket = socket_of(packet->file[i]);

            if (socket != NULL && socket->suspect)
                each(socket, held);
        }
    }
}

/* The same for the packets of SOCKET. */
static void each_of(struct socket *socket, void (*each)(struct socket *socket, struct list *held), struct list *held)
{
    each_in_queue(&socket->queue, each, held);
    list_for_each(node, &socket->backlog)
        each_in_queue(&container_of(node, struct socket, backlog_node)->queue, each, held);
}

static void count_inner(struct socket *socket, struct list *held)
{
    (void)held;
    socket->inner++;
}

static void hold(struct socket *socket, struct list *held)
{
    socket->suspect = false;
    list_append(held, &socket->held_node);
}

static bool find_suspects_locked(void)
{
    bool found = false;

    list_for_each(node, &flying) {
        struct socket *socket = container_of(node, struct socket, flying_node);

        socket->suspect = __atomic_load_n(&socket->file->opens, __ATOMIC_ACQUIRE) == socket->flying;
        socket->inner = 0;
        found |= socket->suspect;
    }
    return found;
}

static void acquit_locked(void)
{
    struct list held;

    list_init(&held);
    list_for_each(node, &flying) {
        struct socket *socket = container_of(node, struct socket, flying_node);

        if (socket->suspect)
            each_of(socket, count_inner, NULL);
    }
    list_for_each(node, &flying) {
        struct socket *socket = container_of(node, struct socket, flying_node);

        if (socket->suspect && socket->inner < socket->flying)
            hold(socket, &held);
    }
    while (!list_empty(&held)) {
        struct socket *socket = container_of(held.next, struct socket, held_node);

        list_remove(&socket->held_node);
        each_of(socket, hold, &held);
    }
}

void socket_collect(void)
{
    if (__atomic_load_n(&flying.next, __ATOMIC_RELAXED) == &flying)
        return;
    spin_lock(&socket_lock);
    if (find_suspects_locked()) {
        acquit_locked();
        list_for_each(node, &flying) {
            struct socket *socket = container_of(node, struct socket, flying_node);

            if (!socket->suspect)
                continue;
            socket->suspect = false;
            socket_drop_queue_locked(socket);
            list_for_each(end, &socket->backlog)
                socket_drop_queue_locked(container_of(end, struct socket, backlog_node));
        }
    }
    spin_unlock(&socket_lock);
    socket_sweep();
}
