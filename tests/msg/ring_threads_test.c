/* One ring between two threads: a sender that waits for room, a receiver that polls, both with small pauses, and two
 * rings that answer each other, of 4 slots and of 64. The thread sanitizer looks for accesses that the ring's
 * publication does not order.
 *
 * sources: msg/ring.c
 *
 * sanitize: thread */
#include "msg/ring.h"

#include <pthread.h>
#include <sched.h>

#include "tests/test.h"

#define MESSAGES 100000u
#define EXCHANGES 10000u

struct line {
    _Alignas(64) struct ring_slot slots[RING_SLOTS_DEFAULT];
    _Alignas(64) volatile uint64_t counter;
    struct ring_sender sender;
    struct ring_receiver receiver;
};

static struct line there, back;

static void line_open(struct line *line, uint64_t size, uint64_t position)
{
    memset(line, 0, sizeof(*line));
    line->counter = position;
    line->sender = (struct ring_sender){line->slots, &line->counter, size - 1, position, position};
    line->receiver = (struct ring_receiver){
        .slots = line->slots, .counter = &line->counter, .mask = size - 1, .next = position};
}

static void rest(uint64_t *state)
{
    uint64_t choice = test_below(state, 64);

    if (choice == 0)
        sched_yield();
    else if (choice < 4)
        for (volatile int spin = 0; spin < 200; spin++) {
        }
}

static void send(struct line *line, uint64_t number, uint64_t *state)
{
    uint64_t payload[6];

    for (int i = 0; i < 6; i++)
        payload[i] = number * 6 + (uint64_t)i;
    while (ring_used(&line->sender) > line->sender.mask) {
        ring_refresh(&line->sender);
        if (ring_used(&line->sender) > line->sender.mask)
            sched_yield();
    }
    ring_put(&line->sender, number ^ 0xabcdef, number, payload, 6);
    rest(state);
}

/* Returns false when the content is not that of message NUMBER. */
static bool receive(struct line *line, uint64_t number, uint64_t *state)
{
    struct ring_message message;
    bool good;

    while (!ring_take(&line->receiver, &message))
        sched_yield();
    good = message.header == (number ^ 0xabcdef) && message.time == number;
    for (int i = 0; i < 6; i++)
        good = good && message.payload[i] == number * 6 + (uint64_t)i;
    rest(state);
    return good;
}

static void *send_all(void *unused)
{
    uint64_t state = 1;

    (void)unused;
    for (uint64_t i = 0; i < MESSAGES; i++)
        send(&there, i, &state);
    return NULL;
}

static void check_one_way(uint64_t size)
{
    uint64_t state = 2;
    uint64_t bad = 0;
    pthread_t thread;

    line_open(&there, size, 65000);
    CHECK_EQ(pthread_create(&thread, NULL, send_all, NULL), 0);
    for (uint64_t i = 0; i < MESSAGES; i++)
        bad += !receive(&there, i, &state);
    pthread_join(thread, NULL);
    CHECK_EQ(bad, 0);
}

TEST(ring_two_threads,
     "what one thread sends the other receives, in order, whole, over many laps, in a ring of 64 slots")
{
    check_one_way(64);
}

TEST(ring_two_threads_4, "the same in a ring of 4 slots")
{
    check_one_way(4);
}

static void *answer_all(void *unused)
{
    uint64_t state = 3;
    uint64_t bad = 0;

    (void)unused;
    for (uint64_t i = 0; i < EXCHANGES; i++) {
        bad += !receive(&there, i, &state);
        send(&back, i, &state);
    }
    return (void *)bad;
}

TEST(ring_two_rings, "two rings that answer each other lose nothing")
{
    uint64_t state = 4;
    uint64_t bad = 0;
    pthread_t thread;
    void *others;

    line_open(&there, 4, 0);
    line_open(&back, 64, 65535);
    for (size_t i = 0; i < 64; i++) /* of a use that is neither the last one nor the next */
        back.slots[i] = (struct ring_slot){.header = ~0ull, .publish = 65000};
    CHECK_EQ(pthread_create(&thread, NULL, answer_all, NULL), 0);
    for (uint64_t i = 0; i < EXCHANGES; i++) {
        send(&there, i, &state);
        bad += !receive(&back, i, &state);
    }
    pthread_join(thread, &others);
    CHECK_EQ(bad + (uint64_t)others, 0);
}
