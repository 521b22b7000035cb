/* taskbench: what tasks cost: moving, beginning, ending, being signalled; on Kettle and on Linux.
 *
 * The same program on both. A place is a kernel of Kettle or a CPU of Linux; a thread moves with kettle_migrate or with
 * sched_setaffinity, each a row of its own. A row whose call the kernel lacks is told as absent and has no figures.
 *
 * taskbench_cases.c is the table of rows, and the operations are in bench_move.c, taskbench_process.c,
 * taskbench_thread.c, taskbench_signal.c and taskbench_memory.c. Regions for counting instructions
 * (userland/bench/mark.h) lie around each operation and hold nothing else; reading the clock lies outside. */
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "userland/bench/tasks/taskbench.h"

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

/* --- operations of no kind --- */

/* What the measuring itself costs. */
int taskbench_run_empty(const struct taskbench_case *bench, uint32_t count)
{
    (void)bench;
    for (uint32_t i = 0; i < count; i++) {
        bench_begin();
        bench_end();
    }
    return 0;
}

/* A system call that does nothing. */
int taskbench_run_call(const struct taskbench_case *bench, uint32_t count)
{
    (void)bench;
    for (uint32_t i = 0; i < count; i++) {
        bench_begin();
        syscall(SYS_getpid);
        bench_end();
    }
    return 0;
}

/* --- cases --- */

static struct taskbench_case cases[BENCH_ROWS_MAX];
static const char *self;

static size_t cases_fill(void)
{
    bench_program_find(self, taskbench_self);
    return taskbench_cases(cases);
}

static struct bench_row *case_row(size_t index)
{
    return &cases[index].row;
}

static const char *case_refusal(size_t index)
{
    return taskbench_case_refusal(&cases[index]);
}

static int case_run(size_t index, uint32_t count)
{
    const struct taskbench_case *bench = &cases[index];
    int error = 0;
    int home;

    if (bench->caller_goes)
        error = bench_go(bench_place_of(bench->where));
    if (error == 0)
        error = bench->run(bench, count);
    if (error != 0)
        bench_measure_abandon();
    home = bench_go_home();
    return error != 0 ? error : home;
}

static void case_print(size_t index)
{
    printf(", \"operation\": \"%s\", \"where\": \"%s\"", cases[index].operation, bench_where_name(cases[index].where));
}

int main(int argc, char **argv)
{
    static const struct bench_program program = {.name = "taskbench",
                                                 .usage = usage,
                                                 .fill = cases_fill,
                                                 .row = case_row,
                                                 .refusal = case_refusal,
                                                 .run = case_run,
                                                 .print = case_print};

    if (argc > 1 && strcmp(argv[1], "child") == 0)
        return taskbench_child_main(argc, argv);
    self = argv[0];
    return bench_program_main(&program, argc, argv);
}
