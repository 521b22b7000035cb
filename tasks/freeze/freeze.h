/* Quiescing: every program thread of the machine is blocked on its way to user mode, and no work or message on behalf
 * of programs is under way. Then the state of programs can be changed on several kernels at once without taking locks,
 * as no code reads it. Each kernel quiesces its own threads; kernel/machine/stop.c starts this on all kernels, and
 * polls until all are quiet. tasks/handover/stop_kernel.md has the protocol. */
#ifndef TASKS_FREEZE_FREEZE_H
#define TASKS_FREEZE_FREEZE_H

#include <stdbool.h>
#include <stdint.h>

#include "tasks/thread/group.h"

void freeze_init(void);
/* Program threads here quiesce, and no timer fires (timer_hold), from now on until freeze_end. Tasks only. */
void freeze_begin(void);
/* From now on, and until freeze_end, interrupted system calls restart, and their threads quiesce again when the calls
 * return. So a thread that was in a queue is in it again before any other thread continues. */
void freeze_calls(void); /* tasks only */
void freeze_end(void);   /* tasks only */
/* Called at the end of the freeze to do the work that was deferred because of it. Set by tasks/family. */
extern void (*freeze_over)(void);
bool freeze_active(void);

/* Blocks the current thread, on its way to user mode, until the end of the freeze, or until it dies. So does one behind
 * a killable wait that has ended by its deadline, as it was quiesced. Without a freeze it returns at once. */
void freeze_quiesce(struct thread *thread);

/* Activity that is still under way on this kernel. The kernel is quiet, as far as it can tell, if all fields but EVENTS
 * are zero. */
struct freeze_state {
    uint32_t moving;     /* threads that are not quiesced, or are between kernels */
    uint32_t ending;     /* groups that are being made, join, stop, end, or are pruned by exec */
    uint32_t working;    /* work items, and the function of a timer */
    uint32_t unanswered; /* requests of this kernel */
    uint64_t events;     /* messages taken, and program threads that have gone on, before the look began */
};
/* Reads the state, and makes threads that have arrived meanwhile quiesce. A task looks in slices (msg/slice.h): the
 * state is not that of one moment. If two looks, one after the other, find the kernel quiet and the same EVENTS,
 * nothing has gone on between them (tasks/handover/stop_kernel.md#quiet). Without locks. */
void freeze_look(struct freeze_state *state);
/* Whether a look is too long for a handler. Any context. */
bool freeze_look_is_long(void);

/* Orders every program thread that is present here to move to the nearest running kernel that its affinity allows, or
 * to any kernel if it is bound to CPUs of this kernel alone. Returns how many are present. */
uint32_t freeze_drain(uint32_t successor);

#endif
