/* The policies. See the header and mm/numa.md. */
#include "mm/seen/choice.h"

#include <stddef.h>

#define THRESHOLD 24u /* pages more that another node has to use */
#define LEAD 2u       /* filter: accesses more than every other node's */

/* The node that uses the block most; of equal ones HERE if it is one of them, else the lowest. */
static uint32_t greatest(const struct seen_view *view)
{
    uint32_t best = view->here;

    for (uint32_t node = 0; node < view->nodes; node++)
        best = view->used[node] > view->used[best] ? node : best;
    return best;
}

static uint32_t unless_here(const struct seen_view *view, uint32_t node)
{
    return node != view->here ? node : SEEN_STAYS;
}

/* A block moves at the first access from another node. */
static uint32_t nemo(const struct seen_view *view)
{
    return unless_here(view, view->now);
}

/* A block moves when the same other node is seen twice in a row. */
static uint32_t two_fault(const struct seen_view *view)
{
    return view->last == view->now ? unless_here(view, view->now) : SEEN_STAYS;
}

/* A block moves to the node that makes more than half of all accesses. */
static uint32_t share(const struct seen_view *view)
{
    uint32_t best = greatest(view), all = 0;

    for (uint32_t node = 0; node < view->nodes; node++)
        all += view->used[node];
    return 2u * view->used[best] > all ? unless_here(view, best) : SEEN_STAYS;
}

static uint32_t threshold(const struct seen_view *view)
{
    uint32_t best = greatest(view);

    return view->used[best] >= view->used[view->here] + THRESHOLD ? unless_here(view, best) : SEEN_STAYS;
}

/* A block moves to a node that leads all others. */
static uint32_t filter(const struct seen_view *view)
{
    uint32_t best = greatest(view);

    for (uint32_t node = 0; node < view->nodes; node++) {
        if (node != best && view->used[best] < view->used[node] + LEAD)
            return SEEN_STAYS;
    }
    return unless_here(view, best);
}

const struct seen_policy seen_policies[SEEN_POLICIES] = {
    {"none", NULL},   {"nemo", nemo},           {"two-fault", two_fault},
    {"share", share}, {"threshold", threshold}, {"filter", filter},
};
