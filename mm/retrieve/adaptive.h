/* Strategy `adaptive`: its measurements. mm/retrieve/adapt.h has its decisions. */
#ifndef MM_RETRIEVE_ADAPTIVE_H
#define MM_RETRIEVE_ADAPTIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/space/space.h"

/* Records an answer for PAGE. FRAME: it had a frame. LAST: the last run of pages (SPACE_RUN) that it brought along, or
 * 0. */
void space_adapt_answer_locked(struct space *space, uint64_t page, bool frame, uint64_t last);
/* Records a fault that began at BEGAN (ns) and has just been answered. True: the caller has to fetch the whole
 * space. */
bool space_adapt_fault(struct space *space, uint64_t began);

#endif
