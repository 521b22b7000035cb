/* Resetting the channel to a peer. See the header. */
#include "msg/reset.h"

#include "kernel/abi/errno.h"
#include "msg/channel_internal.h"
#include "msg/inject.h"
#include "msg/slice.h"

#define FENCE_PART 32u /* messages, requests and kept requests that end before messages are looked for */

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

/* Moves what waits for room in a ring of PEER to DROPPED, up to MOST messages; returns true if others are left. */
static bool unqueue_locked(struct peer *peer, struct list *dropped, uint32_t most)
{
    bool left = false;

    for (uint32_t class = 0; class < MSG_CLASSES; class ++) {
        struct list *queue = &peer->out[class].queue;

        for (; !list_empty(queue) && most > 0; most--) {
            struct msg_outgoing *outgoing = container_of(queue->next, struct msg_outgoing, node);

            list_remove(&outgoing->node);
            outgoing->queued = false;
            msg_stats.late_epoch++;
            list_append(dropped, &outgoing->node);
        }
        left |= !list_empty(queue);
    }
    return left;
}

/* Fences PEER, and ends up to FENCE_PART of each kind of what is under way. False: nothing is left. With rx_lock held.
 */
static bool fence_part_locked(struct peer *peer)
{
    struct list dropped;
    bool first, queued, orphans;

    list_init(&dropped);
    spin_lock(&peer->tx_lock);
    first = !peer->fenced;
    peer->fenced = true;
    peer->started = false;
    msg_set_blocked(peer, BLOCKED_UNREACHED, BLOCKED_QUEUE | BLOCKED_LENT);
    queued = unqueue_locked(peer, &dropped, FENCE_PART);
    take_back_locked(peer, &dropped);
    spin_unlock(&peer->tx_lock);
    if (first) {
        msg_receive_fence_locked(peer);
        inject_reset(peer->kernel);
    }
    end_all(&dropped);
    orphans = msg_kept_orphan(first, FENCE_PART);
    /* A requester's memory must not be in a queue when its request fails. */
    return queued || msg_requests_fail(peer->kernel, FENCE_PART) || orphans;
}

bool msg_peer_fence(uint32_t kernel)
{
    struct peer *peer = msg_peer(kernel);
    bool more;

    if (peer == NULL || msg_handling())
        return peer != NULL && fence_part_locked(peer);
    do {
        spin_lock(&msg_rx_lock);
        more = fence_part_locked(peer);
        spin_unlock(&msg_rx_lock);
        slice_check();
    } while (more);
    return false;
}

int msg_peer_reset(uint32_t kernel)
{
    struct peer *peer = msg_peer(kernel);
    struct list returned;
    int error = 0;

    if (peer == NULL || !msg_call_reset(kernel) || msg_kept_unorphaned(kernel))
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
