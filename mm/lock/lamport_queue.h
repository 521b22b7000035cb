/* The queues of one space for Lamport's distributed mutual exclusion. Requests are in order of age: one queue for each
 * page for which there is a request, and the heavy queue for requests of more than a page. The functions do not wait
 * and allocate no memory. The caller holds the lock of the space. Popcorn thesis 5.7.4, 5.7.5; mm/lock/lamport.md has
 * the protocol. */
#ifndef MM_LOCK_LAMPORT_QUEUE_H
#define MM_LOCK_LAMPORT_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/lib/list.h"
#include "mm/area/range.h"
#include "mm/space/strategy.h"

/* A request, in its owner's memory. Time and kernel identify it. */
struct lamport_entry {
    struct list node; /* in a queue, behind all older ones */
    struct space_range range;
    uint64_t time;
    uint32_t kernel;
};

void lamport_init(struct lamport_queues *queues);

/* True if A is older than B: of two requests, the older goes first. */
bool lamport_older(const struct lamport_entry *a, const struct lamport_entry *b);

/* Adds ENTRY to its queue. False, and nothing is done: the queue has a request of the same time and kernel. */
bool lamport_add(struct lamport_queues *queues, struct lamport_entry *entry);
void lamport_remove(struct lamport_entry *entry);
/* Returns the request of TIME and KERNEL for RANGE, or NULL. */
struct lamport_entry *lamport_find(struct lamport_queues *queues, struct space_range range, uint64_t time,
                                   uint32_t kernel);
/* Returns an older request that overlaps ENTRY, which is in QUEUES, and for which it has to wait. NULL: there is
 * none. */
const struct lamport_entry *lamport_before(const struct lamport_queues *queues, const struct lamport_entry *entry);
/* Returns the start, perhaps below START, of the lowest request that overlaps [START, END); requests for the whole
 * space do not count. END: there is none. */
uint64_t lamport_lowest(const struct lamport_queues *queues, uint64_t start, uint64_t end);
/* True if a request overlaps [START, END), including requests for the whole space. */
bool lamport_taken(const struct lamport_queues *queues, uint64_t start, uint64_t end);
/* Returns any entry, or NULL. For emptying the queues when a space ends. */
struct lamport_entry *lamport_any(struct lamport_queues *queues);

#endif
