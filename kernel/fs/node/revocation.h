/* Revocations unmap pages from programs when a file loses them (truncation or hole punching). A revocation is under way
 * until all kernels that map the lost pages have replied; until then it owns the frames. mm/file/file_map.md has the
 * protocol. */
#ifndef KERNEL_FS_NODE_REVOCATION_H
#define KERNEL_FS_NODE_REVOCATION_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/fs/node/page_tree.h"
#include "kernel/lib/list.h"

struct node;

struct revocation;
struct revocation_range {
    uint64_t first, pages; /* the pages that the file has lost */
    bool copies;           /* private copies of the pages are unmapped, too */
};

void revocation_init(void);
/* Allocates a revocation and the requests that it needs, or returns NULL. node->lock is held, and the node is mapped.
 */
struct revocation *revocation_make_locked(struct node *node);
void revocation_drop(struct revocation *revocation);
/* Begins REVOCATION. node->lock is held. The frames of CUT, about PAGES, move to the revocation, and CUT is empty then.
 */
void revocation_begin_locked(struct revocation *revocation, const struct revocation_range *range, struct page_tree *cut,
                             uint64_t pages);
/* Asks the kernels that map the file to unmap the pages. No locks are held. Returns the revocation's number, for
 * node_settle. */
uint64_t revocation_send(struct revocation *revocation);
/* Waits until revocation NUMBER of KERNEL is over. Tasks only. */
void node_settle(uint32_t kernel, uint64_t number);

/* Frees the frames of CUT, about PAGES; a worker frees a large number. */
void node_free_cut(struct page_tree *cut, uint64_t pages);
struct content;

/* What is done with the pages of a content from *PAGE on, as many as *LEFT: true if there are more. */
typedef bool (*content_visit)(struct content *content, uint64_t *page, uint32_t *left, void *context);

/* VISIT for the frames that revocations own, and that are being freed, each with a content that has them, from the
 * revocation *INDEX on, and its page *PAGE. From the first call to the last, programs are quiesced and no worker is
 * busy with files: the index is a place in a list. */
bool revocations_some(uint64_t *index, uint64_t *page, uint32_t *left, content_visit visit, void *context);

/* Another kernel is about to be granted NODE for a fork. The child may inherit pages that are being revoked, so that
 * kernel must be asked to revoke them, too. Puts the necessary requests into QUESTIONS. node->lock is held. -ENOMEM. */
int revocations_join_locked(struct node *node, struct list *questions);
/* The grant has succeeded, and node->lock is still held: the revocations now count the replies to QUESTIONS. */
void revocations_joined_locked(struct list *questions);
/* Sends QUESTIONS to KERNEL if JOINED, else frees them. No locks are held. */
void revocations_ask(struct list *questions, bool joined, uint32_t kernel);

/* --- the home of spaces: kernel/fs/node/revoke.c --- */

struct msg_file_revoke { /* FILE_REVOKE */
    uint64_t first;      /* first lost page, a word of mm/area/backing.h */
    uint64_t pages;
    uint64_t copies; /* 1: private copies are unmapped, too */
};

struct msg_file_punch { /* FILE_PUNCH */
    uint64_t backing;   /* of the first page: an object of the receiver */
    uint64_t pages;     /* at least 1 */
};

struct msg_file_punched {
    uint64_t settles; /* 1: FILE_SETTLE with NUMBER waits until no program maps the pages any more */
    uint64_t number;
};

struct msg_file_settle { /* FILE_SETTLE */
    uint64_t number;
    uint64_t token; /* of the sender's wait (tasks/remote/notify.h) */
};

struct msg_file_settling {
    uint64_t waits; /* 1: the sender is notified when the revocation is over; 0: it is over already */
};

void revoke_init(void);
/* Unmaps the pages of MESSAGE in all spaces at home here. -ENOMEM: some may still be mapped. Tasks only; waits. */
int revoke_here(const struct msg_file_revoke *message);

#endif
