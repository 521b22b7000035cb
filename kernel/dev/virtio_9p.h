/* The virtio device that carries 9P messages to a server on the host and back. VIRTIO 1.0 defines its device number,
 * QEMU's hw/9pfs its configuration: the length of a tag, and the tag. Kernel 0 has these devices.
 *
 * A request goes to the device at once if it has room, and otherwise waits in a queue; no function here waits. The
 * interrupt calls DONE of each request that the device has answered. A device that violates the protocol or no longer
 * responds is not used again, and its unanswered requests end with -EIO. */
#ifndef KERNEL_DEV_VIRTIO_9P_H
#define KERNEL_DEV_VIRTIO_9P_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/lib/list.h"

#define VIRTIO_9P_TAG_MAX 64u /* bytes of a device's tag with its NUL */

struct virtio_9p;

/* One message and the buffer for its answer, in the caller's memory. */
struct virtio_9p_request {
    struct list node;                                /* [k] the device's lock: while it waits for a slot */
    uint8_t *out;                                    /* [i] the message, on the heap; virtio_9p.c sets its tag */
    uint8_t *in;                                     /* [i] the buffer for the answer, on the heap */
    uint32_t size;                                   /* [i] bytes at OUT */
    uint32_t room;                                   /* [i] bytes at IN, at least 11 */
    bool tagless;                                    /* [i] the tag in the message must not be changed */
    int error;                                       /* 0, or -EIO: the device is broken and gives no answer */
    uint32_t got;                                    /* bytes of the answer, at most ROOM */
    void (*done)(struct virtio_9p_request *request); /* [i] must not wait; the device has released the memory */
};

/* Finds the devices and makes them ready. Called once, on kernel 0's boot CPU while no other CPU of the machine runs:
 * sizing a memory region changes the machine's memory map for a moment (see pci_region). */
void virtio_9p_start(void);
/* Returns the device with tag TAG, or NULL. */
struct virtio_9p *virtio_9p_find(const char *tag);
/* Submits REQUEST. Its DONE is called once, in an interrupt or before this returns. Any context, without the locks that
 * DONE takes. */
void virtio_9p_submit(struct virtio_9p *device, struct virtio_9p_request *request);
void virtio_9p_interrupt(void);

#endif
