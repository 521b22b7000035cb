/* The options of this kernel. See the header. */
#include "boot/options/control.h"

#include "boot/options/options.h"
#include "kernel/abi/errno.h"
#include "kernel/lib/log.h"
#include "kernel/lib/string.h"

#define VALUE_MAX 128u /* bytes of a value on the command line */
#define WISHES_MAX 16u /* changes in one text */
#define SHOWN_MAX 64   /* bytes of a word that are logged */

static const char *command_line = "";         /* [i] */
static uint32_t own_kernel, kernel_count = 1; /* [i] */
static struct option *options;                /* [i] */

struct wishes {
    int64_t kernel; /* the only kernel that the words apply to, or -1: all */
    uint32_t count;
    struct {
        const struct option *option;
        const char *value;
    } wish[WISHES_MAX];
};

static void log_invalid(const struct option_row *row, const char *value, size_t length)
{
    log_event("option invalid %s='%.*s'; using %s (%s)", row->name, length < SHOWN_MAX ? (int)length : SHOWN_MAX, value,
              row->fallback, row->values);
}

void option_start(const char *cmdline, uint32_t kernel, uint32_t kernels)
{
    struct option_wrong wrong;

    command_line = cmdline;
    own_kernel = kernel;
    kernel_count = kernels;
    options = NULL;
    if (kernel != 0)
        return;
    while (option_wrong(&cmdline, &wrong)) {
        if (wrong.row != NULL)
            log_invalid(wrong.row, wrong.text, wrong.length);
        else
            log_event("option unknown option '%.*s'", wrong.length < SHOWN_MAX ? (int)wrong.length : SHOWN_MAX,
                      wrong.text);
    }
}

static bool is_valid(const struct option *option, const char *value)
{
    return option_valid(option->name, value) && (option->check == NULL || option->check(value));
}

static int set(const struct option *option, const char *value)
{
    if (option->try_set != NULL)
        return option->try_set(value);
    option->set(value);
    return 0;
}

int option_add(struct option *option)
{
    const struct option_row *row = option_row(option->name);
    char value[VALUE_MAX];

    option->next = options;
    options = option;
    if (option_find(command_line, option->name, value, sizeof(value)) && option_valid(option->name, value)) {
        if (is_valid(option, value))
            return set(option, value);
        if (own_kernel == 0)
            log_invalid(row, value, strlen(value));
    }
    return set(option, row->fallback);
}

static bool parse_kernel(const char *value, struct wishes *wishes)
{
    uint64_t kernel;

    if (!option_parse_number(value, kernel_count - 1, &kernel))
        return false;
    wishes->kernel = (int64_t)kernel;
    return true;
}

static bool parse_word(const char *name, const char *value, struct wishes *wishes)
{
    const struct option *option = options;
    uint32_t i = 0;

    if (strcmp(name, "kernel") == 0)
        return parse_kernel(value, wishes);
    while (option != NULL && strcmp(option->name, name) != 0)
        option = option->next;
    if (option == NULL || !is_valid(option, value))
        return false;
    while (i < wishes->count && wishes->wish[i].option != option)
        i++;
    if (i == WISHES_MAX)
        return false;
    wishes->wish[i].option = option;
    wishes->wish[i].value = value;
    if (i == wishes->count)
        wishes->count++;
    return true;
}

static int apply(const struct wishes *wishes)
{
    for (uint32_t i = 0; i < wishes->count; i++) { /* options whose change can fail come first */
        const struct option *option = wishes->wish[i].option;
        int error = option->try_set != NULL ? option->try_set(wishes->wish[i].value) : 0;

        if (error != 0)
            return error;
    }
    for (uint32_t i = 0; i < wishes->count; i++) {
        if (wishes->wish[i].option->try_set == NULL)
            wishes->wish[i].option->set(wishes->wish[i].value);
    }
    return 0;
}

int option_control(const char *words)
{
    struct wishes wishes = {.kernel = -1};
    char copy[OPTION_WORDS_MAX];
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
    return wishes.kernel < 0 || wishes.kernel == own_kernel ? apply(&wishes) : 0;
}
