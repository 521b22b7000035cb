/* Stop and continue of a process over its kernels (SIGSTOP, SIGCONT). tasks/signal/signal.md has the protocol. */
#ifndef TASKS_PROCESS_STOP_H
#define TASKS_PROCESS_STOP_H

#include <stdbool.h>
#include <stdint.h>

#include "tasks/process/operation.h"

struct thread;

/* PROCESS_STOP: begins a stop, unless the process has been told to continue since the count of that which is said (0:
 * not known). PROCESS_CONTINUE ends one, and drops stop signals of the process. */
process_operation stop_begin, stop_end;
/* The same as the second. At home, any context without locks. */
void stop_continue(struct group *group);
/* The current thread is quiesced while its group is stopped; killable. */
void stop_quiesce(struct thread *thread);
/* Some thread of GROUP here has come to stand, has left or died, and the lock is held. True: all stand now, and
 * stop_answer is to be called once it is free. */
struct stop_request;
struct stop_quiesced {
    struct stop_request *request; /* of the home, or NULL: this is the home */
    uint32_t round;
};
bool stop_look_locked(struct group *group, struct stop_quiesced *standing);
void stop_answer(struct group *group, const struct stop_quiesced *standing);
void stop_init(void);

#endif
