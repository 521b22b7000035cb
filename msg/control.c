/* The options of the channel, on the boot command line and changed by programs: polling of idle CPUs, fault injection,
 * the trace. */
#include "boot/options/control.h"
#include "boot/options/options.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/log.h"
#include "kernel/lib/string.h"
#include "msg/channel_internal.h"
#include "msg/idle.h"
#include "msg/inject.h"
#include "msg/message.h"
#include "msg/trace.h"

/* --- poll= --- */

static void set_polls(const char *value)
{
    uint64_t polls;

    if (!option_parse_number(value, IDLE_POLLS_ALWAYS - 1, &polls))
        polls = IDLE_POLLS_ALWAYS; /* the word "always" */
    idle_set_polls((uint32_t)polls);
}

/* --- trace= --- */

static int set_trace(const char *value)
{
    if (strcmp(value, "clear") != 0)
        return trace_switch(strcmp(value, "on") == 0);
    trace_clear();
    return 0;
}

/* --- inject= --- */

static bool parse_type(const char *name, int32_t *type)
{
    for (int32_t i = 0; i < (int32_t)MSG_TYPES; i++) {
        if (msg_kinds[i].name != NULL && strcmp(msg_kinds[i].name, name) == 0) {
            *type = i;
            return true;
        }
    }
    return false;
}

/* Parses one "name:value". */
static bool parse_part(const char *name, const char *value, struct inject_rule *rule)
{
    uint64_t number = 0;

    if (strcmp(name, "type") == 0)
        return parse_type(value, &rule->type);
    if (!option_parse_number(value, UINT32_MAX, &number))
        return false;
    if (strcmp(name, "seed") == 0)
        rule->seed = number;
    else if (strcmp(name, "rate") == 0 && number <= 100)
        rule->rate = (uint32_t)number;
    else if (strcmp(name, "delay") == 0)
        rule->delay = number * 1000;
    else if (strcmp(name, "dies") == 0)
        rule->dies = number;
    else if (strcmp(name, "hold") == 0)
        rule->hold = number * 1000;
    else if (strcmp(name, "slow") == 0)
        rule->slow = number * 1000;
    else if (strcmp(name, "peer") == 0 && number < instance.kernels)
        rule->peer = (int32_t)number;
    else if (strcmp(name, "kernel") == 0 && number < instance.kernels)
        rule->kernel = (int32_t)number;
    else
        return false;
    return true;
}

/* Parses the value of inject=. *ON: false for "off". */
static bool parse_inject(const char *value, struct inject_rule *rule, bool *on)
{
    char copy[OPTION_WORDS_MAX];
    size_t length = strnlen(value, sizeof(copy));

    *rule = (struct inject_rule){.rate = 12, .delay = 200000, .peer = -1, .type = -1, .kernel = -1};
    *on = strcmp(value, "off") != 0;
    if (!*on)
        return true;
    if (length == sizeof(copy))
        return false;
    memcpy(copy, value, length + 1);
    for (char *part = copy, *next; part != NULL; part = next) {
        char *colon;

        next = strchr(part, ',');
        if (next != NULL)
            *next++ = '\0';
        colon = strchr(part, ':');
        if (colon == NULL)
            return false;
        *colon = '\0';
        if (!parse_part(part, colon + 1, rule))
            return false;
    }
    return true;
}

static bool check_inject(const char *value)
{
    struct inject_rule rule;
    bool on;

    return parse_inject(value, &rule, &on);
}

static void set_inject(const char *value)
{
    struct inject_rule rule;
    bool on;

    if (parse_inject(value, &rule, &on))
        inject_set(on && (rule.kernel < 0 || rule.kernel == (int32_t)instance.kernel) ? &rule : NULL);
}

void msg_control_init(void)
{
    static struct option polls = {.name = "poll", .set = set_polls};
    static struct option inject = {.name = "inject", .check = check_inject, .set = set_inject};
    static struct option trace = {.name = "trace", .try_set = set_trace};

    option_add(&polls);
    option_add(&inject);
    if (option_add(&trace) != 0)
        log_line("msg: no memory for the trace");
}
