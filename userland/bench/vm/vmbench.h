/* vmbench: what its files share. userland/bench/vm/vmbench.c is the program.
 *
 * Functions that return int return 0 or an errno. Before an errno they have told with bench_failed what failed; ENOSYS
 * means that this kernel has no such thing, and the row is then absent. */
#ifndef USERLAND_VMBENCH_H
#define USERLAND_VMBENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "userland/bench/bench_measure.h"
#include "userland/bench/bench_place.h"
#include "userland/bench/bench_program.h"
#include "userland/thread.h"

#define VMBENCH_MEMBERS_MAX 16
#define VMBENCH_TEAM_COUNT_MAX 256 /* operations of one member */

/* Who operates. */
enum vmbench_shape {
    SHAPE_ONE,       /* one thread, alone in its process */
    SHAPE_THREADS,   /* a process with a thread at each place, each in a range of its own */
    SHAPE_PROCESSES, /* a process of one thread at each place */
    SHAPE_SHARED,    /* a process with a thread at each place: one changes a range that all have touched */
    SHAPE_APART,     /* the same, but only that one has touched it */
    SHAPE_TOGETHER   /* the same, but all do the same to the same page at once */
};

struct vmbench_case {
    struct bench_row row;
    const char *operation;
    enum vmbench_shape shape;
    enum bench_where where; /* of SHAPE_ONE: where the thread is; WHERE_ALL: elsewhere, after visiting all */
    int members;            /* threads or processes, each at a place of its own */
    uint32_t pages;         /* of a range */
    int (*run)(const struct vmbench_case *bench, uint32_t count);
};

/* --- rows: vmbench_cases.c --- */

size_t vmbench_cases(struct vmbench_case cases[BENCH_ROWS_MAX]);
const char *vmbench_case_refusal(const struct vmbench_case *bench);
const char *vmbench_shape_name(enum vmbench_shape shape);

/* --- messages between kernels: vmbench_messages.c --- */

/* Makes the counts, which all processes of the program share. False with errno set. */
bool vmbench_messages_share(void);
void vmbench_messages_clear(void);

/* Around all operations of a case, outside of what is measured, by one thread: the one that measures, where it does. On
 * one kernel nothing is read. */
int vmbench_messages_begin(void);
int vmbench_messages_end(void);

/* Prints what was sent in between as a JSON object, or null if nothing was read. */
void vmbench_messages_json(void);

/* --- teams: vmbench_team.c --- */

/* A thread or process of a team. The first one leads. */
struct vmbench_member {
    struct thread thread;
    int index;
    int meetings;
    uint32_t pages;
    char *range; /* what it operates on, if that stays the same */
};

/* What a team does. Members have no C library but the clock, and use system calls of userland/x86.h. An
 * errno ends the member's operations; it still has to come to all meetings of the round. */
struct vmbench_work {
    /* At its place, once; NULL: nothing. All members are in it at the same time. */
    int (*prepare)(struct vmbench_member *member);
    /* One operation. ROUND counts from 0 and goes on over all passes: see vmbench_team_rounds. */
    int (*operate)(struct vmbench_member *member, uint32_t round);
    bool leads; /* a round is one operation, of the leader; else each member's is one */
};

/* Makes what the members of teams share. False with errno set. */
bool vmbench_team_share(void);

/* Runs WORK at BENCH's places: first to warm up, then timed unless vmbench_no_times, then counted and with no look at
 * the clock. What is counted begins when all are ready and ends when the last is done; who is done, or waits at a
 * meeting, spins in user mode. So only the kernels' instructions are the operations'. */
int vmbench_team_run(const struct vmbench_case *bench, const struct vmbench_work *work, uint32_t count);

/* The rounds of a run with COUNT operations. */
uint32_t vmbench_team_rounds(uint32_t count);

/* Returns when all members have called it as often. */
void vmbench_meet(struct vmbench_member *member);

/* A word that the leader sets for the others before a meeting. */
void vmbench_range_set(char *range);
char *vmbench_range(void);

extern bool vmbench_no_times;

/* --- the operations; each is a function for struct vmbench_case --- */

int vmbench_run_empty(const struct vmbench_case *bench, uint32_t count);
int vmbench_run_fault_new(const struct vmbench_case *bench, uint32_t count);
int vmbench_run_fault_rested(const struct vmbench_case *bench, uint32_t count);
int vmbench_run_fault_frame(const struct vmbench_case *bench, uint32_t count);
int vmbench_run_fault_none(const struct vmbench_case *bench, uint32_t count);
int vmbench_run_cow(const struct vmbench_case *bench, uint32_t count);
int vmbench_run_forked_new(const struct vmbench_case *bench, uint32_t count);
int vmbench_run_forked_write(const struct vmbench_case *bench, uint32_t count);
int vmbench_run_sequence(const struct vmbench_case *bench, uint32_t count);
int vmbench_run_touch(const struct vmbench_case *bench, uint32_t count);
int vmbench_run_touch_huge(const struct vmbench_case *bench, uint32_t count);
int vmbench_run_map(const struct vmbench_case *bench, uint32_t count);
int vmbench_run_protect(const struct vmbench_case *bench, uint32_t count);
int vmbench_run_protect_part(const struct vmbench_case *bench, uint32_t count);
int vmbench_run_protect_whole(const struct vmbench_case *bench, uint32_t count);
int vmbench_run_fault_race(const struct vmbench_case *bench, uint32_t count);
int vmbench_run_unmap_pair(const struct vmbench_case *bench, uint32_t count);
int vmbench_run_protect_pair(const struct vmbench_case *bench, uint32_t count);
int vmbench_run_advise_lasting(const struct vmbench_case *bench, uint32_t count);
int vmbench_run_advise_hint(const struct vmbench_case *bench, uint32_t count);
int vmbench_run_advise_drop(const struct vmbench_case *bench, uint32_t count);
int vmbench_run_advise_drop_file(const struct vmbench_case *bench, uint32_t count);
int vmbench_run_lock(const struct vmbench_case *bench, uint32_t count);
int vmbench_run_lock_team(const struct vmbench_case *bench, uint32_t count);

/* The thread of a case of one goes where BENCH says. */
int vmbench_go(const struct vmbench_case *bench);

#endif
