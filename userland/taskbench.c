/* taskbench: what tasks cost: moving, beginning, ending, being signalled; on Kettle and on Linux.
 *
 * The same program on both. A place is a kernel of Kettle or a CPU of Linux; a thread moves with kettle_migrate or with
 * sched_setaffinity, each a row of its own. A row whose call the kernel lacks is told as absent and has no figures.
 *
 * taskbench_cases.c is the table of rows, and the operations are in taskbench_move.c, taskbench_process.c,
 * taskbench_thread.c, taskbench_signal.c and taskbench_memory.c. Regions for counting instructions (userland/mark.h)
 * lie around each operation and hold nothing else; reading the clock lies outside. */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "userland/bench.h"
#include "userland/help.h"
#include "userland/taskbench.h"

#define STATUS_FAILED 1
#define STATUS_USAGE 2
#define QUICK_PART 4
#define COUNT_LEAST 4

static const char usage[] =
    "usage: taskbench [--cases LIST] [--count N] [--quick] [--json]\n"
    "       taskbench --list\n"
    "\n"
    "Measures operations on tasks: p50 and p99 in us, or with --json one object a line for each, with all samples in\n"
    "ns. Without --cases it runs every case that this machine has the kernels or CPUs for. A case that needs a call\n"
    "which this kernel lacks is told as absent.\n"
    "\n"
    "  --cases LIST  names or patterns, comma-separated: move_back.*,fork_*\n"
    "  --list        the names, with their regions for counting instructions\n"
    "  --count N     operations of each case (default: as the operation suggests)\n"
    "  --quick       a quarter of the default\n"
    "  --json        one object a line\n";

struct arguments {
    char *cases; /* NULL for all */
    uint32_t count;
    bool list;
    bool quick;
    bool json;
};

static int usage_error(const char *problem, const char *word)
{
    fprintf(stderr, "taskbench: %s%s%s (try taskbench --help)\n", problem, word[0] == '\0' ? "" : ": ", word);
    return STATUS_USAGE;
}

/* Returns 0, or the exit status after saying what is wrong. */
static int arguments_parse(int argc, char **argv, struct arguments *out)
{
    *out = (struct arguments){.cases = NULL};
    for (int at = 1; at < argc; at++) {
        const char *option = argv[at];
        char *value = at + 1 < argc ? argv[at + 1] : NULL;
        uint64_t number;

        if (strcmp(option, "--json") == 0) {
            out->json = true;
        } else if (strcmp(option, "--list") == 0) {
            out->list = true;
        } else if (strcmp(option, "--quick") == 0) {
            out->quick = true;
        } else if (strcmp(option, "--cases") == 0) {
            if (value == NULL || value[0] == '\0')
                return usage_error("--cases needs a list", "");
            out->cases = value;
            at++;
        } else if (strcmp(option, "--count") == 0) {
            if (!bench_number_parse(value, 1, TASKBENCH_COUNT_MAX, &number))
                return usage_error("--count needs a number from 1 to 10000", value == NULL ? "" : value);
            out->count = (uint32_t)number;
            at++;
        } else {
            return usage_error("what is this?", option);
        }
    }
    return 0;
}

/* Where this program's file is, from which its children are started: NAME, which may be how it is called on the machine
 * outside, or a file of that name where programs are in the machine. */
static void self_find(const char *name)
{
    static const char *const folders[] = {"/run/", "/bin/"};
    const char *slash = strrchr(name, '/');
    const char *base = slash == NULL ? name : slash + 1;

    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]) + 1; i++) {
        const char *folder = i == 0 ? "" : folders[i - 1];

        if (i == 0 && slash == NULL)
            continue;
        snprintf(taskbench_self, sizeof(taskbench_self), "%s%s", folder, i == 0 ? name : base);
        if (access(taskbench_self, X_OK) == 0)
            return;
    }
}

/* --- operations of no kind --- */

/* What the measuring itself costs. */
int taskbench_run_empty(const struct taskbench_case *bench, uint32_t count)
{
    (void)bench;
    for (uint32_t i = 0; i < count; i++) {
        taskbench_begin();
        taskbench_end();
    }
    return 0;
}

/* A system call that does nothing. */
int taskbench_run_call(const struct taskbench_case *bench, uint32_t count)
{
    (void)bench;
    for (uint32_t i = 0; i < count; i++) {
        taskbench_begin();
        syscall(SYS_getpid);
        taskbench_end();
    }
    return 0;
}

/* --- cases --- */

/* The comma-separated PATTERNS mark in CHOSEN what they name; each must name a case that this machine can run. Returns
 * 0, or the exit status after saying what is wrong. */
static int cases_choose(const struct taskbench_case *cases, size_t count, char *patterns, bool *chosen)
{
    for (char *pattern = strtok(patterns, ","); pattern != NULL; pattern = strtok(NULL, ",")) {
        const char *refusal = "no such case";
        bool possible = false;

        for (size_t i = 0; i < count; i++) {
            if (fnmatch(pattern, cases[i].name, 0) != 0)
                continue;
            refusal = taskbench_case_refusal(&cases[i]);
            possible |= refusal == NULL;
            chosen[i] |= refusal == NULL;
        }
        if (!possible) {
            if (strcmp(refusal, "no such case") == 0)
                return usage_error(refusal, pattern);
            fprintf(stderr, "taskbench: %s: %s; this machine has %d\n", pattern, refusal, taskbench_machine.count);
            return STATUS_FAILED;
        }
    }
    return 0;
}

/* Runs one case; returns 0 or an errno, with what failed told. */
static int case_run(const struct taskbench_case *bench, const struct arguments *arguments)
{
    uint32_t count = arguments->count != 0 ? arguments->count : bench->count;
    int error = 0;
    int home;

    if (arguments->count == 0 && arguments->quick)
        count = count / QUICK_PART < COUNT_LEAST ? COUNT_LEAST : count / QUICK_PART;
    taskbench_failure_clear();
    if (!taskbench_measure_prepare(bench->region, count))
        return taskbench_failed("so many samples", EINVAL);
    if (bench->caller_goes)
        error = taskbench_go(taskbench_place(bench->where));
    if (error == 0)
        error = bench->run(bench, count);
    if (error != 0)
        taskbench_measure_abandon();
    home = taskbench_go_home();
    return error != 0 ? error : home;
}

static void case_print(const struct taskbench_case *bench, bool absent, bool json)
{
    uint64_t operations;
    size_t count;
    uint64_t *samples = taskbench_samples(&count, &operations);

    if (!json) {
        printf("%-36s%10" PRIu64, bench->name, operations);
        if (absent)
            printf("  absent: %s\n", taskbench_failure());
        else
            bench_samples_row(samples, count);
        return;
    }
    printf("{\"case\": \"%s\", \"operation\": \"%s\", \"where\": \"%s\", \"places\": %d, \"count\": %" PRIu64
           ", \"region\": %u, \"absent\": \"%s\", \"ns\": ",
           bench->name, bench->operation, taskbench_where_name(bench->where), taskbench_machine.count, operations,
           bench->region, absent ? taskbench_failure() : "");
    bench_samples_json(samples, count);
    puts("}");
}

/* A case that fails is said and has no row; what it may leave behind sleeps. The others are run. */
static int cases_run(const struct taskbench_case *cases, size_t count, const bool *chosen,
                     const struct arguments *arguments)
{
    int status = 0;

    if (!arguments->json)
        printf("%-36s%10s%12s%12s\n", "case", "operations", "p50 us", "p99 us");
    fflush(stdout);
    for (size_t i = 0; i < count; i++) {
        int error;

        if (!chosen[i])
            continue;
        error = case_run(&cases[i], arguments);
        if (error != 0 && error != ENOSYS) {
            fprintf(stderr, "taskbench: %s: %s: %s\n", cases[i].name, taskbench_failure(), strerror(error));
            status = STATUS_FAILED;
            continue;
        }
        case_print(&cases[i], error == ENOSYS, arguments->json);
        fflush(stdout);
    }
    return status;
}

int main(int argc, char **argv)
{
    static struct taskbench_case cases[TASKBENCH_CASES_MAX];
    static bool chosen[TASKBENCH_CASES_MAX];
    struct arguments arguments;
    size_t count;
    int status;

    if (help_asked(argc, argv, usage))
        return 0;
    if (argc > 1 && strcmp(argv[1], "child") == 0)
        return taskbench_child_main(argc, argv);
    status = arguments_parse(argc, argv, &arguments);
    if (status != 0)
        return status;
    self_find(argv[0]);
    taskbench_machine_find();
    count = taskbench_cases(cases);
    if (arguments.list) {
        for (size_t i = 0; i < count; i++) {
            const char *refusal = taskbench_case_refusal(&cases[i]);

            printf("%3u %-36s%s\n", cases[i].region, cases[i].name, refusal == NULL ? "" : refusal);
        }
        return 0;
    }
    if (arguments.cases != NULL)
        status = cases_choose(cases, count, arguments.cases, chosen);
    for (size_t i = 0; i < count && arguments.cases == NULL; i++)
        chosen[i] = taskbench_case_refusal(&cases[i]) == NULL;
    return status != 0 ? status : cases_run(cases, count, chosen, &arguments);
}
