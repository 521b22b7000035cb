/* The queue of a virtio device in memory: VIRTIO 1.0, 2.4 (split queues). Each request is one piece of memory that the
 * device reads and one that it writes, and has a slot from virtio_queue_put to virtio_queue_take.
 *
 * The caller locks. What the device writes is read once and not believed: when it gives back what it has not got, the
 * queue is broken, and gives and takes nothing any more. No other part is needed for this one. */
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

struct virtio_available { /* what the device shall do: ours */
    uint16_t flags, index;
    uint16_t ring[VIRTIO_RING];
};

struct virtio_used { /* what it has done: the device's */
    uint16_t flags, index;
    struct {
        uint32_t first, written;
    } ring[VIRTIO_RING];
};

struct virtio_rings { /* one page; as aligned as 2.4 wants */
    struct virtio_descriptor descriptors[VIRTIO_RING];
    struct virtio_available available;
    uint32_t pad;
    struct virtio_used used;
};

struct virtio_queue {
    struct virtio_rings *rings;
    uint32_t length;        /* of the rings, a power of two */
    uint64_t free, waiting; /* slots that nobody has, and that the device has, a bit each */
    uint16_t put, taken;    /* counts of both rings */
    bool broken;
};

/* An empty queue in RINGS, which are zeros, of LENGTH (a power of two from 2 to VIRTIO_RING) descriptors. */
void virtio_queue_init(struct virtio_queue *queue, struct virtio_rings *rings, uint32_t length);
/* The slot that comes next; VIRTIO_NONE: all are in use, or the queue is broken. */
uint32_t virtio_queue_next(const struct virtio_queue *queue);
/* A request of SIZE bytes at OUT, answered with up to ROOM bytes at IN, both physical addresses: its slot, or
 * VIRTIO_NONE. The device is to be told. */
uint32_t virtio_queue_put(struct virtio_queue *queue, uint64_t out, uint32_t size, uint64_t in, uint32_t room);
/* A request that was answered: its slot, which is free then, and in *WRITTEN how many bytes the device claims to have
 * written; VIRTIO_NONE: none is left, or the queue is broken. */
uint32_t virtio_queue_take(struct virtio_queue *queue, uint32_t *written);

#endif
