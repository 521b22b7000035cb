/* The decisions of strategy `adaptive`. See the header. */
#include "mm/retrieve/adapt.h"

/* True if the threads spent at least half of the time in questions, three quarters of the answers had a frame, and
 * three quarters of the prefetched pages were used: then the kernel will probably need the rest of the space, too. */
static bool wants_all(const struct adapt_window *w)
{
    return 4 * w->frames >= 3 * w->answers && 4 * w->used >= 3 * w->brought && w->brought > 0 &&
           2 * w->asked_ns >= w->all_ns;
}

struct adapt_choice adapt_choose(const struct adapt_window *w, uint32_t runs)
{
    if (4 * w->frames < w->answers)
        return (struct adapt_choice){.runs = 0}; /* new pages, or no pages: there is nothing to prefetch */
    if (runs == 0)
        return (struct adapt_choice){.runs = 1};
    if (w->brought == 0)
        return (struct adapt_choice){.runs = runs}; /* no answer brought other pages along */
    if (runs == ADAPT_RUNS_MAX && wants_all(w))
        return (struct adapt_choice){.runs = runs, .fill = true};
    if (2 * w->used >= w->brought)
        return (struct adapt_choice){.runs = 2 * runs < ADAPT_RUNS_MAX ? 2 * runs : ADAPT_RUNS_MAX};
    if (4 * w->used < w->brought)
        return (struct adapt_choice){.runs = runs / 2};
    return (struct adapt_choice){.runs = runs};
}
