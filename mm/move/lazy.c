/* A touch of a marked page moves it. See mm/move/lazy.md. */
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/cpu.h"
#include "mm/fault/fault.h"
#include "mm/mempolicy/mempolicy.h"
#include "mm/move/internal.h"

struct touch {
    struct policy policy;
    uint32_t node; /* of the CPU that touches the page */
    uint32_t from; /* where the page was that has been looked at last */
    uint32_t moved, failed;
};

static uint64_t touch_wanted(void *context, uint64_t page, uint32_t node)
{
    struct touch *touch = context;
    uint64_t nodes = mempolicy_leaves(&touch->policy, page);

    touch->from = node;
    return nodes != 0 ? nodes : 1ull << touch->node;
}

/* A page that is gone meanwhile is no failure. */
static void touch_done(void *context, uint64_t page, int result)
{
    struct touch *touch = context;

    (void)page;
    touch->moved += result >= 0 && (uint32_t)result != touch->from;
    touch->failed += result < 0 && result != -EFAULT && result != -ENOENT;
}

/* The policy of the area at PAGE, or else that of the thread. */
static int policy_at(struct space *space, uint64_t page, struct policy *out)
{
    const struct policy *own = policy_of_task != NULL ? policy_of_task() : NULL;
    const struct area *area;
    uint32_t number;

    spin_lock(&space->lock);
    area = area_find(&space->areas, page);
    number = area != NULL ? area->prot >> AREA_POLICY_SHIFT : 0;
    spin_unlock(&space->lock);
    *out = own != NULL ? *own : (struct policy){.mode = POLICY_DEFAULT};
    return number != 0 ? mempolicy_find(space, number, out) : 0;
}

/* A touch that fails leaves the entry hidden, and the fault, which goes on, shows it. */
static void touch_marked(struct space *space, uint64_t page)
{
    struct touch touch = {.node = cpu_self()->node};
    struct space_moves moves = {.wanted = touch_wanted, .done = touch_done, .context = &touch, .marked = true};

    if (policy_at(space, page, &touch.policy) != 0)
        touch.failed = 1;
    else if (mempolicy_lets_move(&touch.policy, page, touch.node))
        space_move_page(space, page, &moves);
    spin_lock(&space->lock);
    space->stats.lazy_moved += touch.moved;
    space->stats.lazy_failed += touch.failed;
    spin_unlock(&space->lock);
}

void move_lazy_init(void)
{
    space_touch_marked = touch_marked;
}
