/* What one kernel does with one page of a space: maps a frame there, and tells others what it has. */
#ifndef MM_PAGE_INSTALL_H
#define MM_PAGE_INSTALL_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/instance/instance.h"
#include "mm/area/area.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"

/* Puts FRAME at PAGE, whose entry is empty. OWNING: with the space's reference, counted now if the frame
 * is ours; a peer has counted its. COW: the frame is only to be read. -ENOMEM. */
int space_install_locked(struct space *space, uint64_t page, uint64_t frame, uint32_t prot, bool owning, bool cow);
/* The same with the protection of the page's area, and with the lock free. -EFAULT: no area; -EEXIST: another frame is
 * there; -ENOMEM. */
int space_install(struct space *space, uint64_t page, uint64_t frame, bool owning, bool cow);
/* PAGE, which nobody has, lies in AREA, which has a file behind it: maps what ACCESS needs, owning it, if the file is
 * this kernel's. 1: it is another's; -ENXIO: behind the end of the file; -ENOMEM. */
int space_install_file_locked(struct space *space, uint64_t page, const struct area *area, uint32_t access);
/* A private page that is written at once is a copy from the beginning; others have the file's frame. */
static inline bool space_wants_copy(uint32_t prot, uint32_t access)
{
    return (prot & AREA_SHARED) == 0 && (access & AREA_WRITE) != 0;
}

/* What this kernel has at PAGE, as an answer to a fetch; an own frame counts as lent once more. */
void space_answer(struct space *space, uint64_t page, struct msg_space_mapping *answer);

/* A frame for a new page, ours or given by a peer, is not needed after all. Waits. */
void space_drop_new(uint64_t frame);

#endif
