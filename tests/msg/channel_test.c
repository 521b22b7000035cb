/* The channel among simulated peers: what arrives, in which order, what is dropped, room, queues.
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

ALONE(notice_arrives, "a short notice is handled once, with its type, sender, length, time and content")
{
    begin(3, 1, "");
    peers_counts = 3200;
    peers_put(OTHER, MSG_ORDINARY, peers_header(OTHER, MSG_TELL, 0, 48), words, 48);
    CHECK(msg_hinted());
    CHECK(msg_poll());
    CHECK(!msg_hinted());
    CHECK(!msg_poll());
    CHECK_EQ(got_count, 1);
    CHECK_EQ(got[0].type, MSG_TELL);
    CHECK_EQ(got[0].ticket.kernel, OTHER);
    CHECK_EQ(got[0].length, 48);
    CHECK_EQ(got[0].time, 100);
    CHECK(memcmp(got[0].data, words, 48) == 0);
    CHECK_EQ(peers_head(OWN)->taken[OTHER].count[MSG_ORDINARY], 1);
    CHECK_EQ(dropped(), 0);
}

ALONE(notice_goes, "a notice of each length from 0 to 200 bytes arrives at the peer as it was sent")
{
    uint8_t bytes[200];

    begin(3, 1, "");
    fill_bytes(bytes, sizeof(bytes), 1);
    for (uint32_t length = 0; length <= sizeof(bytes); length++) {
        uint8_t *exact = malloc(length > 0 ? length : 1); /* the sanitizer guards its end */
        const struct peers_message *m;

        memcpy(exact, bytes, length);
        CHECK_EQ(msg_notify(OTHER, MSG_TELL_BYTES, exact, length), 0);
        free(exact);
        m = peers_take(OTHER, MSG_ORDINARY);
        CHECK(m != NULL && m->type == MSG_TELL_BYTES && !m->reply && m->length == length);
        CHECK(memcmp(m->data, bytes, length) == 0);
        CHECK(peers_take(OTHER, MSG_ORDINARY) == NULL);
    }
    CHECK_EQ(peers_waits, 0);
}

ALONE(notice_refused, "a notice to oneself, to a kernel that is not there, or not yet reached, is refused and not sent")
{
    peers_start(3, 1, "");
    CHECK_EQ(msg_notify(OWN, MSG_TELL, words, 48), -EINVAL);
    CHECK_EQ(msg_notify(3, MSG_TELL, words, 48), -EINVAL);
    CHECK_EQ(msg_notify(64, MSG_TELL, words, 48), -EINVAL);
    CHECK_EQ(msg_notify(PEER, MSG_TELL, words, 48), -EAGAIN);
    CHECK(peers_take(PEER, MSG_ORDINARY) == NULL);
    msg_peer_reach(PEER);
    CHECK_EQ(msg_notify(PEER, MSG_TELL, words, 48), 0);
    CHECK(peers_take(PEER, MSG_ORDINARY) != NULL);
}

ALONE(peer_reached, "a peer that gives a sign of life can be sent to")
{
    peers_start(3, 1, "");
    CHECK(!msg_peer_reachable(PEER));
    send_numbers(PEER, MSG_TELL, 0, 1, 48);
    msg_poll();
    CHECK(msg_peer_reachable(PEER) && !msg_peer_reachable(OTHER));
    CHECK_EQ(msg_peers_reachable(), 1ull << PEER);
}

ALONE(peer_known, "a peer is known to all from when programs may go there, also when it is about to stop")
{
    peers_start(3, 1, "");
    msg_peer_reach(PEER);
    msg_peer_reach(OTHER);
    CHECK_EQ(msg_peers_known(), 0);
    msg_peer_start(PEER);
    CHECK_EQ(msg_peers_known(), 1ull << PEER);
    msg_peer_leave(PEER);
    CHECK_EQ(msg_peers_known(), 1ull << PEER);
    CHECK(!msg_peer_started(PEER));
}

ALONE(order, "messages of a pair and class arrive in the order of sending, over many laps")
{
    begin(3, 1, "ring=16");
    for (uint64_t i = 0; i < 4000; i += 8) {
        send_numbers(PEER, MSG_TELL, i, 8, 48);
        send_numbers(PEER, MSG_TELL_URGENT, i, 8, 48);
        msg_poll();
    }
    for (uint64_t class = 0, next[2] = {0, 0}; class < got_count; class ++) {
        bool urgent = got[class].type == MSG_TELL_URGENT;

        CHECK_EQ(number_of(&got[class]), next[urgent]);
        next[urgent]++;
    }
    CHECK_EQ(got_count, 8000);
}

ALONE(urgent_first, "urgent messages are handled before the ordinary ones that were sent before them")
{
    begin(3, 1, "");
    send_numbers(PEER, MSG_TELL, 0, 20, 48);
    send_numbers(OTHER, MSG_TELL, 0, 20, 48);
    send_numbers(OTHER, MSG_TELL_URGENT, 0, 20, 48);
    msg_poll();
    CHECK_EQ(got_count, 60);
    for (uint32_t i = 0; i < 60; i++)
        CHECK_EQ(got[i].type, i < 20 ? MSG_TELL_URGENT : MSG_TELL);
}

static void send_urgent_at_third(const struct msg *m)
{
    (void)m;
    if (got_count == 3)
        send_numbers(OTHER, MSG_TELL_URGENT, 0, 1, 48);
}

ALONE(urgent_soon, "an urgent message that comes while ordinary ones are handled waits for 8 of them at most")
{
    begin(3, 1, "");
    respond = send_urgent_at_third;
    send_numbers(PEER, MSG_TELL, 0, 40, 48);
    msg_poll();
    CHECK_EQ(got_count, 41);
    for (uint32_t i = 0; i < got_count; i++)
        CHECK(got[i].type != MSG_TELL_URGENT || i <= 8);
}

static uint64_t flood;

static void send_one_more(const struct msg *m)
{
    if (m->ticket.kernel != PEER || flood == 500)
        return;
    send_numbers(PEER, MSG_TELL, flood++, 1, 48);
    if (flood == 300)
        send_numbers(OTHER, MSG_TELL, 1000, 1, 48);
}

ALONE(fairness, "a peer that never stops sending keeps another's message waiting for 8 messages at most")
{
    uint32_t at = 0;

    begin(3, 1, "");
    respond = send_one_more;
    send_numbers(PEER, MSG_TELL, flood, 20, 48);
    flood = 20;
    msg_poll();
    for (uint32_t i = 0; i < got_count; i++) {
        if (got[i].ticket.kernel == OTHER)
            at = i;
    }
    /* 300 are sent when 280 are handled, that one among them */
    CHECK(at >= 280 && at <= 280 + 8);
    CHECK_EQ(got_count, 501);
}

ALONE(turns, "peers with equal traffic take turns")
{
    uint32_t of_first_half[5] = {0};

    begin(5, 1, "ring=128");
    for (uint32_t k = 0; k < 5; k++) {
        if (k != OWN)
            send_numbers(k, MSG_TELL, 0, 64, 48);
    }
    msg_poll();
    CHECK_EQ(got_count, 4 * 64);
    for (uint32_t i = 0; i < 2 * 64; i++)
        of_first_half[got[i].ticket.kernel]++;
    for (uint32_t k = 0; k < 5; k++)
        CHECK_EQ(of_first_half[k], k == OWN ? 0 : 32);
}

/* Bad input. */
static void check_bad(uint64_t header, uint64_t *counter)
{
    uint64_t before = *counter;
    uint64_t all = dropped();

    peers_put(PEER, MSG_ORDINARY, header, words, 48);
    msg_poll();
    CHECK_EQ(*counter, before + 1);
    CHECK_EQ(dropped(), all + 1);
    CHECK_EQ(got_count, 0);
}

static void check_all_bad(void)
{
    static const uint32_t unused[] = {0, 3, 9, 15, 25, 38, 49, 64, 127, 128, 511};

    for (uint64_t bits = 2; bits < 4; bits++) {
        check_bad(peers_header(PEER, MSG_TELL, 0, 48) | bits << 62, &msg_stats.bad_header);
        check_bad(peers_header(PEER, 0, 0, 0) | bits << 62, &msg_stats.bad_header);
        check_bad(peers_header(PEER, 0, 7, 0) | bits << 62, &msg_stats.bad_header);
        check_bad(peers_header(PEER, 1023, 0, 0) | bits << 62, &msg_stats.bad_header);
    }
    check_bad(peers_header(PEER, MSG_ASK, 0, 8) | PEERS_REPLY | PEERS_ERROR | PEERS_KEPT, &msg_stats.bad_header);
    for (uint32_t source = 0; source < KERNELS_MAX; source++) {
        if (source != PEER)
            check_bad(peers_header(source, MSG_TELL, 0, 48), &msg_stats.bad_source);
    }
    for (size_t i = 0; i < sizeof(unused) / sizeof(unused[0]); i++) {
        check_bad(peers_header(PEER, unused[i], 0, 0), &msg_stats.bad_type);
        check_bad(peers_header(PEER, unused[i], 0, 0) | PEERS_REPLY, &msg_stats.bad_type);
    }
    check_bad(peers_header(PEER, MSG_TELL_URGENT, 0, 48), &msg_stats.bad_type); /* in the other class's ring */
    check_bad(peers_header(PEER, MSG_TELL, 0, 48) | PEERS_REPLY, &msg_stats.bad_type);
    check_bad(peers_header(PEER, MSG_GROUP_FREE, 0, 8), &msg_stats.bad_type); /* nobody handles it here */
    for (uint32_t length = 0; length < 256; length++) {
        if (length != 48)
            check_bad(peers_header(PEER, MSG_TELL, 0, length), &msg_stats.bad_length);
        if (length != 48)
            check_bad(peers_header(PEER, MSG_ASK, 0, length) | PEERS_REPLY, &msg_stats.bad_length);
        if (length != 8)
            check_bad(peers_header(PEER, MSG_ASK, 0, length) | PEERS_REPLY | PEERS_ERROR, &msg_stats.bad_length);
        if (length != 0)
            check_bad(peers_header(PEER, MSG_ASK, 0, length) | PEERS_REPLY | PEERS_KEPT, &msg_stats.bad_length);
        if (length < 16)
            check_bad(peers_header(PEER, MSG_HOST, 0, length), &msg_stats.bad_length);
        if (length < 8)
            check_bad(peers_header(PEER, MSG_HOST, 0, length) | PEERS_REPLY, &msg_stats.bad_length);
    }
    check_bad(peers_header(PEER, MSG_ECHO, 0, MSG_MAX + 1), &msg_stats.bad_length);
    check_bad(peers_header(PEER, MSG_ECHO, 0, 0x1ffff), &msg_stats.bad_length);
    check_bad(peers_header(PEER, MSG_TELL, 0, 48) | PEERS_ERROR, &msg_stats.bad_length);
    check_bad(peers_header(PEER, MSG_ASK, 0, 0) | PEERS_KEPT, &msg_stats.bad_length);
    for (uint32_t fragment = 1; fragment < 2048; fragment++)
        check_bad(peers_header(PEER, MSG_TELL, 0, 48) | PEERS_FRAGMENT(fragment), &msg_stats.bad_fragment);
    check_bad(peers_header(PEER, MSG_ECHO, 0, 480) | PEERS_FRAGMENT(10), &msg_stats.bad_fragment);
    check_bad(peers_header(PEER, MSG_ECHO, 0, 480) | PEERS_FRAGMENT(1), &msg_stats.bad_fragment);
    check_bad(peers_header(PEER, MSG_ASK, 5, 48) | PEERS_REPLY, &msg_stats.late_reply);
    check_bad(peers_header(PEER, MSG_ASK, 5, 8) | PEERS_REPLY | PEERS_ERROR, &msg_stats.late_reply);
    check_bad(peers_header(PEER, MSG_ASK, 5, 0) | PEERS_REPLY | PEERS_KEPT, &msg_stats.late_reply);
}

ALONE(bad_headers, "every header that breaks a rule is dropped, counted under that rule, and logged once for each rule")
{
    begin(3, 1, "");
    check_all_bad();
    CHECK(peers_logged >= 5 && peers_logged <= 8);
}

ALONE(bad_headers_later, "the same once good messages have come, which are handled among them")
{
    begin(3, 1, "");
    for (uint32_t i = 0; i < 3; i++) {
        send_numbers(PEER, MSG_TELL, 0, 1, 48);
        send_numbers(PEER, MSG_ASK, 0, 1, 48);
        msg_poll();
        CHECK_EQ(got_count, 2);
        got_count = 0;
        check_all_bad();
    }
}

ALONE(bad_headers_traced, "the same while messages are traced")
{
    begin(3, 1, "trace=on");
    check_all_bad();
    send_numbers(PEER, MSG_TELL, 0, 1, 48);
    msg_poll();
    CHECK_EQ(got_count, 1);
}

ALONE(bad_time, "a message with an absurd time is handled, and its time is not believed")
{
    begin(3, 1, "");
    peers_put_quietly(PEER, MSG_ORDINARY, peers_header(PEER, MSG_TELL, 0, 48), words, 48);
    peers_ring(OWN, PEER, MSG_ORDINARY)[0].publish = 1ull << 44 << 16 | 1;
    peers_write_hint(PEER);
    msg_poll();
    CHECK_EQ(got_count, 1);
    CHECK_EQ(msg_stats.bad_time, 1);
    CHECK(msg_clock < 1ull << 40);
}

ALONE(time_moves, "a message sent after another was taken has a later time, whatever the clocks say")
{
    begin(3, 1, "");
    peers_put_quietly(PEER, MSG_ORDINARY, peers_header(PEER, MSG_TELL, 0, 48), words, 48);
    peers_ring(OWN, PEER, MSG_ORDINARY)[0].publish = 123456789ull << 16 | 1;
    peers_write_hint(PEER);
    msg_poll();
    for (uint64_t i = 1; i < 4; i++) {
        CHECK_EQ(msg_notify(OTHER, MSG_TELL, words, 48), 0);
        CHECK_EQ(peers_take(OTHER, MSG_ORDINARY)->time, 123456789 + i);
    }
}

ALONE(time_wraps, "when 48 bits of time are over, messages still arrive, and their times are counted in bounds")
{
    const struct msg_times *times;
    uint64_t counted = 0;

    begin(3, 1, "");
    peers_counts = 32ull << 48;
    for (uint32_t i = 0; i <= MSG_SAMPLE; i++) {
        send_numbers(PEER, MSG_TELL, 0, 1, 48);
        msg_poll();
    }
    CHECK_EQ(got_count, MSG_SAMPLE + 1);
    CHECK_EQ(msg_rows[MSG_TELL].received, MSG_SAMPLE + 1);
    CHECK_EQ(msg_notify(PEER, MSG_TELL, words, 48), 0);
    CHECK(peers_take(PEER, MSG_ORDINARY) != NULL);
    times = msg_rows[MSG_TELL].times;
    for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
        counted += times->queueing.count[i];
    CHECK_EQ(counted, 2); /* of the sample: the first, and the one after MSG_SAMPLE */
    CHECK(times->handling.most < 1000);
}

static void receiver_goes_on(void)
{
    while (peers_take(PEER, MSG_ORDINARY) != NULL) {
    }
}

ALONE(room_looked_for,
      "a task alone on its CPU that finds a ring full looks for room, and makes no wish when there is some")
{
    begin(3, 1, "");
    peers_no_other_thread = true;
    peers_relaxed = receiver_goes_on;
    for (uint32_t i = 0; i < 200; i++)
        CHECK_EQ(msg_notify(PEER, MSG_TELL, words, 48), 0);
    CHECK_EQ(msg_stats.room_waits, 0);
    CHECK_EQ(peers_waits, 0);
}

ALONE(not_published, "a slot whose last word is of another use is not taken, whatever the hint says")
{
    begin(3, 1, "");
    peers_put_quietly(PEER, MSG_ORDINARY, peers_header(PEER, MSG_TELL, 0, 48), words, 48);
    for (uint32_t sequence = 0; sequence < 0x10000; sequence += 7) {
        peers_ring(OWN, PEER, MSG_ORDINARY)[0].publish = sequence == 1 ? 2 : sequence;
        peers_signal(PEER);
        msg_poll();
    }
    CHECK_EQ(got_count, 0);
    peers_ring(OWN, PEER, MSG_ORDINARY)[0].publish = 1;
    peers_signal(PEER);
    msg_poll();
    CHECK_EQ(got_count, 1);
}

ALONE(quiet_slot, "a message whose hint is not yet written is taken with the next hint, once")
{
    begin(3, 1, "");
    peers_put_quietly(PEER, MSG_ORDINARY, peers_header(PEER, MSG_TELL, 0, 48), words, 48);
    CHECK(!msg_poll());
    peers_write_hint(PEER);
    CHECK(msg_poll());
    CHECK_EQ(got_count, 1);
}

/* A slot is overwritten as soon as it has been given back. */
static void overwrite_slot(const struct msg *m)
{
    struct peers_slot *slot = &peers_ring(OWN, PEER, MSG_ORDINARY)[(got_count - 1) % peers_slots];
    uint64_t copy[6];

    CHECK_EQ(peers_head(OWN)->taken[PEER].count[MSG_ORDINARY], got_count);
    memcpy(copy, m->data, sizeof(copy));
    memset(slot, 0xaa, sizeof(*slot));
    CHECK(memcmp(copy, m->data, sizeof(copy)) == 0);
}

ALONE(copied, "a handler sees a copy: what the sender writes meanwhile changes nothing")
{
    begin(3, 1, "");
    respond = overwrite_slot;
    for (uint64_t i = 0; i < 5; i++) {
        send_numbers(PEER, MSG_TELL, i, 1, 48);
        msg_poll();
    }
    CHECK_EQ(got_count, 5);
}

/* Room. */
static void take_all(const struct wait_reason *reason)
{
    (void)reason;
    while (peers_take(PEER, MSG_ORDINARY) != NULL) {
    }
    peers_signal(PEER);
    msg_poll();
}

static void check_full_ring(uint32_t slots, uint32_t reserve)
{
    uint8_t wants;

    for (uint32_t i = 0; i < slots - reserve; i++)
        CHECK_EQ(msg_notify(PEER, MSG_TELL, words, 48), 0);
    CHECK_EQ(peers_waits, 0);
    CHECK_EQ(peers_head(PEER)->wants[OWN], 0);
    peers_waiting = take_all;
    wants = peers_head(PEER)->wants[OWN];
    CHECK_EQ(msg_notify(PEER, MSG_TELL, words, 48), 0);
    CHECK(peers_waits > 0);
    CHECK_EQ(peers_head(PEER)->wants[OWN], (uint8_t)(wants + 1));
    CHECK_EQ(peers[PEER].taken[MSG_ORDINARY], slots - reserve);
    CHECK(peers_take(PEER, MSG_ORDINARY) != NULL);
    CHECK(peers_take(PEER, MSG_ORDINARY) == NULL);
}

ALONE(full_4,
      "a ring of 4 slots takes 3 notices; the task of the next waits and wishes for room, and goes on when there is")
{
    begin(3, 1, "ring=4");
    check_full_ring(4, 1);
}

ALONE(full_64, "a ring of 64 slots takes 48 notices, and then the same")
{
    begin(3, 1, "");
    check_full_ring(64, 16);
}

ALONE(full_1024, "a ring of 1024 slots takes 1008 notices, and then the same")
{
    begin(3, 1, "ring=1024");
    check_full_ring(1024, 16);
}

ALONE(ring_option, "ring= that is no power of two from 4 to 1024 means 64")
{
    CHECK_EQ(msg_channel_size(5, "ring=2"), msg_channel_size(5, ""));
    CHECK_EQ(msg_channel_size(5, "ring=2048"), msg_channel_size(5, ""));
    CHECK_EQ(msg_channel_size(5, "ring=100"), msg_channel_size(5, ""));
    CHECK_EQ(msg_channel_size(5, "ring=0"), msg_channel_size(5, ""));
    CHECK_EQ(msg_channel_size(5, "ring=x"), msg_channel_size(5, ""));
    CHECK_EQ(msg_channel_size(5, ""), 3 * 4096 + 5 * (2 * 64 * 64 + 4096));
    CHECK_EQ(msg_channel_size(5, "ring=4"), 3 * 4096 + 5 * 2 * 4096);
    CHECK_EQ(msg_channel_size(5, "ring=1024"), 3 * 4096 + 5 * (2 * 1024 * 64 + 4096));
}

ALONE(classes_apart, "a full ordinary ring does not keep an urgent notice")
{
    begin(3, 1, "ring=4");
    for (uint32_t i = 0; i < 3; i++)
        CHECK_EQ(msg_notify(PEER, MSG_TELL, words, 48), 0);
    CHECK_EQ(msg_notify(PEER, MSG_TELL_URGENT, words, 48), 0);
    CHECK(peers_take(PEER, MSG_URGENT) != NULL);
    CHECK_EQ(peers_waits, 0);
}

static struct msg_kept kept[64];
static uint32_t kept_count;

static void keep(const struct msg *m)
{
    if (!msg_kinds[m->ticket.type].notice)
        msg_keep(m, &kept[kept_count++], NULL);
}

ALONE(queue_order, "what waits for room goes in order, and nothing of its class passes it, short or long")
{
    uint8_t bytes[500];
    uint64_t state = 1;
    uint32_t next = 0;

    begin(3, 1, "ring=4");
    fill_bytes(bytes, sizeof(bytes), 9);
    respond = keep;
    for (uint32_t i = 0; i < 32; i++) {
        send_numbers(PEER, MSG_ECHO, i, 1, 8);
        msg_poll();
        while (peers_take(PEER, MSG_ORDINARY) != NULL) { /* word that it is kept */
        }
    }
    for (uint32_t i = 0; i < 32; i++)
        msg_kept_reply_long(&kept[i], bytes, i % 3 == 0 ? 40 : (uint32_t)test_below(&state, 500), NULL);
    while (next < 32) {
        const struct peers_message *m = peers_take(PEER, MSG_ORDINARY);

        if (m == NULL) {
            peers_signal(PEER);
            CHECK(msg_poll() || peers_has_message(PEER, MSG_ORDINARY));
            continue;
        }
        CHECK(m->reply && !m->kept && m->request == next);
        CHECK(memcmp(m->data, bytes, m->length) == 0);
        next++;
    }
    CHECK_EQ(msg_peers[PEER]->blocked, 0);
}

ALONE(queue_no_overtaking, "what is sent when there is room again goes behind what already waits for room")
{
    uint8_t bytes[100];
    uint32_t next = 0;

    begin(3, 1, "ring=4");
    fill_bytes(bytes, sizeof(bytes), 9);
    respond = keep;
    for (uint32_t i = 0; i < 3; i++) {
        send_numbers(PEER, MSG_ECHO, i, 1, 8);
        msg_poll();
        CHECK(peers_take(PEER, MSG_ORDINARY) != NULL); /* word that it is kept */
    }
    for (uint32_t i = 0; i < 3; i++) {
        msg_kept_reply_long(&kept[i], bytes, sizeof(bytes), NULL); /* three slots: the first fills the ring */
        if (i == 1)
            CHECK_EQ(peers_take(PEER, MSG_ORDINARY)->request, next++); /* the second one waits, and there is room */
    }
    while (next < 3) {
        const struct peers_message *m = peers_take(PEER, MSG_ORDINARY);

        if (m != NULL) {
            CHECK_EQ(m->request, next++);
            continue;
        }
        peers_signal(PEER);
        CHECK(msg_poll() || peers_has_message(PEER, MSG_ORDINARY));
    }
}

ALONE(wish_answered, "a peer's wish for room is answered by a signal once both its rings are empty, once")
{
    uint16_t hint;

    begin(3, 1, "");
    hint = peers_hint_at(PEER);
    peers_wish(PEER);
    msg_poll();
    CHECK(peers_hint_at(PEER) != hint);
    CHECK_EQ(peers_head(OWN)->taken[PEER].answered, 1);
    CHECK_EQ(msg_stats.room_signals, 1);
    send_numbers(PEER, MSG_TELL, 0, 30, 48);
    send_numbers(PEER, MSG_TELL_URGENT, 0, 3, 48);
    peers_wish(PEER);
    hint = peers_hint_at(PEER);
    CHECK(msg_poll());
    CHECK_EQ(got_count, 33);
    CHECK(peers_hint_at(PEER) != hint);
    CHECK_EQ(peers_head(OWN)->taken[PEER].answered, 2);
    CHECK_EQ(msg_stats.room_signals, 2);
    peers_signal(PEER); /* no wish */
    msg_poll();
    CHECK_EQ(msg_stats.room_signals, 2);
}

static uint16_t hint_before;
static bool signalled_early;

static void watch_hint(const struct msg *m)
{
    (void)m;
    if (peers_hint_at(PEER) != hint_before || peers_head(OWN)->taken[PEER].answered != 0)
        signalled_early = true;
}

ALONE(wish_not_early, "the signal comes after the last message was taken, not before")
{
    begin(3, 1, "");
    respond = watch_hint;
    hint_before = peers_hint_at(PEER);
    send_numbers(PEER, MSG_TELL, 0, 40, 48);
    peers_wish(PEER);
    msg_poll();
    CHECK(!signalled_early && got_count == 40 && peers_hint_at(PEER) != hint_before);
}

/* As the first CPU before it halts. */
static void poll_until_armed(void)
{
    while (!msg_doorbell_arm())
        msg_poll();
    msg_doorbell_disarm();
}

/* Each number of messages, so that one of them is the last of those after which a poll ends early. */
static void wish_behind(uint64_t most)
{
    for (uint64_t count = 1; count <= most; count++) {
        uint16_t hint = peers_hint_at(PEER);

        got_count = 0;
        send_numbers(PEER, MSG_TELL, 0, count, 48);
        peers_wish(PEER);
        poll_until_armed();
        CHECK_EQ(got_count, count);
        CHECK(peers_hint_at(PEER) != hint);
        CHECK_EQ(peers_head(OWN)->taken[PEER].answered, count & 0xff);
    }
}

ALONE(wish_at_the_end, "a wish is answered too when a poll that ends early has just taken the last message")
{
    begin(3, 1, "ring=1024");
    wish_behind(1024);
}

ALONE(wish_at_the_end_late, "so it is while messages are held back, and each is a turn of its own")
{
    begin(3, 1, "ring=1024 inject=rate:0");
    wish_behind(1024);
}

/* A peer that follows hints as the protocol says: it looks when the hint differs from the one it remembers, and sees
 * the wish when the signals differ. */
static uint16_t peer_seen;
static uint8_t peer_wants_seen;

static void peer_looks(uint32_t kernel)
{
    uint16_t hint = peers_hint_at(kernel);
    uint16_t change = hint ^ peer_seen;

    peer_seen = hint;
    if (change == 0)
        return;
    while (peers_take(kernel, MSG_URGENT) != NULL || peers_take(kernel, MSG_ORDINARY) != NULL) {
    }
    if ((change & 15) != 0 && peers_head(kernel)->wants[OWN] != peer_wants_seen) {
        peer_wants_seen = peers_head(kernel)->wants[OWN];
        peers_answer_wish(kernel);
    }
}

static bool looked;

static void peer_looks_once(const struct wait_reason *reason)
{
    (void)reason;
    CHECK(!looked);
    looked = true;
    peer_looks(PEER);
    msg_poll();
}

static void check_wish_seen(void)
{
    peers_waiting = peer_looks_once;
    CHECK_EQ(msg_notify(PEER, MSG_TELL, words, 48), 0);
    CHECK(looked);
}

ALONE(wish_given_up, "however many requests were given up before a peer looks, it sees that we still wish for room")
{
    begin(3, 1, "ring=4");
    for (uint32_t tries = 0; tries < 600; tries++) {
        for (uint32_t i = 0; i < 3; i++)
            CHECK_EQ(msg_notify(PEER, MSG_TELL, words, 48), 0);
        for (uint32_t i = 0; i < tries; i++) {
            struct msg_policy policy = {.timeout = 1000};

            peers_waiting = NULL;
            CHECK_EQ(msg_call_within(&policy, PEER, MSG_ECHO, words, 48, NULL, 0, "test", 0), -ETIMEDOUT);
        }
        looked = false;
        check_wish_seen();
        peer_looks(PEER);
    }
}

ALONE(wish_many_hints,
      "however often a peer's own messages make us try again before it looks, it sees that we wish for room")
{
    begin(3, 1, "ring=4");
    respond = keep;
    for (uint32_t tries = 0; tries < 40; tries++) {
        uint64_t before;

        kept_count = 0;
        send_numbers(PEER, MSG_ASK, 0, 1, 48);
        msg_poll();
        peer_looks(PEER);
        for (uint32_t i = 0; i < 3; i++)
            CHECK_EQ(msg_notify(PEER, MSG_TELL, words, 48), 0);
        msg_kept_reply(&kept[0], words, 48, NULL); /* waits for room */
        for (uint32_t i = 0; i < tries; i++) {
            send_numbers(PEER, MSG_TELL, i, 1, 48);
            msg_poll();
        }
        before = peers[PEER].taken[MSG_ORDINARY];
        peer_looks(PEER);
        CHECK_EQ(peers[PEER].taken[MSG_ORDINARY], before + 3);
        msg_poll();
        peer_looks(PEER);
        CHECK_EQ(peers[PEER].taken[MSG_ORDINARY], before + 4);
    }
}

ALONE(liar_counter, "a peer whose counter lies gets no more than the ring holds, and is served again when it is right")
{
    static const uint64_t lies[] = {4, 100, 1ull << 63, UINT64_MAX};

    begin(3, 1, "ring=4");
    for (uint32_t i = 0; i < 3; i++)
        CHECK_EQ(msg_notify(PEER, MSG_TELL, words, 48), 0);
    respond = keep;
    send_numbers(PEER, MSG_ASK, 0, 1, 48);
    msg_poll(); /* the ring is full */
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        peers_head(PEER)->taken[OWN].count[MSG_ORDINARY] = lies[i] + (lies[i] == 4 ? 1 : 0);
        CHECK(!msg_put(msg_peers[PEER], MSG_ORDINARY, peers_header(0, MSG_TELL, 0, 48), words, true));
    }
    peers_head(PEER)->taken[OWN].count[MSG_ORDINARY] = 0;
    for (uint32_t i = 0; i < 4; i++)
        CHECK(peers_take(PEER, MSG_ORDINARY) != NULL);
    CHECK_EQ(msg_notify(PEER, MSG_TELL, words, 48), 0);
    CHECK(peers_take(PEER, MSG_ORDINARY) != NULL);
}

ALONE(overrun, "a peer that asks beyond its credits loses answers, which are counted; nobody else is hurt")
{
    begin(3, 1, "ring=4");
    for (uint32_t i = 0; i < 3; i++)
        CHECK_EQ(msg_notify(PEER, MSG_TELL, words, 48), 0);
    respond = NULL;
    send_numbers(PEER, MSG_ASK, 0, 3, 48);
    msg_poll();
    for (uint32_t i = 0; i < 3; i++)
        msg_reply(&got[i].ticket, words, 48);
    CHECK_EQ(msg_stats.overrun, 2);
    for (uint32_t i = 0; i < 3; i++)
        CHECK(!peers_take(PEER, MSG_ORDINARY)->reply);
    CHECK(peers_take(PEER, MSG_ORDINARY)->reply);
    CHECK(peers_take(PEER, MSG_ORDINARY) == NULL);
}

/* Doorbells. */
ALONE(wish_rings, "a wish for room and its answer ring an armed doorbell too")
{
    begin(3, 1, "ring=4");
    peers_head(OTHER)->doorbell = 5;
    peers_wish(OTHER);
    msg_poll();
    CHECK_EQ(peers[OTHER].rung, 1);
    for (uint32_t i = 0; i < 3; i++)
        CHECK_EQ(msg_notify(PEER, MSG_TELL, words, 48), 0);
    peers_head(PEER)->doorbell = 5;
    peers_waiting = take_all;
    CHECK_EQ(msg_notify(PEER, MSG_TELL, words, 48), 0);
    CHECK_EQ(peers[PEER].rung, 1);
}

ALONE(many_peers, "with 64 kernels every peer is heard and can be sent to")
{
    begin(64, 8, "ring=4");
    for (uint32_t k = 0; k < 64; k++) {
        if (k == OWN)
            continue;
        CHECK_EQ(msg_notify(k, MSG_TELL, words, 48), 0);
        CHECK(peers_take(k, MSG_ORDINARY) != NULL);
        send_numbers(k, MSG_TELL, k, 1, 48);
    }
    msg_poll();
    CHECK_EQ(got_count, 63);
    for (uint32_t i = 0; i < 63; i++)
        CHECK_EQ(number_of(&got[i]), got[i].ticket.kernel);
}

ALONE(times_no_memory, "without memory for its times a message is handled all the same")
{
    begin(3, 1, "");
    peers_fail_next(1000);
    send_numbers(PEER, MSG_TELL, 0, 20, 48);
    msg_poll();
    CHECK_EQ(got_count, 20);
    CHECK_EQ(dropped(), 0);
}
