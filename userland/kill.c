/* kill: sends a signal to processes. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "userland/help.h"

static const char usage[] = "usage: kill [-SIGNAL | -s SIGNAL] PID...\n"
                            "       kill -l\n"
                            "\n"
                            "Sends SIGNAL, a name or a number, to processes: TERM unless another is named. A negative\n"
                            "PID is a process group and comes behind --. -l lists the names.\n";

#define NAME(name)                                                                                                     \
    {                                                                                                                  \
        SIG##name, #name                                                                                               \
    }

static const struct {
    int number;
    const char *name;
} names[] = {
    NAME(HUP),  NAME(INT),    NAME(QUIT), NAME(ILL),   NAME(TRAP), NAME(ABRT), NAME(BUS),  NAME(FPE),
    NAME(KILL), NAME(USR1),   NAME(SEGV), NAME(USR2),  NAME(PIPE), NAME(ALRM), NAME(TERM), NAME(STKFLT),
    NAME(CHLD), NAME(CONT),   NAME(STOP), NAME(TSTP),  NAME(TTIN), NAME(TTOU), NAME(URG),  NAME(XCPU),
    NAME(XFSZ), NAME(VTALRM), NAME(PROF), NAME(WINCH), NAME(IO),   NAME(PWR),  NAME(SYS),
};

static bool number_parse(const char *text, long *number)
{
    char *end;

    errno = 0;
    *number = strtol(text, &end, 10);
    return *text != '\0' && *end == '\0' && errno == 0 && *number >= INT_MIN && *number <= INT_MAX;
}

/* The number of TEXT, "TERM", "SIGTERM", "RTMIN+2" or "15"; -1 when it is none. */
static int signal_parse(const char *text)
{
    long number;

    if (number_parse(text, &number))
        return number >= 0 && number <= SIGRTMAX ? (int)number : -1;
    if (strncasecmp(text, "SIG", 3) == 0)
        text += 3;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcasecmp(text, names[i].name) == 0)
            return names[i].number;
    }
    if (strncasecmp(text, "RTMIN", 5) != 0)
        return -1;
    if (text[5] == '\0')
        return SIGRTMIN;
    return text[5] == '+' && number_parse(text + 6, &number) && number >= 0 && number <= SIGRTMAX - SIGRTMIN
               ? SIGRTMIN + (int)number
               : -1;
}

static int usage_error(const char *problem, const char *word)
{
    fprintf(stderr, "kill: %s: %s\nkill: try kill --help\n", problem, word);
    return 2;
}

int main(int argc, char **argv)
{
    int signal = SIGTERM;
    int first = 1;
    int status = 0;

    if (help_asked(argc, argv, usage))
        return 0;
    if (argc == 2 && strcmp(argv[1], "-l") == 0) {
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
            printf("%2d %s\n", names[i].number, names[i].name);
        printf("%d RTMIN\n%d RTMIN+%d\n", SIGRTMIN, SIGRTMAX, SIGRTMAX - SIGRTMIN);
        return 0;
    }
    if (argc > 1 && argv[1][0] == '-' && strcmp(argv[1], "--") != 0) {
        bool apart = strcmp(argv[1], "-s") == 0;
        const char *name = !apart ? argv[1] + 1 : argc > 2 ? argv[2] : "";

        signal = signal_parse(name);
        if (signal < 0)
            return usage_error("no such signal", name);
        first += apart ? 2 : 1;
    }
    if (argc > first && strcmp(argv[first], "--") == 0)
        first++;
    if (argc <= first)
        return usage_error("nobody is named", "PID");
    for (int i = first; i < argc; i++) {
        long pid;

        if (!number_parse(argv[i], &pid))
            return usage_error("not a process", argv[i]);
        if (kill((pid_t)pid, signal) != 0) {
            fprintf(stderr, "kill: %s: %s\n", argv[i], strerror(errno));
            status = 1;
        }
    }
    return status;
}
