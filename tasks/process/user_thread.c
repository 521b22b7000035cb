/* Threads of programs. See the header. */
#include "tasks/process/user_thread.h"

#include "kernel/arch/x86_64/clock.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"
#include "mm/space/space.h"
#include "mm/user/user_copy.h"
#include "tasks/futex/donation/donation.h"
#include "tasks/sched/cpu_mask.h"
#include "tasks/sched/sched.h"

static void run_user_thread(void *unused)
{
    struct thread *thread = thread_current();

    (void)unused;
    sched_after_switch();
    thread_reload(thread);
    if (thread->child_tid != 0)
        user_write(thread->child_tid, &thread->tid, sizeof(thread->tid)); /* an error is ignored, as on Linux */
    thread->child_tid = 0;
    thread_enter_user();
}

/* Fills AREA with the FPU state of LIKE, the current thread, or with a fresh one if that is NULL. */
static void copy_fpu(void *area, const struct thread *like)
{
    if (like == NULL)
        fpu_init_area(area);
    else if (cpu_self()->fpu_owner == like)
        fpu_save_first(area);
    else
        memcpy(area, like->fpu, cpu_features.fpu_size);
}

struct thread *thread_create_user(uint32_t tid, struct group *group, const struct thread *like)
{
    struct thread *thread = thread_create(tid, "", run_user_thread, NULL);
    void *fpu = heap_alloc_unset(cpu_features.fpu_size);

    if (thread == NULL || fpu == NULL) {
        heap_free(fpu, cpu_features.fpu_size);
        if (thread != NULL)
            thread_free(thread);
        return NULL;
    }
    copy_fpu(fpu, like);
    thread->fpu = fpu;
    memset(thread_frame(thread), 0, sizeof(struct trap_frame));
    thread_frame(thread)->cs = SELECTOR_USER_CODE;
    thread_frame(thread)->ss = SELECTOR_USER_DATA;
    thread_frame(thread)->rflags = RFLAGS_USER_DEFAULT;
    thread_frame(thread)->vector = TRAP_SYSCALL;
    thread->context.start_ns = clock_now();
    thread->context.timer_slack = thread->context.timer_slack_usual = TIMER_SLACK;
    if (like == NULL)
        cpu_mask_all(thread->context.affinity); /* else it inherits */
    signal_queue_init(&thread->signals);
    thread->group = group;
    group_get(group);
    thread_publish(thread);
    return thread;
}

void thread_abandon(struct thread *thread)
{
    struct group *group = thread->group;

    spin_lock(&group->lock);
    signal_queue_remove(&thread->signals, ~0ull);
    thread_forget(thread);
    spin_unlock(&group->lock);
    pi_donations_free(thread);
    thread_free(thread);
}
