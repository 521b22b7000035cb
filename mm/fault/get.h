/* The fast path of a fault: one question to the space's home and its answer, without a lock. mm/retrieve/retrieval.md
 * has the protocol. Changes by other kernels that reach this kernel meanwhile are deferred until the answer has
 * arrived: mm/space/question.h. */
#ifndef MM_FAULT_GET_H
#define MM_FAULT_GET_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/space/space.h"

/* True when this kernel may use the fast path for SPACE. */
static inline bool space_get_possible(const struct space *space)
{
    return space->retrieval->home_knows && space->home != instance.kernel;
}
/* A result of space_get_page: the answer to another thread, for which it has waited, may have resolved the fault. */
#define SPACE_GET_AGAIN 3
/* Makes PAGE usable for ACCESS. 0, -EFAULT, -EACCES, -ENOMEM as space_fault; 1: the caller has to take the page's lock.
 * Waits for the home. */
int space_get_page(struct space *space, uint64_t page, uint32_t access);

/* Registers the home's side (mm/fault/answer.c). Once. */
void space_get_init(void);

#endif
