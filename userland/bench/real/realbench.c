/* realbench: programs that people run, at work: Debian's own, built static and unmodified, which
 * tools/kettle bench workloads puts into the guest (tools/hosttools/suites/real.py).
 *
 *     realbench [--json] [--threads N] [--tools FOLDER] zstd|tcc
 *     realbench --list
 *
 * The program works in a folder of its own in $TMPDIR, or /tmp, on an input that is made there before. A case's region
 * for counting (userland/bench/mark.h) is its number in --list, from 1. Exit status: 0 it was right, 1 it was not, 2
 * for what cannot be asked. Needs nothing but the Linux ABI. */
#include "userland/bench/real/realbench.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userland/bench/bench.h"
#include "userland/bench/mark.h"

#define STATUS_WRONG 1
#define STATUS_USAGE 2
#define THREADS_MAX 64
#define FOLDER_MOST 512

static const char usage[] = "usage: realbench [--json] [--threads N] [--tools FOLDER] zstd|tcc\n"
                            "       realbench --list\n";

static const struct real_case *const cases[] = {&real_zstd, &real_tcc};
#define COUNT (sizeof(cases) / sizeof(*cases))

bool real_write(const char *path, const void *data, size_t size)
{
    FILE *file = fopen(path, "w");
    bool written = file != NULL && fwrite(data, 1, size, file) == size;

    if (file != NULL && fclose(file) != 0)
        written = false;
    if (!written)
        fprintf(stderr, "realbench: %s: %s\n", path, strerror(errno));
    return written;
}

pid_t real_start(char *const arguments[], const char *output)
{
    pid_t child = fork();

    if (child == 0) {
        int file = output == NULL ? STDOUT_FILENO : open(output, O_CREAT | O_TRUNC | O_WRONLY, 0644);

        if (file >= 0 && (output == NULL || dup2(file, STDOUT_FILENO) >= 0))
            execv(arguments[0], arguments);
        fprintf(stderr, "realbench: %s: %s\n", arguments[0], strerror(errno));
        _exit(127);
    }
    if (child < 0)
        fprintf(stderr, "realbench: no process: %s\n", strerror(errno));
    return child;
}

bool real_wait(pid_t child)
{
    int status;

    if (waitpid(child, &status, 0) < 0) {
        fprintf(stderr, "realbench: nothing to wait for: %s\n", strerror(errno));
        return false;
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fprintf(stderr, "realbench: a program ended with wait status 0x%x\n", (unsigned)status);
        return false;
    }
    return true;
}

bool real_run(char *const arguments[], const char *output)
{
    pid_t child = real_start(arguments, output);

    return child > 0 && real_wait(child);
}

uint64_t real_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static bool measure(size_t index, const struct real_plan *plan, bool json)
{
    const struct real_case *chosen = cases[index];
    unsigned region = 1 + (unsigned)index;
    uint64_t before;
    uint64_t ns;
    bool done;

    if (!chosen->setup(plan))
        return false;
    before = bench_now();
    mark_begin(region);
    done = chosen->run(plan);
    mark_end(region);
    ns = bench_now() - before;
    if (!done || !chosen->verify(plan)) {
        fprintf(stderr, "realbench: %s: the result is wrong\n", chosen->name);
        return false;
    }
    if (json) {
        printf("{\"case\": \"%s\", \"threads\": %d, \"region\": %u, \"count\": 1, \"absent\": \"\", \"ns\": [%" PRIu64
               "]}\n",
               chosen->name, plan->threads, region, ns);
    } else {
        printf("%-6s %2d threads %9.3f s right\n", chosen->name, plan->threads, (double)ns / 1e9);
    }
    return fflush(stdout) == 0;
}

static bool folder_enter(void)
{
    const char *above = getenv("TMPDIR");
    char folder[FOLDER_MOST];

    snprintf(folder, sizeof(folder), "%s/realbench-XXXXXX", above != NULL ? above : "/tmp");
    if (mkdtemp(folder) != NULL && chdir(folder) == 0)
        return true;
    fprintf(stderr, "realbench: %s: %s\n", folder, strerror(errno));
    return false;
}

static int usage_fail(void)
{
    fputs(usage, stderr);
    return STATUS_USAGE;
}

int main(int argc, char **argv)
{
    static const struct option known[] = {
        {"json", no_argument, NULL, 'j'},        {"threads", required_argument, NULL, 't'},
        {"tools", required_argument, NULL, 'f'}, {"list", no_argument, NULL, 'L'},
        {"help", no_argument, NULL, 'h'},        {NULL, 0, NULL, 0}};
    struct real_plan plan = {.tools = "/src", .threads = 1};
    bool json = false;
    int option;

    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (option) {
        case 'j':
            json = true;
            break;
        case 't':
            plan.threads = atoi(optarg);
            break;
        case 'f':
            plan.tools = optarg;
            break;
        case 'L':
            for (size_t i = 0; i < COUNT; i++)
                printf("%-6s %s\n", cases[i]->name, cases[i]->what);
            return 0;
        case 'h':
            fputs(usage, stdout);
            return 0;
        default:
            return usage_fail();
        }
    }
    if (plan.threads < 1 || plan.threads > THREADS_MAX || argc - optind != 1)
        return usage_fail();
    for (size_t i = 0; i < COUNT; i++) {
        if (strcmp(cases[i]->name, argv[optind]) == 0)
            return folder_enter() && measure(i, &plan, json) ? 0 : STATUS_WRONG;
    }
    return usage_fail();
}
