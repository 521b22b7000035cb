/* Looking at what is ready of files of one kernel, from any. If nothing is, the files' kernel remembers them ("arms")
 * and tells when one of them may be, until it is told that the poll is over. kernel/file/files.md has the protocol. */
#ifndef KERNEL_FILE_EVENT_LOOK_H
#define KERNEL_FILE_EVENT_LOOK_H

#include <stdint.h>

#include "kernel/file/file.h"
#include "kernel/file/wire.h"

void look_init(void);

/* Who has asked for files of any kernels. `ready` is called when they tell, under the lock of tickets; a file that it
 * returns, with a pin, has an event then. */
struct poll_ticket {
    struct list node;
    uint64_t cookie;
    struct file *(*ready)(struct poll_ticket *ticket);
};

/* Gives TICKET a cookie that nobody has had, under which it is told. */
void poll_ticket_begin(struct poll_ticket *ticket);
void poll_ticket_end(struct poll_ticket *ticket);
/* What is ready of MESSAGE's items (behind it), which are of KERNEL; `arm` says whether it tells the cookie once one
 * may be. Returns how many are, or an error. Tasks only, unless KERNEL is this one. */
int64_t poll_look(uint32_t kernel, const struct msg_file_poll *message, struct poll_state *states);
/* KERNEL need not tell COOKIE any more. Any context. */
void poll_disarm(uint32_t kernel, uint64_t cookie);
/* What of EVENTS (and ERR, HUP) holds for FILE of this kernel. */
struct poll_state poll_state_of(struct file *file, uint32_t events);

#endif
