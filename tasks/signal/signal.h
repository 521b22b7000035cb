/* Signals. A signal for one thread is queued in the thread and moves with it. A signal for a process is queued at its
 * home until a thread of the process that does not block it, on any kernel, takes it. Sending is one step and never
 * waits; the receiving thread itself delivers the signal on its way to user mode (tasks/user/deliver.h).
 * tasks/signal/signal.md has the protocol.
 *
 * Marks: [g] under group->lock. */
#ifndef TASKS_SIGNAL_SIGNAL_H
#define TASKS_SIGNAL_SIGNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "msg/message.h"
#include "tasks/signal/queue/queue.h"

struct thread;
struct group;

void signal_init(void);

/* The effect of SIGNAL when its action is SIG_DFL. */
enum signal_default { SIGNAL_TERMINATES, SIGNAL_IGNORED, SIGNAL_STOPS, SIGNAL_CONTINUES };
enum signal_default signal_default(uint32_t signal);

/* Sends INFO to process GROUP, whose home this kernel is. 0, also when the process has ended and was not waited for
 * yet; -EAGAIN: the queue is full or there is no memory. Any context without locks. */
int signal_send_group(struct group *group, const struct signal_info *info);
/* The same under the lock of GROUP, for a signal other than SIGKILL and SIGCONT. After the lock is released the caller
 * passes HINTED, the kernels whose threads have to be told if there are any, to hint_members. */
int signal_send_group_locked(struct group *group, const struct signal_info *info, kernel_set *hinted);
/* As signal_send_group for a sender on the kernels TELLS, one at most, who gets *HINT, 0 before: the signals of which
 * it has to tell its kernel's threads, with signal_hint, in place of a message from here. */
int signal_send_group_for(struct group *group, const struct signal_info *info, kernel_set tells, uint64_t *hint);
/* Sends INFO, perhaps signal 0, to the process ID, whose home is any kernel, without a check of the permission. 0 or a
 * negative errno: -ESRCH, and those of signal_send_group. Tasks only; waits for the home. */
int64_t signal_send_process(uint32_t id, const struct signal_info *info);
/* The same as signal_send_group for a timer's signal; 1: it was not queued because the process ignores it. BUSY: for a
 * timer of CPU time; a thread that uses its CPU takes the signal, if one is eligible, as others may have to wait for
 * theirs. */
int signal_send_timer(struct group *group, const struct signal_info *info, bool busy);
/* Sends INFO to THREAD, which is present here; its group's lock is held. */
int signal_send_thread_locked(struct thread *thread, const struct signal_info *info);
/* Performs the effect on process GROUP of SIGNAL, which was sent to one of its threads: the end for SIGKILL, the
 * continue for SIGCONT. Tasks only; waits for the home's answer. */
void signal_sent_thread(uint32_t group, uint32_t signal);
/* Logs that THREAD's process dies of INFO, because often nothing else reports the failure of a program. */
void signal_log_death(const struct thread *thread, const struct signal_info *info);
/* Sends INFO, the signal of a fault, to the current thread, which takes it on its way to user mode. Its process dies if
 * the signal is blocked or ignored. */
void signal_force(const struct signal_info *info);

/* Sets the signal mask of the current thread. The thread checks for signals that it does not block any more; other
 * threads of its process check for those for which it may have been chosen and which it blocks now. Contexts and
 * waiting are those of signal_retarget. */
void signal_set_mask(struct thread *thread, uint64_t mask);
/* Makes THREAD check for signals if some may be pending for it: the current thread, or one that is about to run
 * here. */
void signal_mask_changed(struct thread *thread);
/* Takes a signal of SET that is pending for the current thread or its process, without performing its action. False:
 * there is none. Waits for the home. */
bool signal_take(struct thread *thread, uint64_t set, struct signal_info *info);
/* The same for a caller that performs the action: the home sends it along if this kernel does not remember it. */
enum signal_taking {
    SIGNAL_NONE,
    SIGNAL_TAKEN,      /* the caller has to look for the action: signal_take_action */
    SIGNAL_WITH_ACTION /* *ACTION is what signal_take_action would find */
};
enum signal_taking signal_take_to_act(struct thread *thread, uint64_t set, struct signal_info *info,
                                      struct signal_action *action);
/* The signals that are pending for the current thread, and for its process, blocked or not. Waits for the home. */
uint64_t signal_pending(struct thread *thread);
/* The current thread awaits SET: until signal_watch_end, a signal of SET that arrives ends the thread's interruptible
 * waits, even if it is blocked. Both return the signals of SET that are pending at that time, and wait for the home. */
uint64_t signal_watch(struct thread *thread, uint64_t set);
uint64_t signal_watch_end(struct thread *thread);
/* To be called when a thread that may have been chosen for SIGNALS of the group does not take them: it blocks them or
 * dies. Makes other threads that do not block them check. Without locks; tasks only, unless this is the home; waits for
 * the home's reply. */
void signal_retarget(struct group *group, uint64_t signals);

/* Drops SIGNALS, which the process ignores from now on, from the queues of the threads here. */
void signal_forget(struct group *group, uint64_t signals);
/* Handles a hint of the home that SIGNALS may be pending for the group: the first thread that takes them, or with BUSY
 * the busiest, is asked. */
void signal_hint(struct group *group, uint64_t signals, bool busy);

#endif
