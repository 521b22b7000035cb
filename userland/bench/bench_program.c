/* The frame of a benchmark program. userland/bench/bench_program.h is the contract. */
#include "userland/bench/bench_program.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "userland/bench/bench.h"
#include "userland/bench/bench_measure.h"
#include "userland/bench/bench_place.h"
#include "userland/help.h"

#define STATUS_FAILED 1
#define STATUS_USAGE 2
#define QUICK_PART 4
#define COUNT_LEAST 4

struct arguments {
    char *cases; /* NULL for all */
    uint32_t count;
    bool list;
    bool quick;
    bool json;
};

static const struct bench_program *program;

static int usage_error(const char *problem, const char *word)
{
    fprintf(stderr, "%s: %s%s%s (try %s --help)\n", program->name, problem, word[0] == '\0' ? "" : ": ", word,
            program->name);
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
        } else if (strcmp(option, "--no-times") == 0 && program->no_times != NULL) {
            *program->no_times = true;
        } else if (strcmp(option, "--cases") == 0) {
            if (value == NULL || value[0] == '\0')
                return usage_error("--cases needs a list", "");
            out->cases = value;
            at++;
        } else if (strcmp(option, "--count") == 0) {
            if (!bench_number_parse(value, 1, BENCH_COUNT_MAX, &number))
                return usage_error("--count needs a number from 1 to 10000", value == NULL ? "" : value);
            out->count = (uint32_t)number;
            at++;
        } else {
            return usage_error("what is this?", option);
        }
    }
    return 0;
}

/* The comma-separated PATTERNS mark in CHOSEN what they name; each must name a case that this machine can run. Returns
 * 0, or the exit status after saying what is wrong. */
static int rows_choose(size_t count, char *patterns, bool *chosen)
{
    for (char *pattern = strtok(patterns, ","); pattern != NULL; pattern = strtok(NULL, ",")) {
        const char *refusal = "no such case";
        bool possible = false;

        for (size_t i = 0; i < count; i++) {
            if (fnmatch(pattern, program->row(i)->name, 0) != 0)
                continue;
            refusal = program->refusal(i);
            possible |= refusal == NULL;
            chosen[i] |= refusal == NULL;
        }
        if (!possible) {
            if (strcmp(refusal, "no such case") == 0)
                return usage_error(refusal, pattern);
            fprintf(stderr, "%s: %s: %s; this machine has %d\n", program->name, pattern, refusal, bench_machine.count);
            return STATUS_FAILED;
        }
    }
    return 0;
}

/* Runs one row; returns 0 or an errno, with what failed told. */
static int row_run(size_t index, const struct arguments *arguments)
{
    const struct bench_row *row = program->row(index);
    uint32_t count = arguments->count != 0 ? arguments->count : row->count;
    int error;

    if (arguments->count == 0 && arguments->quick)
        count = count / QUICK_PART < COUNT_LEAST ? COUNT_LEAST : count / QUICK_PART;
    bench_failure_clear();
    if (!bench_measure_prepare(row->region, count))
        return bench_failed("so many samples", EINVAL);
    error = program->run(index, count);
    if (error != 0)
        bench_measure_abandon();
    return error;
}

static void row_print(size_t index, bool absent, bool json)
{
    const struct bench_row *row = program->row(index);
    uint64_t operations;
    size_t count;
    uint64_t *samples = bench_samples(&count, &operations);

    if (!json) {
        printf("%-36s%10" PRIu64, row->name, operations);
        if (absent)
            printf("  absent: %s\n", bench_failure());
        else
            bench_samples_row(samples, count);
        return;
    }
    printf("{\"case\": \"%s\"", row->name);
    program->print(index);
    printf(", \"places\": %d, \"count\": %" PRIu64 ", \"region\": %u, \"absent\": \"%s\", \"ns\": ",
           bench_machine.count, operations, row->region, absent ? bench_failure() : "");
    bench_samples_json(samples, count);
    puts("}");
}

/* A row that fails is said and has no figures; what it may leave behind sleeps. The others are run. */
static int rows_run(size_t count, const bool *chosen, const struct arguments *arguments)
{
    int status = 0;

    if (!arguments->json)
        printf("%-36s%10s%12s%12s\n", "case", "operations", "p50 us", "p99 us");
    fflush(stdout);
    for (size_t i = 0; i < count; i++) {
        int error;

        if (!chosen[i])
            continue;
        error = row_run(i, arguments);
        if (error != 0 && error != ENOSYS) {
            fprintf(stderr, "%s: %s: %s: %s\n", program->name, program->row(i)->name, bench_failure(), strerror(error));
            status = STATUS_FAILED;
            continue;
        }
        row_print(i, error == ENOSYS, arguments->json);
        fflush(stdout);
    }
    return status;
}

static void rows_list(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct bench_row *row = program->row(i);
        const char *refusal = program->refusal(i);

        printf("%3u %-36s%s\n", row->region, row->name, refusal == NULL ? "" : refusal);
    }
}

void bench_program_find(const char *name, char path[BENCH_PATH_SIZE])
{
    static const char *const directories[] = {"/run/", "/bin/"};
    const char *slash = strrchr(name, '/');
    const char *base = slash == NULL ? name : slash + 1;

    for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]) + 1; i++) {
        const char *directory = i == 0 ? "" : directories[i - 1];

        if (i == 0 && slash == NULL)
            continue;
        snprintf(path, BENCH_PATH_SIZE, "%s%s", directory, i == 0 ? name : base);
        if (access(path, X_OK) == 0)
            return;
    }
}

int bench_program_main(const struct bench_program *which, int argc, char **argv)
{
    static bool chosen[BENCH_ROWS_MAX];
    struct arguments arguments;
    size_t count;
    int status;

    program = which;
    if (help_asked(argc, argv, program->usage))
        return 0;
    status = arguments_parse(argc, argv, &arguments);
    if (status != 0)
        return status;
    bench_machine_find();
    count = program->fill();
    if (arguments.list) {
        rows_list(count);
        return 0;
    }
    if (arguments.cases != NULL)
        status = rows_choose(count, arguments.cases, chosen);
    for (size_t i = 0; i < count && arguments.cases == NULL; i++)
        chosen[i] = program->refusal(i) == NULL;
    return status != 0 ? status : rows_run(count, chosen, &arguments);
}
