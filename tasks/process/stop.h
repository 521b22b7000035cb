/* Stop and continue of a process over its kernels (SIGSTOP, SIGCONT). tasks/signal/signal.md has the protocol. */
#ifndef TASKS_PROCESS_STOP_H
#define TASKS_PROCESS_STOP_H

#include <stdbool.h>
#include <stdint.h>

struct group;
struct thread;

/* Home, any context without locks: begins a stop, unless the process has been
 * told to continue since CONTINUES was its count of that (0: not known); or ends one, and drops stop signals of the
 * process. */
void stop_group(struct group *group, uint32_t signal, uint64_t continues);
void stop_continue(struct group *group);
/* The current thread stands still while its group is stopped; killable. */
void stop_stand(struct thread *thread);
/* Some thread of GROUP here has come to stand, has left or died, and the lock is held. True: all stand now, and
 * stop_answer is to be called once it is free. */
struct stop_request;
struct stop_standing {
    struct stop_request *request; /* of the home, or NULL: this is the home */
    uint32_t round;
};
bool stop_look_locked(struct group *group, struct stop_standing *standing);
void stop_answer(struct group *group, const struct stop_standing *standing);
void stop_init(void);

#endif
