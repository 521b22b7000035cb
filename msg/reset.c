/* Resetting the channel to a peer. See the header. */
#include "msg/reset.h"

#include "kernel/abi/errno.h"
#include "msg/channel_internal.h"
#include "msg/inject.h"

static void send_reset_locked(struct peer *peer)
{
    for (uint32_t class = 0; class < MSG_CLASSES; class ++)
        peer->out[class].ring.next = peer->out[class].ring.known_taken = 0;
    peer->hint = 0;
    peer->wants = 0;
    peer->rung = 0;
    peer->started = peer->fenced = false;
    msg_set_blocked(peer, BLOCKED_UNREACHED, 0);
}

/* Moves what waits for room in a ring of PEER to DROPPED. */
static void unqueue_locked(struct peer *peer, struct list *dropped)
{
    for (uint32_t class = 0; class < MSG_CLASSES; class ++) {
        struct list *queue = &peer->out[class].queue;

        while (!list_empty(queue)) {
            struct msg_outgoing *outgoing = container_of(queue->next, struct msg_outgoing, node);

            list_remove(&outgoing->node);
            outgoing->queued = false;
            list_append(dropped, &outgoing->node);
        }
    }
}

void msg_peer_fence(uint32_t kernel)
{
    struct peer *peer = msg_peer(kernel);
    struct list dropped;

    if (peer == NULL)
        return;
    list_init(&dropped);
    spin_lock(&msg_rx_lock);
    spin_lock(&peer->tx_lock);
    peer->fenced = true;
    peer->started = false;
    msg_set_blocked(peer, BLOCKED_UNREACHED, BLOCKED_QUEUE);
    unqueue_locked(peer, &dropped);
    spin_unlock(&peer->tx_lock);
    msg_receive_fence_locked(peer);
    inject_reset(kernel);
    while (!list_empty(&dropped)) { /* before the requests fail: a requester's memory must not be in a queue then */
        struct msg_outgoing *outgoing = container_of(dropped.next, struct msg_outgoing, node);

        list_remove(&outgoing->node);
        msg_stats.late_epoch++;
        if (outgoing->done != NULL)
            outgoing->done(outgoing);
    }
    msg_requests_fail(kernel);
    msg_kept_orphan(kernel);
    spin_unlock(&msg_rx_lock);
}

int msg_peer_reset(uint32_t kernel)
{
    struct peer *peer = msg_peer(kernel);
    int error = 0;

    if (peer == NULL || !msg_call_reset(kernel))
        return peer == NULL ? -EINVAL : -EBUSY;
    spin_lock(&msg_rx_lock);
    spin_lock(&peer->tx_lock);
    for (uint32_t class = 0; class < MSG_CLASSES; class ++) {
        if (!list_empty(&peer->out[class].queue))
            error = -EBUSY;
    }
    if (error == 0) {
        send_reset_locked(peer);
        msg_receive_reset_locked(peer);
        inject_reset(kernel);
    }
    spin_unlock(&peer->tx_lock);
    spin_unlock(&msg_rx_lock);
    return error;
}
