/* Memory and string functions (C11 7.24). Whole words are moved with the string instructions; the rest, and short
 * blocks, with plain loops: GCC is told not to turn them back into calls of themselves (see the Makefile). */
#include "kernel/lib/string.h"

#include <stdint.h>

#include "kernel/arch/x86_64/base/instructions.h"

#define STRING_MIN 32u /* bytes for which a string instruction is worth its start */

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
    unsigned char *d = to;
    const unsigned char *s = from;

    if (size >= STRING_MIN) {
        copy_words(d, s, size / 8);
        d += size & ~(size_t)7;
        s += size & ~(size_t)7;
        size &= 7;
    }
    for (; size >= 8; size -= 8, d += 8, s += 8) {
        uint64_t word;

        __builtin_memcpy(&word, s, sizeof(word));
        __builtin_memcpy(d, &word, sizeof(word));
    }
    for (; size > 0; size--)
        *d++ = *s++;
    return to;
}

void *memmove(void *to, const void *from, size_t size)
{
    unsigned char *d = to;
    const unsigned char *s = from;

    if (d <= s || d >= s + size)
        return memcpy(to, from, size);
    while (size-- > 0)
        d[size] = s[size];
    return to;
}

void *memset(void *to, int byte, size_t size)
{
    unsigned char *d = to;

    if (size >= STRING_MIN) {
        fill_words(d, 0x0101010101010101ull * (unsigned char)byte, size / 8);
        d += size & ~(size_t)7;
        size &= 7;
    }
    for (; size > 0; size--)
        *d++ = (unsigned char)byte;
    return to;
}

int memcmp(const void *a, const void *b, size_t size)
{
    const unsigned char *x = a;
    const unsigned char *y = b;

    for (; size > 0; size--, x++, y++) {
        if (*x != *y)
            return *x - *y;
    }
    return 0;
}

size_t strlen(const char *text)
{
    size_t n = 0;

    while (text[n] != '\0')
        n++;
    return n;
}

size_t strnlen(const char *text, size_t most)
{
    size_t n = 0;

    while (n < most && text[n] != '\0')
        n++;
    return n;
}

int strcmp(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return (unsigned char)*a - (unsigned char)*b;
}

int strncmp(const char *a, const char *b, size_t most)
{
    for (; most > 0; most--, a++, b++) {
        if (*a != *b)
            return (unsigned char)*a - (unsigned char)*b;
        if (*a == '\0')
            break;
    }
    return 0;
}

char *strchr(const char *text, int byte)
{
    for (;; text++) {
        if (*text == (char)byte)
            return (char *)(uintptr_t)text;
        if (*text == '\0')
            return NULL;
    }
}
