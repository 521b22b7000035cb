/* taskbench: what its files share. userland/bench/tasks/taskbench.c is the program.
 *
 * Functions that return int return 0 or an errno. Before an errno they have told with bench_failed what failed;
 * ENOSYS means that this kernel has no such thing, and the row is then absent. */
#ifndef USERLAND_TASKBENCH_H
#define USERLAND_TASKBENCH_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "userland/bench/bench_measure.h"
#include "userland/bench/bench_place.h"
#include "userland/bench/bench_program.h"

struct taskbench_case {
    struct bench_row row;
    const char *operation;
    enum bench_where where;
    enum bench_how how;
    bool caller_goes; /* the program's first thread goes there before the case, and comes back after it */
    bool vectors;     /* the thread that moves has values in its vector registers */
    bool spanning;    /* the process has been everywhere */
    bool small_pages; /* memory in pages of 4 KiB, even where the kernel would give larger ones */
    int number;       /* of threads or of bytes, as the operation says */
    int (*run)(const struct taskbench_case *bench, uint32_t count);
};

extern char taskbench_self[BENCH_PATH_SIZE]; /* path of this program's file */

/* --- rows: taskbench_cases.c --- */

/* Fills CASES with every case there is, in the order in which they are to run, and returns how many there are. */
size_t taskbench_cases(struct taskbench_case cases[BENCH_ROWS_MAX]);

/* Why this machine cannot run the case, in words that fit behind a colon; NULL when it can, or when it will find that
 * the kernel lacks a call. */
const char *taskbench_case_refusal(const struct taskbench_case *bench);

/* --- other processes: taskbench_child.c --- */

/* Starts "taskbench child WORDS...". Returns the process, or -1 with what failed told and in *ERROR. */
pid_t taskbench_child_start(const char *const words[], int *error);

/* What a child does: main with "child" as its first argument. */
int taskbench_child_main(int argc, char **argv);

/* The places FIRST to LAST as a child takes them, into TEXT of SIZE bytes. */
void taskbench_places_print(int first, int last, char *text, size_t size);

/* Waits for CHILD; its wait status in *STATUS. */
int taskbench_wait(pid_t child, int *status);

#define TASKBENCH_CHILD_LATE 3 /* exit status: it was not ready by its deadline */

/* --- the operations; each is a function for struct taskbench_case --- */

int taskbench_run_empty(const struct taskbench_case *bench, uint32_t count);
int taskbench_run_call(const struct taskbench_case *bench, uint32_t count);
int taskbench_run_import(const struct taskbench_case *bench, uint32_t count);
int taskbench_run_move_first(const struct taskbench_case *bench, uint32_t count);
int taskbench_run_move_back(const struct taskbench_case *bench, uint32_t count);
int taskbench_run_ping_pong(const struct taskbench_case *bench, uint32_t count);
int taskbench_run_spawn_kettle(const struct taskbench_case *bench, uint32_t count);
int taskbench_run_spawn_posix(const struct taskbench_case *bench, uint32_t count);
int taskbench_run_fork(const struct taskbench_case *bench, uint32_t count);
int taskbench_run_vfork_exec(const struct taskbench_case *bench, uint32_t count);
int taskbench_run_clone_join(const struct taskbench_case *bench, uint32_t count);
int taskbench_run_clone_move_join(const struct taskbench_case *bench, uint32_t count);
int taskbench_run_pthread_join(const struct taskbench_case *bench, uint32_t count);
int taskbench_run_thread_exit(const struct taskbench_case *bench, uint32_t count);
int taskbench_run_visited_exit(const struct taskbench_case *bench, uint32_t count);
int taskbench_run_group_exit(const struct taskbench_case *bench, uint32_t count);
int taskbench_run_kill_wait(const struct taskbench_case *bench, uint32_t count);
int taskbench_run_signal_process(const struct taskbench_case *bench, uint32_t count);
/* The same after sigaction: the kernel of the caller does not remember the signal's action. */
int taskbench_run_signal_fresh(const struct taskbench_case *bench, uint32_t count);
int taskbench_run_wake_nobody(const struct taskbench_case *bench, uint32_t count);
int taskbench_run_set_robust(const struct taskbench_case *bench, uint32_t count);
int taskbench_run_open_close(const struct taskbench_case *bench, uint32_t count);
int taskbench_run_signal_self(const struct taskbench_case *bench, uint32_t count);
int taskbench_run_signal_reply(const struct taskbench_case *bench, uint32_t count);
int taskbench_run_mprotect(const struct taskbench_case *bench, uint32_t count);
int taskbench_run_cow_break(const struct taskbench_case *bench, uint32_t count);
int taskbench_run_touch_new(const struct taskbench_case *bench, uint32_t count);
int taskbench_run_touch_fetch(const struct taskbench_case *bench, uint32_t count);

/* 0 when this kernel has futexes. */
int taskbench_need_futex(void);

#endif
