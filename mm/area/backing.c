/* Names of anonymous shared memory: see the header. */
#include "mm/area/backing.h"

static volatile uint64_t made[BACKING_CLASSES]; /* [a] mappings of each class so far */

uint64_t backing_anonymous(uint32_t role, uint64_t pages)
{
    uint32_t size = pages > 1 ? (uint32_t)(65 - __builtin_clzll(pages - 1)) / 2 : 0; /* 4^size is at least PAGES */
    uint64_t index, number;

    if (size >= BACKING_CLASSES)
        size = BACKING_CLASSES - 1;
    index = __atomic_add_fetch(&made[size], 1, __ATOMIC_RELAXED); /* from 1: no name is all zeros */
    number = (((index << 2) + 1) << 2 * size) - pages;            /* the last page ends the first quarter */
    return BACKING_ANONYMOUS | (uint64_t)(role % BACKING_ROLES) << BACKING_ROLE_SHIFT |
           (uint64_t)size << BACKING_CLASS_SHIFT | (number & (BACKING_NUMBERS - 1));
}
