/* msgbench: what messages between kernels cost.
 *
 * The first thread stays on the kernel where the program starts and is a sender in every case. msgbench_cases.c is the
 * table of cases, msgbench_run.c runs one, msgbench_flood.c is the other mode. Regions for counting instructions
 * (userland/bench/mark.h) lie around what is measured; a case's region is printed with it. */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libc/kettle.h"
#include "userland/bench/bench.h"
#include "userland/bench/msg/msgbench.h"
#include "userland/help.h"

#define STATUS_FAILED 1
#define FLOOD_MESSAGES 100000u
#define FLOOD_MESSAGES_MAX 10000000000u

static const char usage[] =
    "usage: msgbench [--cases LIST] [--count N] [--quick] [--no-times] [--seed N] [--json]\n"
    "       msgbench --list\n"
    "       msgbench flood [--messages N] [--seed N] [--json]\n"
    "\n"
    "Measures messages between kernels: p50 and p99 in us, or with --json one object a line for each case, with all\n"
    "samples in ns. Without --cases it runs every case that this machine has the kernels for.\n"
    "\n"
    "  --cases LIST  names or patterns, comma-separated: call,round_trip.48.*\n"
    "  --list        the names, with their regions for counting instructions\n"
    "  --count N     operations of each case, by each sender (default: as the case's size suggests)\n"
    "  --quick       a tenth of the default\n"
    "  --no-times    take no samples: for counting instructions, as reading the clock executes some\n"
    "  --seed N      make the content from N and let receivers check it (default 0: neither)\n"
    "\n"
    "flood sends at least N messages (default 100000) from every kernel to all others at once, with content made from\n"
    "the seed (default 1), and exits with 0 when all arrived unchanged and in order, with 1 when not.\n";

struct arguments {
    struct msgbench_options options;
    char *cases; /* NULL for all */
    bool list;
    bool json;
    bool flood;
    uint64_t messages;
};

/* Returns 0, or the exit status after saying what is wrong. */
static int arguments_parse(int argc, char **argv, struct arguments *out)
{
    uint64_t count = 0;
    bool no_times = false;
    const struct bench_option seed = {.name = "--seed", .number = &out->options.seed, .most = UINT64_MAX};
    const struct bench_option json = {.name = "--json", .flag = &out->json};
    const struct bench_option of_cases[] = {
        {.name = "--cases", .text = &out->cases},
        {.name = "--list", .flag = &out->list},
        {.name = "--count", .number = &count, .least = 1, .most = MSGBENCH_COUNT_MAX},
        {.name = "--quick", .flag = &out->options.quick},
        {.name = "--no-times", .flag = &no_times},
        seed,
        json,
        {.name = NULL},
    };
    const struct bench_option of_flood[] = {
        {.name = "--messages", .number = &out->messages, .least = 1, .most = FLOOD_MESSAGES_MAX},
        seed,
        json,
        {.name = NULL},
    };
    int status;

    *out = (struct arguments){.flood = argc > 1 && strcmp(argv[1], "flood") == 0, .messages = FLOOD_MESSAGES};
    out->options.seed = out->flood;
    status = bench_options_read("msgbench", out->flood ? of_flood : of_cases, argc - 1 - out->flood,
                                argv + 1 + out->flood);
    out->options.count = (uint32_t)count;
    out->options.times = !no_times;
    return status;
}

/* --- output --- */

static void json_print(const struct msgbench_case *bench, const struct msgbench_result *result)
{
    printf("{\"case\": \"%s\", \"operation\": \"%s\", \"bytes\": %" PRIu32
           ", \"peer\": \"%s\", \"where\": \"%s\", \"shape\": \"%s\", \"kernels\": %d, \"count\": %" PRIu64
           ", \"region\": %u, \"ns\": ",
           bench->name, msgbench_operation_name(bench), bench->bytes, msgbench_peer_name(bench->peer),
           msgbench_where_name(bench->where), msgbench_shape_name(bench->shape), result->kernels, result->count,
           bench->region);
    bench_samples_json(result->samples, result->sample_count);
    puts("}");
}

static void list_print(const struct msgbench_case *cases, size_t count, const struct msgbench_machine *machine)
{
    for (size_t i = 0; i < count; i++) {
        const char *refusal = msgbench_case_refusal(&cases[i], machine);

        if (refusal == NULL)
            printf("%3u %s\n", cases[i].region, cases[i].name);
        else
            printf("%3u %-32s%s\n", cases[i].region, cases[i].name, refusal);
    }
}

/* --- choice --- */

/* Marks in CHOSEN what the comma-separated PATTERNS name. A pattern must name a case that this machine can run. Returns
 * 0, or the exit status after saying what is wrong. */
static int cases_choose(const struct msgbench_case *cases, size_t count, const struct msgbench_machine *machine,
                        char *patterns, bool *chosen)
{
    for (char *pattern = strtok(patterns, ","); pattern != NULL; pattern = strtok(NULL, ",")) {
        const char *refusal = NULL;
        bool matched = false;
        bool possible = false;

        for (size_t i = 0; i < count; i++) {
            const char *problem = msgbench_case_refusal(&cases[i], machine);

            if (fnmatch(pattern, cases[i].name, 0) != 0)
                continue;
            matched = true;
            possible |= problem == NULL;
            chosen[i] |= problem == NULL;
            refusal = problem;
        }
        if (!matched)
            return bench_usage_error("msgbench", "no such case", pattern);
        if (!possible) {
            fprintf(stderr, "msgbench: %s: %s; this machine has %d\n", pattern, refusal, machine->count);
            return STATUS_FAILED;
        }
    }
    return 0;
}

/* Whether this kernel has the calls; says so when it has not. Asks with an address that no kernel takes. */
static bool calls_there(void)
{
    if (kettle_messages(NULL) == 0 || errno != ENOSYS)
        return true;
    fputs("msgbench: this kernel has no messages to measure: only the case call runs here\n", stderr);
    return false;
}

static int cases_run(const struct msgbench_case *cases, size_t count, const bool *chosen,
                     const struct msgbench_machine *machine, const struct arguments *arguments)
{
    bool asked = false;

    if (!arguments->json)
        printf("%-32s%9s%12s%12s%12s\n", "case", "kernels", "operations", "p50 us", "p99 us");
    for (size_t i = 0; i < count; i++) {
        struct msgbench_result result;

        if (!chosen[i])
            continue;
        if (cases[i].peer != PEER_NONE && !asked && !calls_there())
            return STATUS_FAILED;
        asked |= cases[i].peer != PEER_NONE;
        if (!msgbench_case_run(&cases[i], machine, &arguments->options, &result))
            return STATUS_FAILED;
        if (arguments->json) {
            json_print(&cases[i], &result);
        } else {
            printf("%-32s%9d%12" PRIu64, cases[i].name, result.kernels, result.count);
            bench_samples_row(result.samples, result.sample_count);
        }
        fflush(stdout);
    }
    return !asked || msgbench_control("poll=400") ? 0 : STATUS_FAILED;
}

int main(int argc, char **argv)
{
    static struct msgbench_case cases[MSGBENCH_CASES_MAX];
    static bool chosen[MSGBENCH_CASES_MAX];
    size_t count = msgbench_cases(cases);
    struct msgbench_machine machine;
    struct arguments arguments;
    int status;

    if (help_asked(argc, argv, usage) || (argc > 2 && help_asked(argc - 1, argv + 1, usage)))
        return 0;
    status = arguments_parse(argc, argv, &arguments);
    if (status != 0)
        return status;
    msgbench_machine_find(&machine);
    if (arguments.list) {
        list_print(cases, count, &machine);
        return 0;
    }
    if (arguments.flood)
        return calls_there() ? msgbench_flood(&machine, arguments.messages, arguments.options.seed, arguments.json)
                             : STATUS_FAILED;
    if (arguments.cases != NULL)
        status = cases_choose(cases, count, &machine, arguments.cases, chosen);
    for (size_t i = 0; i < count && arguments.cases == NULL; i++)
        chosen[i] = msgbench_case_refusal(&cases[i], &machine) == NULL;
    return status != 0 ? status : cases_run(cases, count, chosen, &machine, &arguments);
}
