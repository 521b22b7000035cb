/* Who maps a node's pages: kernels, as homes of spaces with areas that refer to it. Each has as many references to the
 * node as it was granted, and gives them back when no area of its spaces refers to the node. And what makes a file
 * shorter while it is mapped: revocations, which end when no kernel maps what has gone. mm/file/file_map.md. */
#ifndef KERNEL_FS_NODE_MAP_H
#define KERNEL_FS_NODE_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/abi/limits.h"
#include "kernel/fs/node/page_tree.h"
#include "kernel/lib/list.h"

struct node;

struct node_maps {                 /* under node->lock */
    uint32_t granted[KERNELS_MAX]; /* references to the node that each kernel has */
    uint32_t all;                  /* of all kernels */
    bool written;                  /* one of them is of an area that may write to the file */
    struct list revocations;       /* under way */
};

/* A space at home with KERNEL is about to map NODE; WRITTEN: so that it can write to it. One reference to NODE goes
 * along. -ENOMEM. */
int node_maps_grant(struct node *node, uint32_t kernel, bool written);
/* node->lock is held: a program has a mapping of it, or one that it may write. */
bool node_mapped_locked(const struct node *node);
bool node_maps_written_locked(const struct node *node);
/* node->lock is held: how often each kernel has it. */
void node_maps_granted_locked(const struct node *node, uint32_t granted[KERNELS_MAX]);
/* For the end of a node. */
void node_maps_free(struct node *node);
/* Programs stand still: what kernel FROM was granted is TO's. */
void node_maps_switch(uint32_t from, uint32_t to);

struct revocation;
struct revocation_range {
    uint64_t first, pages; /* that the file has lost */
    bool copies;           /* private copies of them go, too */
};

/* node->lock is held, and the node is mapped: memory for a revocation, or NULL. */
struct revocation *revocation_make_locked(struct node *node);
void revocation_drop(struct revocation *revocation);
/* node->lock is held: it begins. CUT has its frames, PAGES of them, and is empty then. */
void revocation_begin_locked(struct revocation *revocation, const struct revocation_range *range, struct page_tree *cut,
                             uint64_t pages);
/* Without locks: the kernels are told. Returns its number, for node_settle. */
uint64_t revocation_send(struct revocation *revocation);
/* Waits until revocation NUMBER of KERNEL is over. Tasks only. */
void node_settle(uint32_t kernel, uint64_t number);

/* Gives back the frames of CUT, about PAGES; many by a worker. */
void node_free_cut(struct page_tree *cut, uint64_t pages);
/* Calls EACH for every frame that revocations have. Programs stand still. */
void revocations_each(void (*each)(uint64_t frame, void *context), void *context);

/* Says to mm/ what can be mapped here, and registers the messages. Once. */
void node_map_init(void);

/* --- the home of spaces: kernel/fs/node/revoke.c --- */

struct msg_file_revoke { /* FILE_REVOKE */
    uint64_t first;      /* what is gone, from there on: mm/area/backing.h */
    uint64_t pages;
    uint64_t copies; /* 1: private copies go, too */
};

struct msg_file_settle { /* FILE_SETTLE */
    uint64_t number;
};

void revoke_init(void);
/* What MESSAGE says, for the spaces at home here. 0 or -ENOMEM: some may map it yet. Tasks only; waits. */
int revoke_here(const struct msg_file_revoke *message);

#endif
