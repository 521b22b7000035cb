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

TEST(option_numbers, "a decimal number of the row's range is read; anything else has the default")
{
    static const char *const bad[] = {"tracesize=",
                                      "tracesize=-1",
                                      "tracesize=0x10",
                                      "tracesize=1k",
                                      "tracesize=0",
                                      "tracesize=65537",
                                      "tracesize=+1",
                                      "tracesize=1,2",
                                      "trace=1",
                                      "",
                                      "tracesize=1 tracesize="};

    CHECK_EQ(option_number("tracesize=1", "tracesize"), 1);
    CHECK_EQ(option_number("tracesize=65536", "tracesize"), 65536);
    CHECK_EQ(option_number("tracesize=5 tracesize=007", "tracesize"), 7);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK_EQ(option_number(bad[i], "tracesize"), 4096);
}

TEST(option_number_range, "numbers up to 2^63 are read, greater ones have the default")
{
    CHECK(option_number("seed=9223372036854775807", "seed") == (1ull << 63) - 1);
    CHECK(option_number("seed=9223372036854775808", "seed") == 1ull << 63);
    CHECK_EQ(option_number("seed=9223372036854775809", "seed"), 0);
    CHECK_EQ(option_number("seed=18446744073709551617", "seed"), 0);
    CHECK_EQ(option_number("seed=99999999999999999999999", "seed"), 0);
}

TEST(option_no_number, "an option whose value is a word has no number")
{
    CHECK(option_number("poll=always", "poll") == UINT64_MAX && option_number("", "panic") == UINT64_MAX);
    CHECK(option_number("panic=0", "panic") == 0 && option_number("panic=64", "panic") == UINT64_MAX);
}

TEST(option_words, "an option is the word that it has, or its default")
{
    CHECK(option_is("", "leases", "on") && option_is("leases=no", "leases", "on") &&
          option_is("leases=o", "leases", "on"));
    CHECK(option_is("leases=off", "leases", "off") && !option_is("leases=off", "leases", "on"));
    CHECK(option_is("leases=off leases=offs", "leases", "on"));
    CHECK_EQ(option_index("balance", "off"), 0);
    CHECK_EQ(option_index("balance", "active"), 2);
    CHECK_EQ(option_index("balance", "acti"), 3);
}

TEST(option_values, "what a row allows is valid, and nothing else")
{
    static const char *const valid[][2] = {{"retrieve", "home"},
                                           {"retrieve", "adaptive"},
                                           {"ring", "64"},
                                           {"ring", "1024"},
                                           {"poll", "0"},
                                           {"poll", "always"},
                                           {"kernels", "core"},
                                           {"kernels", "64"},
                                           {"kernels", "0-1,2-3"},
                                           {"kernels", "0,4,2-255"},
                                           {"kernels", "0-1"},
                                           {"inject", "off"},
                                           {"inject", "seed:7"},
                                           {"inject", "seed:7,rate:100,type:MIGRATE"},
                                           {"share", "none"},
                                           {"share", "a:/b"},
                                           {"share", "a:/b/c:ro,d:/e"},
                                           {"place", "least-loaded"},
                                           {"panic", "63"}};
    static const char *const invalid[][2] = {{"huge", ""},
                                             {"huge", "alway"},
                                             {"huge", "alwayss"},
                                             {"huge", "always|never"},
                                             {"huge", "ALWAYS"},
                                             {"ring", "5"},
                                             {"ring", "2048"},
                                             {"ring", "64,64"},
                                             {"ring", ""},
                                             {"poll", "4294967295"},
                                             {"poll", "4..5"},
                                             {"poll", "1,always"},
                                             {"kernels", ""},
                                             {"kernels", "cores"},
                                             {"kernels", "0-1,"},
                                             {"kernels", "0-256"},
                                             {"kernels", "0-1-2"},
                                             {"kernels", "core,node"},
                                             {"inject", "seed:7,"},
                                             {"inject", "seed"},
                                             {"inject", "seed:x"},
                                             {"inject", "rate:101"},
                                             {"inject", "off,seed:7"},
                                             {"inject", "type:"},
                                             {"inject", "Xseed:1"},
                                             {"share", "a:b"},
                                             {"share", "a:/b,none"},
                                             {"share", ":/b"},
                                             {"share", "a:/b:rw"},
                                             {"share", "a:/b:ro:"},
                                             {"retreive", "home"},
                                             {"", ""}};

    for (size_t i = 0; i < sizeof(valid) / sizeof(valid[0]); i++)
        CHECK(option_valid(valid[i][0], valid[i][1]));
    for (size_t i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++)
        CHECK(!option_valid(invalid[i][0], invalid[i][1]));
}

TEST(option_defaults, "each row allows its own default")
{
    static const char *const names[] = {
#define OPTION(name, fallback, values) #name,
#include "boot/options/options.def"
#undef OPTION
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct option_row *row = option_row(names[i]);

        CHECK(row != NULL && strcmp(row->name, names[i]) == 0 && option_valid(row->name, row->fallback));
    }
}

static void check_wrong(const char **rest, const char *row, const char *text)
{
    struct option_wrong wrong;

    CHECK(option_wrong(rest, &wrong));
    CHECK_TEXT(wrong.row == NULL ? "" : wrong.row->name, row);
    CHECK(wrong.length == strlen(text) && memcmp(wrong.text, text, wrong.length) == 0);
}

TEST(option_wrongs, "each word without an effect is found once, in order, and no other")
{
    const char *rest =
        "  kernels=core retreive=members quiet lock= leases=no leases=off seeds=7 trace =x lock=hom events";
    struct option_wrong wrong;

    check_wrong(&rest, "", "retreive");
    check_wrong(&rest, "", "quiet");
    check_wrong(&rest, "", "seeds");
    check_wrong(&rest, "", "trace");
    check_wrong(&rest, "", "");
    check_wrong(&rest, "lock", "hom");
    check_wrong(&rest, "", "events");
    CHECK(!option_wrong(&rest, &wrong) && !option_wrong(&rest, &wrong));
    rest = "";
    CHECK(!option_wrong(&rest, &wrong));
}
