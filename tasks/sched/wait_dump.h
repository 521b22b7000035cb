/* A dump of blocked threads, for a machine that makes no progress. */
#ifndef TASKS_SCHED_WAIT_DUMP_H
#define TASKS_SCHED_WAIT_DUMP_H

#include "kernel/arch/x86_64/traps.h"

/* Writes where the calling CPU was when FRAME was saved, and what each of its blocked threads waits for, one line each,
 * as "@wait" events. Called in an NMI. */
void wait_dump(const struct trap_frame *frame);

#endif
