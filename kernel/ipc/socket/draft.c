/* Drafts: messages of a socket that keeps their borders, which are sent and received by several requests. See
 * internal.h, and sockets.md for the states. */
#include "kernel/abi/errno.h"
#include "kernel/ipc/socket/internal.h"
#include "kernel/lib/string.h"

static uint64_t drafts; /* [l] the number of the last draft */

static struct packet *find_locked(const struct socket *socket, uint64_t number)
{
    list_for_each(node, &socket->drafts) {
        struct packet *packet = container_of(node, struct packet, node);

        if (packet->draft == number)
            return packet;
    }
    return NULL;
}

static uint64_t add_draft_locked(struct socket *socket, struct packet *packet)
{
    packet->draft = ++drafts;
    list_append(&socket->drafts, &packet->node);
    return packet->draft;
}

/* SIZE bytes of CALL's message: the first become a draft, which the last complete. NULL, and *ERROR. */
static struct packet *fill_locked(struct socket *socket, const struct socket_call *call, const uint8_t *data,
                                  uint32_t size, int *error)
{
    struct packet *packet;

    *error = -EPROTO;
    if (call->draft == 0)
        packet = packet_make(socket, &call->user, call->b, call->whole, error);
    else
        packet = find_locked(socket, call->draft);
    if (packet == NULL || packet->size != call->at || packet->room != call->whole || packet->files_room != call->b)
        return NULL;
    memcpy(packet_data(packet) + packet->size, data, size);
    packet->size += size;
    if (call->draft == 0)
        add_draft_locked(socket, packet);
    return packet;
}

int64_t draft_send_locked(struct socket *socket, const struct socket_call *call, const struct file_place *places,
                          const uint8_t *data, uint32_t size, struct socket *target, uint64_t *draft)
{
    uint32_t left = call->whole - call->at;
    struct packet *packet;
    int error;

    if (call->at > call->whole || size > left || (call->at == 0) != (call->draft == 0) || size == 0 ||
        call->b > SOCKET_FILES_MAX || (size == left ? call->files != call->b || call->draft == 0 : call->files != 0))
        return -EPROTO;
    packet = fill_locked(socket, call, data, size, &error);
    if (packet == NULL)
        return error;
    *draft = packet->draft;
    if (size < left)
        return size;
    error = packet_take_files(packet, places, call->files);
    if (error != 0) {
        packet->files = 0; /* the sender still owns them all */
        packet->size -= size;
        return error;
    }
    *draft = 0;
    list_remove(&packet->node);
    packet_add_locked(target, packet);
    return size;
}

int64_t draft_receive_locked(struct socket *socket, const struct socket_call *call, uint8_t *data, uint32_t size)
{
    struct packet *packet = find_locked(socket, call->draft);

    if (packet == NULL || call->at > packet->size || size > packet->size - call->at)
        return -EPROTO;
    memcpy(data, packet_data(packet) + call->at, size);
    if (call->at + size >= call->whole || call->at + size == packet->size)
        draft_drop_locked(socket, call->draft);
    return size;
}

int64_t draft_keep_locked(struct socket *socket, struct packet *packet, bool copy, struct socket_result *result)
{
    struct packet *kept = packet;
    int error;

    if (copy) {
        kept = packet_make(socket, &packet->user, 0, packet->size, &error);
        if (kept == NULL)
            return error;
        memcpy(packet_data(kept), packet_data(packet), packet->size);
        kept->size = packet->size;
    }
    result->draft = add_draft_locked(socket, kept);
    return 0;
}

void draft_drop_locked(struct socket *socket, uint64_t number)
{
    struct packet *packet = find_locked(socket, number);

    if (packet == NULL)
        return;
    list_remove(&packet->node);
    packet_throw_locked(packet);
}

void draft_drop_all_locked(struct socket *socket)
{
    while (!list_empty(&socket->drafts))
        draft_drop_locked(socket, container_of(socket->drafts.next, struct packet, node)->draft);
}
