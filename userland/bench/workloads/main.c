/* workload: the programs of the thesis's evaluation, and others like them, on Kettle and on Linux. One static file
 * holds all; each program that is asked for runs in a process of its own, which executes the file anew, so that none
 * finds memory or threads of another.
 *
 * A program's regions for counting (tools/plugin) are four from `region` on: the timed part, its phases, the start of
 * its team, and what one member does alone. Exit status: 0 all ran and were right, 1 some were not, 2 for what cannot
 * be asked. */
#include <errno.h>
#include <fnmatch.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userland/bench/workloads/mempolicy.h"
#include "userland/bench/workloads/placement.h"
#include "userland/bench/workloads/team.h"
#include "userland/bench/workloads/workload.h"

#define REGIONS 4        /* of a program */
#define ARGUMENTS_MAX 32 /* more than there are options to be said */
#define TIMES_MAX 1000
#define STATUS_WRONG 1
#define STATUS_USAGE 2

static const char usage[] =
    "usage: workload [--class S|W|A|B] [--threads N] [--layer openmp|pthreads] [--bind] [--pomp]\n"
    "                [--mempolicy " MEMPOLICY_NAMES "] [--warm N] [--repeat N] [--json] [PROGRAM...]\n"
    "       workload --list\n"
    "\n"
    "Runs programs (names or patterns; all without one), each in a process of its own: time, operations per second, "
    "and\n"
    "whether the result is right.\n"
    "\n"
    "  --class C    size (default S)\n"
    "  --threads N  members of the team, 1 to 64 (default 1)\n"
    "  --layer L    who makes the threads (default openmp)\n"
    "  --bind       thread i to the i-th CPU\n"
    "  --pomp       as the thesis's programs: all threads begin at the first CPU, and move to their own and back\n"
    "  --mempolicy P  where pages are to be: as the system has it, at the thread that touches them first, over all\n"
    "               nodes in turn, on the first node\n"
    "  --warm N     times each program runs in class S before, without a line about it: an emulator has then "
    "translated\n"
    "               what it executes (default 0)\n"
    "  --repeat N   times each program runs (default 1)\n"
    "  --json       one object a line\n"
    "  --list       the programs\n";

static const struct workload *const workloads[] = {&workload_is,     &workload_ft,    &workload_cg,     &workload_bfs,
                                                   &workload_lud,    &workload_mg,    &workload_ep,     &workload_lu,
                                                   &workload_bt,     &workload_sp,    &workload_stream, &workload_chase,
                                                   &workload_random, &workload_touch, &workload_reader};
#define COUNT (sizeof(workloads) / sizeof(*workloads))

static struct {
    char size;
    struct team_plan team;
    const char *mempolicy;
    int warm;
    int repeat;
    bool json;
} options = {.size = 'S', .team = {.layer = TEAM_OPENMP, .members = 1}, .mempolicy = "default", .repeat = 1};

void *workload_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED) {
        fprintf(stderr, "workload: no memory for %zu bytes: %s\n", bytes, strerror(errno));
        exit(STATUS_WRONG);
    }
    placement_made(memory, bytes);
    return memory;
}

bool workload_near(const char *what, double value, double right, double tolerance)
{
    bool is_near = fabs(value - right) <= tolerance * fabs(right); /* false for no number, too */

    if (!is_near)
        fprintf(stderr, "workload: %s is %.13e, not %.13e\n", what, value, right);
    return is_near;
}

int workload_class(char size)
{
    const char *found = size == '\0' ? NULL : strchr("SWAB", size);

    return found == NULL ? -1 : (int)(found - "SWAB");
}

static void print_json(const struct workload *workload, const struct team_result *result, bool right)
{
    double operations = workload->operations();

    printf("{\"case\": \"%s.%c\", \"program\": \"%s\", \"class\": \"%c\", \"threads\": %d, \"layer\": \"%s\", "
           "\"region\": %u, \"count\": 1, \"absent\": \"\", \"ns\": [%" PRIu64 "], \"operations\": %.0f, "
           "\"unit\": \"%s\", \"moves\": %ld, \"right\": %s",
           workload->name, options.size, workload->name, options.size, options.team.members,
           options.team.layer == TEAM_OPENMP ? "openmp" : "pthreads", options.team.region, result->ns, operations,
           workload->unit, result->moves, right ? "true" : "false");
    if (result->messages_known) {
        printf(", \"messages\": ");
        message_counts_json(&result->messages);
    }
    printf("}\n");
}

static void print_line(const struct workload *workload, const struct team_result *result, bool right)
{
    double seconds = (double)result->ns / 1e9;

    printf("%-7s class %c %2d threads %9.3f s %10.2f M %s/s %s\n", workload->name, options.size, options.team.members,
           seconds, seconds > 0.0 ? workload->operations() / seconds / 1e6 : 0.0, workload->unit,
           right ? "right" : "WRONG");
}

/* In a process of its own: its exit status. */
static int workload_run(const struct workload *workload)
{
    struct team_result result;
    bool right;

    if (!mempolicy_set(options.mempolicy))
        return STATUS_WRONG;
    if (!workload->setup(options.size)) {
        fprintf(stderr, "workload: %s cannot be set up for class %c\n", workload->name, options.size);
        return STATUS_WRONG;
    }
    if (!team_run(&options.team, workload->run, &result))
        return STATUS_WRONG;
    right = workload->verify();
    (options.json ? print_json : print_line)(workload, &result, right);
    if (!right)
        fprintf(stderr, "workload: %s: the result is wrong\n", workload->name);
    return right && fflush(stdout) == 0 ? 0 : STATUS_WRONG;
}

/* In the child: this program again, with the same options, for one workload alone; WARM: of class S, and it says
 * nothing unless it fails. A child that only forks would share its memory with its parent, page by page, and copy what
 * it writes. */
static void workload_exec(const struct workload *workload, char **arguments, int count, bool warm)
{
    char *own[ARGUMENTS_MAX + 8];
    int i = 0;

    for (; i < count && i < ARGUMENTS_MAX; i++)
        own[i] = arguments[i];
    own[i++] = "--repeat";
    own[i++] = "1";
    own[i++] = "--warm";
    own[i++] = "0";
    if (warm) {
        own[i++] = "--class";
        own[i++] = "S";
        if (freopen("/dev/null", "w", stdout) == NULL) {
            fprintf(stderr, "workload: /dev/null: %s\n", strerror(errno));
            _exit(STATUS_WRONG);
        }
    }
    own[i++] = (char *)workload->name;
    own[i] = NULL;
    if (team_cpus_restore()) /* where libgomp may have bound this process, its own would look for CPUs */
        execv("/proc/self/exe", own);
    fprintf(stderr, "workload: cannot execute this program again: %s\n", strerror(errno));
    _exit(STATUS_WRONG);
}

static bool workload_fork(const struct workload *workload, char **arguments, int count, bool warm)
{
    int status;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0)
        workload_exec(workload, arguments, count, warm);
    if (child < 0 || waitpid(child, &status, 0) != child) {
        fprintf(stderr, "workload: %s: no process: %s\n", workload->name, strerror(errno));
        return false;
    }
    if (WIFSIGNALED(status))
        fprintf(stderr, "workload: %s: killed by signal %d\n", workload->name, WTERMSIG(status));
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* A whole number of TEXT from LEAST to MOST; else the program ends. */
static int number_read(const char *option, const char *text, int least, int most)
{
    char *end;
    long value = strtol(text, &end, 10);

    if (end == text || *end != '\0' || value < least || value > most) {
        fprintf(stderr, "workload: %s must be %d to %d, not '%s'\n", option, least, most, text);
        exit(STATUS_USAGE);
    }
    return (int)value;
}

static void usage_fail(const char *what, const char *text)
{
    fprintf(stderr, "workload: %s '%s'\n%s", what, text, usage);
    exit(STATUS_USAGE);
}

static void list_print(void)
{
    for (size_t i = 0; i < COUNT; i++)
        printf("%-8s %s\n", workloads[i]->name, workloads[i]->what);
    exit(0);
}

static void options_read(int argc, char **argv)
{
    static const struct option known[] = {{"class", required_argument, NULL, 'c'},
                                          {"threads", required_argument, NULL, 't'},
                                          {"layer", required_argument, NULL, 'l'},
                                          {"bind", no_argument, NULL, 'b'},
                                          {"pomp", no_argument, NULL, 'p'},
                                          {"warm", required_argument, NULL, 'w'},
                                          {"repeat", required_argument, NULL, 'r'},
                                          {"json", no_argument, NULL, 'j'},
                                          {"list", no_argument, NULL, 'L'},
                                          {"help", no_argument, NULL, 'h'},
                                          {"mempolicy", required_argument, NULL, 'm'},
                                          {NULL, 0, NULL, 0}};
    int option;

    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        switch (option) {
        case 'c':
            if (strlen(optarg) != 1 || workload_class(optarg[0]) < 0)
                usage_fail("no class", optarg);
            options.size = optarg[0];
            break;
        case 't':
            options.team.members = number_read("--threads", optarg, 1, TEAM_MAX);
            break;
        case 'l':
            if (strcmp(optarg, "openmp") != 0 && strcmp(optarg, "pthreads") != 0)
                usage_fail("no layer", optarg);
            options.team.layer = strcmp(optarg, "openmp") == 0 ? TEAM_OPENMP : TEAM_PTHREADS;
            break;
        case 'm':
            if (!mempolicy_known(optarg))
                usage_fail("no policy", optarg);
            options.mempolicy = optarg;
            break;
        case 'b':
            options.team.bind = true;
            break;
        case 'p':
            options.team.pomp = true;
            break;
        case 'w':
            options.warm = number_read("--warm", optarg, 0, TIMES_MAX);
            break;
        case 'r':
            options.repeat = number_read("--repeat", optarg, 1, TIMES_MAX);
            break;
        case 'j':
            options.json = true;
            break;
        case 'L':
            list_print();
            break;
        case 'h':
            fputs(usage, stdout);
            exit(0);
        default:
            fputs(usage, stderr);
            exit(STATUS_USAGE);
        }
    }
}

static bool chosen(const struct workload *workload, char **patterns)
{
    if (*patterns == NULL)
        return true;
    for (; *patterns != NULL; patterns++) {
        if (fnmatch(*patterns, workload->name, 0) == 0)
            return true;
    }
    return false;
}

static void patterns_check(char **patterns)
{
    for (; *patterns != NULL; patterns++) {
        char *alone[] = {*patterns, NULL};
        size_t i = 0;

        while (i < COUNT && !chosen(workloads[i], alone))
            i++;
        if (i == COUNT)
            usage_fail("no program", *patterns);
    }
}

static unsigned region_of(size_t index)
{
    return 1 + (unsigned)index * REGIONS;
}

int main(int argc, char **argv)
{
    bool all_right = true;
    size_t last = 0;
    int times = 0;

    options_read(argc, argv); /* options come first in argv now */
    patterns_check(argv + optind);
    for (size_t i = 0; i < COUNT; i++) {
        if (chosen(workloads[i], argv + optind)) {
            times += options.repeat;
            last = i;
        }
    }
    if (times == 1 && options.warm == 0) {
        options.team.region = region_of(last);
        return workload_run(workloads[last]);
    }
    for (size_t i = 0; i < COUNT; i++) {
        for (int time = -options.warm; time < options.repeat && chosen(workloads[i], argv + optind); time++)
            all_right = workload_fork(workloads[i], argv, optind, time < 0) && all_right;
    }
    return all_right ? 0 : STATUS_WRONG;
}
