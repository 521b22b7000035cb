/* Fork of an address space that may span kernels: mm/fork/fork.md. */
#ifndef MM_FORK_FORK_H
#define MM_FORK_FORK_H

#include "mm/space/space.h"

/* Gives CHILD, made by space_create with this kernel as its home and still empty, all that PARENT has on any kernel:
 * areas, break, pages. A private page is copied at the first write to it. PARENT has threads on this kernel. On an
 * error CHILD has a part and must be destroyed, and PARENT is unchanged, except that pages may be COW and that shared
 * pages may have got zeroed frames. Waits for other kernels. */
int space_fork(struct space *parent, struct space *child);
/* Registers the message. Once. */
void space_fork_init(void);

#endif
