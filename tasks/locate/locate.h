/* Operations on a thread wherever it is. Its birth kernel, which its id names, has its shadow or knows that it is over;
 * each shadow knows where the thread went last, so following them leads to it. Nothing is told when a thread moves.
 * tasks/migrate/migration.md has the protocol. */
#ifndef TASKS_LOCATE_LOCATE_H
#define TASKS_LOCATE_LOCATE_H

#include <stdint.h>

#include "tasks/locate/wire.h"

enum thread_operation {
    THREAD_SIGNAL = 1,   /* info, group */
    THREAD_GET_AFFINITY, /* -> words: the mask */
    THREAD_SET_AFFINITY, /* words: the mask, ANDed with the machine's CPUs, then who asks (an effective user). -> value
                            1: the thread is on its way to a CPU of it; words[0]: events of its group's moves here;
                            -EPERM; -EINVAL: no CPU of it runs */
    THREAD_SETTLED,      /* is it where it may be? -> value 1: not yet; words[0] as above */
    THREAD_SET_NICE,     /* words[0]: nice + 20; words[1]: who asks; words[2]: RLIMIT_NICE, as struct policy_wish
                            has it. -EPERM; -EACCES: less than it has, and than that allows */
    THREAD_SET_POLICY,   /* words: struct policy_wish. -EINVAL; -EPERM */
    THREAD_GET_POLICY,   /* -> words: struct policy_facts */
    THREAD_GROUP,        /* -> group */
    THREAD_ROBUST_LIST,  /* -> words[0]: its address */
    THREAD_LEND,         /* words: struct pi_lending. -> value 1: it waits, words: struct pi_link; -EAGAIN: it is about
                            to end; -ENOMEM. A caller that is to die goes on until it is done */
};

#define THREAD_ELSEWHERE 1000000 /* value of a result: RESULT->kernel may know more */

void locate_init(void);
/* Does CALL to the thread that it names. Returns the result's value, -ESRCH when there is no such thread. KERNEL,
 * unless NULL: where the thread was then. Tasks only; waits for the kernels that it asks. */
int64_t thread_call(const struct msg_thread_call *call, struct msg_thread_result *result, uint32_t *kernel);
/* Waits until thread TID, which was on its way, has arrived where it may be, or is over. 0, -ERESTARTSYS. */
int64_t thread_wait_settled(uint32_t tid);

#endif
