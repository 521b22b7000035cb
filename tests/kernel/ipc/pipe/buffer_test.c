/* The bytes of a pipe.
 * sources: kernel/ipc/pipe/buffer.c */
#include "kernel/ipc/pipe/buffer.h"

#include "kernel/abi/errno.h"
#include "tests/stand_in/heap.h"
#include "tests/test.h"

#include "tests/stand_in/quota.h"

static int works, pauses;

void work_submit(struct work *work)
{
    works++;
    work->run(work);
}

void pipe_pause(void)
{
    pauses++;
}

static uint8_t bytes[2 * PIPE_SIZE], back[2 * PIPE_SIZE];

TEST(buffer_order, "bytes come out in the order they went in")
{
    struct pipe_buffer buffer = {0};

    CHECK_EQ(pipe_buffer_put(&buffer, "abc", 3, 0), 3);
    CHECK_EQ(pipe_buffer_put(&buffer, "de", 2, 1), 2);
    CHECK_EQ(pipe_buffer_used(&buffer), 5);
    CHECK_EQ(pipe_buffer_take(&buffer, back, 4), 4);
    CHECK(memcmp(back, "abcd", 4) == 0);
    CHECK_EQ(pipe_buffer_take(&buffer, back, 4), 1);
    CHECK_EQ(back[0], 'e');
    CHECK_EQ(pipe_buffer_take(&buffer, back, 4), 0);
    pipe_buffer_free(&buffer);
    CHECK_EQ(heap_objects, 0);
}

TEST(buffer_full, "a full buffer takes what there is room for, or nothing when all has to go in")
{
    struct pipe_buffer buffer = {0};

    CHECK_EQ(pipe_buffer_put(&buffer, bytes, 2 * PIPE_SIZE, 0), PIPE_SIZE);
    CHECK_EQ(pipe_buffer_put(&buffer, bytes, 1, 0), 0);
    CHECK_EQ(pipe_buffer_take(&buffer, back, 10), 10);
    CHECK_EQ(pipe_buffer_put(&buffer, bytes, 11, 1), 0);
    CHECK_EQ(pipe_buffer_room(&buffer), 10);
    CHECK_EQ(pipe_buffer_put(&buffer, bytes, 10, 1), 10);
    CHECK_EQ(pipe_buffer_room(&buffer), 0);
    pipe_buffer_free(&buffer);
    CHECK_EQ(heap_objects, 0);
}

TEST(buffer_memory, "a byte at a time keeps to one part, and without memory nothing goes in")
{
    struct pipe_buffer buffer = {0};

    for (int i = 0; i < 20000; i++) {
        CHECK_EQ(pipe_buffer_put(&buffer, "x", 1, 1), 1);
        CHECK_EQ(pipe_buffer_take(&buffer, back, 9), 1);
    }
    CHECK_EQ(heap_objects, 1);
    CHECK_EQ(pipe_buffer_put(&buffer, bytes, 100, 0), 100);
    heap_left = 0;
    CHECK_EQ(pipe_buffer_put(&buffer, bytes, PIPE_PART, 0), -ENOMEM);
    heap_left = -1;
    CHECK_EQ(pipe_buffer_used(&buffer), 100);
    CHECK_EQ(pipe_buffer_put(&buffer, bytes, PIPE_PART, 0), PIPE_PART);
    pipe_buffer_free(&buffer);
    CHECK_EQ(heap_objects, 0);
}

TEST(buffer_random, "random puts and takes agree with one long array")
{
    struct pipe_buffer buffer = {0};
    uint64_t state = 3, in = 0, out = 0;

    for (int round = 0; round < 20000; round++) {
        size_t size = (size_t)test_below(&state, test_below(&state, 4) == 0 ? PIPE_SIZE : 3000);
        int whole = (int)test_below(&state, 2);

        if (test_below(&state, 2) == 0) {
            uint64_t room = PIPE_SIZE - (in - out);
            uint64_t expected = size <= room ? size : whole ? 0 : room;

            for (size_t i = 0; i < size; i++)
                bytes[i] = (uint8_t)((in + i) * 31 >> 3);
            CHECK_EQ(pipe_buffer_put(&buffer, bytes, size, whole), expected);
            in += expected;
        } else {
            uint64_t expected = size <= in - out ? size : in - out;

            CHECK_EQ(pipe_buffer_take(&buffer, back, size), expected);
            for (size_t i = 0; i < expected; i++)
                CHECK_EQ(back[i], (uint8_t)((out + i) * 31 >> 3));
            out += expected;
        }
        CHECK_EQ(pipe_buffer_used(&buffer), in - out);
    }
    pipe_buffer_free(&buffer);
    CHECK_EQ(heap_objects, 0);
}

TEST(buffer_packets, "a read takes one packet, and bytes before it")
{
    struct pipe_buffer buffer = {0};

    CHECK_EQ(pipe_buffer_put_packets(&buffer, "one", 3), 3);
    CHECK_EQ(pipe_buffer_put_packets(&buffer, "second", 6), 6);
    CHECK_EQ(pipe_buffer_put(&buffer, "rest", 4, 1), 4);
    CHECK_EQ(pipe_buffer_put_packets(&buffer, "last", 4), 4);
    CHECK_EQ(pipe_buffer_used(&buffer), 17);
    CHECK_EQ(pipe_buffer_take(&buffer, back, 100), 3);
    CHECK_EQ(pipe_buffer_look(&buffer, back, 3), 3);
    CHECK(memcmp(back, "sec", 3) == 0);
    CHECK_EQ(pipe_buffer_take(&buffer, back, 3), 3);
    CHECK(memcmp(back, "sec", 3) == 0);
    CHECK_EQ(pipe_buffer_used(&buffer), 8);
    CHECK_EQ(pipe_buffer_take(&buffer, back, 100), 8);
    CHECK(memcmp(back, "restlast", 8) == 0);
    CHECK_EQ(pipe_buffer_used(&buffer), 0);
    for (int i = 0; i < 16; i++)
        CHECK_EQ(pipe_buffer_put_packets(&buffer, "x", 1), 1);
    CHECK_EQ(pipe_buffer_put_packets(&buffer, "x", 1), 0);
    CHECK_EQ(pipe_buffer_take(&buffer, back, 9), 1);
    CHECK_EQ(pipe_buffer_put_packets(&buffer, bytes, PIPE_PART), PIPE_PART);
    for (int i = 0; i < 15; i++)
        CHECK_EQ(pipe_buffer_take(&buffer, back, 9), 1);
    CHECK_EQ(pipe_buffer_take(&buffer, back, 2 * PIPE_PART), PIPE_PART);
    CHECK_EQ(pipe_buffer_room(&buffer), PIPE_SIZE);
    pipe_buffer_free(&buffer);
    CHECK_EQ(heap_objects, 0);
}

TEST(buffer_resize, "another size keeps what is there, wherever in the ring it lies")
{
    for (size_t start = 0; start < 2 * PIPE_SIZE; start += 1777) {
        struct pipe_buffer buffer = {0};

        for (size_t i = 0; i < sizeof(bytes); i++)
            bytes[i] = (uint8_t)(i * 7 >> 2);
        CHECK_EQ(pipe_buffer_put(&buffer, bytes, 1, 1), 1);
        for (size_t i = 0; i < start; i += 177) { /* never empty, so that the places go on */
            CHECK_EQ(pipe_buffer_put(&buffer, bytes, 177, 1), 177);
            CHECK_EQ(pipe_buffer_take(&buffer, back, 177), 177);
        }
        CHECK_EQ(pipe_buffer_take(&buffer, back, 1), 1);
        buffer.taken = buffer.written = start % PIPE_SIZE; /* as if nothing had begun again */
        CHECK_EQ(pipe_buffer_put(&buffer, bytes, PIPE_SIZE, 0), PIPE_SIZE);
        CHECK_EQ(pipe_buffer_resize(&buffer, PIPE_SIZE / 2), -EBUSY);
        CHECK_EQ(pipe_buffer_resize(&buffer, 2 * PIPE_SIZE - 1), 2 * PIPE_SIZE);
        CHECK_EQ(pipe_buffer_put(&buffer, bytes + PIPE_SIZE, PIPE_SIZE, 1), PIPE_SIZE);
        CHECK_EQ(pipe_buffer_take(&buffer, back, 2 * PIPE_SIZE - 10), 2 * PIPE_SIZE - 10);
        CHECK(memcmp(back, bytes, 2 * PIPE_SIZE - 10) == 0);
        CHECK_EQ(pipe_buffer_resize(&buffer, 1), PIPE_PART);
        CHECK_EQ(pipe_buffer_take(&buffer, back, 100), 10);
        CHECK(memcmp(back, bytes + 2 * PIPE_SIZE - 10, 10) == 0);
        CHECK_EQ(pipe_buffer_resize(&buffer, 0), PIPE_PART);
        pipe_buffer_free(&buffer);
        CHECK_EQ(heap_objects, 0);
    }
}

#define MIB (1ul << 20)
#define LARGE (16 * MIB)

/* Puts SIZE bytes into BUFFER, of a sequence that continues at *AT. */
static void put_sequence(struct pipe_buffer *buffer, uint64_t *at, size_t size)
{
    while (size > 0) {
        size_t count = size < 7777 ? size : 7777;

        for (size_t i = 0; i < count; i++)
            bytes[i] = (uint8_t)((*at + i) * 31 >> 5);
        CHECK_EQ(pipe_buffer_put(buffer, bytes, count, 1), count);
        *at += count;
        size -= count;
    }
}

/* Takes SIZE bytes, which continue the sequence at *AT. */
static void take_sequence(struct pipe_buffer *buffer, uint64_t *at, size_t size)
{
    while (size > 0) {
        size_t count = size < 9999 ? size : 9999;

        CHECK_EQ(pipe_buffer_take(buffer, back, count), count);
        for (size_t i = 0; i < count; i++)
            CHECK_EQ(back[i], (uint8_t)((*at + i) * 31 >> 5));
        *at += count;
        size -= count;
    }
}

TEST(buffer_resize_large, "a large buffer gets another size, full and in part, wherever its first byte lies")
{
    static const size_t sizes[] = {LARGE / 2, 2 * MIB, MIB, PIPE_SIZE, 2 * PIPE_SIZE, 2 * MIB, LARGE};

    for (uint64_t start = 0; start < LARGE; start += LARGE / 5 + 12345) {
        struct pipe_buffer buffer = {0};
        uint64_t in = 0, out = 0;

        CHECK_EQ(pipe_buffer_resize(&buffer, LARGE), LARGE);
        put_sequence(&buffer, &in, start + 1);
        take_sequence(&buffer, &out, start);
        put_sequence(&buffer, &in, LARGE - 1);
        CHECK_EQ(pipe_buffer_room(&buffer), 0);
        CHECK_EQ(pipe_buffer_resize(&buffer, LARGE / 2), -EBUSY);
        CHECK_EQ(pipe_buffer_resize(&buffer, 2 * LARGE), 2 * LARGE);
        put_sequence(&buffer, &in, LARGE);
        take_sequence(&buffer, &out, LARGE + 1);
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            if (pipe_buffer_used(&buffer) > sizes[i])
                take_sequence(&buffer, &out, pipe_buffer_used(&buffer) - sizes[i]);
            CHECK_EQ(pipe_buffer_resize(&buffer, sizes[i]), sizes[i]);
            CHECK_EQ(pipe_buffer_used(&buffer), in - out);
            put_sequence(&buffer, &in, pipe_buffer_room(&buffer));
        }
        take_sequence(&buffer, &out, in - out);
        pipe_buffer_free(&buffer);
        CHECK_EQ(heap_objects, 0);
    }
}

TEST(buffer_resize_steps, "another size of a large buffer touches no part of it, and a worker frees it in steps")
{
    struct pipe_buffer buffer = {0};
    uint64_t in = 0;

    CHECK_EQ(pipe_buffer_resize(&buffer, LARGE), LARGE);
    put_sequence(&buffer, &in, LARGE);
    works = pauses = heap_objects = 0;
    CHECK_EQ(pipe_buffer_resize(&buffer, 2 * LARGE), 2 * LARGE);
    CHECK_EQ(heap_objects, 0); /* a new table in place of the old one: all chunks and parts are the same */
    CHECK_EQ(works, 1);
    pipe_buffer_free(&buffer);
    CHECK_EQ(works, 2);
    CHECK(pauses >= (int)(LARGE / PIPE_PART / PIPE_CHUNK));
    CHECK_EQ(heap_objects, -(int)(LARGE / PIPE_PART + LARGE / PIPE_PART / PIPE_CHUNK + 1));
    heap_objects = 0;
}

TEST(buffer_resize_refused, "without memory for another size everything stays as it is")
{
    for (uint64_t to = 4 * MIB; to <= 8 * MIB; to *= 2) {
        int64_t size = -ENOMEM;
        int needed = 0;

        for (; size == -ENOMEM; needed++) {
            struct pipe_buffer buffer = {0};
            uint64_t in = 0, out = 0;

            CHECK_EQ(pipe_buffer_resize(&buffer, 2 * MIB), 2 * MIB);
            put_sequence(&buffer, &in, MIB + MIB / 2);
            take_sequence(&buffer, &out, MIB + 100);
            put_sequence(&buffer, &in, MIB);
            heap_left = needed;
            size = pipe_buffer_resize(&buffer, to);
            heap_left = -1;
            CHECK_EQ(pipe_buffer_size(&buffer), size == -ENOMEM ? 2 * MIB : to);
            take_sequence(&buffer, &out, in - out);
            pipe_buffer_free(&buffer);
            CHECK_EQ(heap_objects, 0);
        }
        CHECK_EQ(size, to);
        CHECK_EQ(needed, 3); /* with none and one it has failed; it takes a table and, for what is not whole, a chunk */
    }
}

TEST(buffer_resize_packets, "packets stay packets in a buffer of another size")
{
    for (size_t start = 0; start < 40; start++) {
        struct pipe_buffer buffer = {0};

        CHECK_EQ(pipe_buffer_resize(&buffer, 2 * PIPE_SIZE), 2 * PIPE_SIZE);
        CHECK_EQ(pipe_buffer_put_packets(&buffer, bytes, 7), 7);
        for (size_t i = 0; i < start; i++) {
            CHECK_EQ(pipe_buffer_put_packets(&buffer, bytes, 7), 7);
            CHECK_EQ(pipe_buffer_take(&buffer, back, 100), 7);
        }
        for (size_t i = 1; i < 32; i++)
            CHECK_EQ(pipe_buffer_put_packets(&buffer, bytes, i), i);
        CHECK_EQ(pipe_buffer_resize(&buffer, MIB), MIB);
        CHECK_EQ(pipe_buffer_take(&buffer, back, 100), 7);
        for (size_t i = 1; i < 20; i++)
            CHECK_EQ(pipe_buffer_take(&buffer, back, 100), i);
        CHECK_EQ(pipe_buffer_resize(&buffer, PIPE_SIZE), PIPE_SIZE);
        for (size_t i = 20; i < 32; i++)
            CHECK_EQ(pipe_buffer_take(&buffer, back, 100), i);
        CHECK_EQ(pipe_buffer_used(&buffer), 0);
        pipe_buffer_free(&buffer);
        CHECK_EQ(heap_objects, 0);
    }
}

TEST(buffer_look, "what is looked at stays, and as much of it as was moved is skipped")
{
    for (size_t start = 0; start < 2 * PIPE_PART; start += 501) {
        struct pipe_buffer buffer = {.taken = start, .written = start};

        CHECK_EQ(pipe_buffer_put(&buffer, "x", 1, 1), 1);
        buffer.taken = buffer.written = start; /* as if nothing had begun again */
        CHECK_EQ(pipe_buffer_look(&buffer, back, 9), 0);
        for (size_t i = 0; i < PIPE_SIZE; i++)
            bytes[i] = (uint8_t)(i * 11 >> 2);
        for (size_t i = 0; i < PIPE_SIZE; i += 1024)
            CHECK_EQ(pipe_buffer_put(&buffer, bytes + i, 1024, 1), 1024);
        for (size_t at = 0, step = 1; at < PIPE_SIZE; at += step, step = step * 3 % 5003 + 1) {
            size_t count = step < PIPE_SIZE - at ? step : PIPE_SIZE - at;

            CHECK_EQ(pipe_buffer_look(&buffer, back, PIPE_SIZE), PIPE_SIZE - at);
            CHECK(memcmp(back, bytes + at, PIPE_SIZE - at) == 0);
            pipe_buffer_skip(&buffer, count);
            CHECK_EQ(pipe_buffer_used(&buffer), PIPE_SIZE - at - count);
        }
        pipe_buffer_free(&buffer);
        CHECK_EQ(heap_objects, 0);
    }
}

TEST(buffer_look_packets, "a packet that is skipped in part keeps the rest, and bytes go on behind it")
{
    struct pipe_buffer buffer = {0};

    CHECK_EQ(pipe_buffer_put(&buffer, "bytes", 5, 1), 5);
    CHECK_EQ(pipe_buffer_put_packets(&buffer, "packet", 6), 6);
    CHECK_EQ(pipe_buffer_put(&buffer, "on", 2, 1), 2);
    CHECK_EQ(pipe_buffer_look(&buffer, back, 100), 13);
    CHECK(memcmp(back, "bytespacketon", 13) == 0);
    pipe_buffer_skip(&buffer, 7);
    CHECK_EQ(pipe_buffer_used(&buffer), 6);
    CHECK_EQ(pipe_buffer_take(&buffer, back, 100), 4);
    CHECK(memcmp(back, "cket", 4) == 0);
    CHECK_EQ(pipe_buffer_take(&buffer, back, 100), 2);
    CHECK_EQ(pipe_buffer_room(&buffer), PIPE_SIZE);
    pipe_buffer_free(&buffer);
    CHECK_EQ(heap_objects, 0);
}

TEST(buffer_wrap_ended, "bytes in front of the rest of a part that has ended are not taken for a part of it")
{
    for (uint64_t size = 2 * PIPE_PART; size <= 2 * PIPE_SIZE; size *= 2) {
        for (int shrunk = 0; shrunk < 2; shrunk++) {
            struct pipe_buffer buffer = {0};
            size_t stream = 0;

            CHECK_EQ(pipe_buffer_resize(&buffer, shrunk ? 2 * size : size), shrunk ? 2 * size : size);
            CHECK_EQ(pipe_buffer_put(&buffer, "AAAAABBBBB", 10, 1), 10);
            CHECK_EQ(pipe_buffer_put_packets(&buffer, "P", 1), 1); /* ends the first part after 10 bytes */
            CHECK_EQ(pipe_buffer_take(&buffer, back, 5), 5);
            for (; stream < size - 2 * PIPE_PART; stream += 1024)
                CHECK_EQ(pipe_buffer_put(&buffer, bytes, 1024, 1), 1024);
            CHECK_EQ(pipe_buffer_put(&buffer, "xyz", 3, 1), 3);
            if (shrunk)
                CHECK_EQ(pipe_buffer_resize(&buffer, size), size);
            CHECK_EQ(pipe_buffer_room(&buffer), 2);
            CHECK_EQ(pipe_buffer_look(&buffer, back, sizeof(back)), stream + 9);
            CHECK(memcmp(back, "BBBBBP", 6) == 0 && memcmp(back + 6 + stream, "xyz", 3) == 0);
            pipe_buffer_skip(&buffer, stream + 8);
            CHECK_EQ(pipe_buffer_used(&buffer), 1);
            CHECK_EQ(pipe_buffer_take(&buffer, back, 100), 1);
            CHECK_EQ(back[0], 'z');
            CHECK_EQ(pipe_buffer_used(&buffer), 0);
            CHECK_EQ(pipe_buffer_room(&buffer), size);
            pipe_buffer_free(&buffer);
            CHECK_EQ(heap_objects, 0);
        }
    }
}

TEST(buffer_reserve, "room that is reserved has memory, whatever happens until it is filled")
{
    for (int change = 0; change < 4; change++) {
        struct pipe_buffer buffer = {0};

        CHECK_EQ(pipe_buffer_put(&buffer, bytes, PIPE_SIZE - 5000, 1), PIPE_SIZE - 5000);
        CHECK_EQ(pipe_buffer_take(&buffer, back, 100), 100);
        CHECK_EQ(pipe_buffer_reserve(&buffer, PIPE_SIZE), 5100);
        switch (change) {
        case 1:
            CHECK_EQ(pipe_buffer_take(&buffer, back, PIPE_SIZE), PIPE_SIZE - 5100);
            break;
        case 2:
            CHECK_EQ(pipe_buffer_resize(&buffer, 2 * PIPE_SIZE), 2 * PIPE_SIZE);
            break;
        case 3:
            CHECK_EQ(pipe_buffer_take(&buffer, back, PIPE_SIZE - 6000), PIPE_SIZE - 6000);
            CHECK_EQ(pipe_buffer_resize(&buffer, PIPE_PART), -EBUSY);
            CHECK_EQ(pipe_buffer_resize(&buffer, 2 * PIPE_PART), 2 * PIPE_PART);
            break;
        default:
            break;
        }
        heap_left = 0;
        for (size_t i = 0; i < 5100; i++)
            bytes[i] = (uint8_t)(i * 13 >> 3);
        pipe_buffer_fill(&buffer, bytes, 5100);
        heap_left = -1;
        CHECK(pipe_buffer_look(&buffer, back, sizeof(back)) >= 5100);
        pipe_buffer_skip(&buffer, pipe_buffer_used(&buffer) - 5100);
        CHECK_EQ(pipe_buffer_take(&buffer, back, sizeof(back)), 5100);
        CHECK(memcmp(back, bytes, 5100) == 0);
        CHECK_EQ(pipe_buffer_reserve(&buffer, 0), 0);
        pipe_buffer_free(&buffer);
        CHECK_EQ(heap_objects, 0);
    }
}

TEST(buffer_reserve_refused, "room without memory is not promised")
{
    struct pipe_buffer buffer = {0};

    heap_left = 0;
    CHECK_EQ(pipe_buffer_reserve(&buffer, 10), -ENOMEM);
    heap_left = -1;
    CHECK_EQ(buffer.reserved, 0);
    CHECK_EQ(pipe_buffer_reserve(&buffer, 10), 10);
    pipe_buffer_fill(&buffer, bytes, 0);
    CHECK_EQ(buffer.reserved, 0);
    CHECK_EQ(pipe_buffer_used(&buffer), 0);
    pipe_buffer_free(&buffer);
    CHECK_EQ(heap_objects, 0);
}

TEST(buffer_fit, "of what does not fit there are whole parts, counted from where the parts begin")
{
    struct pipe_buffer buffer = {0};

    CHECK_EQ(pipe_buffer_fit(&buffer, 100, 0), 0);
    CHECK_EQ(pipe_buffer_put(&buffer, bytes, 3 * PIPE_PART, 0), 3 * PIPE_PART);
    CHECK_EQ(pipe_buffer_fit(&buffer, 100, 100), 100);
    CHECK_EQ(pipe_buffer_fit(&buffer, 100, 99), 0);
    CHECK_EQ(pipe_buffer_fit(&buffer, 4 * PIPE_PART, 3 * PIPE_PART), 3 * PIPE_PART);
    CHECK_EQ(pipe_buffer_fit(&buffer, 4 * PIPE_PART, 3 * PIPE_PART - 1), 2 * PIPE_PART);
    CHECK_EQ(pipe_buffer_take(&buffer, back, 1000), 1000);
    CHECK_EQ(pipe_buffer_fit(&buffer, 4 * PIPE_PART, PIPE_PART - 1001), 0);
    CHECK_EQ(pipe_buffer_fit(&buffer, 4 * PIPE_PART, PIPE_PART), PIPE_PART - 1000);
    pipe_buffer_free(&buffer);
    CHECK_EQ(heap_objects, 0);
}

TEST(buffer_fit_packets, "a packet fits as a whole or not at all")
{
    struct pipe_buffer buffer = {0};

    CHECK_EQ(pipe_buffer_put(&buffer, bytes, 50, 0), 50);
    CHECK_EQ(pipe_buffer_put_packets(&buffer, bytes, 300), 300);
    CHECK_EQ(pipe_buffer_put_packets(&buffer, bytes, 200), 200);
    CHECK_EQ(pipe_buffer_fit(&buffer, 1000, 340), 50);
    CHECK_EQ(pipe_buffer_take(&buffer, back, 50), 50);
    CHECK_EQ(pipe_buffer_fit(&buffer, 1000, 299), 0);
    CHECK_EQ(pipe_buffer_fit(&buffer, 1000, 300), 300);
    CHECK_EQ(pipe_buffer_fit(&buffer, 100, 100), 100);
    CHECK_EQ(pipe_buffer_take(&buffer, back, 300), 300);
    CHECK_EQ(pipe_buffer_fit(&buffer, 1000, 199), 0);
    CHECK_EQ(pipe_buffer_take(&buffer, back, 1000), 200);
    pipe_buffer_free(&buffer);
    CHECK_EQ(heap_objects, 0);
}
