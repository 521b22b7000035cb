/* Each policy on recorded traces (tests/mm/seen/data; the head of each file has the commands that made it): what it
 * decides at each report is what its rule says, as it is written down here once more, and what its placement costs is
 * held against the best placement for the whole trace, which tools/hosttools/measure/optimum.py has found, too. Run
 * from the project's folder.
 *
 * sources: mm/seen/choice.c mm/space/account.c kernel/lib/string.c */
#include "mm/seen/choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mm/seen/block.h"
#include "mm/space/account.h"
#include "msg/message.h"
#include "tests/test.h"

#define NODES 8u
#define BLOCKS 32u
#define USES 2048u
#define HALF 2u             /* periods after which counts are halved */
#define PERIOD 500000000ull /* ns */
#define WRITTEN 4u          /* so long a write is lately, halved like the counts */

/* A node's use of a block in a period. */
struct use {
    uint32_t period, block, node, sixteenths, accesses;
    bool writes;
};

struct history {
    uint32_t nodes, blocks, periods, count;
    uint64_t accesses, placed, fixed, moving; /* as optimum.py says: sums of distances */
    uint32_t first[BLOCKS];                   /* where each block was */
    struct use uses[USES];
};

static const char *const names[] = {"cross", "sequential", "lud"};
#define HISTORIES (sizeof(names) / sizeof(names[0]))

static uint8_t distance[NODES_MAX][NODES_MAX];
static struct history history;

/* --- reading --- */

static void read_head(FILE *file, struct history *to)
{
    char line[512], *at;

    while (fgets(line, sizeof(line), file) != NULL && line[0] == '#')
        ;
    CHECK(sscanf(line, "nodes %u", &to->nodes) == 1 && to->nodes <= NODES);
    for (uint32_t i = 0; i < to->nodes; i++) {
        at = fgets(line, sizeof(line), file);
        for (uint32_t j = 0; j < to->nodes; j++)
            distance[i][j] = (uint8_t)strtoul(at, &at, 10);
    }
    CHECK(fgets(line, sizeof(line), file) != NULL);
    CHECK(sscanf(line, "optimum %lu %lu %lu %lu", &to->accesses, &to->placed, &to->fixed, &to->moving) == 4);
    CHECK(fgets(line, sizeof(line), file) != NULL && strncmp(line, "blocks", 6) == 0);
    at = line + 6;
    for (to->blocks = 0; *at == ' '; to->blocks++) {
        CHECK(to->blocks < BLOCKS);
        to->first[to->blocks] = (uint32_t)strtoul(at, &at, 10);
    }
}

static void read_history(const char *name, struct history *to)
{
    char path[100], line[512];
    FILE *file;

    snprintf(path, sizeof(path), "tests/mm/seen/data/%s.txt", name);
    file = fopen(path, "r");
    CHECK(file != NULL);
    memset(to, 0, sizeof(*to));
    memset(distance, 0, sizeof(distance));
    read_head(file, to);
    while (fgets(line, sizeof(line), file) != NULL) {
        char *at = line;
        uint32_t block;

        if (strcmp(line, "period\n") == 0) {
            to->periods++;
            continue;
        }
        block = (uint32_t)strtoul(at, &at, 10);
        while (*at == ' ') {
            struct use *use = &to->uses[to->count++];

            CHECK(to->count <= USES && block < to->blocks && to->periods != 0);
            *use = (struct use){.period = to->periods - 1, .block = block};
            use->node = (uint32_t)strtoul(at + 1, &at, 10);
            use->sixteenths = (uint32_t)strtoul(at + 1, &at, 10);
            use->accesses = (uint32_t)strtoul(at + 1, &at, 10);
            use->writes = *at == 'w';
            at += use->writes;
            CHECK(use->node < to->nodes && use->sixteenths >= 1 && use->sixteenths <= 16 && use->accesses != 0);
        }
        CHECK_EQ(*at, '\n');
    }
    fclose(file);
}

/* --- the rules, once more (mm/numa.md) --- */

/* The node of the highest of VALUES; of equal ones HERE, else the lowest. */
static uint32_t highest(const struct seen_view *view, const double *values)
{
    uint32_t best = 0;

    for (uint32_t node = 1; node < view->nodes; node++) {
        if (values[node] > values[best])
            best = node;
    }
    return values[view->here] >= values[best] ? view->here : best;
}

/* The node from which USED costs least. */
static uint32_t nearest(const struct seen_view *view, const double *used)
{
    double saved[NODES] = {0};

    for (uint32_t node = 0; node < view->nodes; node++) {
        for (uint32_t from = 0; from < view->nodes; from++)
            saved[node] -= used[from] * view->distance[node][from];
    }
    return highest(view, saved);
}

static double sum_of(const struct seen_view *view, const double *values)
{
    double sum = 0;

    for (uint32_t node = 0; node < view->nodes; node++)
        sum += values[node];
    return sum;
}

static uint32_t expect_kettle(const struct seen_view *view, const double *used)
{
    double most = used[highest(view, used)], way = 0, longer = 0;
    uint32_t count = 0, least = UINT32_MAX;
    bool here = false;

    for (uint32_t node = view->nodes; node-- > 0;) {
        if (used[node] == 0 || used[node] < most / 16)
            continue;
        count++;
        here |= node == view->here;
        way += view->distance[view->here][node];
        if (least == UINT32_MAX || view->load[node] <= view->load[least])
            least = node;
    }
    if (view->fresh || view->pages < 2 || view->replicated)
        return view->here;
    if (count == 1)
        return nearest(view, used);
    if (!view->settled)
        return view->here;
    if (view->written == 0)
        return SEEN_REPLICATE;
    for (uint32_t node = 0; node < view->nodes; node++) {
        if (used[node] != 0 && used[node] >= most / 16)
            longer += view->distance[least][node];
    }
    if (longer > way * 1.25)
        return view->here;
    if (!here)
        return least;
    /* five to three, and more equal afterwards */
    return 3.0 * view->load[view->here] >= 5.0 * view->load[least] &&
                   (double)view->load[view->here] - view->weight >= (double)view->load[least] + view->weight
               ? least
               : view->here;
}

/* Where the policy NAME wants the block of VIEW; its node: it stays. NODES_MAX: there is no rule here. */
static uint32_t expect(const char *name, const struct seen_view *view)
{
    double used[NODES], around[NODES], spread = 0;
    uint32_t best, users = 0;
    bool leads = true;

    for (uint32_t node = 0; node < view->nodes; node++) {
        used[node] = view->used[node];
        around[node] = used[node] + (view->before != NULL ? view->before[node] / 2.0 : 0) +
                       (view->after != NULL ? view->after[node] / 2.0 : 0);
        users += used[node] != 0;
    }
    best = highest(view, used);
    for (uint32_t node = 0; node < view->nodes; node++) {
        leads &= node == best || used[best] >= used[node] + 2;
        spread += (used[best] - used[node]) * (used[best] - used[node]) / view->nodes;
    }
    if (strcmp(name, "nemo") == 0 || strcmp(name, "moron") == 0)
        return view->now;
    if (strcmp(name, "two-fault") == 0)
        return view->last == view->now ? view->now : view->here;
    if (strcmp(name, "share") == 0)
        return used[best] > sum_of(view, used) / 2 ? best : view->here;
    if (strcmp(name, "threshold") == 0)
        return used[best] - used[view->here] >= 24 ? best : view->here;
    if (strcmp(name, "filter") == 0)
        return leads ? best : view->here;
    if (strcmp(name, "first-touch") == 0)
        return view->here;
    if (strcmp(name, "interleave") == 0)
        return (uint32_t)(view->block % view->nodes);
    if (strcmp(name, "uniform") == 0)
        return best;
    if (strcmp(name, "hop") == 0)
        return nearest(view, used);
    if (strcmp(name, "variance") == 0) /* numbers of sixteenths: no rounding decides */
        return spread + 1e-9 >= 4.0 * (view->nodes - 1) / view->nodes ? best : view->here;
    if (strcmp(name, "neighbour") == 0)
        return nearest(view, around);
    if (strcmp(name, "home") == 0)
        return view->home;
    if (strcmp(name, "group") == 0)
        return view->group != SEEN_STAYS ? view->group : view->here;
    if (strcmp(name, "kettle") == 0)
        return expect_kettle(view, used);
    if (strcmp(name, "replicate") == 0) {
        if (view->replicated)
            return view->here;
        if (users > 1)
            return view->settled && view->written == 0 ? SEEN_REPLICATE : view->here;
        return view->last == view->now ? view->now : view->here;
    }
    return NODES_MAX;
}

/* --- a run --- */

struct block {
    uint16_t used[NODES];
    uint32_t here, last, weight, written;
    uint32_t known, shared; /* since which period, from 1; 0: not */
    uint32_t lately, moved; /* how often it has moved lately, and when, in halves */
    bool replicated;
};

static struct block blocks[BLOCKS];
static uint64_t price; /* of a first move, in ns; 0: nothing is paid */
static struct seen_account account;

struct outcome {
    uint64_t cost;           /* sum of distances of all accesses */
    uint64_t spent, dearest; /* ns on moves, and on one of them */
    uint32_t asked, moves, copies, refused;
};

/* Whether BLOCK may move in PERIOD by the account, which pays for it then (mm/numa.md). */
static bool pays(struct block *block, uint32_t period, struct outcome *outcome)
{
    uint32_t now = period / HALF, rests = (now - block->moved) / SEEN_RESTS;
    uint32_t lately = block->lately > rests ? block->lately - rests : 0;

    if (!seen_account_has(&account)) {
        outcome->refused++;
        return false;
    }
    seen_account_pay(&account, price << lately);
    outcome->spent += price << lately;
    outcome->dearest = price << lately > outcome->dearest ? price << lately : outcome->dearest;
    block->lately = lately < SEEN_DEAR ? lately + 1 : lately;
    block->moved = now;
    return true;
}

static void fill_loads(const struct history *of, uint32_t *load)
{
    memset(load, 0, NODES * sizeof(*load));
    for (uint32_t i = 0; i < of->blocks; i++)
        load[blocks[i].here] += blocks[i].shared != 0 && !blocks[i].replicated ? blocks[i].weight : 0;
}

/* The report of USE comes to the home, as in mm/seen/seen.c. */
static void report(const struct history *of, const struct seen_policy *policy, const struct use *use,
                   struct outcome *outcome)
{
    struct block *block = &blocks[use->block];
    uint32_t pages = use->sixteenths < 15 ? use->sixteenths : 15, load[NODES], to, wanted;
    struct seen_view view = {.nodes = of->nodes,
                             .memory = (1ull << of->nodes) - 1,
                             .block = use->block,
                             .here = block->here,
                             .group = use->block % 4 != 0 ? use->block % of->nodes : SEEN_STAYS,
                             .now = use->node,
                             .pages = pages,
                             .last = block->last,
                             .used = block->used,
                             .load = load,
                             .before = policy->beside && use->block > 0 ? block[-1].used : NULL,
                             .after = policy->beside && use->block + 1 < of->blocks ? block[1].used : NULL,
                             .distance = distance};

    if (block->here == use->node && block->known == 0)
        return;
    if (block->known == 0)
        block->known = use->period + 1;
    block->used[use->node] = (uint16_t)(block->used[use->node] + pages);
    block->weight = pages > block->weight ? pages : block->weight;
    if (use->writes) {
        block->written = WRITTEN;
        block->replicated = false;
    }
    if (kernel_set_count(seen_users(block->used, of->nodes)) < 2)
        block->shared = 0;
    else if (block->shared == 0)
        block->shared = use->period + 1;
    fill_loads(of, load);
    view.fresh = block->known == use->period + 1;
    view.settled = block->shared != 0 && use->period + 1 - block->shared >= HALF;
    view.weight = block->weight;
    view.written = block->written;
    view.replicated = block->replicated;
    to = policy->choose(&view);
    outcome->asked++;
    wanted = expect(policy->name, &view);
    CHECK(wanted != NODES_MAX);
    CHECK_EQ(to, wanted == block->here ? SEEN_STAYS : wanted);
    block->last = use->node;
    if (to != SEEN_STAYS && policy->bounded && price != 0 && !pays(block, use->period, outcome))
        to = SEEN_STAYS;
    if (to == SEEN_REPLICATE) {
        block->replicated = true;
        outcome->copies++;
    } else if (to != SEEN_STAYS) {
        block->here = to;
        outcome->moves++;
    }
}

static void grow_old(const struct history *of)
{
    for (uint32_t i = 0; i < of->blocks; i++) {
        for (uint32_t node = 0; node < of->nodes; node++)
            blocks[i].used[node] /= 2;
        blocks[i].written /= 2;
        blocks[i].weight /= 2;
    }
}

static struct outcome run(const struct history *of, const struct seen_policy *policy)
{
    struct outcome outcome = {0};

    account = (struct seen_account){0};
    memset(blocks, 0, sizeof(blocks));
    for (uint32_t i = 0; i < of->blocks; i++) {
        blocks[i].here = of->first[i];
        blocks[i].last = SEEN_STAYS;
    }
    for (uint32_t period = 0, at = 0; period < of->periods; period++) {
        uint32_t first = at;

        seen_account_fill(&account, &seen_moves, 1 + period * PERIOD, HALF * PERIOD, of->nodes);
        for (; at < of->count && of->uses[at].period == period; at++) {
            const struct use *use = &of->uses[at];
            const struct block *block = &blocks[use->block];
            uint32_t where = block->replicated && !use->writes ? use->node : block->here;

            outcome.cost += (uint64_t)use->accesses * distance[where][use->node];
        }
        for (uint32_t i = first; i < at; i++)
            report(of, policy, &of->uses[i], &outcome);
        if (period % HALF == HALF - 1)
            grow_old(of);
    }
    return outcome;
}

/* What the accesses to block BLOCK cost if it is on NODE in the periods [FROM, END). */
static uint64_t cost_on(const struct history *of, uint32_t block, uint32_t node, uint32_t from, uint32_t end)
{
    uint64_t cost = 0;

    for (uint32_t i = 0; i < of->count; i++) {
        const struct use *use = &of->uses[i];

        if (use->block == block && use->period >= from && use->period < end)
            cost += (uint64_t)use->accesses * distance[node][use->node];
    }
    return cost;
}

static uint64_t best_of(const struct history *of, uint32_t from, uint32_t end)
{
    uint64_t sum = 0;

    for (uint32_t block = 0; block < of->blocks; block++) {
        uint64_t least = UINT64_MAX;

        for (uint32_t node = 0; node < of->nodes; node++) {
            uint64_t cost = cost_on(of, block, node, from, end);

            least = cost < least ? cost : least;
        }
        sum += least;
    }
    return sum;
}

TEST(trace_optimum, "the best placement of each recorded trace is the one that kettle numa optimum found for it")
{
    for (size_t i = 0; i < HISTORIES; i++) {
        uint64_t accesses = 0, moving = 0;

        read_history(names[i], &history);
        for (uint32_t at = 0; at < history.count; at++)
            accesses += history.uses[at].accesses;
        for (uint32_t period = 0; period < history.periods; period++)
            moving += best_of(&history, period, period + 1);
        CHECK_EQ(accesses, history.accesses);
        CHECK_EQ(best_of(&history, 0, history.periods), history.fixed);
        CHECK_EQ(moving, history.moving);
    }
}

TEST(trace_rules, "each policy decides at each report of each recorded trace what its rule says, and is asked")
{
    for (uint32_t p = 1; p < SEEN_POLICIES; p++) {
        uint32_t moves = 0, copies = 0;
        const char *name = seen_policies[p].name;

        for (size_t i = 0; i < HISTORIES; i++) {
            struct outcome outcome;

            read_history(names[i], &history);
            outcome = run(&history, &seen_policies[p]);
            CHECK(outcome.asked > history.periods);
            moves += outcome.moves;
            copies += outcome.copies;
            printf("# %-11s %-10s mean distance %5.2f, %3u moves, %2u copied\n", name, names[i],
                   (double)outcome.cost / (double)history.accesses, outcome.moves, outcome.copies);
        }
        CHECK((moves != 0) == (strcmp(name, "first-touch") != 0));
        CHECK((copies != 0) == (strcmp(name, "kettle") == 0 || strcmp(name, "replicate") == 0));
    }
}

TEST(trace_bound,
     "kettle costs at most 6 % more than blocks on their best nodes in each period, and less than fixed ones")
{
    for (size_t i = 0; i < HISTORIES; i++) {
        struct outcome kettle, first;

        read_history(names[i], &history);
        kettle = run(&history, &seen_policies[seen_policy_find("kettle")]);
        first = run(&history, &seen_policies[seen_policy_find("first-touch")]);
        CHECK(100 * kettle.cost <= 106 * history.moving);
        CHECK(kettle.cost <= history.fixed);
        CHECK(kettle.cost <= first.cost);
    }
}

TEST(trace_account, "what kettle spends on each recorded trace is bounded, whatever a move costs, and is not in vain")
{
    static const uint64_t prices[] = {1, PERIOD / 10000, PERIOD / 100, PERIOD / 4, 100 * PERIOD};

    for (size_t i = 0; i < HISTORIES; i++) {
        const struct seen_policy *kettle = &seen_policies[seen_policy_find("kettle")];
        struct outcome first, paid;
        uint32_t refused = 0;

        read_history(names[i], &history);
        first = run(&history, &seen_policies[seen_policy_find("first-touch")]);
        for (size_t k = 0; k < sizeof(prices) / sizeof(prices[0]); k++) {
            price = prices[k];
            paid = run(&history, kettle);
            price = 0;
            printf("# %-10s %12lu ns a move: mean distance %5.2f, %3u moves, %2u copied, %3u refused\n", names[i],
                   prices[k], (double)paid.cost / (double)history.accesses, paid.moves, paid.copies, paid.refused);
            CHECK(paid.spent <= history.nodes * history.periods * PERIOD / seen_moves.part + paid.dearest);
            CHECK(paid.moves + paid.copies != 0);
            CHECK(paid.cost <= first.cost);
            CHECK(paid.refused >= refused);
            refused = paid.refused;
        }
        CHECK(refused != 0);
    }
}
