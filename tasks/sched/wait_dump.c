/* The wait dump. See the header. */
#include "tasks/sched/wait_dump.h"

#include "kernel/arch/x86_64/clock.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/backtrace.h"
#include "kernel/lib/log.h"
#include "kernel/lib/printf.h"
#include "msg/wait_dump.h"
#include "tasks/sched/internal.h"

#define DUMP_TRIES 1000000u /* attempts to take a run queue's lock; after them the dump is made without it */
#define DUMP_MAX 1000u      /* lines of one list */
#define PLACE_MAX 160u      /* bytes */

static void dump_list(const struct list *head, uint64_t now)
{
    uint32_t left = DUMP_MAX; /* bounds the walk, because an unlocked list may change meanwhile */

    list_for_each(node, head) {
        const struct thread *thread = container_of(node, const struct thread, queue_node);

        log_event("wait kernel %u thread %u:%u %s waits for %s%s%d key %lx%s", instance.kernel,
                  thread->tid >> TID_KERNEL_SHIFT, thread->tid & 0xffff, thread->context.name, thread->reason.what,
                  thread->reason.kernel >= 0 ? " of kernel " : " of own kernel ",
                  thread->reason.kernel >= 0 ? thread->reason.kernel : (int)instance.kernel,
                  (unsigned long)thread->reason.key, thread->wake_at > now ? " (sleeps)" : "");
        if (--left == 0)
            break;
    }
}

static void dump_current(const struct trap_frame *frame)
{
    const struct thread *current = thread_current();
    char place[PLACE_MAX];

    if (trap_from_user(frame))
        snprintf(place, sizeof(place), "its program, rip %lx", (unsigned long)frame->rip);
    else
        backtrace_line(frame->rbp, frame->rip, place, sizeof(place));
    log_event("wait kernel %u cpu %u runs thread %u:%u %s in %s", instance.kernel, cpu_self()->number,
              current->tid >> TID_KERNEL_SHIFT, current->tid & 0xffff, current->idle ? "idle" : current->context.name,
              place);
}

/* The dump must work when a CPU hangs with the lock held, so it goes on without the lock after a bounded time. If this
 * CPU holds the lock, no other CPU changes the lists, and an interrupted change leaves them intact in the forward
 * direction. */
void wait_dump(const struct trap_frame *frame)
{
    struct cpu_queue *queue = cpu_self()->scheduler;
    bool locked = false;

    for (uint32_t i = 0; i < DUMP_TRIES && !locked && !spin_held(&queue->lock); i++) {
        locked = spin_try(&queue->lock);
        cpu_pause();
    }
    dump_current(frame);
    dump_list(&queue->blocked, clock_now());
    if (locked)
        spin_unlock(&queue->lock);
    if (cpu_index() == 0)
        msg_wait_dump();
}
