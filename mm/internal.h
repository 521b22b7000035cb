/* What the files of mm/ share among themselves. */
#ifndef MM_INTERNAL_H
#define MM_INTERNAL_H

#include "mm/space.h"

/* Page table flags for an area's protection; 0 when it allows nothing. */
uint64_t space_entry_flags(uint32_t prot);
/* True when this kernel is the home and no other hosts the space: then its lock alone decides. */
bool space_alone_locked(const struct space *space);

#endif
