/* The events of files: whatever may make a file ready, or change its state, counts one event and wakes the waiting
 * threads. A thread waits for one file by watching it from any kernel (tasks/remote/watch.h); poll and epoll, which
 * look at several files, put a hook into each file's list of events (kernel/file/event). */
#ifndef KERNEL_FILE_EVENTS_H
#define KERNEL_FILE_EVENTS_H

#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/lib/list.h"
#include "tasks/remote/watch.h"

/* The events of one file, or of several that share them. Marks: [i] set once, [p] under poll_lock,
 * [a] atomic. */
struct file_events {
    struct watch_source source;
    struct list polls;     /* [p] struct poll_hook: those that are not exclusive */
    struct list owed;      /* [p] those of them that are still to be called for an event */
    struct list exclusive; /* [p] in turn: who is asked goes to the end */
    struct list owing;     /* [p] in the list of events that have hooks to be called, or alone */
    uint32_t hooks;        /* [p] how many there are in all; [a] for who reads it */
    uint32_t exclusives;   /* [p] how many of them are exclusive */
    uint32_t unasked;      /* [p] how many of these, from the first on, may not have been asked about an event */
    uint32_t untaken;      /* [p] events that none has taken of those that were asked, at most `unasked` */
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
 * looks at the file after adding it; and one that is there is seen, whatever list it is in. */
static inline bool file_events_polled(const struct file_events *events)
{
    return __atomic_load_n(&events->hooks, __ATOMIC_ACQUIRE) != 0;
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
