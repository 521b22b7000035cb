/* A 9P server for tests of the client: the answers are bytes of the test's. Stands in for the device, for memory and
 * for waiting: an answer is there at once. Included once. */
#ifndef TESTS_KERNEL_FS_SHARE_P9_SERVER_H
#define TESTS_KERNEL_FS_SHARE_P9_SERVER_H

#include <stdlib.h>
#include <string.h>

#include "kernel/dev/virtio_9p.h"
#include "kernel/fs/share/p9.h"
#include "kernel/wait/completion.h"
#include "tests/stand_in/heap.h"

struct virtio_9p {
    /* Writes the answer to REQUEST, at most ROOM bytes, to IN; what it claims to have written; -1: the device is gone.
     */
    int64_t (*serve)(const uint8_t *request, uint32_t size, uint8_t *in, uint32_t room);
};

void virtio_9p_submit(struct virtio_9p *device, struct virtio_9p_request *request)
{
    int64_t got;

    if (!request->tagless) {
        request->out[5] = 1;
        request->out[6] = 0;
    }
    got = device->serve(request->out, request->size, request->in, request->room);
    request->error = got < 0 ? -5 : 0;
    request->got = got < 0 ? 0 : got < request->room ? (uint32_t)got : request->room;
    request->done(request);
}

void completion_wait(struct completion *c, const struct wait_reason *reason)
{
    (void)reason;
    if (!c->done)
        abort();
}

void completion_signal(struct completion *c)
{
    c->done = true;
}

#endif
