/* Looking at what is ready of files of one kernel, from any. If nothing is, the files' kernel remembers them ("arms")
 * and tells when one of them may be, until it is told that the poll is over. kernel/file/files.md has the protocol. */
#ifndef KERNEL_FILE_EVENT_LOOK_H
#define KERNEL_FILE_EVENT_LOOK_H

#include <stdint.h>

#include "kernel/file/file.h"
#include "kernel/file/wire.h"

void look_init(void);

/* What is ready of MESSAGE's items (behind it), which are of KERNEL; `arm` says whether it notifies the wait `token`
 * (tasks/remote/notify.h) once one may be. Returns how many are, or an error. Tasks only, unless KERNEL is this one. */
int64_t poll_look(uint32_t kernel, const struct msg_file_poll *message, struct poll_state *states);
/* KERNEL need not notify the wait TOKEN any more. Any context. */
void poll_disarm(uint32_t kernel, uint64_t token);
/* What of EVENTS (and ERR, HUP) holds for FILE of this kernel. */
struct poll_state poll_state_of(struct file *file, uint32_t events);

#endif
