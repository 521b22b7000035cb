/* Quiescing: every program thread of the machine on its way to user mode, no work and no message of programs under
 * way. Then what belongs to programs can be changed on several kernels at once without their locks, as nobody looks.
 * Each kernel does this for itself; kernel/machine/stop.c tells all of them when, and asks until all are quiet.
 * tasks/handover/stop_kernel.md has the protocol. */
#ifndef TASKS_FREEZE_FREEZE_H
#define TASKS_FREEZE_FREEZE_H

#include <stdbool.h>
#include <stdint.h>

#include "tasks/thread/group.h"

void freeze_init(void);
/* From now on program threads here are quiesced; until freeze_end. Any context. */
void freeze_begin(void);
/* Calls that were interrupted begin again, and their threads stand again when they return; until freeze_end. So who was
 * in a queue is in it before anybody else goes on. */
void freeze_calls(void);
void freeze_end(void);
/* The freeze is over: what was not done because of it is done now. Set by tasks/family. */
extern void (*freeze_over)(void);
bool freeze_active(void);

/* The current thread, on its way to user mode, stands until the end of the freeze, or dies. */
void freeze_quiesce(struct thread *thread);

/* What is still under way here. All zero but TAKEN: it is quiet, as far as one kernel can tell. */
struct freeze_state {
    uint32_t moving;     /* threads that do not stand, or are between kernels */
    uint32_t ending;     /* groups that begin, end or prune */
    uint32_t working;    /* work items */
    uint32_t unanswered; /* requests of this kernel */
    uint64_t taken;      /* messages taken so far */
};
/* Looks, and reminds threads that have come since. Any context without locks. */
void freeze_look(struct freeze_state *state);

/* Orders every program thread that is present here to a kernel that runs and that its affinity allows, the nearest
 * first; one that is bound to CPUs of this kernel alone to anywhere, then. Returns how many are present. */
uint32_t freeze_drain(uint32_t successor);

#endif
