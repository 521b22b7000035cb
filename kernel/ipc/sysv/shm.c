/* Segments of System V shared memory, on kernel 0. See the header. */
#include "kernel/ipc/sysv/shm.h"

#include "kernel/abi/errno.h"
#include "kernel/file/path.h"
#include "kernel/file/permission.h"
#include "kernel/fs/node/map.h"
#include "kernel/fs/node/node.h"
#include "kernel/fs/tree/tree.h"
#include "kernel/instance/instance.h"
#include "kernel/ipc/sysv/internal.h"
#include "kernel/lib/list.h"
#include "kernel/lib/printf.h"
#include "kernel/lib/string.h"
#include "mm/area/area.h"
#include "mm/area/backing.h"
#include "mm/frame/heap.h"
#include "mm/lease/room.h"

struct segment {
    struct ipc_object object;  /* facts.bytes: the size; facts.pid_in: the creator */
    struct node *node;         /* [i] a reference */
    struct file_stamps stamps; /* attach and detach times reported by homes */
    int32_t name;              /* [i] the key with which it was created */
    uint32_t locker;           /* the user who locked it, if the mode has SHM_LOCKED */
};

static struct ipc_kind segments = {.silent = true};

static struct segment *segment_of(struct ipc_object *object)
{
    return container_of(object, struct segment, object);
}

void shm_end(struct segment *gone)
{
    if (gone == NULL)
        return;
    node_put(gone->node);
    heap_free(gone, sizeof(*gone));
}

static void drop(struct ipc_object *object)
{
    shm_end(segment_of(object));
}

static uint64_t pages_of(uint64_t bytes)
{
    return bytes / PAGE_SIZE + (bytes % PAGE_SIZE != 0 ? 1 : 0);
}

static int make(const struct ipc_call *call, struct ipc_object **out)
{
    uint32_t reserve = (call->flags & SHM_NORESERVE) != 0 ? AREA_NORESERVE : 0;
    uint64_t size = (uint64_t)call->a;
    struct file_answer answer;
    struct segment *segment;
    int error;

    /* there are no reserved large pages for SHM_HUGETLB */
    if ((call->flags & SHM_HUGETLB) != 0 || !space_commit_allowed(AREA_WRITE | AREA_SHARED | reserve, size))
        return -ENOMEM;
    segment = heap_alloc(sizeof(*segment));
    if (segment == NULL)
        return -ENOMEM;
    segment->node = node_create(FILE_REGULAR | (call->flags & 0777));
    error = segment->node != NULL ? node_own(segment->node, call->user.uid, 0) : -ENOMEM;
    if (error == 0 && node_resize(segment->node, size, &answer) != 0)
        error = -ENOMEM;
    if (error != 0) {
        if (segment->node != NULL)
            node_put(segment->node);
        heap_free(segment, sizeof(*segment));
        return error == -EDQUOT ? -ENOSPC : error; /* the user's limit, as that of objects */
    }
    segment->node->gid = call->user.gid;
    segment->name = call->key;
    segment->object.facts.bytes = size;
    segment->object.facts.pid_in = call->pid;
    *out = &segment->object;
    return 0;
}

static bool fits(const struct ipc_object *object, const struct ipc_call *call)
{
    uint64_t size = (uint64_t)call->a;

    return object != NULL ? size <= object->facts.bytes : size > 0 && size <= SHM_MAX;
}

static const struct node_owner owner;

static int64_t get(const struct ipc_call *call)
{
    int64_t id = ipc_get(&segments, call, sizeof(struct segment), make, fits, drop);

    if (id >= 0) { /* a new node is not mapped yet */
        struct node *node = segment_of(ipc_at(&segments, (uint32_t)id))->node;

        node->segment = (uint32_t)id + 1;
        node->owner = &owner;
    }
    return id;
}

static uint64_t backing_of(const struct segment *segment)
{
    return backing_make(instance.kernel, segment->node->number, 0) | BACKING_ATTACHED;
}

static int64_t give(const struct shm_answer *out, int64_t value, void *result, size_t room, struct file_answer *answer)
{
    if (room < sizeof(*out))
        return -EPROTO;
    memcpy(result, out, sizeof(*out));
    answer->seen = sizeof(*out);
    return value;
}

static int64_t attach(const struct ipc_call *call, void *result, size_t room, struct file_answer *answer)
{
    bool writes = (call->flags & SHM_READ_ONLY) == 0;
    uint32_t may = MAY_READ | (writes ? MAY_WRITE : 0) | ((call->flags & SHM_EXECUTE) != 0 ? MAY_EXECUTE : 0);
    struct shm_answer out = {.id = call->id};
    struct ipc_object *object;
    /* root needs no permission, not even to execute: CAP_IPC_OWNER */
    int64_t error = ipc_find(&segments, call, call->user.uid == 0 ? 0 : may, &object);

    if (error != 0)
        return error;
    if (call->a < 0 || call->a >= KERNELS_MAX || room < sizeof(out))
        return -EPROTO;
    error = node_maps_grant(segment_of(object)->node, (uint32_t)call->a, writes);
    if (error != 0)
        return error;
    out.backing = backing_of(segment_of(object)) | (writes ? 0 : BACKING_READ_ONLY);
    out.size = object->facts.bytes;
    return give(&out, 0, result, room, answer);
}

static bool granted(const struct segment *segment)
{
    bool result;

    spin_lock(&segment->node->lock);
    result = node_mapped_locked(segment->node);
    spin_unlock(&segment->node->lock);
    return result;
}

static struct segment *take_out(struct segment *segment)
{
    struct file *none;

    ipc_remove(&segments, &segment->object, &none);
    return segment;
}

static const struct shm_seen *find_seen(const struct shm_seen *seen, size_t count, uint32_t kernel)
{
    for (size_t i = 0; i < count; i++) {
        if (seen[i].kernel == kernel)
            return &seen[i];
    }
    return NULL;
}

/* Counts in OUT the areas that attach SEGMENT, from the homes' answers in SEEN; OUT's `kernels` are the homes without
 * an answer. A grant from before its home was asked that the home did not know of belongs to an attach under way, and
 * counts. True: no kernel has a grant, so it is not attached, and no attach is under way: a home gives its grants back
 * with its last area, before it answers. */
static bool count_areas(struct segment *segment, const struct shm_seen *seen, size_t count, struct shm_answer *out)
{
    struct file_stamps stamps = segment->stamps;
    uint32_t grants[KERNELS_MAX];
    bool none = true;

    spin_lock(&segment->node->lock);
    node_maps_granted_locked(segment->node, grants);
    out->resident = segment->node->content.pages;
    spin_unlock(&segment->node->lock);
    out->facts = segment->object.facts;
    for (uint32_t kernel = 0; kernel < KERNELS_MAX; kernel++) {
        const struct shm_seen *one = find_seen(seen, count, kernel);
        uint32_t before;

        if (one != NULL)
            file_stamps_join(&stamps, &one->held.stamps);
        if (grants[kernel] == 0)
            continue;
        none = false; /* whatever its home has answered: it may have got a new grant since */
        if (one == NULL) {
            out->kernels |= 1ull << kernel;
            out->granted[kernel] = grants[kernel];
            continue;
        }
        out->facts.count += one->held.attached;
        /* Grants since then do not count: their areas may have gone again, as a home keeps its grants while it has an
         * area. */
        before = grants[kernel] < one->granted ? grants[kernel] : one->granted;
        if (before > one->held.granted)
            out->facts.count += before - one->held.granted;
    }
    out->facts.done_in = stamps.came.time;
    out->facts.done_out = stamps.went.time;
    out->facts.pid_out = stamps.went.time > stamps.came.time ? stamps.went.process : stamps.came.process;
    return none;
}

static int64_t stat(struct segment *segment, const struct ipc_call *call, const void *data, size_t size, void *result,
                    size_t room, struct file_answer *answer, struct segment **gone)
{
    struct shm_answer out = {.backing = backing_of(segment), .size = segment->object.facts.bytes};
    bool known = size % sizeof(struct shm_seen) == 0 && (uint64_t)call->b == out.backing;
    bool none = count_areas(segment, data, known ? size / sizeof(struct shm_seen) : 0, &out);

    out.id = segment->object.id;
    /* All grants have been given back: given_back is about to free it as well. */
    if (none && (out.facts.mode & SHM_REMOVED) != 0) {
        *gone = take_out(segment);
        return call->flags >= SHM_NEXT ? -EIDRM : -EINVAL;
    }
    return give(&out, call->flags == IPC_STAT ? 0 : out.id, result, room, answer);
}

static int64_t give_totals(void *result, size_t room, struct file_answer *answer)
{
    struct shm_answer out = {.used = 0};

    for (struct ipc_object *object = NULL; (object = ipc_next(&segments, object)) != NULL;) {
        const struct segment *segment = segment_of(object);

        out.used++;
        out.pages += pages_of(object->facts.bytes);
        spin_lock(&segment->node->lock);
        out.resident += segment->node->content.pages;
        spin_unlock(&segment->node->lock);
    }
    return give(&out, segments.used > 0 ? segments.used - 1 : 0, result, room, answer);
}

static int64_t remove_it(struct segment *segment, struct segment **gone)
{
    if (!granted(segment)) {
        *gone = take_out(segment);
    } else {
        segment->object.facts.mode |= SHM_REMOVED;
        segment->object.facts.key = IPC_PRIVATE;
    }
    return 0;
}

/* The next object, from index CALL->id on, for SHM_NEXT and SHM_TO_SETTLE. */
static struct ipc_object *find_next(const struct ipc_call *call)
{
    struct ipc_object *object = NULL;

    while ((object = ipc_next(&segments, object)) != NULL) {
        if (object->index >= (uint32_t)call->id &&
            (call->flags == SHM_NEXT || ((object->facts.mode & SHM_REMOVED) != 0 && granted(segment_of(object)))))
            break;
    }
    return object;
}

/* Frames are never reclaimed, so locking only counts, by user. CALL->a: RLIMIT_MEMLOCK in bytes; it does not bind root.
 * -EPERM: it is 0; -ENOMEM: the user would have locked more. */
static int64_t lock(struct segment *segment, const struct ipc_call *call)
{
    uint64_t limit = (uint64_t)call->a, pages = pages_of(segment->object.facts.bytes);

    if (limit == 0 && call->user.uid != 0)
        return -EPERM;
    if ((segment->object.facts.mode & SHM_LOCKED) != 0)
        return 0;
    for (struct ipc_object *object = NULL; (object = ipc_next(&segments, object)) != NULL;) {
        if ((object->facts.mode & SHM_LOCKED) != 0 && segment_of(object)->locker == call->user.uid)
            pages += pages_of(object->facts.bytes);
    }
    if (call->user.uid != 0 && pages > limit / PAGE_SIZE)
        return -ENOMEM;
    segment->locker = call->user.uid;
    segment->object.facts.mode |= SHM_LOCKED;
    return 0;
}

static int64_t find(const struct ipc_call *call, struct ipc_object **object)
{
    bool owners = call->flags == IPC_REMOVE || call->flags == IPC_SET || call->flags == SHM_LOCK ||
                  call->flags == SHM_UNLOCK;
    struct ipc_call other = *call;
    int64_t error;

    if (call->flags >= SHM_NEXT)
        *object = find_next(call);
    else
        *object = ipc_at(&segments, (uint32_t)call->id);
    if (call->flags >= SHM_NEXT || call->flags == SHM_STAT || call->flags == SHM_STAT_ANY) {
        if (*object == NULL)
            return -EINVAL;
        other.id = (*object)->id;
    }
    error = ipc_find(&segments, &other, call->flags == IPC_STAT || call->flags == SHM_STAT ? MAY_READ : 0, object);
    return error == 0 && owners ? ipc_owner(*object, call) : error;
}

static int64_t control(const struct ipc_call *call, const void *data, size_t size, void *result, size_t room,
                       struct file_answer *answer, struct segment **gone)
{
    struct ipc_object *object;
    int64_t error;

    if (call->flags == IPC_INFO || call->flags == SHM_INFO)
        return give_totals(result, room, answer);
    error = find(call, &object);
    if (error != 0)
        return error;
    switch (call->flags) {
    case IPC_REMOVE:
        return remove_it(segment_of(object), gone);
    case IPC_SET:
        return ipc_facts(object, call, data, size, result, room, answer);
    case SHM_LOCK:
        return lock(segment_of(object), call);
    case SHM_UNLOCK:
        object->facts.mode &= ~SHM_LOCKED;
        return 0;
    default:
        return stat(segment_of(object), call, data, size, result, room, answer, gone);
    }
}

int64_t shm_do(const struct ipc_call *call, const void *data, size_t size, void *result, size_t room,
               struct file_answer *answer, struct segment **gone)
{
    switch (call->operation) {
    case IPC_SHM_GET:
        return get(call);
    case IPC_SHM_ATTACH:
        return attach(call, result, room, answer);
    case IPC_SHM_CONTROL:
        return control(call, data, size, result, room, answer, gone);
    default:
        return -EPROTO;
    }
}

/* A home has given back grants of NODE; LAST: no kernel has a grant any more. Called without ipc_lock. */
static void given_back(struct node *node, const struct file_stamps *stamps, bool last)
{
    struct segment *gone = NULL, *segment;
    struct ipc_object *object;

    spin_lock(&ipc_lock);
    object = ipc_at(&segments, node->segment - 1);
    segment = object != NULL ? segment_of(object) : NULL;
    if (segment != NULL && segment->node == node) {
        if (stamps != NULL)
            file_stamps_join(&segment->stamps, stamps);
        if (last && (object->facts.mode & SHM_REMOVED) != 0 && !granted(segment))
            gone = take_out(segment);
    }
    spin_unlock(&ipc_lock);
    shm_end(gone);
}

/* The name and the facts for /proc/PID/maps: the inode is the segment's id. */
static void describe(struct node *node, char *name, struct file_facts *facts)
{
    const struct ipc_object *object;
    int32_t key = 0;

    spin_lock(&ipc_lock);
    object = ipc_at(&segments, node->segment - 1);
    if (object != NULL && container_of(object, const struct segment, object)->node == node)
        key = container_of(object, const struct segment, object)->name;
    spin_unlock(&ipc_lock);
    snprintf(name, PATH_MAX, "/SYSV%08x (deleted)", (unsigned)key);
    tree_facts(node, facts);
    facts->inode = node->segment - 1;
}

static const struct node_owner owner = {.describe = describe, .given_back = given_back};
