/* Who has the text that a kernel runs. See the header. */
#include "boot/plan/text.h"

static uint32_t node_of_chunk(const struct plan *plan, uint32_t kernel)
{
    return plan_range_of(plan, plan->kernels[kernel].chunk)->node;
}

uint32_t plan_text_owner(const struct plan *plan, enum plan_text text, uint32_t kernel)
{
    uint32_t owner = 0;

    if (text == PLAN_TEXT_CORE)
        return kernel;
    if (text == PLAN_TEXT_NODE) {
        while (node_of_chunk(plan, owner) != node_of_chunk(plan, kernel))
            owner++; /* at KERNEL itself at the latest */
    }
    return owner;
}
