/* Memory of a kernel that is to stop: its successor takes over the content of every frame that programs use, and the
 * page table entries through which the kernel holds frames go to the homes of the spaces. All programs are quiesced.
 * tasks/handover/stop_kernel.md has the protocol. */
#ifndef MM_EVACUATE_EVACUATE_H
#define MM_EVACUATE_EVACUATE_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/mempolicy/mempolicy.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"

void evacuate_init(void);

/* The kernel that is to stop; tasks only, they wait. Each: 0, -ENOMEM, or -EBUSY: something is not as it has to be.
 *
 * What this kernel may change by itself, and what others may of spaces at home here, is known to the homes. */
int evacuate_leases(void);
/* SUCCESSOR copies every frame of ours that a space has. */
int evacuate_frames(uint32_t successor);
/* Every kernel, this one too, maps the copies in place of the frames. Cannot fail. */
void evacuate_tell_pairs(void);
/* What this kernel maps (of spaces at home here) or holds (of others) goes to the space's home, or to SUCCESSOR in our
 * place. PREPARE: only sees that there is room; after that the rest cannot fail. */
int evacuate_entries(uint32_t successor, bool prepare);

/* The successor: a space that it is going to have. */
struct space_facts {
    uint64_t members;
    uint64_t break_start, break_now;
    uint32_t home;     /* as it is going to be */
    uint32_t complete; /* 1: this kernel is going to be its home: areas follow */
    uint64_t mode;     /* names the retrieval strategy */
    uint64_t later;    /* what new areas get (mlockall) */
};
/* Makes space ID here or finds it. Any context. -ENOMEM. */
int evacuate_stage(uint64_t id, const struct space_facts *facts, struct space **space);
/* Areas of it, in ascending order. -ENOMEM, -EPROTO: it has not been staged. */
int evacuate_stage_areas(uint64_t id, const struct msg_space_area *areas, uint32_t count);
/* The policy of a number in it. -ENOMEM, -EPROTO. */
int evacuate_stage_policy(uint64_t id, uint64_t number, const struct policy *policy);
/* They are as they were told to be. */
void evacuate_commit(void);

/* Any kernel: what was prepared for is not done. */
void evacuate_discard(void);
/* The copies are in use; no space has threads on FROM, and what was at home there is at home at TO; ADDED to the
 * members of spaces at home here are done already. */
void evacuate_switch(uint32_t from, uint32_t to);
/* Page table entries of programs here that name memory of KERNEL. */
uint64_t evacuate_audit(uint32_t kernel);

#endif
