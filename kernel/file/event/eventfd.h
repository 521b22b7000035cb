/* eventfd(2): a counter as a file. */
#ifndef KERNEL_FILE_EVENT_EVENTFD_H
#define KERNEL_FILE_EVENT_EVENTFD_H

#include <stdint.h>

#include "kernel/file/file.h"

struct event_start {
    uint32_t count;
    uint32_t semaphore; /* EFD_SEMAPHORE: 1: a read takes 1 */
};

void eventfd_init(void);

#endif
