/* What the home of a space knows of its kernels' use of memory, and which of their threads are to move: draw.md. What
 * others need is in seen.h. */
#ifndef MM_SEEN_DRAW_HOME_H
#define MM_SEEN_DRAW_HOME_H

#include "mm/seen/choice.h"
#include "mm/seen/table.h"
#include "mm/seen/wire.h"

/* SEEN has used PAGES sixteenths of a block of BYTES that is HERE and goes by POLICY; STAYS: its areas may move to no
 * node. BLOCK is what is known of it, or NULL: no other node uses it. */
void draw_note_locked(struct space *space, const struct seen_policy *policy, const struct msg_space_seen *seen,
                      const struct seen_block *block, uint32_t here, uint32_t pages, uint64_t bytes, bool stays);

/* Whether BLOCK, which is HERE, has several users and may move, is to stay yet, as these may come to it. */
bool draw_waits_locked(const struct seen *seen, const struct seen_block *block, uint32_t here);

#endif
