/* How long a kernel waits between two looks at what its threads access: pure functions, for tests on the host.
 * mm/numa.md describes it. All times in ns. */
#ifndef TASKS_NUMA_PERIOD_H
#define TASKS_NUMA_PERIOD_H

#include <stdbool.h>
#include <stdint.h>

#define PERIOD_FIRST 5u             /* times the shortest period */
#define PERIOD_MOST 10u             /* the longest while other nodes have a share in what is used */
#define PERIOD_CALM 100u            /* the longest if none has */
#define PERIOD_LIMIT 10000000000ull /* the longest in any case */
#define PERIOD_PART 8u              /* part of what a look has found that counts */

/* What a look has found: pages. */
struct period_found {
    uint64_t local, remote; /* of memory of this kernel's node, and of others */
    uint64_t told;          /* in reports, */
    uint64_t shared;        /* and in those of which the home says that others have a share in them */
    bool watched;           /* others wait for what this kernel does at a look */
};

/* Returns WANTED within the longest period, which depends on CALM, and the shortest one, SHORTEST, at most
 * PERIOD_LIMIT. */
static inline uint64_t period_within(uint64_t wanted, uint64_t shortest, bool calm)
{
    uint64_t longest = (calm ? PERIOD_CALM : PERIOD_MOST) * shortest;

    if (longest > PERIOD_LIMIT)
        longest = PERIOD_LIMIT;
    return wanted < shortest ? shortest : wanted > longest ? longest : wanted;
}

/* Whether an eighth of what FOUND has was memory of other nodes. */
static inline bool period_remote(const struct period_found *found)
{
    return found->remote != 0 && PERIOD_PART * found->remote >= found->remote + found->local;
}

/* Whether others have no share, or less than an eighth, in what FOUND has, and do not wait for the next look. */
static inline bool period_calm(const struct period_found *found)
{
    return !found->watched && (PERIOD_PART * found->shared < found->told || found->shared == 0);
}

/* Returns the period after a look, before which it was PERIOD. SOON: much was another node's memory in some space, and
 * its home is about to decide about it. */
static inline uint64_t period_after(uint64_t period, uint64_t shortest, bool soon, const struct period_found *found)
{
    return period_within(soon ? period / 2 : period * 2, shortest, period_calm(found));
}

#endif
