/* Declarations that the files of mm/fork share. */
#ifndef MM_FORK_INTERNAL_H
#define MM_FORK_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/fork/wire.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "msg/request/long_answer.h"

#define PAIRS_MAX ((LONG_ANSWER_MAX - sizeof(struct msg_space_taken)) / sizeof(struct msg_space_pair))

/* A fork under way, by a task of this kernel that holds the parent's whole-space lock. The child is not published, so
 * only this task uses it. */
struct fork {
    struct space *parent, *child;
    kernel_set others;       /* the other kernels that may have something of the parent */
    uint64_t *leaf;          /* the child's table for the 2 MiB at leaf_at */
    uint64_t leaf_at;        /* 1: none */
    const struct area *area; /* the child's area that was looked up last, or NULL */
    bool fills_leased;       /* shared memory is leased to some kernel, where this one cannot allocate its frames */
    uint8_t *buffer;         /* MSG_MAX bytes for an answer or for pairs; NULL until needed */
    uint64_t *frames;        /* room for PAIRS_MAX frames; NULL until needed */
};

/* The child's entry for PAGE, or NULL without memory. Fast for successive pages of one table. */
uint64_t *fork_child_entry(struct fork *fork, uint64_t page);
/* Allocates BUFFER and FRAMES unless they exist. False: no memory. */
bool fork_buffers(struct fork *fork);

/* --- areas.c --- */

/* Copies the parent's areas to the child, from the parent's home and from the kernels that have leased memory, which
 * are frozen (fork_freeze_others). Waits. Like all functions below, it returns 0 or a negative errno; -EAGAIN with
 * FORK->fills_leased set. */
int fork_copy_areas(struct fork *fork);
/* Takes a hold of the object behind each area of the child, before pages are copied: then later revocations also reach
 * the home of the child, this kernel. PARENT: its process, for the stamps of attached areas. Waits. */
int fork_hold_files(struct space *child, uint32_t parent);

/* --- pages.c --- */

/* Enter in the child the pages that this kernel owns of the parent, and those that KERNEL, another member, owns. They
 * wait. */
int fork_copy_own(struct fork *fork);
int fork_take_from(struct fork *fork, uint32_t kernel);

/* --- fill.c --- */

/* Gives frames to the pages of shared areas without a file that have none yet, in the parent and in the child. Waits.
 */
int fork_fill_shared(struct fork *fork);

/* --- member.c --- */

/* Has the other members write-protect all private pages for COW, and freeze their leases. *HOLDERS: the members that
 * may own pages; each thaws its leases when it has listed them all, and the child's references are counted. Waits. */
int fork_write_protect_others(struct fork *fork, kernel_set *holders);
/* Thaws the leases of all other members, after a fork that has failed. Waits. */
void fork_thaw_others(struct fork *fork);
void fork_member_init(void);

#endif
