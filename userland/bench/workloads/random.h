/* The random numbers of the NAS Parallel Benchmarks: x' = a x mod 2^46, uniform in (0, 1) as x / 2^46. */
#ifndef USERLAND_WORKLOADS_RANDOM_H
#define USERLAND_WORKLOADS_RANDOM_H

#include <stdint.h>

#define RANDOM_A 1220703125u /* 5^13 */
#define RANDOM_SEED 314159265u
#define RANDOM_BITS 46
#define RANDOM_MASK ((UINT64_C(1) << RANDOM_BITS) - 1)
#define RANDOM_SCALE (1.0 / (double)(UINT64_C(1) << RANDOM_BITS))

/* The next of the sequence in *X. */
static inline double random_next(uint64_t *x)
{
    *x = (*x * RANDOM_A) & RANDOM_MASK;
    return (double)*x * RANDOM_SCALE;
}

/* Where the sequence that begins at SEED is after COUNT numbers. */
static inline uint64_t random_skip(uint64_t seed, uint64_t count)
{
    uint64_t power = RANDOM_A;

    for (; count != 0; count >>= 1) {
        if (count & 1)
            seed = (seed * power) & RANDOM_MASK;
        power = (power * power) & RANDOM_MASK;
    }
    return seed;
}

#endif
