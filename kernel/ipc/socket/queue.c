/* The queues of sockets. A packet is the bytes of one send, with the sender's credentials and name and the files that
 * it passes. Packets of a stream are joined where possible. Each file in a packet holds one open, of the file or of its
 * proxy. */
#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "kernel/ipc/socket/internal.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "msg/slice.h"

#define OVERHEAD 256u         /* bytes that a packet counts for in addition to its data */
#define DATAGRAM_OVERHEAD 32u /* bytes of SO_SNDBUF beyond the largest datagram, as on Linux */
#define DATAGRAMS_MOST 10u    /* in a queue, as Linux has it; one more is accepted */

struct spinlock socket_lock;

static struct packet *first_of(const struct socket *socket)
{
    return list_empty(&socket->queue) ? NULL : container_of(socket->queue.next, struct packet, node);
}

void socket_note_locked(struct socket *socket, struct list *notified)
{
    if (socket->notifying || !file_event_wanted(socket->file))
        return;
    socket->file->wanted = false;
    socket->notifying = true;
    file_pin(socket->file);
    list_append(notified, &socket->notified);
}

void socket_notify(struct list *notified)
{
    while (!list_empty(notified)) {
        struct socket *socket = container_of(notified->next, struct socket, notified);

        spin_lock(&socket_lock);
        list_remove(&socket->notified);
        socket->notifying = false; /* later changes count another event */
        spin_unlock(&socket_lock);
        file_event(socket->file->events);
        file_unpin(socket->file);
    }
}

void packet_add_locked(struct socket *to, struct packet *packet)
{
    list_append(&to->queue, &packet->node);
    socket_carries_locked(to, packet);
    to->packets++;
    to->queued += OVERHEAD + packet->size;
}

/* --- sending --- */

static void append(struct socket *to, struct packet *packet, const uint8_t *data, uint32_t size)
{
    memcpy(packet_data(packet) + packet->size, data, size);
    packet->size += size;
    to->queued += size;
}

static bool same_user(const struct socket_user *a, const struct socket_user *b)
{
    return a->pid == b->pid && a->uid == b->uid && a->gid == b->gid;
}

/* The last packet, if SIZE more bytes of the same sender can be appended to it; else NULL. */
static struct packet *joined(const struct socket *to, const struct socket_call *call, uint32_t size)
{
    struct packet *last = list_empty(&to->queue) ? NULL : container_of(to->queue.previous, struct packet, node);

    if (last == NULL || to->type != SOCKET_STREAM || call->files != 0 || last->files_room != 0 ||
        !same_user(&last->user, &call->user) || last->room - last->size < size)
        return NULL;
    return last;
}

/* Finds the socket that receives a datagram. 0 or an error. */
static int find_target(struct socket *socket, const struct socket_call *call, struct socket **out,
                       struct list *notified)
{
    int error;

    *out = socket_peer_locked(socket, notified);
    if (call->named != 0) {
        error = socket_name_find(socket->type, call->name, call->name_size, call->node, out);
        if (error != 0)
            return error;
        return socket_peer_locked(*out, notified) != NULL && (*out)->peer != socket ? -EPERM : 0;
    }
    if (socket->lost) {
        socket->lost = false;
        socket->state = SOCKET_NEW;
        return -ECONNREFUSED;
    }
    return *out != NULL ? 0 : -ENOTCONN;
}

/* How many of SIZE bytes TARGET's queue accepts now; -EAGAIN: none; -EMSGSIZE. */
static int64_t room_for(const struct socket *socket, const struct socket *target, uint32_t size)
{
    uint32_t used = target->queued;

    if (socket->type == SOCKET_DATAGRAM && target != socket && target->packets > DATAGRAMS_MOST)
        return -EAGAIN;
    if (socket->type != SOCKET_STREAM) {
        if (size > socket->send_room - DATAGRAM_OVERHEAD)
            return -EMSGSIZE;
        return used + size > socket->send_room && used > 0 ? -EAGAIN : (int64_t)size;
    }
    if (used >= socket->send_room)
        return -EAGAIN;
    return size < socket->send_room - used ? size : socket->send_room - used;
}

bool socket_writable_locked(const struct socket *socket, const struct socket *target)
{
    return target->queued * 4 <= socket->send_room &&
           (socket->type != SOCKET_DATAGRAM || target->packets <= DATAGRAMS_MOST);
}

int64_t socket_send_locked(struct socket *socket, const struct socket_call *call, const struct file_place *places,
                           const uint8_t *data, uint32_t size, struct socket **full, uint64_t *draft,
                           struct list *notified)
{
    struct socket *target = socket->peer;
    struct packet *packet;
    int64_t count;
    int error = 0;

    *draft = 0;
    if (socket->type == SOCKET_DATAGRAM) {
        if (socket->no_write)
            return -EPIPE;
        error = find_target(socket, call, &target, notified);
    } else if (socket->type == SOCKET_STREAM && call->named != 0) {
        return socket->state == SOCKET_CONNECTED ? -EISCONN : -EOPNOTSUPP;
    } else if (socket->state != SOCKET_CONNECTED) {
        error = -ENOTCONN;
    }
    if (error != 0)
        return error;
    if (socket->no_write || target == NULL || target->no_read)
        return -EPIPE;
    if (size == 0 && socket->type == SOCKET_STREAM)
        return 0;
    if ((call->flags & MESSAGE_PART) != 0 && socket->type != SOCKET_STREAM)
        return -EMSGSIZE;
    if (socket->type == SOCKET_STREAM && call->whole != 0)
        return -EPROTO;
    count = room_for(socket, target, call->whole != 0 ? call->whole : size);
    if (count < 0) {
        socket->file->wanted |= count == -EAGAIN;
        *full = target;
        return count;
    }
    if (call->whole != 0) {
        count = draft_send_locked(socket, call, places, data, size, target, draft);
        if (count > 0 && *draft == 0)
            socket_note_locked(target, notified);
        return count;
    }
    packet = joined(target, call, (uint32_t)count);
    if (packet == NULL) {
        packet = packet_make_whole(socket, call, places, (uint32_t)count, &error);
        if (packet == NULL)
            return error;
        packet_add_locked(target, packet);
    }
    append(target, packet, data, (uint32_t)count);
    socket_note_locked(target, notified);
    return count;
}

/* --- receiving --- */

/* SOCKET's queue has room again. Wakes its senders; threads that send datagrams to its name wait for its own events. */
static void note_senders_locked(struct socket *socket, struct list *notified)
{
    if (socket->type == SOCKET_DATAGRAM)
        socket_note_locked(socket, notified);
    socket_tell_senders_locked(socket, notified);
}

/* Gives the receiver the files of PACKET, with their opens. Files for which PLACES has no room stay in the packet, and
 * are closed when it is freed. */
static void give_files(struct packet *packet, struct file_place *places, uint32_t most, struct socket_result *result)
{
    uint32_t given = 0;

    if (packet->given)
        return;
    packet->given = true;
    for (; given < packet->files && given < most; given++) {
        struct file *file = packet->file[given];

        places[result->files++] = (struct file_place){.id = file->id, .kernel = file->kernel};
        socket_lands_locked(file);
        if (file->kernel != instance.kernel)
            file_unpin(file); /* the receiver owns the open */
    }
    if (given < packet->files)
        result->flags |= MESSAGE_CONTROL_CUT;
    for (uint32_t i = given; i < packet->files; i++)
        packet->file[i - given] = packet->file[i];
    packet->files -= given;
}

/* Takes PACKET out of SOCKET's queue; its bytes are counted by the caller. */
static void take_off_locked(struct socket *socket, struct packet *packet)
{
    list_remove(&packet->node);
    if (packet->holder != NULL)
        socket_unloads_locked(packet);
    socket->packets--;
    socket->queued -= OVERHEAD;
}

static void remove_packet(struct socket *socket, struct packet *packet)
{
    take_off_locked(socket, packet);
    packet_throw_locked(packet);
}

/* The result of a receive from an empty queue. */
static int64_t nothing_there(struct socket *socket)
{
    int64_t error = -socket->error;

    if (error != 0) {
        socket->error = 0;
        return error;
    }
    if (socket->no_read || (socket->lost && socket->type != SOCKET_DATAGRAM))
        return 0;
    socket->file->wanted = true;
    return -EAGAIN;
}

static void describe(const struct socket *socket, const struct packet *packet, struct socket_result *result)
{
    result->user = packet->user;
    result->flags |= MESSAGE_NAMED | (socket->credentials ? MESSAGE_CREDENTIALS : 0);
    result->name_size = packet->name_size;
    memcpy(result->name, packet->name, packet->name_size);
}

static int64_t receive_stream(struct socket *socket, uint32_t flags, const struct socket_user *from, uint8_t *data,
                              uint32_t size, struct file_place *places, uint32_t files, struct socket_result *result)
{
    struct list *node = socket->queue.next;
    uint32_t done = 0;

    describe(socket, first_of(socket), result);
    if (from == NULL && socket->credentials)
        from = &result->user;
    while (node != &socket->queue && done < size) {
        struct packet *packet = container_of(node, struct packet, node);
        uint32_t part = packet->size - packet->taken;

        node = node->next;
        if (from != NULL && !same_user(&packet->user, from))
            break;
        if (part > size - done)
            part = size - done;
        memcpy(data + done, packet_data(packet) + packet->taken, part);
        done += part;
        if (packet->files > 0 && !packet->given)
            node = &socket->queue; /* files end a receive, so that it returns those of one packet only */
        if ((flags & MESSAGE_PEEK) != 0)
            continue;
        packet->taken += part;
        socket->queued -= part;
        if (packet->files > 0)
            give_files(packet, places, files, result);
        if (packet->taken == packet->size)
            remove_packet(socket, packet);
    }
    result->length = done;
    return done;
}

int64_t socket_fit_locked(struct socket *socket, uint32_t flags, uint32_t asked, uint32_t size, struct list *notified)
{
    struct packet *first = first_of(socket);
    uint32_t fits = 0;

    list_for_each(node, &socket->queue) {
        const struct packet *packet = container_of(node, struct packet, node);
        uint32_t part = packet->size - packet->taken;

        if (part > asked - fits)
            part = asked - fits;
        if (part > size - fits)
            break;
        fits += part;
        if (socket->type != SOCKET_STREAM)
            return size;
    }
    if (fits > 0 || first == NULL)
        return fits > 0 ? fits : size;
    if (socket->type != SOCKET_STREAM && (flags & MESSAGE_PEEK) == 0) {
        socket->queued -= first->size;
        remove_packet(socket, first);
        note_senders_locked(socket, notified);
    }
    return -EFAULT;
}

int64_t socket_receive_locked(struct socket *socket, uint32_t flags, const struct socket_user *from, uint8_t *data,
                              uint32_t size, uint32_t whole, struct file_place *places, uint32_t files,
                              struct socket_result *result, struct list *notified)
{
    struct packet *packet = first_of(socket);
    uint32_t part;
    bool more, peek = (flags & MESSAGE_PEEK) != 0;

    if (socket->type == SOCKET_STREAM && socket->state != SOCKET_CONNECTED)
        return -EINVAL;
    if (socket->type == SOCKET_PACKET && socket->state != SOCKET_CONNECTED)
        return -ENOTCONN;
    if (packet == NULL)
        return nothing_there(socket);
    if (socket->type == SOCKET_STREAM) {
        part = (uint32_t)receive_stream(socket, flags, from, data, size, places, files, result);
        if ((flags & MESSAGE_PEEK) == 0)
            note_senders_locked(socket, notified);
        return part;
    }
    describe(socket, packet, result);
    part = packet->size < size ? packet->size : size;
    more = part < packet->size && part < whole;
    memcpy(data, packet_data(packet), part);
    result->length = packet->size;
    if (part < packet->size && (!more || whole < packet->size))
        result->flags |= MESSAGE_CUT;
    if (more && peek) {
        int64_t error = draft_keep_locked(socket, packet, true, result);

        if (error != 0)
            return error;
    }
    if (!peek) {
        give_files(packet, places, files, result);
        socket->queued -= packet->size;
        take_off_locked(socket, packet);
        if (more)
            draft_keep_locked(socket, packet, false, result);
        else
            packet_throw_locked(packet);
        note_senders_locked(socket, notified);
    }
    return part;
}

uint32_t socket_readable_locked(const struct socket *socket)
{
    const struct packet *packet = first_of(socket);

    if (packet == NULL)
        return 0;
    return socket->type == SOCKET_DATAGRAM ? packet->size : socket->queued - socket->packets * OVERHEAD;
}

/* --- packets that are not received --- */

void socket_drop_queue_locked(struct socket *socket)
{
    while (!list_empty(&socket->queue)) {
        struct packet *packet = first_of(socket);

        list_remove(&packet->node);
        if (packet->holder != NULL)
            socket_unloads_locked(packet);
        packet_throw_locked(packet);
    }
    socket->queued = socket->packets = 0;
}

static void switch_packets(struct list *packets, uint32_t from, uint32_t to)
{
    list_for_each(node, packets) {
        struct packet *packet = container_of(node, struct packet, node);

        slice_check();
        for (uint32_t i = 0; i < packet->files; i++) {
            struct file *proxy = packet->file[i], *file;

            if (proxy->kernel != from)
                continue;
            if (to != instance.kernel) {
                proxy->kernel = to;
                continue;
            }
            file = file_find(proxy->id); /* takes over the proxy's open, which keeps it open */
            if (file == NULL)
                panic("fs: file %lx, on its way in a socket, has not come from kernel %u", (unsigned long)proxy->id,
                      from);
            file_unpin(file);
            file_unpin(proxy);
            packet->file[i] = file;
        }
    }
}

void socket_switch_queue(struct socket *socket, uint32_t from, uint32_t to)
{
    switch_packets(&socket->queue, from, to);
    switch_packets(&socket->drafts, from, to);
}

static void packets_each(struct list *packets, void (*each)(struct file *file, void *context), void *context)
{
    list_for_each(node, packets) {
        const struct packet *packet = container_of(node, const struct packet, node);

        slice_check();
        for (uint32_t i = 0; i < packet->files; i++)
            each(packet->file[i], context);
    }
}

void socket_queue_files_each(struct socket *socket, void (*each)(struct file *file, void *context), void *context)
{
    packets_each(&socket->queue, each, context);
    packets_each(&socket->drafts, each, context);
}
