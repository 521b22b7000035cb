/* Copy-on-write, and replacing a page's frame on all kernels of a space: mm/fork/fork.md. */
#ifndef MM_FAULT_COW_H
#define MM_FAULT_COW_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/space/space.h"

/* Handles a write to PAGE, whose entry ENTRY has PAGING_SOFT_COW, while this kernel may decide at the page and no other
 * has an entry for it. 0; 1: another kernel must be asked, so the caller takes the page's lock; -ENOMEM. */
int space_cow_alone_locked(struct space *space, uint64_t page, uint64_t *entry, uint32_t prot);
/* The same for a caller that holds the page's distributed lock. FRAME is the page's frame, which this kernel may not
 * have mapped yet; it has the page's area. OTHERS: the other kernels that may map the page. SPACES: how many spaces
 * have the frame, as its owner has said since the page was locked, or 0. REPLICATED: other kernels may have copies of
 * the page, so that it gets a new frame in any case. 0 or a negative errno. Waits. */
int space_cow_break(struct space *space, uint64_t page, uint64_t frame, kernel_set others, uint32_t spaces,
                    bool replicated);

/* The answers (struct msg_space_owned) to a multicast of SPACE_SWITCH, which space_note_owned collects. */
struct letting_go {
    uint64_t owned; /* one of the kernels had the owning entry of these pages, as msg_space_switch has them */
    int error;      /* not 0: one of them has not invalidated its entries */
};
void space_note_owned(void *context, uint32_t kernel, const void *reply, int length);

/* Registers the message. Once. */
void space_cow_init(void);

#endif
