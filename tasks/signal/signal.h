/* Signals. Those for one thread wait in the thread and move with it; those for a process wait at its home until a
 * thread of it, on any kernel, that does not block them takes them. Sending is one step and never waits; the receiving
 * thread itself delivers the signal on its way to user mode (tasks/user/deliver.h). tasks/signal/signal.md has the
 * protocol.
 *
 * Marks: [g] under group->lock. */
#ifndef TASKS_SIGNAL_SIGNAL_H
#define TASKS_SIGNAL_SIGNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "tasks/signal/queue/queue.h"

struct thread;
struct group;

void signal_init(void);

/* What SIGNAL does when its action is SIG_DFL. */
enum signal_default { SIGNAL_TERMINATES, SIGNAL_IGNORED, SIGNAL_STOPS, SIGNAL_CONTINUES };
enum signal_default signal_default(uint32_t signal);

/* Sends INFO to process GROUP, whose home this kernel is. 0, also when it has ended and is not yet waited for; -EAGAIN:
 * no room. Any context without locks. */
int signal_send_group(struct group *group, const struct signal_info *info);
/* The same for a timer's signal; 1: it was not queued because the process ignores it. */
int signal_send_timer(struct group *group, const struct signal_info *info);
/* Sends INFO to THREAD, which is present here; its group's lock is held. */
int signal_send_thread_locked(struct thread *thread, const struct signal_info *info);
/* Does what SIGNAL, sent to a thread, does to its process GROUP at once, whether it is blocked or not. Tasks only;
 * waits for the home's answer. */
void signal_sent_thread(uint32_t group, uint32_t signal);
/* Logs that THREAD's process dies of INFO, as the failure of a program is often not reported otherwise. */
void signal_log_death(const struct thread *thread, const struct signal_info *info);
/* A fault of the current thread: the thread takes the signal INFO next, or its process dies if the signal is blocked or
 * ignored. */
void signal_force(const struct signal_info *info);

/* Sets the signal mask of the current thread. The thread checks for signals that it does not block any more; other
 * threads of its process check for those that it had been chosen for and blocks now. Contexts and waiting are those of
 * signal_retarget. */
void signal_set_mask(struct thread *thread, uint64_t mask);
/* The current thread, or one that has not started, begins or resumes running here: makes it check for signals if there
 * may be some. */
void signal_mask_changed(struct thread *thread);
/* Takes a signal of SET that is pending for the current thread or its process, without performing its action. False:
 * none. Waits for the home. */
bool signal_take(struct thread *thread, uint64_t set, struct signal_info *info);
/* The signals that are pending for the current thread, and for its process, blocked or not. Waits for the home. */
uint64_t signal_pending(struct thread *thread);
/* The current thread awaits SET: until signal_watch_end, a signal of SET that arrives ends the thread's interruptible
 * waits, even if it is blocked. Both return the signals of SET that are pending at that time, and wait for the home. */
uint64_t signal_watch(struct thread *thread, uint64_t set);
uint64_t signal_watch_end(struct thread *thread);
/* A thread that might have taken signals of the group no longer does: it blocks SIGNALS, leaves or dies. Makes other
 * threads that do not block them check. Without locks; tasks only, unless this is the home; waits for the home's
 * answer. */
void signal_retarget(struct group *group, uint64_t signals);

/* SIGNALS are ignored from now on: drops those that are pending for threads here. */
void signal_forget(struct group *group, uint64_t signals);
/* The same, asynchronously, on every other kernel where the group, whose home this is, has threads. */
void signal_forget_elsewhere(struct group *group, uint64_t signals);
/* The home has informed this member kernel that SIGNALS may be pending for the group. */
void signal_hint(struct group *group, uint64_t signals);

#endif
