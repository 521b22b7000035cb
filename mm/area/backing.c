/* Names of anonymous shared memory: see the header. */
#include "mm/area/backing.h"

static volatile uint64_t made[BACKING_CLASSES]; /* [a] mappings of each class so far */

uint64_t backing_anonymous(uint32_t role, uint64_t pages)
{
    uint32_t class = 0;
    uint64_t index;

    while (class < BACKING_CLASSES - 1 && 1ull << 2 * class < pages)
        class ++;
    index = __atomic_fetch_add(&made[class], 1, __ATOMIC_RELAXED);
    return BACKING_ANONYMOUS | (uint64_t)(role % BACKING_ROLES) << BACKING_ROLE_SHIFT |
           (uint64_t) class << BACKING_CLASS_SHIFT | ((index << 2 * class) & (BACKING_NUMBERS - 1));
}
