/* Doorbells of the channel among simulated peers: when a kernel is interrupted, and what a long poll leaves.
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

static struct cpu first_cpu, second_cpu = {.index = 1};
struct cpu *test_cpu = &first_cpu;

static void check_doorbell(const char *options)
{
    begin(3, 1, options);
    CHECK_EQ(msg_notify(PEER, MSG_TELL, words, 48), 0);
    CHECK_EQ(msg_notify(PEER, MSG_TELL_BYTES, words, 47), 0);
    CHECK_EQ(peers[PEER].rung, 0);
    peers_head(PEER)->doorbell = 1;
    for (uint32_t i = 0; i < 4; i++)
        CHECK_EQ(msg_notify(PEER, i % 2 ? MSG_TELL : MSG_TELL_URGENT, words, 48), 0);
    CHECK_EQ(peers[PEER].rung, 1);
    peers_head(PEER)->doorbell = 2;
    CHECK_EQ(msg_notify(PEER, MSG_TELL, words, 48), 0);
    CHECK_EQ(msg_notify(PEER, MSG_TELL_BYTES, words, 47), 0);
    CHECK_EQ(peers[PEER].rung, 1);
    peers_head(PEER)->doorbell = 3;
    CHECK_EQ(msg_notify(PEER, MSG_TELL_BYTES, words, 47), 0);
    CHECK_EQ(msg_notify(PEER, MSG_TELL, words, 48), 0);
    CHECK_EQ(peers[PEER].rung, 2);
    CHECK_EQ(peers[OTHER].rung, 0);
    CHECK_EQ(msg_stats.doorbells_sent, 2);
}

ALONE(doorbell_armed, "a peer is interrupted only when its doorbell is armed, and once for each arming")
{
    check_doorbell("");
}

ALONE(doorbell_traced, "the same while messages are traced")
{
    check_doorbell("trace=on");
}

ALONE(doorbell_own, "arming gives a new odd word and fails when something has come; disarming gives an even one")
{
    uint64_t word;

    begin(3, 1, "");
    CHECK_EQ(peers_head(OWN)->doorbell & 1, 0);
    CHECK(msg_doorbell_arm());
    word = peers_head(OWN)->doorbell;
    CHECK_EQ(word & 1, 1);
    CHECK(msg_doorbell_arm());
    CHECK(peers_head(OWN)->doorbell > word && (peers_head(OWN)->doorbell & 1) == 1);
    msg_doorbell_disarm();
    CHECK_EQ(peers_head(OWN)->doorbell & 1, 0);
    msg_doorbell_disarm();
    CHECK_EQ(peers_head(OWN)->doorbell & 1, 0);
    send_numbers(PEER, MSG_TELL, 0, 1, 48);
    CHECK(!msg_doorbell_arm());
    CHECK_EQ(peers_head(OWN)->doorbell & 1, 0);
    msg_poll();
    word = peers_head(OWN)->doorbell;
    CHECK(msg_doorbell_arm());
    CHECK(peers_head(OWN)->doorbell > word);
}

static void send_more_twice(const struct msg *m)
{
    if (number_of(&got[got_count - 1]) < 2)
        send_numbers(m->ticket.kernel, MSG_TELL, number_of(&got[got_count - 1]) + 1, 1, 48);
}

ALONE(doorbell_interrupt, "the interrupt handles all that is there and leaves the doorbell armed anew")
{
    uint64_t word;

    begin(3, 1, "");
    msg_doorbell_arm();
    word = peers_head(OWN)->doorbell;
    respond = send_more_twice;
    send_numbers(PEER, MSG_TELL, 0, 1, 48);
    msg_doorbell_interrupt();
    CHECK_EQ(got_count, 3);
    CHECK(peers_head(OWN)->doorbell != word && (peers_head(OWN)->doorbell & 1) == 1);
}

static uint32_t flood_left;

static void flood_on(const struct msg *m)
{
    if (flood_left == 0)
        return;
    flood_left--;
    got_count = 0;
    send_numbers(m->ticket.kernel, MSG_TELL, flood_left, 1, 48);
}

ALONE(flood_leaves, "messages that keep coming do not keep the CPU: a timer replaces the doorbell, and finds the rest")
{
    uint64_t due;

    begin(3, 1, "");
    respond = flood_on;
    flood_left = 1000000;
    msg_doorbell_arm();
    send_numbers(PEER, MSG_TELL, 0, 1, 48);
    msg_doorbell_interrupt();
    CHECK(flood_left > 0 && flood_left < 1000000);
    CHECK_EQ(peers_head(OWN)->doorbell & 1, 0);
    due = msg_due();
    CHECK(due > clock_now() && peers_due_changes > 0);
    flood_left = 10;
    peers_counts = 2 * due;
    msg_due_interrupt();
    CHECK_EQ(flood_left, 0);
    CHECK_EQ(peers_head(OWN)->doorbell & 1, 1);
    CHECK_EQ(msg_due(), 0);
}

ALONE(flood_of_two, "a poll that has taken enough from two peers that keep sending leaves the rest to be announced")
{
    begin(3, 1, "");
    respond = flood_on;
    flood_left = 1000000;
    send_numbers(PEER, MSG_TELL, 0, 1, 48);
    send_numbers(OTHER, MSG_TELL, 0, 1, 48);
    CHECK(msg_poll());
    CHECK(flood_left > 0 && flood_left < 1000000);
    CHECK(!msg_doorbell_arm());
    flood_left = 0;
    while (msg_poll()) {
    }
    CHECK(msg_doorbell_arm());
    CHECK(!ring_ready(&msg_peers[PEER]->in[MSG_ORDINARY]) && !ring_ready(&msg_peers[OTHER]->in[MSG_ORDINARY]));
}

#define MS 1000000ull /* ns */

static uint64_t slow_handled, slow_of[3]; /* messages, and by kernel */

/* A machine on which each message takes 5 ms, and whose peers send the next one at once. */
static void slow_flood(const struct msg *m)
{
    slow_handled++;
    slow_of[m->ticket.kernel]++;
    peers_pass(5 * MS);
    flood_on(m);
}

/* Each of the kernels of SENDERS, a mask, sends COUNT messages. */
static void begin_slow_flood(uint32_t senders, uint32_t count, const char *options)
{
    begin(3, 1, options);
    instance.rates.tsc_hz = 2000000000; /* as peers_counts */
    respond = slow_flood;
    flood_left = 1000000;
    slow_handled = 0;
    msg_doorbell_arm();
    for (uint32_t kernel = 0; kernel < 3; kernel++) {
        if (senders >> kernel & 1)
            send_numbers(kernel, MSG_TELL, 0, count, 48);
    }
}

#define BOTH (1u << PEER | 1u << OTHER)

/* A poll takes no message when it has lasted a millisecond; the first takes five. */
static void check_poll_ends(uint32_t senders, uint32_t count, const char *options)
{
    begin_slow_flood(senders, count, options);
    for (uint32_t i = 1; i <= 40; i++) {
        uint64_t start = clock_now();

        CHECK(msg_poll());
        CHECK_EQ(slow_handled, i);
        CHECK(clock_now() - start < 6 * MS);
        CHECK(!msg_doorbell_arm());
    }
}

ALONE(flood_of_one, "a poll that takes messages of one peer directly ends after a millisecond, too")
{
    check_poll_ends(1u << PEER, 8, "");
}

ALONE(flood_of_one_traced, "the same while messages are traced")
{
    check_poll_ends(1u << PEER, 8, "trace=on");
}

ALONE(flood_in_turns, "peers whose messages take long have their turns, though a poll has time for one")
{
    begin_slow_flood(BOTH, 1, "");
    flood_left = 0;
    for (uint32_t i = 0; i < 40; i++) {
        uint64_t before = slow_of[PEER];

        CHECK(msg_poll());
        CHECK_EQ(slow_handled, i + 1);
        send_numbers(slow_of[PEER] != before ? PEER : OTHER, MSG_TELL, 0, 1, 48);
    }
    CHECK_EQ(slow_of[PEER], 20);
}

ALONE(flood_rung,
      "a ring takes nothing from the time of programs that a timer limits already, but an armed doorbell does")
{
    uint64_t handled, due;

    begin_slow_flood(BOTH, 8, "");
    msg_doorbell_interrupt();
    handled = slow_handled;
    due = msg_due();
    CHECK(handled > 0 && due > clock_now() + 4 * MS);
    msg_doorbell_interrupt();
    CHECK_EQ(slow_handled, handled);
    CHECK_EQ(msg_due(), due);
    peers_counts = 2 * due; /* the timer is late */
    msg_doorbell_interrupt();
    CHECK(slow_handled > handled);
    respond = NULL;
    while (msg_poll()) {
    }
    CHECK(msg_due() > clock_now());
    CHECK(msg_doorbell_arm()); /* as before a halt: the timer is still set */
    got_count = 0;
    send_numbers(PEER, MSG_TELL, 0, 1, 48);
    msg_doorbell_interrupt();
    CHECK_EQ(got_count, 1);
}

ALONE(flood_of_slow_messages, "where each message takes long, an interrupt ends after a few, and programs get as long")
{
    uint64_t start, took, due;

    begin_slow_flood(BOTH, 8, "");
    start = clock_now();
    msg_doorbell_interrupt();
    took = clock_now() - start;
    CHECK(slow_handled > 0 && took < 30 * MS);
    due = msg_due();
    CHECK(due >= clock_now() + 5 * MS - MS / 10 && due <= clock_now() + took);
    cpu_several = true;
    test_cpu = &second_cpu; /* its timer would be due until the first one has looked, which may wait for it */
    CHECK_EQ(msg_due(), 0);
    test_cpu = &first_cpu;
    cpu_several = false;
    for (uint32_t i = 0; i < 20; i++) {
        peers_counts = 2 * msg_due();
        start = clock_now();
        msg_due_interrupt();
        CHECK(clock_now() - start < 30 * MS);
        CHECK(msg_due() > clock_now());
    }
    flood_left = 0;
    got_count = 0;
    while (msg_poll()) {
    }
    CHECK(msg_doorbell_arm());
    CHECK(!ring_ready(&msg_peers[PEER]->in[MSG_ORDINARY]) && !ring_ready(&msg_peers[OTHER]->in[MSG_ORDINARY]));
}

ALONE(flood_of_another_cpu, "another CPU than the first ends its poll, too, and rings the first, which finds the rest")
{
    uint64_t start;

    begin_slow_flood(BOTH, 8, "");
    cpu_several = true;
    cpus[0]->apic_id = PEERS_APIC(OWN);
    test_cpu = &second_cpu;
    start = clock_now();
    CHECK(msg_poll());
    CHECK(clock_now() - start < 15 * MS);
    CHECK_EQ(peers[OWN].rung, 1);
    CHECK_EQ(msg_due(), 0);
    test_cpu = &first_cpu;
    flood_left = 0;
    for (msg_doorbell_interrupt(); msg_due() != 0; msg_due_interrupt()) {
        CHECK_EQ(peers[OWN].rung, 1);
        peers_counts = 2 * msg_due();
    }
    CHECK_EQ(peers_head(OWN)->doorbell & 1, 1);
    CHECK(!ring_ready(&msg_peers[PEER]->in[MSG_ORDINARY]) && !ring_ready(&msg_peers[OTHER]->in[MSG_ORDINARY]));
}
