/* The policies. See the header and mm/numa.md. "Barrelfish" below is Lindegger, "NUMA Migration on the Barrelfish OS"
 * (ETH Zurich, 2013); "traces" is the thesis on hardware-assisted page migration by traces of memory references. */
#include "mm/seen/choice.h"

#include <stddef.h>

#include "kernel/lib/string.h"
#include "msg/message.h"

#define THRESHOLD 24u /* pages more that another node has to use */
#define LEAD 2u       /* filter: accesses more than every other node's */

/* kettle: */
#define ENOUGH 2u   /* pages of a block that one look must have shown, as all that are there are moved */
#define USER_OF 16u /* part of the greatest use that makes a node a user */
#define UNEVEN 4u   /* part of two loads by which they must differ: five to three */
#define LONGER 4u   /* part by which spreading may lengthen the way to all users together */

typedef uint64_t node_cost(const struct seen_view *view, uint32_t node);

/* The node of memory for which OF is least; of equal ones the block's own if it is one of them, else the lowest. */
static uint32_t cheapest(const struct seen_view *view, node_cost *of)
{
    uint64_t least = of(view, view->here);
    uint32_t best = view->here;

    for (uint32_t node = 0; node < view->nodes; node++) {
        uint64_t cost = (view->memory >> node & 1) != 0 ? of(view, node) : UINT64_MAX;

        if (cost < least) {
            least = cost;
            best = node;
        }
    }
    return best;
}

static uint32_t all_uses(const struct seen_view *view)
{
    uint32_t all = 0;

    for (uint32_t node = 0; node < view->nodes; node++)
        all += view->used[node];
    return all;
}

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

/* A block stays where it was touched first; accesses are counted. */
static uint32_t first_touch(const struct seen_view *view)
{
    (void)view;
    return SEEN_STAYS;
}

/* The node of BLOCK if blocks are spread over NODES, a bit for each, in turn. */
static uint32_t in_turn(uint64_t nodes, uint64_t block)
{
    uint64_t left = nodes;
    uint32_t count = kernel_set_count(left);

    for (uint64_t i = count != 0 ? block % count : 0; i > 0; i--)
        left &= left - 1;
    return (uint32_t)__builtin_ctzll(left);
}

bool seen_policy_moves(const struct seen_policy *policy)
{
    return policy->choose != NULL && policy->choose != first_touch;
}

/* Blocks that several nodes use are spread over all nodes in turn (traces, 4.1.2). */
static uint32_t interleave(const struct seen_view *view)
{
    return unless_here(view, in_turn(view->memory, view->block));
}

/* A block moves at the first access from another node (Barrelfish, 3.5.1). Linux's MORON (2.3 there) decides the same,
 * page by page. */
static uint32_t nemo(const struct seen_view *view)
{
    return unless_here(view, view->now);
}

/* A block moves when the same other node is seen twice in a row (AutoNUMA: Barrelfish, 2.2). */
static uint32_t two_fault(const struct seen_view *view)
{
    return view->last == view->now ? unless_here(view, view->now) : SEEN_STAYS;
}

/* A block moves to the node that makes more than half of all accesses (Barrelfish, 3.5: by the percentage of remote
 * access). */
static uint32_t share(const struct seen_view *view)
{
    uint32_t best = greatest(view);

    return 2u * view->used[best] > all_uses(view) ? unless_here(view, best) : SEEN_STAYS;
}

static uint32_t threshold(const struct seen_view *view)
{
    uint32_t best = greatest(view);

    return view->used[best] >= view->used[view->here] + THRESHOLD ? unless_here(view, best) : SEEN_STAYS;
}

/* The node with the most references (traces, equation 2.1). */
static uint32_t uniform(const struct seen_view *view)
{
    return unless_here(view, greatest(view));
}

/* What the accesses that were seen would cost if the block were on NODE, in pages and units of distance. */
static uint64_t weighted(const struct seen_view *view, uint32_t node)
{
    uint64_t sum = 0;

    for (uint32_t from = 0; from < view->nodes; from++)
        sum += (uint64_t)view->used[from] * view->distance[node][from];
    return sum;
}

/* The node from which all references cost least, by the distances (traces, equation 2.2). */
static uint32_t hop(const struct seen_view *view)
{
    return unless_here(view, cheapest(view, weighted));
}

/* The node with the most references, if it leads each other one by two (traces, 3.1: the text). */
static uint32_t filter(const struct seen_view *view)
{
    uint32_t best = greatest(view);

    for (uint32_t node = 0; node < view->nodes; node++) {
        if (node != best && view->used[best] < view->used[node] + LEAD)
            return SEEN_STAYS;
    }
    return unless_here(view, best);
}

/* The same, if sum((max - r)^2) / n >= 2^2 (n - 1) / n (traces, equation 3.1), which one far lower node may satisfy. */
static uint32_t variance(const struct seen_view *view)
{
    uint32_t best = greatest(view);
    uint64_t sum = 0;

    for (uint32_t node = 0; node < view->nodes; node++) {
        uint64_t less = (uint64_t)view->used[best] - view->used[node];

        sum += less * less;
    }
    return sum >= (uint64_t)LEAD * LEAD * (view->nodes - 1) ? unless_here(view, best) : SEEN_STAYS;
}

/* As weighted, with half the accesses to the blocks at both sides: an access that the look has missed was seen at them
 * (traces, 2.5.1: silent regions are placed in the vicinity of others). */
static uint64_t weighted_around(const struct seen_view *view, uint32_t node)
{
    uint64_t sum = 2 * weighted(view, node);

    for (uint32_t from = 0; from < view->nodes; from++)
        sum += (uint64_t)((view->before != NULL ? view->before[from] : 0) +
                          (view->after != NULL ? view->after[from] : 0)) *
               view->distance[node][from];
    return sum;
}

static uint32_t neighbour(const struct seen_view *view)
{
    return unless_here(view, cheapest(view, weighted_around));
}

/* Memory is on its process's home node, wherever the threads run (Zijlstra's: Barrelfish, 2.1). */
static uint32_t home(const struct seen_view *view)
{
    return unless_here(view, view->home);
}

/* Memory of a group of threads is where most of these are (Zijlstra's: Barrelfish, 2.1). */
static uint32_t group(const struct seen_view *view)
{
    return view->group != SEEN_STAYS ? unless_here(view, view->group) : SEEN_STAYS;
}

uint64_t seen_users(const uint16_t *used, uint32_t nodes)
{
    uint32_t most = 0;
    uint64_t set = 0;

    for (uint32_t node = 0; node < nodes; node++)
        most = used[node] > most ? used[node] : most;
    for (uint32_t node = 0; node < nodes; node++)
        set |= (uint64_t)(used[node] != 0 && USER_OF * used[node] >= most) << node;
    return set;
}

/* The node of SET with the least memory that several nodes use; of equal ones the lowest. */
static uint32_t least_loaded(const struct seen_view *view, uint64_t set)
{
    uint32_t best = (uint32_t)__builtin_ctzll(set);

    for (uint64_t left = set; left != 0; left &= left - 1) {
        uint32_t node = (uint32_t)__builtin_ctzll(left);

        best = view->load[node] < view->load[best] ? node : best;
    }
    return best;
}

/* Whether the load of the block's node is so much more than that of TO that the block is to go there: both become more
 * equal, and they were not nearly equal, as what is missing in one of them for a while, when few blocks have several
 * users, does not count. */
static bool is_uneven(const struct seen_view *view, uint32_t to)
{
    uint32_t here = view->load[view->here], there = view->load[to];

    return here >= there + 2 * view->weight && UNEVEN * (here - there) >= here + there;
}

/* The way from all of the nodes USERS to NODE, in units of distance. */
static uint64_t way_from(const struct seen_view *view, uint64_t users, uint32_t node)
{
    uint64_t sum = 0;

    for (uint64_t left = users; left != 0; left &= left - 1)
        sum += view->distance[node][__builtin_ctzll(left)];
    return sum;
}

/* A block that one node uses goes there. One that several use, for some time, gets a copy on each of them if nobody
 * writes to it. Else it goes to the one of them that has the least of such memory, if that makes them more equal or its
 * own node does not use it: no access becomes cheaper by that, but nobody is slower than the others for having all of
 * them remote; but not while they may come to the block instead. Nothing is decided before all kernels have had the
 * time to report, nor for few pages. */
static uint32_t kettle(const struct seen_view *view)
{
    uint64_t set = seen_users(view->used, view->nodes), way;
    uint32_t to;

    if (view->fresh || view->pages < ENOUGH || view->replicated)
        return SEEN_STAYS;
    if (kernel_set_count(set) == 1 || (set & view->memory) == 0)
        return unless_here(view, cheapest(view, weighted));
    if (!view->settled)
        return SEEN_STAYS; /* others may be about to have several users, too, and all be equal */
    if (view->written == 0)
        return SEEN_REPLICATE;
    if (view->waits)
        return SEEN_STAYS;
    way = way_from(view, set, view->here);
    to = least_loaded(view, set & view->memory);
    if (way_from(view, set, to) > way + way / LONGER)
        return SEEN_STAYS;
    return (set >> view->here & 1) == 0 || is_uneven(view, to) ? unless_here(view, to) : SEEN_STAYS;
}

/* A block that several nodes read and nobody writes gets a copy on each, when all kernels have had the time to report
 * writes; one that a single other node uses, as seen twice in a row, moves there (Carrefour: Dashti et al., "Traffic
 * Management", ASPLOS 2013, which decides so by page). */
static uint32_t replicate(const struct seen_view *view)
{
    uint32_t users = 0;

    if (view->replicated)
        return SEEN_STAYS;
    for (uint32_t node = 0; node < view->nodes; node++)
        users += view->used[node] != 0;
    if (users > 1)
        return view->settled && view->written == 0 ? SEEN_REPLICATE : SEEN_STAYS;
    return two_fault(view);
}

const struct seen_policy seen_policies[SEEN_POLICIES] = {
    {"none", NULL, false, false, false},
    {"nemo", nemo, false, false, false},
    {"two-fault", two_fault, false, false, false},
    {"share", share, false, false, false},
    {"threshold", threshold, false, false, false},
    {"filter", filter, false, false, false},
    {"first-touch", first_touch, false, false, false},
    {"interleave", interleave, false, false, false},
    {"moron", nemo, false, false, false},
    {"uniform", uniform, false, false, false},
    {"hop", hop, false, false, false},
    {"variance", variance, false, false, false},
    {"neighbour", neighbour, true, false, false},
    {"home", home, false, false, false},
    {"kettle", kettle, false, true, true},
    {"replicate", replicate, false, false, false},
    {"group", group, false, false, false},
};

uint32_t seen_policy_find(const char *name)
{
    uint32_t i = 0;

    while (i < SEEN_POLICIES && strcmp(seen_policies[i].name, name) != 0)
        i++;
    return i;
}

static const char *const ways[SEEN_WAYS] = {"accessed", "faults"};

uint32_t seen_choice_of(const char *text)
{
    char name[24];
    uint32_t length = 0, policy = 0, way = 0;

    while (text[length] != '\0' && text[length] != ',' && length < sizeof(name) - 1) {
        name[length] = text[length];
        length++;
    }
    name[length] = '\0';
    if (strcmp(name, "default") != 0)
        policy = seen_policy_find(name) + 1;
    if (text[length] == ',') {
        while (way < SEEN_WAYS && strcmp(ways[way], text + length + 1) != 0)
            way++;
        way++;
    } else if (text[length] != '\0') {
        return SEEN_NO_CHOICE;
    }
    return policy <= SEEN_POLICIES && way <= SEEN_WAYS ? way << 6 | policy : SEEN_NO_CHOICE;
}
