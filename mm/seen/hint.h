/* Accesses that faults show: entries are made not present, and the next access to the page is a fault, which says the
 * node of the CPU. mm/seen/hints.md describes it. */
#ifndef MM_SEEN_HINT_H
#define MM_SEEN_HINT_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/seen/wire.h"
#include "mm/space/space.h"

/* Makes hidden entries possible in SPACE. False: no memory. */
bool hint_begin_locked(struct space *space);
/* Hides what the leaf table of VA maps, and flushes. Without memory nothing is hidden. */
void hint_hide_locked(struct space *space, uint64_t va);
/* PAGE faults, its area allows the access, and its entry is SEEN (paging_look): makes it present if it is hidden, and
 * counts the access for the node of this CPU. Without memory it is not counted. */
void hint_take_locked(struct space *space, uint64_t page, const uint64_t *seen);
/* Takes what faults have counted in one leaf table by one node; *REMOTE: some of it was memory of another node. False:
 * there is nothing more. */
bool hint_next_locked(struct space *space, struct msg_space_seen *out, bool *remote);
/* Forgets what faults have counted of SPACE. What is hidden stays so. */
void hint_forget_locked(struct space *space);
/* Frees what is counted of SPACE, which ends. */
void hint_end(struct space *space);

#endif
