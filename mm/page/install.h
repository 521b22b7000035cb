/* Mapping a frame at one page on this kernel, and reporting to other kernels what is mapped there.
 *
 * Functions with _locked are called with space->lock held. */
#ifndef MM_PAGE_INSTALL_H
#define MM_PAGE_INSTALL_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/abi/errno.h"
#include "kernel/instance/instance.h"
#include "mm/area/area.h"
#include "mm/mempolicy/mempolicy.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"

/* Maps FRAME at PAGE, whose entry is empty. OWNING: the entry carries the space's reference to the frame, which is
 * taken here if the frame is this kernel's; the owner of another kernel's frame has counted it already. COW: the entry
 * is read-only. -ENOMEM. */
int space_install_locked(struct space *space, uint64_t page, uint64_t frame, uint32_t prot, bool owning, bool cow);
/* The same with the protection of the page's area; takes the lock. 0 also if FRAME is mapped there already. -EFAULT:
 * there is no area; -EEXIST: another frame is mapped; -ENOMEM. */
int space_install(struct space *space, uint64_t page, uint64_t frame, bool owning, bool cow);
/* FRAME now holds the page named by BACKING: notes that if the frame is this kernel's and processes share the page
 * (mm/frame/object_page.h). Without memory it stays without a name. */
void space_name_frame(uint64_t frame, uint64_t backing);
/* For a PAGE that no kernel maps, in AREA, which is backed by a file: if this kernel keeps the file's pages, maps the
 * frame that ACCESS needs by an owning entry and returns 0. WHERE: where a new page of the file is wanted, unless the
 * file has a policy for it; NULL: as the current thread's policy says. 1: another kernel keeps them, the page moves, or
 * its frame is another kernel's, or is wanted in another kernel's memory; -ENXIO: the page is behind the end of the
 * file; -EHWPOISON: it is lost; -ENOMEM. */
int space_install_file_locked(struct space *space, uint64_t page, const struct area *area, uint32_t access,
                              const struct placement *where);
/* A private page whose first access is a write gets its own copy at once; any other access maps the file's frame. */
static inline bool space_wants_copy(uint32_t prot, uint32_t access)
{
    return (prot & AREA_SHARED) == 0 && (access & AREA_WRITE) != 0;
}

/* Fills in ANSWER with what this kernel maps at PAGE. If that is a frame of its own, it is counted as lent once
 * more. */
void space_answer(struct space *space, uint64_t page, struct msg_space_mapping *answer);

/* Frees FRAME, which was allocated here or received from another kernel for a new page that does not need it. Tasks
 * only: may wait for the other kernel. */
void space_drop_new(uint64_t frame);

/* The error of an access that an area with PROT forbids. */
static inline int space_forbidden(uint32_t prot)
{
    return (prot & AREA_LOST) != 0 ? -EHWPOISON : -EACCES;
}

#endif
