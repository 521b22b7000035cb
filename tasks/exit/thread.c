/* The end of one thread: by exit(2), by a kill, and the release of its structures after its last CPU has left its
 * stack. See tasks/exit/exit.h and tasks/exit/exit.md.
 *
 * A thread ends itself on the kernel where it runs. Its shadows end when THREAD_GONE arrives; the home counts the
 * group's live threads. */
#include "kernel/instance/instance.h"
#include "msg/channel.h"
#include "msg/slice.h"
#include "tasks/exit/exit.h"
#include "tasks/exit/internal.h"
#include "tasks/futex/donation/donation.h"
#include "tasks/futex/futex.h"
#include "tasks/process/process.h"
#include "tasks/process/stop.h"
#include "tasks/remote/watch.h"
#include "tasks/role/adopted.h"
#include "tasks/sched/sched.h"
#include "tasks/signal/signal.h"
#include "tasks/thread/walk.h"

/* At the home: counts one live thread less, and begins the end of the group after the last one. */
static void count_down(struct group *group, const struct msg_thread *gone)
{
    struct process *process = group->process;
    uint32_t status;
    bool last;

    futex_forget_robust(group, gone->thread);
    spin_lock(&group->lock);
    if (gone->thread == group->id)
        process->leader_status = gone->status;
    last = --process->live == 0;
    status = process->leader_status;
    spin_unlock(&group->lock);
    if (last)
        kill_begin(group, status, true);
}

void exit_killed(void)
{
    const struct thread *thread = thread_current();

    slice_check(); /* thousands of threads may die one after the other */
    /* The state of a shadow, and the locks it holds, are on another kernel. The thread's clear_child_tid is cleared
     * only for a pin, whose host goes on using the memory: threads of a group do not all die at the same moment, and a
     * thread library may use this word as a lock, so a cleared word would mislead the threads that still run. */
    if (thread->presence == THREAD_PRESENT)
        futex_release_thread(thread->group->pinned != NULL);
    sched_die();
}

void exit_thread(uint32_t code)
{
    struct thread *thread = thread_current();
    struct group *group = thread->group;
    struct msg_thread message = {
        .group = group->id, .thread = thread->tid, .status = EXIT_STATUS(code), .start_ns = thread->context.start_ns};

    pi_close();
    futex_release_thread(true);
    signal_set_mask(thread, ~0ull);
    for (kernel_set rest = thread->visited & ~(1ull << instance.kernel); rest != 0; rest &= rest - 1)
        msg_notify((uint32_t)__builtin_ctzll(rest), MSG_THREAD_GONE, &message, sizeof(message));
    if (group->home == instance.kernel)
        count_down(group, &message);
    else
        msg_notify(group->home, MSG_THREAD_EXIT, &message, sizeof(message));
    sched_die();
}

/* Scheduler hook: THREAD is dead and no CPU uses its stack. Must not wait. */
static void reap(struct thread *thread)
{
    struct group *group = thread->group;
    struct stop_quiesced stop;
    bool answer = false, stopped;
    uint64_t user, system;

    if (group == NULL) {
        thread_free(thread);
        return;
    }
    sched_cpu_time(thread, &user, &system);
    group_get(group);
    spin_lock(&group->lock);
    if (thread->presence == THREAD_PRESENT) {
        group->gone_user_ns += user;
        group->gone_system_ns += system;
    }
    account_add(&group->gone, &thread->account); /* of a shadow, too: counters stay where they were counted */
    group_remove_thread_locked(group, thread);
    group_made_locked(group, thread, -1);
    if (thread->robust_note != 0)
        futex_note_drop_locked(thread);
    adopted_forget(thread->tid);
    thread_forget(thread); /* under the lock: as soon as it is free, a handler may look the thread up */
    stopped = stop_look_locked(group, &stop);
    group_count_down_locked(group, &answer);
    spin_unlock(&group->lock);
    pi_donations_free(thread);
    thread_free(thread);
    if (stopped)
        stop_answer(group, &stop);
    watch_event(&group->moves);
    group_answer_kill(group, answer);
    group_put(group);
}

static void handle_thread_exit(const struct msg *m)
{
    const struct msg_thread *message = m->data;
    struct group *group = group_find(message->group);

    if (group == NULL)
        return;
    if (group->process != NULL)
        count_down(group, message);
    group_put(group);
}

static void handle_thread_gone(const struct msg *m)
{
    const struct msg_thread *message = m->data;
    struct group *group = group_find(message->group);
    struct thread *thread;

    adopted_forget(message->thread);
    if (group == NULL)
        return;
    spin_lock(&group->lock);
    thread = thread_find(message->thread);
    if (thread != NULL && thread->group == group && thread->presence != THREAD_PRESENT &&
        thread->context.start_ns == message->start_ns) {
        group_made_locked(group, thread, -1); /* at once: its CPU there is free */
        thread->disposition = DISPOSITION_EXIT;
        sched_wake(thread);
    }
    spin_unlock(&group->lock);
    group_put(group);
}

void exit_threads_init(void)
{
    sched_hooks.reap = reap;
    msg_register(MSG_THREAD_EXIT, handle_thread_exit, sizeof(struct msg_thread), 0);
    msg_register(MSG_THREAD_GONE, handle_thread_gone, sizeof(struct msg_thread), 0);
}
