/* Fork of an address space that may span kernels: mm/fork/fork.md. */
#ifndef MM_FORK_FORK_H
#define MM_FORK_FORK_H

#include "mm/space/space.h"

/* Gives CHILD, made by space_create with this kernel as its home and still empty, all that PARENT has on any kernel:
 * areas, break, pages. Private pages are copied by whoever writes to them first. PARENT has threads on this kernel.
 * -ENOMEM: CHILD has a part and is to be destroyed; PARENT is as before. Waits for other kernels. */
int space_fork(struct space *parent, struct space *child);
/* Registers the message. Once. */
void space_fork_init(void);

#endif
