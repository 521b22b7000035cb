/* Changes of an address space, as Linux's calls make them, whichever kernels the space spans: mm/retrieve/retrieval.md.
 */
#ifndef MM_CHANGE_CHANGE_H
#define MM_CHANGE_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/abi/errno.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"

/* As Linux's mmap, munmap, mprotect and brk, which check their arguments; -ENOLCK instead of -EAGAIN if RLIMIT_MEMLOCK
 * does not allow a mapping. They wait. HOW: enum space_map_how; without
 * a fixed place, ADDRESS is a hint. PROT may have bits outside AREA_PROT when mapping. BACKING: the backing of the new
 * area (mm/area/backing.h). space_protect returns -EACCES if a shared mapping of a read-only file would become
 * writable. space_discard is madvise's MADV_DONTNEED; shared pages keep their frames. */
int64_t space_map(struct space *space, uint64_t address, uint64_t length, uint32_t prot, uint32_t how,
                  uint64_t backing);
/* Gives the pages of [ADDRESS, ADDRESS + LENGTH), which has been mapped with PROT, frames as far as memory lasts. */
void space_map_fill(struct space *space, uint64_t address, uint64_t length, uint32_t prot);
int space_unmap(struct space *space, uint64_t address, uint64_t length);
/* As shmdt: unmaps what is left of the areas that a shmat at ADDRESS has made (BACKING_ATTACHED). -EINVAL: there is
 * none. */
int space_detach(struct space *space, uint64_t address);
int space_protect(struct space *space, uint64_t address, uint64_t length, uint32_t prot);
int space_discard(struct space *space, uint64_t address, uint64_t length);
/* Returns WHAT (enum space_look_at) of the area that contains ADDRESS or, for some values of WHAT, the first area above
 * it. -ENOMEM: there is no such area. Waits for the home. */
int64_t space_look(struct space *space, uint64_t address, enum space_look_at what);
/* Checks that all areas in [START, END) have the bits NEEDED (AREA_*) and lack the bits FORBIDDEN, which may include
 * AREA_BACKED. Returns 0, or 1 when part of the range is in no area; -EINVAL. Waits. */
int space_check(struct space *space, uint64_t start, uint64_t end, uint32_t forbidden, uint32_t needed);
/* Clears the bits CLEAR (of AREA_KEPT, but AREA_POLICY) and sets the bits SET in the areas of [START, END). Returns 0,
 * or 1 when part of the range is in no area. -EINVAL: an area has one of the bits FORBIDDEN, which may include
 * AREA_BACKED; -ENOLCK: RLIMIT_MEMLOCK does not allow it; -ENOMEM. Waits. */
int space_flag(struct space *space, uint64_t start, uint64_t end, uint32_t forbidden, uint32_t set, uint32_t clear);
/* Gives the areas of [START, END) the policy NUMBER (mempolicy_number; 0: none). MARKS: pages that are elsewhere than
 * it wants them move when they are touched (mm/move/lazy.md). Returns 0, or 1 when part of the range is in no area.
 * -ENOMEM. Waits. */
int space_set_policy(struct space *space, uint64_t start, uint64_t end, uint32_t number, bool marks);
/* As mlockall: locks all areas (CURRENT), and sets whether areas made from now on get AREA_LOCKED (LATER) and are
 * filled at once (FILL). -ENOLCK: RLIMIT_MEMLOCK does not allow the former; nothing has changed. space_unlock_all
 * undoes both. -ENOMEM. They wait. */
int space_lock_all(struct space *space, bool current, bool later, bool fill);
int space_unlock_all(struct space *space);
/* Gives the pages of [START, END) frames, for writing or reading. -EINVAL: an area does not allow that; -ENOMEM: part
 * of the range is in no area, or there is no memory. BEST: for writing in private writable areas, else for reading;
 * then -EFAULT: an area allows no access, or a page is lost. -EFAULT also for a page behind the end of its object,
 * -EHWPOISON for one that was lost with a kernel. Waits. */
enum space_fill { SPACE_FILL_READ, SPACE_FILL_WRITE, SPACE_FILL_BEST };
int space_fill_range(struct space *space, uint64_t start, uint64_t end, enum space_fill how);
/* Returns a bit for each of the COUNT (at most SPACE_RESIDENT_MAX) pages from START on that has a frame, or a negative
 * errno: -ENOMEM, -EINTR: the thread is killed. Ends no lease but one that its holder does not have. Waits. */
#define SPACE_RESIDENT_MAX 32u
int64_t space_resident_pages(struct space *space, uint64_t start, uint32_t count);
/* The same for pages of which BACKING is the first's: also those of a file that its kernel has in memory, although the
 * space has not mapped them. */
int64_t space_cached_pages(struct space *space, uint64_t start, uint32_t count, uint64_t backing);
/* Pages of a space of which one question asks, as the wire has them (struct msg_space_resident). */
struct space_pages {
    struct msg_space_resident head; /* filled in by whoever sends it */
    uint64_t run[SPACE_ASK_RUNS];
    uint32_t runs, pages;
    uint64_t next; /* the page that would continue the last run */
};
static inline void space_pages_clear(struct space_pages *list)
{
    list->runs = list->pages = 0;
}
/* Adds the page at PAGE, which is page aligned and below USER_END. False: the list is full. */
bool space_pages_add(struct space_pages *list, uint64_t page);
/* Sets LIST to the RUNS runs at RUN, which a peer has sent. False: they are too many, or not of user memory. */
bool space_pages_set(struct space_pages *list, const uint64_t *run, uint32_t runs);
/* Sets WHERE[i] to the node of the i-th page of LIST or to SPACE_WHERE_ZERO, _FAULT or _NONE. -ENOMEM, -EINTR: the
 * calling thread is being killed, or another error of a message; then WHERE is unspecified. Locks nothing if the
 * strategy finds by directory, ends no lease, and asks each kernel that knows once for many pages. Waits. */
int space_where(struct space *space, const struct space_pages *list, uint8_t *where);
/* Whether the COUNT bytes at WHERE, which a peer has sent, are results of space_where. */
bool space_where_valid(const uint8_t *where, uint32_t count);
/* What move_pages reports for a page: the node, -EFAULT or -ENOENT. */
static inline int space_where_node(uint8_t where)
{
    return where < NODES_MAX ? where : where == SPACE_WHERE_NONE ? -ENOENT : -EFAULT;
}
/* Returns the node of the page of SPACE at ADDRESS, as space_where finds it. -EFAULT: there is no area, or the page is
 * private and was never touched or is the page of zeros; -ENOENT: a page of a file or of shared memory that was never
 * touched; or an error of space_where. */
int space_page_node(struct space *space, uint64_t address);
/* Fills the pages of [START, END), which is shared, with zeros, for all processes that share them (MADV_REMOVE).
 * -ENOMEM: not all of them can be mapped here, or part of the range is in no area any more. Waits. */
int space_empty(struct space *space, uint64_t start, uint64_t end);
/* For [START, END), which one area of a file has, and if ACT CHANGES its content, one that is shared, may be written
 * and is not locked: calls ACT with the backing of the first page and the number of pages, while nobody can unmap them,
 * so that the object exists. Returns what ACT returns; -EAGAIN: the area has changed, and ACT was not called; -ENOMEM.
 * Waits. */
int space_on_file(struct space *space, uint64_t start, uint64_t end, bool changes,
                  int (*act)(uint64_t backing, uint64_t pages, void *context), void *context);
/* Between its call and its return, every thread that uses SPACE, on any kernel, executes a full memory fence. -ENOMEM.
 * Waits. */
int space_fence(struct space *space);
/* The same for every thread on every kernel, whichever space it uses. */
int space_fence_all(void);
/* As Linux's mremap, with its FLAGS; checks its arguments. -ENOLCK: RLIMIT_MEMLOCK does not allow it. */
int64_t space_remap(struct space *space, uint64_t address, uint64_t old_length, uint64_t new_length, uint64_t flags,
                    uint64_t new_address);
uint64_t space_break(struct space *space, uint64_t address);
/* Sets where the break of the program being loaded begins. */
void space_set_break(struct space *space, uint64_t start);

/* Has the home, which may be this kernel, perform CHANGE, and returns its answer. If the operation needs the lock of
 * its range, the caller holds it. Waits. */
int64_t space_ask_home(struct space *space, const struct msg_space_change *change);

/* Registers the messages. Once. */
void space_change_init(void);
void space_resident_init(void);
void space_fence_init(void);

/* Drops the copies that this kernel has of replicated pages in [START, END), with pauses, for a caller that has locked
 * the range and holds space->lock. */
void space_drop_replicas_locked(struct space *space, uint64_t start, uint64_t end);

#endif
