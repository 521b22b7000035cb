/* Events of files. See the header. An event calls hooks itself until it has called HOOKS_AT_ONCE; a worker calls the
 * others, once if there is another event meanwhile. Exclusive hooks are asked in turn, until one takes the event. */
#include "kernel/file/events.h"

#include "kernel/wait/work.h"
#include "msg/slice.h"

#define HOOKS_AT_ONCE 64u
#define HOOKS_IN_STEP 16u /* that the worker calls without looking for messages */

struct spinlock poll_lock;
static struct list owing = {&owing, &owing}; /* [p] struct file_events with hooks to be called */
static struct list late = {&late, &late};    /* [p] struct poll_notified to be called */
static bool working;                         /* [p] the worker has been asked for, and has not ended */

void file_events_init(struct file_events *events)
{
    watch_init(&events->source);
    list_init(&events->polls);
    list_init(&events->owed);
    list_init(&events->exclusive);
    list_init(&events->owing);
    events->hooks = 0;
    events->exclusives = 0;
    events->unasked = 0;
    events->untaken = 0;
}

static bool work_some(void);

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

static bool owes_locked(const struct file_events *events)
{
    return !list_empty(&events->owed) || events->untaken > 0;
}

/* EVENTS are in the list of those that owe as long as they do. */
static void sort_locked(struct file_events *events)
{
    list_remove(&events->owing);
    if (owes_locked(events))
        list_append(&owing, &events->owing);
}

/* UNASKED exclusive hooks are left to ask, and each takes one event at most. */
static void bound_locked(struct file_events *events, uint32_t unasked)
{
    events->unasked = unasked;
    if (events->untaken > unasked)
        events->untaken = unasked;
}

static struct poll_hook *move_first(struct list *from, struct list *to)
{
    struct list *first = from->next;

    list_remove(first);
    list_append(to, first);
    return container_of(first, struct poll_hook, node);
}

/* Calls up to MOST hooks that are to be called; exclusive ones until the events have been taken. */
static void call_locked(struct file_events *events, uint32_t most, struct list *notified)
{
    for (; most > 0 && !list_empty(&events->owed); most--) {
        struct poll_hook *hook = move_first(&events->owed, &events->polls);

        hook->fire(hook, notified);
    }
    for (; most > 0 && events->untaken > 0; most--) {
        struct poll_hook *hook = move_first(&events->exclusive, &events->exclusive);

        if (hook->fire(hook, notified))
            events->untaken--;
        bound_locked(events, events->unasked - 1);
    }
    if (owes_locked(events) || !list_empty(&events->owing))
        sort_locked(events);
}

/* Calls NOTIFIED, one at least, and leaves to the worker what does not go into a slice: an event of a set may call as
 * many again. */
static void notify(struct list *notified)
{
    for (bool first = true; !list_empty(notified) && (first || silence_length() <= SLICE_COUNTS); first = false) {
        struct poll_notified *note = container_of(notified->next, struct poll_notified, node);

        list_remove(&note->node);
        note->notify(note);
    }
    if (list_empty(notified))
        return;
    spin_lock(&poll_lock);
    list_append_all(&late, notified);
    begin_work_locked();
    spin_unlock(&poll_lock);
}

/* One step of the worker. False: nothing is left. */
static bool work_some(void)
{
    struct list notified;
    bool more;

    list_init(&notified);
    spin_lock(&poll_lock);
    if (!list_empty(&late)) {
        struct list *first = late.next;

        list_remove(first);
        list_append(&notified, first);
    } else if (!list_empty(&owing)) {
        call_locked(container_of(owing.next, struct file_events, owing), HOOKS_IN_STEP, &notified);
    }
    more = working = !list_empty(&notified) || !list_empty(&late) || !list_empty(&owing);
    spin_unlock(&poll_lock);
    notify(&notified);
    return more;
}

/* Calls the hooks of EVENTS; of the exclusive ones until one has taken the event. PASS: the others know of it. */
static void fire_hooks(struct file_events *events, bool pass)
{
    struct list notified;

    list_init(&notified);
    spin_lock(&poll_lock);
    if (!pass)
        list_append_all(&events->owed, &events->polls);
    events->untaken++;
    bound_locked(events, events->exclusives);
    call_locked(events, HOOKS_AT_ONCE, &notified);
    if (owes_locked(events))
        begin_work_locked();
    spin_unlock(&poll_lock);
    notify(&notified);
}

void file_event(struct file_events *events)
{
    watch_event(&events->source);
    if (file_events_polled(events))
        fire_hooks(events, false);
}

void file_event_pass(struct file_events *events)
{
    fire_hooks(events, true);
}

static void set_hooks_locked(struct file_events *events, uint32_t hooks)
{
    __atomic_store_n(&events->hooks, hooks, __ATOMIC_RELEASE);
}

void poll_hook_add_locked(struct file_events *events, struct poll_hook *hook)
{
    list_append(hook->exclusive ? &events->exclusive : &events->polls, &hook->node);
    events->exclusives += hook->exclusive;
    set_hooks_locked(events, events->hooks + 1);
}

void poll_hook_add(struct file_events *events, struct poll_hook *hook)
{
    spin_lock(&poll_lock);
    poll_hook_add_locked(events, hook);
    spin_unlock(&poll_lock);
}

void poll_hook_remove_locked(struct file_events *events, struct poll_hook *hook)
{
    list_remove(&hook->node);
    set_hooks_locked(events, events->hooks - 1);
    if (hook->exclusive && events->unasked > --events->exclusives)
        bound_locked(events, events->exclusives);
    if (!list_empty(&events->owing) && !owes_locked(events))
        sort_locked(events); /* with the last hook the events may go */
}

void poll_hook_remove(struct file_events *events, struct poll_hook *hook)
{
    spin_lock(&poll_lock);
    poll_hook_remove_locked(events, hook);
    spin_unlock(&poll_lock);
}
