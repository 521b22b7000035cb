/* Events of files. See the header. */
#include "kernel/file/events.h"

struct spinlock poll_lock;

void file_events_init(struct file_events *events)
{
    watch_init(&events->source);
    list_init(&events->polls);
}

/* Calls the hooks of EVENTS; of the exclusive ones until one has taken the event. PASS: the others know of it. */
static void fire_hooks(struct file_events *events, bool pass)
{
    struct list notified;
    bool woken = false; /* by an exclusive hook */

    list_init(&notified);
    spin_lock(&poll_lock);
    list_for_each(node, &events->polls) {
        struct poll_hook *hook = container_of(node, struct poll_hook, node);

        if (hook->exclusive ? !woken : !pass)
            woken |= hook->fire(hook, &notified) && hook->exclusive;
    }
    spin_unlock(&poll_lock);
    while (!list_empty(&notified)) {
        struct poll_notified *note = container_of(notified.next, struct poll_notified, node);

        list_remove(&note->node);
        note->notify(note);
    }
}

void file_event(struct file_events *events)
{
    watch_event(&events->source);
    if (!list_empty(&events->polls)) /* a hook added now is not missed: its owner looks at the file after adding it */
        fire_hooks(events, false);
}

void file_event_pass(struct file_events *events)
{
    fire_hooks(events, true);
}

void poll_hook_add(struct file_events *events, struct poll_hook *hook)
{
    spin_lock(&poll_lock);
    list_append(&events->polls, &hook->node);
    spin_unlock(&poll_lock);
}

void poll_hook_remove(struct poll_hook *hook)
{
    spin_lock(&poll_lock);
    list_remove(&hook->node);
    spin_unlock(&poll_lock);
}
