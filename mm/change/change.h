/* Changes of an address space, as Linux's calls make them, whichever kernels the space spans: mm/retrieve/retrieval.md.
 */
#ifndef MM_CHANGE_CHANGE_H
#define MM_CHANGE_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/space/space.h"
#include "mm/space/wire.h"

/* As Linux's mmap, munmap, mprotect and brk; arguments checked. They wait. HOW: enum space_map_how; without
 * a fixed place ADDRESS is a hint. PROT may have more than AREA_PROT when mapping. BACKING: what is behind it
 * (mm/area/backing.h). -EACCES: memory shared with a file is not to be written. space_discard is madvise's
 * MADV_DONTNEED; shared pages keep what they have. */
int64_t space_map(struct space *space, uint64_t address, uint64_t length, uint32_t prot, uint32_t how,
                  uint64_t backing);
/* Gives the pages of [ADDRESS, ADDRESS + LENGTH), which has been mapped with PROT, frames as far as there are any. */
void space_map_fill(struct space *space, uint64_t address, uint64_t length, uint32_t prot);
int space_unmap(struct space *space, uint64_t address, uint64_t length);
/* As shmdt: takes out what a shmat at ADDRESS has mapped (BACKING_ATTACHED), as far as it is there. -EINVAL: nothing.
 */
int space_detach(struct space *space, uint64_t address);
int space_protect(struct space *space, uint64_t address, uint64_t length, uint32_t prot);
int space_discard(struct space *space, uint64_t address, uint64_t length);
/* The area that has ADDRESS or is the first behind it: WHAT of it, and AREA_* in the low 12 bits. -ENOMEM: there is
 * none. Waits for the home. */
int64_t space_look(struct space *space, uint64_t address, enum space_look_at what);
/* All areas in [START, END) lack the bits FORBIDDEN, of which AREA_BACKED may be one, and have the bits NEEDED
 * (AREA_*): 0, or 1 when a part is in no area; -EINVAL; -EACCES: AREA_SHARED is needed, and it is a file's. */
int space_check(struct space *space, uint64_t start, uint64_t end, uint32_t forbidden, uint32_t needed);
/* The areas in [START, END) lose the bits CLEAR, of AREA_KEPT, and get the bits SET. -EINVAL: one has a bit that is
 * FORBIDDEN; -ENOMEM. Waits. */
int space_flag(struct space *space, uint64_t start, uint64_t end, uint32_t forbidden, uint32_t set, uint32_t clear);
/* New areas get AREA_LOCKED and are filled, or not, from now on. */
int space_lock_later(struct space *space, bool lock);
/* Gives the pages of [START, END) frames, for writing or reading. -EINVAL: an area forbids that; -ENOMEM: a part is in
 * no area, or there is no memory. BEST: as each area allows; -EFAULT: one allows nothing, or a file ends before. Waits.
 */
enum space_fill { SPACE_FILL_READ, SPACE_FILL_WRITE, SPACE_FILL_BEST };
int space_fill_range(struct space *space, uint64_t start, uint64_t end, enum space_fill how);
/* Which of the pages from START on, COUNT of them, 32 at most, have a frame: a bit for each. Negative: an errno. */
int64_t space_resident_pages(struct space *space, uint64_t start, uint32_t count);
/* The pages of [START, END), which is shared, are filled with zeros for all who share them. -ENOMEM: they cannot all be
 * had here, or a part is in no area any more. Waits. */
int space_empty(struct space *space, uint64_t start, uint64_t end);
/* When it returns, each thread that uses SPACE, on any kernel, has executed a full memory fence since it was called.
 * -ENOMEM. Waits. */
int space_fence(struct space *space);
/* The same for every thread on every kernel, whichever space it uses. */
int space_fence_all(void);
/* As Linux's mremap; all arguments are checked. FLAGS: as there. */
int64_t space_remap(struct space *space, uint64_t address, uint64_t old_length, uint64_t new_length, uint64_t flags,
                    uint64_t new_address);
uint64_t space_break(struct space *space, uint64_t address);
/* Sets where the break of the program being loaded begins. */
void space_set_break(struct space *space, uint64_t start);

/* Has the home, which may be this kernel, perform CHANGE, which only the home can decide, and returns its answer. If
 * the operation needs the lock of its range, the caller holds it. Waits. */
int64_t space_ask_home(struct space *space, const struct msg_space_change *change);

/* Registers the messages. Once. */
void space_change_init(void);
void space_fence_init(void);

#endif
