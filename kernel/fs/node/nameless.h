/* Regular files without a name (memfd_create(2)): made on kernel 0 for whoever asks, on any. */
#ifndef KERNEL_FS_NODE_NAMELESS_H
#define KERNEL_FS_NODE_NAMELESS_H

#include <stdint.h>

#define NAMELESS_SEALS 2u /* it may be sealed: memfd_create's MFD_ALLOW_SEALING */

/* Registers FILE_NAMELESS. Once. */
void nameless_init(void);
/* A new file of the current thread's user, for reading and writing, with an open that is the caller's: *ID. FLAGS:
 * NAMELESS_*. -ENOMEM. Tasks only; waits. */
int64_t nameless_create(uint32_t flags, uint64_t *id);

#endif
