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
#define QUICK_PART 4
#define COUNT_LEAST 4

struct arguments {
    char *cases; /* NULL for all */
    uint64_t count;
    bool list;
    bool quick;
    bool json;
};

static const struct bench_program *program;

/* Returns 0, or the exit status after saying what is wrong. */
static int arguments_parse(int argc, char **argv, struct arguments *out)
{
    const struct bench_option options[] = {
        {.name = "--json", .flag = &out->json},
        {.name = "--list", .flag = &out->list},
        {.name = "--quick", .flag = &out->quick},
        {.name = "--cases", .text = &out->cases},
        {.name = "--count", .number = &out->count, .least = 1, .most = BENCH_COUNT_MAX},
        {.name = program->no_times != NULL ? "--no-times" : NULL, .flag = program->no_times},
        {.name = NULL},
    };

    *out = (struct arguments){.cases = NULL};
    return bench_options_read(program->name, options, argc - 1, argv + 1);
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
                return bench_usage_error(program->name, refusal, pattern);
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
    uint32_t count = arguments->count != 0 ? (uint32_t)arguments->count : row->count;
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
