/* Policies of a file: where new pages of it are placed, whoever makes them (mbind of a mapping, as for Linux's
 * tmpfs), and getting frames by them for calls that write. mm/mempolicy/mempolicy.md, "Pages of objects".
 *
 * Functions with _locked are called with node->lock held. */
#ifndef KERNEL_FS_NODE_POLICY_H
#define KERNEL_FS_NODE_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/fs/node/node.h"

struct policy; /* mm/mempolicy/mempolicy.h */

/* New pages of the COUNT pages from FIRST on are placed by POLICY, or for DEFAULT by that of the thread that makes
 * them. -ENOMEM: nothing has changed; the ranges of a file may also be too many, or its user have too much of
 * QUOTA_FILE_BYTES, from which they are taken. The user pays for what others set, so a few ranges are too many unless
 * the caller MAY_WRITE the file. */
int node_policy_set(struct node *node, uint64_t first, uint64_t count, bool may_write, const struct policy *policy);
/* The policy of page PAGE; NULL: none. It is valid until the lock is released. */
const struct policy *node_policy_locked(const struct node *node, uint64_t page);
/* Before a call writes the bytes from START up to *END: gives the pages that lack a frame, and have a policy, or for
 * which OTHER is one, a frame of this kernel. CENTRE: the node of the thread that calls. -EXDEV: one is wanted
 * elsewhere, and node_policy_await gets it, whose error is REFUSED when the call tries again; with that, pages that may
 * be anywhere are left without a frame. Another page that cannot have one becomes *END, or if it is the first, its
 * error is the answer: REFUSED, -ENOMEM or -EDQUOT. */
int node_policy_write_locked(struct node *node, uint64_t start, uint64_t *end, const struct policy *other,
                             uint32_t centre, int refused);
/* The first of the bytes from START up to END whose page lacks a frame; END: there is none. */
uint64_t node_frames_end_locked(const struct node *node, uint64_t start, uint64_t end);
/* After -EXDEV: gets frames for these pages from any kernel. 0; -ENOSPC: there is none for one of them; -EDQUOT: the
 * user has too many pages. Pages in front of that have got theirs. Tasks only; waits. */
int node_policy_await(struct node *node, uint64_t start, uint64_t end, const struct policy *other, uint32_t centre);
/* Frees what a node that ends has. */
void node_policy_free(struct node *node);

#endif
