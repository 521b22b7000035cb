/* Revocations take pages from programs that map them when a file gets shorter. A revocation is under way until no
 * kernel maps the pages that were cut; until then it owns their frames. mm/file/file_map.md has the protocol. */
#ifndef KERNEL_FS_NODE_REVOCATION_H
#define KERNEL_FS_NODE_REVOCATION_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/fs/node/page_tree.h"
#include "kernel/lib/list.h"

struct node;

struct revocation;
struct revocation_range {
    uint64_t first, pages; /* that the file has lost */
    bool copies;           /* private copies of them go, too */
};

void revocation_init(void);
/* node->lock is held, and the node is mapped: memory for a revocation, or NULL. */
struct revocation *revocation_make_locked(struct node *node);
void revocation_drop(struct revocation *revocation);
/* node->lock is held: it begins. CUT has its frames, PAGES of them, and is empty then. */
void revocation_begin_locked(struct revocation *revocation, const struct revocation_range *range, struct page_tree *cut,
                             uint64_t pages);
/* Without locks: notifies the kernels. Returns the revocation's number, for node_settle. */
uint64_t revocation_send(struct revocation *revocation);
/* Waits until revocation NUMBER of KERNEL is over. Tasks only. */
void node_settle(uint32_t kernel, uint64_t number);

/* Gives back the frames of CUT, about PAGES; many by a worker. */
void node_free_cut(struct page_tree *cut, uint64_t pages);
/* Calls EACH for every frame that revocations have. Programs are quiesced. */
void revocations_each(void (*each)(uint64_t frame, void *context), void *context);

/* node->lock is held: another kernel is about to be granted NODE for a fork, whose child may have pages by way of its
 * parent that are being revoked: it is to be asked, too. The questions go to QUESTIONS. -ENOMEM. */
int revocations_join_locked(struct node *node, struct list *questions);
/* It has been granted, and node->lock is still held. */
void revocations_joined_locked(struct list *questions);
/* Without locks: KERNEL is asked QUESTIONS; JOINED false: they are thrown away. */
void revocations_ask(struct list *questions, bool joined, uint32_t kernel);

/* --- the home of spaces: kernel/fs/node/revoke.c --- */

struct msg_file_revoke { /* FILE_REVOKE */
    uint64_t first;      /* what is gone, from there on: mm/area/backing.h */
    uint64_t pages;
    uint64_t copies; /* 1: private copies go, too */
};

struct msg_file_settle { /* FILE_SETTLE */
    uint64_t number;
    uint64_t token; /* of the asker's wait (tasks/remote/notify.h) */
};

struct msg_file_settling {
    uint64_t waits; /* 1: it is notified when the revocation is over; 0: it is over */
};

void revoke_init(void);
/* What MESSAGE says, for the spaces at home here. 0 or -ENOMEM: some may map it yet. Tasks only; waits. */
int revoke_here(const struct msg_file_revoke *message);

#endif
