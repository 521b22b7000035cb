/* Memory of a space that runs nowhere yet, for loading a program into it. */
#ifndef MM_PAGE_POPULATE_H
#define MM_PAGE_POPULATE_H

#include <stdint.h>

#include "mm/space/space.h"

/* Maps [START, END) with PROT and frames at once. */
int space_populate(struct space *space, uint64_t start, uint64_t end, uint32_t prot);
/* Writes into pages that are mapped so. */
void space_write(struct space *space, uint64_t address, const void *data, uint64_t size);

#endif
