/* ompbench: what OpenMP constructs cost with gcc's libgomp, on Kettle and on Linux: after the EPCC OpenMP
 * micro-benchmarks (J. M. Bull, 1999), with bodies that do nothing, so that what is measured is the overhead itself.
 *
 * The same program on both, a glibc one as users make them. Where its threads are is said by OMP_PROC_BIND and
 * OMP_PLACES, and whether they spin by OMP_WAIT_POLICY; tools/hosttools/suites/abi.py sets them. A sample is a lap of
 * some constructs, with the markers around it. */
#include <errno.h>
#include <omp.h>
#include <stdio.h>

#include "userland/bench/bench_measure.h"
#include "userland/bench/bench_place.h"
#include "userland/bench/bench_program.h"

#define LAP 32
#define COUNT 256
#define TEAMS 4

static const char usage[] = "usage: ompbench [--cases LIST] [--count N] [--quick] [--json]\n"
                            "       ompbench --list\n"
                            "\n"
                            "Measures OpenMP constructs: p50 and p99 in us, or with --json one object a line for each, "
                            "with all samples in ns.\n"
                            "\n"
                            "  --cases LIST  names or patterns, comma-separated: omp_parallel.*,omp_barrier.8\n"
                            "  --list        the names, with their regions for counting instructions\n"
                            "  --count N     constructs of each case (default: 256)\n"
                            "  --quick       a quarter of the default\n"
                            "  --json        one object a line\n";

static const int sizes[TEAMS] = {2, 4, 8, 16};

struct construct {
    const char *name;
    int (*lap)(int members); /* runs LAP of them; 0 or an errno after bench_failed */
};

static struct ompbench_case {
    struct bench_row row;
    const struct construct *construct;
    int members;
} cases[BENCH_ROWS_MAX];

static int together(int there, int members)
{
    return there == members ? 0 : bench_failed("a team of that size", EPROTO);
}

static int parallel(int members)
{
    int there = 0;

    for (int i = 0; i < LAP; i++) {
#pragma omp parallel num_threads(members)
        if (omp_get_thread_num() == 0)
            there = omp_get_num_threads();
    }
    return together(there, members);
}

static int reduction(int members)
{
    long sum = 0;

    for (int i = 0; i < LAP; i++) {
#pragma omp parallel num_threads(members) reduction(+ : sum)
        sum += omp_get_thread_num() + 1;
    }
    return sum == LAP * (long)members * (members + 1) / 2 ? 0 : bench_failed("a sum that is right", EPROTO);
}

static int barrier(int members)
{
    int there = 0;

#pragma omp parallel num_threads(members)
    {
        for (int i = 0; i < LAP; i++) {
#pragma omp barrier
        }
        if (omp_get_thread_num() == 0)
            there = omp_get_num_threads();
    }
    return together(there, members);
}

static const struct construct constructs[] = {
    {"omp_parallel", parallel},
    {"omp_reduction", reduction},
    {"omp_barrier", barrier},
};

static size_t cases_fill(void)
{
    size_t count = 0;

    for (size_t size = 0; size < TEAMS; size++) {
        for (size_t i = 0; i < sizeof(constructs) / sizeof(constructs[0]); i++) {
            struct ompbench_case *bench = &cases[count++];

            snprintf(bench->row.name, sizeof(bench->row.name), "%s.%d", constructs[i].name, sizes[size]);
            bench->row.region = (unsigned)count;
            bench->row.count = COUNT;
            bench->construct = &constructs[i];
            bench->members = sizes[size];
        }
    }
    return count;
}

static struct bench_row *case_row(size_t index)
{
    return &cases[index].row;
}

static const char *case_refusal(size_t index)
{
    /* not the places of this thread, which OMP_PROC_BIND has bound */
    return cases[index].members > omp_get_num_procs() ? "needs a CPU for each thread" : NULL;
}

/* The first lap makes the team and warms up. */
static int case_run(size_t index, uint32_t count)
{
    const struct ompbench_case *bench = &cases[index];
    int error = bench->construct->lap(bench->members);

    for (uint32_t done = 0; done < count && error == 0; done += LAP) {
        bench_clock_begin();
        bench_mark();
        error = bench->construct->lap(bench->members);
        bench_unmark();
        bench_clock_end(LAP);
    }
    return error;
}

static void case_print(size_t index)
{
    printf(", \"operation\": \"%s\", \"where\": \"%s\", \"members\": %d", cases[index].construct->name,
           bench_where_name(WHERE_ALL), cases[index].members);
}

int main(int argc, char **argv)
{
    static const struct bench_program program = {.name = "ompbench",
                                                 .usage = usage,
                                                 .fill = cases_fill,
                                                 .row = case_row,
                                                 .refusal = case_refusal,
                                                 .run = case_run,
                                                 .print = case_print};

    omp_set_dynamic(0);
    return bench_program_main(&program, argc, argv);
}
