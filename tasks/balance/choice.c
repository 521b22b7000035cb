/* The balancer's decisions. See the header. Pure functions without state. */
#include "tasks/balance/choice.h"

#include <stddef.h>

#define SHARE_ONE 4096u  /* a whole CPU */
#define NEW_WEIGHT 1024u /* assumed weight of a new thread */
#define SAMPLE_MAX (1ull << 50)

/* True if A is strictly better than B. */
typedef bool (*better)(const struct balance_kernel *a, const struct balance_kernel *b);

static bool less_crowded(const struct balance_kernel *a, const struct balance_kernel *b)
{
    uint64_t of_a = (uint64_t)a->count * b->cpus, of_b = (uint64_t)b->count * a->cpus;

    return of_a != of_b ? of_a < of_b : a->distance < b->distance;
}

static bool nearer(const struct balance_kernel *a, const struct balance_kernel *b)
{
    return a->distance < b->distance;
}

static bool less_loaded(const struct balance_kernel *a, const struct balance_kernel *b)
{
    uint64_t of_a = (a->weight + NEW_WEIGHT) * b->cpus, of_b = (b->weight + NEW_WEIGHT) * a->cpus;

    return of_a != of_b ? of_a < of_b : a->distance < b->distance;
}

/* The best allowed kernel; with FREE, only among kernels with a free CPU. */
static uint32_t best(const struct balance_kernel *kernels, uint32_t count, uint32_t turn, bool free, better is_better)
{
    uint32_t found = BALANCE_NOWHERE;

    for (uint32_t i = 0; i < count; i++) {
        uint32_t k = (turn + i) % count;

        if (!kernels[k].allowed || (free && kernels[k].count >= kernels[k].cpus))
            continue;
        if (found == BALANCE_NOWHERE || is_better(&kernels[k], &kernels[found]))
            found = k;
    }
    return found;
}

uint32_t balance_choose(enum balance_placing placing, enum balance_event event, const struct balance_kernel *kernels,
                        uint32_t count, uint32_t own, uint32_t turn)
{
    const struct balance_kernel *here = &kernels[own];
    uint32_t found;

    if (here->allowed && (placing == PLACE_LOCAL || (event != BALANCE_CLONE && here->count <= here->cpus)))
        return own;
    if (placing == PLACE_LEAST_LOADED)
        return best(kernels, count, turn, false, less_loaded);
    found = best(kernels, count, turn, true, nearer);
    return found != BALANCE_NOWHERE ? found : best(kernels, count, turn, false, less_crowded);
}

/* The share of a CPU that a thread of WEIGHT gets on CPUS CPUs if the weights of all threads, including it, sum up to
 * ALL. */
static uint64_t share_of(uint64_t weight, uint64_t all, uint32_t cpus)
{
    uint64_t share = all == 0 ? SHARE_ONE : weight * cpus * SHARE_ONE / all;

    if (share == 0)
        share = 1;
    return share < SHARE_ONE ? share : SHARE_ONE;
}

/* The gain of a thread that is expected to run for REST ns, and needs PART of BALANCE_WHOLE of its time there. */
static int64_t gain_of(const struct balance_case *c, uint64_t rest, uint32_t part)
{
    uint64_t stays = rest * SHARE_ONE / share_of(c->weight, c->here, c->cpus_here);
    uint64_t goes = rest * SHARE_ONE / share_of(c->weight, c->there + c->weight, c->cpus_there);

    return (int64_t)stays - (int64_t)(goes * part / BALANCE_WHOLE) - (int64_t)c->cost;
}

static uint64_t rest_of(const struct balance_case *c, uint64_t most)
{
    return c->ran < most ? c->ran : most;
}

static bool is_worth(const struct balance_case *c, int64_t gain)
{
    return c->ran / BALANCE_PATIENCE >= c->cost && gain > (int64_t)c->cost;
}

int64_t balance_gain(const struct balance_case *c)
{
    return gain_of(c, rest_of(c, BALANCE_EXPECT_MAX), BALANCE_WHOLE);
}

bool balance_worth(const struct balance_case *c)
{
    return is_worth(c, balance_gain(c));
}

int64_t balance_draw_gain(const struct balance_case *c, uint32_t part)
{
    return gain_of(c, rest_of(c, BALANCE_DRAW_MAX), part);
}

bool balance_draws(const struct balance_case *c, uint32_t part)
{
    return is_worth(c, balance_draw_gain(c, part));
}

void balance_average(uint64_t *average, uint64_t sample)
{
    if (sample > SAMPLE_MAX)
        sample = SAMPLE_MAX;
    *average = *average == 0 ? sample : *average - *average / 8 + sample / 8;
}
