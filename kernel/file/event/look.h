/* Finds out, from any kernel, which files of one kernel are ready. If none is, the files' kernel remembers them
 * ("arms") and notifies the asker when one of them may be ready, until the asker ends the poll. kernel/file/files.md
 * has the protocol. */
#ifndef KERNEL_FILE_EVENT_LOOK_H
#define KERNEL_FILE_EVENT_LOOK_H

#include <stdint.h>

#include "kernel/file/file.h"
#include "kernel/file/wire.h"

#define POLL_ITEMS_MAX 2048u /* items of one FILE_POLL */

void look_init(void);

/* Fills STATES for MESSAGE's items (behind it), at most POLL_ITEMS_MAX, which are files of KERNEL. With MESSAGE's
 * `arm`, KERNEL notifies the wait `token` (tasks/remote/notify.h) when one may become ready. Returns how many are
 * ready, or an error. Tasks only, unless KERNEL is this one. */
int64_t poll_look(uint32_t kernel, const struct msg_file_poll *message, struct poll_state *states);
/* KERNEL has died: forgets its waits for files here. Any context without locks. */
void poll_lost(uint32_t kernel);
/* KERNEL need not notify the wait TOKEN any more, unless WHAT is POLL_PASS, and gives the exclusive event that the wait
 * has taken to another, unless WHAT is POLL_END. Any context. */
void poll_disarm(uint32_t kernel, uint64_t token, enum poll_end what);
/* Which of EVENTS (and POLL_ERR, POLL_HUP) hold for FILE of this kernel. */
struct poll_state poll_state_of(struct file *file, uint32_t events);

#endif
