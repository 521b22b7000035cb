/* vmbench: what address spaces cost: faults, changes of mappings, locks; on Kettle and on Linux.
 *
 * The same program on both. A place is a kernel of Kettle or a CPU of Linux. vmbench_cases.c is the table of rows;
 * operations of one thread are in vmbench_fault.c and vmbench_range.c, those of several at once run as a team
 * (vmbench_team.c). Each row runs in a process of its own, made where the program began and bound there: a process that
 * has been on many kernels stays known there, and would charge the next row for them.
 *
 * Pages are of 4 KiB on both. Regions for counting instructions (userland/bench/mark.h) lie around each operation of
 * one thread, and around all operations of a team. */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userland/bench/vm/vmbench.h"

static const char usage[] =
    "usage: vmbench [--cases LIST] [--count N] [--quick] [--no-times] [--json]\n"
    "       vmbench --list\n"
    "\n"
    "Measures operations on address spaces: p50 and p99 in us, or with --json one object a line for each, with all\n"
    "samples in ns and, between kernels, the messages that were sent. Without --cases it runs every case that this\n"
    "machine has the kernels or CPUs for. A case that needs a call which this kernel lacks is told as absent.\n"
    "\n"
    "  --cases LIST  names or patterns, comma-separated: fault_*,touch.1.*\n"
    "  --list        the names, with their regions for counting instructions\n"
    "  --count N     operations of each case, of each member of a team (default: as the operation suggests)\n"
    "  --quick       a quarter of the default\n"
    "  --no-times    teams operate once, to be counted, and are not timed\n"
    "  --json        one object a line\n";

static struct vmbench_case cases[BENCH_ROWS_MAX];
static atomic_int *outcome; /* the errno of the process that runs a row; -1: it has not ended by itself */

/* What the measuring itself costs. */
int vmbench_run_empty(const struct vmbench_case *bench, uint32_t count)
{
    int error = vmbench_messages_begin();

    (void)bench;
    for (uint32_t i = 0; i < count && error == 0; i++) {
        bench_begin();
        bench_end();
    }
    return error != 0 ? error : vmbench_messages_end();
}

static size_t rows_fill(void)
{
    /* Linux would give pages of 2 MiB where it can; elsewhere there is nothing to forbid. */
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    return vmbench_cases(cases);
}

static struct bench_row *case_row(size_t index)
{
    return &cases[index].row;
}

static const char *case_refusal(size_t index)
{
    return vmbench_case_refusal(&cases[index]);
}

static int case_run(size_t index, uint32_t count)
{
    const struct vmbench_case *bench = &cases[index];
    int status = 0;
    pid_t child;
    int error = bench_bind_here();

    if (error != 0)
        return error;
    vmbench_messages_clear();
    atomic_store(outcome, -1);
    child = fork();
    if (child == 0) {
        atomic_store(outcome, bench->run(bench, count));
        _exit(0);
    }
    if (child < 0)
        return bench_failed("fork", errno);
    while (waitpid(child, &status, 0) != child) {
        if (errno != EINTR)
            return bench_failed("waitpid", errno);
    }
    error = atomic_load(outcome);
    return error >= 0 ? error : bench_failed("the process of this case has died", ECHILD);
}

static void case_print(size_t index)
{
    const struct vmbench_case *bench = &cases[index];

    printf(", \"operation\": \"%s\", \"shape\": \"%s\", \"where\": \"%s\", \"members\": %d, \"pages\": %u, "
           "\"messages\": ",
           bench->operation, vmbench_shape_name(bench->shape), bench_where_name(bench->where), bench->members,
           bench->pages);
    vmbench_messages_json();
}

static bool share(void)
{
    void *memory = mmap(NULL, sizeof(*outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return false;
    outcome = memory;
    return bench_measure_share() && vmbench_messages_share() && vmbench_team_share();
}

int main(int argc, char **argv)
{
    static const struct bench_program program = {.name = "vmbench",
                                                 .usage = usage,
                                                 .fill = rows_fill,
                                                 .row = case_row,
                                                 .refusal = case_refusal,
                                                 .run = case_run,
                                                 .print = case_print,
                                                 .no_times = &vmbench_no_times};

    if (!share()) {
        fprintf(stderr, "vmbench: no memory to share with its processes: %s\n", strerror(errno));
        return 1;
    }
    return bench_program_main(&program, argc, argv);
}
