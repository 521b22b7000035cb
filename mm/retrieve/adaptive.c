/* Retrieval strategy `adaptive`: measures what the answers of the home bring, for the decisions in mm/retrieve/adapt.h.
 * At the end of a window it checks, for a sample of the prefetched pages, whether a thread has touched them since (the
 * accessed bit). */
#include "mm/retrieve/adaptive.h"

#include "kernel/arch/x86_64/clock.h"
#include "mm/retrieve/adapt.h"
#include "mm/retrieve/internal.h"
#include "mm/retrieve/wire.h"
#include "mm/space/entry.h"

void space_adapt_answer_locked(struct space *space, uint64_t page, bool frame, uint64_t last)
{
    struct space_adapting *adapting = &space->adapting;

    adapting->window.answers++;
    adapting->window.frames += frame ? 1 : 0;
    if (last != 0 && adapting->samples < ADAPT_WINDOW) {
        uint32_t index = SPACE_RUN_INDEX(last) + SPACE_RUN_LENGTH(last) -
                         1; /* the page farthest behind the one that was asked for */
        uint64_t sample = (page & ~(LEAF_SIZE - 1)) + index * PAGE_SIZE;

        if (index < LEAF_ENTRIES && sample != page)
            adapting->sample[adapting->samples++] = sample;
    }
}

static void look_at_samples_locked(struct space *space)
{
    struct space_adapting *adapting = &space->adapting;

    for (uint32_t i = 0; i < adapting->samples; i++) {
        const uint64_t *entry = paging_look(&space->tables, adapting->sample[i]);

        if (entry == NULL || (*entry & PAGING_SOFT_PREFETCHED) == 0)
            continue; /* it is gone, or was mapped here before the answer */
        adapting->window.brought++;
        adapting->window.used += space_prefetch_used(
            *entry | (paging_large(&space->tables, adapting->sample[i]) & PAGING_ACCESSED));
    }
    adapting->samples = 0;
}

bool space_adapt_fault(struct space *space, uint64_t began)
{
    struct space_adapting *adapting = &space->adapting;
    struct adapt_choice choice = {.fill = false};
    uint64_t now = clock_now();

    spin_lock(&space->lock);
    if (adapting->since == 0)
        adapting->since = began;
    adapting->window.asked_ns += now - began;
    if (adapting->window.answers >= ADAPT_WINDOW) {
        look_at_samples_locked(space);
        adapting->window.all_ns = now - adapting->since;
        choice = adapt_choose(&adapting->window, space->prefetch);
        space->prefetch = choice.runs;
        adapting->window = (struct adapt_window){0};
        adapting->since = now;
    }
    choice.fill = choice.fill && !space->filled;
    spin_unlock(&space->lock);
    return choice.fill;
}

const struct space_retrieval space_retrieve_adaptive = {.name = "adaptive",
                                                        .fetch = space_fetch_home,
                                                        .record = space_record_home,
                                                        .record_many = space_record_many_home,
                                                        .home_knows = true,
                                                        .adapts = true};
