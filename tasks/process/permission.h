/* Permission of a thread to act on a process, by the thread's credentials and those of the process's first thread,
 * which the home of the process keeps and checks. */
#ifndef TASKS_PROCESS_PERMISSION_H
#define TASKS_PROCESS_PERMISSION_H

#include <stdbool.h>

#include "tasks/process/operation.h"
#include "tasks/thread/credentials.h"

struct process;

/* Sends the home the credentials of the process's first thread, against which permissions are checked: called by a
 * thread when its credentials have changed. Waits for the home, if it is another kernel. */
void credentials_changed(const struct credentials *old);
/* 0 if the current thread may send SIGNAL to process ID (kill(2)), else -EPERM or -ESRCH. Asks ID's home unless the
 * thread is root. */
int64_t credentials_may_signal(uint32_t id, uint32_t signal);
/* The same for access to its limits and, if INSIDE, to its memory and descriptors (ptrace(2), "access mode
 * checking"). */
int64_t credentials_may_reach(uint32_t id, bool inside);

/* At the home of PROCESS, whose lock is held: */

/* Whether a sender with effective user EUID, real user UID and session SESSION may send SIGNAL to PROCESS. */
bool process_may_signal_locked(const struct process *process, uint32_t euid, uint32_t uid, uint32_t signal,
                               uint32_t session);
/* Whether a caller with the real ids UID and GID may access the limits of PROCESS and, if INSIDE, its memory and
 * descriptors. */
bool process_may_reach_locked(const struct process *process, uint32_t uid, uint32_t gid, bool inside);

/* PROCESS_SET_IDS, PROCESS_MAY_SIGNAL, PROCESS_MAY_REACH, of GROUP, whose home this kernel is. */
process_operation process_set_ids, process_may_signal, process_may_reach;

#endif
