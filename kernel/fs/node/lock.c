/* Locks on nodes, and the detection of deadlocks. See the header. */
#include "kernel/fs/node/lock.h"

#include <stddef.h>

#include "kernel/abi/errno.h"
#include "kernel/file/lock.h"
#include "kernel/fs/node/range_lock.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/log.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "msg/request/call.h"
#include "tasks/process/call.h"
#include "tasks/remote/operation.h"
#include "tasks/thread/thread.h"

#define CHAIN_MAX 10u /* processes that deadlock detection follows, as on Linux */

/* A task that waits for a lock of its process: at which node, and which process holds the conflicting lock. If the task
 * gives up, its kernel says so with FILE_LOCK_OVER. */
struct lock_wait {
    struct list node;
    const struct node *where; /* only compared, never dereferenced */
    uint32_t task, process, blocker;
};

static struct spinlock waits_lock;           /* after node->lock */
static struct list waits = {&waits, &waits}; /* [k] */

static struct lock_wait *wait_of_locked(uint32_t task)
{
    list_for_each(node, &waits) {
        struct lock_wait *wait = container_of(node, struct lock_wait, node);

        if (wait->task == task)
            return wait;
    }
    return NULL;
}

/* TASK, of any kernel, does not wait for a lock any more. */
static void wait_over(uint32_t task)
{
    struct lock_wait *wait;

    spin_lock(&waits_lock);
    wait = wait_of_locked(task);
    if (wait != NULL)
        list_remove(&wait->node);
    spin_unlock(&waits_lock);
    heap_free(wait, sizeof(*wait));
}

/* BLOCKER gives up a lock at NODE. Tasks that wait for BLOCKER there are woken and register again if they still have to
 * wait. Their entries are removed now, because they would let closes_circle_locked find circles that no longer exist.
 */
static void waits_over_locked(const struct node *node, uint32_t blocker)
{
    spin_lock(&waits_lock);
    list_for_each_safe(at, &waits) {
        struct lock_wait *wait = container_of(at, struct lock_wait, node);

        if (wait->where != node || wait->blocker != blocker)
            continue;
        list_remove(at);
        heap_free(wait, sizeof(*wait));
    }
    spin_unlock(&waits_lock);
}

/* Returns true if BLOCKER waits for PROCESS, directly or through other processes. */
static bool closes_circle_locked(uint32_t blocker, uint32_t process)
{
    for (uint32_t i = 0; i < CHAIN_MAX && blocker != process; i++) {
        const struct lock_wait *next = NULL;

        list_for_each(node, &waits) {
            const struct lock_wait *wait = container_of(node, const struct lock_wait, node);

            if (wait->process == blocker)
                next = wait;
        }
        if (next == NULL)
            return false;
        blocker = next->blocker;
    }
    return blocker == process;
}

/* Records that TASK of PROCESS is about to wait for BLOCKER at NODE. -EDEADLK, -ENOLCK. */
static int wait_begins_locked(const struct node *node, uint32_t task, uint32_t process, uint32_t blocker)
{
    struct lock_wait *wait;
    int error = 0;

    spin_lock(&waits_lock);
    wait = wait_of_locked(task);
    if (wait != NULL)
        list_remove(&wait->node);
    else
        wait = heap_alloc(sizeof(*wait));
    if (wait == NULL)
        error = -ENOLCK;
    else if (closes_circle_locked(blocker, process))
        error = -EDEADLK;
    if (error == 0) {
        *wait = (struct lock_wait){.where = node, .task = task, .process = process, .blocker = blocker};
        list_append(&waits, &wait->node);
    }
    spin_unlock(&waits_lock);
    if (error != 0)
        heap_free(wait, sizeof(*wait));
    return error;
}

/* Computes the absolute range of ASKED. -EINVAL, -EOVERFLOW. */
static int find_range(const struct file *file, const struct node *node, const struct file_lock *asked,
                      struct range_lock *out)
{
    int64_t base = asked->whence == 1 ? (int64_t)file->offset : asked->whence == 2 ? (int64_t)node->content.size : 0;
    int64_t start, last;

    if (asked->whence > 2)
        return -EINVAL;
    if (__builtin_add_overflow(base, asked->start, &start))
        return -EOVERFLOW;
    if (start < 0)
        return -EINVAL;
    if (asked->length < 0) {
        last = start - 1;
        if (__builtin_add_overflow(start, asked->length, &start) || start < 0)
            return -EINVAL;
    } else if (asked->length == 0) {
        last = INT64_MAX;
    } else if (__builtin_add_overflow(start, asked->length - 1, &last)) {
        return -EOVERFLOW;
    }
    out->start = (uint64_t)start;
    out->last = last == INT64_MAX ? LOCK_LAST : (uint64_t)last;
    return 0;
}

static int check(const struct file *file, const struct file_lock *asked, uint32_t how)
{
    uint32_t access = file->flags & OPEN_ACCESS;

    if (asked->type > LOCK_NONE || asked->kind < LOCK_PROCESS || asked->kind > LOCK_WHOLE ||
        (how == LOCK_TEST && asked->type == LOCK_NONE))
        return -EINVAL;
    if (how == LOCK_TEST || asked->kind == LOCK_WHOLE)
        return 0;
    return (asked->type == LOCK_READ && access == 1) || (asked->type == LOCK_WRITE && access == 0) ? -EBADF : 0;
}

static void notify(const struct range_lock *found, struct file_lock *lock)
{
    if (found == NULL) {
        lock->type = LOCK_NONE;
        return;
    }
    *lock = (struct file_lock){.kind = lock->kind,
                               .type = found->type,
                               .process = found->kind == LOCK_PROCESS ? found->process : UINT32_MAX,
                               .start = (int64_t)found->start,
                               .length = found->last == LOCK_LAST ? 0 : (int64_t)(found->last - found->start + 1)};
}

/* Writes the range that was set into LOCK. */
static void notify_range(const struct range_lock *wanted, struct file_lock *lock)
{
    lock->whence = 0;
    lock->start = (int64_t)wanted->start;
    lock->length = wanted->last == LOCK_LAST ? 0 : (int64_t)(wanted->last - wanted->start + 1);
}

/* Sets or removes a lock. -EAGAIN: another owner is in the way, *BLOCKER if it is a process, else 0. *EVENT: waiting
 * tasks may succeed now. */
static int64_t set_locked(struct node *node, const struct range_lock *wanted, uint32_t *blocker, bool *event)
{
    const struct range_lock *conflict = wanted->type != LOCK_NONE ? range_lock_conflict(&node->locks, wanted) : NULL;
    struct range_lock none = *wanted;
    bool less = false;
    int error;

    if (conflict != NULL) {
        *blocker = conflict->kind == LOCK_PROCESS ? conflict->process : 0;
        none.type = LOCK_NONE; /* changing the type of a flock first drops the old lock, as on Linux */
        if (wanted->kind == LOCK_WHOLE && range_lock_set(&node->locks, &none, &less) == 0 && less)
            *event = node->lock_wanted;
        return -EAGAIN;
    }
    error = range_lock_set(&node->locks, wanted, &less);
    *event = less && node->lock_wanted;
    if (less && wanted->kind == LOCK_PROCESS)
        waits_over_locked(node, wanted->process);
    return error != 0 ? -ENOLCK : 0;
}

int64_t node_lock(struct file *file, struct node *node, uint32_t how, struct file_lock *lock,
                  struct file_answer *answer)
{
    struct range_lock wanted = {.uid = lock->uid,
                                .kind = lock->kind,
                                .type = lock->type,
                                .owner = lock->kind == LOCK_PROCESS ? lock->process : file->id,
                                .file = file->id,
                                .process = lock->process};
    bool event = false, waits = how == LOCK_SET_WAIT;
    uint32_t blocker = 0;
    int64_t error;

    error = check(file, lock, how);
    if (error != 0)
        return error;
    spin_lock(&file->lock);
    spin_lock(&node->lock);
    answer->seen = watch_events(&node->events.source);
    error = find_range(file, node, lock, &wanted);
    if (error == 0 && how == LOCK_TEST)
        notify(range_lock_conflict(&node->locks, &wanted), lock);
    else if (error == 0)
        error = set_locked(node, &wanted, &blocker, &event);
    if (event)
        node->lock_wanted = false;
    if (error == -EAGAIN && waits && wanted.kind == LOCK_PROCESS && blocker != 0)
        error = wait_begins_locked(node, lock->task, lock->process, blocker);
    if (error == 0 && blocker != 0)
        error = -EAGAIN;
    if (error == -EAGAIN && waits) {
        node->lock_wanted = true;
        answer->flags |= FILE_MAY_WAIT;
    }
    spin_unlock(&node->lock);
    spin_unlock(&file->lock);
    if (event)
        file_event(&node->events);
    if (waits && wanted.kind == LOCK_PROCESS && (error != -EAGAIN || blocker == 0))
        wait_over(lock->task); /* the task does not wait, or waits for an open file's lock, which is in no circle */
    if (error == 0 && how != LOCK_TEST)
        notify_range(&wanted, lock);
    if (error == 0 && how != LOCK_TEST && __atomic_load_n(&file->opens, __ATOMIC_RELAXED) == 0)
        node_lock_release(file, node); /* the file was closed for good meanwhile, and its release missed the new lock */
    return error;
}

struct releasing {
    const struct node *node;
    uint64_t file;
};

static bool is_of_file_locked(const struct range_lock *lock, const void *context)
{
    const struct releasing *releasing = context;

    if (lock->file != releasing->file)
        return false;
    if (lock->kind == LOCK_PROCESS)
        waits_over_locked(releasing->node, lock->process);
    return true;
}

void node_lock_release(struct file *file, struct node *node)
{
    struct releasing releasing = {node, file->id};
    bool event;

    spin_lock(&node->lock);
    event = range_lock_drop(&node->locks, is_of_file_locked, &releasing) && node->lock_wanted;
    if (event)
        node->lock_wanted = false;
    spin_unlock(&node->lock);
    if (event)
        file_event(&node->events);
}

/* --- the death of a kernel --- */

struct losing {
    const struct node *node;
    uint32_t kernel;
};

static bool is_lost_locked(const struct range_lock *lock, const void *context)
{
    const struct losing *losing = context;

    if (lock->kind != LOCK_PROCESS || process_home(lock->process) != losing->kernel)
        return false;
    waits_over_locked(losing->node, lock->process);
    return true;
}

void node_lock_lost(struct file *file, uint32_t kernel)
{
    struct node *node = file_node(file);
    struct losing losing = {node, kernel};
    bool event;

    spin_lock(&waits_lock);
    list_for_each_safe(at, &waits) {
        struct lock_wait *wait = container_of(at, struct lock_wait, node);

        if (process_home(wait->process) != kernel)
            continue;
        list_remove(at);
        heap_free(wait, sizeof(*wait));
    }
    spin_unlock(&waits_lock);
    spin_lock(&node->lock);
    event = range_lock_drop(&node->locks, is_lost_locked, &losing) && node->lock_wanted;
    if (event)
        node->lock_wanted = false;
    spin_unlock(&node->lock);
    if (event)
        file_event(&node->events);
}

/* --- FILE_LOCK_OVER --- */

static int serve_over(const struct remote_request *request, void *result)
{
    const struct msg_file_task *asked = request->data;

    (void)result;
    wait_over(asked->task);
    return 0;
}

void node_lock_init(void)
{
    REMOTE_SERVE(FILE_LOCK_OVER, serve_over, NULL, struct msg_file_task, struct msg_none);
}
