/* A peer that has halted and starts again, among simulated peers.
 *
 * sources: msg/ring.c msg/message.c msg/channel.c msg/send.c msg/receive.c msg/call.c msg/kept.c msg/multicast.c
 *
 * sources: msg/doorbell.c msg/request.c msg/gather.c msg/fragment.c msg/dispatch.c
 *
 * sources: msg/idle.c msg/stats.c msg/inject.c msg/trace.c msg/control.c msg/report.c boot/options/control.c
 *
 * sources: msg/reset.c
 *
 * sources: boot/options/options.c kernel/wait/completion.c */
#include "msg/reset.h"
#include "tests/msg/layer.h"

/* What the builder does to the peer's own memory, and the peer to its state. */
static void build_again(uint32_t kernel)
{
    struct channel_head *head = peers_head(kernel);

    memset(head, 0, sizeof(*head));
    for (uint32_t class = 0; class < MSG_CLASSES; class ++)
        memset(peers_ring(kernel, OWN, class), 0, 64 * sizeof(struct peers_slot));
    memset(&peers[kernel], 0, sizeof(peers[kernel]));
}

ALONE(reset_again, "after a reset both directions begin at zero and carry messages again")
{
    begin(3, 1, "");
    for (uint32_t life = 0; life < 3; life++) {
        got_count = 0;
        send_numbers(PEER, MSG_TELL, 1, 11 + life, 48);
        send_numbers(PEER, MSG_TELL_URGENT, 1, 5, 48);
        msg_poll();
        CHECK_EQ(got_count, 16 + life);
        for (uint32_t i = 0; i < 7; i++) {
            CHECK_EQ(msg_notify(PEER, MSG_TELL, words, 48), 0);
            CHECK(peers_take(PEER, MSG_ORDINARY) != NULL);
        }
        msg_peer_start(PEER);
        CHECK_EQ(msg_peer_reset(PEER), 0);
        CHECK(!msg_peer_started(PEER) && !msg_peer_reachable(PEER));
        CHECK_EQ(msg_notify(PEER, MSG_TELL, words, 48), -EAGAIN);
        build_again(PEER);
        msg_poll();
        CHECK_EQ(got_count, 16 + life); /* nothing old is taken twice */
        msg_peer_reach(PEER);
    }
    CHECK_EQ(dropped(), 0);
}

ALONE(reset_refused, "a peer that owes an answer is not forgotten")
{
    static struct msg_asking asking;
    static struct answer answer;
    uint16_t id;

    begin(3, 1, "");
    msg_ask(&asking, PEER, MSG_ASK, words, 48, note_answer, &answer);
    CHECK_EQ(msg_peer_reset(PEER), -EBUSY);
    CHECK(msg_peer_reachable(PEER));
    id = expect_request(MSG_ASK);
    peers_send(PEER, MSG_ASK | MSG_REPLY_BIT, 0, id, words, 48);
    msg_poll();
    CHECK_EQ(answer.count, 1);
    CHECK_EQ(msg_peer_reset(PEER), 0);
    CHECK_EQ(msg_peer_reset(OWN), -EINVAL);
}
