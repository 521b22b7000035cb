/* How many pages of a space are here, for those who look from outside (/proc). */
#ifndef MM_SPACE_SURVEY_H
#define MM_SPACE_SURVEY_H

#include <stdint.h>

#include "mm/space/space.h"

/* What is here of a space now. */
struct space_pages {
    uint64_t owned;         /* pages that this kernel answers for: over all kernels they are the pages it has */
    uint64_t prefetch_used; /* pages that came with others' answers and were touched since */
    uint64_t huge;          /* 2 MiB of them each are mapped here by one large page */
};
void space_count_pages(struct space *space, struct space_pages *out);

#endif
