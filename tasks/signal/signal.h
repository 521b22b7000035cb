/* Signals. Those for one thread wait in the thread and move with it; those for a process wait at its home until a
 * thread of it, on any kernel, that does not block them takes them. Sending is one step and waits for nobody; delivery
 * is done by the thread itself on its way to user mode (tasks/user/deliver.h). tasks/signal/signal.md has the protocol.
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
/* The same for a timer's signal; 1: it was not queued, for the process ignores it. */
int signal_send_timer(struct group *group, const struct signal_info *info);
/* Sends INFO to THREAD, which is present here; its group's lock is held. */
int signal_send_thread_locked(struct thread *thread, const struct signal_info *info);
/* What SIGNAL, sent to a thread, does to its process GROUP at once, whether it is blocked or not. Tasks only; waits for
 * the home's answer. */
void signal_sent_thread(uint32_t group, uint32_t signal);
/* Says in the log that THREAD's process dies of INFO: what a program did wrong is seldom said by anybody else. */
void signal_log_death(const struct thread *thread, const struct signal_info *info);
/* A fault of the current thread: it takes the signal next, or its process dies if it blocks or ignores it. */
void signal_force(const struct signal_info *info);

/* The current thread blocks MASK from now on. It looks for signals that it does not block any more, and others of its
 * process for those that it may have been chosen for and blocks now. As signal_retarget. */
void signal_set_mask(struct thread *thread, uint64_t mask);
/* The current thread, or one that has not started, begins or begins again to run here: lets it look for signals if
 * there may be some. */
void signal_mask_changed(struct thread *thread);
/* Takes a signal of SET that is pending for the current thread or its process, without acting. False: none. Waits for
 * the home. */
bool signal_take(struct thread *thread, uint64_t set, struct signal_info *info);
/* The signals that are pending for the current thread, and for its process, blocked or not. Waits for the home. */
uint64_t signal_pending(struct thread *thread);
/* The current thread awaits SET: until signal_watch_end one that comes ends its interruptible waits, blocked or not.
 * Returns which of SET are pending now, or what was then. Wait for the home. */
uint64_t signal_watch(struct thread *thread, uint64_t set);
uint64_t signal_watch_end(struct thread *thread);
/* A thread that might have taken signals of the group no longer does: it blocks SIGNALS, leaves or dies. Others that do
 * not block them shall look. Without locks; tasks only, unless this is the home: waits for its answer. */
void signal_retarget(struct group *group, uint64_t signals);

/* SIGNAL is ignored from now on: what threads here have of it is dropped. */
void signal_forget(struct group *group, uint64_t signals);
/* The same on every other kernel that the group, whose home this is, has threads on; it is done soon. */
void signal_forget_elsewhere(struct group *group, uint64_t signals);
/* The home's word to a member kernel: these signals may be pending for the group. */
void signal_hint(struct group *group, uint64_t signals);

#endif
