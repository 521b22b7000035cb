/* Events of files. See the header. An event calls hooks itself until it has called HOOKS_AT_ONCE; the others are owed a
 * call, by a worker, and are owed one call only if there is another event meanwhile. */
#include "kernel/file/events.h"

#include "kernel/wait/work.h"
#include "msg/slice.h"

#define HOOKS_AT_ONCE 64u
#define HOOKS_IN_STEP 16u /* that the worker calls without looking for messages */

struct spinlock poll_lock;
static struct list owing = {&owing, &owing}; /* [p] struct file_events with hooks that are owed a call */
static struct list late = {&late, &late};    /* [p] struct poll_notified to be called */
static bool working;                         /* [p] the worker has been asked for, and has not ended */

void file_events_init(struct file_events *events)
{
    watch_init(&events->source);
    list_init(&events->polls);
    list_init(&events->exclusive);
    list_init(&events->owed);
    list_init(&events->owing);
    events->untaken = 0;
    events->calling = false;
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

/* EVENTS are in the list of those that owe as long as hooks are owed. */
static void sort_locked(struct file_events *events)
{
    list_remove(&events->owing);
    if (list_empty(&events->owed))
        events->untaken = 0; /* all exclusive hooks have been asked */
    else
        list_append(&owing, &events->owing);
}

/* Calls up to MOST hooks that are owed a call; exclusive ones until the events have been taken. */
static void call_locked(struct file_events *events, uint32_t most, struct list *notified)
{
    __atomic_store_n(&events->calling, true, __ATOMIC_RELEASE); /* before a list that has it looks empty to others */
    for (; most > 0 && !list_empty(&events->owed); most--) {
        struct poll_hook *hook = container_of(events->owed.next, struct poll_hook, node);

        list_remove(&hook->node);
        list_append(hook->exclusive ? &events->exclusive : &events->polls, &hook->node);
        if (!hook->exclusive)
            hook->fire(hook, notified);
        else if (events->untaken > 0 && hook->fire(hook, notified))
            events->untaken--;
    }
    __atomic_store_n(&events->calling, false, __ATOMIC_RELEASE);
    if (!list_empty(&events->owed) || !list_empty(&events->owing))
        sort_locked(events);
    else
        events->untaken = 0;
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
    list_append_all(&events->owed, &events->exclusive);
    events->untaken++;
    call_locked(events, HOOKS_AT_ONCE, &notified);
    if (!list_empty(&events->owed))
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

void poll_hook_add_locked(struct file_events *events, struct poll_hook *hook)
{
    list_append(hook->exclusive ? &events->exclusive : &events->polls, &hook->node);
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
    if (!list_empty(&events->owing) && list_empty(&events->owed))
        sort_locked(events); /* with the last hook the events may go */
}

void poll_hook_remove(struct file_events *events, struct poll_hook *hook)
{
    spin_lock(&poll_lock);
    poll_hook_remove_locked(events, hook);
    spin_unlock(&poll_lock);
}
