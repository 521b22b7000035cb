/* The boot command line. See the header. */
#include "boot/options.h"

#include "kernel/lib/string.h"

bool option_find(const char *cmdline, const char *name, char *value, size_t size)
{
    size_t name_length = strlen(name);
    bool found = false;

    value[0] = '\0';
    while (*cmdline != '\0') {
        size_t length = 0;

        while (*cmdline == ' ')
            cmdline++;
        while (cmdline[length] != '\0' && cmdline[length] != ' ')
            length++;
        if (length > name_length && cmdline[name_length] == '=' && memcmp(cmdline, name, name_length) == 0) {
            size_t rest = length - name_length - 1;

            found = rest < size;
            if (!found)
                rest = 0;
            memcpy(value, cmdline + name_length + 1, rest);
            value[rest] = '\0';
        }
        cmdline += length;
    }
    return found;
}

uint64_t option_number(const char *cmdline, const char *name, uint64_t fallback)
{
    char text[24];
    uint64_t number = 0;

    if (!option_find(cmdline, name, text, sizeof(text)) || text[0] == '\0')
        return fallback;
    for (const char *digit = text; *digit != '\0'; digit++) {
        if (*digit < '0' || *digit > '9' || number > (1ull << 63) / 10)
            return fallback;
        number = number * 10 + (uint64_t)(*digit - '0');
    }
    return number <= 1ull << 63 ? number : fallback;
}
