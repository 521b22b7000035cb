/* taskbench: what its files share. userland/taskbench.c is the program.
 *
 * Functions that return int return 0 or an errno. Before an errno they have told with taskbench_failed what failed;
 * ENOSYS means that this kernel has no such thing, and the row is then absent. */
#ifndef USERLAND_TASKBENCH_H
#define USERLAND_TASKBENCH_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TASKBENCH_PLACES_MAX 64
#define TASKBENCH_CASES_MAX 160
#define TASKBENCH_NAME_SIZE 48
#define TASKBENCH_COUNT_MAX 10000
#define TASKBENCH_PAGE 4096
#define TASKBENCH_PATH_SIZE 256

/* How a thread moves to another place. */
enum taskbench_how {
    HOW_MIGRATE,  /* kettle_migrate: Kettle only */
    HOW_AFFINITY, /* sched_setaffinity */
    HOW_USUAL     /* the first on Kettle, the second elsewhere */
};

/* Where something happens, seen from where the program begins. */
enum taskbench_where { WHERE_LOCAL, WHERE_SAME, WHERE_OTHER, WHERE_ALL };

/* Where a thread can be: a kernel of Kettle, or a CPU. */
struct taskbench_place {
    int kernel;
    int cpu; /* -1: not known yet, see taskbench_cpus_find */
    int node;
    bool visited; /* a thread of this program has been there */
};

struct taskbench_machine {
    bool kettle;
    enum taskbench_how usual;
    int count;
    struct taskbench_place places[TASKBENCH_PLACES_MAX]; /* the first is where the program begins: home */
    int same;                                            /* a place on the node of the first, or -1 */
    int other;                                           /* one on another node, or -1 */
};

struct taskbench_case {
    char name[TASKBENCH_NAME_SIZE];
    unsigned region; /* of the markers (userland/mark.h): the same on every machine */
    const char *operation;
    enum taskbench_where where;
    enum taskbench_how how;
    bool caller_goes; /* the program's first thread goes there before the case, and comes back after it */
    bool vectors;     /* the thread that moves has values in its vector registers */
    bool spanning;    /* the process has been everywhere */
    bool small_pages; /* memory in pages of 4 KiB, even where the kernel would give larger ones */
    int number;       /* of threads or of bytes, as the operation says */
    uint32_t count;   /* operations, unless told otherwise */
    int (*run)(const struct taskbench_case *bench, uint32_t count);
};

extern struct taskbench_machine taskbench_machine;
extern char taskbench_self[TASKBENCH_PATH_SIZE]; /* path of this program's file */

/* --- rows: taskbench_cases.c --- */

/* Fills CASES with every case there is, in the order in which they are to run, and returns how many there are. */
size_t taskbench_cases(struct taskbench_case cases[TASKBENCH_CASES_MAX]);

/* Why this machine cannot run the case, in words that fit behind a colon; NULL when it can, or when it will find that
 * the kernel lacks a call. */
const char *taskbench_case_refusal(const struct taskbench_case *bench);

const char *taskbench_where_name(enum taskbench_where where);

/* --- places: taskbench_place.c --- */

void taskbench_machine_find(void);

/* The index of the place that WHERE means. */
int taskbench_place(enum taskbench_where where);

/* Moves the calling thread to a place. Uses no vector registers, no errno and nothing of the C library. Returns 0 or
 * an errno, and has not told taskbench_failed. */
int taskbench_move(enum taskbench_how how, int place);

/* Whether the calling thread is at a place. */
bool taskbench_is_at(enum taskbench_how how, int place);

/* As taskbench_move, but it is no error if the thread is elsewhere bound, and it tells. */
int taskbench_go(int place);

/* Brings the first thread home, and frees it of whatever CPU it was bound to on Kettle. */
int taskbench_go_home(void);

/* Visits every place and comes home, so that the process is known everywhere. */
int taskbench_visit_all(void);

/* Finds the CPUs of PLACE and of home, for HOW_AFFINITY. Visits them and ends at home. */
int taskbench_cpus_find(int place);
/* Between kernels: threads that the first thread makes from now on begin where it is, and not where the balancer places
 * them; until taskbench_go_home. */
int taskbench_bind_here(void);
/* Such a thread may go everywhere. */
int taskbench_unbind(void);

/* --- measuring: taskbench_measure.c --- */

/* Begins a case of region REGION with room for COUNT samples. */
bool taskbench_measure_prepare(unsigned region, uint32_t count);

/* Around one operation, in this order; begin and end may be passed by different threads. What is counted lies between
 * mark and unmark. At most COUNT times. */
void taskbench_clock_begin(void);
void taskbench_mark(void);
void taskbench_unmark(void);
void taskbench_clock_end(uint32_t operations);

/* The first two and the last two of these, for one operation. */
void taskbench_begin(void);
void taskbench_end(void);

/* For an operation that another process begins: the time of its begin, and that its mark is open. */
void taskbench_begun_elsewhere(uint64_t time);

/* Forgets an operation that failed, so that the region is closed. */
void taskbench_measure_abandon(void);

/* The samples of the case, one for each operation or each few of them, and the number of operations measured. */
uint64_t *taskbench_samples(size_t *count, uint64_t *operations);

/* Tells what failed and returns ERROR; what was told first stays until taskbench_failure_clear. */
int taskbench_failed(const char *what, int error);
const char *taskbench_failure(void);
void taskbench_failure_clear(void);

/* Sleeps for NS, with nothing of the C library. */
void taskbench_rest(long ns);

/* Sleeps until *VALUE is 0, looking now and then: hardly anything is executed meanwhile. */
void taskbench_rest_until_zero(atomic_int *value);

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
int taskbench_run_group_exit(const struct taskbench_case *bench, uint32_t count);
int taskbench_run_kill_wait(const struct taskbench_case *bench, uint32_t count);
int taskbench_run_signal_self(const struct taskbench_case *bench, uint32_t count);
int taskbench_run_signal_reply(const struct taskbench_case *bench, uint32_t count);
int taskbench_run_mprotect(const struct taskbench_case *bench, uint32_t count);
int taskbench_run_cow_break(const struct taskbench_case *bench, uint32_t count);
int taskbench_run_touch_new(const struct taskbench_case *bench, uint32_t count);
int taskbench_run_touch_fetch(const struct taskbench_case *bench, uint32_t count);

/* 0 when this kernel has futexes. */
int taskbench_need_futex(void);

#endif
