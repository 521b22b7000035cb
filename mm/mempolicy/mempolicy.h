/* Where the pages of programs are to be: NUMA policies, as Linux's set_mempolicy(2) and mbind(2) have them. A thread
 * has one, and so may a part of an address space, which comes first; a page gets its frame by it when it is first
 * touched, copied, or moved. mm/mempolicy/mempolicy.md has the protocol.
 *
 * An area names its policy by a number (AREA_POLICY), which means the same on every kernel of the space and never
 * another one: the home gives it, other kernels ask once what it means. */
#ifndef MM_MEMPOLICY_POLICY_H
#define MM_MEMPOLICY_POLICY_H

#include <stdbool.h>
#include <stdint.h>

/* As Linux's MPOL_*. */
enum policy_mode {
    POLICY_DEFAULT, /* of a thread: near; of an area: the thread's */
    POLICY_PREFERRED,
    POLICY_BIND,
    POLICY_INTERLEAVE,
    POLICY_LOCAL,
    POLICY_PREFERRED_MANY,
    POLICY_MODES
};
#define POLICY_STATIC 0x8000u    /* nodes as they are numbered */
#define POLICY_RELATIVE 0x4000u  /* nodes are counted among those there are */
#define POLICY_BALANCING 0x2000u /* with BIND: pages may follow their users; they do not */
#define POLICY_FLAGS (POLICY_STATIC | POLICY_RELATIVE | POLICY_BALANCING)

struct policy {
    uint16_t mode;  /* enum policy_mode; all of it 0: no policy */
    uint16_t flags; /* POLICY_* */
    uint32_t home;  /* 1 + the node that is to be near, 0: the toucher's */
    uint64_t nodes; /* a bit for each that there is */
    uint64_t asked; /* with STATIC or RELATIVE: as they were given */
};

/* --- what a policy says: no state, mm/mempolicy/choice.c --- */

/* MODE (with flags) for the nodes ASKED, EMPTY unless one is given, on a machine with NODES: *OUT. -EINVAL as Linux's
 * calls. */
int mempolicy_make(uint32_t mode, uint64_t asked, bool empty, uint64_t nodes, struct policy *out);
/* The nodes that PAGE (an address) is to be on; 0: near the toucher. *STRICT: on no other. */
uint64_t mempolicy_nodes(const struct policy *policy, uint64_t page, bool *strict);
bool policy_equal(const struct policy *a, const struct policy *b);
/* The nth node of FROM in turn becomes the nth of TO, which is not empty. */
uint32_t mempolicy_remap(uint32_t node, uint64_t from, uint64_t to);

/* --- policies of a space --- */

#define POLICY_MAX 255u /* different ones in one space */

struct space;

struct mempolicy_list; /* mm/space/space.h */
/* The end of a space. */
void mempolicy_list_free(struct mempolicy_list *list);

/* The number of POLICY, which is not DEFAULT, in SPACE; -ENOMEM: there are POLICY_MAX others, or no memory. Waits for
 * the home. */
int64_t mempolicy_number(struct space *space, const struct policy *policy);
/* What NUMBER, which an area of SPACE has, means. -ENOMEM, -EPROTO. Waits for the home, once. */
int mempolicy_find(struct space *space, uint32_t number, struct policy *out);
/* What is known of it here, without waiting. */
bool policy_known(struct space *space, uint32_t number, struct policy *out);
/* NUMBER, 1 to POLICY_MAX, means POLICY. -ENOMEM, -EPROTO. */
int mempolicy_note(struct space *space, uint32_t number, const struct policy *policy);
/* CHILD, a fork's and still unknown to others, has areas of PARENT: their policies become its own. Waits. */
int mempolicy_inherit(struct space *parent, struct space *child);
/* Registers the messages. Once. */
void policy_init(void);

/* --- frames --- */

/* [i] The policy of the current thread, or NULL. */
extern const struct policy *(*policy_of_task)(void);

/* A frame of this kernel, near the CPU as far as it has one there, whatever a policy says; counted. 0: there is none.
 */
uint64_t mempolicy_frame_near(bool zeroed);
/* space->lock is held. A frame of this kernel's for PAGE, in an area with PROT, as that or the thread wants it; 0:
 * there is none, or it has to be of another kernel's memory (*ELSEWHERE), or that is not known without a question. */
uint64_t mempolicy_frame_here_locked(const struct space *space, uint32_t prot, uint64_t page, bool zeroed,
                                     bool *elsewhere);
/* The same is said of a frame to come: this kernel's nearest would do. */
bool mempolicy_is_near_locked(const struct space *space, uint32_t prot, uint64_t page);
/* At the home, space->lock held: FRAME, whose toucher chose it by what it knows, may be PAGE's. */
bool mempolicy_accepts_locked(const struct space *space, uint32_t prot, uint64_t page, uint64_t frame);
/* A frame for PAGE, of any kernel, zeroed or a copy of SOURCE (not 0), which nobody writes to. A peer's has a reference
 * counted, ours has none: see space_drop_new. 0: there is none where it may be. Waits for peers. */
uint64_t mempolicy_frame(struct space *space, uint32_t prot, uint64_t page, uint64_t source);
/* The same on one of NODES. */
uint64_t policy_frame_on(uint64_t nodes, uint64_t source);
/* The node that FRAME is on. */
uint32_t policy_node_of(uint64_t frame);
/* The machine's nodes that kernels own memory of. */
uint64_t policy_machine_nodes(void);

#endif
