/* Page faults, of a program or of the kernel on its behalf: mm/retrieve/retrieval.md. */
#ifndef MM_FAULT_FAULT_H
#define MM_FAULT_FAULT_H

#include <stdint.h>

#include "mm/space/space.h"

/* Makes the page at ADDRESS usable for ACCESS (AREA_*) on this kernel, and lets an area grow if need be. 0: this kernel
 * could do it alone; 1: it asked other kernels or took the page's lock; -EFAULT: no area; -EACCES: the area forbids it;
 * -EHWPOISON: the page was in memory of a kernel that has died; -ENXIO: a page behind the end of a file or of shared
 * memory; -ENOMEM: no frame. Waits for other kernels. */
int space_fault(struct space *space, uint64_t address, uint32_t access);
/* Makes the pages of [START, END) usable for ACCESS (AREA_*), one after the other, without letting an area grow.
 * Stops at the first error: -EFAULT, -EACCES, -ENXIO, -ENOMEM; -EINTR: the thread has been killed. Works in slices
 * (msg/slice.h). Waits. */
int space_touch(struct space *space, uint64_t start, uint64_t end, uint32_t access);

/* [i] Moves PAGE, which a thread of SPACE touches here, and whose entry is marked (mm/seen/mark.h), if its policy lets
 * this CPU do so. Waits. NULL: marked pages stay where they are. */
extern void (*space_touch_marked)(struct space *space, uint64_t page);

/* Moving average, over all spaces, of the time in ns that a fetch from other kernels takes; 0: no fetch yet. */
uint64_t space_fetch_ns(void);

#endif
