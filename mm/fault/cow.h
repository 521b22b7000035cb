/* Copy-on-write pages, and what the kernels of a space say when a page gets another frame: mm/fork/fork.md. */
#ifndef MM_FAULT_COW_H
#define MM_FAULT_COW_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/space/space.h"

/* A private page that is not writable because of PAGING_SOFT_COW is to be written. Locked: the space is alone. 0, or 1:
 * the frame's owner has to be asked, so take the page's lock; -ENOMEM. */
int space_cow_alone_locked(struct space *space, uint64_t page, uint64_t *entry, uint32_t prot);
/* The same with the page's lock; FRAME is what the page has, mapped here or not; its area is known here. Waits. */
int space_cow_break(struct space *space, uint64_t page, uint64_t frame);

/* What the kernels say that are to let go of a page, and takes their answers (struct msg_space_owned): for a multicast,
 * with a struct letting_go as context. */
struct letting_go {
    bool owned; /* one of them had the reference */
    int error;  /* one of them has not let go */
};
void space_note_owned(void *context, uint32_t kernel, const void *reply, int length);

/* Registers the message. Once. */
void space_cow_init(void);

#endif
