/* Waiting until an object that may be on another kernel has changed: a child, a pipe, a terminal, the place of a
 * thread. A source counts the object's events. A waiter names the count that it has seen, so no event between its look
 * and its wait is lost. Waiting changes no state: a waiter may give up at any time, and it looks at the object again
 * afterwards. The protocol is in tasks/remote/watch.md. */
#ifndef TASKS_REMOTE_WATCH_H
#define TASKS_REMOTE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/wait/completion.h"
#include "tasks/thread/wait.h"

/* The kinds of objects that can be watched from other kernels. The room of each kind registers a lookup. */
enum watch_kind { WATCH_CHILDREN, WATCH_THREAD, WATCH_FILE, WATCH_STOP, WATCH_KINDS };

struct watch_lookup {
    /* Returns the source of object ID, and in *HELD a reference to the object; NULL if there is no such object. Must
     * not wait. */
    struct watch_source *(*find)(uint64_t id, void **held);
    void (*put)(void *held); /* gives the reference back; must not wait */
};

void watch_start(void);
void watch_register(enum watch_kind kind, const struct watch_lookup *lookup);

void watch_init(struct watch_source *source);
/* Counts an event, wakes the threads that wait here and answers the watchers of other kernels. Any context without the
 * source's lock. */
void watch_event(struct watch_source *source);
/* Returns the number of events so far. */
uint64_t watch_events(struct watch_source *source);

/* Returns whether a thread waits for SOURCE, on any kernel. One that gives up at this moment may count, but it has not
 * looked at the object since. */
bool watch_waited(struct watch_source *source);
/* Waits until SOURCE, of this kernel, has counted more than SEEN events. Returns 0; -ETIMEDOUT after DEADLINE (ns, as
 * clock_now; 0: none); -ERESTARTSYS if the current thread is interrupted or to die. The caller has a reference to the
 * source's object. */
int watch_wait(struct watch_source *source, uint64_t seen, const struct wait_reason *reason, uint64_t deadline);
/* The same for the source of KIND and ID on KERNEL. Returns 0 also if there is no such source; any other error says
 * that the kernel could not be asked. */
int watch_wait_at(uint32_t kernel, enum watch_kind kind, uint64_t id, uint64_t seen, const char *why,
                  uint64_t deadline);
/* Returns the number of requests of other kernels that are kept here for an event. */
uint64_t watch_count(void);

#endif
