/* The queues of one space for Lamport's distributed mutual exclusion: requests in order of age, one queue for each page
 * that is asked for and the heavy one for all that is more than a page. They do not wait, and need no memory of their
 * own. Popcorn thesis 5.7.4, 5.7.5; mm/lock/lamport.md has the protocol. Whoever calls holds the lock of the space. */
#ifndef MM_LOCK_LAMPORT_QUEUE_H
#define MM_LOCK_LAMPORT_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/lib/list.h"
#include "mm/area/range.h"
#include "mm/space/strategy.h"

/* A request, in the memory of whoever keeps it. Time and kernel name it. */
struct lamport_entry {
    struct list node; /* in a queue: the older ones before it */
    struct space_range range;
    uint64_t time;
    uint32_t kernel;
};

void lamport_init(struct lamport_queues *queues);
bool lamport_empty(const struct lamport_queues *queues);

/* Of two requests the older goes first. */
bool lamport_older(const struct lamport_entry *a, const struct lamport_entry *b);

/* False, and nothing is done: there is one of this time and kernel for this range. */
bool lamport_add(struct lamport_queues *queues, struct lamport_entry *entry);
void lamport_remove(struct lamport_entry *entry);
/* The request of TIME and KERNEL for RANGE, or NULL. */
struct lamport_entry *lamport_find(struct lamport_queues *queues, struct space_range range, uint64_t time,
                                   uint32_t kernel);
/* An older request that excludes ENTRY, which is in QUEUES: the one it waits for. NULL: it is first. */
const struct lamport_entry *lamport_before(const struct lamport_queues *queues, const struct lamport_entry *entry);
/* Where the lowest request for a part of [START, END) begins, below START perhaps; those for the whole space do not
 * count. END: there is none. */
uint64_t lamport_lowest(const struct lamport_queues *queues, uint64_t start, uint64_t end);
/* A request overlaps [START, END), be it one for the whole space. */
bool lamport_taken(const struct lamport_queues *queues, uint64_t start, uint64_t end);
/* Any entry, or NULL: for the end of a space. */
struct lamport_entry *lamport_any(struct lamport_queues *queues);

#endif
