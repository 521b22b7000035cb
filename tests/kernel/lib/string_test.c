/* Memory and string functions against the C library's. The source is included under other names. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define memcpy kernel_memcpy
#define memmove kernel_memmove
#define memset kernel_memset
#define memcmp kernel_memcmp
#define strlen kernel_strlen
#define strnlen kernel_strnlen
#define strcmp kernel_strcmp
#define strncmp kernel_strncmp
#define strchr kernel_strchr
#include "kernel/lib/string.c"
#undef memcpy
#undef memmove
#undef memset
#undef memcmp
#undef strlen
#undef strnlen
#undef strcmp
#undef strncmp
#undef strchr

#include "tests/test.h"

#define SIZE 96u

static uint64_t state = 1;

static void fill(uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)test_random(&state);
}

static int sign(int value)
{
    return (value > 0) - (value < 0);
}

TEST(memory_copy, "memcpy copies every size from and to every alignment and touches nothing else")
{
    _Alignas(16) uint8_t from[SIZE], to[SIZE], expected[SIZE];

    for (size_t d = 0; d < 16; d++) {
        for (size_t s = 0; s < 16; s++) {
            for (size_t size = 0; size <= 64; size++) {
                fill(from, SIZE);
                fill(to, SIZE);
                memcpy(expected, to, SIZE);
                memcpy(expected + d, from + s, size);
                CHECK(kernel_memcpy(to + d, from + s, size) == to + d);
                CHECK(memcmp(to, expected, SIZE) == 0);
            }
        }
    }
}

TEST(memory_move, "memmove copies between overlapping places of any distance")
{
    _Alignas(16) uint8_t bytes[SIZE], expected[SIZE];

    for (size_t d = 0; d < 32; d++) {
        for (size_t s = 0; s < 32; s++) {
            for (size_t size = 0; size <= 64; size += test_below(&state, 3) + 1) {
                fill(bytes, SIZE);
                memcpy(expected, bytes, SIZE);
                memmove(expected + d, expected + s, size);
                CHECK(kernel_memmove(bytes + d, bytes + s, size) == bytes + d);
                CHECK(memcmp(bytes, expected, SIZE) == 0);
            }
        }
    }
}

TEST(memory_set, "memset fills every size at every alignment with the byte's low 8 bits and touches nothing else")
{
    _Alignas(16) uint8_t bytes[SIZE], expected[SIZE];

    for (size_t d = 0; d < 16; d++) {
        for (size_t size = 0; size <= 64; size++) {
            int byte = (int)test_random(&state);

            fill(bytes, SIZE);
            memcpy(expected, bytes, SIZE);
            memset(expected + d, byte, size);
            CHECK(kernel_memset(bytes + d, byte, size) == bytes + d);
            CHECK(memcmp(bytes, expected, SIZE) == 0);
        }
    }
}

TEST(memory_compare, "memcmp tells order by the first byte that differs, as unsigned, and reads none behind SIZE")
{
    for (int round = 0; round < 20000; round++) {
        size_t size = (size_t)test_below(&state, 20);
        uint8_t *a = malloc(size > 0 ? size : 1), *b = malloc(size > 0 ? size : 1);

        CHECK(a != NULL && b != NULL);
        fill(a, size);
        memcpy(b, a, size);
        if (size > 0 && test_below(&state, 4) != 0)
            b[test_below(&state, size)] = (uint8_t)test_random(&state);
        CHECK_EQ(sign(kernel_memcmp(a, b, size)), sign(memcmp(a, b, size)));
        free(a);
        free(b);
    }
}

/* A string of few letters, some above 127, in memory of exactly its size. */
static char *make_string(void)
{
    static const char letters[] = "ab\xff\x7f";
    size_t length = (size_t)test_below(&state, 8);
    char *text = malloc(length + 1);

    CHECK(text != NULL);
    for (size_t i = 0; i < length; i++)
        text[i] = letters[test_below(&state, 4)];
    text[length] = '\0';
    return text;
}

TEST(string_functions, "lengths, comparisons and searches of random strings are the C library's")
{
    for (int round = 0; round < 50000; round++) {
        char *a = make_string(), *b = make_string();
        size_t most = (size_t)test_below(&state, 10);

        CHECK_EQ(kernel_strlen(a), strlen(a));
        CHECK_EQ(kernel_strnlen(a, most), strnlen(a, most));
        CHECK_EQ(sign(kernel_strcmp(a, b)), sign(strcmp(a, b)));
        CHECK_EQ(sign(kernel_strncmp(a, b, most)), sign(strncmp(a, b, most)));
        CHECK(kernel_strchr(a, 'a') == strchr(a, 'a'));
        CHECK(kernel_strchr(a, 0xff) == strchr(a, 0xff));
        CHECK(kernel_strchr(a, '\0') == strchr(a, '\0'));
        free(a);
        free(b);
    }
}

TEST(string_bounded, "strnlen and strncmp read no byte behind the bound")
{
    char *open = malloc(4); /* no NUL: the sanitizer guards its end */

    CHECK(open != NULL);
    memcpy(open, "abcd", 4);
    CHECK_EQ(kernel_strnlen(open, 4), 4);
    CHECK_EQ(kernel_strncmp(open, "abcdef", 4), 0);
    CHECK_EQ(kernel_strncmp(open, "", 0), 0);
    free(open);
}
