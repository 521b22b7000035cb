/* Waiting for a change of something that may live on another kernel: a child's state, a pipe, a terminal, the place of
 * a thread. A source counts its events; a waiter names the count that it has seen, so no event between looking and
 * waiting is lost. Waiting changes no state: a waiter may give up at any time, and it looks at the object again
 * afterwards. tasks/remote/watch.md has the protocol. */
#ifndef TASKS_REMOTE_WATCH_H
#define TASKS_REMOTE_WATCH_H

#include <stdint.h>

#include "kernel/wait/completion.h"
#include "tasks/thread/wait.h"

/* Kinds of objects that can be watched from another kernel: each registers how to find the source of an id. */
enum watch_kind { WATCH_CHILDREN, WATCH_THREAD, WATCH_FILE, WATCH_SIGNALS, WATCH_STOP, WATCH_KINDS };

struct watch_lookup {
    /* The source of ID with a reference to what it is part of (*HELD), or NULL: there is none. Never waits. */
    struct watch_source *(*find)(uint64_t id, void **held);
    void (*put)(void *held); /* gives the reference back; never waits */
};

void watch_start(void);
void watch_register(enum watch_kind kind, const struct watch_lookup *lookup);

void watch_init(struct watch_source *source);
/* Counts an event and wakes the waiters. Any context; the source's lock is not held. */
void watch_event(struct watch_source *source);
/* The count of events so far. */
uint64_t watch_events(struct watch_source *source);

/* Waits until SOURCE, of this kernel, has counted more than SEEN events. 0; -ETIMEDOUT after DEADLINE (clock_now ns, 0:
 * none); -ERESTARTSYS: the current thread is interrupted or to die. The source must not go away meanwhile. */
int watch_wait(struct watch_source *source, uint64_t seen, const struct wait_reason *reason, uint64_t deadline);
/* The same for the source of KIND and ID on KERNEL; also 0 if there is no such source (any more). Any other error: the
 * kernel could not be asked. */
int watch_wait_at(uint32_t kernel, enum watch_kind kind, uint64_t id, uint64_t seen, const char *why,
                  uint64_t deadline);
/* How many watchers of other kernels are here. */
uint64_t watch_count(void);

#endif
