/* The home's side of threads that move to their memory. See the header and draw.md. */
#include "mm/seen/draw_home.h"

#include "kernel/arch/x86_64/clock.h"
#include "kernel/instance/instance.h"
#include "mm/seen/seen.h"
#include "msg/message.h"
#include "msg/trace.h"

#define DRAW_AT_ONCE                                                                                                   \
    8u                 /* kernels whose tallies are read while the lock is held: some 10,000 instructions of 64 nodes */
#define LEAST_PAGES 2u /* sixteenths of a block: a single page says little of who uses it */
#define WAITS 2u       /* a block that is settled waits as long again */
#define QUIET                                                                                                          \
    5u /* periods after an order: the thread may leave in the next one, be seen where it was in the one                \
          after that, and count as a user there in the third; tallies of the fourth are true */

static uint32_t nodes(void)
{
    return instance.plan.node_count;
}

static uint32_t node_of(uint32_t kernel)
{
    return instance.plan.kernels[kernel].node;
}

static uint32_t age_now(void)
{
    return (uint32_t)(clock_now() / seen_half_ns);
}

/* True until SEEN_STUCK periods after the one that REFUSED is, plus one; 0 is no period. */
static bool is_refused(uint32_t refused, uint32_t age)
{
    return refused != 0 && age + 1 >= refused && age + 1 - refused < SEEN_STUCK;
}

static uint64_t nodes_of(kernel_set kernels)
{
    uint64_t set = 0;

    for (; kernels != 0; kernels &= kernels - 1)
        set |= 1ull << node_of((uint32_t)__builtin_ctzll(kernels));
    return set;
}

void draw_note_locked(struct space *space, const struct seen_policy *policy, const struct msg_space_seen *seen,
                      const struct seen_block *block, uint32_t here, uint32_t pages, uint64_t bytes, bool stays)
{
    struct seen_use use = {
        .node = seen->node, .here = here, .weight = pages * (uint32_t)(bytes / PAGE_SIZE), .stays = stays};
    struct seen_tally *tally;

    /* A kernel of several nodes has threads on each of them: nothing is known of one. */
    if (!policy->draws || space->seen == NULL || pages < LEAST_PAGES || node_of(seen->kernel) != seen->node)
        return;
    tally = seen_tally_of(space->seen, seen->kernel);
    if (tally == NULL)
        return;
    if (block != NULL) {
        use.others = nodes_of((block->kernels[0] | block->kernels[1]) & ~(1ull << seen->kernel));
        use.stays |= block->tried == SEEN_ANY_NODE && block->age - block->tried_age < SEEN_STUCK;
        use.copied = block->replicated || (block->written == 0 && !stays);
    }
    seen_tally_see(tally, &use, instance.plan.distance);
    if (!seen_tally_leaves(tally) || space->seen->draws)
        return;
    space->seen->draws = true;
    if (seen_soon != NULL)
        seen_soon(); /* tallies are read after a look */
}

bool draw_waits_locked(const struct seen *seen, const struct seen_block *block, uint32_t here)
{
    return (seen_room >> here & 1) != 0 && clock_now() - block->shared < WAITS * seen_half_ns &&
           !is_refused(seen->refused, block->age);
}

/* What the tally of KERNEL, which begins anew, says: the best of all so far is kept in SEARCH. */
static void consider_locked(struct seen *seen, uint32_t kernel, struct seen_search *search)
{
    struct seen_tally *tally = seen->tallies[kernel];
    struct seen_draw one = {.kernel = kernel};

    if (tally == NULL)
        return;
    search->leaves |= seen_tally_leaves(tally);
    if (search->age >= seen->draw_age && !is_refused(tally->refused, search->age) &&
        seen_tally_draws(tally, nodes(), node_of(kernel), instance.plan.distance, &one) &&
        (!search->found || one.part < search->draw.part)) {
        search->draw = one;
        search->found = true;
    }
    seen_tally_clear(tally, nodes());
}

bool seen_draws(struct space *space)
{
    bool draws;

    spin_lock(&space->lock);
    draws = space->seen != NULL && space->seen->draws;
    spin_unlock(&space->lock);
    return draws;
}

/* Begins SEARCH in the tallies of SEEN, unless it was done in this period. */
static void begin_locked(struct seen *seen, struct seen_search *search)
{
    search->age = age_now();
    search->kernel = instance.plan.kernel_count;
    if (seen->tally_age == search->age)
        return;
    if (search->age < seen->tally_age)
        seen->draw_age = 0; /* the length of a period has changed */
    search->first = seen->tally_age == 0;
    search->kernel = 0;
    search->reads = true;
    seen->tally_age = search->age;
}

/* All tallies have been read: threads may be drawn if one of them, or what was noted since then, leaves something. So
 * reports that come between two parts of SEARCH find what was true before it, and ask for no look. */
static void end_locked(struct seen *seen, const struct seen_search *search)
{
    seen->draws = search->leaves;
    for (uint32_t kernel = 0; kernel < instance.plan.kernel_count; kernel++)
        seen->draws |= seen->tallies[kernel] != NULL && seen_tally_leaves(seen->tallies[kernel]);
}

bool seen_draw_next(struct space *space, struct seen_search *search)
{
    uint32_t count = instance.plan.kernel_count;

    spin_lock(&space->lock);
    if (!search->begun && space->seen != NULL)
        begin_locked(space->seen, search);
    search->begun = true;
    if (space->seen == NULL || space->seen->tally_age != search->age) { /* all has been forgotten */
        search->kernel = count;
        search->reads = search->found = false;
    }
    for (uint32_t i = 0; i < DRAW_AT_ONCE && search->kernel < count; i++)
        consider_locked(space->seen, search->kernel++, search);
    if (search->kernel < count) {
        spin_unlock(&space->lock);
        return true;
    }
    if (search->reads)
        end_locked(space->seen, search);
    search->reads = false;
    search->found = search->found && !search->first; /* what was seen before the table was made is in none of them */
    space->stats.draws_wanted += search->found;
    spin_unlock(&space->lock);
    if (search->found)
        trace_note("wants threads on this node", (uint32_t)space->id, search->draw.kernel, search->draw.node,
                   search->draw.part);
    return false;
}

void seen_drawn(struct space *space, const struct seen_draw *draw, bool ordered)
{
    uint32_t age = age_now();
    struct seen *seen;

    spin_lock(&space->lock);
    space->stats.threads_drawn += ordered;
    seen = space->seen; /* all may have been forgotten meanwhile */
    if (seen != NULL && ordered) {
        seen->draw_age = age + QUIET;
        seen->refused = 0;
    } else if (seen != NULL) {
        seen->refused = age + 1;
        if (seen->tallies[draw->kernel] != NULL)
            seen->tallies[draw->kernel]->refused = age + 1;
    }
    spin_unlock(&space->lock);
}
