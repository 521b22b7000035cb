/* The threads of a workload, and what they do together: OpenMP's (gcc's libgomp) or plain pthreads, chosen at run time
 * behind one set of functions, so that a program's loops are written once.
 *
 * A team is run once in a process. All functions but team_run are called by every member, in the same order.
 *
 * A barrier ends a phase: the last member to arrive passes the markers of the region of phases before it lets the
 * others go, so that the counting plugin's `critical` of that region is the sum, over all phases, of what the busiest
 * CPU executed in each. */
#ifndef USERLAND_WORKLOADS_TEAM_H
#define USERLAND_WORKLOADS_TEAM_H

#include <stdbool.h>
#include <stdint.h>

#include "userland/bench/message_counts.h"

#define TEAM_MAX 64

enum team_layer { TEAM_OPENMP, TEAM_PTHREADS };

struct team_plan {
    enum team_layer layer;
    int members; /* 1 to TEAM_MAX */
    bool bind;   /* each member to a CPU of its own, in order; OpenMP binds by its own environment as well */
    bool pomp;   /* the thesis's way: all begin at the first CPU, and move in each stage (team_stage_begin) */
    /* of the timed part; + 1: its phases; + 2: from the team's start until all have arrived; + 3: what one member
     * does alone, while the others wait */
    unsigned region;
};

struct team_result {
    uint64_t ns; /* of the timed part */
    long moves;  /* that team_stage_begin and _end made */
    bool messages_known;
    struct message_counts messages; /* sent in the timed part, on Kettle */
};

/* Runs BODY on all members, the caller being member 0, and waits for them. False, with a line on standard error, when
 * there cannot be such a team. */
bool team_run(const struct team_plan *plan, void (*body)(int me), struct team_result *result);

/* Lets the calling thread run wherever the program could when it began. */
bool team_cpus_restore(void);

/* How many members there are. */
int team_members(void);

void team_barrier(void);

/* A barrier after which time is measured and instructions are counted, and one that ends that. Once each. */
void team_clock_begin(void);
void team_clock_end(void);

/* Around what one member does while all others wait for it: the program's serial part. */
void team_alone_begin(void);
void team_alone_end(void);

/* The part of COUNT indices that is the member's: FIRST to END, END excluded. */
void team_range(int me, long count, long *first, long *end);

/* The sum of all members' VALUEs, the same for all, added in the order of the members. Two barriers. */
double team_sum(int me, double value);

/* A stage of the thesis's programs: with `pomp` each member but the first moves to its own CPU, and back to the first
 * one; else nothing. */
void team_stage_begin(int me);
void team_stage_end(int me);

#endif
