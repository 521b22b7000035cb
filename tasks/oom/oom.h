/* What happens when no kernel has memory: tasks/oom/README.md. */
#ifndef TASKS_OOM_OOM_H
#define TASKS_OOM_OOM_H

#include <stdbool.h>
#include <stdint.h>

/* No kernel had memory for a page of the current thread's program. Has the largest process killed, unless one is ending
 * already, and waits a moment: true, and the caller tries again. False: the thread is to die, or memory is not what is
 * lacking. *TRIES is 0 before the first call for a page. IN_CALL: a call of the thread has touched the page. It may
 * have something under way that no table has yet, an open of a file for instance, and so does not count as quiesced
 * (tasks/freeze) while it waits. Tasks only, without locks. */
bool oom_wait(uint32_t *tries, bool in_call);

/* A call that begins again has in rax, above its number, how often it has begun again: so the count ends with the call,
 * however long that takes, moves with the thread, and outlives a signal's handler. Linux does not look at these bits.
 */
#define OOM_NUMBER_BITS 32

static inline uint64_t oom_number(uint64_t rax)
{
    return rax & ((1ull << OOM_NUMBER_BITS) - 1);
}

/* Whether the system call NUMBER with ARGUMENTS may begin again after it was refused memory. Set at the start, before
 * programs run. */
extern bool (*oom_may_begin_again)(uint64_t number, const uint64_t *arguments);

/* The current thread, a root's, is about to return to its program with THREAD_DUE_MEMORY: a kernel object was refused,
 * and a process may be being killed for it. If its system call has failed for want of memory, and may begin again,
 * waits a moment: true, and the call is to restart, as if the program had called a little later. False: the call has
 * not failed so, must not begin again, or has a hundred times. Waits; only from thread_settle. */
bool oom_settle(void);

void oom_init(void);

#endif
