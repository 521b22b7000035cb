/* Locking strategy `home`: the group's home kernel keeps one queue of lock requests per space, in order of arrival. A
 * request is granted when no earlier one in the queue excludes it: the same page, or either of them the whole space. So
 * pages are independent of each other, a heavy request waits for all before it and holds back all behind it, and nobody
 * starves. mm/lock_home.md has the state table. */
#include "boot/instance.h"
#include "kernel/abi/errno.h"
#include "kernel/lib/completion.h"
#include "kernel/lib/panic.h"
#include "mm/heap.h"
#include "mm/space.h"
#include "msg/channel.h"

/* A request waits as long as others hold the lock, and its holder may be a task here that has to ask the same kernel
 * something before it can release. So lock requests never take all that may be outstanding to one kernel: the others
 * wait here for their turn. */
#define ASKING_MAX (MSG_RESERVE / 2)

struct turn {
    struct list node; /* in turns */
    struct completion come;
};

static struct spinlock turns_lock;
static uint32_t asking[KERNELS_MAX];   /* [k] turns_lock: requests of tasks here, by the home they ask */
static struct list turns[KERNELS_MAX]; /* [k] turns_lock: tasks that wait for their turn, first come first */

struct lock_request {
    struct list node; /* in space->locks */
    uint64_t key;
    uint32_t kernel; /* who asks */
    bool granted;
    struct msg_ticket ticket; /* to answer, when another kernel asks */
    struct completion *local; /* to signal, when a task here asks */
};

static bool excludes(const struct lock_request *a, const struct lock_request *b)
{
    return a->key == b->key || a->key == SPACE_HEAVY || b->key == SPACE_HEAVY;
}

static void grant_if_first_locked(struct space *space, struct lock_request *request)
{
    for (struct list *node = request->node.previous; node != &space->locks; node = node->previous) {
        if (excludes(container_of(node, struct lock_request, node), request))
            return;
    }
    request->granted = true;
    if (request->local != NULL) {
        completion_signal(request->local);
    } else {
        struct msg_space_granted granted = {space->members};

        msg_reply(&request->ticket, &granted, sizeof(granted));
    }
}

static int request_add(struct space *space, uint64_t key, const struct msg_ticket *ticket, struct completion *local)
{
    struct lock_request *request = heap_alloc(sizeof(*request));

    if (request == NULL)
        return -ENOMEM;
    request->key = key;
    request->local = local;
    request->kernel = instance.kernel;
    if (ticket != NULL) {
        request->ticket = *ticket;
        request->kernel = ticket->kernel;
    }
    spin_lock(&space->lock);
    list_append(&space->locks, &request->node);
    grant_if_first_locked(space, request);
    spin_unlock(&space->lock);
    return 0;
}

/* Several tasks of one kernel may wait for the same key; only one of them holds it, so key and kernel name it. */
static bool request_remove(struct space *space, uint64_t key, uint32_t kernel)
{
    struct lock_request *found = NULL;

    spin_lock(&space->lock);
    list_for_each(node, &space->locks) {
        struct lock_request *request = container_of(node, struct lock_request, node);

        if (request->granted && request->key == key && request->kernel == kernel) {
            found = request;
            break;
        }
    }
    if (found != NULL) {
        list_remove(&found->node);
        list_for_each(node, &space->locks) {
            struct lock_request *request = container_of(node, struct lock_request, node);

            if (!request->granted)
                grant_if_first_locked(space, request);
        }
    }
    spin_unlock(&space->lock);
    heap_free(found, sizeof(*found));
    return found != NULL;
}

static void turn_take(uint32_t home)
{
    struct turn turn;
    struct wait_reason reason = {.what = "turn to ask for a lock", .kernel = -1, .key = home};

    spin_lock(&turns_lock);
    if (asking[home] < ASKING_MAX) {
        asking[home]++;
        spin_unlock(&turns_lock);
        return;
    }
    completion_init(&turn.come);
    list_append(&turns[home], &turn.node);
    spin_unlock(&turns_lock);
    completion_wait(&turn.come, &reason);
}

/* Hands the turn to whoever waits for it first. */
static void turn_give(uint32_t home)
{
    struct turn *next;

    spin_lock(&turns_lock);
    if (list_empty(&turns[home])) {
        asking[home]--;
    } else {
        next = container_of(turns[home].next, struct turn, node);
        list_remove(&next->node);
        completion_signal(&next->come);
    }
    spin_unlock(&turns_lock);
}

static int home_acquire(struct space *space, uint64_t key)
{
    struct msg_space_lock ask = {space->id, key};
    struct msg_space_granted granted;
    int result;

    if (space->home == instance.kernel) {
        struct completion done;
        struct wait_reason reason = {.what = "address space lock", .kernel = -1, .key = key};

        completion_init(&done);
        result = request_add(space, key, NULL, &done);
        if (result == 0)
            completion_wait(&done, &reason);
        return result;
    }
    turn_take(space->home);
    result = msg_call(space->home, MSG_SPACE_LOCK, &ask, sizeof(ask), &granted, sizeof(granted), "address space lock",
                      key);
    turn_give(space->home);
    if (result != (int)sizeof(granted))
        return result < 0 ? result : -EPROTO;
    spin_lock(&space->lock);
    space->members |= granted.members; /* they only grow, and another task's later grant may have been noted before */
    spin_unlock(&space->lock);
    return 0;
}

static void home_release(struct space *space, uint64_t key)
{
    struct msg_space_lock free = {space->id, key};

    if (space->home == instance.kernel)
        assert(request_remove(space, key, instance.kernel));
    else
        msg_notify(space->home, MSG_SPACE_UNLOCK, &free, sizeof(free));
}

static void handle_lock(const struct msg *m)
{
    const struct msg_space_lock *ask = m->data;
    struct space *space = space_get(ask->space);
    int error = -ESRCH;

    if (space != NULL) {
        error = space->home == instance.kernel ? request_add(space, ask->key, &m->ticket, NULL) : -EPROTO;
        space_put(space);
    }
    if (error != 0)
        msg_reply_error(&m->ticket, error);
}

static void handle_unlock(const struct msg *m)
{
    const struct msg_space_lock *ask = m->data;
    struct space *space = space_get(ask->space);

    if (space == NULL)
        return;
    request_remove(space, ask->key, m->ticket.kernel);
    space_put(space);
}

void space_lock_init(void)
{
    for (uint32_t i = 0; i < KERNELS_MAX; i++)
        list_init(&turns[i]);
    msg_register(MSG_SPACE_LOCK, handle_lock, sizeof(struct msg_space_lock));
    msg_register(MSG_SPACE_UNLOCK, handle_unlock, sizeof(struct msg_space_lock));
}

const struct space_locking space_lock_home = {"home", home_acquire, home_release};
