/* signalfd(2): signals as a file. The file has only the set. The caller finds out which of them are pending, as the
 * signals are those of its thread and process, which may be on any kernel (tasks/signal/signal.md). */
#ifndef KERNEL_FILE_EVENT_SIGNALFD_H
#define KERNEL_FILE_EVENT_SIGNALFD_H

#include <stdint.h>

#include "kernel/file/file.h"

#define SIGNALFD_INFO 128u /* bytes of a struct signalfd_siginfo */

void signalfd_init(void);

#endif
