/* Pages that are read from several nodes: each kernel of another node than the page's maps a copy of its own, until
 * somebody writes to the page. replicate.md describes the protocol; mm/page/replica.h has the copies. */
#ifndef MM_REPLICATE_REPLICATE_H
#define MM_REPLICATE_REPLICATE_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/space/space.h"

/* Replicates the pages of [*START, END), which are whole, of SPACE, whose home is this kernel: those of private
 * anonymous memory that have a frame. Kernels of other nodes get their copies when they read them next. A page whose
 * frame is not the home's memory gets one that is; where the mempolicy forbids that, it stays as it is. FOLLOWS: nobody
 * has asked for these pages, so those stay, too, that may not follow their users (seen_may_follow). A call does 2 MiB
 * at most of what is mapped, and sets *START to where the next one is to continue. Returns how many of its pages are
 * replicated, or a negative errno: -EOPNOTSUPP: the strategy of retrieval finds pages by asking; -ENOMEM: no memory for
 * messages, after a part has been replicated; or an error of the lock. Tasks only; waits for the kernels that may have
 * the pages. */
int64_t space_replicate(struct space *space, uint64_t *start, uint64_t end, bool follows);

#endif
