/* Load averages. See the header. Over k periods with the mean m, an average a becomes m + (a - m) * e^k, where e is the
 * factor of one period: exp(-5 s / 60 s) and so on. */
#include "tasks/sched/load_average.h"

#define FACTOR_SHIFT 32u

static const uint64_t factors[LOAD_AVERAGES] = {3951560672u, 4223977731u, 4271172524u}; /* exp(-1/12), -1/60, -1/180 */

/* FACTOR, below 1, to the power of COUNT. */
static uint64_t power(uint64_t factor, uint64_t count)
{
    uint64_t result = 1ull << FACTOR_SHIFT;

    for (; count > 0 && result > 0; count >>= 1) {
        if ((count & 1) != 0)
            result = (uint64_t)((unsigned __int128)result * factor >> FACTOR_SHIFT);
        factor = factor * factor >> FACTOR_SHIFT;
    }
    return result;
}

/* RAN / TIME, in units of a thread (LOAD_UNIT_SHIFT). */
static uint64_t mean_of(uint64_t ran, uint64_t time)
{
    uint64_t rest = ran % time, whole = ran / time;

    for (; time >> LOAD_UNIT_SHIFT != 0; time >>= 1) /* the relative error is less than 2^-31 */
        rest >>= 1;
    return (whole << LOAD_UNIT_SHIFT) + (rest << LOAD_UNIT_SHIFT) / time;
}

uint64_t load_average_fold(struct load_average *a, uint64_t now, uint64_t ran)
{
    uint64_t periods = now > a->until ? (now - a->until) / LOAD_PERIOD : 0;
    uint64_t whole = periods * LOAD_PERIOD, mean, left;

    if (periods == 0)
        return ran;
    mean = mean_of(ran, now - a->until);
    left = (uint64_t)((unsigned __int128)mean * (now - a->until - whole) >> LOAD_UNIT_SHIFT);
    for (uint32_t i = 0; i < LOAD_AVERAGES; i++) {
        uint64_t stays = power(factors[i], periods), comes = (1ull << FACTOR_SHIFT) - stays;

        a->average[i] = (uint64_t)(((unsigned __int128)a->average[i] * stays + (unsigned __int128)mean * comes) >>
                                   FACTOR_SHIFT);
    }
    a->until += whole;
    return left;
}
