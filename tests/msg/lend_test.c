/* Long messages whose bytes are lent, among simulated peers: one slot, who may still read the bytes, and what a faulty
 * peer lends.
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

#define LONG 5000u

static uint8_t own_bytes[MSG_MAX], peer_bytes[MSG_MAX];

static void begin_lending(const char *options)
{
    begin(3, 1, options);
    peers_own_from = own_bytes;
    peers_own_to = own_bytes + sizeof(own_bytes);
    peers_lent_from = peer_bytes;
    peers_lent_to = peer_bytes + sizeof(peer_bytes);
    fill_bytes(own_bytes, sizeof(own_bytes), 3);
    fill_bytes(peer_bytes, sizeof(peer_bytes), 4);
}

/* The peer lends LENGTH bytes at ADDRESS. */
static void lend_at(uint32_t type, uint64_t flags, uint32_t request, const void *address, uint32_t length)
{
    uint64_t place = (uint64_t)(uintptr_t)address;

    peers_put(PEER, peers_class(type), peers_header(PEER, type, request, length) | flags | PEERS_LENT, &place,
              sizeof(place));
    msg_poll();
}

static uint8_t wants(void)
{
    return peers_head(PEER)->wants[OWN];
}

static uint32_t done_count;

static void note_done(struct msg_outgoing *outgoing)
{
    (void)outgoing;
    done_count++;
}

/* The next message to the peer, which is lent: it comes right. */
static const struct peers_message *expect_lent(uint32_t type, uint32_t length)
{
    const struct peers_message *m = peers_take(PEER, peers_class(type));

    CHECK(m != NULL && m->type == type && m->lent && m->length == length && bytes_right(m->data, length, 3));
    return m;
}

static void echo_lent(const struct wait_reason *reason)
{
    const struct peers_message *m;

    (void)reason;
    while ((m = peers_take(PEER, MSG_ORDINARY)) != NULL) {
        memcpy(peer_bytes, m->data, m->length);
        if (m->length > MSG_SHORT)
            lend_at(m->type, PEERS_REPLY, m->request, peer_bytes, m->length);
        else
            peers_send(PEER, m->type, PEERS_REPLY, m->request, m->data, m->length);
    }
    peers_signal(PEER);
    msg_poll();
}

static void check_echo(const char *options)
{
    static const uint32_t lengths[] = {0, 48, 49, 192, 193, 1000, 4096, 65535, 65536};
    static uint8_t reply[MSG_MAX];

    begin_lending(options);
    peers_waiting = echo_lent;
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        memset(reply, 0, sizeof(reply));
        CHECK_EQ(call(MSG_ECHO, own_bytes, lengths[i], reply, lengths[i]), lengths[i]);
        CHECK(bytes_right(reply, lengths[i], 3));
    }
    CHECK_EQ(dropped(), 0);
    CHECK_EQ(peers_open, 0);
}

ALONE(lent_both_ways, "requests and answers of any length come whole when their bytes are lent")
{
    check_echo("");
}

ALONE(lent_both_ways_4, "the same in rings of 4 slots, while messages are traced")
{
    check_echo("ring=4 trace=on");
}

ALONE(lent_request, "a lent request takes one slot and no wish: its answer ends the loan")
{
    static struct msg_asking asking;
    static struct answer answer;
    uint64_t taken;
    uint16_t id;

    begin_lending("");
    taken = peers[PEER].taken[MSG_ORDINARY];
    msg_ask(&asking, PEER, MSG_ECHO, own_bytes, MSG_MAX, note_answer, &answer);
    id = expect_lent(MSG_ECHO, MSG_MAX)->request;
    CHECK_EQ(peers[PEER].taken[MSG_ORDINARY], taken + 1);
    CHECK_EQ(wants(), 0);
    peers_send(PEER, MSG_ECHO, PEERS_REPLY, id, words, 8);
    msg_poll();
    CHECK(answer.count == 1 && answer.length == 8);
    CHECK_EQ(dropped(), 0);
}

ALONE(lent_short, "up to 192 bytes, and bytes that cannot be lent, travel in slots")
{
    static uint8_t elsewhere[LONG];
    struct msg_outgoing outgoing;

    begin_lending("");
    fill_bytes(elsewhere, LONG, 3);
    done_count = 0;
    msg_post(&outgoing, PEER, MSG_TELL_BYTES, own_bytes, 192, note_done);
    CHECK(!peers_take(PEER, MSG_ORDINARY)->lent);
    msg_post(&outgoing, PEER, MSG_TELL_BYTES, elsewhere, 1000, note_done);
    CHECK(!peers_take(PEER, MSG_ORDINARY)->lent);
    CHECK_EQ(done_count, 2);
    CHECK_EQ(wants(), 0);
    peers_own_to = own_bytes + 500; /* in part */
    msg_post(&outgoing, PEER, MSG_TELL_BYTES, own_bytes, 501, note_done);
    CHECK(!peers_take(PEER, MSG_ORDINARY)->lent);
}

ALONE(lent_notice,
      "the memory of a lent notice is in use until the wish that goes with it is answered, and short messages "
      "pass meanwhile")
{
    struct msg_outgoing outgoing;

    begin_lending("");
    done_count = 0;
    msg_post(&outgoing, PEER, MSG_TELL_BYTES, own_bytes, LONG, note_done);
    CHECK_EQ(wants(), 1);
    CHECK_EQ(msg_notify(PEER, MSG_TELL, words, 48), 0);
    expect_lent(MSG_TELL_BYTES, LONG);
    msg_poll();
    peers_signal(PEER); /* of something else */
    msg_poll();
    CHECK_EQ(done_count, 0);
    CHECK_EQ(wants(), 1);
    peers_answer_wish(PEER);
    msg_poll();
    CHECK_EQ(done_count, 1);
    CHECK_EQ(peers_take(PEER, MSG_ORDINARY)->type, MSG_TELL);
    peers_answer_wish(PEER);
    msg_poll();
    CHECK_EQ(done_count, 1);
    CHECK_EQ(wants(), 1);
}

ALONE(lent_slot_behind, "a loan to a peer that answers no wish ends when the slot behind it has been taken")
{
    struct msg_outgoing outgoing;

    begin_lending("");
    done_count = 0;
    msg_post(&outgoing, PEER, MSG_TELL_BYTES, own_bytes, LONG, note_done);
    CHECK_EQ(msg_notify(PEER, MSG_TELL, words, 48), 0);
    expect_lent(MSG_TELL_BYTES, LONG);
    peers_signal(PEER);
    msg_poll();
    CHECK_EQ(done_count, 0);
    CHECK_EQ(peers_take(PEER, MSG_ORDINARY)->type, MSG_TELL);
    peers_signal(PEER);
    msg_poll();
    CHECK_EQ(done_count, 1);
    CHECK_EQ(wants(), 1);
    peers_answer_wish(PEER);
    msg_poll();
    CHECK_EQ(done_count, 1);
    CHECK_EQ(wants(), 1);
}

ALONE(lent_behind_wish, "what is lent while a wish is open is in use until the next wish is answered")
{
    static struct msg_outgoing outgoing[3];

    begin_lending("");
    done_count = 0;
    for (uint32_t i = 0; i < 2; i++)
        msg_post(&outgoing[i], PEER, MSG_TELL_BYTES, own_bytes, LONG, note_done);
    CHECK_EQ(wants(), 1);
    expect_lent(MSG_TELL_BYTES, LONG); /* it has copied the first one, and sees no other yet */
    peers_answer_wish(PEER);
    msg_post(&outgoing[2], PEER, MSG_TELL_BYTES, own_bytes, LONG, note_done);
    CHECK_EQ(wants(), 1); /* until the answer is followed */
    msg_poll();
    CHECK_EQ(done_count, 1);
    CHECK_EQ(wants(), 2);
    expect_lent(MSG_TELL_BYTES, LONG);
    peers_signal(PEER);
    msg_poll();
    CHECK_EQ(done_count, 1);
    expect_lent(MSG_TELL_BYTES, LONG);
    peers_answer_wish(PEER);
    msg_poll();
    CHECK_EQ(done_count, 3);
    CHECK_EQ(wants(), 2);
}

ALONE(lent_wishes_wrap, "loans end rightly when the number of wishes wraps")
{
    struct msg_outgoing outgoing;

    begin_lending("");
    for (uint32_t i = 0; i < 600; i++) {
        done_count = 0;
        msg_post(&outgoing, PEER, MSG_TELL_BYTES, own_bytes, LONG, note_done);
        expect_lent(MSG_TELL_BYTES, LONG);
        msg_poll();
        CHECK_EQ(done_count, 0);
        peers_answer_wish(PEER);
        msg_poll();
        CHECK_EQ(done_count, 1);
    }
    CHECK_EQ(wants(), 600 % 256);
}

ALONE(lent_without_room, "a lent message that finds no room goes out when there is some, behind those before it")
{
    static struct msg_outgoing outgoing[5];
    uint32_t lent = 0;

    begin_lending("ring=4");
    done_count = 0;
    for (uint32_t i = 0; i < 5; i++)
        msg_post(&outgoing[i], PEER, MSG_TELL_BYTES, own_bytes, LONG + i, note_done);
    CHECK_EQ(done_count, 0);
    for (uint32_t i = 0; i < 20 && done_count < 5; i++) {
        const struct peers_message *m;

        while ((m = peers_take(PEER, MSG_ORDINARY)) != NULL) {
            CHECK(m->lent && m->length == LONG + lent && bytes_right(m->data, m->length, 3));
            lent++;
        }
        CHECK(done_count <= lent);
        peers_answer_wish(PEER);
        msg_poll();
    }
    CHECK_EQ(lent, 5);
    CHECK_EQ(done_count, 5);
    CHECK_EQ(msg_notify(PEER, MSG_TELL, words, 48), 0); /* nothing is blocked */
    CHECK(peers_take(PEER, MSG_ORDINARY) != NULL);
}

static struct msg_kept kept;
static uint32_t kept_done;

static void note_kept(struct msg_kept *k)
{
    CHECK(k == &kept);
    kept_done++;
}

static void keep(const struct msg *m)
{
    msg_keep(m, &kept, NULL);
}

ALONE(lent_answer, "the memory of a lent answer is in use until a wish is answered")
{
    begin_lending("");
    respond = keep;
    peers_send(PEER, MSG_ECHO, 0, 7, words, 8);
    msg_poll();
    CHECK(peers_take(PEER, MSG_ORDINARY)->kept);
    msg_kept_reply_long(&kept, own_bytes, LONG, note_kept);
    CHECK_EQ(kept_done, 0);
    CHECK(expect_lent(MSG_ECHO, LONG)->reply);
    peers_answer_wish(PEER);
    msg_poll();
    CHECK_EQ(kept_done, 1);
}

ALONE(lent_to_us, "a lent message is copied before its handler sees it")
{
    begin_lending("");
    lend_at(MSG_TELL_BYTES, 0, 0, peer_bytes + 3, LONG);
    CHECK(got_count == 1 && got[0].length == LONG && memcmp(got_long, peer_bytes + 3, LONG) == 0);
    lend_at(MSG_MIGRATE, 0, 9, peer_bytes, MSG_MAX);
    CHECK(got_count == 2 && got[1].ticket.request == 9 && bytes_right(got_long, MSG_MAX, 4));
    CHECK_EQ(peers_open, 0);
    CHECK_EQ(dropped(), 0);
}

ALONE(lent_wrongly,
      "what a peer lends that is not its own is not read: a request of it is refused, an asker gets EPROTO")
{
    const void *const places[] = {NULL, own_bytes, (void *)((uintptr_t)peer_bytes - 1), peer_bytes + MSG_MAX - LONG + 1,
                                  (void *)~7ull};
    static struct msg_asking asking;

    begin_lending("");
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        static struct answer answer;
        const struct peers_message *m;
        uint16_t id;

        memset(&answer, 0, sizeof(answer));
        lend_at(MSG_TELL_BYTES, 0, 0, places[i], LONG);
        CHECK_EQ(msg_stats.bad_loan, 3 * i + 1);
        lend_at(MSG_MIGRATE, 0, 9, places[i], LONG);
        m = peers_take(PEER, MSG_ORDINARY);
        CHECK(m != NULL && m->reply && m->error && m->request == 9 && m->type == MSG_MIGRATE);
        CHECK_EQ((int64_t) * (const uint64_t *)(const void *)m->data, -EPROTO);
        msg_ask(&asking, PEER, MSG_ECHO, words, 8, note_answer, &answer);
        id = expect_request(MSG_ECHO);
        lend_at(MSG_ECHO, PEERS_REPLY, id, places[i], LONG);
        CHECK(answer.count == 1 && answer.length == -EPROTO);
        CHECK_EQ(msg_stats.bad_loan, 3 * i + 3);
    }
    CHECK_EQ(got_count, 0);
    CHECK_EQ(peers_open, 0);
}

ALONE(lent_headers,
      "a lent message that fits in a slot, is an error, or is numbered as a fragment is dropped and counted")
{
    begin_lending("");
    lend_at(MSG_TELL_BYTES, 0, 0, peer_bytes, 48);
    lend_at(MSG_TELL, 0, 0, peer_bytes, 48);
    lend_at(MSG_TELL_BYTES, 0, 0, peer_bytes, MSG_MAX + 1);
    lend_at(MSG_ECHO, PEERS_REPLY | PEERS_ERROR, 0, peer_bytes, 8);
    lend_at(MSG_ECHO, PEERS_REPLY | PEERS_KEPT, 0, peer_bytes, 0);
    CHECK_EQ(msg_stats.bad_length, 5);
    lend_at(MSG_TELL_BYTES, PEERS_FRAGMENT(1), 0, peer_bytes, LONG);
    CHECK_EQ(msg_stats.bad_fragment, 1);
    CHECK_EQ(got_count, 0);
}

ALONE(lent_no_memory, "a lent message is taken without any memory")
{
    begin_lending("");
    send_numbers(PEER, MSG_MIGRATE, 0, 0, 0);
    peers_fail_next(1000);
    lend_at(MSG_MIGRATE, 0, 7, peer_bytes, LONG);
    CHECK(got_count == 1 && bytes_right(got_long, LONG, 4));
    CHECK_EQ(dropped(), 0);
}

ALONE(lent_fenced, "the death of a peer ends each loan once, and so does the reset of one that stands")
{
    static struct msg_outgoing outgoing[3];

    begin_lending("");
    done_count = 0;
    for (uint32_t i = 0; i < 3; i++)
        msg_post(&outgoing[i], PEER, MSG_TELL_BYTES, own_bytes, LONG, note_done);
    CHECK_EQ(done_count, 0);
    msg_peer_fence(PEER);
    CHECK_EQ(done_count, 3);
    CHECK_EQ(msg_stats.late_epoch, 0);
    CHECK_EQ(msg_peer_reset(PEER), 0);
    CHECK_EQ(done_count, 3);
    msg_post(&outgoing[0], OTHER, MSG_TELL_BYTES, own_bytes, LONG, note_done);
    CHECK_EQ(done_count, 3);
    CHECK_EQ(msg_peer_reset(OTHER), 0);
    CHECK_EQ(done_count, 4);
}

static uint32_t looks;

/* The peer sees the request, and answers wishes only at the third look. */
static void copy_late(const struct wait_reason *reason)
{
    (void)reason;
    looks++;
    if (looks == 2)
        expect_lent(MSG_ECHO, LONG);
    if (looks == 3)
        peers_answer_wish(PEER);
    msg_poll();
}

ALONE(lent_given_up, "a call that gives up waits until the peer has copied its request")
{
    struct msg_policy policy = {.timeout = 1000};

    begin_lending("");
    looks = 0;
    peers_waiting = NULL;
    policy.end = WAIT_KILLABLE;
    peers_dying = true;
    peers_waiting = copy_late;
    CHECK_EQ(msg_call_within(&policy, PEER, MSG_ECHO, own_bytes, LONG, NULL, 0, "test", 0), -EINTR);
    CHECK(looks >= 3);
    CHECK_EQ(wants(), 1);
}
