/* The decisions of the adaptive retrieval. See the header. */
#include "mm/retrieve/adapt.h"

/* A kernel whose threads spend most of their time in questions, nearly all for what others have, and use nearly all
 * that comes along, is going to want the rest. */
static bool wants_all(const struct adapt_window *w)
{
    return 4 * w->frames >= 3 * w->answers && 4 * w->used >= 3 * w->brought && w->brought > 0 &&
           2 * w->asked_ns >= w->all_ns;
}

struct adapt_choice adapt_choose(const struct adapt_window *w, uint32_t runs)
{
    if (4 * w->frames < w->answers)
        return (struct adapt_choice){.runs = 0}; /* new pages, or none: nothing to bring */
    if (runs == 0)
        return (struct adapt_choice){.runs = 1};
    if (w->brought == 0)
        return (struct adapt_choice){.runs = runs}; /* nothing lay near */
    if (runs == ADAPT_RUNS_MAX && wants_all(w))
        return (struct adapt_choice){.runs = runs, .fill = true};
    if (2 * w->used >= w->brought)
        return (struct adapt_choice){.runs = 2 * runs < ADAPT_RUNS_MAX ? 2 * runs : ADAPT_RUNS_MAX};
    if (4 * w->used < w->brought)
        return (struct adapt_choice){.runs = runs / 2};
    return (struct adapt_choice){.runs = runs};
}
