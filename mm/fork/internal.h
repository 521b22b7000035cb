/* What the files of a fork share. */
#ifndef MM_FORK_INTERNAL_H
#define MM_FORK_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/fork/wire.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"
#include "msg/long_answer.h"

#define PAIRS_MAX ((LONG_ANSWER_MAX - sizeof(struct msg_space_taken)) / sizeof(struct msg_space_pair))

/* A fork under way, of a task of this kernel, which has locked all of the parent. The child is nobody else's yet. */
struct fork {
    struct space *parent, *child;
    uint64_t *leaf;          /* the child's table for the 2 MiB at leaf_at */
    uint64_t leaf_at;        /* 1: none */
    const struct area *area; /* the child's, the last one looked up */
    uint8_t *buffer;         /* MSG_MAX bytes: what a kernel says, or pairs; NULL until needed */
    uint64_t *frames;        /* PAIRS_MAX of them */
};

/* The child's entry for PAGE, or NULL without memory. Quick for pages in ascending order. */
uint64_t *fork_child_entry(struct fork *fork, uint64_t page);
/* BUFFER and FRAMES are there. False: there is no memory. */
bool fork_buffers(struct fork *fork);

/* --- areas.c --- */

/* The child gets the parent's areas, from its home, which has all of them. 0 or a negative errno, as all that follow.
 */
int fork_copy_areas(struct fork *fork);
/* Each area of the child holds what is behind it, from before its pages are copied: what is revoked from now on is
 * revoked here, too. */
int fork_hold_files(struct space *child, uint32_t parent);

/* --- pages.c --- */

/* The child gets what this kernel holds of the parent; and what KERNEL, another member, does. They wait. */
int fork_copy_own(struct fork *fork);
int fork_take_from(struct fork *fork, uint32_t kernel);

/* --- fill.c --- */

/* Shared pages that have no frame yet get one, in the parent and in the child; a file's have it elsewhere. Waits. */
int fork_fill_shared(struct fork *fork);

/* --- member.c --- */

/* The other members are told: no private page is written any more without a look at its frame. *HOLDERS: those that
 * hold pages. Waits. */
int fork_write_protect_others(struct fork *fork, kernel_set *holders);
void fork_member_init(void);

#endif
