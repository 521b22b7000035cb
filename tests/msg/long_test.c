/* Long messages among simulated peers: fragments both ways, wrong ones, want of memory.
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

static void check_echo(const char *options)
{
    static const uint32_t lengths[] = {0, 1, 47, 48, 49, 95, 96, 97, 1000, 4096, 16384, 65535, 65536};
    static uint8_t reply[MSG_MAX];

    begin(3, 1, options);
    peers_waiting = echo;
    fill_bytes(long_bytes, sizeof(long_bytes), 5);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        uint8_t *exact = malloc(lengths[i] > 0 ? lengths[i] : 1);

        memset(reply, 0, sizeof(reply));
        memcpy(exact, long_bytes, lengths[i]);
        CHECK_EQ(call(MSG_ECHO, exact, lengths[i], reply, lengths[i]), lengths[i]);
        CHECK(memcmp(reply, exact, lengths[i]) == 0);
        free(exact);
    }
    CHECK_EQ(dropped(), 0);
}

ALONE(long_both_ways, "requests and answers of 0 to 65536 bytes come whole, in rings of 64 slots")
{
    check_echo("");
}

ALONE(long_both_ways_4, "the same in rings of 4 slots")
{
    check_echo("ring=4");
}

ALONE(long_both_ways_1024, "the same in rings of 1024 slots, while messages are traced")
{
    check_echo("ring=1024 trace=on");
}

ALONE(long_arrives,
      "a long request reaches its handler whole, in rings of 4 slots, with short messages between its fragments")
{
    begin(3, 1, "ring=4");
    fill_bytes(long_bytes, sizeof(long_bytes), 3);
    for (uint32_t fragment = 0; fragment * 48 < 10000; fragment++) {
        uint32_t part = 10000 - fragment * 48 < 48 ? 10000 - fragment * 48 : 48;

        peers_put(PEER, MSG_ORDINARY, peers_header(PEER, MSG_MIGRATE, 9, 10000) | PEERS_FRAGMENT(fragment),
                  long_bytes + (size_t)fragment * 48, part);
        peers_put(PEER, MSG_ORDINARY, peers_header(PEER, MSG_ASK, 1, 48) | PEERS_REPLY, words, 48); /* a late reply */
        send_numbers(PEER, MSG_SPACE_UNLOCK, fragment, 1, 16);
        msg_poll();
    }
    CHECK_EQ(got[got_count - 1].type, MSG_MIGRATE);
    CHECK_EQ(got[got_count - 1].length, 10000);
    CHECK_EQ(got[got_count - 1].ticket.request, 9);
    CHECK(bytes_right(got_long, 10000, 3));
    CHECK_EQ(msg_stats.bad_fragment, 0);
}

ALONE(long_of_both_kinds, "a long request and a long answer of one peer whose fragments alternate both come whole")
{
    struct msg_asking asking;
    struct answer answer = {.long_expected = long_bytes};
    uint16_t id;

    begin(3, 1, "");
    fill_bytes(long_bytes, sizeof(long_bytes), 3);
    msg_ask(&asking, PEER, MSG_ECHO, words, 8, note_answer, &answer);
    id = expect_request(MSG_ECHO);
    for (uint32_t fragment = 0; fragment < 10; fragment++) {
        peers_put(PEER, MSG_ORDINARY, peers_header(PEER, MSG_MIGRATE, 9, 480) | PEERS_FRAGMENT(fragment),
                  long_bytes + (size_t)fragment * 48, 48);
        peers_put(PEER, MSG_ORDINARY, peers_header(PEER, MSG_ECHO, id, 480) | PEERS_FRAGMENT(fragment) | PEERS_REPLY,
                  long_bytes + (size_t)fragment * 48, 48);
    }
    msg_poll();
    CHECK(got_count == 1 && bytes_right(got_long, 480, 3));
    CHECK(answer.count == 1 && answer.length == 480);
}

ALONE(long_of_both_classes, "long requests in both classes of one peer whose fragments alternate both come whole")
{
    static uint8_t relayed[16 + 480];
    struct msg_relay relay = {.kernels = 1ull << OWN, .type = MSG_ASK_URGENT};

    begin(3, 1, "");
    memcpy(relayed, &relay, sizeof(relay));
    fill_bytes(relayed + 16, 480, 8);
    fill_bytes(long_bytes, sizeof(long_bytes), 3);
    for (uint32_t fragment = 0; fragment < 10; fragment++) {
        peers_put(PEER, MSG_ORDINARY, peers_header(PEER, MSG_MIGRATE, 9, 480) | PEERS_FRAGMENT(fragment),
                  long_bytes + (size_t)fragment * 48, 48);
        peers_put(PEER, MSG_URGENT, peers_header(PEER, MSG_RELAY_URGENT, 9, 480) | PEERS_FRAGMENT(fragment),
                  relayed + (size_t)fragment * 48, 48);
        msg_poll();
    }
    CHECK_EQ(msg_stats.bad_fragment, 0);
    CHECK(got_count == 1 && bytes_right(got_long, 480, 3));
    CHECK(peers_take(PEER, MSG_URGENT)->error); /* that relay makes no sense, but it has come */
}

ALONE(fragments_wrong, "a fragment missing, repeated, out of order or of another message is counted; its message is "
                       "dropped, the next one comes")
{
    static const struct {
        uint32_t count;
        uint32_t order[6];
    } cases[] = {
        {3, {0, 1, 3}}, {3, {1, 2, 3}}, {4, {0, 1, 1, 2}}, {4, {0, 2, 1, 3}}, {5, {0, 1, 0, 2, 3}}, {2, {3, 0}},
    };

    begin(3, 1, "");
    fill_bytes(long_bytes, sizeof(long_bytes), 3);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t before = msg_stats.bad_fragment;

        for (uint32_t j = 0; j < cases[i].count; j++)
            peers_put(PEER, MSG_ORDINARY, peers_header(PEER, MSG_MIGRATE, 9, 192) | PEERS_FRAGMENT(cases[i].order[j]),
                      long_bytes, 48);
        msg_poll();
        CHECK_EQ(got_count, 0);
        CHECK(msg_stats.bad_fragment > before || i == 5 || i == 0);
        peers_send(PEER, MSG_MIGRATE, 0, 9, long_bytes, 192);
        msg_poll();
        CHECK(msg_stats.bad_fragment > before);
        CHECK(got_count == 1 && got[0].length == 192 && bytes_right(got_long, 192, 3));
        got_count = 0;
    }
    for (uint32_t bit = 16; bit < 49; bit++) { /* the second fragment differs in its header */
        uint64_t header = peers_header(PEER, MSG_MIGRATE, 9, 192);

        peers_put(PEER, MSG_ORDINARY, header, long_bytes, 48);
        peers_put(PEER, MSG_ORDINARY, (header ^ 1ull << bit) | PEERS_FRAGMENT(1), long_bytes, 48);
        peers_put(PEER, MSG_ORDINARY, header | PEERS_FRAGMENT(2), long_bytes, 48);
        peers_put(PEER, MSG_ORDINARY, header | PEERS_FRAGMENT(3), long_bytes, 48);
        msg_poll();
        CHECK_EQ(got_count, 0);
    }
}

ALONE(fragments_strange,
      "words that no good header is are dropped and counted, in the middle of a long message too, which still comes")
{
    uint64_t header = peers_header(PEER, MSG_MIGRATE, 9, 4800);

    begin(3, 1, "");
    fill_bytes(long_bytes, sizeof(long_bytes), 3);
    for (uint32_t fragment = 0; fragment < 100; fragment++) {
        for (uint32_t i = 0; i < 20; i++)
            peers_put(PEER, MSG_ORDINARY, 1ull << 63 | (uint64_t)(i % 3) << 61, words, 48);
        peers_put(PEER, MSG_ORDINARY, header | PEERS_FRAGMENT(fragment), long_bytes + (size_t)fragment * 48, 48);
        msg_poll();
    }
    CHECK_EQ(msg_stats.bad_header, 2000);
    CHECK(got_count == 1 && got[0].length == 4800 && bytes_right(got_long, 4800, 3));
}

ALONE(long_two_askers, "two long requests to one peer go one after the other: their fragments do not mix")
{
    static uint8_t other_bytes[5000];
    struct msg_asking askings[2];
    struct answer answers[2] = {{0}};
    const struct peers_message *m;

    begin(3, 1, "ring=8"); /* two credits */
    fill_bytes(long_bytes, 5000, 3);
    fill_bytes(other_bytes, 5000, 4);
    msg_ask(&askings[0], PEER, MSG_ECHO, long_bytes, 5000, note_answer, &answers[0]);
    msg_ask(&askings[1], PEER, MSG_ECHO, other_bytes, 4000, note_answer, &answers[1]);
    for (uint32_t done = 0; done < 2;) {
        m = peers_take(PEER, MSG_ORDINARY);
        if (m != NULL) {
            CHECK(m->length == (done == 0 ? 5000 : 4000) && bytes_right(m->data, m->length, done == 0 ? 3 : 4));
            done++;
        }
        peers_signal(PEER);
        msg_poll();
    }
    expect_nothing();
}

ALONE(no_memory_fragments,
      "without memory to put a long request together it is answered -ENOMEM; a long answer is -ENOMEM to its asker")
{
    const struct peers_message *m;

    begin(3, 1, "");
    send_numbers(PEER, MSG_MIGRATE, 0, 0, 0);
    peers_fail_next(1000);
    peers_send(PEER, MSG_MIGRATE, 0, 7, long_bytes, 1000);
    msg_poll();
    m = peers_take(PEER, MSG_ORDINARY);
    CHECK(m != NULL && m->reply && m->error && m->request == 7 && m->type == MSG_MIGRATE);
    CHECK_EQ((int64_t) * (const uint64_t *)(const void *)m->data, -ENOMEM);
    CHECK_EQ(got_count, 0);
    CHECK_EQ(msg_stats.no_memory, 1);
    peers_fail_to = 0;
    peers_waiting = echo;
    CHECK_EQ(call(MSG_ASK, words, 48, long_bytes, 48), 48);
    peers_fail_next(1000);
    CHECK_EQ(call(MSG_ECHO, long_bytes, 1000, long_bytes, 1000), -ENOMEM);
    peers_fail_to = 0;
    CHECK_EQ(call(MSG_ECHO, long_bytes, 1000, long_bytes, 1000), 1000);
}
