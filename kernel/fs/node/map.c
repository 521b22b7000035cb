/* Grants of nodes to kernels that map them, and the operations that mm/ calls on mapped files. See the header. */
#include "kernel/fs/node/map.h"

#include <stddef.h>

#include "kernel/abi/errno.h"
#include "kernel/file/wire.h"
#include "kernel/fs/node/node.h"
#include "kernel/fs/node/notify.h"
#include "kernel/fs/node/policy.h"
#include "kernel/fs/node/revocation.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/log.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "kernel/vdso/pages.h"
#include "mm/area/backing.h"
#include "mm/change/revoke.h"
#include "mm/file/hold.h"
#include "mm/file/object.h"
#include "mm/frame/frame.h"
#include "mm/frame/heap.h"
#include "mm/mempolicy/mempolicy.h"
#include "msg/channel.h"
#include "msg/request/call.h"
#include "msg/slice.h"
#include "tasks/remote/operation.h"

/* --- grants --- */

bool node_mapped_locked(const struct node *node)
{
    return node->maps != NULL && node->maps->all != 0;
}

bool node_maps_written_locked(const struct node *node)
{
    return node->maps != NULL && node->maps->written;
}

void node_maps_free(struct node *node)
{
    heap_free(node->maps, sizeof(*node->maps));
}

static int grant_locked(struct node *node, uint32_t kernel, uint32_t more)
{
    if (node->maps == NULL) {
        node->maps = heap_alloc(sizeof(*node->maps));
        if (node->maps == NULL)
            return -ENOMEM;
        list_init(&node->maps->revocations);
    }
    if (node->maps->granted[kernel] > UINT32_MAX - more)
        return -EPROTO;
    node->maps->granted[kernel] += more;
    node->maps->all += more;
    __atomic_fetch_add(&node->references, more, __ATOMIC_RELAXED);
    return 0;
}

int node_maps_grant(struct node *node, uint32_t kernel, bool written)
{
    int error;

    spin_lock(&node->lock);
    error = grant_locked(node, kernel, 1);
    if (error == 0 && written)
        node->maps->written = true;
    spin_unlock(&node->lock);
    return error;
}

static int grant_more(struct node *node, uint32_t kernel, uint32_t more)
{
    struct list questions;
    int error;

    list_init(&questions);
    spin_lock(&node->lock);
    error = grant_locked(node, kernel, 0);
    if (error == 0)
        error = revocations_join_locked(node, &questions);
    if (error == 0)
        error = grant_locked(node, kernel, more);
    if (error == 0)
        revocations_joined_locked(&questions);
    spin_unlock(&node->lock);
    revocations_ask(&questions, error == 0, kernel);
    return error;
}

static int grant_less(struct node *node, uint32_t kernel, uint32_t less, const struct file_stamps *stamps)
{
    bool last = false;
    int error = 0;

    spin_lock(&node->lock);
    if (node->maps == NULL || node->maps->granted[kernel] < less)
        error = -EPROTO;
    if (error == 0) {
        node->maps->granted[kernel] -= less;
        node->maps->all -= less;
        last = node->maps->all == 0;
        if (last && node->maps->written) { /* it may have been written since node_version was last asked */
            node->maps->written = false;
            node->version++;
        }
        /* cannot reach 0: the caller holds a reference, too */
        __atomic_fetch_sub(&node->references, less, __ATOMIC_RELAXED);
    }
    spin_unlock(&node->lock);
    if (error == 0 && node->owner != NULL && node->owner->given_back != NULL)
        node->owner->given_back(node, stamps, last);
    return error;
}

void node_maps_granted_locked(const struct node *node, uint32_t granted[KERNELS_MAX])
{
    for (uint32_t kernel = 0; kernel < KERNELS_MAX; kernel++)
        granted[kernel] = node->maps != NULL ? node->maps->granted[kernel] : 0;
}

static int hold_object(uint32_t object, uint32_t kernel, int64_t more, const struct file_stamps *stamps)
{
    struct node *node = node_find(object);
    int error;

    if (node == NULL)
        return -ENXIO;
    if (kernel >= KERNELS_MAX || more == 0 || more > INT32_MAX || more < -(int64_t)INT32_MAX)
        error = -EPROTO;
    else
        error = more > 0 ? grant_more(node, kernel, (uint32_t)more) : grant_less(node, kernel, (uint32_t)-more, stamps);
    node_put(node);
    return error;
}

static void switch_node(struct node *node, void *context)
{
    const uint32_t *roles = context;

    if (node->maps == NULL)
        return;
    node->maps->granted[roles[1]] += node->maps->granted[roles[0]];
    node->maps->granted[roles[0]] = 0;
}

void node_maps_switch(uint32_t from, uint32_t to)
{
    uint32_t roles[2] = {from, to};

    node_each(switch_node, roles);
}

/* --- what kernels say that they have --- */

static void find_maps(struct node *node, void *context)
{
    bool *any = context;

    *any |= node->maps != NULL;
}

bool node_maps_any(void)
{
    bool any = false;

    node_each(find_maps, &any);
    return any;
}

static void forget_held(struct node *node, void *context)
{
    (void)context;
    if (node->maps != NULL)
        node->maps->held = 0;
}

void node_maps_forget_held(void)
{
    node_each(forget_held, NULL);
}

void node_maps_note_held(uint32_t object, uint32_t held)
{
    struct node *node = node_find(object);

    if (node == NULL)
        return;
    if (node->maps != NULL)
        node->maps->held += held;
    node_put(node);
}

struct comparing {
    uint32_t kernel;
    void (*each)(void *context, uint32_t object, uint32_t granted, uint32_t held);
    void *context;
};

static void compare(struct node *node, void *context)
{
    const struct comparing *comparing = context;
    const struct node_maps *maps = node->maps;

    if (maps != NULL && maps->granted[comparing->kernel] != maps->held)
        comparing->each(comparing->context, node->number, maps->granted[comparing->kernel], maps->held);
}

void node_maps_each_wrong(uint32_t kernel,
                          void (*each)(void *context, uint32_t object, uint32_t granted, uint32_t held), void *context)
{
    struct comparing comparing = {kernel, each, context};

    node_each(compare, &comparing);
}

#define EXCESS_AT_ONCE 64u

struct excess {
    uint32_t after, found; /* objects up to this number have been looked at */
    struct {
        uint32_t object, count;
    } of[EXCESS_AT_ONCE];
};

static void find_excess(void *context, uint32_t object, uint32_t granted, uint32_t held)
{
    struct excess *excess = context;

    if (object <= excess->after || granted <= held || excess->found == EXCESS_AT_ONCE)
        return;
    excess->of[excess->found].object = object;
    excess->of[excess->found++].count = granted - held;
}

/* Giving grants back may free the node, so it is not done in the walk. Walks find objects by ascending numbers. */
int node_maps_take_back(uint32_t kernel, int64_t *taken)
{
    struct excess excess = {.after = 0};
    int error = 0;

    do {
        excess.found = 0;
        node_maps_each_wrong(kernel, find_excess, &excess);
        for (uint32_t i = 0; i < excess.found && error == 0; i++) {
            error = hold_object(excess.of[i].object, kernel, -(int64_t)excess.of[i].count, NULL);
            *taken += error == 0 ? excess.of[i].count : 0;
            excess.after = excess.of[i].object;
            slice_check();
        }
    } while (excess.found == EXCESS_AT_ONCE && error == 0);
    return error;
}

/* --- pages --- */

/* The page that has no frame gets one of this kernel, unless it is wanted elsewhere: -EXDEV. Without memory it stays
 * without one. */
static int place_page_locked(struct node *node, uint64_t page, struct file_want *want)
{
    const struct policy *policy = node_policy_locked(node, page);
    struct placement where;
    uint64_t frame;

    if (policy == NULL && want->where != NULL)
        where = *want->where;
    else
        mempolicy_place(policy, policy != NULL ? page : want->address / PAGE_SIZE,
                        want->where != NULL ? want->where->centre : mempolicy_own_node(), &where);
    if (where.nodes == 0 || (where.nodes == frame_nodes() && where.strict == 0))
        return 0;
    frame = mempolicy_frame_placed_here(&where);
    if (frame == 0) {
        want->elsewhere = where;
        return -EXDEV;
    }
    if (content_take_own(&node->content, page, frame) == 0)
        return 0;
    frame_free_zeroed(frame);
    want->elsewhere = where;
    return where.strict != 0 ? -EXDEV : 0; /* the caller finds out why, and what is strict gets no other frame here */
}

static int page_once(uint32_t object, uint64_t page, bool write, struct file_want *want, uint64_t *frame)
{
    struct node *node = node_find(object);
    int error = -ENXIO;

    if (node == NULL)
        return -ENXIO;
    spin_lock(&node->lock);
    if ((node->mode & FILE_TYPE_MASK) == FILE_REGULAR) {
        error = content_page(&node->content, page, write, want->placed, frame);
        if (error == -EXDEV && (error = place_page_locked(node, page, want)) == 0)
            error = content_page(&node->content, page, write, true, frame);
    }
    if (error >= 0 && want->written)
        node_changed_locked(node);
    spin_unlock(&node->lock);
    node_put(node);
    return error;
}

static int object_page(uint32_t object, uint64_t page, bool write, struct file_want *want, uint64_t *frame)
{
    int error = object == BACKING_VDSO ? vdso_page(page, frame) : page_once(object, page, write, want, frame);

    bool idle = error == -ENOMEM || (error == -EXDEV && want->last && (want->elsewhere.nodes & frame_nodes()) != 0);

    return idle && node_drop_idle() ? page_once(object, page, write, want, frame) : error;
}

static void frames_here(uint32_t object, uint64_t page, uint32_t count, uint64_t *found)
{
    struct node *node = object != BACKING_VDSO ? node_find(object) : NULL;

    memset(found, 0, count * sizeof(*found));
    if (node == NULL)
        return;
    spin_lock(&node->lock);
    if ((node->mode & FILE_TYPE_MASK) == FILE_REGULAR)
        content_frames_here(&node->content, page, count, found);
    spin_unlock(&node->lock);
    node_put(node);
}

static int take_page(uint32_t object, uint64_t page, bool written, struct frame_reference *new)
{
    struct node *node = object != BACKING_VDSO ? node_find(object) : NULL;
    int error = -EEXIST;

    if (node == NULL)
        return 0;
    spin_lock(&node->lock);
    if ((node->mode & FILE_TYPE_MASK) == FILE_REGULAR && !content_ends_before(&node->content, page))
        error = content_take(&node->content, page, new);
    if (error == 0 && written)
        node_changed_locked(node);
    spin_unlock(&node->lock);
    node_put(node);
    if (error == -EDQUOT)
        return -ENXIO; /* as content_page */
    return error == 0 ? 1 : error == -EEXIST ? 0 : error;
}

static int place_pages(uint32_t object, uint64_t first, uint64_t count, bool may_write, const struct policy *policy)
{
    struct node *node = object != BACKING_VDSO ? node_find(object) : NULL;
    int error = node != NULL ? node_policy_set(node, first, count, may_write, policy) : -ENXIO;

    if (node != NULL)
        node_put(node);
    return error;
}

static int policy_of_page(uint32_t object, uint64_t page, struct policy *out)
{
    struct node *node = object != BACKING_VDSO ? node_find(object) : NULL;
    const struct policy *policy;

    if (node == NULL)
        return -ENXIO;
    spin_lock(&node->lock);
    policy = node_policy_locked(node, page);
    *out = policy != NULL ? *policy : (struct policy){.mode = POLICY_DEFAULT};
    spin_unlock(&node->lock);
    node_put(node);
    return 0;
}

static bool move_begin(uint32_t object, uint64_t page, uint64_t frame)
{
    struct node *node = node_find(object);
    bool moves = false;

    if (node == NULL)
        return false;
    spin_lock(&node->lock);
    if ((node->mode & FILE_TYPE_MASK) == FILE_REGULAR)
        moves = content_move_begin(&node->content, page, frame);
    spin_unlock(&node->lock);
    node_put(node);
    return moves;
}

static bool move_end(uint32_t object, uint64_t page, uint64_t frame, struct frame_reference *new)
{
    struct node *node = node_find(object);
    bool moved = false;

    if (node == NULL) {
        content_drop_reference(new);
        return false;
    }
    spin_lock(&node->lock);
    moved = content_move_end(&node->content, page, frame, new);
    spin_unlock(&node->lock);
    node_put(node);
    return moved;
}

static int copy_page(uint32_t object, uint64_t page, uint64_t frame)
{
    struct node *node = node_find(object);
    int error = -ENXIO;

    if (node == NULL)
        return -ENXIO;
    spin_lock(&node->lock);
    if ((node->mode & FILE_TYPE_MASK) == FILE_REGULAR)
        error = content_copy_page(&node->content, page, frame);
    spin_unlock(&node->lock);
    node_put(node);
    return error;
}

static uint64_t resident_pages(uint32_t object, uint64_t page, uint32_t count)
{
    struct node *node = node_find(object);
    uint64_t pages = 0;

    if (node == NULL)
        return 0;
    spin_lock(&node->lock);
    for (uint32_t i = 0; i < count && (node->mode & FILE_TYPE_MASK) == FILE_REGULAR; i++)
        pages |= content_has_page(&node->content, page + i) ? 1ull << i : 0;
    spin_unlock(&node->lock);
    node_put(node);
    return pages;
}

/* --- holes: MADV_REMOVE --- */

/* A file of a shared directory has its bytes on the host, too, which cannot make a hole there. */
static int punch(struct node *node, uint64_t first, uint64_t pages, struct file_answer *answer)
{
    int64_t error;

    if ((node->mode & FILE_TYPE_MASK) != FILE_REGULAR)
        return -ENXIO;
    if (node->owner != NULL && node->segment == 0)
        return -EOPNOTSUPP;
    error = node_punch(node, first * PAGE_SIZE, (first + pages) * PAGE_SIZE, answer);
    if (error == 0)
        inotify_node(node, WATCH_MODIFY);
    return error == -ENOSPC ? -ENOMEM : (int)error;
}

static int run_punch(const struct remote_request *request, void *result)
{
    const struct msg_file_punch *message = request->data;
    uint64_t first = backing_page(message->backing);
    struct file_answer answer = {0};
    struct node *node;
    int error;

    if (!backing_is_file(message->backing) || backing_kernel(message->backing) != instance.kernel ||
        message->pages == 0 || message->pages > BACKING_PAGES - first)
        return -EPROTO;
    node = node_find(backing_object(message->backing));
    if (node == NULL)
        return -ENXIO;
    error = punch(node, first, message->pages, &answer);
    node_put(node);
    if (error != 0)
        return error;
    *(struct msg_file_punched *)result = (struct msg_file_punched){(answer.flags & FILE_SETTLES) != 0, answer.seen};
    return sizeof(struct msg_file_punched);
}

int node_punch_mapped(uint64_t backing, uint64_t pages, struct file_answer *answer)
{
    const struct remote_how how = {.why = "a hole in a mapped file", .key = backing};
    const struct msg_file_punch message = {backing, pages};
    struct msg_file_punched punched = {0};
    int result = remote_call(backing_kernel(backing), MSG_FILE_PUNCH, &message, sizeof(message), &punched,
                             sizeof(punched), &how);

    *answer = (struct file_answer){.kernel = backing_kernel(backing)};
    if (result < 0)
        return result;
    if (punched.settles != 0) {
        answer->flags = FILE_SETTLES;
        answer->seen = punched.number;
    }
    return 0;
}

/* The parts of a struct object_place. */
enum { PLACE_NODES, PLACE_REVOCATIONS, PLACE_VDSO, PLACE_END };

/* A part of a walk through the pages of all contents. */
struct walking {
    content_visit visit;
    void *context;
    bool *changed; /* NULL, or whether VISIT has changed what is read from the file */
    struct object_place *place;
    uint32_t left;
};

static bool walk_node(struct node *node, void *context)
{
    struct walking *walking = context;

    if (walking->visit(&node->content, &walking->place->page, &walking->left, walking->context))
        return false;
    walking->place->page = 0;
    return true;
}

static bool walk_node_changing(struct node *node, void *context)
{
    struct walking *walking = context;
    bool done = walk_node(node, context);

    node->version += *walking->changed ? 1 : 0;
    *walking->changed = false;
    return done;
}

/* Calls VISIT for the next FILE_FRAMES_AT_ONCE pages of files and revocations, and moves PLACE behind them. False:
 * there are no more, and PLACE is behind both. */
static bool walk(struct object_place *place, content_visit visit, void *context, bool *changed)
{
    struct walking walking = {visit, context, changed, place, FILE_FRAMES_AT_ONCE};
    bool more = false;

    for (; place->part < PLACE_VDSO; *place = (struct object_place){.part = place->part + 1}) {
        more = place->part == PLACE_NODES
                   ? node_some(&place->object, &walking.left, changed != NULL ? walk_node_changing : walk_node,
                               &walking)
                   : revocations_some(&place->object, &place->page, &walking.left, visit, context);
        if (more)
            break;
    }
    return more;
}

struct notifying {
    void (*each)(uint64_t frame, void *context);
    void *context;
};

static bool notify_frames(struct content *content, uint64_t *page, uint32_t *left, void *context)
{
    const struct notifying *notifying = context;

    return content_some(content, page, left, notifying->each, notifying->context);
}

static bool some_frames(struct object_place *place, void (*each)(uint64_t frame, void *context), void *context)
{
    struct notifying notifying = {each, context};

    if (walk(place, notify_frames, &notifying, NULL))
        return true;
    if (place->part == PLACE_VDSO)
        vdso_each(each, context);
    *place = (struct object_place){.part = PLACE_END};
    return false;
}

struct copying {
    uint64_t (*copy_of)(const void *context, uint64_t frame);
    const void *context;
};

static bool replace_in(struct content *content, uint64_t *page, uint32_t *left, void *context)
{
    const struct copying *copying = context;

    return content_replace(content, page, left, copying->copy_of, copying->context);
}

static bool replace_frames(struct object_place *place, uint64_t (*copy_of)(const void *context, uint64_t frame),
                           const void *context)
{
    struct copying copying = {copy_of, context};

    return walk(place, replace_in, &copying, NULL);
}

struct losing {
    uint32_t kernel;
    bool lost;
};

static bool lose_in(struct content *content, uint64_t *page, uint32_t *left, void *context)
{
    struct losing *losing = context;

    return content_lose(content, page, left, losing->kernel, &losing->lost);
}

static bool lose_frames(struct object_place *place, uint32_t kernel)
{
    struct losing losing = {kernel, false};

    return walk(place, lose_in, &losing, &losing.lost);
}

void node_map_init(void)
{
    static const struct file_objects objects = {.page = object_page,
                                                .here = frames_here,
                                                .take = take_page,
                                                .place = place_pages,
                                                .policy = policy_of_page,
                                                .copy = copy_page,
                                                .resident = resident_pages,
                                                .move_begin = move_begin,
                                                .move_end = move_end,
                                                .some = some_frames,
                                                .replace = replace_frames,
                                                .lose = lose_frames,
                                                .hold = hold_object};

    file_objects_serve(&objects);
    REMOTE_SERVE(FILE_PUNCH, run_punch, NULL, struct msg_file_punch, struct msg_file_punched);
    revocation_init();
    revoke_init();
}
