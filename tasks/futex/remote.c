/* Queues on another kernel: the messages of both sides. tasks/futex/futex.md has the protocol.
 *
 * At the owner a waiter of another kernel is a struct remote_waiter, in a queue as any other and in a table by kernel
 * and token. At its own kernel it is a struct futex_wait on its thread's stack, in a table by token. */
#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/instance/instance.h"
#include "mm/frame/heap.h"
#include "msg/call.h"
#include "msg/channel.h"
#include "tasks/futex/internal.h"
#include "tasks/sched/sched.h"

#define BUCKETS 256u /* of both tables */

struct remote_waiter {
    struct futex_waiter waiter;
    struct list node; /* [k] remote_lock: in the table */
    uint32_t kernel;  /* [i] */
    uint64_t token;   /* [i] */
    struct msg_futex_woken message;
    struct msg_outgoing outgoing;
};

static struct spinlock remote_lock;
static struct list remote_waiters[BUCKETS]; /* [k] remote_lock */

static struct spinlock waits_lock;
static struct list waits[BUCKETS]; /* [k] waits_lock */
static uint64_t last_token;        /* [k] waits_lock */

static struct remote_waiter *find_remote_locked(uint32_t kernel, uint64_t token)
{
    list_for_each(node, &remote_waiters[token % BUCKETS]) {
        struct remote_waiter *remote = container_of(node, struct remote_waiter, node);

        if (remote->token == token && remote->kernel == kernel)
            return remote;
    }
    return NULL;
}

static void woken_sent(struct msg_outgoing *outgoing)
{
    struct remote_waiter *remote = container_of(outgoing, struct remote_waiter, outgoing);

    heap_free(remote, sizeof(*remote));
}

void futex_tell_woken(struct list *waiters)
{
    while (!list_empty(waiters)) {
        struct remote_waiter *remote = container_of(waiters->next, struct remote_waiter, waiter.node);

        list_remove(&remote->waiter.node);
        spin_lock(&remote_lock); /* its LEAVE, if it is being handled, has found it out of its queue */
        list_remove(&remote->node);
        spin_unlock(&remote_lock);
        remote->message = (struct msg_futex_woken){
            .token = remote->token, .key = remote->waiter.key, .bitset = remote->waiter.bitset};
        msg_post(&remote->outgoing, remote->kernel, MSG_FUTEX_WOKEN, &remote->message, sizeof(remote->message),
                 woken_sent);
    }
}

static void handle_wait(const struct msg *m)
{
    const struct msg_futex_wait *message = m->data;
    struct remote_waiter *remote = heap_alloc(sizeof(*remote));
    bool twice;

    if (remote == NULL) {
        msg_reply_error(&m->ticket, -ENOMEM);
        return;
    }
    remote->waiter.remote = true;
    remote->kernel = m->ticket.kernel;
    remote->token = message->token;
    spin_lock(&remote_lock);
    twice = find_remote_locked(remote->kernel, remote->token) != NULL;
    if (!twice)
        list_append(&remote_waiters[remote->token % BUCKETS], &remote->node);
    spin_unlock(&remote_lock);
    if (twice) {
        heap_free(remote, sizeof(*remote));
        msg_reply_error(&m->ticket, -EPROTO);
        return;
    }
    futex_queue_join(&remote->waiter, &message->key, message->bitset); /* from now on it may be gone */
    msg_reply(&m->ticket, NULL, 0);
}

static void handle_wake(const struct msg *m)
{
    const struct msg_futex_wake *message = m->data;
    struct msg_futex_done done = {.count = 0};

    if (message->count > 0)
        done.count = futex_queue_wake(&message->key, message->count, message->bitset);
    else
        done.mark = futex_queue_mark(&message->key);
    msg_reply(&m->ticket, &done, sizeof(done));
}

static void handle_requeue(const struct msg *m)
{
    struct msg_futex_done done = {.count = futex_queue_requeue(m->data)};

    msg_reply(&m->ticket, &done, sizeof(done));
}

static void handle_leave(const struct msg *m)
{
    const struct msg_futex_leave *message = m->data;
    struct msg_futex_left left = {.woken = 1};
    struct remote_waiter *remote;

    spin_lock(&remote_lock);
    remote = find_remote_locked(m->ticket.kernel, message->token);
    if (remote != NULL && futex_queue_leave(&remote->waiter)) {
        left.woken = 0;
        list_remove(&remote->node);
    }
    spin_unlock(&remote_lock);
    if (left.woken == 0) {
        if (message->differs != 0)
            futex_queue_pass_on(&remote->waiter);
        heap_free(remote, sizeof(*remote));
    }
    msg_reply(&m->ticket, &left, sizeof(left));
}

static void handle_woken(const struct msg *m)
{
    const struct msg_futex_woken *message = m->data;

    spin_lock(&waits_lock);
    list_for_each(node, &waits[message->token % BUCKETS]) {
        struct futex_wait *wait = container_of(node, struct futex_wait, node);

        if (wait->token == message->token && wait->owner == m->ticket.kernel) {
            wait->waiter.key = message->key;
            wait->waiter.bitset = message->bitset;
            if (wait->any != NULL)
                completion_signal(wait->any);
            completion_signal(&wait->woken);
            break;
        }
    }
    spin_unlock(&waits_lock);
}

/* Asks the owner what it cannot refuse. A call that finds no slot has not been sent: it is tried again, when answers
 * may have given slots back. */
static int call_owner(uint32_t owner, enum msg_type type, const void *data, uint32_t length, void *reply, uint32_t room,
                      const char *why, uint64_t key)
{
    int result;

    while ((result = msg_call(owner, type, data, length, reply, room, why, key)) == -ENOMEM) {
        msg_poll();
        sched_yield();
    }
    return result;
}

int64_t futex_wake_at(const struct futex_place *place, uint32_t count, uint32_t bitset)
{
    struct msg_futex_wake message = {.key = place->key, .count = count, .bitset = bitset};
    struct msg_futex_done done;
    int result;

    if (place->owner == instance.kernel)
        return futex_queue_wake(&place->key, count, bitset);
    result = call_owner(place->owner, MSG_FUTEX_WAKE, &message, sizeof(message), &done, sizeof(done),
                        "waking of its futex", place->key.word);
    return result < 0 ? result : (int64_t)done.count;
}

int64_t futex_mark_at(const struct futex_place *place, uint64_t *mark)
{
    struct msg_futex_wake message = {.key = place->key};
    struct msg_futex_done done;
    int result;

    if (place->owner == instance.kernel) {
        *mark = futex_queue_mark(&place->key);
        return 0;
    }
    result = call_owner(place->owner, MSG_FUTEX_WAKE, &message, sizeof(message), &done, sizeof(done),
                        "order of its futex", place->key.word);
    *mark = done.mark;
    return result < 0 ? result : 0;
}

int64_t futex_requeue_at(uint32_t owner, const struct msg_futex_requeue *request)
{
    struct msg_futex_done done;
    int result;

    if (owner == instance.kernel)
        return futex_queue_requeue(request);
    result = call_owner(owner, MSG_FUTEX_REQUEUE, request, sizeof(*request), &done, sizeof(done),
                        "requeue of its futex", request->from.word);
    return result < 0 ? result : (int64_t)done.count;
}

static void forget(struct futex_wait *wait)
{
    spin_lock(&waits_lock);
    list_remove(&wait->node);
    spin_unlock(&waits_lock);
}

int futex_join_any(struct futex_wait *wait, const struct futex_place *place, uint32_t bitset, struct completion *any)
{
    struct msg_futex_wait message = {.key = place->key, .bitset = bitset};
    int result;

    completion_init(&wait->woken);
    wait->any = any;
    wait->owner = place->owner;
    wait->waiter.remote = false;
    if (place->owner == instance.kernel) {
        futex_queue_join(&wait->waiter, &place->key, bitset);
        return 0;
    }
    spin_lock(&waits_lock);
    wait->token = message.token = ++last_token;
    list_append(&waits[wait->token % BUCKETS], &wait->node);
    spin_unlock(&waits_lock);
    result = msg_call(place->owner, MSG_FUTEX_WAIT, &message, sizeof(message), NULL, 0, "queue of its futex",
                      place->key.word);
    if (result < 0)
        forget(wait);
    return result < 0 ? result : 0;
}

void futex_woken(struct futex_wait *wait)
{
    if (wait->owner != instance.kernel)
        forget(wait);
}

bool futex_leave(struct futex_wait *wait, bool differs)
{
    struct wait_reason reason = {.what = "wake of its futex to arrive", .kernel = (int32_t)wait->owner};
    struct msg_futex_leave message = {.token = wait->token, .differs = differs};
    struct msg_futex_left left = {.woken = 0};

    if (wait->owner == instance.kernel) {
        if (!futex_queue_leave(&wait->waiter)) {
            completion_wait(&wait->woken, &reason);
            return true;
        }
        if (differs)
            futex_queue_pass_on(&wait->waiter);
        return false;
    }
    call_owner(wait->owner, MSG_FUTEX_LEAVE, &message, sizeof(message), &left, sizeof(left), "end of its futex wait",
               wait->token);
    if (left.woken != 0)
        completion_wait(&wait->woken, &reason);
    forget(wait);
    return left.woken != 0;
}

void futex_remote_init(void)
{
    for (uint32_t i = 0; i < BUCKETS; i++) {
        list_init(&remote_waiters[i]);
        list_init(&waits[i]);
    }
    msg_register(MSG_FUTEX_WAIT, handle_wait, sizeof(struct msg_futex_wait), 0);
    msg_register(MSG_FUTEX_WAKE, handle_wake, sizeof(struct msg_futex_wake), sizeof(struct msg_futex_done));
    msg_register(MSG_FUTEX_REQUEUE, handle_requeue, sizeof(struct msg_futex_requeue), sizeof(struct msg_futex_done));
    msg_register(MSG_FUTEX_LEAVE, handle_leave, sizeof(struct msg_futex_leave), sizeof(struct msg_futex_left));
    msg_register(MSG_FUTEX_WOKEN, handle_woken, sizeof(struct msg_futex_woken), 0);
}
