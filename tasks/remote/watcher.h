/* Requests of other kernels that are kept until a source has counted another event. WATCH is one; other operations keep
 * their own requests by this, and do at the event what they were asked for. The protocol is in tasks/remote/watch.md.
 *
 * Ownership marks: [i] set once, [k] the source's lock. */
#ifndef TASKS_REMOTE_WATCHER_H
#define TASKS_REMOTE_WATCHER_H

#include "tasks/remote/operation.h"
#include "tasks/remote/watch.h"

#define WATCHER_ANSWERED UINT64_MAX /* of `events`: a worker answers it */

struct watcher {
    struct list node;            /* [k] among the source's watchers while it waits; then the event's */
    struct watch_source *source; /* [i] */
    struct remote_kept kept;
    uint64_t events; /* [k] of the source when it began to wait: it waits until there are more. WATCHER_ANSWERED */
    /* [i] An event has been counted: answers the request by remote_answer. Called once, in the context of
     * watch_event or of a worker, without locks; must not wait. */
    void (*fire)(struct watcher *watcher);
    /* [i] The answer has gone, and the memory may be freed. Must not wait. */
    void (*done)(struct watcher *watcher);
};

/* Keeps REQUEST, as remote_keep does, until SOURCE counts an event or the caller gives up, which answers -EINTR.
 * WATCHER's `fire` and `done` are set. Returns REMOTE_KEPT; or 0, with nothing kept, if SOURCE has already counted more
 * than SEEN events. The source stays valid until `done`. */
int watch_keep(struct watch_source *source, uint64_t seen, const struct remote_request *request,
               struct watcher *watcher);

#endif
