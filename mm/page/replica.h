/* Replicas: this kernel's own copies of pages that are read from several nodes. mm/replicate/replicate.md describes the
 * protocol; mm/replicate has the home's side.
 *
 * A replicated page is copy-on-write on all kernels (PAGING_SOFT_REPLICATED), so nobody writes to its frame. A kernel
 * of another node may therefore map a copy of it (PAGING_SOFT_REPLICA), which only this kernel knows of. It may drop
 * the copy at any time without telling anybody, and does so before anything else is done with the page.
 *
 * Functions with _locked are called with space->lock held. Nothing here waits, but for flushes of this instance's TLBs.
 */
#ifndef MM_PAGE_REPLICA_H
#define MM_PAGE_REPLICA_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/arch/x86_64/paging.h"
#include "mm/space/space.h"

/* ENTRY maps a copy. */
static inline bool replica_is(uint64_t entry)
{
    return (entry & PAGING_SOFT_REPLICA) != 0;
}

/* Maps a copy of FRAME, which is replicated, at PAGE, whose entry is empty and has a table, in an area with PROT. The
 * copy is in *SPARE, a frame of this kernel, which becomes 0 then; *SPARE is 0 on entry: in a new frame by the area's
 * mempolicy. False: nothing is mapped, as FRAME is on a node of this kernel, there is little memory left, or the policy
 * wants other memory. */
bool replica_install_locked(struct space *space, uint64_t page, uint64_t frame, uint32_t prot, uint64_t *spare);

/* Drops the copies in [START, END), whose entries are empty afterwards. All of them: at most a leaf table's pages, or
 * a caller that may be long. */
void replicas_drop_all_locked(struct space *space, uint64_t start, uint64_t end);
static inline void replicas_drop_locked(struct space *space, uint64_t start, uint64_t end)
{
    if (__builtin_expect(space->replicas != 0, 0))
        replicas_drop_all_locked(space, start, end);
}

/* Drops all copies that this kernel has, in slices: what they take is free again. Tasks only; waits for nothing. */
void replicas_give_up(void);

/* At the home, with the whole space locked: no page is replicated any more; what was is copy-on-write as after a fork.
 * The caller has all members drop their copies before it unlocks the space. */
void replicas_end(struct space *space);

#endif
