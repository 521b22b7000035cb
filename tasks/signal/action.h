/* The signal actions of a process and the signals pending for the process, at its home. tasks/signal/signal.md has the
 * protocol. */
#ifndef TASKS_SIGNAL_ACTION_H
#define TASKS_SIGNAL_ACTION_H

#include "tasks/process/process.h"
#include "tasks/signal/signal.h"

/* Reads the action of SIGNAL, 1 to 64, in GROUP, of any home, into *OLD, and sets it to *ACTION unless ACTION is NULL.
 * Waits for the home. */
int64_t process_action(struct group *group, uint32_t signal, const struct signal_action *action,
                       struct signal_action *old);
/* Finds the action of SIGNAL, which a thread of GROUP here has taken, into *ACTION; it is reset if it has SA_RESETHAND.
 * False: the process is ending, or the thread is doomed. May wait for the home. */
bool signal_take_action(struct group *group, uint32_t signal, struct signal_action *action);
/* Takes a signal of SET, which lies at another kernel, the home of GROUP, and if the answer has room its action, in one
 * step and with one message: for a thread that performs the action. *HINT: the signals that may still be pending. Waits
 * for the home. */
enum signal_taking signal_take_acting(struct group *group, uint64_t set, struct signal_info *info,
                                      struct signal_action *action, uint64_t *hint);
/* Resets the actions for exec: ignored signals stay ignored. With the group's lock held, or not yet published. */
void process_reset_actions(struct process *process);

void signal_action_init(void);

/* PROCESS_SIGNAL, PROCESS_PENDING and the other operations of these names. */
process_operation process_signal, process_pending, process_retarget;
process_operation process_take_signal, process_take_action, process_set_action;

/* Called when a thread takes INFO, the signal of a timer of GROUP: fills in the overrun count and rearms the timer. The
 * lock is held. Set by tasks/timer/process. */
extern void (*signal_timer_taken_locked)(struct group *group, struct signal_info *info);

#endif
