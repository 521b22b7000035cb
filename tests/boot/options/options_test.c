/* The boot command line.
 * sources: boot/options/options.c */
#include "boot/options/options.h"

#include "tests/test.h"

static char value[16];

static void check(const char *cmdline, const char *name, bool found, const char *expected)
{
    memset(value, 'x', sizeof(value));
    CHECK_EQ(option_find(cmdline, name, value, sizeof(value)), found);
    CHECK_TEXT(value, expected);
}

TEST(option_found,
     "a word NAME=VALUE is found anywhere between blanks, and what it has behind the first = is the value")
{
    check("kernels=core", "kernels", true, "core");
    check("  kernels=core  ", "kernels", true, "core");
    check("a=1 kernels=0-1,2-3 b=2", "kernels", true, "0-1,2-3");
    check("kernels=a=b", "kernels", true, "a=b");
    check("kernels= a", "kernels", true, "");
    check("kernels=", "kernels", true, "");
}

TEST(option_missing, "part of a name, a name without =, and a value that looks like a name are not the option")
{
    check("", "kernels", false, "");
    check("    ", "kernels", false, "");
    check("kernels", "kernels", false, "");
    check("xkernels=core", "kernels", false, "");
    check("kernelsx=core", "kernels", false, "");
    check("kernel=core", "kernels", false, "");
    check("a=kernels=core", "kernels", false, "");
    check("kernels =core", "kernels", false, "");
    check("kernels\t=core", "kernels", false, "");
}

TEST(option_last, "of several the last one counts, also when it is empty or does not fit")
{
    check("a=1 a=2 a=3", "a", true, "3");
    check("a=1 a=", "a", true, "");
    check("a=1 a=1234567890123456", "a", false, "");
    check("a=1234567890123456 a=1", "a", true, "1");
}

TEST(option_room, "a value fits when its NUL does, and not a byte behind the buffer is written")
{
    check("a=123456789012345 b", "a", true, "123456789012345");
    check("a=1234567890123456 b", "a", false, "");
    memset(value, 'x', sizeof(value));
    CHECK(option_find("a=12", "a", value, 3));
    CHECK_EQ(value[3], 'x');
    CHECK(!option_find("a=123", "a", value, 3));
    CHECK_EQ(value[3], 'x');
    memset(value, 'x', sizeof(value));
    CHECK(option_find("a=", "a", value, 1));
    CHECK_EQ(value[0], '\0');
    CHECK_EQ(value[1], 'x');
}

TEST(option_numbers, "a decimal number is read, and anything else is the fallback")
{
    static const char *const bad[] = {"a=", "a=-1", "a=0x10", "a=1k", "a=+1", "a=1,2", "b=1", ""};

    CHECK_EQ(option_number("a=0", "a", 7), 0);
    CHECK_EQ(option_number("a=1234", "a", 7), 1234);
    CHECK_EQ(option_number("a=007", "a", 9), 7);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK_EQ(option_number(bad[i], "a", 7), 7);
}

TEST(option_number_range, "numbers up to 2^63 are read, greater ones are the fallback")
{
    CHECK(option_number("a=9223372036854775807", "a", 7) == (1ull << 63) - 1);
    CHECK(option_number("a=9223372036854775808", "a", 7) == 1ull << 63);
    CHECK_EQ(option_number("a=9223372036854775809", "a", 7), 7);
    CHECK_EQ(option_number("a=9223372036854775810", "a", 7), 7);
    CHECK_EQ(option_number("a=18446744073709551616", "a", 7), 7);
    CHECK_EQ(option_number("a=18446744073709551617", "a", 7), 7);
    CHECK_EQ(option_number("a=99999999999999999999999", "a", 7), 7);
    CHECK_EQ(option_number("a=100000000000000000000000000000", "a", 7), 7);
}

TEST(option_numbers_checked, "what is there and no number is found out")
{
    CHECK(option_is_number("", "a") && option_is_number("ba=x", "a") && option_is_number("a=x a=7", "a"));
    CHECK(option_is_number("a=0", "a") && option_is_number("a=9223372036854775808", "a"));
    CHECK(!option_is_number("a=", "a") && !option_is_number("a=1x", "a") && !option_is_number("a=7 a=x", "a"));
    CHECK(!option_is_number("a=9223372036854775809", "a") && !option_is_number("a=99999999999999999999999999", "a"));
}

TEST(option_names, "each word that is none of the options is named once, in order, and the options are not")
{
    static const char *const words = "  kernels=core retreive=members quiet lock= seeds=7 trace =x lock=home events";
    static const char *const named[] = {"retreive", "quiet", "seeds", "trace", "", "events"};
    const char *rest = words;

    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
        CHECK(option_unknown(&rest, value, sizeof(value)));
        CHECK_TEXT(value, named[i]);
    }
    CHECK(!option_unknown(&rest, value, sizeof(value)) && !option_unknown(&rest, value, sizeof(value)));
    rest = "";
    CHECK(!option_unknown(&rest, value, sizeof(value)));
}

TEST(option_names_cut, "a long name is cut to the room there is")
{
    const char *rest = "abcdefgh=1";

    memset(value, 'x', sizeof(value));
    CHECK(option_unknown(&rest, value, 4));
    CHECK_TEXT(value, "abc");
    CHECK_EQ(value[4], 'x');
}
