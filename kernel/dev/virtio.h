/* A virtio device on PCI with one queue of requests: Virtual I/O Device (VIRTIO) Version 1.0, 4.1 (PCI, without the
 * legacy interface); kernel/dev/virtio_queue.h has the queue. The caller locks. */
#ifndef KERNEL_DEV_VIRTIO_H
#define KERNEL_DEV_VIRTIO_H

#include "kernel/dev/pci.h"
#include "kernel/dev/virtio_queue.h"

#define VIRTIO_VENDOR 0x1af4u

struct virtio {
    volatile uint8_t *common, *config; /* registers; of the device's kind */
    uint32_t config_size;
    volatile uint16_t *doorbell;
    struct virtio_queue queue;
};

/* The device is there, and was reset: its queue begins, it has FEATURES at most, and interrupts this kernel's first CPU
 * with VECTOR_VIRTIO. -ENODEV: it lacks something of version 1.0, or MSI-X; -EIO: it refuses; -ENOMEM. */
int virtio_start(const struct pci_function *function, uint64_t features, struct virtio *out);
/* Notifies the device of new requests in the queue. */
void virtio_ring(struct virtio *device);
/* Its queue is broken, it has asked to be reset, or is gone: it does nothing more from now on, and writes to no memory.
 */
bool virtio_check(struct virtio *device);

#endif
