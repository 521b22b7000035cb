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
    peer->known = peer->started = peer->fenced = false;
    msg_set_blocked(peer, BLOCKED_UNREACHED, BLOCKED_LENT);
}

/* Moves what PEER has been lent to DONE. */
static void take_back_locked(struct peer *peer, struct list *done)
{
    while (!list_empty(&peer->lent)) {
        struct list *node = peer->lent.next;

        list_remove(node);
        list_append(done, node);
    }
}

/* Ends the messages in the list. */
static void end_all(struct list *list)
{
    while (!list_empty(list)) {
        struct msg_outgoing *outgoing = container_of(list->next, struct msg_outgoing, node);

        list_remove(&outgoing->node);
        if (outgoing->done != NULL)
            outgoing->done(outgoing);
    }
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
            msg_stats.late_epoch++;
            list_append(dropped, &outgoing->node);
        }
    }
}

void msg_peer_fence(uint32_t kernel)
{
    struct peer *peer = msg_peer(kernel);
    bool handling = msg_handling();
    struct list dropped;

    if (peer == NULL)
        return;
    list_init(&dropped);
    if (!handling)
        spin_lock(&msg_rx_lock);
    spin_lock(&peer->tx_lock);
    peer->fenced = true;
    peer->started = false;
    msg_set_blocked(peer, BLOCKED_UNREACHED, BLOCKED_QUEUE | BLOCKED_LENT);
    unqueue_locked(peer, &dropped);
    take_back_locked(peer, &dropped);
    spin_unlock(&peer->tx_lock);
    msg_receive_fence_locked(peer);
    inject_reset(kernel);
    end_all(&dropped); /* before the requests fail: a requester's memory must not be in a queue then */
    msg_requests_fail(kernel);
    msg_kept_orphan(kernel);
    if (!handling)
        spin_unlock(&msg_rx_lock);
}

int msg_peer_reset(uint32_t kernel)
{
    struct peer *peer = msg_peer(kernel);
    struct list returned;
    int error = 0;

    if (peer == NULL || !msg_call_reset(kernel))
        return peer == NULL ? -EINVAL : -EBUSY;
    spin_lock(&msg_rx_lock);
    spin_lock(&peer->tx_lock);
    for (uint32_t class = 0; class < MSG_CLASSES; class ++) {
        if (!list_empty(&peer->out[class].queue))
            error = -EBUSY;
    }
    list_init(&returned);
    if (error == 0) {
        take_back_locked(peer, &returned); /* it stands: it has copied what it will */
        send_reset_locked(peer);
        msg_receive_reset_locked(peer);
        inject_reset(kernel);
    }
    spin_unlock(&peer->tx_lock);
    end_all(&returned);
    spin_unlock(&msg_rx_lock);
    return error;
}
