/* Queues on another kernel: the operations that the owner serves, and how waiters and wakers of other kernels request
 * them. tasks/futex/futex.md has the protocol.
 *
 * At the owner, a waiter of another kernel is a struct remote_waiter, in a queue as any other and in a table by kernel
 * and token. It is freed when it has left, or when its notification has been sent. On its own kernel it is a struct
 * futex_wait on its thread's stack, and in the table of waits (tasks/remote/notify.h). */
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/instance/instance.h"
#include "mm/frame/heap.h"
#include "msg/slice.h"
#include "tasks/futex/futex.h"
#include "tasks/futex/internal.h"
#include "tasks/futex/pi/pi.h"
#include "tasks/remote/operation.h"
#include "tasks/sched/fair/fair.h"

#define BUCKETS 256u

struct remote_waiter {
    struct futex_waiter waiter;
    struct list node; /* [k] remote_lock: in the table */
    uint32_t kernel;  /* [i] */
    uint64_t token;   /* [i] */
    struct remote_notice notice;
};

static struct spinlock remote_lock;
static struct list remote_waiters[BUCKETS]; /* [k] remote_lock */

/* --- the owner --- */

static struct remote_waiter *find_remote_locked(uint32_t kernel, uint64_t token)
{
    list_for_each(node, &remote_waiters[token % BUCKETS]) {
        struct remote_waiter *remote = container_of(node, struct remote_waiter, node);

        if (remote->token == token && remote->kernel == kernel)
            return remote;
    }
    return NULL;
}

static void waiter_notified(struct remote_notice *notice)
{
    struct remote_waiter *remote = container_of(notice, struct remote_waiter, notice);

    heap_free(remote, sizeof(*remote));
}

void futex_notify_woken(struct list *waiters)
{
    while (!list_empty(waiters)) {
        struct remote_waiter *remote = container_of(waiters->next, struct remote_waiter, waiter.node);
        struct futex_notified notified = {.key = remote->waiter.key, .bitset = remote->waiter.bitset};

        list_remove(&remote->waiter.node);
        spin_lock(&remote_lock); /* a LEAVE that is being handled has found it in no queue */
        list_remove(&remote->node);
        spin_unlock(&remote_lock);
        remote_notify(&remote->notice, remote->kernel, remote->token, &notified, sizeof(notified), waiter_notified);
    }
}

static int run_wait(const struct remote_request *request, void *result)
{
    const struct msg_futex_wait *message = request->data;
    struct remote_waiter *remote = heap_alloc_unset(sizeof(*remote)); /* set below, or by remote_notify */
    bool twice;

    (void)result;
    if (remote == NULL)
        return -ENOMEM;
    remote->waiter.remote = true;
    remote->kernel = request->kernel;
    remote->token = message->token;
    /* Others that look at the waiter in the table are handlers, one at a time, and futex_lost, which runs after the
     * fence has ended this one (msg_peer_fence): so nobody does before it is in its queue, which sets waiter.bucket. */
    spin_lock(&remote_lock);
    twice = find_remote_locked(remote->kernel, remote->token) != NULL;
    if (!twice)
        list_append(&remote_waiters[remote->token % BUCKETS], &remote->node);
    spin_unlock(&remote_lock);
    if (twice) {
        heap_free(remote, sizeof(*remote));
        return -EPROTO;
    }
    remote->waiter.priority = message->priority;
    futex_queue_join(&remote->waiter, &message->key, message->bitset); /* after this call a waker may free it */
    return 0;
}

static int run_wake(const struct remote_request *request, void *result)
{
    const struct msg_futex_wake *message = request->data;
    struct msg_futex_done *done = result;

    *done = (struct msg_futex_done){.count = futex_queue_wake(&message->key, message->count, message->bitset)};
    if (done->count == 0)
        futex_queue_found_empty(&message->key);
    return sizeof(*done);
}

static int run_mark(const struct remote_request *request, void *result)
{
    const struct msg_futex_mark *message = request->data;
    struct msg_futex_marked *marked = result;

    marked->mark = futex_queue_mark(&message->key);
    return sizeof(*marked);
}

static int run_requeue(const struct remote_request *request, void *result)
{
    struct msg_futex_done *done = result;

    *done = (struct msg_futex_done){.count = futex_queue_requeue(request->data)};
    return sizeof(*done);
}

static int run_leave(const struct remote_request *request, void *result)
{
    const struct msg_futex_leave *message = request->data;
    struct msg_futex_left *left = result;
    struct remote_waiter *remote;

    *left = (struct msg_futex_left){.woken = 1};
    spin_lock(&remote_lock);
    remote = find_remote_locked(request->kernel, message->token);
    if (remote != NULL && futex_queue_leave(&remote->waiter)) {
        left->woken = 0;
        list_remove(&remote->node);
    }
    spin_unlock(&remote_lock);
    if (left->woken == 0) {
        if (message->differs != 0)
            futex_queue_pass_on(&remote->waiter);
        heap_free(remote, sizeof(*remote));
    }
    return sizeof(*left);
}

/* Removes a waiter of KERNEL in LIST from its queue. One that has been woken is freed when its notice, which is
 * dropped, is over. False: there is no waiter. */
static bool lose_one(struct list *list, uint32_t kernel)
{
    struct remote_waiter *lost = NULL;

    spin_lock(&remote_lock);
    list_for_each_safe(node, list) {
        struct remote_waiter *remote = container_of(node, struct remote_waiter, node);

        if (remote->kernel != kernel || !futex_queue_leave(&remote->waiter))
            continue;
        list_remove(&remote->node);
        lost = remote;
        break;
    }
    spin_unlock(&remote_lock);
    heap_free(lost, sizeof(*lost));
    return lost != NULL;
}

void futex_lost(uint32_t kernel)
{
    for (uint32_t i = 0; i < BUCKETS; i++) {
        while (lose_one(&remote_waiters[i], kernel))
            slice_check();
    }
    pi_lost(kernel);
}

void futex_remote_init(void)
{
    for (uint32_t i = 0; i < BUCKETS; i++)
        list_init(&remote_waiters[i]);
    REMOTE_SERVE(FUTEX_WAIT, run_wait, NULL, struct msg_futex_wait, struct msg_none);
    REMOTE_SERVE(FUTEX_WAKE, run_wake, NULL, struct msg_futex_wake, struct msg_futex_done);
    REMOTE_SERVE(FUTEX_MARK, run_mark, NULL, struct msg_futex_mark, struct msg_futex_marked);
    REMOTE_SERVE(FUTEX_REQUEUE, run_requeue, NULL, struct msg_futex_requeue, struct msg_futex_done);
    REMOTE_SERVE(FUTEX_LEAVE, run_leave, NULL, struct msg_futex_leave, struct msg_futex_left);
}

/* --- any kernel: an operation on this kernel's own queues needs no request --- */

static __attribute__((noinline)) int64_t wake_remote(const struct futex_place *place, uint32_t count, uint32_t bitset)
{
    struct msg_futex_wake message = {.key = place->key, .count = count, .bitset = bitset};
    struct msg_futex_done done;
    int result;

    result = remote_ask_sure(place->owner, MSG_FUTEX_WAKE, &message, sizeof(message), &done, sizeof(done),
                             "waking of its futex", place->key.word);
    if (result == -EAGAIN) /* that kernel has died: whoever waited there looks at the word again */
        return 0;
    return result < 0 ? result : (int64_t)done.count;
}

int64_t futex_wake_at(const struct futex_place *place, uint32_t count, uint32_t bitset)
{
    if (place->owner == instance.kernel)
        return futex_queue_wake(&place->key, count, bitset);
    if (futex_nobody_waits(place->owner, &place->key))
        return 0;
    return wake_remote(place, count, bitset);
}

int64_t futex_mark_at(const struct futex_place *place, uint64_t *mark)
{
    struct remote_how how = {.why = "order of its futex", .key = place->key.word, .sure = true};
    struct msg_futex_mark message = {.key = place->key};
    struct msg_futex_marked marked = {.mark = 0};
    int result = remote_call(place->owner, MSG_FUTEX_MARK, &message, sizeof(message), &marked, sizeof(marked), &how);

    *mark = marked.mark;
    return result < 0 ? result : 0;
}

int64_t futex_requeue_at(uint32_t owner, const struct msg_futex_requeue *request)
{
    struct msg_futex_done done;
    int result;

    if (owner == instance.kernel)
        return futex_queue_requeue(request);
    if (futex_nobody_waits(owner, &request->from))
        return 0;
    result = remote_ask_sure(owner, MSG_FUTEX_REQUEUE, request, sizeof(*request), &done, sizeof(done),
                             "requeue of its futex", request->from.word);
    return result < 0 ? result : (int64_t)done.count;
}

static void woken(struct remote_wait *notified, const uint64_t *words)
{
    struct futex_wait *wait = container_of(notified, struct futex_wait, notified);
    const struct futex_notified *word = (const struct futex_notified *)words;

    wait->waiter.key = word->key;
    wait->waiter.bitset = word->bitset;
    if (wait->any != NULL)
        completion_signal(wait->any);
    completion_signal(&wait->woken);
}

/* futex_join_any at another kernel. */
static __attribute__((noinline)) int join_remote(struct futex_wait *wait, const struct futex_place *place,
                                                 uint32_t bitset)
{
    struct msg_futex_wait message = {.key = place->key, .bitset = bitset, .priority = wait->waiter.priority};
    int result;

    remote_wait_begin(&wait->notified, place->owner, woken);
    message.token = wait->notified.token;
    result = remote_ask(place->owner, MSG_FUTEX_WAIT, &message, sizeof(message), NULL, 0, "queue of its futex",
                        place->key.word);
    if (result < 0)
        remote_wait_end(&wait->notified);
    return result;
}

int futex_join_any(struct futex_wait *wait, const struct futex_place *place, uint32_t bitset, struct completion *any)
{
    completion_init(&wait->woken);
    wait->any = any;
    wait->owner = place->owner;
    wait->waiter.remote = false;
    wait->waiter.priority = thread_current()->context.policy >> POLICY_PRIORITY_SHIFT;
    if (place->owner != instance.kernel)
        return join_remote(wait, place, bitset);
    futex_queue_join(&wait->waiter, &place->key, bitset);
    return 0;
}

void futex_woken(struct futex_wait *wait)
{
    if (wait->owner != instance.kernel)
        remote_wait_end(&wait->notified);
}

static bool leave_remote(struct futex_wait *wait, bool differs, const struct wait_reason *reason)
{
    struct msg_futex_leave message = {.token = wait->notified.token, .differs = differs};
    struct msg_futex_left left = {.woken = 0};

    remote_ask_sure(wait->owner, MSG_FUTEX_LEAVE, &message, sizeof(message), &left, sizeof(left),
                    "end of its futex wait", wait->notified.token);
    if (left.woken != 0)
        completion_wait(&wait->woken, reason);
    remote_wait_end(&wait->notified);
    return left.woken != 0;
}

bool futex_leave(struct futex_wait *wait, bool differs)
{
    struct wait_reason reason = {.what = "wake of its futex to arrive", .kernel = (int32_t)wait->owner};

    if (wait->owner != instance.kernel)
        return leave_remote(wait, differs, &reason);
    if (!futex_queue_leave(&wait->waiter)) {
        completion_wait(&wait->woken, &reason);
        return true;
    }
    if (differs)
        futex_queue_pass_on(&wait->waiter);
    return false;
}
