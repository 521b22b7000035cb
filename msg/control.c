/* Options of the channel, as words of text: on the boot command line, and from programs while running. */
#include "boot/options/options.h"
#include "kernel/abi/errno.h"
#include "kernel/lib/log.h"
#include "kernel/lib/string.h"
#include "msg/channel_internal.h"
#include "msg/idle.h"
#include "msg/inject.h"
#include "msg/trace.h"

#define VALUE_MAX 128u
#define WORDS_MAX 512u

#define OPTIONS_MAX 8u /* words of parts above in one text */

static struct msg_option *options; /* [i] */

enum trace_wish { TRACE_SAME, TRACE_ON, TRACE_OFF, TRACE_CLEAR };

struct wishes {
    int32_t kernel; /* the words are for this one alone, or -1 */
    bool polls_set, inject_set, inject_on;
    uint32_t polls;
    enum trace_wish trace;
    struct inject_rule inject;
    uint32_t option_count;
    struct {
        const struct msg_option *option;
        const char *value;
    } options[OPTIONS_MAX];
};

static bool parse_number(const char *text, uint64_t most, uint64_t *value)
{
    *value = 0;
    if (*text == '\0')
        return false;
    for (; *text >= '0' && *text <= '9'; text++) {
        *value = *value * 10 + (uint64_t)(*text - '0');
        if (*value > most)
            return false;
    }
    return *text == '\0';
}

static bool parse_polls(const char *value, struct wishes *wishes)
{
    uint64_t polls = IDLE_POLLS_ALWAYS;

    if (strcmp(value, "always") != 0 && !parse_number(value, IDLE_POLLS_ALWAYS - 1, &polls))
        return false;
    wishes->polls_set = true;
    wishes->polls = (uint32_t)polls;
    return true;
}

static bool parse_trace(const char *value, struct wishes *wishes)
{
    wishes->trace = strcmp(value, "on") == 0      ? TRACE_ON
                    : strcmp(value, "off") == 0   ? TRACE_OFF
                    : strcmp(value, "clear") == 0 ? TRACE_CLEAR
                                                  : TRACE_SAME;
    return wishes->trace != TRACE_SAME;
}

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

/* One "name:value" of an inject= option. */
static bool parse_inject_part(const char *name, const char *value, struct inject_rule *rule)
{
    uint64_t number = 0;

    if (strcmp(name, "type") == 0)
        return parse_type(value, &rule->type);
    if (!parse_number(value, UINT32_MAX, &number))
        return false;
    if (strcmp(name, "seed") == 0)
        rule->seed = number;
    else if (strcmp(name, "rate") == 0 && number <= 100)
        rule->rate = (uint32_t)number;
    else if (strcmp(name, "delay") == 0)
        rule->delay = number * 1000;
    else if (strcmp(name, "hold") == 0)
        rule->hold = number * 1000;
    else if (strcmp(name, "slow") == 0)
        rule->slow = number * 1000;
    else if (strcmp(name, "peer") == 0 && number < instance.kernels)
        rule->peer = (int32_t)number;
    else
        return false;
    return true;
}

static bool parse_inject(char *value, struct wishes *wishes)
{
    wishes->inject_set = true;
    wishes->inject = (struct inject_rule){.rate = 12, .delay = 200000, .peer = -1, .type = -1};
    if (strcmp(value, "off") == 0)
        return true;
    wishes->inject_on = true;
    while (value != NULL) {
        char *next = strchr(value, ',');
        char *colon;

        if (next != NULL)
            *next++ = '\0';
        colon = strchr(value, ':');
        if (colon == NULL)
            return false;
        *colon = '\0';
        if (!parse_inject_part(value, colon + 1, &wishes->inject))
            return false;
        value = next;
    }
    return true;
}

static bool parse_kernel(const char *value, struct wishes *wishes)
{
    uint64_t kernel = 0;

    if (!parse_number(value, instance.kernels - 1, &kernel))
        return false;
    wishes->kernel = (int32_t)kernel;
    return true;
}

static bool parse_option(const char *name, const char *value, struct wishes *wishes)
{
    for (const struct msg_option *option = options; option != NULL; option = option->next) {
        if (strcmp(option->name, name) != 0)
            continue;
        if (wishes->option_count == OPTIONS_MAX || !option->check(value))
            return false;
        wishes->options[wishes->option_count].option = option;
        wishes->options[wishes->option_count++].value = value;
        return true;
    }
    return false;
}

static bool parse_word(const char *name, char *value, struct wishes *wishes)
{
    if (strcmp(name, "kernel") == 0)
        return parse_kernel(value, wishes);
    if (strcmp(name, "poll") == 0)
        return parse_polls(value, wishes);
    if (strcmp(name, "trace") == 0)
        return parse_trace(value, wishes);
    if (strcmp(name, "inject") == 0)
        return parse_inject(value, wishes);
    return parse_option(name, value, wishes);
}

static int apply(const struct wishes *wishes)
{
    int error = 0;

    if (wishes->trace == TRACE_CLEAR)
        trace_clear();
    else if (wishes->trace != TRACE_SAME)
        error = trace_switch(wishes->trace == TRACE_ON);
    if (error != 0)
        return error; /* the only step that can fail comes first */
    if (wishes->polls_set)
        idle_set_polls(wishes->polls);
    if (wishes->inject_set)
        inject_set(wishes->inject_on ? &wishes->inject : NULL);
    for (uint32_t i = 0; i < wishes->option_count; i++)
        wishes->options[i].option->set(wishes->options[i].value);
    return 0;
}

int msg_control(const char *words)
{
    struct wishes wishes = {.kernel = -1, .trace = TRACE_SAME};
    char copy[WORDS_MAX];
    size_t length = strnlen(words, sizeof(copy));
    char *word = copy;

    if (length == sizeof(copy))
        return -EINVAL;
    memcpy(copy, words, length + 1);
    while (word != NULL) {
        char *next = strchr(word, ' ');
        char *value;

        if (next != NULL)
            *next++ = '\0';
        if (*word != '\0') {
            value = strchr(word, '=');
            if (value == NULL)
                return -EINVAL;
            *value++ = '\0';
            if (!parse_word(word, value, &wishes))
                return -EINVAL;
        }
        word = next;
    }
    return wishes.kernel < 0 || wishes.kernel == (int32_t)instance.kernel ? apply(&wishes) : 0;
}

void msg_option_add(struct msg_option *option)
{
    char value[VALUE_MAX];

    option->next = options;
    options = option;
    if (!option_find(instance.cmdline, option->name, value, sizeof(value)))
        return;
    if (option->check(value))
        option->set(value);
    else if (instance.kernel == 0)
        log_event("option msg: %s= makes no sense and is left out", option->name);
}

/* The lock that handlers run under is the one that changing an inject rule takes: so a task does it. */
void msg_control_init(void)
{
    static const char *const names[] = {"poll", "inject", "trace"};
    struct wishes wishes = {.kernel = -1, .trace = TRACE_SAME};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct wishes more = wishes;
        char value[VALUE_MAX];

        if (!option_find(instance.cmdline, names[i], value, sizeof(value)))
            continue;
        if (parse_word(names[i], value, &more))
            wishes = more;
        else if (instance.kernel == 0)
            log_event("option msg: %s= makes no sense and is left out", names[i]);
    }
    if (apply(&wishes) != 0) {
        log_line("msg: no memory for the trace");
        wishes.trace = TRACE_SAME;
        apply(&wishes);
    }
}
