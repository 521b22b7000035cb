/* Retrieval strategy `adaptive`: as home, and each kernel sets by what it sees how many runs of pages an answer is to
 * bring along, and whether to get all that there is at once. The rates are those that the Popcorn thesis names in 8.2:
 * how often faults ask, what kinds of mappings come, and how many pages come along and are used. Free of hardware. */
#ifndef MM_RETRIEVE_ADAPT_H
#define MM_RETRIEVE_ADAPT_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/space/strategy.h"

#define ADAPT_RUNS_MAX 32u

struct adapt_choice {
    uint32_t runs; /* 0 to ADAPT_RUNS_MAX: what an answer is to bring from now on */
    bool fill;     /* get all that there is */
};

/* What to do after WINDOW, in which answers could bring RUNS. */
struct adapt_choice adapt_choose(const struct adapt_window *window, uint32_t runs);

#endif
