/* A number to wait for: eventfd(2). */
#ifndef KERNEL_FILE_EVENT_EVENTFD_H
#define KERNEL_FILE_EVENT_EVENTFD_H

#include <stdint.h>

#include "kernel/file/file.h"

struct event_start {
    uint32_t count;
    uint32_t semaphore; /* 1: a read takes 1 */
};

void eventfd_init(void);

#endif
