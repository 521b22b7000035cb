/* The boot command line. See the header. */
#include "boot/options/options.h"

#include "kernel/lib/string.h"

static const char *const known[] = {
#define OPTION(name) #name,
#include "boot/options/options.def"
#undef OPTION
};

static bool is_known(const char *word, size_t length)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strlen(known[i]) == length && memcmp(known[i], word, length) == 0)
            return true;
    }
    return false;
}

/* The value of the last word NAME=... and its LENGTH, or NULL. */
static const char *find(const char *cmdline, const char *name, size_t *length)
{
    size_t name_length = strlen(name);
    const char *value = NULL;

    while (*cmdline != '\0') {
        size_t word = 0;

        while (*cmdline == ' ')
            cmdline++;
        while (cmdline[word] != '\0' && cmdline[word] != ' ')
            word++;
        if (word > name_length && cmdline[name_length] == '=' && memcmp(cmdline, name, name_length) == 0) {
            value = cmdline + name_length + 1;
            *length = word - name_length - 1;
        }
        cmdline += word;
    }
    return value;
}

bool option_find(const char *cmdline, const char *name, char *value, size_t size)
{
    size_t length = 0;
    const char *found = find(cmdline, name, &length);

    value[0] = '\0';
    if (found == NULL || length >= size)
        return false;
    memcpy(value, found, length);
    value[length] = '\0';
    return true;
}

static bool parse(const char *digits, size_t length, uint64_t *number)
{
    *number = 0;
    for (size_t i = 0; i < length; i++) {
        if (digits[i] < '0' || digits[i] > '9' || *number > (1ull << 63) / 10)
            return false;
        *number = *number * 10 + (uint64_t)(digits[i] - '0');
    }
    return length > 0 && *number <= 1ull << 63;
}

uint64_t option_number(const char *cmdline, const char *name, uint64_t fallback)
{
    size_t length = 0;
    const char *digits = find(cmdline, name, &length);
    uint64_t number;

    return digits != NULL && parse(digits, length, &number) ? number : fallback;
}

bool option_is_number(const char *cmdline, const char *name)
{
    size_t length = 0;
    const char *digits = find(cmdline, name, &length);
    uint64_t number;

    return digits == NULL || parse(digits, length, &number);
}

bool option_unknown(const char **cmdline, char *name, size_t size)
{
    while (**cmdline != '\0') {
        const char *word = *cmdline;
        size_t length = 0;

        while (word[length] != '\0' && word[length] != ' ' && word[length] != '=')
            length++;
        *cmdline = word + length;
        while (**cmdline != '\0' && **cmdline != ' ')
            ++*cmdline;
        while (**cmdline == ' ')
            ++*cmdline;
        if (*word == ' ' || (word[length] == '=' && is_known(word, length)))
            continue;
        if (length >= size)
            length = size - 1;
        memcpy(name, word, length);
        name[length] = '\0';
        return true;
    }
    return false;
}

bool option_parse_number(const char *text, uint64_t most, uint64_t *value)
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
