/* Requests and answers among simulated peers: credits, the reserve, wrong answers, looking, want of memory.
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

ALONE(call_returns, "a call returns the peer's answer and its length, in both classes")
{
    uint64_t reply[6] = {0};

    begin(3, 1, "");
    peers_waiting = echo;
    CHECK_EQ(call(MSG_ASK, words, 48, reply, 48), 48);
    CHECK(memcmp(reply, words, 48) == 0);
    memset(reply, 0, sizeof(reply));
    CHECK_EQ(call(MSG_ASK_URGENT, words, 48, reply, 48), 48);
    CHECK(memcmp(reply, words, 48) == 0);
}

static int64_t peer_error;

static void fail_with(const struct wait_reason *reason)
{
    (void)reason;
    peers_send(PEER, MSG_ASK, PEERS_REPLY | PEERS_ERROR, expect_request(MSG_ASK), &peer_error, 8);
    msg_poll();
}

ALONE(call_error, "an errno of the peer from -4095 to -1 is the call's result, others are -EPROTO")
{
    static const int64_t strange[] = {0, 1, -4096, INT32_MIN, INT64_MIN, INT64_MAX, -(1ll << 32)};

    begin(3, 1, "");
    peers_waiting = fail_with;
    for (peer_error = -1; peer_error > -4096; peer_error -= 273)
        CHECK_EQ(call(MSG_ASK, words, 48, NULL, 0), peer_error);
    for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++) {
        peer_error = strange[i];
        CHECK_EQ(call(MSG_ASK, words, 48, NULL, 0), -EPROTO);
    }
}

static uint32_t lacking;

static void note_lacking(uint32_t kernel)
{
    CHECK_EQ(kernel, PEER);
    lacking++;
}

ALONE(call_lacks, "who decides about memory hears of each call that is answered with ENOMEM, and of no other")
{
    struct msg_policy policy = {.end = WAIT_FIRM};

    begin(3, 1, "");
    msg_lacks = note_lacking;
    peers_waiting = fail_with;
    peer_error = -ENOMEM;
    CHECK_EQ(call(MSG_ASK, words, 48, NULL, 0), -ENOMEM);
    CHECK_EQ(lacking, 1);
    CHECK_EQ(msg_call_within(&policy, PEER, MSG_ASK, words, 48, NULL, 0, "test", 0), -ENOMEM);
    CHECK_EQ(lacking, 2);
    peer_error = -ENOENT;
    CHECK_EQ(call(MSG_ASK, words, 48, NULL, 0), -ENOENT);
    CHECK_EQ(lacking, 2);
}

ALONE(call_room, "an answer longer than the room for it is -EMSGSIZE, and nothing is written")
{
    uint8_t reply[16] = {0};

    begin(3, 1, "");
    peers_waiting = echo;
    CHECK_EQ(call(MSG_ECHO, words, 17, reply, 16), -EMSGSIZE);
    CHECK(reply[0] == 0);
    CHECK_EQ(call(MSG_ECHO, words, 16, reply, 16), 16);
    CHECK_EQ(call(MSG_ECHO, NULL, 0, NULL, 0), 0);
}

ALONE(call_refused, "a call to oneself, to no kernel, or to one not yet reached fails at once")
{
    peers_start(3, 1, "");
    CHECK_EQ(msg_call(OWN, MSG_ASK, words, 48, NULL, 0, "test", 0), -EINVAL);
    CHECK_EQ(msg_call(7, MSG_ASK, words, 48, NULL, 0, "test", 0), -EINVAL);
    CHECK_EQ(msg_call(1000, MSG_ASK, words, 48, NULL, 0, "test", 0), -EINVAL);
    CHECK_EQ(call(MSG_ASK, words, 48, NULL, 0), -EAGAIN);
    CHECK_EQ(peers_waits, 0);
}

/* Credits and the reserve. */
static void check_credits(uint32_t slots, uint32_t reserve, uint32_t type)
{
    struct msg_asking askings[40];
    struct answer answers[40] = {{0}};
    uint16_t ids[40];

    begin(3, 1, slots == 4 ? "ring=4" : slots == 16 ? "ring=16" : "ring=64");
    for (uint32_t i = 0; i < 2 * reserve + 1; i++)
        msg_ask(&askings[i], PEER, (enum msg_type)type, words, 48, note_answer, &answers[i]);
    for (uint32_t i = 0; i < reserve; i++)
        ids[i] = expect_request(type);
    expect_nothing();
    CHECK_EQ(msg_stats.credit_waits, reserve + 1);
    for (uint32_t i = 0; i < 2 * reserve + 1; i++) { /* each answer lets one more out, in order */
        peers_send(PEER, type, PEERS_REPLY, ids[i], words, 48);
        msg_poll();
        CHECK(answers[i].count == 1 && answers[i].length == 48 && answers[i].kernel == PEER);
        if (i + reserve < 2 * reserve + 1)
            ids[i + reserve] = expect_request(type);
        expect_nothing();
    }
}

ALONE(credits_4, "in a ring of 4 one request at a time is out; the others wait and go in order as answers come")
{
    check_credits(4, 1, MSG_ASK);
}

ALONE(credits_16, "in a ring of 16 four requests are out, and then the same")
{
    check_credits(16, 4, MSG_ASK_URGENT);
}

ALONE(credits_64, "in a ring of 64 sixteen requests are out, and then the same")
{
    check_credits(64, 16, MSG_ASK);
}

ALONE(credits_apart, "credits are for each peer and class: others are not kept waiting")
{
    struct msg_asking askings[4];
    struct answer answers[4] = {{0}};

    begin(3, 1, "ring=4");
    msg_ask(&askings[0], PEER, MSG_ASK, words, 48, note_answer, &answers[0]);
    msg_ask(&askings[1], PEER, MSG_ASK, words, 48, note_answer, &answers[1]);
    msg_ask(&askings[2], PEER, MSG_ASK_URGENT, words, 48, note_answer, &answers[2]);
    msg_ask(&askings[3], OTHER, MSG_ASK, words, 48, note_answer, &answers[3]);
    expect_request(MSG_ASK);
    expect_request(MSG_ASK_URGENT);
    CHECK(peers_take(OTHER, MSG_ORDINARY) != NULL);
    expect_nothing();
}

static const char *ring_option;

static void check_reserve(void)
{
    uint32_t slots, reserved;

    begin(3, 1, ring_option);
    slots = peers_slots;
    reserved = slots / 4 < 16 ? slots / 4 : 16;
    for (uint32_t i = 0; i < slots - reserved; i++)
        CHECK_EQ(msg_notify(PEER, MSG_TELL, words, 48), 0);
    send_numbers(PEER, MSG_ASK, 0, reserved, 48);
    msg_poll();
    CHECK_EQ(got_count, reserved);
    for (uint32_t i = 0; i < reserved; i++) {
        if (i % 2 == 0)
            msg_reply(&got[i].ticket, got[i].data, 48);
        else
            msg_reply_error(&got[i].ticket, -EIO);
    }
    CHECK_EQ(msg_stats.overrun, 0);
    CHECK_EQ(peers_waits, 0);
    for (uint32_t i = 0; i < slots - reserved; i++)
        CHECK(!peers_take(PEER, MSG_ORDINARY)->reply);
    for (uint32_t i = 0; i < reserved; i++) {
        const struct peers_message *m = peers_take(PEER, MSG_ORDINARY);

        CHECK(m != NULL && m->reply && m->request == i && m->error == (i % 2 != 0));
    }
    expect_nothing();
}

TEST(reserve, "a ring full of notices still takes the answers to as many requests as there are credits")
{
    static const char *const rings[] = {"ring=4",    "ring=8",          "ring=16",         "ring=64",
                                        "ring=1024", "ring=4 trace=on", "ring=64 trace=on"};

    for (size_t i = 0; i < sizeof(rings) / sizeof(rings[0]); i++) {
        trial = ring_option = rings[i];
        run_alone(check_reserve);
    }
    trial = NULL;
}

/* Late, repeated and wrong answers. */
ALONE(answer_once, "a second answer to a request is counted and dropped")
{
    struct msg_asking asking;
    struct answer answer = {0};
    uint16_t id;

    begin(3, 1, "");
    msg_ask(&asking, PEER, MSG_ASK, words, 48, note_answer, &answer);
    id = expect_request(MSG_ASK);
    reply_now(id);
    reply_now(id);
    CHECK_EQ(answer.count, 1);
    CHECK_EQ(msg_stats.late_reply, 1);
}

ALONE(answer_wrong, "an answer with another generation, index, type, or from another kernel is counted and dropped")
{
    struct msg_asking asking;
    struct answer answer = {0};
    uint64_t late = 0;
    uint16_t id;

    begin(3, 1, "");
    msg_ask(&asking, PEER, MSG_ASK, words, 48, note_answer, &answer);
    id = expect_request(MSG_ASK);
    for (uint32_t other = 0; other <= UINT16_MAX; other += other % 8 == 0 ? 1 : 37) {
        if (other == id)
            continue;
        reply_now((uint16_t)other);
        CHECK_EQ(msg_stats.late_reply, ++late);
    }
    for (uint32_t generation = 1; generation < 16; generation++) {
        reply_now((uint16_t)(id ^ generation << 12));
        CHECK_EQ(msg_stats.late_reply, ++late);
    }
    peers_send(OTHER, MSG_ASK, PEERS_REPLY, id, words, 48);
    peers_send(OTHER, MSG_ASK, PEERS_REPLY | PEERS_KEPT, id, words, 0);
    peers_send(OTHER, MSG_ASK, PEERS_REPLY | PEERS_ERROR, id, words, 8);
    peers_send(PEER, MSG_ECHO, PEERS_REPLY, id, words, 48);
    peers_send(PEER, MSG_ASK_URGENT, PEERS_REPLY, id, words, 48);
    msg_poll();
    CHECK_EQ(msg_stats.late_reply, late + 5);
    CHECK_EQ(answer.count, 0);
    reply_now(id);
    CHECK_EQ(answer.count, 1);
}

ALONE(generations, "a slot of the request table that is used again gives another id, 16 times")
{
    uint16_t ids[17];
    struct msg_asking asking;

    begin(3, 1, "");
    for (uint32_t i = 0; i < 17; i++) {
        struct answer answer = {0};

        msg_ask(&asking, PEER, MSG_ASK, words, 48, note_answer, &answer);
        ids[i] = expect_request(MSG_ASK);
        for (uint32_t j = 0; j < i && i < 16; j++)
            CHECK(ids[i] != ids[j]);
        if (i > 0)
            reply_now(ids[i - 1] == ids[i] ? (uint16_t)~ids[i] : ids[i - 1]);
        CHECK_EQ(answer.count, 0);
        reply_now(ids[i]);
        CHECK_EQ(answer.count, 1);
    }
}

static uint16_t steps_id;

ALONE(answer_unsent,
      "an answer or a word of keeping to a request that still waits for room is dropped: the asker's memory is in use")
{
    struct msg_asking asking;
    struct answer answer = {0};
    uint16_t next;

    begin(3, 1, "ring=4");
    msg_ask(&asking, PEER, MSG_ASK, words, 48, note_answer, &answer);
    next = expect_request(MSG_ASK);
    reply_now(next);
    next = (uint16_t)(next + 0x1000); /* the same slot again */
    answer.count = 0;
    for (uint32_t i = 0; i < 3; i++)
        CHECK_EQ(msg_notify(PEER, MSG_TELL, words, 48), 0);
    msg_ask(&asking, PEER, MSG_ASK, words, 48, note_answer, &answer);
    peers_send(PEER, MSG_ASK, PEERS_REPLY | PEERS_KEPT, next, NULL, 0);
    reply_now(next);
    CHECK_EQ(answer.count, 0);
    CHECK_EQ(msg_stats.late_reply, 2);
    for (uint32_t i = 0; i < 3; i++)
        CHECK(peers_take(PEER, MSG_ORDINARY) != NULL);
    peers_signal(PEER);
    msg_poll();
    CHECK_EQ(expect_request(MSG_ASK), next);
    reply_now(next);
    CHECK_EQ(answer.count, 1);
}

/* A peer that answers a long request at its first fragment. */
static void answer_early(const struct wait_reason *reason)
{
    struct peers_slot slot;

    (void)reason;
    if (steps++ == 0) {
        CHECK(peers_take_slot(PEER, MSG_ORDINARY, &slot));
        steps_id = (uint16_t)(slot.header >> 16);
        peers_send(PEER, MSG_ECHO, PEERS_REPLY, steps_id, words, 8);
    } else {
        while (peers_take_slot(PEER, MSG_ORDINARY, &slot)) {
        }
        if (steps > 1000)
            peers_send(PEER, MSG_ECHO, PEERS_REPLY, steps_id, words, 16);
        peers_signal(PEER);
    }
    msg_poll();
}

ALONE(answer_half_sent, "an answer to a request that is only partly sent is dropped; the request is sent whole")
{
    uint64_t reply[6];

    begin(3, 1, "ring=4");
    peers_waiting = answer_early;
    CHECK_EQ(call(MSG_ECHO, long_bytes, 3000, reply, 48), 16);
    CHECK_EQ(msg_stats.late_reply, 1);
    CHECK_EQ(peers[PEER].taken[MSG_ORDINARY], (3000 + 47) / 48);
}

/* Looking for the answer. */
static uint32_t looks;

static void answer_third(void)
{
    if (++looks == 3)
        peers_send(PEER, MSG_ASK, PEERS_REPLY, expect_request(MSG_ASK), words, 48);
}

ALONE(looks_first,
      "a task alone on its CPU looks for its answer, disarmed, before it blocks, and leaves the doorbell armed")
{
    uint64_t reply[6];

    begin(3, 1, "");
    peers_no_other_thread = true;
    peers_relaxed = answer_third;
    CHECK(msg_doorbell_arm());
    CHECK_EQ(call(MSG_ASK, words, 48, reply, 48), 48);
    CHECK_EQ(peers_waits, 0);
    CHECK_EQ(looks, 3);
    CHECK_EQ(peers_head(OWN)->doorbell & 1, 1);
}

static void message_elsewhere(void)
{
    if (++looks == 1)
        send_numbers(OTHER, MSG_TELL, 0, 1, 48);
    if (got_count == 1 && peers_has_message(PEER, MSG_ORDINARY))
        peers_send(PEER, MSG_ASK, PEERS_REPLY, expect_request(MSG_ASK), words, 48);
}

ALONE(looks_elsewhere, "a task that looks for one peer's answer handles the message of another, after few looks")
{
    uint64_t reply[6];

    begin(3, 1, "");
    peers_no_other_thread = true;
    peers_relaxed = message_elsewhere;
    CHECK_EQ(call(MSG_ASK, words, 48, reply, 48), 48);
    CHECK_EQ(peers_waits, 0);
    CHECK_EQ(got_count, 1);
    CHECK(looks <= 20);
}

/* The answer is published, and its hint is late. */
static void answer_unannounced(void)
{
    if (++looks != 3)
        return;
    peers_put_quietly(PEER, MSG_ORDINARY, peers_header(PEER, MSG_ASK, expect_request(MSG_ASK), 48) | MSG_REPLY_BIT,
                      words, 48);
}

ALONE(looks_unannounced,
      "an answer is taken before it is announced; then its announcement brings nothing, and the next does")
{
    uint64_t reply[6];

    begin(3, 1, "");
    peers_no_other_thread = true;
    msg_poll();
    peers_relaxed = answer_unannounced;
    CHECK_EQ(call(MSG_ASK, words, 48, reply, 48), 48);
    CHECK(looks <= 4);
    peers_relaxed = NULL;
    peers_write_hint(PEER);
    CHECK(!msg_poll());
    CHECK(!idle_poll_look());
    send_numbers(PEER, MSG_TELL, 0, 1, 48);
    CHECK(idle_poll_look());
    CHECK(msg_poll());
    CHECK_EQ(got_count, 1);
    CHECK(!idle_poll_look());
}

ALONE(looks_not, "with poll=0 it blocks at once")
{
    uint64_t reply[6];

    begin(3, 1, "poll=0");
    peers_no_other_thread = true;
    peers_waiting = echo;
    CHECK_EQ(call(MSG_ASK, words, 48, reply, 48), 48);
    CHECK_EQ(looks, 0);
    CHECK(peers_waits > 0);
}

/* The host has run others. */
static void come_back_late(void)
{
    looks++;
    instance.rates.tsc_hz = 0;
}

ALONE(looks_away, "a task whose CPU did not run between two looks blocks at once")
{
    uint64_t reply[6];

    begin(3, 1, "");
    peers_no_other_thread = true;
    peers_relaxed = come_back_late;
    peers_waiting = echo;
    CHECK_EQ(call(MSG_ASK, words, 48, reply, 48), 48);
    CHECK_EQ(looks, 1);
    CHECK(peers_waits > 0);
}

/* A peer sends another message whenever one has been taken. */
static bool is_over_never(const void *context)
{
    (void)context;
    send_numbers(OTHER, MSG_TELL, 0, 1, 48);
    return false;
}

ALONE(looks_flooded, "a task that polls for an event takes messages 32 times at most, with interrupts off")
{
    begin(3, 1, "");
    peers_no_other_thread = true;
    idle_poll_event(is_over_never, NULL);
    CHECK_EQ(got_count, 32 + 1); /* and one as it armed the doorbell */
    CHECK_EQ(peers_waits, 0);
}

/* Another CPU takes messages, and its handler waits until we answer a shootdown: we do so in cpu_relax. */
static void other_cpu_goes_on(void)
{
    looks++;
    spin_unlock(&msg_rx_lock);
    peers_relaxed = NULL;
}

ALONE(looks_beside, "while another CPU takes messages, a task that looks for its answer answers shootdowns")
{
    uint64_t reply[6];

    begin(3, 1, "poll=20");
    alarm(5);
    peers_no_other_thread = true;
    peers_relaxed = other_cpu_goes_on;
    peers_waiting = echo;
    send_numbers(OTHER, MSG_TELL, 0, 1, 48);
    CHECK(spin_try(&msg_rx_lock));
    CHECK_EQ(call(MSG_ASK, words, 48, reply, 48), 48);
    CHECK_EQ(looks, 1);
    CHECK_EQ(got_count, 1);
}

ALONE(no_memory_request, "without memory for its slot in the request table a call is -ENOMEM, and later ones work")
{
    begin(3, 1, "");
    peers_fail_next(1);
    CHECK_EQ(call(MSG_ASK, words, 48, NULL, 0), -ENOMEM);
    expect_nothing();
    peers_waiting = echo;
    CHECK_EQ(call(MSG_ASK, words, 48, long_bytes, 48), 48);
}

ALONE(no_memory_waiting, "a request that gets a credit and then no slot waits for one, and the credit stays free")
{
    struct msg_asking askings[2];
    struct answer answers[2] = {{0}};
    struct msg_asking *many = malloc(64 * sizeof(*many));
    struct answer *many_answers = calloc(64, sizeof(*many_answers));
    uint32_t out = 0;
    uint16_t id;

    begin(6, 1, "ring=64");
    for (uint32_t k = 3; k < 6; k++) { /* 63 slots of the first block of 64 are taken */
        for (uint32_t i = 0; i < 16; i++, out++)
            msg_ask(&many[out], k, MSG_ASK, words, 48, note_answer, &many_answers[out]);
    }
    for (uint32_t i = 0; i < 16; i++, out++)
        msg_ask(&many[out], PEER, MSG_ASK, words, 48, note_answer, &many_answers[out]);
    for (uint32_t i = 0; i < 2; i++)
        msg_ask(&askings[i], PEER, MSG_ASK, words, 48, note_answer, &answers[i]);
    id = expect_request(MSG_ASK);
    peers_fail_next(1);
    peers_send(PEER, MSG_ASK, PEERS_REPLY | PEERS_KEPT, id, NULL, 0); /* its slot stays in use */
    msg_poll();
    CHECK(answers[0].count == 0 && answers[1].count == 0);
    for (uint32_t i = 0; i < 15; i++)
        expect_request(MSG_ASK);
    expect_nothing();
    reply_now(id); /* its credit has gone back before; its slot is for the one that waits */
    id = expect_request(MSG_ASK);
    expect_nothing();
    reply_now(id);
    CHECK(answers[0].count == 1 && answers[0].length == 48 && answers[1].count == 0);
    expect_request(MSG_ASK); /* the other one */
    free(many);
    free(many_answers);
}

ALONE(slots_reserved, "when most slots are taken calls are -ENOMEM, and requests that are sure go out")
{
    uint32_t most = 4096 - 512;
    struct msg_asking *many = malloc((most + 1) * sizeof(*many));
    struct answer *answers = calloc(most + 1, sizeof(*answers));
    uint16_t id;

    begin(3, 1, "");
    for (uint32_t i = 0; i < most; i++) { /* the peer keeps them all, so they hold no credit */
        msg_ask(&many[i], PEER, MSG_ASK, words, 48, note_answer, &answers[i]);
        peers_send(PEER, MSG_ASK, PEERS_REPLY | PEERS_KEPT, expect_request(MSG_ASK), NULL, 0);
        msg_poll();
    }
    CHECK_EQ(call(MSG_ASK, words, 48, NULL, 0), -ENOMEM);
    expect_nothing();
    msg_ask(&many[most], PEER, MSG_ASK, words, 48, note_answer, &answers[most]);
    id = expect_request(MSG_ASK);
    reply_now(id);
    CHECK(answers[most].count == 1 && answers[most].length == 48);
    free(many);
    free(answers);
}

static uint64_t failing;

static void check_failing(void)
{
    begin(3, 1, "ring=4");
    peers_waiting = echo;
    peers_fail_from = peers_allocations + failing;
    peers_fail_to = peers_fail_from + 1 + failing % 3;
    for (uint32_t i = 0; i < 20; i++) {
        int short_result = call(MSG_ASK, words, 48, long_bytes, 48);
        int long_result = call(MSG_ECHO, long_bytes, 500, long_bytes, 500);

        CHECK(short_result == 48 || (i < 8 && short_result == -ENOMEM));
        CHECK(long_result == 500 || (i < 8 && long_result == -ENOMEM));
    }
    expect_nothing();
}

TEST(no_memory_anywhere,
     "whichever allocation fails, each call ends with its answer or -ENOMEM, and afterwards all work")
{
    for (failing = 1; failing < 12; failing++)
        run_alone(check_failing);
}

ALONE(gather, "a gathering has each kernel's answer or error once, and returns when all are there")
{
    struct answer answers[3] = {{0}};

    begin(3, 1, "");
    peers_waiting = echo;
    msg_gather(1ull << PEER | 1ull << OWN | 1ull << 50, MSG_ECHO, words, 48, note_answer, &answers[0], "test", 0);
    CHECK_EQ(answers[0].count, 3);
    msg_gather(1ull << PEER, MSG_ECHO, words, 48, note_answer, &answers[1], "test", 0);
    CHECK(answers[1].count == 1 && answers[1].length == 48 && answers[1].kernel == PEER);
    msg_gather(0, MSG_ECHO, words, 48, note_answer, &answers[2], "test", 0);
    CHECK_EQ(answers[2].count, 0);
    msg_gather(1ull << PEER, MSG_ECHO, words, 48, NULL, NULL, "test", 0);
}

static void echo_everybody(const struct wait_reason *reason)
{
    (void)reason;
    for (uint32_t k = 0; k < instance.kernels; k++) {
        const struct peers_message *m;

        while (k != OWN && (m = peers_take(k, MSG_ORDINARY)) != NULL)
            peers_send(k, m->type, PEERS_REPLY, m->request, m->data, m->length);
    }
    msg_poll();
}

ALONE(gather_many, "a gathering of 63 kernels works, also without memory for all requests at once")
{
    for (uint32_t fail = 0; fail < 2; fail++) {
        struct answer answer = {0};

        if (fail == 0)
            begin(64, 4, "ring=4");
        peers_waiting = echo_everybody;
        if (fail == 1)
            peers_fail_next(1);
        msg_gather(~(1ull << OWN), MSG_ECHO, words, 48, note_answer, &answer, "test", 0);
        CHECK_EQ(answer.count, 63);
        CHECK_EQ(answer.length, 48);
    }
}
