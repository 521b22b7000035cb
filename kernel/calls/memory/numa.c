/* NUMA: set_mempolicy(2), get_mempolicy(2), mbind(2), set_mempolicy_home_node(2), migrate_pages(2), move_pages(2).
 * mm/mempolicy/mempolicy.h explains policies. The order of the checks is Linux's. All processes may use all nodes. */
#include "kernel/abi/errno.h"
#include "kernel/calls/calls.h"
#include "kernel/instance/instance.h"
#include "kernel/process/reach.h"
#include "mm/area/backing.h"
#include "mm/change/change.h"
#include "mm/fault/fault.h"
#include "mm/file/policy.h"
#include "mm/frame/heap.h"
#include "mm/mempolicy/mempolicy.h"
#include "mm/move/move.h"
#include "mm/seen/choice.h"
#include "mm/seen/group.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "mm/user/user_copy.h"
#include "msg/slice.h"
#include "tasks/process/group.h"
#include "tasks/process/permission.h"
#include "tasks/process/process.h"
#include "tasks/thread/thread.h"

#define F_NODE 1u /* MPOL_F_* of get_mempolicy */
#define F_ADDR 2u
#define F_ALLOWED 4u
#define MOVE_STRICT 1u /* MPOL_MF_* */
#define MOVE_OWN 2u
#define MOVE_ALL 4u
#define MOVE_LAZY 8u            /* as Linux has it, which refuses it: when a page is touched (mm/move/lazy.md) */
#define MOVE_BY_TARGET 0x10000u /* Kettle's MPOL_MF_LAZY_TARGET: by a CPU of the policy's nodes */
#define LINUX_NODES 1024u       /* higher bits of a mask must be zero */
#define WINDOW 32u

static struct space *own_space(void)
{
    return group_space(thread_current()->group);
}

static uint64_t page_up(uint64_t bytes)
{
    return (bytes + PAGE_SIZE - 1) & ~(PAGE_SIZE - 1);
}

/* --- masks --- */

struct mask {
    uint64_t nodes; /* the nodes below 64 */
    bool empty;     /* no bit is set, not even of a higher node */
};

static int64_t read_mask(uint64_t address, uint64_t most, struct mask *out)
{
    uint64_t bits = most - 1;

    *out = (struct mask){.empty = true};
    if (bits == 0 || address == 0)
        return 0;
    if (bits > PAGE_SIZE * 8)
        return -EINVAL;
    for (uint64_t at = 0; at < bits; at += 64) {
        uint64_t word;

        if (user_read(&word, address + at / 8, sizeof(word)) != 0)
            return -EFAULT;
        if (bits - at < 64)
            word &= (1ull << (bits - at)) - 1;
        if (word != 0 && at >= LINUX_NODES)
            return -EINVAL;
        if (word != 0)
            out->empty = false;
        if (at == 0)
            out->nodes = word;
    }
    return 0;
}

static int64_t write_mask(uint64_t address, uint64_t most, uint64_t nodes)
{
    uint64_t bytes = (most - 1 + 63) / 64 * 8;
    const uint64_t zero = 0;

    if (bytes > PAGE_SIZE)
        return -EINVAL;
    for (uint64_t at = 8; at < bytes; at += 8) {
        if (user_write(address + at, &zero, sizeof(zero)) != 0)
            return -EFAULT;
    }
    return bytes == 0 ? 0 : user_write(address, &nodes, sizeof(nodes));
}

/* Checks MODE with its flags and reads its nodes. -EINVAL, -EFAULT. */
static int64_t read_asked(uint32_t mode, uint64_t address, uint64_t most, struct mask *mask)
{
    uint32_t flags = mode & POLICY_FLAGS;

    mode &= ~POLICY_FLAGS;
    if (mode >= POLICY_MODES || (flags & (POLICY_STATIC | POLICY_RELATIVE)) == (POLICY_STATIC | POLICY_RELATIVE) ||
        ((flags & POLICY_BALANCING) != 0 && mode != POLICY_BIND))
        return -EINVAL;
    return read_mask(address, most, mask);
}

static int make(uint32_t mode, const struct mask *mask, struct policy *out)
{
    return mempolicy_make(mode, mask->nodes, mask->empty, policy_machine_nodes(), out);
}

/* --- a thread's policy --- */

int64_t call_set_mempolicy(struct call *c)
{
    struct policy policy;
    struct mask mask;
    int64_t error = read_asked((uint32_t)c->a[0], c->a[1], c->a[2], &mask);

    if (error == 0)
        error = make((uint32_t)c->a[0], &mask, &policy);
    if (error == 0)
        thread_current()->context.memory_policy = policy;
    return error;
}

/* The object whose mapping, shared or private, contains ADDRESS, with the page there, or BACKING_NONE. *END: that of
 * the area. */
static uint64_t mapped_object(uint64_t address, uint64_t *end)
{
    uint64_t page = address & ~(PAGE_SIZE - 1);
    int64_t there = space_look(own_space(), page, SPACE_LOOK_THERE);
    int64_t backing = there >= 0 ? space_look(own_space(), page, SPACE_LOOK_BACKING) : 0;

    *end = there >= 0 ? (uint64_t)there & ~(PAGE_SIZE - 1) : 0;
    return backing > 0 && !backing_stays((uint64_t)backing) ? (uint64_t)backing : BACKING_NONE;
}

/* Finds the policy that mbind gave the area which contains ADDRESS. -EFAULT: there is no area. */
static int64_t area_policy(uint64_t address, struct policy *out)
{
    int64_t number = space_look(own_space(), address, SPACE_LOOK_POLICY);

    *out = (struct policy){.mode = POLICY_DEFAULT};
    if (number < 0)
        return -EFAULT;
    return number == 0 ? 0 : mempolicy_find(own_space(), (uint32_t)number, out);
}

/* Finds the policy by which the page at ADDRESS is placed: the object's, if one is mapped. -EFAULT. */
static int64_t page_policy(uint64_t address, struct policy *out)
{
    uint64_t end, object = mapped_object(address, &end);

    if (object == BACKING_NONE)
        return area_policy(address, out);
    *out = (struct policy){.mode = POLICY_DEFAULT};
    return file_policy_get(object, out) == -ENOMEM ? -ENOMEM : 0;
}

/* Returns the node of the page at ADDRESS, after a read fault if it is not present. -EFAULT. */
static int64_t node_at(uint64_t address)
{
    int error = space_fault(own_space(), address, AREA_READ);
    int node = error >= 0 ? space_page_node(own_space(), address) : -EFAULT;

    if (error >= 0 && node == -EFAULT) /* the page of zeros, which is in this kernel's memory */
        node = (int)instance.plan.cpus[cpu_self()->number].node;
    return node == -ENOENT ? -EFAULT : node;
}

/* Computes the *VALUE and the *NODES that get_mempolicy returns. */
static int64_t get_policy(uint32_t flags, uint64_t address, int64_t *value, uint64_t *nodes)
{
    struct policy policy = thread_current()->context.memory_policy;
    int64_t error = (flags & F_ADDR) != 0 ? page_policy(address, &policy) : address != 0 ? -EINVAL : 0;

    if (error != 0)
        return error;
    *nodes = (policy.flags & (POLICY_STATIC | POLICY_RELATIVE)) != 0 ? policy.asked : policy.nodes;
    *value = policy.mode | (policy.flags & POLICY_FLAGS);
    if ((flags & F_NODE) == 0)
        return 0;
    if ((flags & F_ADDR) != 0)
        *value = node_at(address);
    else if (policy_interleaves(&policy))
        *value = __builtin_ctzll(policy.nodes); /* allocations without an address begin there */
    else
        return -EINVAL;
    return *value < 0 ? *value : 0;
}

int64_t call_get_mempolicy(struct call *c)
{
    uint32_t flags = (uint32_t)c->a[4];
    uint64_t nodes = policy_machine_nodes();
    int64_t value = 0, error = 0;
    int32_t word;

    if ((c->a[4] & ~(uint64_t)(F_NODE | F_ADDR | F_ALLOWED)) != 0 ||
        (c->a[1] != 0 && c->a[2] < instance.plan.node_count))
        return -EINVAL;
    if ((flags & F_ALLOWED) != 0 && (flags & (F_NODE | F_ADDR)) != 0)
        return -EINVAL;
    if ((flags & F_ALLOWED) == 0)
        error = get_policy(flags, c->a[3], &value, &nodes);
    if (error != 0)
        return error;
    word = (int32_t)value;
    if (c->a[0] != 0 && user_write(c->a[0], &word, sizeof(word)) != 0)
        return -EFAULT;
    return c->a[1] != 0 ? write_mask(c->a[1], c->a[2], nodes) : 0;
}

/* --- policies of memory --- */

/* MPOL_MF_MOVE_ALL, for pages that other processes have, too, needs privilege: -EPERM, as on Linux. */
static int64_t may_move_all(uint32_t flags)
{
    return (flags & MOVE_ALL) != 0 ? credentials_need_root() : 0;
}

/* mbind: the pages of a range are to be where POLICY wants them. */
struct settling {
    const struct policy *policy;
    int64_t left; /* pages that are elsewhere */
};

static uint64_t settle_nodes(const struct policy *policy, uint64_t page)
{
    uint64_t nodes = mempolicy_leaves(policy, page);

    /* the policy may name no nodes: the local node */
    return nodes != 0 ? nodes : 1ull << instance.plan.cpus[cpu_self()->number].node;
}

static uint64_t settle_wanted(void *context, uint64_t page, uint32_t node)
{
    const struct settling *settling = context;

    (void)node;
    return settle_nodes(settling->policy, page);
}

static void settle_done(void *context, uint64_t page, int result)
{
    struct settling *settling = context;

    if (result == -EFAULT || result == -ENOENT ||
        (result >= 0 && (settle_nodes(settling->policy, page) >> result & 1) != 0))
        return;
    settling->left++;
}

/* Moves the pages in the range to the nodes of POLICY. Returns how many are on other nodes afterwards, or -EINTR. */
static int64_t settle(uint64_t start, uint64_t end, const struct policy *policy, bool all)
{
    struct settling settling = {policy, 0};
    struct space_moves moves = {.wanted = settle_wanted, .done = settle_done, .context = &settling, .all = all};

    for (uint64_t at = start; at < end; at = reach_stop(at, end)) {
        space_move(own_space(), at, reach_stop(at, end), &moves);
        reach_pause(at - start);
        if (thread_dying(thread_current()))
            return -EINTR; /* the thread dies, so no program sees this */
    }
    return settling.left;
}

/* Returns how many pages in the range are not on the nodes of POLICY, or a negative errno. */
static int64_t count_elsewhere(uint64_t start, uint64_t end, const struct policy *policy)
{
    struct settling settling = {policy, 0};
    struct space_pages list;
    uint8_t where[WINDOW];
    int error = 0;

    for (uint64_t at = start; at < end; at += WINDOW * PAGE_SIZE) {
        uint64_t count = (end - at) / PAGE_SIZE < WINDOW ? (end - at) / PAGE_SIZE : WINDOW;
        int64_t pages = space_resident_pages(own_space(), at, (uint32_t)count);

        if (pages < 0)
            return pages;
        space_pages_clear(&list);
        for (uint64_t i = 0; i < count; i++) {
            if ((pages >> i & 1) != 0)
                space_pages_add(&list, at + i * PAGE_SIZE);
        }
        if (list.pages != 0)
            error = space_where(own_space(), &list, where);
        if (error != 0)
            return error;
        for (uint64_t i = 0, found = 0; i < count; i++) {
            if ((pages >> i & 1) != 0)
                settle_done(&settling, at + i * PAGE_SIZE, space_where_node(where[found++]));
        }
        reach_pause(at - start);
        if (thread_dying(thread_current()))
            return -EINTR;
    }
    return settling.left;
}

/* Whether mbind may have FLAGS, MPOL_MF_*. What is to move later can neither be checked nor move in other processes. */
static bool flags_valid(uint32_t flags)
{
    if ((flags & ~(MOVE_STRICT | MOVE_OWN | MOVE_ALL | MOVE_LAZY | MOVE_BY_TARGET)) != 0)
        return false;
    if ((flags & MOVE_LAZY) != 0)
        return (flags & (MOVE_STRICT | MOVE_OWN | MOVE_ALL)) == MOVE_OWN;
    return (flags & MOVE_BY_TARGET) == 0;
}

/* An object that is not written through the mapping goes without the policy if there is no memory for it, which is of
 * the object's user: nobody can make mbind of others' private memory fail by what the object behind it has. */
static int bind_object(uint64_t backing, uint64_t pages, void *policy)
{
    int error = file_policy_set(backing, pages, policy);

    return error == -ENOMEM && (backing & BACKING_READ_ONLY) != 0 ? 0 : error;
}

/* New pages of the objects that are mapped in the range are placed by POLICY, whoever makes them and however they are
 * mapped, as in Linux's tmpfs. */
static int64_t bind_objects(uint64_t start, uint64_t end, struct policy *policy)
{
    int64_t error = 0;

    while (start < end && error == 0) {
        int64_t next = space_look(own_space(), start, SPACE_LOOK_START);
        uint64_t stop, object;

        if (next < 0 || (uint64_t)next >= end)
            break; /* no area is left in the range */
        if ((uint64_t)next > start)
            start = (uint64_t)next & ~(PAGE_SIZE - 1);
        object = mapped_object(start, &stop);
        if (stop <= start)
            break; /* unmapped meanwhile */
        stop = stop < end ? stop : end;
        if (object != BACKING_NONE)
            error = space_on_file(own_space(), start, stop, false, bind_object, policy);
        start = error != -EAGAIN ? stop : start; /* else the area has changed meanwhile */
        error = error == -ENXIO || error == -EAGAIN ? 0 : error;
        if (slice_check())
            error = -EINTR; /* the thread dies, so no program sees this */
    }
    return error;
}

int64_t call_mbind(struct call *c)
{
    uint64_t start = c->a[0], end = start + page_up(c->a[1]);
    uint32_t flags = (uint32_t)c->a[5];
    int64_t error, left = 0, number = 0;
    struct policy policy;
    struct mask mask;

    error = read_asked((uint32_t)c->a[2], c->a[3], c->a[4], &mask);
    if (error != 0)
        return error;
    if (!flags_valid(flags))
        return -EINVAL;
    error = may_move_all(flags);
    if (error != 0)
        return error;
    if ((start & (PAGE_SIZE - 1)) != 0 || end < start)
        return -EINVAL;
    if (end == start)
        return 0;
    error = make((uint32_t)c->a[2], &mask, &policy);
    if (error != 0)
        return error;
    if (policy.mode == POLICY_DEFAULT)
        flags &= ~MOVE_STRICT;
    if ((flags & MOVE_BY_TARGET) != 0 && policy.nodes == 0)
        return -EINVAL;
    if ((flags & MOVE_BY_TARGET) != 0)
        policy.flags |= POLICY_BY_TARGET;
    if (end > USER_END)
        return -EFAULT;
    error = space_check(own_space(), start, end, 0, 0);
    if (error < 0 || (error > 0 && policy.mode != POLICY_DEFAULT))
        return error < 0 ? error : -EFAULT;
    if (policy.mode != POLICY_DEFAULT)
        number = mempolicy_number(own_space(), &policy);
    if (number < 0)
        return number;
    if ((flags & (MOVE_STRICT | MOVE_OWN | MOVE_ALL)) == MOVE_STRICT) {
        left = count_elsewhere(start, end, &policy); /* checked before anything is changed */
        if (left != 0)
            return left < 0 ? left : -EIO;
    }
    error = space_set_policy(own_space(), start, end, (uint32_t)number, (flags & MOVE_LAZY) != 0);
    error = error > 0 ? 0 : error; /* a policy of none may be set for addresses that are in no area */
    policy.flags &= ~POLICY_BY_TARGET;
    if (error == 0)
        error = bind_objects(start, end, &policy);
    if (error == 0 && (flags & (MOVE_OWN | MOVE_ALL)) != 0 && (flags & MOVE_LAZY) == 0 && policy.mode != POLICY_DEFAULT)
        left = settle(start, end, &policy, (flags & MOVE_ALL) != 0);
    if (error != 0 || left < 0)
        return error != 0 ? error : left;
    return left > 0 && (flags & MOVE_STRICT) != 0 ? -EIO : 0;
}

/* The pages of [START, START + LENGTH) have POLICY from now on; a mode of DEFAULT: none of their own. */
static int64_t give_policy(uint64_t start, uint64_t length, const struct policy *policy)
{
    uint64_t end = start + page_up(length);
    int64_t error, number = 0;

    if ((start & (PAGE_SIZE - 1)) != 0 || end <= start)
        return -EINVAL;
    error = end <= USER_END ? space_check(own_space(), start, end, 0, 0) : -EFAULT;
    if (error != 0)
        return error < 0 ? error : -EFAULT;
    if (policy->mode != POLICY_DEFAULT)
        number = mempolicy_number(own_space(), policy);
    error = number < 0 ? number : space_set_policy(own_space(), start, end, (uint32_t)number, false);
    return error > 0 ? -EFAULT : error;
}

/* The pages of [a[0], a[0] + a[1]) may follow their users to the nodes a[2] (0: all), by the policy that a[3] names; or
 * by the process's, if that is "default". */
int64_t call_kettle_follow(struct call *c)
{
    struct mask mask = {.nodes = c->a[2] != 0 ? c->a[2] : policy_machine_nodes()};
    uint32_t choice;
    struct policy policy;
    char name[32];
    int64_t error = user_read_string(name, c->a[3], sizeof(name));

    if (error < 0)
        return error == -ENAMETOOLONG ? -EINVAL : error;
    choice = seen_choice_of(name);
    if (choice == SEEN_NO_CHOICE || seen_choice_way(choice) != 0 || (mask.nodes & ~policy_machine_nodes()) != 0)
        return -EINVAL;
    error = make(POLICY_BIND | POLICY_BALANCING, &mask, &policy);
    if (error != 0)
        return error;
    policy.flags |= (uint16_t)(seen_choice_policy(choice) << POLICY_FOLLOW_SHIFT);
    return give_policy(c->a[0], c->a[1], &policy);
}

/* The pages of [a[0], a[0] + a[1]) belong to the NUMA group a[2], whose threads they follow; 0: to none. */
int64_t call_kettle_gather(struct call *c)
{
    struct mask mask = {.nodes = policy_machine_nodes()};
    uint32_t number = (uint32_t)c->a[2];
    struct policy policy = {0};
    int64_t error = number < NUMA_GROUPS ? 0 : -EINVAL;

    if (error == 0 && number != 0)
        error = make(POLICY_BIND | POLICY_BALANCING, &mask, &policy);
    if (error != 0)
        return error;
    if (number != 0)
        policy.flags |= (uint16_t)((seen_policy_find("group") + 1) << POLICY_FOLLOW_SHIFT | number
                                                                                                << POLICY_GROUP_SHIFT);
    return give_policy(c->a[0], c->a[1], &policy);
}

int64_t call_set_mempolicy_home_node(struct call *c)
{
    uint64_t start = c->a[0], end = start + page_up(c->a[1]), home = c->a[2];
    int64_t result = -ENOENT; /* no area has a policy */

    if ((start & (PAGE_SIZE - 1)) != 0 || c->a[3] != 0 || home >= instance.plan.node_count || end < start)
        return -EINVAL;
    if (end == start)
        return 0;
    if (end > USER_END)
        end = USER_END;
    while (start < end) {
        int64_t next = space_look(own_space(), start, SPACE_LOOK_START), stop, error;
        struct policy policy;
        int64_t number;

        if (next < 0 || (uint64_t)next >= end)
            break; /* no area is left in the range */
        if ((uint64_t)next > start)
            start = (uint64_t)next & ~(PAGE_SIZE - 1);
        stop = space_look(own_space(), start, SPACE_LOOK_THERE);
        error = stop < 0 ? stop : area_policy(start, &policy);
        if (error < 0)
            return error;
        stop = (int64_t)((uint64_t)stop & ~(PAGE_SIZE - 1));
        if ((uint64_t)stop > end)
            stop = (int64_t)end;
        if (policy.mode != POLICY_DEFAULT) {
            if (policy.mode != POLICY_BIND && policy.mode != POLICY_PREFERRED_MANY)
                return -EOPNOTSUPP;
            policy.home = (uint32_t)home + 1;
            number = mempolicy_number(own_space(), &policy);
            error = number < 0 ? number : space_set_policy(own_space(), start, (uint64_t)stop, (uint32_t)number, false);
            if (error >= 0)
                error = bind_objects(start, (uint64_t)stop, &policy);
            if (error < 0)
                return error;
            result = 0;
        }
        start = (uint64_t)stop;
    }
    return result;
}

/* --- pages of any process --- */

/* Sets *ID to the process GIVEN, or to the caller's for 0, and checks that it exists and that the caller may
 * reach it. */
static int64_t find_process(uint64_t given, uint32_t *id)
{
    int64_t found;

    *id = (uint32_t)given != 0 ? (uint32_t)given : thread_current()->group->id;
    found = (int32_t)*id < 0 ? -ESRCH : reach_exists(*id);
    return found != 0 ? found : credentials_may_reach(*id, true);
}

int64_t call_migrate_pages(struct call *c)
{
    struct mask from, to;
    uint32_t process;
    int64_t error = read_mask(c->a[2], c->a[1], &from);

    if (error == 0)
        error = read_mask(c->a[3], c->a[1], &to);
    if (error == 0)
        error = find_process(c->a[0], &process);
    if (error != 0)
        return error;
    to.nodes &= policy_machine_nodes();
    return to.nodes == 0 ? -EINVAL : reach_migrate(process, from.nodes, to.nodes);
}

/* move_pages under way: pages of its list that follow each other in memory go together. */
struct list_move {
    const struct call *call;
    uint64_t first; /* in the list, of those that are gathered */
    int64_t left;   /* pages for which there was no frame */
    struct reach_pages pages;
    int32_t status[REACH_PAGES];
};

/* Moves the pages that are gathered, and notes their statuses. */
static int64_t move_gathered(struct list_move *list)
{
    uint32_t count = list->pages.ask.count;
    int64_t error = count != 0 ? reach_move(&list->pages, list->status) : 0;

    if (error != 0 || count == 0)
        return error;
    for (uint32_t i = 0; i < count; i++)
        list->left += list->status[i] == -ENOMEM;
    if (user_write(list->call->a[4] + list->first * sizeof(int32_t), list->status, count * sizeof(int32_t)) != 0)
        return -EFAULT;
    list->first += count;
    list->pages.ask.count = 0;
    return 0;
}

/* Whether PAGE follows those that are gathered, within 2 MiB. */
static bool follows(const struct msg_reach_move *ask, uint64_t page)
{
    return ask->count != 0 && page == ask->address + ask->count * PAGE_SIZE && page % (REACH_PAGES * PAGE_SIZE) != 0;
}

static int64_t gather(struct list_move *list, uint64_t index)
{
    struct msg_reach_move *ask = &list->pages.ask;
    uint64_t address;
    int32_t node;

    if (user_read(&address, list->call->a[2] + index * sizeof(address), sizeof(address)) != 0 ||
        user_read(&node, list->call->a[3] + index * sizeof(node), sizeof(node)) != 0)
        return -EFAULT;
    if (node < 0 || node >= (int32_t)NODES_MAX || (policy_machine_nodes() >> node & 1) == 0)
        return -ENODEV;
    address &= ~(PAGE_SIZE - 1);
    if (!follows(ask, address)) {
        int64_t error = move_gathered(list);

        if (error != 0)
            return error;
        ask->address = address;
    }
    list->pages.node[ask->count++] = (uint8_t)node;
    return 0;
}

static int64_t move_list(const struct call *c, uint32_t process)
{
    struct list_move *list = heap_alloc(sizeof(*list));
    int64_t error = 0, moved;

    if (list == NULL)
        return -ENOMEM;
    list->call = c;
    list->pages.ask.target.process = process;
    list->pages.ask.all = (c->a[5] & MOVE_ALL) != 0;
    for (uint64_t i = 0; i < c->a[1] && error == 0; i++) {
        error = gather(list, i);
        reach_pause(i * PAGE_SIZE);
        if (thread_dying(thread_current()))
            error = -EINTR;
    }
    moved = error != -EINTR && error != -ESRCH ? move_gathered(list) : 0; /* also what precedes a wrong page */
    if (error == 0)
        error = moved != 0 ? moved : list->left;
    heap_free(list, sizeof(*list));
    return error;
}

/* move_pages without nodes under way. */
struct list_query {
    uint32_t process;
    uint64_t answers; /* where the next status goes */
    struct space_pages pages;
    uint8_t where[SPACE_ASK_PAGES];
    int32_t status[SPACE_ASK_PAGES];
};

/* Reports where the pages that are gathered are. */
static int64_t report_gathered(struct list_query *query)
{
    uint32_t count = query->pages.pages;
    int64_t error = count != 0 ? reach_where(query->process, &query->pages, query->where) : 0;

    if (error != 0 || count == 0)
        return error;
    for (uint32_t i = 0; i < count; i++)
        query->status[i] = space_where_node(query->where[i]);
    space_pages_clear(&query->pages); /* also if they cannot be reported */
    if (user_write(query->answers, query->status, count * sizeof(query->status[0])) != 0)
        return -EFAULT;
    query->answers += count * sizeof(query->status[0]);
    return 0;
}

/* Adds the page at ADDRESS to those that are gathered; before that, and for an address of no page, reports them. */
static int64_t gather_query(struct list_query *query, uint64_t address)
{
    const int32_t no_page = -EFAULT;
    int64_t error;

    if (address < USER_END && space_pages_add(&query->pages, address & ~(PAGE_SIZE - 1)))
        return 0;
    error = report_gathered(query);
    if (error == 0 && address < USER_END) {
        space_pages_add(&query->pages, address & ~(PAGE_SIZE - 1));
    } else if (error == 0) {
        error = user_write(query->answers, &no_page, sizeof(no_page));
        query->answers += sizeof(no_page);
    }
    return error;
}

/* Reports the node of each page of the list. */
static int64_t list_nodes(const struct call *c, uint32_t process)
{
    struct list_query *query = heap_alloc_unset(sizeof(*query));
    int64_t error = 0, reported;

    if (query == NULL)
        return -ENOMEM;
    query->process = process;
    query->answers = c->a[4];
    space_pages_clear(&query->pages);
    for (uint64_t i = 0; i < c->a[1] && error == 0; i++) {
        uint64_t address;

        error = user_read(&address, c->a[2] + i * sizeof(address), sizeof(address)) != 0 ? -EFAULT : 0;
        if (error == 0)
            error = gather_query(query, address);
        reach_pause(i * PAGE_SIZE);
        if (thread_dying(thread_current()))
            error = -EINTR;
    }
    /* also what precedes an address that cannot be read */
    reported = error == 0 || error == -EFAULT ? report_gathered(query) : 0;
    heap_free(query, sizeof(*query));
    return error != 0 ? error : reported;
}

int64_t call_move_pages(struct call *c)
{
    uint32_t process;
    int64_t error;

    if ((c->a[5] & UINT32_MAX & ~(uint64_t)(MOVE_OWN | MOVE_ALL)) != 0)
        return -EINVAL;
    error = may_move_all((uint32_t)c->a[5]);
    if (error == 0)
        error = find_process(c->a[0], &process);
    if (error != 0)
        return error;
    return c->a[3] != 0 ? move_list(c, process) : list_nodes(c, process);
}
