/* The bytes of a pipe.
 * sources: kernel/fs/pipe_buffer.c */
#include "kernel/fs/pipe_buffer.h"

#include <stdlib.h>

#include "kernel/abi/errno.h"
#include "tests/test.h"

static int parts;   /* allocated */
static int refused; /* allocations from now on that fail */

void *heap_alloc(size_t size)
{
    if (refused > 0) {
        refused--;
        return NULL;
    }
    parts++;
    return calloc(1, size);
}

void heap_free(void *object, size_t size)
{
    (void)size;
    parts -= object != NULL;
    free(object);
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
    CHECK_EQ(parts, 0);
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
    CHECK_EQ(parts, 0);
}

TEST(buffer_memory, "a byte at a time keeps to one part, and without memory nothing goes in")
{
    struct pipe_buffer buffer = {0};

    for (int i = 0; i < 20000; i++) {
        CHECK_EQ(pipe_buffer_put(&buffer, "x", 1, 1), 1);
        CHECK_EQ(pipe_buffer_take(&buffer, back, 9), 1);
    }
    CHECK_EQ(parts, 1);
    CHECK_EQ(pipe_buffer_put(&buffer, bytes, 100, 0), 100);
    refused = 1;
    CHECK_EQ(pipe_buffer_put(&buffer, bytes, PIPE_PART, 0), -ENOMEM);
    CHECK_EQ(pipe_buffer_used(&buffer), 100);
    CHECK_EQ(pipe_buffer_put(&buffer, bytes, PIPE_PART, 0), PIPE_PART);
    pipe_buffer_free(&buffer);
    CHECK_EQ(parts, 0);
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
    CHECK_EQ(parts, 0);
}
