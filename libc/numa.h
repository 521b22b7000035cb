/* Blocks of memory whose nodes a program chooses, for programs. Link with libkettle.a.
 *
 * A block is memory of its own of whole pages: a size is rounded up to these. Its pages get frames when they are first
 * touched, on the nodes that were chosen, and may move to others while threads on any kernel read and write them. A
 * node is preferred: if it has no memory, the page is on the nearest node that has some. A block is private to the
 * process; a page that a fork shares with another process stays where it is until one of them writes to it.
 *
 * All of this is made of Linux's calls (mmap, mbind, move_pages), so the same program runs on Linux, but for
 * kettle_block_move_later, kettle_block_replicate, kettle_block_follow and groups. Every function
 * that fails returns -1, or NULL, and sets errno; EINVAL is a node that the machine does not have, or a size of 0. The
 * functions may be called from any thread. kettle_numa (libc/kettle.h) chooses how Kettle itself moves memory to those
 * who use it. */
#ifndef LIBC_NUMA_H
#define LIBC_NUMA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KETTLE_NODES 64 /* a node is 0 to KETTLE_NODES - 1, a set of nodes has a bit for each */

/* Returns the set of nodes that have memory. */
uint64_t kettle_nodes(void);

/* --- blocks --- */

/* Make a block of SIZE bytes, all zeros. ENOMEM: there is no room for it.
 * local: a page is on the node of the CPU that touches it first.
 * on: on NODE.
 * interleaved: pages go round NODES in turn. 0: all nodes.
 * weighted: the same, but each node gets as many pages in a row as its weight says
 * (/sys/kernel/mm/mempolicy/weighted_interleave). EINVAL also: Linux before 6.9. */
void *kettle_block_local(size_t size);
void *kettle_block_on(size_t size, int node);
void *kettle_block_interleaved(size_t size, uint64_t nodes);
void *kettle_block_weighted(size_t size, uint64_t nodes);

/* Gives the block back. */
int kettle_block_free(void *block, size_t size);

/* --- moving, for a block or whole pages of it --- */

/* Moves the pages to NODE, and lets those that are touched later come there. Threads go on meanwhile; those that write
 * to a page wait until it has moved. Returns how many pages are elsewhere in the end, because the node has no memory or
 * because another process has them, too. EFAULT: a part is not mapped. */
long kettle_block_move(void *block, size_t size, int node);

/* Has each page move to NODE when it is touched next, by a CPU of any node, or with BY_TARGET (not 0) by one of NODE;
 * KETTLE_TOUCHER: to the node of the CPU that touches it. Nothing moves before, and a page that is never touched stays.
 * Pages that are touched for the first time later come there, too. A page that cannot move when it is touched stays.
 * Returns 0. This is Kettle's alone (MPOL_MF_LAZY, MPOL_MF_LAZY_TARGET: mm/move/lazy.md): EINVAL on Linux, and for
 * KETTLE_TOUCHER with BY_TARGET. EFAULT: a part is not mapped. */
#define KETTLE_TOUCHER (-1)
int kettle_block_move_later(void *block, size_t size, int node, int by_target);

/* Replicates the pages of the block that have been written: a kernel on another node than a page makes a copy of its
 * own when it reads the page next, so that all of its reads are local. A write takes all copies of its page away and
 * costs more than another write; the page has one frame from then on, until it is replicated again. Works for all
 * private anonymous memory. Returns how many pages are replicated now; others are not touched yet, or their policy
 * forbids the process's home kernel to have them. This is Kettle's alone (mm/replicate/replicate.md): ENOSYS elsewhere.
 * EINVAL: not whole pages; EOPNOTSUPP: the process's retrieval strategy has no directory; ENOMEM: a part has been
 * replicated. */
long kettle_block_replicate(void *block, size_t size);

/* Has the block follow its users within NODES (0: all nodes), by POLICY, a value of the option numa= (mm/numa.md) or
 * "default", the process's: as memory that mbind has bound to NODES with MPOL_F_NUMA_BALANCING, but with a policy of
 * its own, which may be "none". Works for all memory of whole pages, also part of a block; but what moves together
 * (numablock=, 64 KiB by default) goes by the policy of its first part, and of another part's only "none" and
 * "first-touch" are heeded. Kernels look at accesses only while the process has a policy other than none (kettle_numa);
 * with "first-touch" nothing else moves. Returns 0. This is Kettle's alone: ENOSYS elsewhere. EINVAL also: no such
 * policy, or not whole pages; EFAULT: a part is not mapped; ENOMEM: no memory, or the process has 255 policies. */
int kettle_block_follow(void *block, size_t size, uint64_t nodes, const char *policy);

/* --- groups of threads (mm/seen/group.md) --- */

/* A NUMA group is a number from 1 to KETTLE_GROUPS within a process: its memory is on the node where most of its
 * threads are, and follows when they move, once it is used and while the process has a policy of numa= other than none
 * (kettle_numa; "group" moves nothing else). Threads and children of a thread begin in its group. These are Kettle's
 * alone: ENOSYS elsewhere. EINVAL: there is no such group. */
#define KETTLE_GROUPS 15
/* Puts THREAD (a thread id of any process; 0: the caller) into GROUP of its process; 0: into none. Returns 0. ESRCH:
 * there is no such thread; EPERM: it is another user's, and the caller is not root. */
int kettle_group_join(int thread, int group);
/* Returns the group of THREAD, or 0. ESRCH. */
int kettle_group_of(int thread);
/* The pages of BLOCK belong to GROUP from now on, in place of the policy that they had; 0: to none. Returns 0. Works
 * for all memory of whole pages, as kettle_block_follow. EFAULT: a part is not mapped; ENOMEM: no memory, or the
 * process has 255 policies. */
int kettle_block_gather(void *block, size_t size, int group);

/* A placement: returns the node for page PAGE of a block of PAGES, or -1: it stays, and if it is not touched yet keeps
 * the policy that it has. */
typedef int (*kettle_placement)(void *context, size_t page, size_t pages);

/* Moves each page to the node that PLACE says. Returns how many are elsewhere in the end, as above. A row of pages for
 * one node is one mapping with a policy, of which the kernel bounds the number: an answer that changes from page to
 * page is dear. ENOMEM: that bound; some pages may have moved. EINVAL: an answer is no node; nothing has moved. */
long kettle_block_place(void *block, size_t size, kettle_placement place, void *context);

/* Registers a placement under NAME (1 to 31 bytes) for this process. CONTEXT is passed to it. EEXIST: the name is used;
 * ENOSPC: KETTLE_PLACEMENTS are registered. "parts", which is there from the start, divides a block into as many equal
 * parts as there are nodes, in the order of their numbers. */
#define KETTLE_PLACEMENTS 32
int kettle_placement_register(const char *name, kettle_placement place, void *context);
/* kettle_block_place by the placement that is registered as NAME. ENOENT: none is. */
long kettle_block_place_by(void *block, size_t size, const char *name);

/* --- asking --- */

/* Sets PAGES[n] to how many pages are on node n now. Returns their sum; pages that were never written are on no node,
 * and not counted. EFAULT: a part is not mapped. */
long kettle_block_where(const void *block, size_t size, size_t pages[KETTLE_NODES]);

/* Counters of a node since the machine was booted, in pages, as numastat(8) has them; and its memory in bytes. */
struct kettle_node_counts {
    uint64_t hit;        /* pages allocated here, as was wanted */
    uint64_t miss;       /* pages allocated here, which were wanted elsewhere */
    uint64_t foreign;    /* pages wanted here and allocated elsewhere */
    uint64_t interleave; /* of HIT: by interleaving */
    uint64_t local;      /* of HIT and MISS: allocated by a CPU of the node */
    uint64_t other;      /* of HIT and MISS: by a CPU of another node */
    uint64_t size, free;
};
/* ENOENT: there is no such node; EIO: what /sys says was not understood. */
int kettle_node_counts(int node, struct kettle_node_counts *counts);

#ifdef __cplusplus
}
#endif

#endif
