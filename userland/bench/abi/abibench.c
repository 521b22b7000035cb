/* abibench: what system calls and the C library's threads cost, on Kettle and on Linux.
 *
 * The same program on both. A place is a kernel of Kettle or a CPU of Linux. A row NAME.local is of a process that is
 * nowhere but at home; NAME.same and NAME.other of one whose calling thread is elsewhere, or whose other thread is.
 *
 * abibench_cases.c is the table of rows, and the operations are in abibench_call.c, abibench_pair.c and
 * abibench_team.c. Regions for counting instructions (userland/bench/mark.h) lie around each operation, of teams around
 * all; reading the clock lies outside. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "userland/bench/abi/abibench.h"

static const char usage[] =
    "usage: abibench [--cases LIST] [--count N] [--quick] [--json]\n"
    "       abibench --list\n"
    "\n"
    "Measures system calls: p50 and p99 in us, or with --json one object a line for each, with all samples in ns.\n"
    "Without --cases it runs every case that this machine has the kernels or CPUs for. A case that needs a call which\n"
    "this kernel lacks is told as absent.\n"
    "\n"
    "  --cases LIST  names or patterns, comma-separated: pipe.*,barrier.8\n"
    "  --list        the names, with their regions for counting instructions\n"
    "  --count N     operations of each case (default: as the operation suggests)\n"
    "  --quick       a quarter of the default\n"
    "  --json        one object a line\n";

char abibench_self[BENCH_PATH_SIZE];

static struct abibench_case cases[BENCH_ROWS_MAX];
static const char *self;

static size_t cases_fill(void)
{
    bench_program_find(self, abibench_self);
    return abibench_cases(cases);
}

static struct bench_row *case_row(size_t index)
{
    return &cases[index].row;
}

static const char *case_refusal(size_t index)
{
    return abibench_case_refusal(&cases[index]);
}

static int case_run(size_t index, uint32_t count)
{
    int error = cases[index].run(&cases[index], count);
    int home;

    if (error != 0)
        bench_measure_abandon();
    home = bench_go_home();
    return error != 0 ? error : home;
}

static void case_print(size_t index)
{
    printf(", \"operation\": \"%s\", \"where\": \"%s\", \"members\": %d", cases[index].operation,
           bench_where_name(cases[index].where), cases[index].members);
}

int main(int argc, char **argv)
{
    static const struct bench_program program = {.name = "abibench",
                                                 .usage = usage,
                                                 .fill = cases_fill,
                                                 .row = case_row,
                                                 .refusal = case_refusal,
                                                 .run = case_run,
                                                 .print = case_print};

    self = argv[0];
    return bench_program_main(&program, argc, argv);
}
