/* Waiting for several files at once, on any kernels. Each file's kernel is asked once what is ready; if nothing is, it
 * remembers the files ("arms") and tells when one of them may be, until it is told that the poll is over. Waiting has
 * no effect: it may be given up at any time and begun again. kernel/fs/files.md has the protocol. */
#ifndef KERNEL_FS_POLL_H
#define KERNEL_FS_POLL_H

#include <stdint.h>

#include "kernel/fs/file.h"

struct group;

struct poll_request {
    int32_t fd;       /* negative: left out */
    uint32_t events;  /* POLL_* that are asked for; ERR, HUP and NVAL always are */
    uint32_t revents; /* what holds */
};

void poll_init(void);
/* Something may be ready. Any context, without locks. */
void poll_event(struct file_events *events);

/* Waits until something of REQUESTS, for GROUP's descriptors, holds, or DEADLINE (clock_now ns, 0: none, 1: do not
 * wait). Returns how many have revents; -ERESTARTSYS: interrupted; -ENOMEM. Tasks only. */
int64_t poll_wait(struct group *group, struct poll_request *requests, uint32_t count, uint64_t deadline);

#endif
