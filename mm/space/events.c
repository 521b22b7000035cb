/* The event counters of an address space. See the header. */
#include "mm/space/events.h"

#include "boot/options/options.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/log.h"
#include "kernel/lib/printf.h"
#include "mm/space/space.h"
#include "mm/space/survey.h"
#include "mm/space/wire.h"

#define TOLD_BYTES 384u /* bytes of names and numbers in one line of the log */

static const char *const names[] = {
#define EVENT(name) #name,
#include "mm/space/events.def"
};
#define EVENTS (sizeof(names) / sizeof(names[0]))

_Static_assert(sizeof(struct space_stats) == EVENTS * sizeof(uint64_t), "numbers only");
_Static_assert(EVENTS * 40 <= SPACE_EVENT_TEXT, "a name has 16 characters at most, a number 20");

static bool notified; /* [i] boot option events=on */

static uint64_t value_of(const struct space_stats *stats, uint32_t i)
{
    return ((const uint64_t *)stats)[i];
}

void space_stats_add(struct space_stats *sum, const struct space_stats *more)
{
    for (uint32_t i = 0; i < EVENTS; i++)
        ((uint64_t *)sum)[i] += value_of(more, i);
}

uint32_t space_stats_text(const struct space_stats *stats, uint32_t *from, char *text, uint32_t size)
{
    uint32_t length = 0;

    for (; *from < EVENTS; ++*from) {
        uint64_t value = value_of(stats, *from);
        uint32_t room = size - length;
        int more = value != 0 ? snprintf(text + length, room, " %s=%lu", names[*from], (unsigned long)value) : 0;

        if ((uint32_t)more >= room) {
            text[length] = '\0';
            break;
        }
        length += (uint32_t)more;
    }
    return length;
}

void space_count_answer_locked(struct space *space, uint32_t kind, bool file)
{
    struct space_stats *stats = &space->stats;

    if (kind == SPACE_NONE)
        stats->fetched_none++;
    else if (kind == SPACE_FRAME)
        ++*(file ? &stats->frame_file : &stats->frame_anonymous);
    else
        ++*(file ? &stats->area_file : &stats->area_anonymous);
}

void space_count_wait_locked(struct space *space, struct space_range range)
{
    struct space_stats *stats = &space->stats;

    if (range.end - range.start <= PAGE_SIZE)
        stats->page_lock_waits++;
    else if (range.end == SPACE_HEAVY.end)
        stats->heavy_lock_waits++;
    else
        stats->range_lock_waits++;
}

void space_events_init(void)
{
    notified = option_is(instance.cmdline, "events", "on");
}

void space_events_notify(struct space *space)
{
    struct space_stats stats = space->stats;
    struct space_pages pages;
    char text[TOLD_BYTES];
    uint32_t from = 0;

    if (!notified)
        return;
    space_count_pages(space, &pages);
    stats.prefetch_used += pages.prefetch_used;
    while (space_stats_text(&stats, &from, text, sizeof(text)) > 0)
        log_event("events %lu %u %u %s%s", (unsigned long)space->id, instance.kernel, space->home,
                  space->retrieval->name, text);
}
