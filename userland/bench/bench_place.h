/* Places where the threads of a benchmark can be. On Kettle with several kernels a place is a kernel, and a thread goes
 * there with kettle_migrate; else it is a CPU, and it goes there with sched_setaffinity.
 *
 * Functions that return int return 0 or an errno; those that tell have told bench_failed
 * (userland/bench/bench_measure.h) before. Found once, before the program makes threads or processes, which inherit
 * what was found. */
#ifndef USERLAND_BENCH_PLACE_H
#define USERLAND_BENCH_PLACE_H

#include <stdbool.h>

#define BENCH_PLACES_MAX 64

/* How a thread moves to another place. */
enum bench_how {
    HOW_MIGRATE,  /* kettle_migrate: Kettle only */
    HOW_AFFINITY, /* sched_setaffinity */
    HOW_USUAL     /* the first on Kettle, the second elsewhere */
};

/* Where something happens, seen from where the program begins. */
enum bench_where { WHERE_LOCAL, WHERE_SAME, WHERE_OTHER, WHERE_ALL };

/* Where a thread can be: a kernel of Kettle, or a CPU. */
struct bench_place {
    int kernel;
    int cpu; /* -1: not known yet, see bench_cpus_find */
    int node;
    bool visited; /* a thread of this program has been there */
};

struct bench_machine {
    bool kettle;
    enum bench_how usual;
    int count;
    struct bench_place places[BENCH_PLACES_MAX]; /* the first is where the program begins: home */
    int same;                                    /* a place on the node of the first, or -1 */
    int other;                                   /* one on another node, or -1 */
};

extern struct bench_machine bench_machine;

void bench_machine_find(void);

/* The index of the place that WHERE means. */
int bench_place_of(enum bench_where where);

/* Why this machine has no such place, in words that fit behind a colon, or NULL. */
const char *bench_where_refusal(enum bench_where where);

/* WHERE for people: "other node"; and as a word in the name of a case: "other". */
const char *bench_where_name(enum bench_where where);
const char *bench_where_word(enum bench_where where);

/* Moves the calling thread to a place. Uses no vector registers, no errno and nothing of the C library. Does not tell.
 */
int bench_move(enum bench_how how, int place);

/* Whether the calling thread is at a place. */
bool bench_is_at(enum bench_how how, int place);

/* As bench_move, but it is no error if the thread is elsewhere bound, and it tells. */
int bench_go(int place);

/* Brings the first thread home, and frees it of whatever CPU it was bound to on Kettle. Tells. */
int bench_go_home(void);

/* Visits every place and comes home, so that the process is known everywhere. Tells. */
int bench_visit_all(void);

/* Finds the CPUs of PLACE and of home, for HOW_AFFINITY. Visits them and ends at home. Tells. */
int bench_cpus_find(int place);

/* Between kernels: threads and processes that the first thread makes from now on begin where it is, and not where the
 * balancer places them; until bench_go_home. Tells. */
int bench_bind_here(void);

/* Such a thread, or the first one of such a process, may go everywhere. Tells. */
int bench_unbind(void);

#endif
