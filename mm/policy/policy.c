/* Policies of spaces, and frames by them. See the header and mm/policy/policy.md. */
#include "mm/policy/policy.h"

#include "boot/plan/plan.h"
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/instance/window.h"
#include "kernel/lib/list.h"
#include "kernel/lib/string.h"
#include "mm/frame/content.h"
#include "mm/frame/frame.h"
#include "mm/frame/give.h"
#include "mm/frame/heap.h"
#include "mm/policy/count.h"
#include "mm/space/call_home.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"

#define ROOM_FIRST 4u
#define TOP 63u /* a bit that does not fit into an answer */
#define WORDS 3u

const struct policy *(*policy_of_task)(void);

static const struct policy none = {.mode = POLICY_DEFAULT};

void policy_list_free(struct policy_list *list)
{
    if (list->known != NULL)
        heap_free(list->known, list->room * sizeof(*list->known));
    *list = (struct policy_list){.known = NULL};
}

/* --- numbers --- */

static const struct policy *find_locked(const struct space *space, uint32_t number)
{
    const struct policy_list *list = &space->policies;

    return number <= list->room && list->known[number - 1].mode != POLICY_DEFAULT ? &list->known[number - 1] : NULL;
}

static int put_locked(struct space *space, uint32_t number, const struct policy *policy)
{
    struct policy_list *list = &space->policies;
    uint32_t room = list->room != 0 ? list->room : ROOM_FIRST;
    struct policy *more;

    while (room < number)
        room *= 2;
    if (room != list->room) {
        more = heap_alloc(room * sizeof(*more)); /* zeros */
        if (more == NULL)
            return -ENOMEM;
        if (list->known != NULL)
            memcpy(more, list->known, list->room * sizeof(*more));
        policy_list_free(list);
        *list = (struct policy_list){more, room};
    }
    list->known[number - 1] = *policy;
    return 0;
}

/* At the home. */
static int64_t make_locked(struct space *space, const struct policy *policy)
{
    uint32_t free = 0;

    for (uint32_t number = POLICY_MAX; number > 0; number--) {
        const struct policy *known = find_locked(space, number);

        if (known == NULL)
            free = number;
        else if (policy_equal(known, policy))
            return number;
    }
    if (free == 0 || put_locked(space, free, policy) != 0)
        return -ENOMEM;
    return free;
}

static bool is_valid(const struct policy *policy)
{
    return policy->mode != POLICY_DEFAULT && policy->mode < POLICY_MODES && policy->home <= NODES_MAX &&
           (policy->nodes != 0) == (policy->mode != POLICY_LOCAL);
}

/* A policy as words that are no negative numbers. */
static int64_t word_of(const struct policy *policy, uint64_t index)
{
    switch (index) {
    case 0:
        return (int64_t)(policy->mode | (uint64_t)policy->flags << 16 | (uint64_t)policy->home << 32 |
                         policy->nodes >> TOP << 48 | policy->asked >> TOP << 49);
    case 1:
        return (int64_t)(policy->nodes & ~(1ull << TOP));
    case 2:
        return (int64_t)(policy->asked & ~(1ull << TOP));
    default:
        return -EPROTO;
    }
}

static struct policy from_words(const uint64_t words[WORDS])
{
    return (struct policy){.mode = (uint16_t)words[0],
                           .flags = (uint16_t)(words[0] >> 16),
                           .home = (uint32_t)(words[0] >> 32) & 0xffff,
                           .nodes = words[1] | (words[0] >> 48 & 1) << TOP,
                           .asked = words[2] | (words[0] >> 49 & 1) << TOP};
}

int64_t policy_apply_locked(struct space *space, const struct msg_space_change *change)
{
    struct policy policy = {.mode = (uint16_t)change->prot,
                            .flags = (uint16_t)(change->prot >> 16),
                            .home = (uint32_t)change->target,
                            .nodes = change->start,
                            .asked = change->length};
    const struct policy *known;

    if (space->home != instance.kernel)
        return -EPROTO;
    if (change->operation == SPACE_POLICY_MAKE)
        return is_valid(&policy) ? make_locked(space, &policy) : -EPROTO;
    known = change->prot >= 1 && change->prot <= POLICY_MAX ? find_locked(space, change->prot) : NULL;
    return known != NULL ? word_of(known, change->target) : -EPROTO;
}

/* Asks the home, be it this kernel or another. */
static int64_t ask(struct space *space, const struct msg_space_change *change)
{
    int64_t result;

    if (space->home != instance.kernel)
        return space_call_home(space, change);
    spin_lock(&space->lock);
    result = policy_apply_locked(space, change);
    spin_unlock(&space->lock);
    return result;
}

int64_t policy_number(struct space *space, const struct policy *policy)
{
    struct msg_space_change change = {.space = space->id,
                                      .start = policy->nodes,
                                      .length = policy->asked,
                                      .operation = SPACE_POLICY_MAKE,
                                      .prot = policy->mode | (uint32_t)policy->flags << 16,
                                      .target = policy->home};

    return ask(space, &change);
}

bool policy_known(struct space *space, uint32_t number, struct policy *out)
{
    const struct policy *known;

    spin_lock(&space->lock);
    known = find_locked(space, number);
    if (known != NULL)
        *out = *known;
    spin_unlock(&space->lock);
    return known != NULL;
}

int policy_note(struct space *space, uint32_t number, const struct policy *policy)
{
    int error;

    if (!is_valid(policy))
        return -EPROTO;
    spin_lock(&space->lock);
    error = put_locked(space, number, policy);
    spin_unlock(&space->lock);
    return error;
}

int policy_find(struct space *space, uint32_t number, struct policy *out)
{
    struct msg_space_change change = {.space = space->id, .operation = SPACE_POLICY_TELL, .prot = number};
    uint64_t words[WORDS];

    if (policy_known(space, number, out))
        return 0;
    for (change.target = 0; change.target < WORDS; change.target++) {
        int64_t word = ask(space, &change);

        if (word < 0)
            return (int)word;
        words[change.target] = (uint64_t)word;
    }
    *out = from_words(words);
    return policy_note(space, number, out) == -EPROTO ? -EPROTO : 0; /* without memory it is asked for again */
}

int policy_inherit(struct space *parent, struct space *child)
{
    uint32_t last = 0;
    int error = 0;

    list_for_each(node, &child->areas.head) {
        uint32_t number = container_of(node, const struct area, node)->prot >> AREA_POLICY_SHIFT;
        struct policy policy;

        if (number == 0 || number == last)
            continue;
        last = number;
        error = policy_find(parent, number, &policy);
        if (error == 0)
            error = policy_note(child, number, &policy);
        if (error != 0)
            break;
    }
    return error;
}

/* --- frames --- */

static const struct policy *of_task(void)
{
    const struct policy *policy = policy_of_task != NULL ? policy_of_task() : NULL;

    return policy != NULL ? policy : &none;
}

/* NULL: it is not known here. */
static const struct policy *choose_locked(const struct space *space, uint32_t prot)
{
    uint32_t number = prot >> AREA_POLICY_SHIFT;

    return number == 0 ? of_task() : find_locked(space, number);
}

/* The node of the CPU that runs this. */
static uint32_t own_node(void)
{
    return instance.plan.cpus[cpu_self()->number].node;
}

/* Where memory is wanted nearest first. */
static uint32_t centre(const struct policy *policy)
{
    return policy->home != 0 && policy->home <= instance.plan.node_count ? policy->home - 1 : own_node();
}

static uint32_t nearest(uint32_t from, uint64_t nodes)
{
    const struct plan *plan = &instance.plan;
    uint32_t best = (uint32_t)__builtin_ctzll(nodes);

    for (uint64_t rest = nodes; rest != 0; rest &= rest - 1) {
        uint32_t node = (uint32_t)__builtin_ctzll(rest);

        if (plan->distance[from][node] < plan->distance[from][best])
            best = node;
    }
    return best;
}

uint64_t policy_frame_near(bool zeroed)
{
    uint64_t own = frame_nodes(), frame = 0;

    if ((own & (own - 1)) != 0 && (own >> own_node() & 1) != 0)
        frame = frame_alloc_page_on(1ull << own_node(), zeroed);
    if (frame == 0)
        frame = frame_alloc_page(zeroed);
    if (frame != 0)
        numa_count((own & (own - 1)) == 0 ? (uint32_t)__builtin_ctzll(own) : policy_node_of(frame), own_node(), false);
    return frame;
}

static uint64_t counted(const struct policy *policy, uint64_t frame, uint32_t wanted)
{
    if (frame != 0)
        numa_count(policy_node_of(frame), wanted, policy->mode == POLICY_INTERLEAVE);
    return frame;
}

uint64_t policy_frame_here_locked(const struct space *space, uint32_t prot, uint64_t page, bool zeroed, bool *elsewhere)
{
    const struct policy *policy = choose_locked(space, prot);
    uint64_t nodes, own = frame_nodes();
    uint32_t node;
    bool strict;

    *elsewhere = policy == NULL;
    if (policy == NULL)
        return 0;
    nodes = policy_nodes(policy, page, &strict) & policy_machine_nodes();
    if (nodes == 0)
        return policy_frame_near(zeroed);
    node = nearest(centre(policy), nodes);
    *elsewhere = true; /* or, when the nearest has none, another */
    return (own >> node & 1) != 0 ? counted(policy, frame_alloc_page_on(1ull << node, zeroed), node) : 0;
}

bool policy_is_near_locked(const struct space *space, uint32_t prot, uint64_t page)
{
    const struct policy *policy = choose_locked(space, prot);
    uint64_t nodes;
    bool strict;

    if (policy == NULL)
        return false;
    nodes = policy_nodes(policy, page, &strict) & policy_machine_nodes();
    return nodes == 0 || (1ull << nearest(centre(policy), nodes) == frame_nodes());
}

bool policy_accepts_locked(const struct space *space, uint32_t prot, uint64_t page, uint64_t frame)
{
    uint32_t number = prot >> AREA_POLICY_SHIFT;
    const struct policy *policy = number != 0 ? find_locked(space, number) : &none;
    uint64_t nodes;
    bool strict;

    if (policy == NULL)
        return false;
    nodes = policy_nodes(policy, page, &strict) & policy_machine_nodes();
    if (nodes == 0)
        return true;
    /* it is near the toucher, and so of several the nearest, unless another place counts */
    return (nodes >> policy_node_of(frame) & 1) != 0 && (policy->home == 0 || (nodes & (nodes - 1)) == 0);
}

/* One of ours on NODE. */
static uint64_t own_frame(uint32_t node, uint64_t source)
{
    uint64_t frame = (frame_nodes() >> node & 1) != 0 ? frame_alloc_page_on(1ull << node, source == 0) : 0;

    if (frame != 0 && source != 0)
        frame_copy(frame, source);
    return frame;
}

static uint64_t frame_near(uint32_t from, uint64_t nodes, uint64_t source)
{
    uint64_t frame = 0;

    while (nodes != 0 && frame == 0) {
        uint32_t node = nearest(from, nodes);

        nodes &= ~(1ull << node);
        frame = own_frame(node, source);
        if (frame == 0)
            frame = frame_from_node(node, source);
    }
    return frame;
}

uint64_t policy_frame_on(uint64_t nodes, uint64_t source)
{
    return frame_near(own_node(), nodes & policy_machine_nodes(), source);
}

uint64_t policy_frame(struct space *space, uint32_t prot, uint64_t page, uint64_t source)
{
    uint32_t number = prot >> AREA_POLICY_SHIFT;
    struct policy policy = *of_task();
    uint64_t nodes, frame = 0;
    bool strict;

    if (number != 0 && policy_find(space, number, &policy) != 0)
        return 0;
    nodes = policy_nodes(&policy, page, &strict) & policy_machine_nodes();
    if (nodes != 0)
        frame = counted(&policy, frame_near(centre(&policy), nodes, source), nearest(centre(&policy), nodes));
    if (frame != 0 || strict)
        return frame;
    frame = policy_frame_near(source == 0);
    if (frame == 0)
        return counted(&none, frame_from_peer(source), own_node());
    if (source != 0)
        frame_copy(frame, source);
    return frame;
}

uint32_t policy_node_of(uint64_t frame)
{
    const struct plan_range *range = window_range_of(frame);

    return range != NULL ? range->node : 0;
}

uint64_t policy_machine_nodes(void)
{
    static volatile uint64_t all; /* [a] the plan does not change */
    uint64_t nodes = 0;

    if (all != 0)
        return all;
    for (uint32_t i = 0; i < instance.plan.range_count; i++)
        nodes |= 1ull << instance.plan.ranges[i].node;
    all = nodes;
    return nodes;
}
