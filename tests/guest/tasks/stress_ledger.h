/* The ledger of stress-tasks: what every process did and saw, in memory that all share, and its audit at the end.
 *
 * Writers note what they ask for before they do, readers what came after; the audit compares. No part of it depends on
 * the kernel's own counting. */
#ifndef TESTS_GUEST_STRESS_LEDGER_H
#define TESTS_GUEST_STRESS_LEDGER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define WORKERS 6
#define CHILDREN_MAX 60000
#define ORPHANS_MAX 2 /* of one child */

/* What a child of a worker is for. */
enum ledger_kind {
    LEDGER_EXIT,   /* exits */
    LEDGER_KILLED, /* computes until it is killed */
    LEDGER_EXEC,   /* becomes another program */
    LEDGER_STOP,   /* is stopped and continued, then killed */
    LEDGER_ORPHAN, /* exits and leaves a child */
    LEDGER_GROUP,  /* makes a group or a session of its own */
    LEDGER_CROWD,  /* has threads on many places when one ends it */
    LEDGER_KINDS
};

struct ledger_child {
    atomic_int kind;
    atomic_int expected; /* its status as waitpid shall give it */
    atomic_int begun;    /* the child has run */
    atomic_int parent_seen, group_seen, session_seen;
    atomic_int parent, group, session; /* as they must be seen; 0: not checked */
    atomic_int reaped;
    atomic_int status;
    atomic_int orphans_left, orphans_ended;
    atomic_int orphans[ORPHANS_MAX]; /* their ids, noted before the child ends */
};

struct ledger_worker {
    atomic_int pid;
    atomic_int finished;        /* it sends nothing any more */
    _Atomic(const char *) step; /* what it does, in the text of the program that all workers are */
    atomic_int child;           /* with which it does that, or did it last */
    atomic_long moves, pushes, threads, threads_ended, stops, operations;
    atomic_long queued[WORKERS]; /* signals with numbers, sent to each other worker */
    atomic_long taken[WORKERS];  /* and taken from each */
    atomic_long order_broken;    /* one that was not the next of its sender */
    atomic_long
        standard_before[WORKERS]; /* handled by each receiver before this one's last standard signal to it, or -1 */
    atomic_long standard_sent;
    atomic_long standard_handled;
    atomic_long written, read; /* bytes of the pipe it writes; those its reader has read */
    atomic_long bytes_wrong;
};

struct ledger {
    atomic_int stop;
    atomic_int children; /* used of the table */
    struct ledger_worker workers[WORKERS];
    struct ledger_child table[CHILDREN_MAX];
};

/* A new child's row, or NULL when the table is full. */
struct ledger_child *ledger_child(struct ledger *ledger, enum ledger_kind kind, int expected);

/* Checks, with CHECK, everything that must hold when all workers have ended. */
void ledger_audit(struct ledger *ledger);

/* One line of totals. */
void ledger_totals(struct ledger *ledger);

#endif
