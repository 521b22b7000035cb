/* The decisions of the balancer, as pure functions. Free of hardware, for tests on the host. */
#ifndef TASKS_BALANCE_CHOICE_H
#define TASKS_BALANCE_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#define BALANCE_NOWHERE UINT32_MAX

/* The reason for which a thread is placed. */
enum balance_event { BALANCE_CLONE, BALANCE_FORK, BALANCE_EXEC };

/* How new threads are placed: the option place=. */
enum balance_placing { PLACE_LOCAL, PLACE_SPREAD, PLACE_LEAST_LOADED };

struct balance_kernel {
    uint64_t weight;   /* of the threads there that are ready or running */
    uint32_t count;    /* of these threads */
    uint32_t cpus;     /* not 0 */
    uint32_t distance; /* from here, as in SLIT */
    bool allowed;      /* it has started, and the thread may use one of its CPUs */
};

/* Returns the kernel for a thread of kernel OWN, one of the COUNT in KERNELS, or BALANCE_NOWHERE if none is allowed. Of
 * equal kernels it is the first one from TURN on, cyclically.
 *
 * PLACE_LOCAL: OWN. PLACE_SPREAD: the nearest kernel with a free CPU; if there is none, the one with the fewest threads
 * per CPU. PLACE_LEAST_LOADED: the one with the least weight per CPU, of equal ones the nearest. A process that forks,
 * or loads another program, stays on OWN while OWN has no more threads than CPUs, because its memory is there, or is
 * about to be. If OWN is not allowed, PLACE_LOCAL chooses as PLACE_SPREAD does. */
uint32_t balance_choose(enum balance_placing placing, enum balance_event event, const struct balance_kernel *kernels,
                        uint32_t count, uint32_t own, uint32_t turn);

/* A candidate for a move. */
struct balance_case {
    uint64_t ran; /* ns of CPU time since it arrived here; it is expected to run for as long again (Harchol-Balter and
                   * Downey, Exploiting process lifetime distributions for dynamic load balancing, 1996) */
    uint64_t weight;                /* its own */
    uint64_t here, there;           /* weights of all threads here, including this one, and there */
    uint32_t cpus_here, cpus_there; /* not 0 */
    uint64_t cost;                  /* ns: of a move and of fetching its pages again */
};

/* The gain of the move in ns; negative: a loss. */
int64_t balance_gain(const struct balance_case *c);
/* Whether the thread should move: its gain, which is net of the cost, exceeds the cost once more, and it has run here
 * for BALANCE_PATIENCE times the cost, so that a previous move has paid off. */
bool balance_worth(const struct balance_case *c);

/* The same for a thread that moves to a CPU that is free, near the memory that it uses: PART of BALANCE_WHOLE of its
 * time here is what it takes there for the same work. */
bool balance_draws(const struct balance_case *c, uint32_t part);
int64_t balance_draw_gain(const struct balance_case *c, uint32_t part);
#define BALANCE_WHOLE 1024u

#define BALANCE_PATIENCE 8u              /* multiple of the cost that a thread must have run here before it may move */
#define BALANCE_EXPECT_MAX 4000000000ull /* ns: upper bound of the expected run time */
#define BALANCE_DRAW_MAX 60000000000ull  /* the same near its memory, as that lasts longer than a load */

/* Moving average: SAMPLE has a weight of one eighth. The first sample is the average. */
void balance_average(uint64_t *average, uint64_t sample);

#endif
