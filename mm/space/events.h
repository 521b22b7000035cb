/* Event counters of an address space on this kernel, named as in chapter 6 of the Popcorn thesis. mm/space/events.def
 * lists them, docs/events.md explains what each counts. */
#ifndef MM_SPACE_EVENTS_H
#define MM_SPACE_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/area/range.h"

struct space;

/* [k] all: space->lock */
struct space_stats {
#define EVENT(name) uint64_t name;
#include "mm/space/events.def"
};

#define SPACE_EVENT_TEXT 1920u /* bytes that all names and numbers take at most */

/* SUM becomes SUM + MORE. */
void space_stats_add(struct space_stats *sum, const struct space_stats *more);
/* Writes " name=number" for each event that has happened into TEXT, beginning with event *FROM (0 at first), until SIZE
 * bytes are full; sets *FROM to the event to continue with. Returns the length: 0 when there is nothing left. */
uint32_t space_stats_text(const struct space_stats *stats, uint32_t *from, char *text, uint32_t size);

/* The functions with _locked are called with space->lock held. */

/* Counts an answer of KIND (enum space_answer, not BUSY) to a question about a page. FILE: its area is backed by a
 * file. */
void space_count_answer_locked(struct space *space, uint32_t kind, bool file);
/* Counts a request for the distributed lock of RANGE. */
static inline void space_count_lock_locked(struct space_stats *stats, struct space_range range)
{
    if (range.end - range.start <= PAGE_SIZE)
        stats->page_locks++;
    else if (range.end == SPACE_HEAVY.end)
        stats->heavy_locks++;
    else
        stats->range_locks++;
}
/* Counts such a request that has to wait. */
void space_count_wait_locked(struct space *space, struct space_range range);

/* Registers the boot option events=on, with which a space that ends here writes its counters to the log. */
void space_events_init(void);
/* Writes the counters of SPACE to the log, if events=on. SPACE ends, and no other task uses it any more. */
void space_events_notify(struct space *space);

#endif
