/* A virtio device on PCI with one queue of requests: Virtual I/O Device (VIRTIO) Version 1.0, 2.4 (split queues) and
 * 4.1 (PCI, without the legacy interface). Each request is one piece that the device reads and one that it writes, and
 * has a slot of the queue from virtio_put to virtio_take.
 *
 * The caller locks. What the device writes is not believed: a slot that it gives back without having it breaks the
 * device. */
#ifndef KERNEL_DEV_VIRTIO_H
#define KERNEL_DEV_VIRTIO_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/dev/pci.h"

#define VIRTIO_VENDOR 0x1af4u
#define VIRTIO_SLOTS 64u /* requests at the device at a time, at most */
#define VIRTIO_NONE UINT32_MAX

struct virtio_descriptor;
struct virtio_available;
struct virtio_used;

struct virtio {
    volatile uint8_t *common, *config; /* registers; of the device's kind */
    uint32_t config_size;
    volatile uint16_t *doorbell;
    struct virtio_descriptor *descriptors; /* two for each slot */
    struct virtio_available *available;
    volatile struct virtio_used *used;
    uint32_t slots;         /* of the queue */
    uint64_t free, waiting; /* slots that nobody has, and that the device has, a bit each */
    uint16_t put, taken;    /* counts of both rings */
    bool broken;
};

/* The device is there, and was reset: its queue begins, it has FEATURES at most, and interrupts this kernel's
 * first CPU with VECTOR_VIRTIO. -ENODEV: it lacks something of version 1.0, or MSI-X; -EIO: it refuses; -ENOMEM. */
int virtio_start(const struct pci_function *function, uint64_t features, struct virtio *out);
/* A request of SIZE bytes at OUT, answered with up to ROOM bytes at IN, both physical addresses; ring tells the device.
 * Its slot; VIRTIO_NONE: all are in use, or the device is broken. */
uint32_t virtio_put(struct virtio *device, uint64_t out, uint32_t size, uint64_t in, uint32_t room);
/* The slot that virtio_put is going to use, or VIRTIO_NONE. */
uint32_t virtio_next(const struct virtio *device);
void virtio_ring(struct virtio *device);
/* A request that the device has answered: its slot, which is free then, and in *WRITTEN how many bytes it claims to
 * have written; VIRTIO_NONE: none is left. */
uint32_t virtio_take(struct virtio *device, uint32_t *written);
/* It has asked to be reset, or says what cannot be. It does nothing more from now on. */
bool virtio_check(struct virtio *device);

#endif
