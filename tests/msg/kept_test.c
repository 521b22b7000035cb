/* Requests that are kept and answered later, among simulated peers.
 *
 * sources: msg/ring.c msg/message.c msg/channel.c msg/send.c msg/receive.c msg/request/call.c msg/request/kept.c
 *
 * sources: msg/request/multicast.c
 *
 * sources: msg/doorbell.c msg/request/request.c msg/request/gather.c msg/request/long_answer.c msg/fragment.c
 *
 * sources: msg/dispatch.c
 *
 * sources: msg/idle.c msg/stats.c msg/inject.c msg/trace.c msg/control.c msg/report.c boot/options/control.c
 *
 * sources: boot/options/options.c kernel/wait/completion.c */
#include "tests/msg/layer.h"

#include "msg/quiet.h"
#include "msg/request/long_answer.h"

static struct msg_kept kept[70];
static uint32_t kept_count, kept_done, kept_cancelled;

static void note_cancelled(struct msg_kept *k)
{
    kept_cancelled = 1 + (uint32_t)(k - kept);
}

static void note_done(struct msg_kept *k)
{
    (void)k;
    kept_done++;
}

static void keep(const struct msg *m)
{
    if (!msg_kinds[m->ticket.type].notice)
        msg_keep(m, &kept[kept_count++], note_cancelled);
}

ALONE(kept_word, "a request that is kept says so at once, and is answered later, once")
{
    const struct peers_message *m;

    begin(3, 1, "");
    respond = keep;
    send_numbers(PEER, MSG_ASK, 77, 1, 48);
    msg_poll();
    m = peers_take(PEER, MSG_ORDINARY);
    CHECK(m != NULL && m->reply && m->kept && !m->error && m->type == MSG_ASK && m->request == 77 && m->length == 0);
    expect_nothing();
    CHECK_EQ(kept_done, 0);
    msg_kept_reply(&kept[0], words, 48, note_done);
    CHECK_EQ(kept_done, 1);
    m = peers_take(PEER, MSG_ORDINARY);
    CHECK(m != NULL && m->reply && !m->kept && m->request == 77 && m->length == 48 && memcmp(m->data, words, 48) == 0);
    send_numbers(PEER, MSG_ASK_URGENT, 78, 1, 48);
    msg_poll();
    CHECK(peers_take(PEER, MSG_URGENT)->kept);
    msg_kept_reply_error(&kept[1], -EIO, note_done);
    m = peers_take(PEER, MSG_URGENT);
    CHECK(m != NULL && m->reply && m->error && m->request == 78 && m->length == 8);
    CHECK_EQ(kept_done, 2);
}

ALONE(kept_waits, "an answer to a kept request that finds no room waits in its own memory, and goes")
{
    uint64_t answer[6];
    const struct peers_message *m;

    begin(3, 1, "ring=4");
    respond = keep;
    send_numbers(PEER, MSG_ASK, 5, 1, 48);
    msg_poll();
    CHECK(peers_take(PEER, MSG_ORDINARY)->kept);
    for (uint32_t i = 0; i < 3; i++)
        CHECK_EQ(msg_notify(PEER, MSG_TELL, words, 48), 0);
    memcpy(answer, words, sizeof(answer));
    msg_kept_reply(&kept[0], answer, 48, note_done);
    memset(answer, 0, sizeof(answer)); /* the caller's copy is not needed any more */
    CHECK_EQ(kept_done, 0);
    for (uint32_t i = 0; i < 3; i++)
        CHECK(!peers_take(PEER, MSG_ORDINARY)->reply);
    expect_nothing();
    peers_signal(PEER);
    msg_poll();
    CHECK_EQ(kept_done, 1);
    m = peers_take(PEER, MSG_ORDINARY);
    CHECK(m != NULL && m->reply && m->request == 5 && memcmp(m->data, words, 48) == 0);
    CHECK_EQ(peers_waits, 0);
}

ALONE(kept_credit, "word that a request is kept gives its credit back, once, and its answer none")
{
    struct msg_asking askings[6];
    struct answer answers[6] = {{0}};
    uint16_t ids[6];

    begin(3, 1, "ring=4");
    for (uint32_t i = 0; i < 6; i++)
        msg_ask(&askings[i], PEER, MSG_ASK, words, 48, note_answer, &answers[i]);
    ids[0] = expect_request(MSG_ASK);
    expect_nothing();
    peers_send(PEER, MSG_ASK, PEERS_REPLY | PEERS_KEPT, ids[0], NULL, 0);
    msg_poll();
    ids[1] = expect_request(MSG_ASK);
    expect_nothing();
    peers_send(PEER, MSG_ASK, PEERS_REPLY | PEERS_KEPT, ids[0], NULL, 0); /* again: a wrong peer */
    msg_poll();
    expect_nothing();
    CHECK_EQ(msg_stats.late_reply, 1);
    reply_now(ids[0]);
    CHECK_EQ(answers[0].count, 1);
    expect_nothing();
    reply_now(ids[1]);
    CHECK_EQ(answers[1].count, 1);
    ids[2] = expect_request(MSG_ASK);
    expect_nothing();
}

ALONE(cancel_heard, "CANCEL reaches the keeper of just that request, of that kernel and type; others change nothing")
{
    struct msg_cancel cancel = {.request = 6, .type = MSG_ASK};

    begin(3, 1, "");
    respond = keep;
    send_numbers(PEER, MSG_ASK, 5, 3, 48);
    send_numbers(OTHER, MSG_ASK, 6, 1, 48);
    msg_poll();
    peers_send(PEER, MSG_CANCEL, 0, 0, &cancel, sizeof(cancel));
    msg_poll();
    CHECK_EQ(kept_cancelled, 2);
    kept_cancelled = 0;
    cancel.request = 9;
    peers_send(PEER, MSG_CANCEL, 0, 0, &cancel, sizeof(cancel));
    cancel = (struct msg_cancel){.request = 6, .type = MSG_ECHO};
    peers_send(PEER, MSG_CANCEL, 0, 0, &cancel, sizeof(cancel));
    msg_poll();
    CHECK_EQ(kept_cancelled, 0);
    msg_kept_reply(&kept[1], words, 48, NULL);
    cancel = (struct msg_cancel){.request = 6, .type = MSG_ASK};
    peers_send(PEER, MSG_CANCEL, 0, 0, &cancel, sizeof(cancel)); /* late */
    msg_poll();
    CHECK_EQ(kept_cancelled, 0);
}

/* A request to this kernel itself, which its own handler keeps. */
static void answer_own(const struct wait_reason *reason)
{
    (void)reason;
    CHECK_EQ(kept_count, 1);
    msg_kept_reply_long(&kept[0], got_long, 5000, note_done);
}

ALONE(own_request,
      "a task may ask its own kernel what a handler keeps, and gets the answer or the errno, of any length")
{
    static const struct msg_policy policy = {.end = WAIT_KILLABLE};
    static uint8_t reply[5000];

    begin(3, 1, "");
    respond = keep;
    peers_waiting = answer_own;
    for (uint32_t i = 0; i < sizeof(reply); i++)
        got_long[i] = (uint8_t)(i * 7);
    CHECK_EQ(msg_call_within(&policy, OWN, MSG_ECHO, words, 48, reply, sizeof(reply), "test", 0), 5000);
    CHECK(memcmp(reply, got_long, sizeof(reply)) == 0 && kept_done == 1);
    CHECK(got_count == 1 && got[0].ticket.kernel == OWN && got[0].length == 48);
    CHECK_EQ(msg_unanswered(), 0);
    expect_nothing();
}

static void end_own(const struct wait_reason *reason)
{
    (void)reason;
    peers_dying = true;
}

ALONE(own_given_up,
      "a task that is to die gives up what it asked its own kernel; the keeper is notified, and the answer is dropped")
{
    static const struct msg_policy policy = {.end = WAIT_KILLABLE};

    begin(3, 1, "");
    respond = keep;
    peers_waiting = end_own;
    CHECK_EQ(msg_call_within(&policy, OWN, MSG_ASK, words, 48, NULL, 0, "test", 0), -EINTR);
    CHECK(kept_cancelled == 1 && msg_unanswered() == 1);
    msg_kept_reply_error(&kept[0], -EIO, note_done);
    CHECK(kept_done == 1 && msg_stats.late_reply == 1 && msg_unanswered() == 0);
    expect_nothing();
}

/* Answers made in an object that goes with them. */
struct made {
    struct long_answer head;
    uint8_t bytes[1000];
};

static struct made *late;

static void make_answer(const struct msg *m)
{
    struct made *made = long_answer_create(sizeof(*made));

    CHECK(made != NULL);
    memset(made->bytes, 5, sizeof(made->bytes));
    if (m->ticket.request == 1) {
        long_answer_send(m, &made->head, made->bytes, sizeof(made->bytes));
    } else {
        long_answer_keep(m, &made->head);
        late = made;
    }
}

ALONE(long_answers,
      "an answer made in an object of its own goes at once or later, as bytes or as an errno, and frees it")
{
    uint64_t before = 0;

    begin(3, 1, "");
    respond = make_answer;
    for (uint32_t round = 0; round < 3; round++) { /* the first message of a row leaves something behind */
        uint32_t kept_words = 0, answers = 0;

        send_numbers(PEER, MSG_ECHO, 1, 2, 48);
        msg_poll();
        long_answer_give(&late->head, late->bytes, -EIO);
        for (const struct peers_message *m; (m = peers_take(PEER, MSG_ORDINARY)) != NULL;) {
            if (m->kept) {
                kept_words++;
                continue;
            }
            CHECK(m->request == 1 ? m->length == 1000 && m->data[999] == 5 : m->error && m->request == 2);
            answers++;
        }
        CHECK(kept_words == 2 && answers == 2);
        CHECK(round < 2 || peers_live_objects == before);
        before = peers_live_objects;
    }
    long_answer_free(long_answer_create(sizeof(struct made)));
    long_answer_free(NULL);
    CHECK_EQ(peers_live_objects, before);
}
