/* NUMA policies, as Linux's set_mempolicy(2) and mbind(2) have them: on which nodes the pages of a program are placed.
 * A thread has a policy, and so may a part of an address space, whose policy takes precedence. A page gets its frame by
 * it when it is first touched, copied, or moved. mm/mempolicy/mempolicy.md has the protocol.
 *
 * An area names its policy by a number (AREA_POLICY), which means the same policy on every kernel of the space as long
 * as the space exists. The home assigns the numbers; another kernel asks the home once what a number means. */
#ifndef MM_MEMPOLICY_POLICY_H
#define MM_MEMPOLICY_POLICY_H

#include <stdbool.h>
#include <stdint.h>

/* As Linux's MPOL_*. */
enum policy_mode {
    POLICY_DEFAULT, /* of a thread: near the CPU; of an area: the thread's policy */
    POLICY_PREFERRED,
    POLICY_BIND,
    POLICY_INTERLEAVE,
    POLICY_LOCAL,
    POLICY_PREFERRED_MANY,
    POLICY_WEIGHTED, /* MPOL_WEIGHTED_INTERLEAVE: since Linux 6.9 */
    POLICY_MODES
};
#define POLICY_STATIC 0x8000u    /* the node numbers are absolute */
#define POLICY_RELATIVE 0x4000u  /* the node numbers count within the set of existing nodes */
#define POLICY_BALANCING 0x2000u /* with BIND: pages may follow their users (mm/numa.md) */
#define POLICY_FLAGS (POLICY_STATIC | POLICY_RELATIVE | POLICY_BALANCING)
/* Not of a program's mode: only a CPU of the nodes moves a marked page by touching it (mm/move/lazy.md). */
#define POLICY_BY_TARGET 1u
/* Nor this: with BALANCING, 1 + the policy by which pages follow their users (mm/seen/choice.h); 0: the process's. */
#define POLICY_FOLLOW_SHIFT 4u
#define POLICY_FOLLOW_MOST 0x1fu
/* And of that: the NUMA group of the memory, which the policy "group" follows (mm/seen/group.md). */
#define POLICY_GROUP_SHIFT 9u
#define POLICY_GROUP_MOST 0xfu

struct policy {
    uint16_t mode;  /* enum policy_mode; all fields 0: no policy */
    uint16_t flags; /* POLICY_FLAGS, POLICY_BY_TARGET, POLICY_FOLLOW_SHIFT, POLICY_GROUP_SHIFT */
    uint32_t home;  /* 1 + the node to be near to; 0: the node of the touching CPU */
    uint64_t nodes; /* the allowed nodes, a bit for each */
    uint64_t asked; /* with STATIC or RELATIVE: the nodes as the caller gave them */
};

/* --- evaluating a policy: without state, mm/mempolicy/choice.c --- */

/* Makes *OUT from MODE (with flags) and the nodes ASKED, on a machine with NODES. EMPTY: the caller gave no nodes.
 * -EINVAL as Linux's calls. */
int mempolicy_make(uint32_t mode, uint64_t asked, bool empty, uint64_t nodes, struct policy *out);
/* Returns the nodes that the policy allows for PAGE (an address); 0: near the touching CPU. *STRICT: no other node will
 * do. */
uint64_t mempolicy_nodes(const struct policy *policy, uint64_t page, bool *strict);
/* The same for a large page, POLICY_BLOCK pages, in which PAGE is: such are spread one by one, as on Linux. */
#define POLICY_BLOCK 512u
uint64_t mempolicy_block_nodes(const struct policy *policy, uint64_t page);
/* Returns the nodes on which the policy leaves a PAGE that exists: as in Linux, any of the nodes over which it spreads
 * pages. 0: near the touching CPU. */
uint64_t mempolicy_leaves(const struct policy *policy, uint64_t page);
/* True if a CPU of NODE moves a marked PAGE by touching it (mm/move/lazy.md). */
bool mempolicy_lets_move(const struct policy *policy, uint64_t page, uint32_t node);
/* True if the policy spreads pages over its nodes by their addresses. */
bool policy_interleaves(const struct policy *policy);
bool policy_equal(const struct policy *a, const struct policy *b);
static inline uint32_t policy_follow(const struct policy *policy)
{
    return (uint32_t)policy->flags >> POLICY_FOLLOW_SHIFT & POLICY_FOLLOW_MOST;
}
static inline uint32_t policy_group(const struct policy *policy)
{
    return (uint32_t)policy->flags >> POLICY_GROUP_SHIFT & POLICY_GROUP_MOST;
}
/* Returns the node of TO, which is not empty, at the position that NODE has in FROM, modulo the size of TO; NODE itself
 * if it is not in FROM. */
uint32_t mempolicy_remap(uint32_t node, uint64_t from, uint64_t to);

/* --- policies of a space --- */

#define POLICY_MAX 255u /* policies in one space */

struct space;

struct mempolicy_list; /* mm/space/space.h */
/* Frees the list at the end of a space. */
void mempolicy_list_free(struct mempolicy_list *list);

/* Returns the number of POLICY, which is not DEFAULT, in SPACE. -ENOMEM: there are POLICY_MAX others, or there is no
 * memory. Waits for the home. */
int64_t mempolicy_number(struct space *space, const struct policy *policy);
/* Sets *OUT to the policy NUMBER of an area of SPACE. -ENOMEM, -EPROTO. Waits for the home if the number is not known
 * here. */
int mempolicy_find(struct space *space, uint32_t number, struct policy *out);
/* The same without waiting; false: the number is not known here. */
bool policy_known(struct space *space, uint32_t number, struct policy *out);
/* The same for the space with ID, whose home is HOME, whether it is on this kernel or not. -ESRCH, -EPROTO, -ENOMEM. */
int mempolicy_ask(uint32_t home, uint64_t id, uint32_t number, struct policy *out);
/* The same as policy_known with space->lock held; NULL: not known. */
const struct policy *policy_known_locked(const struct space *space, uint32_t number);
/* Records that NUMBER, 1 to POLICY_MAX, means POLICY. -ENOMEM, -EPROTO. */
int mempolicy_note(struct space *space, uint32_t number, const struct policy *policy);
/* Copies to CHILD, which a fork has just made and which no other task uses, the policies of PARENT that CHILD's areas
 * name. Waits for the home of PARENT. */
int mempolicy_inherit(struct space *parent, struct space *child);
/* Registers the message handlers. Once. */
void policy_init(void);

/* --- frames --- */

/* [i] Returns the policy of the current thread, or NULL. */
extern const struct policy *(*policy_of_task)(void);

/* Allocates a frame of this kernel, whatever the policy: on the node of the CPU if this kernel has memory there. Counts
 * it. 0: there is none. */
uint64_t mempolicy_frame_near(bool zeroed);
/* Allocates a frame of this kernel for PAGE in an area with PROT, by the area's or the thread's policy, with
 * space->lock held. 0: there is none; *ELSEWHERE then says that the policy is not known here or allows other memory, so
 * that mempolicy_frame may find a frame. */
uint64_t mempolicy_frame_here_locked(const struct space *space, uint32_t prot, uint64_t page, bool zeroed,
                                     bool *elsewhere);
/* True if, by the policy, a frame of this kernel is the first choice for PAGE. */
bool mempolicy_is_near_locked(const struct space *space, uint32_t prot, uint64_t page);
/* True if the policy is known here, so that mempolicy_block can find a block. */
bool mempolicy_is_known_locked(const struct space *space, uint32_t prot);
/* At the home, with space->lock held: true if the area's policy allows a block that FRAME is in; 0: it is known, and
 * may allow one. The touching kernel knows the policy of its thread. */
bool mempolicy_accepts_block_locked(const struct space *space, uint32_t prot, uint64_t page, uint64_t frame);
/* At the home, with space->lock held: true if FRAME, which the touching kernel chose by the policies that it knows, is
 * allowed for PAGE. */
bool mempolicy_accepts_locked(const struct space *space, uint32_t prot, uint64_t page, uint64_t frame);
/* The home has taken FRAME by that, from a kernel that did not know the page's area: counts it if the area interleaves.
 */
void mempolicy_count_taken_locked(const struct space *space, uint32_t prot, uint64_t frame);
/* Allocates a frame of any kernel for PAGE, zeroed or a copy of SOURCE (not 0), to which nobody writes. A frame of
 * another kernel has its reference counted, a frame of this kernel has not: see space_drop_new. 0: there is none on an
 * allowed node. Waits for other kernels. */
uint64_t mempolicy_frame(struct space *space, uint32_t prot, uint64_t page, uint64_t source);
/* Allocates POLICY_BLOCK frames in a row for the large page around PAGE, aligned, contents unspecified, of any kernel,
 * on a node that the policy allows for it; each with its reference counted. They count as one page, as on Linux. 0:
 * there are none. Waits for other kernels. */
uint64_t mempolicy_block(struct space *space, uint32_t prot, uint64_t page);
/* Allocates at most MOST frames in a row (1 to 512) of any kernel, on one of NODES, the nearest that has memory: *COUNT
 * of them, contents unspecified, each with its reference counted. 0: there is none. Waits for other kernels. */
uint64_t policy_frames_on(uint64_t nodes, uint32_t most, uint32_t *count);

/* Where a new page of an object (a file, shared memory) is wanted. */
struct placement {
    uint64_t nodes;     /* that are allowed, all of them nodes of which kernels own memory; 0: any */
    uint32_t centre;    /* the nearest to this node is the first choice */
    uint8_t strict;     /* 1: no other node will do */
    uint8_t interleave; /* 1: the policy spreads pages over its nodes */
};
/* Sets *OUT to where POLICY, or for NULL that of the current thread, wants a new page of an object which a CPU of node
 * CENTRE touches. A policy that names no nodes wants it on CENTRE, as far as that has memory. INDEX, by which
 * INTERLEAVE selects the node: the number of the page in the object, so that it does not matter who touches it first;
 * for a thread's policy that of its address. */
void mempolicy_place(const struct policy *policy, uint64_t index, uint32_t centre, struct placement *out);
/* Allocates a zeroed frame of this kernel on the first choice of WHERE. 0: there is none there. */
uint64_t mempolicy_frame_placed_here(const struct placement *where);
/* Allocates a zeroed frame of any kernel by WHERE, on another node if none of its nodes has memory and it is not
 * strict. 0: there is none. References as for mempolicy_frame. Waits for other kernels. */
uint64_t mempolicy_frame_placed(const struct placement *where);
/* Returns the node of the current CPU. */
uint32_t mempolicy_own_node(void);
/* True if POLICY, as a message has it, is one that mempolicy_make makes, and not DEFAULT. */
bool mempolicy_is_valid(const struct policy *policy);
/* Returns the node of FRAME. */
uint32_t policy_node_of(uint64_t frame);
/* Returns the nodes of the machine of which kernels own memory. */
uint64_t policy_machine_nodes(void);

#endif
