/* Sockets that only packets hold, and only packets of such sockets, as when a socket is sent through itself: nobody can
 * receive them any more, so they are closed. The idea is that of Linux's collector for AF_UNIX.
 *
 * A socket is suspected when all opens of its file are those of packets. A suspect is held from outside when one of
 * these packets is not in the queue of a suspect; a socket in the queue of one that is held is held, too. What remains
 * loses the packets that hold sockets, which closes it. A listener's packets include those of the sockets in its
 * backlog.
 *
 * An open that a message or a receiver has is no packet's, so such a socket is no suspect. Packets in queues of other
 * kernels have opens here that no packet here accounts for: circles over several kernels stay.
 *
 * Who has found a file before its last descriptor was closed may still operate on it, or open it once more to send it.
 * So what remains in the end is condemned: as with a file that is closed between the two, whoever comes then gets
 * -EBADF.
 *
 * A search is made in passes over the sockets in packets. A worker makes it in slices if there are many of them, and
 * looks at a socket, or at a packet, in each step. What programs do between two slices cannot harm it: a suspect that
 * is put into a packet or taken out of one is held from then on (`touch`), and so is what is in packets that have got
 * another holder. What remains in the end was not touched since it was first looked at, so all that was found of it
 * holds at once; and as nobody can receive it, and nobody can use it, it stays so. */
#include "kernel/ipc/socket/internal.h"
#include "kernel/lib/list.h"
#include "msg/slice.h"
#include "tasks/remote/work.h"

#define AT_ONCE 32u       /* with more opens of sockets in packets a worker searches */
#define STEPS_AT_ONCE 16u /* of the worker, each with the files of a packet at most */

static struct list flying = {&flying, &flying}; /* [l] sockets of this kernel that are in packets */
static uint32_t opens;                          /* [l] that packets have of them */

/* A search. The first three passes go over all sockets in packets, and move them from UNSEEN to FLYING. */
enum pass {
    PASS_NONE,
    PASS_SUSPECT, /* which sockets are suspected */
    PASS_COUNT,   /* which opens packets of suspects have */
    PASS_HOLD,    /* who is held from outside */
    PASS_SPREAD,  /* who is in packets of those that are held */
    PASS_CLOSE    /* the rest loses its packets; these pass over all sockets once more */
};
static enum pass pass;                                /* [l] */
static bool searching;                                /* [l] a worker searches, or is about to */
static bool again;                                    /* [l] somebody has asked for a search during this one */
static struct list unseen = {&unseen, &unseen};       /* [l] sockets that this pass has to look at */
static struct list held = {&held, &held};             /* [l] sockets whose packets PASS_SPREAD has to look at */
static struct list carriers = {&carriers, &carriers}; /* [l] packets of one socket that this pass has to look at */
static struct list moved = {&moved, &moved};          /* [l] packets that PASS_SPREAD has to look at, too */

static struct socket *socket_of(const struct file *file)
{
    return file->kind == &socket_kind ? file->state : NULL;
}

/* --- what sends and receives tell --- */

static void hold(struct socket *socket)
{
    socket->suspect = false;
    list_append(&held, &socket->held_node);
}

static void touch(struct socket *socket)
{
    if (socket->suspect && pass != PASS_CLOSE)
        hold(socket);
}

bool socket_is_condemned_locked(const struct socket *socket)
{
    return socket->condemned || (socket->suspect && pass == PASS_CLOSE);
}

bool socket_is_condemned_file_locked(const struct file *file)
{
    const struct socket *socket = socket_of(file);

    return socket != NULL && socket_is_condemned_locked(socket);
}

/* SOCKET is looked at no more by this search. */
static void judge(struct socket *socket)
{
    socket->condemned = socket_is_condemned_locked(socket);
    socket->suspect = false;
}

void socket_takes_off_locked(const struct file *file)
{
    struct socket *socket = socket_of(file);

    if (socket == NULL)
        return;
    touch(socket);
    opens++;
    if (socket->flying++ == 0)
        list_append(&flying, &socket->flying_node);
}

void socket_lands_locked(const struct file *file)
{
    struct socket *socket = socket_of(file);

    if (socket == NULL)
        return;
    touch(socket);
    opens--;
    if (--socket->flying != 0)
        return;
    list_remove(&socket->flying_node);
    judge(socket);
}

/* Whether one of PACKET's files is a socket of this kernel. */
static bool has_socket(const struct packet *packet)
{
    for (uint32_t i = 0; i < packet->files; i++) {
        if (socket_of(packet->file[i]) != NULL)
            return true;
    }
    return false;
}

void socket_carries_locked(struct socket *socket, struct packet *packet)
{
    if (!has_socket(packet))
        return;
    packet->holder = socket->listener != NULL ? socket->listener : socket;
    list_append(&packet->holder->carriers, &packet->carrier_node);
}

void socket_unloads_locked(struct packet *packet)
{
    packet->holder = NULL;
    list_remove(&packet->carrier_node);
}

void socket_accepted_locked(struct socket *socket)
{
    socket->listener = NULL;
    list_for_each(node, &socket->queue) {
        struct packet *packet = container_of(node, struct packet, node);

        if (packet->holder == NULL)
            continue;
        packet->holder = socket;
        list_remove(&packet->carrier_node);
        list_append(pass != PASS_NONE ? &moved : &socket->carriers, &packet->carrier_node);
    }
}

/* --- the search --- */

/* Looks at the first packet of LIST, CARRIERS or MOVED, and gives it back to its holder. */
static void look_at_packet_locked(struct list *list)
{
    struct packet *packet = container_of(list->next, struct packet, carrier_node);

    if (pass == PASS_CLOSE && list == &carriers) { /* its holder is about to be closed: what it counts is of no use */
        list_remove(&packet->node);
        socket_unloads_locked(packet);
        packet_throw_locked(packet);
        return;
    }
    list_remove(&packet->carrier_node);
    list_append(&packet->holder->carriers, &packet->carrier_node);
    for (uint32_t i = 0; i < packet->files && pass != PASS_CLOSE; i++) {
        struct socket *socket = socket_of(packet->file[i]);

        if (socket == NULL || !socket->suspect)
            continue;
        if (pass == PASS_COUNT)
            socket->inner++;
        else
            hold(socket);
    }
}

/* Whether anything but packets has opens of SOCKET's file. */
static bool is_open_elsewhere(const struct socket *socket)
{
    return __atomic_load_n(&socket->file->opens, __ATOMIC_ACQUIRE) != socket->flying;
}

static void look_at_socket_locked(void)
{
    struct socket *socket = container_of(unseen.next, struct socket, flying_node);

    list_remove(&socket->flying_node);
    list_append(&flying, &socket->flying_node);
    if (pass == PASS_SUSPECT) {
        socket->suspect = !is_open_elsewhere(socket);
        socket->inner = 0;
    } else if (socket->suspect && pass == PASS_HOLD) {
        if (socket->inner < socket->flying || is_open_elsewhere(socket)) /* it may have been opened meanwhile */
            hold(socket);
    } else if (socket->suspect) {
        list_append_all(&carriers, &socket->carriers);
        if (pass == PASS_CLOSE)
            judge(socket);
    }
}

static void begin_pass_locked(enum pass next)
{
    pass = next;
    if (next != PASS_SPREAD)
        list_append_all(&unseen, &flying);
}

/* One step. False: the search is over. */
static bool step_locked(void)
{
    if (!list_empty(&carriers)) {
        look_at_packet_locked(&carriers);
    } else if (!list_empty(&moved) && pass >= PASS_SPREAD) {
        look_at_packet_locked(&moved);
    } else if (!list_empty(&unseen)) {
        look_at_socket_locked();
    } else if (!list_empty(&held) && pass == PASS_SPREAD) {
        struct socket *socket = container_of(held.next, struct socket, held_node);

        list_remove(&socket->held_node);
        list_append_all(&carriers, &socket->carriers);
    } else if (pass < PASS_CLOSE) {
        begin_pass_locked(pass + 1);
    } else {
        pass = PASS_NONE;
    }
    return pass != PASS_NONE;
}

static void search_in_slices(struct work *work)
{
    bool more = true;

    (void)work;
    while (more) {
        spin_lock(&socket_lock);
        again = false;
        begin_pass_locked(PASS_SUSPECT);
        for (uint32_t steps = 1; step_locked(); steps++) {
            if (steps % STEPS_AT_ONCE != 0)
                continue;
            spin_unlock(&socket_lock);
            slice_check();
            spin_lock(&socket_lock);
        }
        more = searching = again;
        spin_unlock(&socket_lock);
        socket_sweep();
    }
}

void socket_collect(void)
{
    static struct work work = {.run = search_in_slices};
    bool submit = false;

    if (__atomic_load_n(&opens, __ATOMIC_RELAXED) == 0)
        return;
    spin_lock(&socket_lock);
    if (searching) {
        again = true;
    } else if (opens > AT_ONCE) {
        submit = searching = true;
    } else {
        begin_pass_locked(PASS_SUSPECT);
        while (step_locked())
            continue;
    }
    spin_unlock(&socket_lock);
    if (submit)
        work_submit(&work);
    else
        socket_sweep();
}
