/* Policies of files. See the header.
 *
 * A file that has policies has a list of ranges of pages without overlaps, in order. A call that writes holds the
 * node's lock and cannot wait: it says which bytes it would write and does nothing, and its task gets their pages
 * frames and does it again (FILE_MOVES, kernel/file/file.h). What a page was refused with belongs to the call, too, so
 * no call waits for what another one wants, or fails for it. */
#include "kernel/fs/node/policy.h"

#include <stddef.h>

#include "kernel/abi/errno.h"
#include "kernel/instance/window.h"
#include "kernel/lib/list.h"
#include "mm/area/backing.h"
#include "mm/frame/frame.h"
#include "mm/frame/heap.h"
#include "mm/frame/reference.h"
#include "mm/mempolicy/mempolicy.h"
#include "msg/slice.h"

#define RANGES_MAX 1024u /* of a file: a look goes through them under its lock */
#define RANGES_READ 16u  /* of a file, with those of which mbind of mappings that do not write it makes more */

struct policy_range {
    struct list node;
    uint64_t first, behind;
    struct policy policy;
};

struct node_policies {  /* all under node->lock */
    struct list ranges; /* struct policy_range, by FIRST */
    uint32_t count;     /* of them */
};

static struct policy_range *range_of(struct list *node)
{
    return container_of(node, struct policy_range, node);
}

static struct policy_range *range_make(uint64_t first, uint64_t behind, const struct policy *policy)
{
    struct policy_range *range = heap_alloc(sizeof(*range));

    if (range != NULL) {
        range->first = first;
        range->behind = behind;
        range->policy = *policy;
    }
    return range;
}

/* Whether [FIRST, BEHIND) is in the middle of a range. */
static bool splits_locked(const struct node_policies *policies, uint64_t first, uint64_t behind)
{
    list_for_each(node, &policies->ranges) {
        const struct policy_range *range = container_of(node, const struct policy_range, node);

        if (range->behind > first)
            return range->first < first && range->behind > behind;
    }
    return false;
}

/* Takes [FIRST, BEHIND) from all ranges. REST, a spare one, becomes the end of a range in the middle of which that is,
 * and is freed otherwise. Returns the place before which a range that begins at FIRST belongs. */
static struct list *clear_locked(struct node_policies *policies, uint64_t first, uint64_t behind,
                                 struct policy_range *rest)
{
    struct list *before = &policies->ranges;

    list_for_each_safe(node, &policies->ranges) {
        struct policy_range *range = range_of(node);

        if (range->first < first && range->behind > behind) {
            *rest = (struct policy_range){.first = behind, .behind = range->behind, .policy = range->policy};
            range->behind = first;
            list_insert_before(&rest->node, node->next);
            policies->count++;
            return &rest->node;
        }
        if (range->first >= behind) {
            before = node;
            break;
        }
        if (range->behind <= first)
            continue;
        if (range->first < first) {
            range->behind = first;
        } else if (range->behind > behind) {
            range->first = behind;
            before = node;
            break;
        } else {
            list_remove(node);
            heap_free(range, sizeof(*range));
            policies->count--;
        }
    }
    heap_free(rest, sizeof(*rest));
    return before;
}

/* Joins RANGE with the ranges before and behind it that continue it. */
static void join_locked(struct node_policies *policies, struct policy_range *range)
{
    for (uint32_t side = 0; side < 2; side++) {
        struct list *next = side == 0 ? range->node.previous : range->node.next;
        struct policy_range *other = range_of(next);

        if (next == &policies->ranges || !policy_equal(&other->policy, &range->policy) ||
            (side == 0 ? other->behind != range->first : other->first != range->behind))
            continue;
        if (side == 0)
            range->first = other->first;
        else
            range->behind = other->behind;
        list_remove(next);
        heap_free(other, sizeof(*other));
        policies->count--;
    }
}

/* The policies of NODE. If it has none yet, MADE becomes them, and is NULL then. */
static struct node_policies *policies_locked(struct node *node, struct node_policies **made)
{
    if (node->policies == NULL && *made != NULL) {
        list_init(&(*made)->ranges);
        __atomic_store_n(&node->policies, *made, __ATOMIC_RELEASE);
        *made = NULL;
    }
    return node->policies;
}

/* Bytes of its user's quota that NODE has for its policies. */
static int64_t cost_locked(const struct node *node)
{
    const struct node_policies *policies = node->policies;

    return policies != NULL ? (int64_t)(sizeof(*policies) + policies->count * sizeof(struct policy_range)) : 0;
}

int node_policy_set(struct node *node, uint64_t first, uint64_t count, bool may_write, const struct policy *policy)
{
    const int64_t most = (int64_t)(sizeof(struct node_policies) + 2 * sizeof(struct policy_range)); /* more than now */
    uint64_t behind = first + count;
    struct node_policies *made = heap_alloc(sizeof(*made)), *policies;
    struct policy_range *range = range_make(first, behind, policy), *rest = range_make(0, 0, policy);
    bool none = policy->mode == POLICY_DEFAULT, refused = made == NULL || range == NULL || rest == NULL;
    uint32_t more = none ? 0 : 1; /* ranges */
    struct list *before;
    int64_t cost;

    spin_lock(&node->lock);
    cost = cost_locked(node);
    if (node->policies != NULL) {
        more += splits_locked(node->policies, first, behind) ? 1 : 0;
        refused |= more != 0 && node->policies->count + more > (may_write ? RANGES_MAX : RANGES_READ);
    }
    refused = refused || node_charge_locked(node, most) != 0;
    policies = refused || none ? node->policies : policies_locked(node, &made);
    if (!refused && policies != NULL) {
        before = clear_locked(policies, first, behind, rest);
        rest = NULL;
        if (!none) {
            list_insert_before(&range->node, before);
            policies->count++;
            join_locked(policies, range);
            range = NULL;
        }
    }
    if (!refused)
        node_charge_locked(node, cost_locked(node) - cost - most);
    spin_unlock(&node->lock);
    heap_free(made, sizeof(*made));
    heap_free(range, sizeof(*range));
    heap_free(rest, sizeof(*rest));
    return refused ? -ENOMEM : 0;
}

/* The first range from AT on, a range or the head of the list, that ends behind PAGE; the head: there is none. */
static struct list *range_behind(struct node_policies *policies, struct list *at, uint64_t page)
{
    while (at != &policies->ranges && range_of(at)->behind <= page)
        at = at->next;
    return at;
}

const struct policy *node_policy_locked(const struct node *node, uint64_t page)
{
    struct node_policies *policies = node->policies;
    struct list *at = policies != NULL ? range_behind(policies, policies->ranges.next, page) : NULL;

    return policies != NULL && at != &policies->ranges && range_of(at)->first <= page ? &range_of(at)->policy : NULL;
}

/* The first page of [PAGE, BEHIND) that lacks a frame and has a policy, or for which OTHER is one: sets *PAGE and
 * *WHERE. False: there is none. */
static bool next_wanted_locked(const struct node *node, uint64_t *page, uint64_t behind, const struct policy *other,
                               uint32_t centre, struct placement *where)
{
    struct node_policies *policies = node->policies;
    struct list *at = policies != NULL ? policies->ranges.next : NULL;

    for (; *page < behind; ++*page) {
        const struct policy *policy = other;

        at = at != NULL ? range_behind(policies, at, *page) : NULL;
        if (at != NULL && at == &policies->ranges)
            at = NULL;
        if (at == NULL && other == NULL)
            return false;
        if (at != NULL && range_of(at)->first <= *page)
            policy = &range_of(at)->policy;
        if (policy == NULL) {
            *page = range_of(at)->first - 1;
        } else if (content_lacks_frame(&node->content, *page)) {
            mempolicy_place(policy, *page, centre, where);
            return true;
        }
    }
    return false;
}

/* The page behind the one in which END lies. */
static uint64_t page_behind(uint64_t end)
{
    return (end < CONTENT_MAX ? end + PAGE_SIZE - 1 : CONTENT_MAX) / PAGE_SIZE;
}

int node_policy_write_locked(struct node *node, uint64_t start, uint64_t *end, const struct policy *other,
                             uint32_t centre, int refused)
{
    uint64_t page = start / PAGE_SIZE, behind = page_behind(*end);
    struct placement where;

    for (; next_wanted_locked(node, &page, behind, other, centre, &where); page++) {
        uint64_t frame = mempolicy_frame_placed_here(&where);
        int error = frame != 0 ? content_take_own(&node->content, page, frame) : refused;

        if (frame == 0 && refused == 0)
            return -EXDEV;
        if (error == 0)
            continue;
        if (frame != 0)
            frame_free_zeroed(frame);
        if (where.strict == 0)
            continue; /* without a policy, it may still have one */
        if (page * PAGE_SIZE <= start)
            return error;
        *end = page * PAGE_SIZE;
        return 0;
    }
    return 0;
}

uint64_t node_frames_end_locked(const struct node *node, uint64_t start, uint64_t end)
{
    for (uint64_t page = start / PAGE_SIZE; page < page_behind(end); page++) {
        if (content_lacks_frame(&node->content, page))
            return page * PAGE_SIZE > start ? page * PAGE_SIZE : start;
    }
    return end;
}

/* A frame of any kernel at WHERE, with a reference for the file; 0: there is none. Where this kernel has memory, what
 * it can do without is given up first. */
static uint64_t frame_at(const struct placement *where)
{
    uint64_t frame = mempolicy_frame_placed(where);

    if (frame == 0 && (where->nodes & frame_nodes()) != 0 && node_drop_idle())
        frame = mempolicy_frame_placed(where);
    if (frame != 0 && window_owns(frame, PAGE_SIZE))
        frame_share(frame);
    return frame;
}

/* Gets PAGE a frame at WHERE, unless it has got one meanwhile. 0, -ENOSPC, -EDQUOT. */
static int get_frame(struct node *node, uint64_t page, const struct placement *where)
{
    struct frame_reference *reference = heap_alloc(sizeof(*reference));
    uint64_t frame = reference != NULL ? frame_at(where) : 0;
    int error = -ENOMEM;

    if (frame != 0) {
        reference->frame = frame;
        spin_lock(&node->lock);
        error = content_take(&node->content, page, reference);
        spin_unlock(&node->lock);
    }
    if (error != 0) {
        if (frame != 0)
            release_one(frame);
        heap_free(reference, sizeof(*reference));
    }
    return error == -ENOMEM ? -ENOSPC : error == -EEXIST ? 0 : error;
}

int node_policy_await(struct node *node, uint64_t start, uint64_t end, const struct policy *other, uint32_t centre)
{
    uint64_t page = start / PAGE_SIZE;
    struct placement where;
    bool found = true;
    int error = 0;

    while (found && error == 0) {
        spin_lock(&node->lock);
        found = next_wanted_locked(node, &page, page_behind(end), other, centre, &where);
        spin_unlock(&node->lock);
        if (found)
            error = get_frame(node, page++, &where);
        slice_check();
    }
    return error;
}

void node_policy_free(struct node *node)
{
    struct node_policies *policies = node->policies;

    if (policies == NULL)
        return;
    list_for_each_safe(at, &policies->ranges) {
        list_remove(at);
        heap_free(range_of(at), sizeof(struct policy_range));
    }
    heap_free(policies, sizeof(*policies));
    node->policies = NULL;
}
