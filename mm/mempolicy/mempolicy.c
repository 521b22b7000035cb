/* The policies of spaces, and allocating frames by them. See the header and mm/mempolicy/mempolicy.md. */
#include "mm/mempolicy/mempolicy.h"

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
#include "mm/mempolicy/count.h"
#include "mm/mempolicy/weight.h"
#include "mm/mempolicy/wire.h"
#include "mm/space/space.h"
#include "msg/channel.h"
#include "msg/request/call.h"
#include "msg/slice.h"

#define BLOCK_ORDER 9u /* of POLICY_BLOCK frames */
#define ROOM_FIRST 4u

const struct policy *(*policy_of_task)(void);

static const struct policy none = {.mode = POLICY_DEFAULT};

void mempolicy_list_free(struct mempolicy_list *list)
{
    if (list->known != NULL)
        heap_free(list->known, list->room * sizeof(*list->known));
    *list = (struct mempolicy_list){.known = NULL};
}

/* --- numbers --- */

static const struct policy *find_locked(const struct space *space, uint32_t number)
{
    const struct mempolicy_list *list = &space->policies;

    return number <= list->room && list->known[number - 1].mode != POLICY_DEFAULT ? &list->known[number - 1] : NULL;
}

const struct policy *policy_known_locked(const struct space *space, uint32_t number)
{
    return find_locked(space, number);
}

static int put_locked(struct space *space, uint32_t number, const struct policy *policy)
{
    struct mempolicy_list *list = &space->policies;
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
        mempolicy_list_free(list);
        *list = (struct mempolicy_list){more, room};
    }
    list->known[number - 1] = *policy;
    return 0;
}

/* At the home: returns the number of POLICY, a new one if necessary; or -ENOMEM. */
static int make_locked(struct space *space, const struct policy *policy)
{
    uint32_t free = 0;

    for (uint32_t number = POLICY_MAX; number > 0; number--) {
        const struct policy *known = find_locked(space, number);

        if (known == NULL)
            free = number;
        else if (policy_equal(known, policy))
            return (int)number;
    }
    if (free == 0 || put_locked(space, free, policy) != 0)
        return -ENOMEM;
    return (int)free;
}

bool mempolicy_is_valid(const struct policy *policy)
{
    return policy->mode != POLICY_DEFAULT && policy->mode < POLICY_MODES && policy->home <= NODES_MAX &&
           (policy->nodes != 0) == (policy->mode != POLICY_LOCAL);
}

/* --- assigning numbers at the home: for tasks here, and for other kernels --- */

static int number_of(struct space *space, const struct policy *policy, uint32_t *number)
{
    int made;

    if (space->home != instance.kernel || !mempolicy_is_valid(policy))
        return -EPROTO;
    spin_lock(&space->lock);
    made = make_locked(space, policy);
    spin_unlock(&space->lock);
    *number = made > 0 ? (uint32_t)made : 0;
    return made < 0 ? made : 0;
}

static void handle_make(const struct msg *m)
{
    const struct msg_space_policy *ask = m->data;
    struct msg_space_policy_number answer = {.space = ask->space};
    struct space *space = space_get(ask->space);
    int error = space != NULL ? number_of(space, &ask->policy, &answer.number) : -ESRCH;

    if (space != NULL)
        space_put(space);
    if (error != 0)
        msg_reply_error(&m->ticket, error);
    else
        msg_reply(&m->ticket, &answer, sizeof(answer));
}

static void handle_notify(const struct msg *m)
{
    const struct msg_space_policy_number *ask = m->data;
    struct msg_space_policy answer = {.space = ask->space};
    struct space *space = space_get(ask->space);
    int error = space != NULL ? -EPROTO : -ESRCH;

    if (space != NULL) {
        if (space->home == instance.kernel && ask->number >= 1 && ask->number <= POLICY_MAX &&
            policy_known(space, ask->number, &answer.policy))
            error = 0;
        space_put(space);
    }
    if (error != 0)
        msg_reply_error(&m->ticket, error);
    else
        msg_reply(&m->ticket, &answer, sizeof(answer));
}

void policy_init(void)
{
    weight_init();
    msg_register(MSG_SPACE_POLICY_MAKE, handle_make, sizeof(struct msg_space_policy),
                 sizeof(struct msg_space_policy_number));
    msg_register(MSG_SPACE_POLICY_TELL, handle_notify, sizeof(struct msg_space_policy_number),
                 sizeof(struct msg_space_policy));
}

/* --- requests to the home --- */

/* Sends a request to the home and waits for its reply, of SIZE bytes. */
static int ask_home(const struct space *space, enum msg_type type, const void *ask, uint32_t length, void *answer,
                    uint32_t size)
{
    int got = msg_call(space->home, type, ask, length, answer, size, "policy of memory", space->id);

    return got < 0 ? got : got == (int)size ? 0 : -EPROTO;
}

int64_t mempolicy_number(struct space *space, const struct policy *policy)
{
    struct msg_space_policy ask = {space->id, *policy};
    struct msg_space_policy_number answer;
    int error;

    if (space->home == instance.kernel)
        error = number_of(space, policy, &answer.number);
    else
        error = ask_home(space, MSG_SPACE_POLICY_MAKE, &ask, sizeof(ask), &answer, sizeof(answer));
    return error != 0 ? error : (int64_t)answer.number;
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

int mempolicy_note(struct space *space, uint32_t number, const struct policy *policy)
{
    int error;

    if (!mempolicy_is_valid(policy))
        return -EPROTO;
    spin_lock(&space->lock);
    error = put_locked(space, number, policy);
    spin_unlock(&space->lock);
    return error;
}

int mempolicy_find(struct space *space, uint32_t number, struct policy *out)
{
    struct msg_space_policy_number ask = {.space = space->id, .number = number};
    struct msg_space_policy answer;
    int error = -EPROTO;

    if (policy_known(space, number, out))
        return 0;
    if (space->home != instance.kernel)
        error = ask_home(space, MSG_SPACE_POLICY_TELL, &ask, sizeof(ask), &answer, sizeof(answer));
    if (error != 0)
        return error;
    *out = answer.policy;
    return mempolicy_note(space, number, out) == -EPROTO
               ? -EPROTO
               : 0; /* without memory it is not recorded, and requested again the next time */
}

int mempolicy_ask(uint32_t home, uint64_t id, uint32_t number, struct policy *out)
{
    struct msg_space_policy_number ask = {.space = id, .number = number};
    struct msg_space_policy answer;
    struct space *space = home == instance.kernel ? space_get(id) : NULL;
    int error = -ESRCH;

    if (home != instance.kernel) {
        error = msg_call(home, MSG_SPACE_POLICY_TELL, &ask, sizeof(ask), &answer, sizeof(answer), "policy of memory",
                         id);
        error = error < 0 ? error : error == (int)sizeof(answer) && mempolicy_is_valid(&answer.policy) ? 0 : -EPROTO;
        if (error == 0)
            *out = answer.policy;
    } else if (space != NULL) {
        error = policy_known(space, number, out) ? 0 : -EPROTO;
        space_put(space);
    }
    return error;
}

int mempolicy_inherit(struct space *parent, struct space *child)
{
    uint32_t last = 0;
    int error = 0;

    list_for_each(node, &child->areas.head) {
        uint32_t number = container_of(node, const struct area, node)->prot >> AREA_POLICY_SHIFT;
        struct policy policy;

        slice_check();
        if (number == 0 || number == last)
            continue;
        last = number;
        error = mempolicy_find(parent, number, &policy);
        if (error == 0)
            error = mempolicy_note(child, number, &policy);
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

/* Returns the policy of an area with PROT; NULL: its number is not known here. */
static const struct policy *choose_locked(const struct space *space, uint32_t prot)
{
    uint32_t number = prot >> AREA_POLICY_SHIFT;

    return number == 0 ? of_task() : find_locked(space, number);
}

uint32_t mempolicy_own_node(void)
{
    return cpu_self()->node;
}

/* Returns the node from which distances are measured. */
static uint32_t centre(const struct policy *policy)
{
    return policy->home != 0 && policy->home <= instance.plan.node_count ? policy->home - 1 : mempolicy_own_node();
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

uint64_t mempolicy_frame_near(bool zeroed)
{
    uint64_t own = frame_nodes(), frame = 0;
    bool several = (own & (own - 1)) != 0;

    if (several && (own >> mempolicy_own_node() & 1) != 0)
        frame = frame_alloc_page_on(1ull << mempolicy_own_node(), zeroed);
    if (frame == 0)
        frame = frame_alloc_page(zeroed);
    if (frame != 0)
        numa_count(several ? policy_node_of(frame) : (uint32_t)__builtin_ctzll(own), mempolicy_own_node(), false);
    return frame;
}

static uint64_t counted(const struct policy *policy, uint64_t frame, uint32_t wanted)
{
    if (frame != 0)
        numa_count(policy_node_of(frame), wanted, policy_interleaves(policy));
    return frame;
}

uint64_t mempolicy_frame_here_locked(const struct space *space, uint32_t prot, uint64_t page, bool zeroed,
                                     bool *elsewhere)
{
    const struct policy *policy = choose_locked(space, prot);
    uint64_t nodes, own = frame_nodes();
    uint32_t node;
    bool strict;

    *elsewhere = policy == NULL;
    if (policy == NULL)
        return 0;
    nodes = policy->nodes != 0 ? mempolicy_nodes(policy, page, &strict) & policy_machine_nodes() : 0;
    if (nodes == 0)
        return mempolicy_frame_near(zeroed);
    node = nearest(centre(policy), nodes);
    *elsewhere = true; /* if the nearest node has no memory, another one may have some */
    return (own >> node & 1) != 0 ? counted(policy, frame_alloc_page_on(1ull << node, zeroed), node) : 0;
}

bool mempolicy_is_near_locked(const struct space *space, uint32_t prot, uint64_t page)
{
    const struct policy *policy = choose_locked(space, prot);
    uint64_t nodes;
    bool strict;

    if (policy == NULL)
        return false;
    nodes = mempolicy_nodes(policy, page, &strict) & policy_machine_nodes();
    return nodes == 0 || (1ull << nearest(centre(policy), nodes) == frame_nodes());
}

bool mempolicy_is_known_locked(const struct space *space, uint32_t prot)
{
    return choose_locked(space, prot) != NULL;
}

bool mempolicy_accepts_block_locked(const struct space *space, uint32_t prot, uint64_t page, uint64_t frame)
{
    uint32_t number = prot >> AREA_POLICY_SHIFT;
    const struct policy *policy = number != 0 ? find_locked(space, number) : NULL;
    uint64_t nodes;

    if (number == 0)
        return true;
    if (policy == NULL || frame == 0)
        return policy != NULL;
    nodes = mempolicy_block_nodes(policy, page) & policy_machine_nodes();
    return nodes == 0 || (nodes >> policy_node_of(frame) & 1) != 0; /* it knew the area, and chose among them */
}

bool mempolicy_accepts_locked(const struct space *space, uint32_t prot, uint64_t page, uint64_t frame)
{
    uint32_t number = prot >> AREA_POLICY_SHIFT;
    const struct policy *policy;
    uint64_t nodes;
    bool strict;

    if (number == 0)
        return true;
    policy = find_locked(space, number);
    if (policy == NULL)
        return false;
    nodes = mempolicy_nodes(policy, page, &strict) & policy_machine_nodes();
    if (nodes == 0)
        return true;
    /* the touching kernel takes the nearest of several nodes, which is the right one unless the policy has a home
     * node */
    return (nodes >> policy_node_of(frame) & 1) != 0 && (policy->home == 0 || (nodes & (nodes - 1)) == 0);
}

void mempolicy_count_taken_locked(const struct space *space, uint32_t prot, uint64_t frame)
{
    uint32_t number = prot >> AREA_POLICY_SHIFT;
    const struct policy *policy = number != 0 ? find_locked(space, number) : NULL;

    if (policy != NULL && policy_interleaves(policy))
        numa_count_interleaved(policy_node_of(frame));
}

/* Allocates a frame of this kernel on NODE, zeroed or a copy of SOURCE. */
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

/* POLICY_BLOCK frames in a row on NODE, of this kernel or another one. 0: there are none. */
static uint64_t block_on(uint32_t node)
{
    uint32_t count = 0;
    uint64_t frame = frame_alloc_run(1ull << node, POLICY_BLOCK, &count);

    if (frame != 0 && count == POLICY_BLOCK)
        return frame;
    if (frame != 0)
        frame_release_run(frame, count);
    return frame_run_from_node(node, POLICY_BLOCK, POLICY_BLOCK, &count);
}

uint64_t mempolicy_block(struct space *space, uint32_t prot, uint64_t page)
{
    uint32_t number = prot >> AREA_POLICY_SHIFT, wanted = mempolicy_own_node();
    struct policy policy = *of_task();
    uint64_t nodes, frame = 0;

    if (number != 0 && mempolicy_find(space, number, &policy) != 0)
        return 0;
    nodes = mempolicy_block_nodes(&policy, page) & policy_machine_nodes();
    if (nodes == 0)
        return counted(&policy, frame_alloc_pages(BLOCK_ORDER), wanted);
    wanted = nearest(centre(&policy), nodes);
    while (nodes != 0 && frame == 0) {
        uint32_t node = nearest(centre(&policy), nodes);

        nodes &= ~(1ull << node);
        frame = block_on(node);
    }
    return counted(&policy, frame, wanted);
}

uint64_t policy_frames_on(uint64_t nodes, uint32_t most, uint32_t *count)
{
    uint64_t frame = 0;
    uint32_t wanted;

    nodes &= policy_machine_nodes();
    wanted = nodes != 0 ? nearest(mempolicy_own_node(), nodes) : 0;
    while (nodes != 0 && frame == 0) {
        uint32_t node = nearest(mempolicy_own_node(), nodes);

        nodes &= ~(1ull << node);
        frame = frame_alloc_run(1ull << node, most, count);
        if (frame == 0)
            frame = frame_run_from_node(node, most, 1, count);
    }
    for (uint32_t i = 0; frame != 0 && i < *count; i++)
        numa_count(policy_node_of(frame), wanted, false);
    return frame;
}

uint64_t mempolicy_frame(struct space *space, uint32_t prot, uint64_t page, uint64_t source)
{
    uint32_t number = prot >> AREA_POLICY_SHIFT;
    struct policy policy = *of_task();
    uint64_t nodes, frame = 0;
    bool strict;

    if (number != 0 && mempolicy_find(space, number, &policy) != 0)
        return 0;
    nodes = mempolicy_nodes(&policy, page, &strict) & policy_machine_nodes();
    if (nodes != 0)
        frame = counted(&policy, frame_near(centre(&policy), nodes, source), nearest(centre(&policy), nodes));
    if (frame != 0 || strict)
        return frame;
    frame = mempolicy_frame_near(source == 0);
    if (frame == 0)
        return counted(&none, frame_from_peer(source), mempolicy_own_node());
    if (source != 0)
        frame_copy(frame, source);
    return frame;
}

void mempolicy_place(const struct policy *policy, uint64_t index, uint32_t centre, struct placement *out)
{
    const struct policy *by = policy != NULL ? policy : of_task();
    bool strict = false;
    uint64_t nodes = 0;

    if (by->nodes != 0)
        nodes = mempolicy_nodes(by, index * PAGE_SIZE, &strict) & policy_machine_nodes();
    *out = (struct placement){.nodes = nodes,
                              .centre = by->home != 0 && by->home <= instance.plan.node_count ? by->home - 1 : centre,
                              .strict = strict,
                              .interleave = policy_interleaves(by)};
    if (nodes == 0)
        out->nodes = 1ull << centre & policy_machine_nodes();
}

static uint64_t count_placed(const struct placement *where, uint64_t frame, uint32_t wanted)
{
    if (frame != 0)
        numa_count(policy_node_of(frame), wanted, where->interleave != 0);
    return frame;
}

uint64_t mempolicy_frame_placed_here(const struct placement *where)
{
    uint32_t node;

    if (where->nodes == 0)
        return mempolicy_frame_near(true);
    node = nearest(where->centre, where->nodes);
    return (frame_nodes() >> node & 1) != 0 ? count_placed(where, frame_alloc_page_on(1ull << node, true), node) : 0;
}

uint64_t mempolicy_frame_placed(const struct placement *where)
{
    uint32_t wanted = where->nodes != 0 ? nearest(where->centre, where->nodes) : mempolicy_own_node();
    uint64_t frame = frame_near(where->centre, where->nodes, 0);

    if (frame == 0 && where->strict == 0 && (frame = frame_alloc_page(true)) == 0)
        frame = frame_from_peer(0);
    return count_placed(where, frame, wanted);
}

uint32_t policy_node_of(uint64_t frame)
{
    const struct plan_range *range = window_range_of(frame);

    return range != NULL ? range->node : 0;
}

uint64_t policy_machine_nodes(void)
{
    static volatile uint64_t all; /* [a] a cache: the plan does not change */
    uint64_t nodes = 0;

    if (all != 0)
        return all;
    for (uint32_t i = 0; i < instance.plan.range_count; i++)
        nodes |= 1ull << instance.plan.ranges[i].node;
    all = nodes;
    return nodes;
}
