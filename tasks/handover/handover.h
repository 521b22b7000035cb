/* Groups, processes and threads of a kernel that is to stop go to its successor, while all programs are quiesced. First
 * everything is staged at the successor, where it is not visible yet; if that fails, the staged state is discarded. The
 * rest cannot fail. tasks/handover/stop_kernel.md has the protocol. */
#ifndef TASKS_HANDOVER_HANDOVER_H
#define TASKS_HANDOVER_HANDOVER_H

#include <stdint.h>

#include "tasks/process/group.h"

void handover_init(void);

/* For the kernel that is to stop. Called by tasks only; prepare and commit wait for replies. */

/* Returns 0, or -EBUSY if some group here is in a state that cannot be moved. */
int handover_check(void);
/* Stages at SUCCESSOR everything that is at home here, and the places of threads that were born in roles of this
 * kernel. -ENOMEM, or the error of a reply. */
int handover_prepare(uint32_t successor);
/* When SUCCESSOR has published what was staged: tells the homes of other groups that this kernel is no longer a member,
 * and every other kernel the places of the threads that have left this one. 0, or the error of a reply, which the
 * protocol excludes. */
int handover_commit(uint32_t successor);

/* On the successor: sets the descriptors of group ID, which has been staged with its process. -EPROTO: it has not been
 * staged, or has descriptors already. */
int handover_stage_files(uint32_t id, void *files);
/* On the successor: publishes the staged state. Cannot fail. Tasks only, in slices. */
void handover_publish(void);
/* On any kernel: discards the staged state. The caller has to free the staged descriptors. */
void handover_discard(void);
/* On any kernel but FROM: TO becomes the home of everything that was at home at FROM. */
void handover_switch(uint32_t from, uint32_t to);

#endif
