/* Waits of this kernel's threads for priority-inheriting futexes, and their notification. See tasks/futex/pi/pi.md. A
 * wait is on its thread's stack; its changing fields are under the lock of the thread's group, and the handler of the
 * notification does not wait.
 *
 * Lock order: the table of waits (tasks/remote/notify.h), then a group's lock, then run queues. */
#include "kernel/abi/errno.h"
#include "mm/frame/heap.h"
#include "tasks/futex/pi/internal.h"
#include "tasks/process/group.h"
#include "tasks/sched/sched.h"

const struct remote_how pi_sure = {.why = "queue of its lock", .sure = true};

static void notified(struct remote_wait *home, const uint64_t *words)
{
    const struct pi_notice *notice = (const struct pi_notice *)words;
    struct pi_wait *wait = container_of(home, struct pi_wait, home);
    struct thread *thread = wait->thread;

    spin_lock(&thread->group->lock);
    if (notice->notified == PI_GRANTED)
        pi_granted_locked(wait, notice->stamp, notice->priority);
    wait->died = notice->died != 0;
    wait->from = notice->from;
    wait->notified = notice->notified;
    if (wait->asleep)
        sched_wake(thread);
    spin_unlock(&thread->group->lock);
}

int pi_wait_begin(struct pi_wait *wait, const struct futex_place *lock, uint64_t address, uint32_t home, bool looks)
{
    struct thread *thread = thread_current();

    *wait = (struct pi_wait){.thread = thread, .place = *lock, .address = address, .looking = looks};
    wait->donation = heap_alloc(sizeof(*wait->donation));
    if (wait->donation == NULL)
        return -ENOMEM;
    remote_wait_begin(&wait->home, home, notified);
    spin_lock(&thread->group->lock);
    thread->pi.wait = wait;
    spin_unlock(&thread->group->lock);
    return 0;
}

void pi_wait_end(struct pi_wait *wait)
{
    struct thread *thread = wait->thread;

    remote_wait_end(&wait->home);
    spin_lock(&thread->group->lock);
    thread->pi.wait = NULL;
    spin_unlock(&thread->group->lock);
    heap_free(wait->donation, sizeof(*wait->donation));
    wait->donation = NULL;
}
