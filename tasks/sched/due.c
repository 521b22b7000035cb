/* Marking what is due for threads. See the header. */
#include "tasks/sched/due.h"

#include "tasks/sched/sched.h"

void thread_set_due(struct thread *thread, uint32_t flag)
{
    __atomic_fetch_or(&thread->due, flag, __ATOMIC_SEQ_CST);
    sched_kick(thread);
}

void thread_order_move_locked(struct thread *thread, uint32_t kernel)
{
    thread->target = kernel;
    thread_set_due(thread, THREAD_DUE_MOVE);
}
