/* One ring of a channel, used from one thread: room, order, laps, a receiver that lies.
 * sources: msg/ring.c */
#include "msg/ring.h"

#include <stdlib.h>

#include "tests/test.h"

static _Alignas(64) struct ring_slot slots[RING_SLOTS_MAX];
static _Alignas(64) volatile uint64_t counter;
static struct ring_sender sender;
static struct ring_receiver receiver;

static void start_at(uint64_t size, uint64_t position)
{
    memset(slots, 0, sizeof(slots));
    counter = position;
    sender = (struct ring_sender){slots, &counter, size - 1, position, position};
    receiver = (struct ring_receiver){.slots = slots, .counter = &counter, .mask = size - 1, .next = position};
}

static uint64_t room(void)
{
    return sender.mask + 1 - ring_used(&sender);
}

static void put(uint64_t number)
{
    uint64_t payload[6] = {number, ~number, number * 3, number ^ 0x55, number + 7, number << 8};

    ring_put(&sender, number * 5, number * 7 & 0xffffffffffff, payload, 6);
}

static void check_take(uint64_t number)
{
    uint64_t payload[6] = {number, ~number, number * 3, number ^ 0x55, number + 7, number << 8};
    struct ring_message message;

    CHECK(ring_ready(&receiver));
    CHECK(ring_take(&receiver, &message));
    CHECK_EQ(counter, receiver.next);
    CHECK_EQ(message.header, number * 5);
    CHECK_EQ(message.time, number * 7 & 0xffffffffffff);
    CHECK(memcmp(message.payload, payload, sizeof(payload)) == 0);
}

static bool empty(void)
{
    struct ring_message message;
    uint64_t next = receiver.next, count = counter;
    bool ready = ring_ready(&receiver);
    bool taken = ring_take(&receiver, &message);

    CHECK_EQ(ready, taken);
    CHECK(taken || (receiver.next == next && counter == count));
    return !taken;
}

TEST(ring_new, "a new ring of any size has nothing to take and room for all its slots")
{
    for (uint64_t size = RING_SLOTS_MIN; size <= RING_SLOTS_MAX; size *= 2) {
        start_at(size, 0);
        CHECK(empty());
        CHECK_EQ(room(), size);
    }
}

TEST(ring_full, "a full ring keeps what it has, and gets room slot by slot as the receiver takes")
{
    for (uint64_t size = RING_SLOTS_MIN; size <= RING_SLOTS_MAX; size *= 2) {
        start_at(size, 0);
        for (uint64_t i = 0; i < size; i++) {
            CHECK_EQ(room(), size - i);
            put(i);
        }
        ring_refresh(&sender);
        CHECK_EQ(room(), 0);
        for (uint64_t i = 0; i < size; i++) {
            check_take(i);
            CHECK_EQ(room(), 0);
            ring_refresh(&sender);
            CHECK_EQ(room(), 1);
            put(size + i);
        }
        for (uint64_t i = 0; i < size; i++)
            check_take(size + i);
        CHECK(empty());
    }
}

TEST(ring_lazy, "the receiver's counter is read only when asked to")
{
    start_at(64, 0);
    for (uint64_t i = 0; i < 40; i++)
        put(i);
    for (uint64_t i = 0; i < 30; i++)
        check_take(i);
    CHECK_EQ(ring_used(&sender), 40);
    ring_refresh(&sender);
    CHECK_EQ(ring_used(&sender), 10);
}

TEST(ring_liar, "a counter ahead of what was sent, or behind what it was, changes nothing")
{
    static const uint64_t lies[] = {41, 42, 1000, 1ull << 63, UINT64_MAX, 19, 0};

    start_at(64, 0);
    for (uint64_t i = 0; i < 40; i++)
        put(i);
    counter = 20;
    ring_refresh(&sender);
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        counter = lies[i];
        ring_refresh(&sender);
        CHECK_EQ(ring_used(&sender), 20);
    }
    counter = 40;
    ring_refresh(&sender);
    CHECK_EQ(ring_used(&sender), 0);
}

TEST(ring_words, "0 to 6 words arrive, from any address, and no more is read")
{
    for (uint32_t words = 0; words <= 6; words++) {
        for (size_t shift = 0; shift < 8; shift++) {
            uint8_t *bytes = malloc(8 * (size_t)words + shift + 1);
            uint8_t *payload = bytes + shift + 1; /* the sanitizer guards its end */
            struct ring_message message;
            uint8_t expected[48];

            start_at(64, words * 3);
            for (size_t i = 0; i < 8 * (size_t)words; i++)
                expected[i] = payload[i] = (uint8_t)(i * 11 + words);
            ring_put(&sender, 1, 2, payload, words);
            free(bytes);
            CHECK(ring_take(&receiver, &message));
            CHECK(memcmp(message.payload, expected, 8 * (size_t)words) == 0);
        }
    }
}

TEST(ring_unpublished, "a slot whose last word is not written is not there, whatever else it holds")
{
    start_at(64, 0);
    put(1);
    slots[1].header = 77;
    slots[1].payload[0] = 88;
    check_take(1);
    CHECK(empty());
    slots[1].publish = 99ull << 16; /* a time, but no sequence */
    CHECK(empty());
    for (uint32_t sequence = 0; sequence < 0x10000; sequence++) {
        slots[1].publish = 99ull << 16 | sequence;
        if (sequence != 2)
            CHECK(empty());
    }
    slots[1].publish = 99ull << 16 | 2;
    CHECK(!empty());
}

TEST(ring_wrap,
     "in rings of all sizes, around sequence 65535 and 0 every message arrives once, and an old one never again")
{
    for (uint64_t size = RING_SLOTS_MIN; size <= RING_SLOTS_MAX; size *= 2) {
        start_at(size, 65536 - 2 * size);
        for (uint64_t i = 0; i < 4 * size; i++) {
            put(i);
            check_take(i);
            CHECK(empty());
            ring_refresh(&sender);
            CHECK_EQ(room(), size);
        }
    }
}

TEST(ring_wrap_full, "around sequence 65535 a full ring is taken in order")
{
    for (uint64_t size = RING_SLOTS_MIN; size <= RING_SLOTS_MAX; size *= 2) {
        uint64_t sent = 0, taken = 0;

        start_at(size, 65536 * 3 - 2 * size + 1);
        while (taken < 4 * size) {
            for (ring_refresh(&sender); room() > 0;)
                put(sent++);
            CHECK_EQ(sent - taken, size);
            for (uint64_t i = 0; i <= size / 3; i++)
                check_take(taken++);
        }
    }
}

TEST(ring_random, "random puts and takes agree with a counter for each")
{
    uint64_t state = 1, sent = 0, taken = 0, known = 0;

    start_at(64, 65500);
    for (int step = 0; step < 200000; step++) {
        switch (test_below(&state, 3)) {
        case 0:
            CHECK_EQ(ring_used(&sender), sent - known);
            if (sent - known < 64)
                put(sent++);
            break;
        case 1:
            if (taken < sent)
                check_take(taken++);
            else
                CHECK(empty());
            break;
        default:
            ring_refresh(&sender);
            known = taken;
            break;
        }
    }
    CHECK(sent > 10000);
}
