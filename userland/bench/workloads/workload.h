/* What each workload gives to main.c, and what it may use. */
#ifndef USERLAND_WORKLOADS_WORKLOAD_H
#define USERLAND_WORKLOADS_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>

struct workload {
    const char *name;
    const char *what;
    const char *unit; /* of its operations */
    /* Makes everything ready for CLASS (S, W, A or B), by one thread and without touching the great arrays where a
     * member may do that. False: there is no such class. */
    bool (*setup)(char size);
    /* The work, by every member of the team, with team_clock_begin and team_clock_end around what is timed. */
    void (*run)(int me);
    /* Whether the result is right: by official values or by an independent solver. By one thread. */
    bool (*verify)(void);
    double (*operations)(void); /* of the timed part */
};

extern const struct workload workload_is, workload_ft, workload_cg, workload_ep, workload_mg, workload_lu, workload_bt,
    workload_sp, workload_bfs, workload_lud, workload_stream, workload_chase, workload_random, workload_touch,
    workload_reader;

/* BYTES of new memory that nothing has touched yet, zero when read. Ends the program when there is none. */
void *workload_memory(size_t bytes);

/* Says on standard error that a value is WRONG where RIGHT was expected; returns whether it is within TOLERANCE, as a
 * part of RIGHT. */
bool workload_near(const char *what, double value, double right, double tolerance);

/* Which row of a table of classes "SWAB" is that of SIZE; -1: none. */
int workload_class(char size);

#endif
