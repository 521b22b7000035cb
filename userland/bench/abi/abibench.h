/* abibench: what its files share. userland/bench/abi/abibench.c is the program.
 *
 * Functions that return int return 0 or an errno. Before an errno they have told with bench_failed what failed; ENOSYS
 * means that this kernel has no such thing, and the row is then absent. */
#ifndef USERLAND_ABIBENCH_H
#define USERLAND_ABIBENCH_H

#include <stddef.h>
#include <stdint.h>

#include "userland/bench/bench_measure.h"
#include "userland/bench/bench_place.h"
#include "userland/bench/bench_program.h"

#define ABIBENCH_MEMBERS_MAX 16

#define FUTEX_WAIT_PRIVATE 128
#define FUTEX_WAKE_PRIVATE 129

struct abibench_case {
    struct bench_row row;
    const char *operation;
    enum bench_where where; /* where the caller is, or of a pair the other one */
    int members;            /* of a team, each at a place of its own; 0: no team */
    bool leaves;            /* the first thread goes to WHERE; else it stays at home */
    int (*run)(const struct abibench_case *bench, uint32_t count);
};

extern char abibench_self[BENCH_PATH_SIZE]; /* path of this program's file */

/* --- rows: abibench_cases.c --- */

size_t abibench_cases(struct abibench_case cases[BENCH_ROWS_MAX]);
const char *abibench_case_refusal(const struct abibench_case *bench);

/* --- the operations; each is a function for struct abibench_case --- */

/* of one thread: abibench_call.c */
int abibench_run_empty(const struct abibench_case *bench, uint32_t count);
int abibench_run_null(const struct abibench_case *bench, uint32_t count);
int abibench_run_clock(const struct abibench_case *bench, uint32_t count);
int abibench_run_pipe(const struct abibench_case *bench, uint32_t count);
int abibench_run_read(const struct abibench_case *bench, uint32_t count);
int abibench_run_open_close(const struct abibench_case *bench, uint32_t count);
int abibench_run_stat(const struct abibench_case *bench, uint32_t count);
int abibench_run_fork_exec(const struct abibench_case *bench, uint32_t count);
int abibench_run_wake(const struct abibench_case *bench, uint32_t count);
int abibench_run_mutex(const struct abibench_case *bench, uint32_t count);

/* of two: abibench_pair.c */
int abibench_run_futex_pair(const struct abibench_case *bench, uint32_t count);
int abibench_run_pipe_pair(const struct abibench_case *bench, uint32_t count);

/* of a team: abibench_team.c */
int abibench_run_mutex_team(const struct abibench_case *bench, uint32_t count);
int abibench_run_barrier(const struct abibench_case *bench, uint32_t count);
int abibench_run_barrier_asleep(const struct abibench_case *bench, uint32_t count);

#endif
