/* Page faults, from a program or from the kernel on its behalf: mm/retrieve/retrieval.md. */
#ifndef MM_FAULT_FAULT_H
#define MM_FAULT_FAULT_H

#include <stdint.h>

#include "mm/space/space.h"

/* Makes the page at ADDRESS usable for ACCESS (AREA_*) on this kernel, lets an area grow if need be. 0: this kernel
 * alone could; 1: it asked others, or took the page's lock; -EFAULT: nothing is there; -EACCES: the program may not;
 * -ENXIO: it is a page of a file, behind its end; -ENOMEM: no frame. Waits for other kernels. */
int space_fault(struct space *space, uint64_t address, uint32_t access);
/* Makes the pages of [START, END) usable for ACCESS (AREA_*), one after the other, without letting an area grow.
 * Stops at the first error: -EFAULT, -EACCES, -ENOMEM. Waits. */
int space_touch(struct space *space, uint64_t start, uint64_t end, uint32_t access);

/* Moving average of the time in ns that fetching from other kernels takes here, over all spaces; 0: nothing yet. */
uint64_t space_fetch_ns(void);

#endif
