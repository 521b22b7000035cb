/* Which kernel's copy of the kernel's text and constants a kernel runs, as the boot option `text=` has it. */
#ifndef BOOT_PLAN_TEXT_H
#define BOOT_PLAN_TEXT_H

#include <stdint.h>

#include "boot/plan/plan.h"

enum plan_text {
    PLAN_TEXT_CORE, /* each kernel has its own */
    PLAN_TEXT_NODE, /* one for all kernels whose chunks lie on a node */
    PLAN_TEXT_ONE,  /* one for all */
};

/* Returns the kernel whose chunk has the text that KERNEL runs: itself, or the lowest-numbered one of those that share
 * it. Kernel 0 always has its own. */
uint32_t plan_text_owner(const struct plan *plan, enum plan_text text, uint32_t kernel);

#endif
