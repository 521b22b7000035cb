/* The waits of a thread for processes that use the memory of its own (vfork): for as long as those like. */
#ifndef TASKS_PROCESS_VFORK_H
#define TASKS_PROCESS_VFORK_H

#include <stdbool.h>

#include "kernel/wait/completion.h"

/* The current thread waits for DONE, or until it is to die, which returns false; DONE may still be signalled then. A
 * move of the thread that is ordered, before or meanwhile, is carried out afterwards, and nobody waits for it: who has
 * ordered it may be who is waited for. Tasks only, without locks. */
bool vfork_wait(struct completion *done, const struct wait_reason *reason);

#endif
