/* Strategy adaptive: what it is told of faults, and says. What it decides is in mm/retrieve/adapt.h. */
#ifndef MM_RETRIEVE_ADAPTIVE_H
#define MM_RETRIEVE_ADAPTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/space/space.h"

/* An answer has come for PAGE: with a frame, or without; LAST: the last run of pages (SPACE_RUN) that it has brought
 * along, or 0. */
void space_adapt_answer_locked(struct space *space, uint64_t page, bool frame, uint64_t last);
/* A fault that began then (ns) has been answered. True: get all that there is. */
bool space_adapt_fault(struct space *space, uint64_t began);

#endif
