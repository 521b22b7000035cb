/* The number of a space's pages on this kernel, for observers such as /proc. */
#ifndef MM_SPACE_SURVEY_H
#define MM_SPACE_SURVEY_H

#include <stdint.h>

#include "mm/space/space.h"

/* The pages of a space on this kernel. */
struct space_pages {
    uint64_t owned;         /* pages with an owning entry here; the sum over all kernels is the size of the space */
    uint64_t prefetch_used; /* pages that were prefetched and have been touched since */
    uint64_t huge;          /* large pages of 2 MiB that are mapped here */
};
void space_count_pages(struct space *space, struct space_pages *out);

#endif
