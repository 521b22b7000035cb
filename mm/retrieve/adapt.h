/* The decisions of retrieval strategy `adaptive`. It works as `home`, and each kernel adapts to its measurements how
 * many runs of pages an answer brings along, and whether to fetch the whole space at once. The measured rates are those
 * that the Popcorn thesis names in 8.2: how often faults ask the home, what kinds of mappings the answers bring, and
 * how many pages are prefetched and used. Contains no hardware access. */
#ifndef MM_RETRIEVE_ADAPT_H
#define MM_RETRIEVE_ADAPT_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/space/strategy.h"

#define ADAPT_RUNS_MAX 32u

struct adapt_choice {
    uint32_t runs; /* 0 to ADAPT_RUNS_MAX: the runs that an answer brings from now on */
    bool fill;     /* fetch the whole space */
};

/* Returns the decision after WINDOW, in which answers could bring RUNS. */
struct adapt_choice adapt_choose(const struct adapt_window *window, uint32_t runs);

#endif
