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
    peer->started = false;
    msg_set_blocked(peer, BLOCKED_UNREACHED, 0);
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
