/* Regular files without a name (memfd_create(2)). They are made on kernel 0, for callers on any kernel. */
#ifndef KERNEL_FS_NODE_NAMELESS_H
#define KERNEL_FS_NODE_NAMELESS_H

#include <stdint.h>

#define NAMELESS_SEALS 2u /* the file may be sealed: MFD_ALLOW_SEALING of memfd_create */

/* Registers the handler of FILE_NAMELESS. Called once. */
void nameless_init(void);
/* Creates a file without a name that the current thread's user owns, open for reading and writing. The open reference
 * of *ID is the caller's. FLAGS: NAMELESS_*. -ENOMEM. Tasks only; waits. */
int64_t nameless_create(uint32_t flags, uint64_t *id);

#endif
