/* Places to run at: the started kernels of a Kettle, the CPUs of any other machine.
 *
 * So a test that spreads over all places, or moves between them, means something on both. */
#ifndef TESTS_GUEST_PLACE_H
#define TESTS_GUEST_PLACE_H

#include <stdbool.h>
#include <sys/types.h>

#define PLACE_MAX 64

/* How many places there are, 1 to PLACE_MAX. */
int place_count(void);

/* How many to use when the work grows with them: place_count, at most LIMIT. */
int place_few(int limit);

/* The place of the calling thread: 0 to place_count() - 1. */
int place_here(void);

/* Moves the calling thread to PLACE modulo their number, by kettle_migrate on a Kettle. Ends the process when that
 * fails. */
void place_go(int place);

/* As place_go for a thread that others push meanwhile: it may be elsewhere at once, or not be let go there. */
void place_try(int place);

/* The system call by which the calling thread moves to PLACE modulo their number: number and arguments, for code that
 * makes it itself. It returns 0. */
struct place_call {
    long number, arguments[3];
};

struct place_call place_call(int place);

/* Moves thread TID to PLACE modulo their number by setting its affinity to the CPUs there, and waits for nothing.
 * Returns 0 or an errno. */
int place_push(pid_t tid, int place);

/* True when thread TID of this process was seen on a CPU of PLACE modulo their number, as its stat tells. Elsewhere
 * than on a Kettle always: there a thread that waits is given its CPU when it is woken. */
bool place_reached(pid_t tid, int place);

/* Lets thread TID run anywhere. Returns 0 or an errno. */
int place_free(pid_t tid);

/* The CPUs of PLACE, the first of them in *FIRST; returns how many. */
int place_cpus(int place, int *first);

#endif
