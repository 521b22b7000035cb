/* The decisions of the balancer where a thread is to run, as functions of their inputs. Free of hardware. */
#ifndef TASKS_BALANCE_CHOICE_H
#define TASKS_BALANCE_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#define BALANCE_NOWHERE UINT32_MAX

/* What a thread is being placed for. */
enum balance_event { BALANCE_CLONE, BALANCE_FORK, BALANCE_EXEC };

/* How new threads are placed: the option place=. */
enum balance_placing { PLACE_LOCAL, PLACE_SPREAD, PLACE_LEAST_LOADED };

struct balance_kernel {
    uint64_t weight;   /* of the threads there that are ready or run */
    uint32_t count;    /* of these */
    uint32_t cpus;     /* not 0 */
    uint32_t distance; /* from here, as in SLIT */
    bool allowed;      /* it runs, and the thread may use a CPU of it */
};

/* The kernel for a thread of kernel OWN, one of the COUNT in KERNELS, or BALANCE_NOWHERE when none is allowed. Of equal
 * ones the first from TURN on, cyclically.
 *
 * local: here. spread: the nearest kernel with a CPU that nobody needs; when there is none, the one with the fewest
 * threads for each CPU. least-loaded: the one with the least weight for each CPU, of equal ones the nearest. A process
 * that forks, or a program that is started in place of another, stays here while this kernel has not more threads than
 * CPUs, for its memory is here, or soon will be. Where a policy wants a kernel that is not allowed it does with
 * the next best. */
uint32_t balance_choose(enum balance_placing placing, enum balance_event event, const struct balance_kernel *kernels,
                        uint32_t count, uint32_t own, uint32_t turn);

/* A thread that might be moved. */
struct balance_case {
    uint64_t ran; /* ns of CPU time since it came here; it is expected to go on for as long (Harchol-Balter and Downey,
                     Exploiting process lifetime distributions for dynamic load balancing, 1996) */
    uint64_t weight;                /* its own */
    uint64_t here, there;           /* weight of all threads here, it included, and there */
    uint32_t cpus_here, cpus_there; /* not 0 */
    uint64_t cost;                  /* ns: of a move and of fetching its pages again */
};

/* What moving it gains, in ns; negative: it loses. */
int64_t balance_gain(const struct balance_case *c);
/* True when it should move: the gain is more than the cost, once more, and it has run here for long enough that the
 * last move, if there was one, has paid. */
bool balance_worth(const struct balance_case *c);

#define BALANCE_PATIENCE 8u              /* costs that a thread must have run here before it may move */
#define BALANCE_EXPECT_MAX 4000000000ull /* ns: more than this nothing is expected to run */

/* Moving average: takes SAMPLE for an eighth. The first sample is the average. */
void balance_average(uint64_t *average, uint64_t sample);

#endif
