/* seenrun: runs a program while the kernels look for accesses, in one region from before the first look to after the
 * last, and then prints what the kernels have noted of it. tools/kettle numa accuracy compares that with the exact
 * trace of the same run. */
#include <errno.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "libc/kettle.h"
#include "userland/bench/mark.h"
#include "userland/help.h"

#define REGION 254
#define STATUS_FAILED 1
#define STATUS_USAGE 2

extern char **environ;

static const char usage[] =
    "usage: seenrun [--notes] none|accessed|faults PERIOD PROGRAM [ARGS]\n"
    "\n"
    "Runs PROGRAM with numa=first-touch and numasee=accessed or faults, or with numa=none, and\n"
    "numaperiod=PERIOD (ms), in region 254.\n"
    "\n"
    "  --notes  then prints the process's id, and what kernels have noted of pages and tables\n";

static bool control(const char *name, const char *value)
{
    char word[64];

    snprintf(word, sizeof(word), "%s=%s", name, value);
    if (kettle_control(word) == 0)
        return true;
    fprintf(stderr, "seenrun: %s: %s\n", word, strerror(errno));
    return false;
}

static bool begin(const char *way, const char *period, bool notes)
{
    bool looks = strcmp(way, "none") != 0;

    mark_begin(REGION);
    return (!notes || control("trace", "on")) && (!looks || control("numasee", way)) && control("numaperiod", period) &&
           (!looks || control("numa", "first-touch"));
}

static bool end(bool notes)
{
    bool good = control("numa", "none") && (!notes || control("trace", "off"));

    mark_end(REGION);
    return good;
}

/* The lines of all kernels' traces that are about accesses. */
static bool print_notes(pid_t pid)
{
    FILE *file = fopen("/proc/kettle/trace", "r");
    char line[256];

    if (file == NULL) {
        fprintf(stderr, "seenrun: /proc/kettle/trace: %s\n", strerror(errno));
        return false;
    }
    printf("@process %d\n", pid);
    while (fgets(line, sizeof(line), file) != NULL) {
        if (strstr(line, " noted uses a page ") != NULL || strstr(line, " noted looks at a table ") != NULL)
            printf("@%s", line);
    }
    fclose(file);
    return true;
}

int main(int argc, char **argv)
{
    bool notes = argc > 1 && strcmp(argv[1], "--notes") == 0;
    char **words = argv + 1 + notes;
    int status = 0, error;
    pid_t pid;

    if (help_asked(argc, argv, usage))
        return 0;
    if (argc < 4 + notes) {
        fputs(usage, stderr);
        return STATUS_USAGE;
    }
    if (!begin(words[0], words[1], notes))
        return STATUS_FAILED;
    error = posix_spawnp(&pid, words[2], NULL, NULL, words + 2, environ);
    if (error == 0 && waitpid(pid, &status, 0) != pid)
        error = errno;
    if (!end(notes) || error != 0) {
        fprintf(stderr, "seenrun: %s: %s\n", words[2], strerror(error));
        return STATUS_FAILED;
    }
    if (notes && !print_notes(pid))
        return STATUS_FAILED;
    return WIFEXITED(status) ? WEXITSTATUS(status) : STATUS_FAILED;
}
