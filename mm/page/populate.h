/* Memory of a space in which no thread runs yet, for loading a program into it. */
#ifndef MM_PAGE_POPULATE_H
#define MM_PAGE_POPULATE_H

#include <stdint.h>

#include "mm/space/space.h"

/* Makes an area [START, END) with PROT and maps a frame at each of its pages. -ENOEXEC: it overlaps another area;
 * -ENOMEM. Tasks only: works in slices. */
int space_populate(struct space *space, uint64_t start, uint64_t end, uint32_t prot);
/* The same with a frame of this kernel at each page, copy-on-write: those at PAGES, in the direct map. The caller has a
 * reference to each, so that nobody writes to it. Tasks only: works in slices. */
int space_populate_with(struct space *space, uint64_t start, uint64_t end, uint32_t prot, const uint8_t *const *pages);
/* Copies SIZE bytes from DATA to ADDRESS, into pages that space_populate has mapped a new frame at. Tasks only: works
 * in slices. */
void space_write(struct space *space, uint64_t address, const void *data, uint64_t size);

#endif
