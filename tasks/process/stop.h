/* Stop and continue of a process over its kernels (SIGSTOP, SIGCONT). tasks/signal/signal.md has the protocol. */
#ifndef TASKS_PROCESS_STOP_H
#define TASKS_PROCESS_STOP_H

#include <stdbool.h>
#include <stdint.h>

#include "tasks/process/operation.h"

struct thread;

/* PROCESS_STOP begins a stop, unless the process has been continued since the count of continues that the call names
 * (0: not known). PROCESS_CONTINUE ends a stop, and drops pending stop signals of the process. */
process_operation stop_begin, stop_end;
/* Performs PROCESS_CONTINUE at the home. Any context without locks. */
void stop_continue(struct group *group);
/* Blocks the current thread while its group is stopped. The wait is killable. */
void stop_quiesce(struct thread *thread);
/* To be called when a thread of GROUP on this kernel has quiesced, left or died; the group's lock is held. True: all
 * its threads here are quiesced, and the caller must call stop_answer after it has released the lock. */
struct stop_request;
struct stop_quiesced {
    struct stop_request *request; /* the home's request, or NULL: this is the home */
    uint32_t round;
};
bool stop_look_locked(struct group *group, struct stop_quiesced *standing);
void stop_answer(struct group *group, const struct stop_quiesced *standing);
void stop_init(void);

#endif
