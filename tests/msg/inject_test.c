/* Fault injection: what is held back, for how long, and in which order it comes.
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
#include "msg/inject.h"

#include "tests/msg/layer.h"

/* Polls as the scheduler's timer does, when something is due, until COUNT messages have been handled; returns when. */
static uint64_t wait_for(uint32_t count)
{
    for (uint32_t round = 0; got_count < count; round++) {
        CHECK(round < 100000);
        CHECK(msg_due() != 0);
        if (clock_now() < msg_due()) {
            CHECK(!inject_due_now());
            peers_counts = 2 * msg_due();
        }
        CHECK(inject_due_now());
        msg_poll();
    }
    return clock_now();
}

ALONE(hold, "with hold: nothing is taken for so long, and then all, in order")
{
    uint64_t start;

    begin(3, 1, "ring=64 inject=hold:1000,rate:0");
    start = clock_now();
    send_numbers(PEER, MSG_TELL, 0, 20, 48);
    send_numbers(OTHER, MSG_TELL_URGENT, 0, 20, 48);
    CHECK(msg_poll());
    CHECK_EQ(got_count, 0);
    CHECK(peers_due_changes > 0);
    CHECK(msg_due() > start && msg_due() <= start + 1000000);
    peers_pass(500000);
    msg_poll();
    CHECK_EQ(got_count, 0);
    CHECK(wait_for(40) >= start + 900000);
    CHECK_EQ(msg_due(), 0);
    CHECK_EQ(dropped(), 0);
}

ALONE(only_peer, "with peer: messages of other kernels pass")
{
    begin(3, 1, "inject=hold:1000,rate:0,peer:0");
    send_numbers(PEER, MSG_TELL, 0, 5, 48);
    send_numbers(OTHER, MSG_TELL, 0, 5, 48);
    msg_poll();
    CHECK_EQ(got_count, 5);
    CHECK_EQ(got[0].ticket.kernel, OTHER);
    wait_for(10);
}

ALONE(only_type, "with type: messages of other types pass, but not those behind one that is held, in its ring")
{
    begin(3, 1, "inject=hold:1000,rate:0,type:ASK");
    send_numbers(PEER, MSG_TELL, 0, 2, 48);
    send_numbers(PEER, MSG_ASK, 0, 1, 48);
    send_numbers(PEER, MSG_TELL, 2, 2, 48);
    send_numbers(PEER, MSG_TELL_URGENT, 0, 2, 48);
    send_numbers(OTHER, MSG_TELL, 0, 2, 48);
    msg_poll();
    CHECK_EQ(got_count, 6);
    wait_for(9);
    CHECK(got[6].type == MSG_ASK && number_of(&got[7]) == 2 && number_of(&got[8]) == 3);
}

ALONE(slow, "with slow: each message of a ring is taken so long after the one before it")
{
    uint64_t last = 0;

    begin(3, 1, "inject=slow:50,rate:0");
    send_numbers(PEER, MSG_TELL, 0, 10, 48);
    msg_poll();
    for (uint32_t i = 1; i <= 10; i++) {
        uint64_t now = wait_for(i);

        CHECK_EQ(got_count, i);
        CHECK(now >= last + 50000);
        last = now;
    }
}

static uint64_t seed, times[2][200];

static void run_schedule(uint32_t run)
{
    char options[80];

    snprintf(options, sizeof(options), "ring=64 inject=seed:%u,rate:50,delay:300", (unsigned)seed);
    begin(3, 1, options);
    for (uint32_t i = 0; i < 40; i++) {
        send_numbers(PEER, MSG_TELL, i, 1, 48);
        send_numbers(OTHER, MSG_TELL, i, 1, 48);
    }
    msg_poll();
    for (uint32_t i = 0; i < 80; i++) {
        if (got_count <= i)
            wait_for(i + 1);
        times[run][i] = got[i].ticket.kernel << 8 | number_of(&got[i]);
    }
}

ALONE(order, "random delays keep the order of each ring, and change it between rings")
{
    bool mixed = false;
    uint64_t next[3] = {0};

    seed = 5;
    run_schedule(0);
    for (uint32_t i = 0; i < 80; i++) {
        uint32_t kernel = (uint32_t)(times[0][i] >> 8);

        CHECK_EQ(times[0][i] & 0xff, next[kernel]);
        next[kernel]++;
        mixed = mixed || next[PEER] > next[OTHER] + 3 || next[OTHER] > next[PEER] + 3;
    }
    CHECK(mixed);
}

static void write_schedule(void)
{
    FILE *file = fopen("/proc/self/fd/3", "w");

    run_schedule(0);
    CHECK(file != NULL && fwrite(times[0], sizeof(times[0]), 1, file) == 1 && fclose(file) == 0);
}

TEST(seeded, "the same seed gives the same schedule, another seed another")
{
    uint64_t schedules[3][200];

    for (uint32_t run = 0; run < 3; run++) {
        FILE *file = tmpfile();

        CHECK(file != NULL && dup2(fileno(file), 3) == 3);
        seed = run == 2 ? 8 : 7;
        run_alone(write_schedule);
        rewind(file);
        CHECK(fread(schedules[run], sizeof(schedules[run]), 1, file) == 1);
        fclose(file);
        close(3);
    }
    CHECK(memcmp(schedules[0], schedules[1], sizeof(schedules[0])) == 0);
    CHECK(memcmp(schedules[0], schedules[2], sizeof(schedules[0])) != 0);
}

ALONE(off, "when injection is switched off, what is held comes at once")
{
    begin(3, 1, "inject=hold:1000000,rate:0");
    send_numbers(PEER, MSG_TELL, 0, 5, 48);
    send_numbers(PEER, MSG_TELL_URGENT, 0, 5, 48);
    msg_poll();
    CHECK_EQ(got_count, 0);
    CHECK_EQ(option_control("inject=off"), 0);
    CHECK(inject_due_now());
    CHECK(!msg_doorbell_arm());
    msg_poll();
    CHECK_EQ(got_count, 10);
    CHECK_EQ(msg_due(), 0);
    CHECK(msg_doorbell_arm());
}

ALONE(doorbell, "the doorbell can be armed while something is held, and not once that is due")
{
    begin(3, 1, "inject=hold:1000,rate:0");
    send_numbers(PEER, MSG_TELL, 0, 5, 48);
    msg_poll();
    CHECK(msg_doorbell_arm());
    peers_counts = 2 * msg_due();
    CHECK(!msg_doorbell_arm());
    msg_doorbell_interrupt();
    CHECK_EQ(got_count, 5);
}

ALONE(released_at_once, "when much that was held comes at once, a timer finds what a poll that ends early has left")
{
    const uint64_t count = 500;

    begin(3, 1, "ring=1024 inject=hold:1000,rate:0");
    send_numbers(PEER, MSG_TELL, 0, count, 48);
    msg_doorbell_interrupt();
    CHECK_EQ(got_count, 0);
    CHECK_EQ(peers_head(OWN)->doorbell & 1, 1); /* the peer has rung for an earlier word, and has nothing more to say */
    for (uint32_t rounds = 0; got_count < count; rounds++) {
        CHECK(rounds < count && msg_due() != 0);
        peers_counts = 2 * msg_due();
        peers_due_changes = 0;
        msg_due_interrupt();
        CHECK(msg_due() == 0 || peers_due_changes > 0);
    }
    while (msg_due() != 0) {
        peers_counts = 2 * msg_due();
        msg_due_interrupt();
    }
    CHECK(!msg_hinted());
    CHECK_EQ(peers_head(OWN)->doorbell & 1, 1);
}

ALONE(room, "a wish for room is answered when what is held has been taken too")
{
    uint16_t hint;

    begin(3, 1, "ring=4 inject=hold:1000,rate:0");
    for (uint32_t i = 0; i < 3; i++)
        peers_put(PEER, MSG_ORDINARY, peers_header(PEER, MSG_TELL, 0, 48), words, 48);
    peers_wish(PEER);
    hint = peers_hint_at(PEER);
    msg_poll();
    CHECK_EQ(peers_hint_at(PEER), hint);
    wait_for(3);
    CHECK(peers_hint_at(PEER) != hint);
}

ALONE(long_held, "fragments of a long message are not held one by one")
{
    static uint8_t bytes[1000];

    begin(3, 1, "ring=64 inject=rate:0,slow:10");
    fill_bytes(bytes, sizeof(bytes), 3);
    peers_send(PEER, MSG_MIGRATE, 0, 7, bytes, sizeof(bytes));
    msg_poll();
    wait_for(1);
    CHECK(clock_now() < 20000 && bytes_right(got_long, sizeof(bytes), 3));
}
