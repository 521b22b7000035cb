/* The channel's options: which words are understood, what they set, and that a wrong word changes nothing.
 * sources: msg/control.c msg/message.c boot/options/control.c boot/options/options.c */
#include <stdarg.h>

#include "boot/options/control.h"
#include "kernel/abi/errno.h"
#include "kernel/lib/log.h"
#include "msg/channel_internal.h"
#include "msg/idle.h"
#include "msg/inject.h"
#include "msg/trace.h"
#include "tests/test.h"

struct instance instance = {.kernel = 0, .kernels = 4};

/* What was set. */
static int64_t polls;
static uint32_t injects, traces, clears, lines;
static bool inject_on, trace_on;
static struct inject_rule rule;
static int trace_error;

void idle_set_polls(uint32_t wanted)
{
    polls = wanted;
}

void inject_set(const struct inject_rule *wanted)
{
    injects++;
    inject_on = wanted != NULL;
    if (wanted != NULL)
        rule = *wanted;
}

int trace_switch(bool wanted)
{
    traces++;
    if (trace_error == 0)
        trace_on = wanted;
    return trace_error;
}

void trace_clear(void)
{
    clears++;
}

void log_line(const char *format, ...)
{
    (void)format;
    lines++;
}

void log_event(const char *format, ...)
{
    (void)format;
    lines++;
}

/* As at the start, with nothing on the command line. */
static void begin(void)
{
    option_start("", instance.kernel, instance.kernels);
    msg_control_init();
    polls = -1;
    injects = traces = clears = lines = 0;
    inject_on = trace_on = false;
    trace_error = 0;
    memset(&rule, 0, sizeof(rule));
}

static void check_unchanged(const char *words)
{
    begin();
    CHECK_EQ(option_control(words), -EINVAL);
    CHECK(polls == -1 && injects == 0 && traces == 0 && clears == 0);
}

TEST(option_polls, "poll= takes a number or always")
{
    begin();
    CHECK_EQ(option_control("poll=0"), 0);
    CHECK_EQ(polls, 0);
    CHECK_EQ(option_control("poll=4000"), 0);
    CHECK_EQ(polls, 4000);
    CHECK_EQ(option_control("poll=always"), 0);
    CHECK_EQ(polls, IDLE_POLLS_ALWAYS);
    CHECK_EQ(option_control("poll=4294967294"), 0);
    CHECK_EQ(polls, 4294967294);
}

TEST(option_trace, "trace= takes on, off and clear")
{
    begin();
    CHECK_EQ(option_control("trace=on"), 0);
    CHECK(traces == 1 && trace_on);
    CHECK_EQ(option_control("trace=clear"), 0);
    CHECK(traces == 1 && clears == 1);
    CHECK_EQ(option_control("trace=off"), 0);
    CHECK(traces == 2 && !trace_on);
}

TEST(option_inject, "inject= takes off, or parts of which each sets one thing and the rest is by default")
{
    begin();
    CHECK_EQ(option_control("inject=seed:7"), 0);
    CHECK(inject_on && rule.seed == 7 && rule.rate == 12 && rule.delay == 200000 && rule.peer == -1);
    CHECK(rule.type == -1 && rule.hold == 0 && rule.slow == 0);
    CHECK_EQ(option_control("inject=seed:1,rate:100,delay:50,peer:3,type:ASK,hold:6,slow:9"), 0);
    CHECK(rule.seed == 1 && rule.rate == 100 && rule.delay == 50000 && rule.peer == 3 && rule.type == MSG_ASK);
    CHECK(rule.hold == 6000 && rule.slow == 9000);
    CHECK_EQ(option_control("inject=off"), 0);
    CHECK(!inject_on && injects == 3);
    CHECK_EQ(option_control("inject=type:ASK,dies:5,kernel:2"), 0);
    CHECK(!inject_on);
    CHECK_EQ(option_control("inject=delay:0,rate:0"), 0);
    CHECK(inject_on && rule.delay == 0 && rule.rate == 0);
}

TEST(one_kernel, "with kernel= the words are for that kernel alone; wrong words are wrong on every kernel")
{
    begin();
    CHECK_EQ(option_control("kernel=0 poll=7"), 0);
    CHECK_EQ(polls, 7);
    CHECK_EQ(option_control("poll=8 trace=on kernel=3"), 0);
    CHECK(polls == 7 && traces == 0);
    check_unchanged("kernel=3 poll=x");
    check_unchanged("kernel=4 poll=1");
    check_unchanged("kernel=-1 poll=1");
    check_unchanged("kernel= poll=1");
}

TEST(several, "several words, with any spaces, are set together; the last of a name counts; none is no error")
{
    begin();
    CHECK_EQ(option_control("  poll=3   trace=on inject=slow:5 "), 0);
    CHECK(polls == 3 && trace_on && inject_on && rule.slow == 5000);
    CHECK_EQ(option_control("poll=3 poll=4"), 0);
    CHECK_EQ(polls, 4);
    begin();
    CHECK_EQ(option_control(""), 0);
    CHECK_EQ(option_control("   "), 0);
    CHECK(polls == -1 && injects == 0 && traces == 0);
}

TEST(wrong, "a word that makes no sense is -EINVAL, and nothing has changed, not by the right words beside it either")
{
    static const char *const words[] = {
        "x",
        "poll",
        "poll=",
        "poll=-1",
        "poll=4294967295",
        "poll=99999999999999999999999",
        "poll=1x",
        "poll= 1",
        "Poll=1",
        "poll=ALWAYS",
        "trace=",
        "trace=ON",
        "trace=on,off",
        "trace",
        "inject",
        "inject=",
        "inject=on",
        "inject=seed",
        "inject=seed:",
        "inject=seed:x",
        "inject=seed:1,",
        "inject=,seed:1",
        "inject=rate:101",
        "inject=peer:4",
        "inject=peer:-1",
        "inject=type:NONE",
        "inject=type:ask",
        "inject=type:",
        "inject=type:60",
        "inject=speed:1",
        "inject=seed:1,rate:10 0",
        "inject=delay:4294967296",
        "ring=64",
        "=1",
        "tracesize=5",
        "poll=1\n",
    };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        char text[200];

        check_unchanged(words[i]);
        snprintf(text, sizeof(text), "poll=1 trace=on trace=clear inject=seed:1 %s", words[i]);
        check_unchanged(text);
        snprintf(text, sizeof(text), "%s inject=off poll=1", words[i]);
        check_unchanged(text);
    }
}

TEST(too_long, "words too long to be put aside are -EINVAL, and nothing has changed")
{
    char text[600];

    memset(text, ' ', sizeof(text));
    memcpy(text, "poll=1", 6);
    text[512] = '\0';
    check_unchanged(text);
    text[511] = '\0';
    CHECK_EQ(option_control(text), 0);
    CHECK_EQ(polls, 1);
}

TEST(no_memory, "when there is no memory for the trace, that is said and nothing has changed")
{
    begin();
    trace_error = -ENOMEM;
    CHECK_EQ(option_control("poll=9 inject=seed:1 trace=on"), -ENOMEM);
    CHECK(polls == -1 && injects == 0 && !trace_on);
}

static void boot(const char *cmdline)
{
    begin();
    option_start(cmdline, instance.kernel, instance.kernels);
    msg_control_init();
}

TEST(boot_options, "the same words are understood on the boot command line, among others")
{
    boot("kernels=core poll=5 inject=seed:3 trace=on lock=lamport");
    CHECK(polls == 5 && inject_on && rule.seed == 3 && trace_on && lines == 0);
    boot("kernels=core lock=home"); /* the defaults of options.def */
    CHECK(polls == 400 && injects == 1 && !inject_on && traces == 1 && !trace_on && lines == 0);
}

TEST(boot_wrong, "for a boot option that makes no sense the default counts, and that is said once; the others count")
{
    boot("poll=x inject=seed:3 trace=on");
    CHECK(polls == 400 && inject_on && trace_on && lines == 1);
    boot("poll=5 inject=seed:3,rate:999 trace=on");
    CHECK(polls == 5 && !inject_on && trace_on && lines == 1);
    boot("poll=5 inject=nonsense trace=maybe");
    CHECK(polls == 5 && !inject_on && !trace_on && lines == 2);
    boot("poll=5 inject=peer:4 quiet init=/bin/tour");
    CHECK(polls == 5 && !inject_on && lines == 3);
}

TEST(boot_no_memory, "without memory for the trace at boot that is said, and the other options count")
{
    begin();
    trace_error = -ENOMEM;
    option_start("poll=5 trace=on inject=seed:3", 0, 4);
    msg_control_init();
    CHECK(polls == 5 && inject_on && !trace_on && lines == 1);
}

TEST(boot_others, "only kernel 0 says so")
{
    instance.kernel = 2;
    boot("poll=x inject=y trace=z");
    CHECK(polls == 400 && !inject_on && !trace_on && lines == 0);
    instance.kernel = 0;
}
