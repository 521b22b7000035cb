/* 9P devices of virtio: what carries 9P messages to a server behind the machine and back (VIRTIO 1.0 has the device's
 * number, QEMU's hw/9pfs its configuration: the length of a tag, and the tag). Kernel 0's.
 *
 * Requests go to the device at once while it has room and wait in a queue otherwise; nobody waits here. The interrupt
 * calls DONE of each that is answered. A device that breaks the rules, or is gone, is left alone from then on: what it
 * has not answered ends with -EIO. */
#ifndef KERNEL_DEV_VIRTIO_9P_H
#define KERNEL_DEV_VIRTIO_9P_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/lib/list.h"

#define VIRTIO_9P_TAG_MAX 64u /* bytes of a device's tag with its NUL */

struct virtio_9p;

/* One message and the room for its answer, in the memory of whoever asks. */
struct virtio_9p_request {
    struct list node;                                /* [k] the device's lock: while it waits for a slot */
    uint8_t *out;                                    /* [i] the message: heap. Its tag, if it has one, is set here */
    uint8_t *in;                                     /* [i] heap */
    uint32_t size;                                   /* [i] bytes at OUT */
    uint32_t room;                                   /* [i] bytes at IN, at least 11 */
    bool tagless;                                    /* [i] its tag stays */
    int error;                                       /* 0, or -EIO: the device gives no answer */
    uint32_t got;                                    /* bytes at IN, at most ROOM */
    void (*done)(struct virtio_9p_request *request); /* in an interrupt: must not wait. The memory is free again */
};

/* Looks for devices, the first time, and returns that of TAG, or NULL. Tasks only. */
struct virtio_9p *virtio_9p_find(const char *tag);
/* DONE is called once, perhaps before this returns. Any context without locks that DONE takes. */
void virtio_9p_submit(struct virtio_9p *device, struct virtio_9p_request *request);
void virtio_9p_interrupt(void);

#endif
