/* silencebench: for how long a kernel answers nobody while a program does something large.
 *
 * Each case runs in a child process. The child prepares, the longest silences of all kernels are forgotten
 * (kettle_control("silence=clear")), the child does what is measured, and /proc/kettle/silence says how long the
 * longest stretch of kernel code was in which a CPU did not look for messages, or a handler ran. Nothing else runs
 * meanwhile; so with --icount 0 and --tcg single the numbers are instructions, and repeat. */
#include "userland/bench/msg/silencebench.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libc/kettle.h"
#include "userland/proc_file.h"

#define STATUS_USAGE 2

static const char usage[] =
    "usage: silencebench [--cases NAME,NAME...] [--limit N] [--list]\n"
    "\n"
    "Prints for each case one JSON object: the longest silence of a kernel, in counts of the time stamp counter, and\n"
    "where it ended.\n"
    "\n"
    "  --limit N  exit status 1 if one is longer\n";

/* They run in this order. The last two tables have the cases that stop a kernel, or let one die. */
static const struct silence_case *const tables[] = {
    silence_of_file,   silence_of_memory, silence_of_process, silence_of_socket,
    silence_of_thread, silence_of_event,  silence_of_machine, silence_of_fence,
};
#define TABLES (sizeof(tables) / sizeof(tables[0]))

char silence_go_on[32];

/* The longest of the report's lines "kernel K ... silence N counts ..."; LINE is where it stands. */
static uint64_t longest(char **text, const char **line)
{
    uint64_t most = 0;

    *text = proc_file_read("/proc/kettle/silence");
    if (*text == NULL)
        silence_fail("/proc/kettle/silence");
    for (char *at = strtok(*text, "\n"); at != NULL; at = strtok(NULL, "\n")) {
        const char *number = strstr(at, "silence ");
        uint64_t counts = number != NULL ? strtoull(number + 8, NULL, 10) : 0;

        if (counts >= most) {
            most = counts;
            *line = at;
        }
    }
    return most;
}

static void tell_and_wait(int ready, int go)
{
    char byte = 0;

    if (write(ready, &byte, 1) != 1 || read(go, &byte, 1) != 1)
        silence_fail("pipe");
}

static _Noreturn void child_run(const struct silence_case *c, const int ready[2], const int go[2])
{
    c->prepare();
    snprintf(silence_go_on, sizeof(silence_go_on), "%d,%d", ready[1], go[0]);
    tell_and_wait(ready[1], go[0]);
    if (c->run != NULL) {
        c->run();
        tell_and_wait(ready[1], go[0]);
    }
    _exit(0);
}

/* False: the case failed. */
static bool measure(const struct silence_case *c, uint64_t *most)
{
    int ready[2], go[2], status;
    const char *line = "";
    char byte = 0, *text;
    pid_t child;

    if (pipe(ready) != 0 || pipe(go) != 0)
        silence_fail("pipe");
    child = fork();
    if (child < 0)
        silence_fail("fork");
    if (child == 0)
        child_run(c, ready, go);
    close(ready[1]);
    if (read(ready[0], &byte, 1) == 1 && kettle_control("silence=clear") == 0 && write(go[1], &byte, 1) == 1 &&
        c->run != NULL && read(ready[0], &byte, 1) == 1) {
        *most = longest(&text, &line);
        if (write(go[1], &byte, 1) != 1)
            silence_fail("pipe");
    }
    if (waitpid(child, &status, 0) != child || status != 0)
        return false;
    if (c->run == NULL)
        *most = longest(&text, &line);
    printf("{\"case\": \"%s\", \"region\": 0, \"count\": 1, \"what\": \"%s\", \"silence\": %" PRIu64
           ", \"where\": \"%s\"}\n",
           c->name, c->what, *most, line);
    fflush(stdout);
    free(text);
    close(ready[0]);
    close(go[0]);
    close(go[1]);
    return true;
}

static bool chosen(const char *list, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = list; at != NULL && (at = strstr(at, name)) != NULL; at += length) {
        if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return list == NULL;
}

static bool is_possible(const struct silence_case *c)
{
    int here = kettle_kernel();

    if (c->need == ANY_KERNEL)
        return true;
    if (kettle_kernels() < 2)
        return false;
    return c->need != OTHER_NODE || kettle_node(here) != kettle_node((here + 1) % kettle_kernels());
}

/* False: a case has failed, or its silence is longer than LIMIT. */
static bool run_case(const struct silence_case *c, uint64_t limit)
{
    uint64_t most = 0;

    if (measure(c, &most) && most <= limit)
        return true;
    printf("silencebench: %s: %s\n", c->name, most > limit ? "too long" : "failed");
    return false;
}

int main(int argc, char **argv)
{
    const char *list = NULL;
    uint64_t limit = UINT64_MAX;
    int status = 0;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--cases") == 0 && i + 1 < argc)
            list = argv[++i];
        else if (strcmp(argv[i], "--limit") == 0 && i + 1 < argc)
            limit = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--json") == 0 || strcmp(argv[i], "--quick") == 0)
            continue; /* as other benchmarks have them: there is no other output, and nothing to shorten */
        else if (strcmp(argv[i], "--go-on") == 0 && i + 1 < argc) {
            int ready, go;

            if (sscanf(argv[++i], "%d,%d", &ready, &go) != 2)
                return STATUS_USAGE;
            tell_and_wait(ready, go);
            return 0;
        } else if (strcmp(argv[i], "--end") == 0) {
            return 0; /* the program of a case that starts one */
        } else if (strcmp(argv[i], "--list") == 0) {
            for (size_t k = 0; k < TABLES; k++) {
                for (const struct silence_case *c = tables[k]; c->name != NULL; c++)
                    puts(c->name);
            }
            return 0;
        } else {
            fputs(usage, strcmp(argv[i], "--help") == 0 ? stdout : stderr);
            return strcmp(argv[i], "--help") == 0 ? 0 : STATUS_USAGE;
        }
    }
    for (size_t i = 0; i < TABLES; i++) {
        for (const struct silence_case *c = tables[i]; c->name != NULL; c++) {
            if (chosen(list, c->name) && is_possible(c) && !run_case(c, limit))
                status = STATUS_FAILED;
        }
    }
    return status;
}
