/* The retrieval strategy of a space. See the header; mm/retrieve/retrieval.md has the protocols. */
#include "mm/retrieve/strategy.h"

#include "boot/options/control.h"
#include "boot/options/options.h"
#include "kernel/lib/printf.h"
#include "kernel/lib/string.h"
#include "mm/retrieve/areas.h"
#include "mm/retrieve/internal.h"
#include "mm/retrieve/wire.h"
#include "mm/seen/seen.h"

static const struct space_retrieval *const strategies[] = {
#define STRATEGY(name, finds, asks, messages, frame) &space_retrieve_##name,
#include "mm/retrieve/strategies.def"
#undef STRATEGY
};
#define STRATEGIES (sizeof(strategies) / sizeof(strategies[0]))

static volatile uint32_t chosen; /* [a] the strategy of new spaces */

static uint32_t index_of(const char *name)
{
    uint32_t i = 0;

    while (i < STRATEGIES && strcmp(strategies[i]->name, name) != 0)
        i++;
    return i;
}

static bool is_name(const char *value)
{
    return index_of(value) < STRATEGIES;
}

static void set_name(const char *value)
{
    chosen = index_of(value);
}

static struct option option = {.name = "retrieve", .check = is_name, .set = set_name};

static volatile uint32_t prefetch; /* [a] the runs of new spaces */

static void set_prefetch(const char *value)
{
    uint64_t runs;

    if (option_parse_number(value, SPACE_RUNS_MAX, &runs))
        prefetch = (uint32_t)runs;
}

static struct option prefetch_option = {.name = "prefetch", .set = set_prefetch};

#define MODE_STRATEGY(mode) ((uint32_t)(mode)&0xff)
#define MODE_NUMA(mode) ((uint32_t)((mode) >> 8) & 0xff) /* as space->numa */
#define MODE_COUNT(mode) ((mode) >> 16)                  /* the number of changes so far */
#define MODE(strategy, numa, count) ((uint64_t)(count) << 16 | (uint64_t)(numa) << 8 | (strategy))

const struct space_retrieval *space_strategy(uint32_t index)
{
    return index < STRATEGIES ? strategies[index] : NULL;
}

uint32_t space_strategy_find(const char *name)
{
    return index_of(name);
}

size_t space_strategy_report(char *bytes, size_t size, uint64_t *cursor)
{
    size_t length = 0;

    *cursor = 0;
#define DIRECTORY "directory"
#define ASKING "asking"
#define STRATEGY(name, finds, asks, messages, frame)                                                                   \
    length += (size_t)snprintf(bytes + length, length < size ? size - length : 0, "%-12s%-12s%s\n", #name, finds, asks);
#include "mm/retrieve/strategies.def"
#undef STRATEGY
#undef ASKING
#undef DIRECTORY
    return length < size ? length : size - 1;
}

void space_mode_start(struct space *space)
{
    space->prefetch = prefetch;
    space->mode = chosen;
    space->retrieval = strategies[chosen];
}

/* Ignores a mode that is older than the recorded one, because a newer one has overtaken it. The measurements under the
 * old strategy are discarded. */
void space_mode_note_locked(struct space *space, uint64_t mode)
{
    uint32_t before = MODE_STRATEGY(space->mode);

    if (MODE_STRATEGY(mode) >= STRATEGIES || !seen_choice_valid(MODE_NUMA(mode)) ||
        MODE_COUNT(mode) < MODE_COUNT(space->mode))
        return;
    space->mode = mode;
    seen_choose_locked(space, MODE_NUMA(mode));
    if (MODE_STRATEGY(mode) == before && MODE_COUNT(mode) != 0 && space->retrieval == strategies[before])
        return; /* the policy alone has changed, or nothing */
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
    space_mode_note_locked(space, MODE(strategy, MODE_NUMA(space->mode), MODE_COUNT(space->mode) + 1));
    return space->mode;
}

uint64_t space_mode_numa_locked(struct space *space, uint32_t numa)
{
    space_mode_note_locked(space, MODE(MODE_STRATEGY(space->mode), numa, MODE_COUNT(space->mode) + 1));
    return space->mode;
}

void space_retrieve_init(void)
{
    option_add(&option);
    option_add(&prefetch_option);
    for (uint32_t i = 0; i < STRATEGIES; i++) {
        if (strategies[i]->init != NULL)
            strategies[i]->init();
    }
    space_list_init();
    space_areas_init();
}
