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
#include "tasks/remote/wire.h"
#include "tasks/sched/waitq.h"

/* A request that is kept. Ownership marks: [i] set once, [k] the source's lock, [a] atomic. */
struct watcher {
    struct list node;                  /* [k] among the source's watchers while it waits; then of the event's chain */
    struct watch_source *source;       /* [i] */
    const struct watch_lookup *lookup; /* [i] */
    void *held;                        /* [i] the reference to the source's object */
    struct remote_kept kept;
    bool waits; /* [k] neither an event nor a worker answers it yet */
};

static const struct watch_lookup *lookups[WATCH_KINDS]; /* [i] */
static uint64_t watchers;                               /* [a] how many exist */

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

static void watcher_done(struct remote_kept *kept)
{
    struct watcher *watcher = container_of(kept, struct watcher, kept);

    watcher->lookup->put(watcher->held);
    heap_free(watcher, sizeof(*watcher));
    __atomic_fetch_sub(&watchers, 1, __ATOMIC_RELAXED);
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
        remote_answer(&watcher->kept, NULL, 0);
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

bool watch_waited_here(struct watch_source *source)
{
    bool waited;

    spin_lock(&source->lock);
    waited = !list_empty(&source->waiters.waiters);
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

/* The operation WATCH. */
static int watch(const struct remote_request *request, void *result)
{
    const struct msg_watch *message = request->data;
    const struct watch_lookup *lookup = message->kind < WATCH_KINDS ? lookups[message->kind] : NULL;
    struct watch_source *source;
    struct watcher *watcher;
    int length = 0;
    void *held;

    (void)result;
    if (lookup == NULL)
        return -EPROTO;
    source = lookup->find(message->id, &held);
    if (source == NULL)
        return -ESRCH;
    watcher = heap_alloc(sizeof(*watcher));
    if (watcher == NULL) {
        lookup->put(held);
        return -ENOMEM;
    }
    __atomic_fetch_add(&watchers, 1, __ATOMIC_RELAXED);
    watcher->source = source;
    watcher->lookup = lookup;
    watcher->held = held;
    spin_lock(&source->lock);
    watcher->waits = source->events <= message->seen;
    if (watcher->waits) {
        list_append(&source->watchers, &watcher->node);
        length = remote_keep(request, &watcher->kept, give_up, watcher_done);
    }
    spin_unlock(&source->lock);
    if (length != REMOTE_KEPT)
        watcher_done(&watcher->kept);
    return length;
}

void watch_start(void)
{
    REMOTE_SERVE(WATCH, watch, NULL, struct msg_watch, struct msg_none);
}
