/* Which retrieval strategy a space has. See the header; mm/retrieve/retrieval.md has the protocols. */
#include "mm/retrieve/strategy.h"

#include "boot/options/control.h"
#include "kernel/lib/string.h"
#include "mm/retrieve/areas.h"
#include "mm/retrieve/internal.h"
#include "mm/retrieve/wire.h"

static const struct space_retrieval *const strategies[] = {&space_retrieve_home,      &space_retrieve_members,
                                                           &space_retrieve_broadcast, &space_retrieve_chain,
                                                           &space_retrieve_upfront,   &space_retrieve_adaptive};
#define STRATEGIES (sizeof(strategies) / sizeof(strategies[0]))

static volatile uint32_t chosen; /* [a] of new spaces */

static uint32_t index_of(const char *name)
{
    uint32_t i = 0;

    while (i < STRATEGIES && strcmp(strategies[i]->name, name) != 0)
        i++;
    return i;
}

static bool check_name(const char *value)
{
    return index_of(value) < STRATEGIES;
}

static void set_name(const char *value)
{
    chosen = index_of(value);
}

static struct option option = {.name = "retrieve", .check = check_name, .set = set_name};

static volatile uint32_t prefetch; /* [a] of new spaces */

static bool parse_prefetch(const char *value, uint32_t *runs)
{
    *runs = 0;
    for (const char *c = value; *c != '\0'; c++) {
        if (*c < '0' || *c > '9' || *runs > SPACE_RUNS_MAX)
            return false;
        *runs = 10 * *runs + (uint32_t)(*c - '0');
    }
    return *value != '\0' && *runs <= SPACE_RUNS_MAX;
}

static bool check_prefetch(const char *value)
{
    uint32_t runs;

    return parse_prefetch(value, &runs);
}

static void set_prefetch(const char *value)
{
    uint32_t runs;

    if (parse_prefetch(value, &runs))
        prefetch = runs;
}

static struct option prefetch_option = {.name = "prefetch", .check = check_prefetch, .set = set_prefetch};

#define MODE_STRATEGY(mode) ((uint32_t)(mode)&0xff)
#define MODE_COUNT(mode) ((mode) >> 8) /* of the changes so far */

const struct space_retrieval *space_strategy(uint32_t index)
{
    return index < STRATEGIES ? strategies[index] : NULL;
}

uint32_t space_strategy_find(const char *name)
{
    return index_of(name);
}

void space_mode_start(struct space *space)
{
    space->prefetch = prefetch;
    space->mode = chosen;
    space->retrieval = strategies[chosen];
}

/* One that is older than what is known was overtaken. What the strategy before has learnt means nothing any more. */
void space_mode_note_locked(struct space *space, uint64_t mode)
{
    if (MODE_STRATEGY(mode) >= STRATEGIES || MODE_COUNT(mode) < MODE_COUNT(space->mode))
        return;
    space->mode = mode;
    space->retrieval = strategies[MODE_STRATEGY(mode)];
    space->prefetch = prefetch;
    space->filled = false;
    space->adapting = (struct space_adapting){.since = 0};
}

void space_mode_note(struct space *space, uint64_t mode)
{
    spin_lock(&space->lock);
    space_mode_note_locked(space, mode);
    spin_unlock(&space->lock);
}

uint64_t space_mode_next_locked(struct space *space, uint32_t strategy)
{
    space_mode_note_locked(space, (MODE_COUNT(space->mode) + 1) << 8 | strategy);
    return space->mode;
}

void space_retrieve_init(void)
{
    option_add(&option);
    option_add(&prefetch_option);
    space_retrieve_members_init();
    space_retrieve_home_init();
    space_retrieve_chain_init();
    space_list_init();
    space_areas_init();
}
