/* The queue of a virtio device in memory: VIRTIO 1.0, 2.4 (split queues). Each request consists of one buffer that the
 * device reads and one that it writes, and occupies a slot from virtio_queue_put to virtio_queue_take.
 *
 * The caller locks. What the device writes is read once and checked: when it returns a slot that it does not have, the
 * queue is broken for good, and put and take return VIRTIO_NONE. This file calls no other part. */
#ifndef KERNEL_DEV_VIRTIO_QUEUE_H
#define KERNEL_DEV_VIRTIO_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#define VIRTIO_SLOTS 64u               /* requests at the device at a time, at most */
#define VIRTIO_RING (2 * VIRTIO_SLOTS) /* descriptors: two for each */
#define VIRTIO_NONE UINT32_MAX

struct virtio_descriptor {
    uint64_t address; /* physical */
    uint32_t size;
    uint16_t flags, next;
};

struct virtio_available { /* requests for the device; we write it */
    uint16_t flags, index;
    uint16_t ring[VIRTIO_RING];
};

struct virtio_used { /* completed requests; the device writes it */
    uint16_t flags, index;
    struct {
        uint32_t first, written;
    } ring[VIRTIO_RING];
};

struct virtio_rings { /* at most one page, aligned as section 2.4 requires */
    struct virtio_descriptor descriptors[VIRTIO_RING];
    struct virtio_available available;
    uint32_t pad;
    struct virtio_used used;
};

struct virtio_queue {
    struct virtio_rings *rings;
    uint32_t length;        /* of the rings, a power of two */
    uint64_t free, waiting; /* the free slots, and those of the device's requests, a bit each */
    uint16_t put, taken;    /* requests put into `available`, and taken from `used`; they wrap */
    bool broken;
};

/* Initializes an empty queue with LENGTH descriptors (a power of two from 2 to VIRTIO_RING) in RINGS, which
 * are zeroed. */
void virtio_queue_init(struct virtio_queue *queue, struct virtio_rings *rings, uint32_t length);
/* Returns the slot that the next request gets, or VIRTIO_NONE if all are in use or the queue is broken. */
uint32_t virtio_queue_next(const struct virtio_queue *queue);
/* Adds a request of SIZE bytes at OUT, to be answered with up to ROOM bytes at IN; both are physical addresses. Returns
 * its slot, or VIRTIO_NONE. The caller notifies the device. */
uint32_t virtio_queue_put(struct virtio_queue *queue, uint64_t out, uint32_t size, uint64_t in, uint32_t room);
/* Takes a completed request: returns its slot, which is free then, and in *WRITTEN the number of bytes that the device
 * claims to have written. VIRTIO_NONE: no completed request is left, or the queue is broken. */
uint32_t virtio_queue_take(struct virtio_queue *queue, uint32_t *written);

#endif
