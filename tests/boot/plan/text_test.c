/* Whose text a kernel runs, for each value of text=.
 * sources: boot/plan/plan.c boot/plan/cpus.c boot/plan/free.c boot/plan/memory.c boot/plan/text.c */
#include "boot/plan/text.h"
#include "tests/test.h"

#define CHUNK 0x100000ull
#define RANGE 0x10000000ull

/* Kernels whose chunks lie on these nodes, each in a range of its own. */
static void place(struct plan *plan, const uint32_t *nodes, uint32_t count)
{
    memset(plan, 0, sizeof(*plan));
    plan->kernel_count = plan->range_count = count;
    plan->chunk_size = CHUNK;
    for (uint32_t k = 0; k < count; k++) {
        plan->ranges[k] = (struct plan_range){.base = (k + 1) * RANGE, .size = RANGE, .node = nodes[k], .kernel = k};
        plan->kernels[k].chunk = (k + 1) * RANGE + CHUNK;
        plan->kernels[k].node = 7; /* of its CPUs: says nothing */
    }
}

TEST(text_core, "each kernel has its own text")
{
    static struct plan plan;

    place(&plan, (const uint32_t[]){0, 0, 1}, 3);
    for (uint32_t k = 0; k < 3; k++)
        CHECK_EQ(plan_text_owner(&plan, PLAN_TEXT_CORE, k), k);
}

TEST(text_one, "all kernels run kernel 0's text")
{
    static struct plan plan;

    place(&plan, (const uint32_t[]){1, 0, 1}, 3);
    for (uint32_t k = 0; k < 3; k++)
        CHECK_EQ(plan_text_owner(&plan, PLAN_TEXT_ONE, k), 0);
}

TEST(text_node, "the first kernel whose chunk lies on a node has the text of all there")
{
    static struct plan plan;

    place(&plan, (const uint32_t[]){1, 0, 1, 0, 3}, 5);
    CHECK_EQ(plan_text_owner(&plan, PLAN_TEXT_NODE, 0), 0);
    CHECK_EQ(plan_text_owner(&plan, PLAN_TEXT_NODE, 1), 1);
    CHECK_EQ(plan_text_owner(&plan, PLAN_TEXT_NODE, 2), 0);
    CHECK_EQ(plan_text_owner(&plan, PLAN_TEXT_NODE, 3), 1);
    CHECK_EQ(plan_text_owner(&plan, PLAN_TEXT_NODE, 4), 4);
}
