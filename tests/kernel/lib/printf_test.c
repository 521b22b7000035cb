/* Formatted text against the C library's. The source is included under other names. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define snprintf kernel_snprintf
#define vsnprintf kernel_vsnprintf
#include "kernel/lib/printf.c"
#undef snprintf
#undef vsnprintf

#include "tests/test.h"

#pragma GCC diagnostic ignored "-Wformat"
#pragma GCC diagnostic ignored "-Wformat-zero-length"
#pragma GCC diagnostic ignored "-Wformat-overflow"
#pragma GCC diagnostic ignored "-Wformat-truncation"

/* Both write the same into a buffer of any size, and return the same length. */
#define CHECK_SAME(...)                                                                                                \
    do {                                                                                                               \
        for (size_t size_ = 0; size_ < 64; size_++) {                                                                  \
            char ours_[80], theirs_[80];                                                                               \
            memset(ours_, 'x', sizeof(ours_));                                                                         \
            memset(theirs_, 'x', sizeof(theirs_));                                                                     \
            CHECK_EQ(kernel_snprintf(ours_, size_, __VA_ARGS__), snprintf(theirs_, size_, __VA_ARGS__));               \
            CHECK(memcmp(ours_, theirs_, sizeof(ours_)) == 0);                                                         \
        }                                                                                                              \
    } while (0)

TEST(printf_plain, "text without a percent sign is copied")
{
    CHECK_SAME("");
    CHECK_SAME("a");
    CHECK_SAME("some text of more than a few bytes\n");
}

TEST(printf_integers, "integers of every length and their limits read as the C library's")
{
    static const char *const shorts = "%hd %hu %hx %hhd %hhu"; /* with more than fits: it is cut to length */
    static const long long values[] = {
        0,     1,     -1,    9,       10,      -10,           127,      128,       255,       256,        32767,
        32768, 65535, 65536, INT_MAX, INT_MIN, INT_MAX + 1ll, UINT_MAX, LLONG_MAX, LLONG_MIN, 0xdeadbeef, -70000};

    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        long long v = values[i];

        CHECK_SAME("%d %i %u %x %X", (int)v, (int)v, (unsigned)v, (unsigned)v, (unsigned)v);
        CHECK_SAME("%ld %lu %lx %lX", (long)v, (unsigned long)v, (unsigned long)v, (unsigned long)v);
        CHECK_SAME("%lld %llu %llx", v, (unsigned long long)v, (unsigned long long)v);
        CHECK_SAME("%zu %zx %zd", (size_t)v, (size_t)v, (ssize_t)v);
        CHECK_SAME(shorts, (int)v, (unsigned)v, (unsigned)v, (int)v, (unsigned)v);
    }
}

TEST(printf_widths, "widths pad with blanks, zeros behind the sign, or blanks on the right")
{
    for (int width = 0; width < 40; width++) {
        CHECK_SAME("[%*d]", width, 42);
        CHECK_SAME("[%*d]", -width, -42);
        CHECK_SAME("[%-*d]", width, 42);
        CHECK_SAME("[%0*d]", width, -42);
        CHECK_SAME("[%0*lx]", width, 0xabcul);
        CHECK_SAME("[%-0*u]", width, 7u);
        CHECK_SAME("[%*s]", width, "text");
        CHECK_SAME("[%-*s]", width, "text");
        CHECK_SAME("[%*c]", width, 'c');
    }
    CHECK_SAME("[%5d][%-5d][%05d][%016lx]", 1, 2, -3, 0x123456789abul);
    CHECK_SAME("[%060d][%60d][%-60d]", -1, -2, -3);
    CHECK_SAME("%0100d", -5);
    CHECK_SAME("%-100d|", -5);
}

TEST(printf_strings, "strings are cut at their precision, and no byte behind it is read")
{
    char open[4] = {'a', 'b', 'c', 'd'}; /* no NUL: the sanitizer guards its end */

    CHECK_SAME("%s", "");
    CHECK_SAME("%s and %s", "one", "two");
    CHECK_SAME("%.4s", open);
    CHECK_SAME("%.*s", 3, open);
    CHECK_SAME("%.*s", -1, "all of it");
    CHECK_SAME("%.0s|%.s", "none", "none");
    CHECK_SAME("%8.2s|%-8.2s|", "abc", "abc");
    CHECK_SAME("%.100s", "short");
}

TEST(printf_null, "a null string reads (null)")
{
    char text[16];

    CHECK_EQ(kernel_snprintf(text, sizeof(text), "%s", (const char *)NULL), 6);
    CHECK_TEXT(text, "(null)");
}

TEST(printf_others, "characters, pointers and percent signs")
{
    CHECK_SAME("%c%c%c", 'a', 'b', 'c');
    CHECK_SAME("100%% of %d%%", 5);
    CHECK_SAME("%p", (void *)0xffff888000001000);
    CHECK_SAME("%p", (void *)1);
}

TEST(printf_unknown, "what it does not know it copies as it stands, and a lone percent sign at the end is nothing")
{
    char text[16];

    CHECK_EQ(kernel_snprintf(text, sizeof(text), "%y|%+"), 5);
    CHECK_TEXT(text, "%y|%+");
    CHECK_EQ(kernel_snprintf(text, sizeof(text), "a%"), 1);
    CHECK_TEXT(text, "a");
}

TEST(printf_random, "random numbers in random widths read as the C library's")
{
    static const char *const formats[] = {"%*ld", "%-*ld", "%0*ld", "%*lu", "%0*lx", "%-*lX"};
    uint64_t state = 1;

    for (int round = 0; round < 100000; round++) {
        uint64_t value = test_random(&state) >> test_below(&state, 64);
        const char *format = formats[test_below(&state, sizeof(formats) / sizeof(formats[0]))];
        int width = (int)test_below(&state, 50);
        char ours[64], theirs[64];

        if (test_below(&state, 2) != 0)
            value = 0 - value;
        CHECK_EQ(kernel_snprintf(ours, sizeof(ours), format, width, value),
                 snprintf(theirs, sizeof(theirs), format, width, value));
        CHECK_TEXT(ours, theirs);
    }
}
