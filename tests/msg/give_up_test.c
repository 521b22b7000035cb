/* Giving up among simulated peers: calls whose time is over, or whose task is to die, wherever their request is by
 * then.
 *
 * sources: msg/ring.c msg/message.c msg/channel.c msg/send.c msg/receive.c msg/request/call.c msg/request/kept.c
 *
 * sources: msg/request/multicast.c
 *
 * sources: msg/doorbell.c msg/request/request.c msg/request/gather.c msg/fragment.c msg/dispatch.c
 *
 * sources: msg/idle.c msg/stats.c msg/inject.c msg/trace.c msg/control.c msg/report.c boot/options/control.c
 *
 * sources: boot/options/options.c kernel/wait/completion.c */
#include "tests/msg/layer.h"

static uint8_t long_bytes[MSG_MAX];
static uint32_t steps;
static uint16_t steps_id;

static int call_within(uint64_t timeout, bool killable, uint32_t type, const void *data, uint32_t length, void *reply,
                       uint32_t room)
{
    struct msg_policy policy = {.timeout = timeout, .end = killable ? WAIT_KILLABLE : WAIT_FIRM};

    return msg_call_within(&policy, PEER, (enum msg_type)type, data, length, reply, room, "test", 0);
}

ALONE(timeout_sent,
      "a call gives up at its time; its late answer is dropped and counted, and only then its credit is free")
{
    struct msg_asking asking;
    struct answer answer = {0};
    uint64_t start;
    uint16_t id;

    begin(3, 1, "ring=4");
    start = clock_now();
    CHECK_EQ(call_within(5000000, false, MSG_ASK, words, 48, NULL, 0), -ETIMEDOUT);
    CHECK(clock_now() - start >= 5000000 && clock_now() - start < 6000000);
    CHECK_EQ(msg_stats.timed_out, 1);
    id = expect_request(MSG_ASK);
    msg_ask(&asking, PEER, MSG_ASK, words, 48, note_answer, &answer);
    expect_nothing();
    reply_now(id);
    CHECK_EQ(msg_stats.late_reply, 1);
    id = expect_request(MSG_ASK);
    reply_now(id);
    CHECK_EQ(answer.count, 1);
}

ALONE(timeout_unsent, "a call that gives up while its request waits for room takes it back: the peer never sees it")
{
    begin(3, 1, "ring=4");
    for (uint32_t i = 0; i < 3; i++)
        CHECK_EQ(msg_notify(PEER, MSG_TELL, words, 48), 0);
    for (uint32_t i = 0; i < 50; i++) {
        CHECK_EQ(call_within(1000, false, MSG_ASK, words, 48, NULL, 0), -ETIMEDOUT);
        CHECK_EQ(call_within(1000, false, MSG_ECHO, long_bytes, 1000, NULL, 0), -ETIMEDOUT);
    }
    CHECK_EQ(msg_peers[PEER]->blocked, 0);
    for (uint32_t i = 0; i < 3; i++)
        CHECK_EQ(peers_take(PEER, MSG_ORDINARY)->type, MSG_TELL);
    peers_signal(PEER);
    msg_poll();
    expect_nothing();
    peers_waiting = echo; /* the credit is free */
    CHECK_EQ(call(MSG_ECHO, words, 8, long_bytes, 8), 8);
    CHECK_EQ(msg_stats.late_reply, 0);
}

ALONE(timeout_credit, "a call that gives up while it waits for a credit leaves the line; those behind it go on")
{
    struct msg_asking first, last;
    struct answer answers[2] = {{0}};
    uint16_t id;

    begin(3, 1, "ring=4");
    msg_ask(&first, PEER, MSG_ASK, words, 48, note_answer, &answers[0]);
    CHECK_EQ(call_within(1000, false, MSG_ASK, words, 48, NULL, 0), -ETIMEDOUT);
    msg_ask(&last, PEER, MSG_ASK, words, 48, note_answer, &answers[1]);
    CHECK_EQ(call_within(1000, false, MSG_ASK, words, 48, NULL, 0), -ETIMEDOUT);
    id = expect_request(MSG_ASK);
    expect_nothing();
    reply_now(id);
    id = expect_request(MSG_ASK);
    reply_now(id);
    expect_nothing();
    CHECK(answers[0].count == 1 && answers[1].count == 1);
    CHECK_EQ(msg_stats.late_reply, 0);
}

static uint64_t deadline_passed;

/* The deadline passes while the request is partly in the ring; then the peer takes the rest. */
static void take_slowly(const struct wait_reason *reason)
{
    struct peers_slot slot;

    if (strcmp(reason->what, "test") == 0) {
        peers_pass(2000000);
        deadline_passed++;
        return;
    }
    while (peers_take_slot(PEER, MSG_ORDINARY, &slot)) {
        CHECK_EQ(slot.header >> 49 & 0x7ff, steps);
        steps_id = (uint16_t)(slot.header >> 16);
        steps++;
    }
    peers_signal(PEER);
    msg_poll();
}

ALONE(timeout_half_sent, "a call that gives up while its request is partly in the ring first sends the rest of it")
{
    begin(3, 1, "ring=4");
    peers_waiting = take_slowly;
    CHECK_EQ(call_within(1000000, false, MSG_ECHO, long_bytes, 2000, NULL, 0), -ETIMEDOUT);
    CHECK(deadline_passed > 0);
    while (steps < (2000 + 47) / 48)
        take_slowly(&(struct wait_reason){.what = "rest"});
    expect_nothing();
    peers_send(PEER, MSG_ECHO, PEERS_REPLY, steps_id, words, 48);
    msg_poll();
    CHECK_EQ(msg_stats.late_reply, 1);
    peers_waiting = echo;
    CHECK_EQ(call(MSG_ECHO, words, 8, long_bytes, 8), 8);
}

static void keep_then_pass(const struct wait_reason *reason)
{
    (void)reason;
    if (steps++ == 0) {
        steps_id = expect_request(MSG_ASK);
        peers_send(PEER, MSG_ASK, PEERS_REPLY | PEERS_KEPT, steps_id, NULL, 0);
    } else {
        peers_pass(10000000);
    }
    msg_poll();
}

static void expect_cancel(uint16_t id)
{
    const struct peers_message *m = peers_take(PEER, MSG_ORDINARY);
    struct msg_cancel cancel;

    CHECK(m != NULL && m->type == MSG_CANCEL && m->length == sizeof(cancel));
    memcpy(&cancel, m->data, sizeof(cancel));
    CHECK(cancel.request == id && cancel.type == MSG_ASK);
    expect_nothing();
}

ALONE(timeout_kept, "a peer that keeps a request which is given up gets one CANCEL, and its answer is dropped")
{
    begin(3, 1, "ring=4");
    peers_waiting = keep_then_pass;
    CHECK_EQ(call_within(1000000, false, MSG_ASK, words, 48, NULL, 0), -ETIMEDOUT);
    expect_cancel(steps_id);
    reply_now(steps_id);
    expect_nothing();
    CHECK_EQ(msg_stats.late_reply, 1);
}

ALONE(timeout_then_kept,
      "a peer that keeps a request which was given up before gets one CANCEL, and its answer is dropped")
{
    uint16_t id;

    begin(3, 1, "ring=4");
    CHECK_EQ(call_within(1000, false, MSG_ASK, words, 48, NULL, 0), -ETIMEDOUT);
    id = expect_request(MSG_ASK);
    peers_send(PEER, MSG_ASK, PEERS_REPLY | PEERS_KEPT, id, NULL, 0);
    msg_poll();
    expect_cancel(id);
    peers_send(PEER, MSG_ASK, PEERS_REPLY | PEERS_KEPT, id, NULL, 0);
    msg_poll();
    expect_nothing();
    reply_now(id);
    peers_waiting = echo;
    CHECK_EQ(call(MSG_ASK, words, 48, long_bytes, 48), 48);
}

ALONE(cancel_no_room, "a CANCEL that finds no room is left out, and nothing waits for it")
{
    uint16_t id;

    begin(3, 1, "ring=4");
    CHECK_EQ(call_within(1000, false, MSG_ASK, words, 48, NULL, 0), -ETIMEDOUT);
    id = expect_request(MSG_ASK);
    for (uint32_t i = 0; i < 3; i++)
        CHECK_EQ(msg_notify(PEER, MSG_TELL, words, 48), 0);
    peers_send(PEER, MSG_ASK, PEERS_REPLY | PEERS_KEPT, id, NULL, 0);
    msg_poll();
    for (uint32_t i = 0; i < 3; i++)
        CHECK_EQ(peers_take(PEER, MSG_ORDINARY)->type, MSG_TELL);
    peers_signal(PEER);
    msg_poll();
    expect_nothing();
}

static void die(const struct wait_reason *reason)
{
    (void)reason;
    peers_dying = true;
}

ALONE(killed, "a call whose task is to die gives up if it may, and waits on if it may not")
{
    uint16_t id;

    begin(3, 1, "ring=4");
    peers_waiting = die;
    CHECK_EQ(call_within(0, true, MSG_ASK, words, 48, NULL, 0), -EINTR);
    CHECK_EQ(msg_stats.cancelled, 1);
    id = expect_request(MSG_ASK);
    reply_now(id);
    CHECK_EQ(msg_stats.late_reply, 1);
    CHECK_EQ(call_within(0, true, MSG_ASK, words, 48, NULL, 0), -EINTR); /* dying from the start */
    reply_now(expect_request(MSG_ASK));
    peers_waiting = echo;
    CHECK_EQ(call_within(0, false, MSG_ASK, words, 48, long_bytes, 48), 48);
    CHECK_EQ(call(MSG_ASK, words, 48, long_bytes, 48), 48);
}

static void answer_and_pass(const struct wait_reason *reason)
{
    peers_pass(10000000);
    echo(reason);
}

ALONE(answer_at_deadline, "an answer that is there when the time is over counts")
{
    begin(3, 1, "");
    peers_waiting = answer_and_pass;
    CHECK_EQ(call_within(1000000, true, MSG_ASK, words, 48, long_bytes, 48), 48);
    CHECK_EQ(msg_stats.timed_out, 0);
}

/* Want of memory. */
