/* Counting what happens to an address space on this kernel, under the names of the Popcorn thesis's chapter 6.
 * mm/space/events.def has the list, docs/events.md what each counts. */
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

#define SPACE_EVENT_TEXT 1024u /* bytes that all names and numbers take at most */

/* SUM becomes SUM + MORE. */
void space_stats_add(struct space_stats *sum, const struct space_stats *more);
/* Writes " name=number" for each event that has happened into TEXT, from *FROM (0 at first) on as far as SIZE bytes
 * have room; *FROM is where to go on. Returns the length: 0 when there is nothing left. */
uint32_t space_stats_text(const struct space_stats *stats, uint32_t *from, char *text, uint32_t size);

/* The lock of the space is held. */

/* Another kernel, or its lack of an answer, told KIND (enum space_answer, no BUSY) for a page whose area has PROT. */
void space_count_answer_locked(struct space *space, uint32_t kind, bool file);
/* The distributed lock of RANGE is asked for; and it was not free. */
void space_count_lock_locked(struct space *space, struct space_range range);
void space_count_wait_locked(struct space *space, struct space_range range);

/* Boot option events=on: a space that ends here says in the log what it has counted. */
void space_events_init(void);
/* It ends: no other task has it any more. */
void space_events_tell(struct space *space);

#endif
