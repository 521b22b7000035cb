/* The kernels that map a node's pages, as homes of spaces with areas that refer to the node. Each such kernel holds as
 * many references to the node as it was granted, and returns them when no area of its spaces refers to the node any
 * more. mm/file/file_map.md has the protocol. */
#ifndef KERNEL_FS_NODE_MAP_H
#define KERNEL_FS_NODE_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/abi/limits.h"
#include "kernel/lib/list.h"

struct file_answer;
struct node;

struct node_maps {                 /* under node->lock */
    uint32_t granted[KERNELS_MAX]; /* references to the node that each kernel holds */
    uint32_t all;                  /* sum over all kernels */
    uint32_t held;                 /* what a kernel says that it has, while programs are quiesced */
    bool written;                  /* an area may have been able to write to the file since the last time `all` was 0 */
    struct list revocations;       /* revocations under way (revocation.h) */
};

/* Grants KERNEL one reference to NODE, because a space at home there is about to map it. WRITTEN: the mapping may write
 * to the file. -ENOMEM. */
int node_maps_grant(struct node *node, uint32_t kernel, bool written);
/* node->lock is held. node_mapped_locked: a kernel holds a grant; node_maps_written_locked: a mapping may write to the
 * file. */
bool node_mapped_locked(const struct node *node);
bool node_maps_written_locked(const struct node *node);
/* Sets GRANTED to the number of grants of each kernel. node->lock is held. */
void node_maps_granted_locked(const struct node *node, uint32_t granted[KERNELS_MAX]);
/* Frees the grants of NODE, which is being freed. */
void node_maps_free(struct node *node);
/* Moves the grants of kernel FROM to kernel TO. Programs are quiesced. */
void node_maps_switch(uint32_t from, uint32_t to);
/* Comparing grants with what kernels say that they have, one kernel after the other, while programs are quiesced: first
 * node_maps_forget_held, then node_maps_note_held for each object that the kernel has. An unknown OBJECT is ignored. */
bool node_maps_any(void); /* whether a kernel was ever granted a node of this one */
void node_maps_forget_held(void);
void node_maps_note_held(uint32_t object, uint32_t held);
/* Calls EACH for every object of which KERNEL was granted another number than it has. EACH does not wait. */
void node_maps_each_wrong(uint32_t kernel,
                          void (*each)(void *context, uint32_t object, uint32_t granted, uint32_t held), void *context);
/* Takes the grants back that KERNEL does not have, and adds to *TAKEN how many. 0, or an error of one that cannot be
 * given back. Tasks only. */
int node_maps_take_back(uint32_t kernel, int64_t *taken);

/* Makes PAGES pages of a file a hole, of which BACKING (mm/area/backing.h) names the first; the caller has seen to it
 * that the file exists. *ANSWER may have FILE_SETTLES. -EOPNOTSUPP: a file of a shared directory; -EPERM: a seal
 * forbids it; -ENOMEM. Waits for the file's kernel. Tasks only. */
int node_punch_mapped(uint64_t backing, uint64_t pages, struct file_answer *answer);

/* Registers the operations of mm/file/object.h and the message handlers. Called once. */
void node_map_init(void);

#endif
