/* The events of files: whatever may make a file ready, or change what is known of it, counts one and wakes who waits.
 * One waits for one file by watching it from any kernel (tasks/remote/watch.h); a hook in the list of a file's events
 * is for whoever looks at several (kernel/file/event). */
#ifndef KERNEL_FILE_EVENTS_H
#define KERNEL_FILE_EVENTS_H

#include "kernel/arch/x86_64/spinlock.h"
#include "kernel/lib/list.h"
#include "tasks/remote/watch.h"

/* Several files may share them. */
struct file_events {
    struct watch_source source;
    struct list polls; /* struct poll_hook, under poll_lock */
};

/* Who is to be told once the locks are free. */
struct poll_told {
    struct list node;
    void (*tell)(struct poll_told *told);
};

/* Hangs in the list of a file's events. `fire` is called with each event under poll_lock, takes no lock in which that
 * is taken, and may add to TOLD. */
struct poll_hook {
    struct list node;
    void (*fire)(struct poll_hook *hook, struct list *told);
};

/* The lists of all events, and what hooks of polls share. The lock of the table of files may be taken in it. */
extern struct spinlock poll_lock;

void file_events_init(struct file_events *events);
/* Something has changed for those who wait for these events. Any context, without locks. */
void file_event(struct file_events *events);
void poll_hook_add(struct file_events *events, struct poll_hook *hook);
/* It fires no more. */
void poll_hook_remove(struct poll_hook *hook);

#endif
