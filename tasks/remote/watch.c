/* Watching for changes, also on other kernels. See the header. A thread of the source's kernel waits in the source's
 * own queue, which needs no memory. A thread of another kernel calls the operation WATCH, whose request is kept until
 * the source has counted another event or the caller gives up. */
#include "tasks/remote/watch.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/panic.h"
#include "mm/frame/heap.h"
#include "msg/channel.h"
#include "tasks/remote/operation.h"
#include "tasks/remote/watcher.h"
#include "tasks/remote/wire.h"
#include "tasks/sched/waitq.h"

/* A WATCH that is kept. Ownership marks: [i] set once, [a] atomic. */
struct watching {
    struct watcher watcher;
    const struct watch_lookup *lookup; /* [i] */
    void *held;                        /* [i] the reference to the source's object */
};

static const struct watch_lookup *lookups[WATCH_KINDS]; /* [i] */
static uint64_t watchers;                               /* [a] how many are kept */

uint64_t watch_count(void)
{
    return __atomic_load_n(&watchers, __ATOMIC_RELAXED);
}

void watch_register(enum watch_kind kind, const struct watch_lookup *lookup)
{
    lookups[kind] = lookup;
}

void watch_init(struct watch_source *source)
{
    *source = (struct watch_source){.events = 0};
    waitq_init(&source->waiters);
    list_init(&source->watchers);
}

void watch_event(struct watch_source *source)
{
    struct list *end = &source->watchers;
    struct list *next;

    spin_lock(&source->lock);
    source->events++;
    waitq_wake_all(&source->waiters);
    next = end->next;
    list_for_each(node, end)
        container_of(node, struct watcher, node)->waits = false;
    list_init(end);
    spin_unlock(&source->lock);
    while (next != end) { /* without the lock, because the last reference to the source may go with an answer */
        struct watcher *watcher = container_of(next, struct watcher, node);

        next = next->next;
        watcher->fire(watcher);
    }
}

uint64_t watch_events(struct watch_source *source)
{
    uint64_t events;

    spin_lock(&source->lock);
    events = source->events;
    spin_unlock(&source->lock);
    return events;
}

bool watch_waited(struct watch_source *source)
{
    bool waited;

    spin_lock(&source->lock);
    waited = !list_empty(&source->waiters.waiters) || !list_empty(&source->watchers);
    spin_unlock(&source->lock);
    return waited;
}

int watch_wait(struct watch_source *source, uint64_t seen, const struct wait_reason *reason, uint64_t deadline)
{
    int result = 0;

    spin_lock(&source->lock);
    while (source->events <= seen && result == 0) {
        if (wait_ops.ended(WAIT_INTERRUPTIBLE))
            result = -ERESTARTSYS;
        else if (deadline != 0 && clock_now() >= deadline)
            result = -ETIMEDOUT;
        else
            waitq_wait(&source->waiters, &source->lock, reason, WAIT_INTERRUPTIBLE, deadline);
    }
    spin_unlock(&source->lock);
    return result;
}

int watch_wait_at(uint32_t kernel, enum watch_kind kind, uint64_t id, uint64_t seen, const char *why, uint64_t deadline)
{
    struct msg_watch message = {.id = id, .seen = seen, .kind = kind};
    struct remote_how how = {.why = why, .key = id, .end = WAIT_INTERRUPTIBLE};
    uint64_t now = clock_now();
    int result;

    if (kernel == instance.kernel) {
        struct wait_reason reason = {.what = why, .kernel = -1, .key = id};
        void *held;
        struct watch_source *source = lookups[kind]->find(id, &held);

        if (source == NULL)
            return 0;
        result = watch_wait(source, seen, &reason, deadline);
        lookups[kind]->put(held);
        return result;
    }
    if (wait_ops.ended(WAIT_INTERRUPTIBLE))
        return -ERESTARTSYS;
    if (deadline != 0 && now >= deadline)
        return -ETIMEDOUT;
    how.timeout = deadline == 0 ? 0 : deadline - now;
    result = remote_call(kernel, MSG_WATCH, &message, sizeof(message), NULL, 0, &how);
    if (result == -EINTR)
        return -ERESTARTSYS;
    if (result == -EAGAIN && msg_peer_fenced(kernel))
        return 0; /* it has died: the caller looks again, and learns it */
    return result == -ESRCH ? 0 : result;
}

/* The caller has given up: answers the watcher unless an event does. */
static void give_up(struct remote_kept *kept)
{
    struct watcher *watcher = container_of(kept, struct watcher, kept);
    struct watch_source *source = watcher->source;
    bool waits;

    spin_lock(&source->lock);
    waits = watcher->waits;
    if (waits) {
        watcher->waits = false;
        list_remove(&watcher->node);
    }
    spin_unlock(&source->lock);
    if (waits)
        remote_answer(kept, NULL, -EINTR);
}

static void answered(struct remote_kept *kept)
{
    struct watcher *watcher = container_of(kept, struct watcher, kept);

    __atomic_fetch_sub(&watchers, 1, __ATOMIC_RELAXED);
    watcher->done(watcher);
}

int watch_keep(struct watch_source *source, uint64_t seen, const struct remote_request *request,
               struct watcher *watcher)
{
    int result = 0;

    watcher->source = source;
    spin_lock(&source->lock);
    if (source->events <= seen) {
        watcher->waits = true;
        list_append(&source->watchers, &watcher->node);
        __atomic_fetch_add(&watchers, 1, __ATOMIC_RELAXED);
        result = remote_keep(request, &watcher->kept, give_up, answered);
    }
    spin_unlock(&source->lock);
    return result;
}

static void watching_fire(struct watcher *watcher)
{
    remote_answer(&watcher->kept, NULL, 0);
}

static void watching_done(struct watcher *watcher)
{
    struct watching *watching = container_of(watcher, struct watching, watcher);

    watching->lookup->put(watching->held);
    heap_free(watching, sizeof(*watching));
}

/* The operation WATCH. */
static int watch(const struct remote_request *request, void *result)
{
    const struct msg_watch *message = request->data;
    const struct watch_lookup *lookup = message->kind < WATCH_KINDS ? lookups[message->kind] : NULL;
    struct watch_source *source;
    struct watching *watching;
    void *held;

    (void)result;
    if (lookup == NULL)
        return -EPROTO;
    source = lookup->find(message->id, &held);
    if (source == NULL)
        return -ESRCH;
    watching = heap_alloc(sizeof(*watching));
    if (watching == NULL) {
        lookup->put(held);
        return -ENOMEM;
    }
    watching->watcher.fire = watching_fire;
    watching->watcher.done = watching_done;
    watching->lookup = lookup;
    watching->held = held;
    if (watch_keep(source, message->seen, request, &watching->watcher) == REMOTE_KEPT)
        return REMOTE_KEPT;
    watching_done(&watching->watcher);
    return 0;
}

void watch_start(void)
{
    REMOTE_SERVE(WATCH, watch, NULL, struct msg_watch, struct msg_none);
}
