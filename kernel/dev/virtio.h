/* A virtio device on PCI with one request queue (kernel/dev/virtio_queue.h): Virtual I/O Device (VIRTIO) Version 1.0,
 * 4.1, without the legacy interface. The caller locks. */
#ifndef KERNEL_DEV_VIRTIO_H
#define KERNEL_DEV_VIRTIO_H

#include "kernel/dev/pci.h"
#include "kernel/dev/virtio_queue.h"

#define VIRTIO_VENDOR 0x1af4u

struct virtio {
    volatile uint8_t *common, *config; /* the common registers; those specific to the device's type */
    uint32_t config_size;
    volatile uint16_t *doorbell;
    struct virtio_queue queue;
};

/* Resets the device and starts its queue with those of FEATURES that it offers. It interrupts this kernel's first CPU
 * with VECTOR_VIRTIO. -ENODEV: the device lacks MSI-X or something that version 1.0 requires; -EIO: it does not reset,
 * or refuses the features or the interrupt vector; -ENOMEM. */
int virtio_start(const struct pci_function *function, uint64_t features, struct virtio *out);
/* Notifies the device of new requests in the queue. */
void virtio_ring(struct virtio *device);
/* Returns whether the device is broken: its queue is, it requests a reset, or it no longer responds. A broken device is
 * reset, so that it writes to no memory any more, and is not used again. */
bool virtio_check(struct virtio *device);

#endif
