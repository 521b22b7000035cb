/* The events of files: whatever may make a file ready, or change its state, counts one event and wakes the waiting
 * threads. A thread waits for one file by watching it from any kernel (tasks/remote/watch.h); poll and epoll, which
 * look at several files, put a hook into each file's list of events (kernel/file/event). */
#ifndef KERNEL_FILE_EVENTS_H
#define KERNEL_FILE_EVENTS_H

#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/lib/list.h"
#include "tasks/remote/watch.h"

/* The events of one file, or of several that share them. Marks: [i] set once, [p] under poll_lock. */
struct file_events {
    struct watch_source source;
    struct list polls, exclusive; /* [p] struct poll_hook, by `exclusive` */
    struct list owed;             /* [p] those that are still to be called for an event */
    struct list owing;            /* [p] in the list of events with such hooks, or alone */
    uint32_t untaken;             /* [p] events that no exclusive hook has taken, and of which some are not asked yet */
    bool calling;                 /* [p] a hook may be in none of the lists, while it goes back to its own */
};

/* A function to be called after poll_lock has been released. */
struct poll_notified {
    struct list node;
    void (*notify)(struct poll_notified *notified);
};

/* An entry in a file's list of events. `fire` is called for each event, or once for several, under poll_lock; it takes
 * no lock that comes before poll_lock. Work that cannot be done under the lock it appends to NOTIFIED, as a struct
 * poll_notified. An event calls some hooks itself, those that are not exclusive first, and leaves the others to a
 * worker (kernel/file/event/epoll.md, Many hooks). It returns true if a thread waits there that the event concerns, and
 * is woken: then no other hook that is EXCLUSIVE is called. A hook that finds later that no thread waits calls
 * file_event_pass. */
struct poll_hook {
    struct list node;
    bool exclusive; /* [i] */
    bool (*fire)(struct poll_hook *hook, struct list *notified);
};

/* Protects the lists of all events, and the state that hooks of polls share. The lock of the table of files may be
 * taken under it. */
extern struct spinlock poll_lock;

void file_events_init(struct file_events *events);
/* Whether a hook wants to know of an event. Without poll_lock: a hook that is added now is not missed, as its owner
 * looks at the file after adding it. */
static inline bool file_events_polled(const struct file_events *events)
{
    return !list_empty(&events->polls) || !list_empty(&events->exclusive) || !list_empty(&events->owed) ||
           __atomic_load_n(&events->calling, __ATOMIC_ACQUIRE);
}
/* Counts an event and wakes the threads that wait for EVENTS. Any context, without locks. */
void file_event(struct file_events *events);
void poll_hook_add(struct file_events *events, struct poll_hook *hook);
void poll_hook_add_locked(struct file_events *events, struct poll_hook *hook); /* [p] */
/* HOOK of EVENTS does not fire any more when this returns. */
void poll_hook_remove(struct file_events *events, struct poll_hook *hook);
void poll_hook_remove_locked(struct file_events *events, struct poll_hook *hook); /* [p] */
/* The exclusive event that a hook of EVENTS has taken is given to another exclusive hook, if one takes it. Any context,
 * without locks. */
void file_event_pass(struct file_events *events);

#endif
