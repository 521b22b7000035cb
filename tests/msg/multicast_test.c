/* Multicast among simulated peers: how a set is divided, answers put together, relays that are wrong or refuse, and
 * this kernel as a relay.
 *
 * sources: msg/ring.c msg/message.c msg/channel.c msg/send.c msg/receive.c msg/request/call.c msg/request/kept.c
 *
 * sources: msg/request/multicast.c
 *
 * sources: msg/doorbell.c msg/request/request.c msg/request/gather.c msg/fragment.c msg/dispatch.c msg/reset.c
 *
 * sources: msg/idle.c msg/stats.c msg/inject.c msg/trace.c msg/control.c msg/report.c boot/options/control.c
 *
 * sources: boot/options/options.c kernel/wait/completion.c */
#include "msg/reset.h"
#include "tests/msg/layer.h"

static uint64_t change[4] = {1, 2, 3, 4}; /* SPACE_UNMAP: 32 bytes, answered with 16 */
static uint32_t asked[KERNELS_MAX];       /* times each kernel has handled the request */
static uint32_t messages[KERNELS_MAX];    /* requests that each kernel got from us */
static uint32_t relays;

struct result {
    uint32_t count[KERNELS_MAX];
    int length[KERNELS_MAX];
    uint64_t words[KERNELS_MAX][2];
};

static struct result result;

static void note_each(void *context, uint32_t kernel, const void *reply, int length)
{
    CHECK(context == &result && kernel < KERNELS_MAX);
    result.count[kernel]++;
    result.length[kernel] = length;
    if (length > 0)
        memcpy(result.words[kernel], reply, (size_t)length < 16 ? (size_t)length : 16);
}

/* How the simulated relays go wrong. */
static enum manner {
    RIGHT,
    REFUSES,
    LEAVES_OUT,
    TOO_LONG,
    TOO_SHORT,
    EMPTY,
    NO_LENGTH,
    TWICE,
    STRANGER,
    BIG_ERROR,
    FEW_BYTES,
    ZERO_BYTES,
    NOT_ASKED
} manner;

/* A kernel's own answer: 16 bytes, or an errno for every ninth. */
static int answer_of(uint32_t kernel, uint64_t answer[2])
{
    asked[kernel]++;
    answer[0] = kernel;
    answer[1] = change[0];
    return kernel % 9 == 8 ? -EIO : 16;
}

static void put_record(uint8_t *bytes, uint32_t *at, uint32_t kernel, int32_t length, const void *data, uint32_t size)
{
    struct msg_relay_record record = {kernel, length};

    memcpy(bytes + *at, &record, sizeof(record));
    if (size > 0)
        memcpy(bytes + *at + sizeof(record), data, size);
    *at += (uint32_t)sizeof(record) + (size + 7) / 8 * 8;
}

static void answer_relay(uint32_t kernel, const struct peers_message *m)
{
    static uint8_t bytes[8192];
    static const uint8_t much[4000];
    struct msg_relayed head = {0};
    struct msg_relay relay;
    uint32_t at = sizeof(head), left_out = 0;

    relays++;
    memcpy(&relay, m->data, sizeof(relay));
    CHECK(relay.type == MSG_SPACE_UNMAP && m->length == sizeof(relay) + sizeof(change));
    CHECK(memcmp(m->data + sizeof(relay), change, sizeof(change)) == 0);
    CHECK((relay.kernels >> kernel & 1) != 0 && (relay.kernels >> OWN & 1) == 0);
    if (manner == REFUSES) {
        int64_t error = -EAGAIN;

        peers_send(kernel, m->type, PEERS_REPLY | PEERS_ERROR, m->request, &error, 8);
        return;
    }
    for (uint64_t rest = relay.kernels; rest != 0; rest &= rest - 1) {
        uint32_t k = (uint32_t)__builtin_ctzll(rest);
        uint64_t answer[2];
        int length;

        if ((manner == LEAVES_OUT || manner == NOT_ASKED) && left_out++ == 1) {
            if (manner == NOT_ASKED)
                put_record(bytes, &at, k, RELAY_NOT_ASKED, NULL, 0);
            continue;
        }
        length = answer_of(k, answer);
        if (manner == TOO_LONG && k == kernel)
            put_record(bytes, &at, k, 4000, much, 4000);
        else if (manner == TOO_SHORT && k == kernel)
            put_record(bytes, &at, k, 8, answer, 8);
        else if (manner == EMPTY && k == kernel)
            head.empty |= 1ull << k;
        else if (manner == NO_LENGTH && k == kernel)
            put_record(bytes, &at, k, 0, NULL, 0);
        else if (manner == BIG_ERROR && k == kernel)
            put_record(bytes, &at, k, -4096, NULL, 0);
        else
            put_record(bytes, &at, k, length, answer, length > 0 ? 16 : 0);
        if (manner == TWICE)
            put_record(bytes, &at, k, length, answer, length > 0 ? 16 : 0);
        if (manner == STRANGER && k == kernel)
            put_record(bytes, &at, OWN, length, answer, length > 0 ? 16 : 0);
    }
    memcpy(bytes, &head, sizeof(head));
    if (manner == FEW_BYTES)
        at -= 3;
    if (manner == ZERO_BYTES)
        at = sizeof(head);
    peers_send(kernel, m->type, PEERS_REPLY, m->request, bytes, at);
}

static void answer_all(const struct wait_reason *reason)
{
    (void)reason;
    for (uint32_t k = 0; k < instance.kernels; k++) {
        const struct peers_message *m;

        while (k != OWN && (m = peers_take(k, MSG_URGENT)) != NULL) {
            uint64_t answer[2];
            int64_t error;

            messages[k]++;
            CHECK(!m->reply);
            if (m->type == MSG_RELAY_URGENT) {
                answer_relay(k, m);
                continue;
            }
            CHECK(m->type == MSG_SPACE_UNMAP && m->length == sizeof(change));
            error = answer_of(k, answer);
            if (error > 0)
                peers_send(k, m->type, PEERS_REPLY, m->request, answer, 16);
            else
                peers_send(k, m->type, PEERS_REPLY | PEERS_ERROR, m->request, &error, 8);
        }
        if (msg_peer_reachable(k))
            peers_signal(k);
    }
    msg_poll();
}

static void multicast(kernel_set set)
{
    memset(asked, 0, sizeof(asked));
    memset(messages, 0, sizeof(messages));
    memset(&result, 0, sizeof(result));
    relays = 0;
    peers_waiting = answer_all;
    msg_multicast(set, MSG_SPACE_UNMAP, change, sizeof(change), note_each, &result, "test", 0);
}

static void check_results(kernel_set set)
{
    for (uint32_t k = 0; k < KERNELS_MAX; k++) {
        bool in_set = (set >> k & 1) != 0;

        CHECK_EQ(result.count[k], in_set);
        CHECK_EQ(asked[k], in_set);
        CHECK_EQ(result.length[k], !in_set ? 0 : k % 9 == 8 ? -EIO : 16);
        CHECK(!in_set || k % 9 == 8 || (result.words[k][0] == k && result.words[k][1] == change[0]));
    }
}

ALONE(few, "up to 16 kernels are asked directly, and each answer comes once")
{
    begin(64, 4, "ring=4");
    for (uint32_t count = 0; count <= 16; count++) {
        kernel_set set = 0;

        for (uint32_t i = 0; i < count; i++)
            set |= 1ull << (i * 3 + 4); /* without OWN */
        multicast(set);
        check_results(set);
        CHECK_EQ(relays, 0);
    }
}

static uint32_t nodes;

static void check_sets(void)
{
    uint64_t state = nodes;

    begin(64, nodes, "ring=4");
    for (uint32_t i = 0; i < 60; i++) {
        kernel_set set = i == 0 ? ~0ull : test_random(&state) | (i % 2 ? test_random(&state) : 0);
        uint32_t sent = 0;

        set &= ~(1ull << OWN);
        multicast(set);
        check_results(set);
        for (uint32_t k = 0; k < KERNELS_MAX; k++)
            sent += messages[k];
        CHECK(kernel_set_count(set) <= 16 || sent <= 8);
    }
}

TEST(many,
     "a larger set is asked with at most 8 messages, and each kernel handles it and answers once, on 1 to 64 nodes")
{
    static const uint32_t choices[] = {1, 2, 3, 4, 8, 16, 33, 64};

    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
        nodes = choices[i];
        run_alone(check_sets);
    }
}

ALONE(by_node, "with 8 nodes or fewer no relay asks a kernel of another node than its own")
{
    begin(64, 8, "ring=4");
    multicast(~(1ull << OWN));
    for (uint32_t k = 0; k < KERNELS_MAX; k++)
        CHECK_EQ(messages[k], k % 8 == 0);
    CHECK_EQ(relays, 8);
}

static void check_tree(void)
{
    begin(64, nodes, "ring=4");
    for (uint32_t root = 0; root < 64; root += 21) {
        uint32_t direct = 0;

        for (uint32_t k = 0; k < 64; k++) {
            uint32_t next;

            if (k == root || k == OWN) /* that one the others cannot reach here */
                continue;
            instance.kernel = k;
            next = msg_relay_to(root);
            direct += next == root;
            CHECK(next == root || (next < k && next != OWN));
            CHECK(nodes > 8 || next == root || instance.plan.kernels[next].node == instance.plan.kernels[k].node);
        }
        instance.kernel = OWN;
        CHECK(direct != 0 && direct <= 8);
    }
}

TEST(tree,
     "what comes to a kernel from all others comes by at most 8 of them, and always from higher numbers to lower ones")
{
    static const uint32_t choices[] = {1, 2, 3, 4, 8, 16, 33, 64};

    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
        nodes = choices[i];
        run_alone(check_tree);
    }
}

ALONE(refusing, "kernels whose relay refuses are asked directly; each handles the request once")
{
    begin(64, 4, "ring=4");
    manner = REFUSES;
    multicast(~(1ull << OWN));
    check_results(~(1ull << OWN));
}

ALONE(not_asked, "a kernel that its relay cannot reach is asked directly, the others once")
{
    begin(64, 4, "ring=4");
    manner = NOT_ASKED;
    multicast(~(1ull << OWN));
    check_results(~(1ull << OWN));
}

ALONE(unreached, "relays that we cannot reach ourselves give -EAGAIN for them, and their parts are asked directly")
{
    peers_start(64, 4, "ring=4");
    for (uint32_t k = 0; k < 64; k++) {
        if (k != 0 && k != 16)
            msg_peer_reach(k);
    }
    peers_waiting = answer_all;
    msg_multicast(~(1ull << OWN), MSG_SPACE_UNMAP, change, sizeof(change), note_each, &result, "test", 0);
    for (uint32_t k = 0; k < 64; k++) {
        CHECK_EQ(result.count[k], k != OWN);
        CHECK_EQ(asked[k], k != OWN && k != 0 && k != 16);
        CHECK(k == OWN || result.length[k] == (k == 0 || k == 16 ? -EAGAIN : k % 9 == 8 ? -EIO : 16));
    }
}

/* Kernel 16 dies as a relay, while the others do not answer yet. */
static void fence_relay(const struct wait_reason *reason)
{
    peers_waiting = answer_all;
    while (peers_take(16, MSG_URGENT) != NULL)
        ;
    msg_peer_fence(16);
    answer_all(reason);
}

ALONE(dead, "kernels whose relay dies are asked directly; the relay itself gives -EHOSTDOWN")
{
    begin(64, 4, "ring=4");
    peers_waiting = fence_relay;
    msg_multicast(~(1ull << OWN), MSG_SPACE_UNMAP, change, sizeof(change), note_each, &result, "test", 0);
    for (uint32_t k = 0; k < 64; k++) {
        CHECK_EQ(result.count[k], k != OWN);
        CHECK_EQ(asked[k], k != OWN && k != 16);
        CHECK(k == OWN || result.length[k] == (k == 16 ? -EHOSTDOWN : k % 9 == 8 ? -EIO : 16));
    }
}

static void check_wrong_relay(void)
{
    begin(64, 4, "ring=64");
    multicast(~(1ull << OWN));
    for (uint32_t k = 0; k < KERNELS_MAX; k++) {
        CHECK_EQ(result.count[k], k != OWN);
        CHECK(result.length[k] < 0 || result.length[k] == (k == OWN ? 0 : 16));
        CHECK(result.length[k] >= -4095);
        CHECK(asked[k] <= 1); /* a kernel that a relay may have asked is not asked again */
    }
}

static const char *const manners[] = {"a right answer",
                                      "a refusal",
                                      "a kernel left out",
                                      "an answer too long",
                                      "an answer too short",
                                      "an empty answer",
                                      "an empty answer, in a record",
                                      "each answer twice",
                                      "an answer of a stranger",
                                      "an errno that is none",
                                      "the end cut off",
                                      "no records at all"};

TEST(wrong_relays, "whatever a relay answers, each kernel has one result: an answer of the right length, or an errno")
{
    for (unsigned i = 0; i < sizeof(manners) / sizeof(manners[0]); i++) {
        manner = (enum manner)i;
        trial = manners[i];
        run_alone(check_wrong_relay);
    }
    trial = NULL;
}

ALONE(no_memory, "without memory for its parts every kernel is asked directly")
{
    begin(64, 4, "ring=4");
    peers_fail_next(1);
    multicast(~(1ull << OWN));
    check_results(~(1ull << OWN));
    CHECK_EQ(relays, 0);
}

static uint64_t failing;

static void check_failing(void)
{
    manner = RIGHT;
    begin(64, 4, "ring=4");
    peers_fail_from = peers_allocations + failing;
    peers_fail_to = peers_fail_from + 1;
    multicast(~(1ull << OWN));
    for (uint32_t k = 0; k < KERNELS_MAX; k++) {
        CHECK_EQ(result.count[k], k != OWN);
        CHECK(asked[k] <= 1);
        CHECK(k == OWN || result.length[k] == -ENOMEM ||
              (asked[k] == 1 && result.length[k] == (k % 9 == 8 ? -EIO : 16)));
    }
}

TEST(no_memory_anywhere, "whichever allocation fails, no kernel is asked twice, and each has its answer or -ENOMEM")
{
    for (failing = 1; failing < 24; failing++)
        run_alone(check_failing);
}

/* This kernel as a relay. */
static struct msg_kept kept[4];
static uint32_t kept_count;

static void answer_own(const struct msg *m)
{
    uint64_t answer[2];

    CHECK_EQ(answer_of(OWN, answer), 16);
    msg_reply(&m->ticket, answer, 16);
    CHECK(memcmp(m->data, change, sizeof(change)) == 0); /* valid until the handler returns */
}

static void keep_own(const struct msg *m)
{
    msg_keep(m, &kept[kept_count++], NULL);
}

static void send_relay(kernel_set set, uint32_t request)
{
    uint64_t words[6] = {set, MSG_SPACE_UNMAP, change[0], change[1], change[2], change[3]};

    memset(asked, 0, sizeof(asked));
    memset(messages, 0, sizeof(messages));
    relays = 0;
    peers_send(PEER, MSG_RELAY_URGENT, 0, request, words, sizeof(words));
    msg_poll();
}

static void expect_kept(uint32_t request)
{
    const struct peers_message *m = peers_take(PEER, MSG_URGENT);

    CHECK(m != NULL && m->reply && m->kept && m->request == request && m->type == MSG_RELAY_URGENT);
}

/* Every peer but the asker answers, until the answer is there; returns its length. */
static uint32_t relay_answer(uint32_t request, uint8_t *bytes)
{
    for (uint32_t round = 0; round < 100000; round++) {
        const struct peers_message *m = peers_take(PEER, MSG_URGENT);

        if (m != NULL) {
            CHECK(m->reply && !m->kept && !m->error && m->request == request && m->type == MSG_RELAY_URGENT);
            memcpy(bytes, m->data, m->length);
            return m->length;
        }
        for (uint32_t k = OWN + 1; k < instance.kernels; k++) {
            while ((m = peers_take(k, MSG_URGENT)) != NULL) {
                uint64_t answer[2];
                int64_t error;

                messages[k]++;
                if (m->type == MSG_RELAY_URGENT) {
                    answer_relay(k, m);
                    continue;
                }
                error = answer_of(k, answer);
                if (error > 0)
                    peers_send(k, m->type, PEERS_REPLY, m->request, answer, 16);
                else
                    peers_send(k, m->type, PEERS_REPLY | PEERS_ERROR, m->request, &error, 8);
            }
            peers_signal(k);
        }
        peers_signal(PEER);
        msg_poll();
    }
    CHECK(false);
    return 0;
}

/* Reads an answer into RESULT; records of the right form only. */
static void decode_answer(const uint8_t *bytes, uint32_t length)
{
    struct msg_relayed head;
    uint32_t at = sizeof(head);

    memset(&result, 0, sizeof(result));
    CHECK(length >= sizeof(head));
    memcpy(&head, bytes, sizeof(head));
    for (; head.empty != 0; head.empty &= head.empty - 1)
        result.count[__builtin_ctzll(head.empty)]++;
    while (at < length) {
        struct msg_relay_record record;

        CHECK(length - at >= sizeof(record));
        memcpy(&record, bytes + at, sizeof(record));
        at += sizeof(record);
        CHECK(record.kernel < KERNELS_MAX && (record.length < 0 || record.length == 16));
        note_each(&result, record.kernel, bytes + at, record.length);
        at += record.length > 0 ? 16 : 0;
    }
    CHECK_EQ(at, length);
}

ALONE(relays_alone, "a relay for itself alone handles the request and answers for itself")
{
    static uint8_t bytes[MSG_MAX];

    begin(3, 1, "");
    respond = answer_own;
    send_relay(1ull << OWN, 9);
    expect_kept(9);
    decode_answer(bytes, relay_answer(9, bytes));
    check_results(1ull << OWN);
    CHECK_EQ(got[0].ticket.kernel, OWN);
    CHECK_EQ(msg_stats.relayed, 1);
}

static uint8_t large[sizeof(struct msg_relay) + MULTICAST_MAX];

static void answer_large(const struct msg *m)
{
    msg_reply(&m->ticket, NULL, 0);
    CHECK(m->length == MULTICAST_MAX && memcmp(m->data, large + sizeof(struct msg_relay), MULTICAST_MAX) == 0);
}

ALONE(relays_large,
      "the same for the largest request: its bytes stay until the handler returns, though it has answered")
{
    static uint8_t bytes[MSG_MAX];
    struct msg_relay relay = {.kernels = 1ull << OWN, .type = MSG_SURVEY_BYTES};
    const struct peers_message *m;

    begin(3, 1, "");
    respond = answer_large;
    fill_bytes(large, sizeof(large), 7);
    memcpy(large, &relay, sizeof(relay));
    peers_send(PEER, MSG_RELAY, 0, 9, large, sizeof(large));
    msg_poll();
    m = peers_take(PEER, MSG_ORDINARY);
    CHECK(m != NULL && m->kept);
    m = peers_take(PEER, MSG_ORDINARY);
    CHECK(m != NULL && m->reply && !m->error && m->request == 9);
    memcpy(bytes, m->data, m->length);
    decode_answer(bytes, m->length);
    CHECK(result.count[OWN] == 1 && result.length[OWN] == 0);
}

static const char *relay_options;

static void check_relaying(void)
{
    static uint8_t bytes[MSG_MAX];
    uint64_t objects;

    manner = RIGHT;
    begin(64, 4, relay_options);
    respond = answer_own;
    for (uint32_t i = 0; i < 40; i++) {
        uint64_t state = i % 20;
        kernel_set set = state == 0 ? ~0ull : test_random(&state) >> (i % 20 % 3 * 18);

        set = (set | 1ull << OWN) & ~(1ull << PEER);
        objects = peers_live_objects;
        send_relay(set, i);
        expect_kept(i);
        decode_answer(bytes, relay_answer(i, bytes));
        check_results(set);
        CHECK(i < 20 || peers_live_objects == objects); /* its memory is free again */
    }
}

TEST(relays_parts,
     "a relay asks its part, through further relays where it is large, handles the request once, gives all answers")
{
    static const char *const options[] = {"ring=4", "ring=64", "ring=16 trace=on"};

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        relay_options = options[i];
        run_alone(check_relaying);
    }
}

ALONE(relays_kept, "a relay whose own handler keeps the request answers once that is answered too")
{
    static uint8_t bytes[MSG_MAX];
    uint64_t answer[2];

    begin(6, 1, "ring=4");
    respond = keep_own;
    send_relay(0x3c | 1ull << OWN, 4);
    expect_kept(4);
    for (uint32_t i = 0; i < 50; i++) {
        for (uint32_t k = OWN + 1; k < 6; k++) {
            const struct peers_message *m = peers_take(k, MSG_URGENT);

            if (m != NULL) {
                CHECK_EQ(answer_of(k, answer), 16);
                peers_send(k, m->type, PEERS_REPLY, m->request, answer, 16);
            }
        }
        msg_poll();
    }
    CHECK(peers_take(PEER, MSG_URGENT) == NULL);
    CHECK_EQ(answer_of(OWN, answer), 16);
    msg_kept_reply(&kept[0], answer, 16, NULL);
    decode_answer(bytes, relay_answer(4, bytes));
    check_results(0x3c | 1ull << OWN);
}

ALONE(relays_error, "a relay passes on the errno of its own handler, kept or not")
{
    static uint8_t bytes[MSG_MAX];

    begin(3, 1, "ring=4");
    respond = keep_own;
    send_relay(1ull << OWN, 4);
    expect_kept(4);
    msg_kept_reply_error(&kept[0], -EBUSY, NULL);
    decode_answer(bytes, relay_answer(4, bytes));
    CHECK(result.count[OWN] == 1 && result.length[OWN] == -EBUSY);
}

ALONE(relays_unreached, "a relay names the kernels that it cannot reach, and asks the others")
{
    static uint8_t bytes[MSG_MAX];

    peers_start(6, 1, "ring=4");
    msg_peer_reach(PEER);
    msg_peer_reach(4);
    respond = answer_own;
    send_relay(0x3c | 1ull << OWN, 4);
    expect_kept(4);
    decode_answer(bytes, relay_answer(4, bytes));
    for (uint32_t k = OWN; k < 6; k++) {
        CHECK_EQ(result.count[k], 1);
        CHECK_EQ(result.length[k], k == OWN || k == 4 ? 16 : RELAY_NOT_ASKED);
        CHECK_EQ(asked[k], k == OWN || k == 4);
    }
}

static void expect_refused(const void *payload, uint32_t length, uint32_t type, int error)
{
    const struct peers_message *m;
    int64_t value;

    peers_send(PEER, type, 0, 3, payload, length);
    msg_poll();
    m = peers_take(PEER, peers_class(type));
    CHECK(m != NULL && m->reply && m->error && m->request == 3);
    memcpy(&value, m->data, sizeof(value));
    CHECK_EQ(value, error);
    CHECK_EQ(got_count, 0);
    for (uint32_t k = 0; k < instance.kernels; k++)
        CHECK(peers_take(k, MSG_URGENT) == NULL && peers_take(k, MSG_ORDINARY) == NULL);
}

ALONE(relays_refused,
      "a relay of a wrong set, type, class or length is answered -EPROTO; one without memory -EAGAIN; nobody is asked")
{
    static uint64_t long_words[2 + 600];
    uint64_t good[6] = {0x3c | 1ull << OWN, MSG_SPACE_UNMAP, 1, 2, 3, 4};
    uint64_t words[6];

    begin(6, 1, "");
    memcpy(words, good, sizeof(words));
    words[0] = 0x3c; /* without ourselves */
    expect_refused(words, 48, MSG_RELAY_URGENT, -EPROTO);
    words[0] = good[0] | 1ull << PEER; /* with the asker */
    expect_refused(words, 48, MSG_RELAY_URGENT, -EPROTO);
    for (uint32_t k = 6; k < 64; k++) { /* beyond the plan */
        words[0] = good[0] | 1ull << k;
        expect_refused(words, 48, MSG_RELAY_URGENT, -EPROTO);
    }
    words[0] = 0;
    expect_refused(words, 48, MSG_RELAY_URGENT, -EPROTO);
    words[0] = good[0];
    for (uint32_t type = 0; type < MSG_TYPES; type++) {
        words[1] = type;
        if (type != MSG_SPACE_UNMAP && type != MSG_SURVEY)
            expect_refused(words, 48, MSG_RELAY_URGENT, -EPROTO);
        if (type != MSG_SURVEY_BYTES && type != MSG_CONTROL)
            expect_refused(words, 48, MSG_RELAY, -EPROTO);
    }
    words[1] = MSG_SPACE_UNMAP;
    for (uint32_t length = 16; length < 48; length++)
        expect_refused(words, length, MSG_RELAY_URGENT, -EPROTO);
    long_words[0] = good[0];
    long_words[1] = MSG_SURVEY_BYTES;
    expect_refused(long_words, 16 + MULTICAST_MAX + 1, MSG_RELAY, -EPROTO);
    long_words[1] = MSG_MIGRATE;
    expect_refused(long_words, 16 + 63, MSG_RELAY, -EPROTO);
    peers_fail_next(1);
    expect_refused(good, 48, MSG_RELAY_URGENT, -EAGAIN);
}

static void check_wrong_subrelay(void)
{
    static uint8_t bytes[MSG_MAX];

    begin(64, 1, "ring=64");
    respond = answer_own;
    send_relay(~(1ull << PEER), 9);
    expect_kept(9);
    decode_answer(bytes, relay_answer(9, bytes)); /* which is in bounds, and has the right lengths */
    for (uint32_t k = OWN; k < KERNELS_MAX; k++) {
        CHECK_EQ(result.count[k], 1);
        CHECK(asked[k] == 0 || result.length[k] != RELAY_NOT_ASKED); /* else it would be asked again */
    }
}

TEST(wrong_subrelays,
     "whatever a relay's relays answer, its own answer has one record for each kernel, of the right length")
{
    for (unsigned i = 0; i < sizeof(manners) / sizeof(manners[0]); i++) {
        manner = (enum manner)i;
        trial = manners[i];
        run_alone(check_wrong_subrelay);
    }
    trial = NULL;
}
