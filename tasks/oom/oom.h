/* What happens when no kernel has memory: tasks/oom/README.md. */
#ifndef TASKS_OOM_OOM_H
#define TASKS_OOM_OOM_H

#include <stdbool.h>
#include <stdint.h>

/* No kernel had memory for a page of the current thread's program. Has the largest process killed, unless one is ending
 * already, and waits a moment: true, and the caller tries again. False: the thread is to die, or memory is not what is
 * lacking. *TRIES is 0 before the first call for a page. Tasks only, without locks. */
bool oom_wait(uint32_t *tries);

/* This kernel has refused itself an object. A worker has the largest process killed. Any context; never waits. */
void oom_report(void);

void oom_init(void);

#endif
