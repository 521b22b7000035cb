/* Groups, processes and threads of a kernel that is to stop go to its successor, while all programs are quiesced. First
 * everything is laid out at the successor, where nobody sees it; that may fail, and is then forgotten. The rest cannot
 * fail. tasks/handover/stop_kernel.md has the protocol. */
#ifndef TASKS_HANDOVER_HANDOVER_H
#define TASKS_HANDOVER_HANDOVER_H

#include <stdint.h>

#include "tasks/process/group.h"

void handover_init(void);

/* The kernel that is to stop; tasks only, they wait. */

/* 0, or -EBUSY: some group here is in a state that cannot be moved. */
int handover_check(void);
/* Lays out all that is at home here, and the places of threads born here, at SUCCESSOR. -ENOMEM. */
int handover_prepare(uint32_t successor);
/* SUCCESSOR has it; every other kernel learns where threads went from here. */
int handover_commit(uint32_t successor);

/* The successor: descriptors for group ID, which has been laid out. -EPROTO: it has not. */
int handover_stage_files(uint32_t id, void *files);
/* Any kernel: what was laid out is forgotten; its descriptors are the caller's again. */
void handover_discard(void);
/* Any kernel but FROM: TO is the home of what was at home at FROM, and nothing else is there. */
void handover_switch(uint32_t from, uint32_t to);

#endif
