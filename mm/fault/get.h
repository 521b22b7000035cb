/* The fast path of a fault: one question to the space's home, one answer, no lock. mm/retrieve/retrieval.md has the
 * protocol. What other kernels do to the page meanwhile waits for the answer: mm/page/question.h. */
#ifndef MM_FAULT_GET_H
#define MM_FAULT_GET_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/space/space.h"

/* True when faults of SPACE may be answered so. */
bool space_get_possible(struct space *space);
/* Makes PAGE usable for ACCESS. 0, -EFAULT, -EACCES, -ENOMEM as space_fault; 1: the home cannot say it without the
 * page's lock. Waits for the home. */
int space_get_page(struct space *space, uint64_t page, uint32_t access);

/* Registers the home's side (mm/fault/answer.c). Once. */
void space_get_init(void);

#endif
