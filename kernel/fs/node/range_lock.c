/* Locks on ranges. See the header. */
#include "kernel/fs/node/range_lock.h"

#include <stddef.h>

#include "kernel/abi/errno.h"
#include "kernel/file/lock.h"
#include "mm/frame/heap.h"
#include "tasks/quota/quota.h"

static struct range_lock *lock_at(struct list *node)
{
    return container_of(node, struct range_lock, node);
}

static bool overlap(const struct range_lock *a, const struct range_lock *b)
{
    return a->start <= b->last && b->start <= a->last;
}

static bool same_owner(const struct range_lock *a, const struct range_lock *b)
{
    return a->kind == b->kind && a->owner == b->owner;
}

const struct range_lock *range_lock_conflict(const struct list *locks, const struct range_lock *wanted)
{
    const struct range_lock *first = NULL;

    list_for_each(node, locks) {
        const struct range_lock *lock = container_of(node, const struct range_lock, node);

        if (!overlap(lock, wanted) || same_owner(lock, wanted) ||
            (lock->kind == LOCK_WHOLE) != (wanted->kind == LOCK_WHOLE) ||
            (lock->type == LOCK_READ && wanted->type == LOCK_READ))
            continue;
        if (first == NULL || lock->start < first->start)
            first = lock;
    }
    return first;
}

static int make(uint32_t uid, uint64_t limit, struct range_lock **out)
{
    int error = quota_take(QUOTA_LOCKS, uid, 1, limit, -ENOLCK);

    if (error != 0)
        return error;
    *out = heap_alloc(sizeof(**out));
    if (*out == NULL) {
        quota_give(QUOTA_LOCKS, uid, 1);
        return -ENOMEM;
    }
    (*out)->uid = uid;
    return 0;
}

/* Frees LOCK, which is in no list; NULL is ignored. */
static void release(struct range_lock *lock)
{
    if (lock == NULL)
        return;
    quota_give(QUOTA_LOCKS, lock->uid, 1);
    heap_free(lock, sizeof(*lock));
}

static void drop(struct range_lock *lock)
{
    list_remove(&lock->node);
    release(lock);
}

/* Whether WANTED cuts a lock of its owner into two. */
static bool splits(const struct list *locks, const struct range_lock *wanted)
{
    list_for_each(node, locks) {
        const struct range_lock *lock = container_of(node, const struct range_lock, node);

        if (same_owner(lock, wanted) && lock->type != wanted->type && lock->start < wanted->start &&
            lock->last > wanted->last)
            return true;
    }
    return false;
}

/* LOCK overlaps NEW and has the same owner but another type: removes the overlap from LOCK. SPARE is used if LOCK
 * splits into two. */
static void give_way(struct list *locks, struct range_lock *lock, const struct range_lock *new,
                     struct range_lock **spare)
{
    struct range_lock *behind =
        *spare; /* not NULL when a split needs it: an owner's locks do not overlap, so at most one has NEW inside */

    if (lock->start < new->start && lock->last > new->last &&behind != NULL) {
        *spare = NULL;
        *behind = *lock;
        behind->uid = new->uid;
        behind->start = new->last + 1;
        list_append(locks, &behind->node);
        lock->last = new->start - 1;
    } else if (lock->start < new->start) {
        lock->last = new->start - 1;
    } else if (lock->last > new->last) {
        lock->start = new->last + 1;
    } else {
        drop(lock);
    }
}

/* Returns true if A and B overlap or touch. */
static bool meet(const struct range_lock *a, const struct range_lock *b)
{
    return overlap(a, b) || (a->last != LOCK_LAST && a->last + 1 == b->start) ||
           (b->last != LOCK_LAST && b->last + 1 == a->start);
}

/* Whether the owner of WANTED has more locks with it than before. */
static bool adds(const struct list *locks, const struct range_lock *wanted)
{
    uint32_t more = (wanted->type != LOCK_NONE ? 1 : 0) + (splits(locks, wanted) ? 1 : 0), less = 0;

    list_for_each(node, locks) {
        const struct range_lock *lock = container_of(node, const struct range_lock, node);
        bool goes = lock->type == wanted->type ? meet(lock, wanted)
                                               : lock->start >= wanted->start && lock->last <= wanted->last;

        less += same_owner(lock, wanted) && goes ? 1 : 0;
    }
    return more > less;
}

int range_lock_set(struct list *locks, const struct range_lock *wanted, bool *less)
{
    struct range_lock own = *wanted, *kept = NULL, *spare = NULL;
    uint64_t limit = adds(locks, &own) ? quota_limit(QUOTA_LOCKS) : UINT64_MAX;
    int error = own.type != LOCK_NONE ? make(own.uid, limit, &kept) : 0;

    *less = false;
    if (error == 0 && splits(locks, &own))
        error = make(own.uid, limit, &spare);
    if (error != 0) {
        release(kept);
        return error;
    }
    list_for_each_safe(node, locks) {
        struct range_lock *lock = lock_at(node);

        if (!same_owner(lock, &own) || !meet(lock, &own))
            continue;
        if (lock->type == own.type) {
            own.start = lock->start < own.start ? lock->start : own.start;
            own.last = lock->last > own.last ? lock->last : own.last;
            drop(lock);
        } else if (overlap(lock, &own)) {
            *less = *less || own.type != LOCK_WRITE;
            give_way(locks, lock, &own, &spare);
        }
    }
    if (kept != NULL) {
        *kept = own;
        list_append(locks, &kept->node);
    }
    release(spare);
    return 0;
}

bool range_lock_drop(struct list *locks, bool (*matches)(const struct range_lock *lock, const void *context),
                     const void *context)
{
    bool dropped = false;

    list_for_each_safe(node, locks) {
        if (!matches(lock_at(node), context))
            continue;
        drop(lock_at(node));
        dropped = true;
    }
    return dropped;
}
