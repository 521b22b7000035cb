/* A peer that has halted and starts again, among simulated peers.
 *
 * sources: msg/ring.c msg/message.c msg/channel.c msg/send.c msg/receive.c msg/request/call.c msg/request/kept.c
 *
 * sources: msg/request/multicast.c
 *
 * sources: msg/doorbell.c msg/request/request.c msg/request/gather.c msg/fragment.c msg/dispatch.c
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
        CHECK_EQ(msg_peers_known(), 0);
        CHECK_EQ(msg_notify(PEER, MSG_TELL, words, 48), -EAGAIN);
        build_again(PEER);
        msg_poll();
        CHECK_EQ(got_count, 16 + life); /* nothing old is taken twice */
        msg_peer_reach(PEER);
        CHECK_EQ(msg_peers_known(), 0); /* not before it is said again */
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

#define CREDITS 16u /* requests that a peer has at a time, with rings of 64 slots */

ALONE(fenced_asks, "the death of a peer completes each request to it once, also those that were not sent")
{
    static struct msg_asking asking[CREDITS + 4];
    static struct answer answers[CREDITS + 4], more;
    uint16_t first;

    begin(3, 1, "");
    for (uint32_t i = 0; i < CREDITS + 4; i++)
        msg_ask(&asking[i], PEER, MSG_ASK, words, 48, note_answer, &answers[i]);
    first = expect_request(MSG_ASK);
    msg_peer_fence(PEER);
    for (uint32_t i = 0; i < CREDITS + 4; i++) {
        CHECK_EQ(answers[i].count, 1);
        CHECK_EQ(answers[i].length, -EHOSTDOWN);
    }
    CHECK(msg_peer_fenced(PEER) && !msg_peer_reachable(PEER) && !msg_peer_fenced(OTHER));
    peers_send(PEER, MSG_ASK | MSG_REPLY_BIT, 0, first, words, 48); /* an answer that was under way */
    msg_poll();
    CHECK_EQ(answers[0].count, 1);
    CHECK(msg_stats.late_epoch > 0);
    msg_ask(&asking[0], PEER, MSG_ASK, words, 48, note_answer, &more);
    CHECK_EQ(more.count, 1);
    CHECK_EQ(more.length, -EHOSTDOWN);
    CHECK_EQ(msg_notify(PEER, MSG_TELL, words, 48), -EAGAIN);
    CHECK_EQ(msg_peer_reset(PEER), 0); /* nothing is open any more */
    build_again(PEER);
    msg_peer_reach(PEER);
    CHECK(!msg_peer_fenced(PEER) && msg_peer_reachable(PEER));
    msg_ask(&asking[0], PEER, MSG_ASK, words, 48, note_answer, &more);
    first = expect_request(MSG_ASK);
    peers_send(PEER, MSG_ASK | MSG_REPLY_BIT, 0, first, words, 48);
    msg_poll();
    CHECK_EQ(more.count, 2);
    CHECK_EQ(more.length, 48);
}

ALONE(fenced_queue, "what waits for room in the rings of a peer that dies is let go, and is not sent to its next life")
{
    static struct msg_outgoing outgoing[80];

    begin(3, 1, "");
    for (uint32_t i = 0; i < 80; i++)
        msg_post(&outgoing[i], PEER, MSG_TELL, words, 48, NULL);
    CHECK(outgoing[79].queued);
    msg_peer_fence(PEER);
    for (uint32_t i = 0; i < 80; i++)
        CHECK(!outgoing[i].queued);
    CHECK_EQ(msg_peer_reset(PEER), 0);
    build_again(PEER);
    msg_peer_reach(PEER);
    peers_signal(PEER);
    msg_poll();
    expect_nothing();
}

ALONE(fenced_rings, "nothing is taken from a peer that has died, whenever it comes into sight")
{
    begin(3, 1, "");
    send_numbers(PEER, MSG_TELL, 1, 3, 48);
    msg_peer_fence(PEER);
    send_numbers(PEER, MSG_TELL_URGENT, 1, 3, 48);
    msg_poll();
    CHECK_EQ(got_count, 0);
    CHECK(!msg_peer_reachable(PEER)); /* a hint does not bring it back */
    send_numbers(OTHER, MSG_TELL, 1, 2, 48);
    msg_poll();
    CHECK_EQ(got_count, 2);
    CHECK(msg_stats.late_epoch >= 3);
}

static struct msg_kept kept_here;
static uint32_t dones;

static void keep_it(const struct msg *m)
{
    if (m->ticket.type != MSG_ASK)
        return;
    msg_keep(m, &kept_here, NULL);
}

static void count_done(struct msg_kept *kept)
{
    (void)kept;
    dones++;
}

ALONE(fenced_kept, "the answer to a request that a dead peer had asked is dropped, also when it runs again")
{
    begin(3, 1, "");
    respond = keep_it;
    peers_send(PEER, MSG_ASK, 0, 7, words, 48);
    msg_poll();
    CHECK_EQ(msg_kept_count(), 1);
    CHECK(peers_take(PEER, MSG_ORDINARY) != NULL); /* that it is kept */
    msg_peer_fence(PEER);
    CHECK_EQ(msg_peer_reset(PEER), 0);
    build_again(PEER);
    msg_peer_reach(PEER);
    msg_kept_reply(&kept_here, words, 48, count_done);
    CHECK_EQ(dones, 1);
    CHECK_EQ(msg_kept_count(), 0);
    expect_nothing();
}

static bool part_left;

static void fence_in_handler(const struct msg *m)
{
    if (m->ticket.kernel == OTHER)
        part_left = msg_peer_fence(PEER);
}

ALONE(fenced_in_parts,
      "a handler ends part of what is under way to a dead peer, each once, and says whether more is left")
{
    static struct msg_asking asking[80];
    static struct answer answers[80];
    static struct msg_outgoing outgoing[160];
    uint32_t parts = 0, failed = 0, failed_before = 0;

    begin(3, 1, "");
    for (uint32_t i = 0; i < 160; i++)
        msg_post(&outgoing[i], PEER, MSG_TELL, words, 48, NULL);
    for (uint32_t i = 0; i < 80; i++)
        msg_ask(&asking[i], PEER, MSG_ASK, words, 48, note_answer, &answers[i]);
    respond = fence_in_handler;
    do {
        peers_send(OTHER, MSG_TELL, 0, 0, words, 48);
        msg_poll();
        CHECK(msg_peer_fenced(PEER) && ++parts < 20);
        failed_before = failed;
        failed = 0;
        for (uint32_t i = 0; i < 80; i++)
            failed += answers[i].count;
        CHECK(failed - failed_before <= 32);
        CHECK(failed == 0 || !outgoing[159].queued); /* the queue comes first */
        if (part_left)
            CHECK_EQ(msg_peer_reset(PEER), -EBUSY);
    } while (part_left);
    for (uint32_t i = 0; i < 80; i++)
        CHECK(answers[i].count == 1 && answers[i].length == -EHOSTDOWN);
    CHECK(parts >= 3);
    CHECK_EQ(msg_peer_reset(PEER), 0);
}

#define KEPT 50u

static struct msg_kept many_kept[2 * KEPT];
static uint32_t many_count, told[2 * KEPT];

static void tell_kept(struct msg_kept *kept)
{
    told[kept - many_kept]++;
}

/* Keeps what is asked; a message of OTHER is the order to do a part of the fence of PEER. */
static void keep_or_fence(const struct msg *m)
{
    if (m->ticket.type == MSG_ASK)
        msg_keep(m, &many_kept[many_count++], tell_kept);
    else
        part_left = msg_peer_fence(PEER);
}

/* FROM's requests are kept, KEPT of them. */
static void keep_many(uint32_t from)
{
    for (uint16_t i = 0; i < KEPT; i++) {
        peers_send(from, MSG_ASK, 0, (uint16_t)(i + 1), words, 48);
        msg_poll();
        CHECK(peers_take(from, MSG_ORDINARY) != NULL); /* that it is kept */
    }
}

static void order_part(uint32_t from)
{
    peers_send(from, MSG_TELL, 0, 0, words, 48);
    msg_poll();
}

static uint32_t told_of(uint32_t from, uint32_t to)
{
    uint32_t sum = 0;

    for (uint32_t i = from; i < to; i++) {
        CHECK(told[i] <= 1);
        sum += told[i];
    }
    return sum;
}

ALONE(fenced_keepers,
      "keepers of a dead peer's requests are told once each in parts, past those that are answered meanwhile")
{
    begin(3, 1, "");
    respond = keep_or_fence;
    keep_many(PEER);
    order_part(OTHER);
    CHECK(part_left && told_of(0, KEPT) == 32);
    CHECK_EQ(msg_peer_reset(PEER), -EBUSY);
    msg_kept_reply(&many_kept[32], words, 48, count_done); /* where the look goes on */
    msg_kept_reply(&many_kept[0], words, 48, count_done);  /* and one that it has passed */
    CHECK(dones == 2 && msg_kept_count() == KEPT - 2);
    memset(&many_kept[32], 0xee, sizeof(many_kept[32]));
    order_part(OTHER);
    CHECK(!part_left && told[32] == 0 && told_of(0, KEPT) == KEPT - 1);
    CHECK_EQ(msg_peer_reset(PEER), 0);
}

ALONE(fenced_beside, "a peer that stands in good order is reset while another one is fenced in parts")
{
    begin(3, 1, "");
    respond = keep_or_fence;
    keep_many(PEER);
    order_part(OTHER);
    CHECK(part_left);
    CHECK_EQ(msg_peer_reset(OTHER), 0);
    CHECK_EQ(msg_peer_reset(PEER), -EBUSY);
}

ALONE(fenced_two, "a second peer that dies between two parts has its keepers told, and the first one's are told once")
{
    begin(3, 1, "");
    respond = keep_or_fence;
    keep_many(OTHER);
    keep_many(PEER);
    order_part(OTHER);
    CHECK(part_left && told_of(0, KEPT) == 0 && told_of(KEPT, 2 * KEPT) == 32);
    msg_peer_fence(OTHER); /* a task, all of it */
    CHECK(told_of(0, KEPT) == KEPT && told_of(KEPT, 2 * KEPT) == KEPT);
    CHECK(msg_peer_reset(OTHER) == 0 && msg_peer_reset(PEER) == 0);
}

/* The memory in which SOURCE's notes at RECEIVER lie. */
static uint64_t *notes_in(uint32_t receiver, uint32_t source)
{
    uint8_t *rings = (uint8_t *)(void *)peers_ring(receiver, source, MSG_ORDINARY);

    return (uint64_t *)(void *)(rings + peers_rings - MSG_NOTES_SIZE);
}

ALONE(notes,
      "what a kernel notes at a peer is in the peer's memory, and what the peer notes here is there until a reset")
{
    volatile uint64_t *own;
    const volatile uint64_t *others;

    begin(3, 1, "ring=4");
    own = msg_notes_at(PEER);
    others = msg_notes_of(PEER);
    CHECK(msg_notes_at(OWN) == NULL && msg_notes_of(OWN) == NULL && msg_notes_of(KERNELS_MAX) == NULL);
    own[0] = 1;
    own[MSG_NOTES_SIZE / 8 - 1] = 2;
    CHECK_EQ(notes_in(PEER, OWN)[0], 1);
    CHECK_EQ(notes_in(PEER, OWN)[MSG_NOTES_SIZE / 8 - 1], 2);
    notes_in(OWN, PEER)[0] = 3;
    notes_in(OWN, PEER)[MSG_NOTES_SIZE / 8 - 1] = 4;
    notes_in(OWN, OTHER)[0] = 5;
    CHECK_EQ(others[0], 3);
    msg_peer_fence(PEER);
    CHECK_EQ(others[0], 3);
    CHECK_EQ(msg_peer_reset(PEER), 0);
    CHECK_EQ(others[0] | others[MSG_NOTES_SIZE / 8 - 1], 0);
    CHECK_EQ(*(const volatile uint64_t *)msg_notes_of(OTHER), 5);
}
