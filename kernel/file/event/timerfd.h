/* timerfd_create(2): a timer as a file. */
#ifndef KERNEL_FILE_EVENT_TIMERFD_H
#define KERNEL_FILE_EVENT_TIMERFD_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/file/file.h"

struct timer_setting { /* struct itimerspec in nanoseconds; value 0: not armed */
    uint64_t interval;
    uint64_t value; /* time until it expires; of SPECIAL_TIMER_SET with TIMER_ABSOLUTE: the time when it expires */
};

#define TIMER_ABSOLUTE 1u      /* TFD_TIMER_ABSTIME */
#define TIMER_CANCEL_ON_SET 2u /* TFD_TIMER_CANCEL_ON_SET: kept and told */

void timerfd_init(void);

#endif
