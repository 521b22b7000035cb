/* Waiting for several files at once, on any kernels: poll(2). Each kernel that has some of the files is asked once
 * which are ready (look.h); if none is, it notifies the caller when that may have changed. Waiting has no side effect:
 * it may be abandoned and restarted at any time. kernel/file/files.md has the protocol. */
#ifndef KERNEL_FILE_EVENT_POLL_H
#define KERNEL_FILE_EVENT_POLL_H

#include <stdint.h>

struct group;

struct poll_request {
    int32_t fd;       /* negative: ignored */
    uint32_t events;  /* POLL_* to wait for; ERR, HUP and NVAL always count */
    uint32_t revents; /* result: POLL_* that hold */
};

/* Waits until one of REQUESTS, for GROUP's descriptors, is ready, or until DEADLINE (clock_now ns, 0: none, 1: do not
 * wait). Returns how many have revents; -ERESTARTSYS: interrupted; -ENOMEM. Tasks only. */
int64_t poll_wait(struct group *group, struct poll_request *requests, uint32_t count, uint64_t deadline);

#endif
