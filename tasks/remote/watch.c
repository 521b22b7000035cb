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
#include "msg/slice.h"
#include "tasks/remote/operation.h"
#include "tasks/remote/watcher.h"
#include "tasks/remote/wire.h"
#include "tasks/sched/waitq.h"

#define WOKEN_AT_ONCE 64u    /* threads that an event wakes itself: some 200 instructions for each */
#define WOKEN_IN_STEP 16u    /* that the worker wakes without looking for messages */
#define ANSWERED_AT_LEAST 4u /* requests that an event answers itself when a slice is over */

/* A WATCH that is kept. Ownership marks: [i] set once, [a] atomic. */
struct watching {
    struct watcher watcher;
    const struct watch_lookup *lookup; /* [i] */
    void *held;                        /* [i] the reference to the source's object */
};

static const struct watch_lookup *lookups[WATCH_KINDS]; /* [i] */
static uint64_t watchers;                               /* [a] how many are kept */

/* What an event has left to a worker. Locks: `late_lock`, then a source's. */
static struct spinlock late_lock;
static struct list owing = {&owing, &owing};             /* sources with threads that are owed */
static struct list answering = {&answering, &answering}; /* watchers that are to be answered */
static bool working;                                     /* the worker has been asked for, and has not ended */

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
    waitq_init(&source->owed);
    list_init(&source->owing);
    list_init(&source->watchers);
}

/* --- an event of many --- */

static struct watcher *take_watcher(struct list *list)
{
    struct watcher *watcher = container_of(list->next, struct watcher, node);

    list_remove(&watcher->node);
    return watcher;
}

/* SOURCE, whose lock is held with late_lock, stays in the list of those that owe as long as threads are owed. */
static void sort_locked(struct watch_source *source)
{
    list_remove(&source->owing);
    if (!list_empty(&source->owed.waiters))
        list_append(&owing, &source->owing);
}

/* One step of the worker. False: nothing is left. */
static bool work_some(void)
{
    struct watcher *watcher = NULL;
    bool more; /* `working` may be another CPU's, that has submitted the item again, once the lock is released */

    spin_lock(&late_lock);
    if (!list_empty(&answering)) {
        watcher = take_watcher(&answering);
    } else if (!list_empty(&owing)) {
        struct watch_source *source = container_of(owing.next, struct watch_source, owing);

        spin_lock(&source->lock);
        waitq_wake_owed(&source->waiters, &source->owed, WOKEN_IN_STEP);
        sort_locked(source);
        spin_unlock(&source->lock);
    }
    more = working = watcher != NULL || !list_empty(&owing);
    spin_unlock(&late_lock);
    if (watcher != NULL)
        watcher->fire(watcher);
    return more;
}

static void work_rest(struct work *unused)
{
    (void)unused;
    while (work_some())
        slice_check();
}

static void begin_work_locked(void)
{
    static struct work work = {.run = work_rest};

    if (!working)
        work_submit(&work);
    working = true;
}

/* SOURCE may have threads that are owed, and its place in the list may be wrong. The caller keeps it. */
static void settle(struct watch_source *source)
{
    spin_lock(&late_lock);
    spin_lock(&source->lock);
    sort_locked(source);
    if (!list_empty(&source->owing))
        begin_work_locked();
    spin_unlock(&source->lock);
    spin_unlock(&late_lock);
}

/* Answers FIRED, and leaves to the worker what does not go into a slice. The last reference to the source may go with
 * an answer. */
static void answer(struct list *fired)
{
    for (uint32_t done = 0; !list_empty(fired) && (done < ANSWERED_AT_LEAST || silence_length() <= SLICE_COUNTS);
         done++) {
        struct watcher *watcher = take_watcher(fired);

        watcher->fire(watcher);
    }
    if (list_empty(fired))
        return;
    spin_lock(&late_lock);
    list_append_all(&answering, fired);
    begin_work_locked();
    spin_unlock(&late_lock);
}

void watch_event(struct watch_source *source)
{
    struct list fired;
    bool owes;

    list_init(&fired);
    spin_lock(&source->lock);
    source->events++;
    list_append_all(&source->owed.waiters, &source->waiters.waiters);
    waitq_wake_owed(&source->waiters, &source->owed, WOKEN_AT_ONCE);
    owes = !list_empty(&source->owed.waiters);
    list_append_all(&fired, &source->watchers);
    spin_unlock(&source->lock);
    if (__builtin_expect(owes, 0))
        settle(source);
    answer(&fired);
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
    waited = !list_empty(&source->waiters.waiters) || !list_empty(&source->owed.waiters) ||
             !list_empty(&source->watchers);
    spin_unlock(&source->lock);
    return waited;
}

int watch_wait(struct watch_source *source, uint64_t seen, const struct wait_reason *reason, uint64_t deadline)
{
    int result = 0;
    bool last;

    spin_lock(&source->lock);
    while (source->events <= seen && result == 0) {
        if (wait_ops.ended(WAIT_INTERRUPTIBLE))
            result = -ERESTARTSYS;
        else if (deadline != 0 && clock_now() >= deadline)
            result = -ETIMEDOUT;
        else
            waitq_wait(&source->waiters, &source->lock, reason, WAIT_INTERRUPTIBLE, deadline);
    }
    last = list_empty(&source->owed.waiters) && !list_empty(&source->owing);
    spin_unlock(&source->lock);
    if (__builtin_expect(last, 0)) /* it was owed, and was not woken for the event: no reference keeps the source */
        settle(source);
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
    waits = watcher->events == source->events;
    if (waits) {
        watcher->events = WATCHER_ANSWERED;
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
        watcher->events = source->events;
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
