/* Signals to read from: signalfd(2). The file knows the set only: which of it are pending is the caller's business, as
 * the signals are those of its thread and its process, wherever they are (tasks/signal/signal.md). */
#ifndef KERNEL_FILE_EVENT_SIGNALFD_H
#define KERNEL_FILE_EVENT_SIGNALFD_H

#include <stdint.h>

#include "kernel/file/file.h"

#define SIGNALFD_INFO 128u /* bytes of a struct signalfd_siginfo */

void signalfd_init(void);

#endif
