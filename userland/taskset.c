/* taskset: shows or sets the CPUs a thread may run on, and so moves it; or runs a program on some. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userland/help.h"

#define STATUS_CANNOT_START 126
#define STATUS_NOT_FOUND 127

static const char usage[] =
    "usage: taskset MASK PROGRAM [ARGS...]\n"
    "       taskset -p [MASK] PID\n"
    "\n"
    "Runs PROGRAM on the CPUs of MASK, a hexadecimal number with bit i for CPU i; or shows the\n"
    "mask of process or thread PID, or sets it, which moves the thread if it has to.\n";

static int usage_error(const char *problem, const char *word)
{
    fprintf(stderr, "taskset: %s: %s\ntaskset: try taskset --help\n", problem, word);
    return 2;
}

/* Reads "f", "0x80", "100000000000000000": any number of hexadecimal digits. */
static bool mask_parse(const char *text, cpu_set_t *set)
{
    static const char digits[] = "0123456789abcdef";
    size_t length;

    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        text += 2;
    length = strlen(text);
    if (length == 0 || length * 4 > CPU_SETSIZE)
        return false;
    CPU_ZERO(set);
    for (size_t i = 0; i < length; i++) {
        char letter = text[length - 1 - i];
        const char *digit = strchr(digits, letter >= 'A' && letter <= 'F' ? letter - 'A' + 'a' : letter);

        if (digit == NULL)
            return false;
        for (size_t bit = 0; bit < 4; bit++) {
            if (((size_t)(digit - digits) >> bit & 1) != 0)
                CPU_SET(i * 4 + bit, set);
        }
    }
    return CPU_COUNT(set) > 0;
}

static void mask_print(const cpu_set_t *set)
{
    bool leading = true;

    for (size_t digit = CPU_SETSIZE / 4; digit-- > 0;) {
        unsigned value = 0;

        for (size_t bit = 0; bit < 4; bit++)
            value |= (CPU_ISSET(digit * 4 + bit, set) ? 1u : 0u) << bit;
        leading = leading && value == 0 && digit > 0;
        if (!leading)
            printf("%x", value);
    }
    putchar('\n');
}

static int process_mask(int argc, char **argv)
{
    const char *who = argv[argc - 1];
    char *end;
    long pid = strtol(who, &end, 10);
    cpu_set_t set;

    if (*end != '\0' || end == who || pid < 0 || pid > 0x7fffffff)
        return usage_error("not a process", who);
    if (argc == 4) {
        if (!mask_parse(argv[2], &set))
            return usage_error("not a mask", argv[2]);
        if (sched_setaffinity((pid_t)pid, sizeof(set), &set) == 0)
            return 0;
    } else {
        CPU_ZERO(&set);
        if (sched_getaffinity((pid_t)pid, sizeof(set), &set) == 0) {
            mask_print(&set);
            return 0;
        }
    }
    fprintf(stderr, "taskset: %s: %s\n", who, strerror(errno));
    return 1;
}

/* A name without a slash is looked up in /bin and then in /run, as the console does, and then by PATH. */
static void program_become(char **argv)
{
    static const char *const directories[] = {"/bin", "/run"};
    char path[4096];

    if (strchr(argv[0], '/') == NULL) {
        for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
            if (snprintf(path, sizeof(path), "%s/%s", directories[i], argv[0]) >= (int)sizeof(path))
                continue;
            execv(path, argv);
            if (errno != ENOENT)
                return;
        }
    }
    execvp(argv[0], argv);
}

int main(int argc, char **argv)
{
    cpu_set_t set;

    if (help_asked(argc, argv, usage))
        return 0;
    if (argc > 1 && strcmp(argv[1], "-p") == 0)
        return argc == 3 || argc == 4 ? process_mask(argc, argv) : usage_error("who is meant?", "-p");
    if (argc < 3)
        return usage_error("what is to be run?", "PROGRAM");
    if (!mask_parse(argv[1], &set))
        return usage_error("not a mask", argv[1]);
    if (sched_setaffinity(0, sizeof(set), &set) != 0) {
        fprintf(stderr, "taskset: %s: %s\n", argv[1], strerror(errno));
        return 1;
    }
    program_become(argv + 2);
    fprintf(stderr, "taskset: cannot run %s: %s\n", argv[2], strerror(errno));
    return errno == ENOENT ? STATUS_NOT_FOUND : STATUS_CANNOT_START;
}
