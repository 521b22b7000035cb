/* One ring of a channel, used from one thread: room, order, laps, a receiver that lies.
 * sources: msg/ring.c */
#include "msg/ring.h"

#include <stdlib.h>

#include "tests/test.h"

static _Alignas(64) struct ring_slot slots[RING_SLOTS];
static _Alignas(64) struct ring_consumed consumed;
static struct ring_sender sender;
static struct ring_receiver receiver;

static void start_at(uint64_t position)
{
    memset(slots, 0, sizeof(slots));
    consumed.count = position;
    sender = (struct ring_sender){slots, &consumed, position, position};
    receiver = (struct ring_receiver){slots, &consumed, position};
}

static void put(uint64_t number)
{
    uint64_t payload[6] = {number, ~number, number * 3, number ^ 0x55, number + 7, number << 8};

    ring_put(&sender, number * 5, number * 7 & 0xffffffffffff, payload, sizeof(payload));
}

static void check_take(uint64_t number)
{
    uint64_t payload[6] = {number, ~number, number * 3, number ^ 0x55, number + 7, number << 8};
    struct ring_message message;

    CHECK(ring_take(&receiver, &message));
    CHECK_EQ(message.header, number * 5);
    CHECK_EQ(message.time, number * 7 & 0xffffffffffff);
    CHECK(memcmp(message.payload, payload, sizeof(payload)) == 0);
}

static bool empty(void)
{
    struct ring_message message;
    uint64_t next = receiver.next;
    bool taken = ring_take(&receiver, &message);

    CHECK(taken || receiver.next == next);
    return !taken;
}

TEST(ring_new, "a new ring has nothing to take and room for all its slots")
{
    start_at(0);
    CHECK(empty());
    CHECK_EQ(ring_room(&sender, 1), RING_SLOTS);
    CHECK_EQ(ring_room(&sender, RING_SLOTS), RING_SLOTS);
}

TEST(ring_full, "a full ring has no room, keeps what it has, and gets room slot by slot as the receiver gives back")
{
    start_at(0);
    for (uint64_t i = 0; i < RING_SLOTS; i++) {
        CHECK_EQ(ring_room(&sender, 1), RING_SLOTS - i);
        put(i);
    }
    CHECK_EQ(ring_room(&sender, 1), 0);
    for (uint64_t i = 0; i < RING_SLOTS; i++) {
        check_take(i);
        CHECK_EQ(ring_room(&sender, 1), i < 1 ? 0 : 1);
        ring_release(&receiver);
        CHECK_EQ(ring_room(&sender, i < 1 ? 1 : 2), i < 1 ? 1 : 2);
        if (i > 0)
            put(RING_SLOTS + i); /* so that one slot stays free */
    }
    for (uint64_t i = 1; i < RING_SLOTS; i++)
        check_take(RING_SLOTS + i);
    CHECK(empty());
}

TEST(ring_release_once, "giving back returns every slot taken so far, and none that was not taken")
{
    start_at(0);
    for (uint64_t i = 0; i < 10; i++)
        put(i);
    for (uint64_t i = 0; i < 7; i++)
        check_take(i);
    CHECK_EQ(ring_room(&sender, RING_SLOTS), RING_SLOTS - 10);
    ring_release(&receiver);
    ring_release(&receiver);
    CHECK_EQ(ring_room(&sender, RING_SLOTS), RING_SLOTS - 3);
}

TEST(ring_room_lazy, "the receiver's counter is read only when less room is known than wanted")
{
    start_at(0);
    for (uint64_t i = 0; i < 40; i++)
        put(i);
    consumed.count = 30; /* as if taken */
    CHECK_EQ(ring_room(&sender, 24), 24);
    CHECK_EQ(ring_room(&sender, 25), 54);
    CHECK_EQ(sender.known_consumed, 30);
}

TEST(ring_liar, "a counter ahead of what was sent, or behind what it was, changes nothing")
{
    static const uint64_t lies[] = {41, 42, 1000, 1ull << 63, UINT64_MAX, 19, 0};

    start_at(0);
    for (uint64_t i = 0; i < 40; i++)
        put(i);
    consumed.count = 20;
    CHECK_EQ(ring_room(&sender, RING_SLOTS), 44);
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        consumed.count = lies[i];
        CHECK_EQ(ring_room(&sender, RING_SLOTS), 44);
        CHECK_EQ(sender.known_consumed, 20);
    }
    consumed.count = 40;
    CHECK_EQ(ring_room(&sender, RING_SLOTS), RING_SLOTS);
}

TEST(ring_liar_full, "a liar cannot make a full ring take one message more")
{
    start_at(0);
    for (uint64_t i = 0; i < RING_SLOTS; i++)
        put(i);
    consumed.count = RING_SLOTS + 1;
    CHECK_EQ(ring_room(&sender, 1), 0);
    consumed.count = UINT64_MAX;
    CHECK_EQ(ring_room(&sender, 1), 0);
}

TEST(ring_lengths, "every length from 0 to 48 bytes arrives, filled with zeros to the next word, and reads no more")
{
    for (size_t length = 0; length <= 48; length++) {
        struct ring_message message;
        uint8_t expected[48] = {0};
        uint8_t *payload = malloc(length > 0 ? length : 1); /* exactly: the sanitizer guards its end */

        CHECK(payload != NULL);
        start_at(length * 3);
        for (size_t i = 0; i < length; i++)
            expected[i] = payload[i] = (uint8_t)(i * 11 + length);
        ring_put(&sender, 1, 2, payload, length);
        free(payload);
        CHECK(ring_take(&receiver, &message));
        CHECK(memcmp(message.payload, expected, (length + 7) / 8 * 8) == 0);
    }
}

TEST(ring_publish, "a slot whose last word is not written is not there, whatever else it holds")
{
    start_at(0);
    put(1);
    slots[1].header = 77;
    slots[1].payload[0] = 88;
    check_take(1);
    CHECK(empty());
    slots[1].publish = 99ull << 16; /* a time, but no lap */
    CHECK(empty());
    slots[1].publish |= 2; /* the next lap's number */
    CHECK(empty());
}

TEST(ring_laps, "around lap 65535 and through lap number 0 every message arrives once, and an old one never again")
{
    start_at(65530ull * RING_SLOTS);
    for (uint64_t i = 0; i < 12 * RING_SLOTS; i++) {
        put(i);
        check_take(i);
        CHECK(empty());
        ring_release(&receiver);
        CHECK(ring_room(&sender, 1) >= 1);
    }
    CHECK_EQ(sender.next, 65542ull * RING_SLOTS);
}

TEST(ring_laps_full, "around lap 65535 a full ring is taken in order")
{
    uint64_t sent = 0, taken = 0;

    start_at(65533ull * RING_SLOTS + 17);
    while (taken < 10 * RING_SLOTS) {
        while (ring_room(&sender, 1) > 0)
            put(sent++);
        CHECK_EQ(sent - taken, RING_SLOTS);
        for (int i = 0; i < 23; i++)
            check_take(taken++);
        ring_release(&receiver);
    }
}

TEST(ring_random, "random puts, takes and releases agree with a counter for each")
{
    uint64_t state = 1, sent = 0, taken = 0, released = 0;

    start_at(65500ull * RING_SLOTS);
    for (int step = 0; step < 200000; step++) {
        switch (test_below(&state, 3)) {
        case 0:
            CHECK_EQ(ring_room(&sender, RING_SLOTS), RING_SLOTS - (sent - released));
            if (sent - released < RING_SLOTS)
                put(sent++);
            break;
        case 1:
            if (taken < sent)
                check_take(taken++);
            else
                CHECK(empty());
            break;
        default:
            ring_release(&receiver);
            released = taken;
            break;
        }
    }
    CHECK(sent > 10000);
}
