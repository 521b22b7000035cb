/* Watching for changes, also on other kernels. See the header. A watcher elsewhere is a WATCH request that is kept
 * until the source has counted on; when its asker gives up, the request is taken out and answered by a worker. */
#include "tasks/remote/watch.h"

#include "kernel/abi/errno.h"
#include "kernel/arch/x86_64/clock.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/panic.h"
#include "mm/frame/heap.h"
#include "msg/channel.h"
#include "tasks/remote/wire.h"
#include "tasks/remote/work.h"
#include "tasks/sched/waitq.h"

struct watcher {
    struct list node; /* [k] the source's lock: among its watchers, or alone */
    struct watch_source *source;
    const struct watch_lookup *lookup;
    void *held;
    struct msg_kept kept;
    struct work work;
    bool answering; /* [k] the source's lock: whoever counted an event has it */
    bool cancelled; /* [k] the source's lock: a worker has it */
};

static const struct watch_lookup *lookups[WATCH_KINDS]; /* [i] */
static uint64_t watchers;                               /* [a] there are */

static void watcher_free(struct watcher *watcher)
{
    __atomic_fetch_sub(&watchers, 1, __ATOMIC_RELAXED);
    heap_free(watcher, sizeof(*watcher));
}

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

static void watcher_done(struct msg_kept *kept)
{
    struct watcher *watcher = container_of(kept, struct watcher, kept);

    watcher->lookup->put(watcher->held);
    watcher_free(watcher);
}

void watch_event(struct watch_source *source)
{
    struct list answered;

    list_init(&answered);
    spin_lock(&source->lock);
    source->events++;
    waitq_wake_all(&source->waiters);
    list_for_each_safe(node, &source->watchers) {
        struct watcher *watcher = container_of(node, struct watcher, node);

        if (watcher->cancelled)
            continue;
        watcher->answering = true;
        list_remove(&watcher->node);
        list_append(&answered, &watcher->node);
    }
    spin_unlock(&source->lock);
    while (!list_empty(&answered)) { /* answered outside the lock: the last reference to the source may go with one */
        struct watcher *watcher = container_of(answered.next, struct watcher, node);

        list_remove(&watcher->node);
        msg_kept_reply(&watcher->kept, NULL, 0, watcher_done);
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
    if (source->events > seen)
        result = 0;
    spin_unlock(&source->lock);
    return result;
}

int watch_wait_at(uint32_t kernel, enum watch_kind kind, uint64_t id, uint64_t seen, const char *why, uint64_t deadline)
{
    struct msg_watch message = {.id = id, .seen = seen, .kind = kind};
    struct msg_policy policy = {.end = WAIT_INTERRUPTIBLE};
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
    policy.timeout = deadline == 0 ? 0 : deadline - now;
    result = msg_call_within(&policy, kernel, MSG_WATCH, &message, sizeof(message), NULL, 0, why, id);
    if (result == -EINTR)
        return -ERESTARTSYS;
    return result == -ESRCH || result > 0 ? 0 : result;
}

/* The asker has given up. */
static void run_cancelled(struct work *work)
{
    struct watcher *watcher = container_of(work, struct watcher, work);

    spin_lock(&watcher->source->lock);
    list_remove(&watcher->node);
    spin_unlock(&watcher->source->lock);
    msg_kept_reply_error(&watcher->kept, -EINTR, watcher_done);
}

static void cancelled(struct msg_kept *kept)
{
    struct watcher *watcher = container_of(kept, struct watcher, kept);
    bool waits;

    spin_lock(&watcher->source->lock);
    waits = !watcher->answering && !watcher->cancelled;
    watcher->cancelled |= waits;
    spin_unlock(&watcher->source->lock);
    if (waits)
        work_submit(&watcher->work);
}

static void handle_watch(const struct msg *m)
{
    const struct msg_watch *message = m->data;
    const struct watch_lookup *lookup = message->kind < WATCH_KINDS ? lookups[message->kind] : NULL;
    struct watch_source *source;
    struct watcher *watcher;
    bool now;
    void *held;

    if (lookup == NULL) {
        msg_reply_error(&m->ticket, -EPROTO);
        return;
    }
    source = lookup->find(message->id, &held);
    watcher = source != NULL ? heap_alloc(sizeof(*watcher)) : NULL;
    if (watcher == NULL) {
        if (source != NULL)
            lookup->put(held);
        msg_reply_error(&m->ticket, source == NULL ? -ESRCH : -ENOMEM);
        return;
    }
    __atomic_fetch_add(&watchers, 1, __ATOMIC_RELAXED);
    watcher->source = source;
    watcher->lookup = lookup;
    watcher->held = held;
    watcher->work.run = run_cancelled;
    list_init(&watcher->node);
    spin_lock(&source->lock);
    now = source->events > message->seen;
    if (!now) {
        msg_keep(m, &watcher->kept, cancelled);
        list_append(&source->watchers, &watcher->node);
    }
    spin_unlock(&source->lock);
    if (now) {
        msg_reply(&m->ticket, NULL, 0);
        lookup->put(held);
        watcher_free(watcher);
    }
}

void watch_start(void)
{
    msg_register(MSG_WATCH, handle_watch, sizeof(struct msg_watch), 0);
}
