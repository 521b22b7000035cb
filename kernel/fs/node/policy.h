/* Policies of a file: where new pages of it are placed, whoever makes them (mbind of a shared mapping, as for Linux's
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
 * QUOTA_FILE_BYTES, from which they are taken. */
int node_policy_set(struct node *node, uint64_t first, uint64_t count, const struct policy *policy);
/* The policy of page PAGE; NULL: none. It is valid until the lock is released. */
const struct policy *node_policy_locked(const struct node *node, uint64_t page);
/* Before a call writes the bytes from START up to END: gives the pages that lack a frame, and have a policy, or for
 * which OTHER is one, a frame of this kernel. CENTRE: the node of the thread that calls. -EAGAIN: one is wanted
 * elsewhere, and node_policy_await gets it; -ENOMEM: there is none where it has to be. */
int node_policy_write_locked(struct node *node, uint64_t start, uint64_t end, const struct policy *other,
                             uint32_t centre);
/* True if one of the pages of these bytes lacks a frame. */
bool node_lacks_frames_locked(const struct node *node, uint64_t start, uint64_t end);
/* After -EAGAIN: gets frames for these pages from other kernels. Tasks only; waits. */
void node_policy_await(struct node *node);
/* Frees what a node that ends has. */
void node_policy_free(struct node *node);

#endif
