/* Evacuation of the memory of a kernel that is to stop: its successor copies every frame that programs use, and the
 * kernel's page table entries that hold references go to the homes of the spaces. All programs are quiesced.
 * tasks/handover/stop_kernel.md has the protocol. */
#ifndef MM_EVACUATE_EVACUATE_H
#define MM_EVACUATE_EVACUATE_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/mempolicy/mempolicy.h"
#include "mm/space/space.h"
#include "mm/space/wire.h"

/* Registers the handlers. Once. */
void evacuate_init(void);

/* --- the kernel that is to stop; tasks only, they wait; the functions with a result return 0 or a negative errno ---
 */

/* Has the homes recall all leases that this kernel knows: its own, and those of others in spaces at home here. */
int evacuate_leases(void);
/* Has SUCCESSOR copy every frame of this kernel that a space has. */
int evacuate_frames(uint32_t successor);
/* Has every other kernel keep the pairs of frame and copy for evacuate_replace. */
int evacuate_send_pairs(void);
/* Sends this kernel's entries to the home of their space, or to SUCCESSOR if this kernel is the home: all entries of
 * spaces at home here, and the owning ones of other spaces. With PREPARE, the receiver only makes room for them; after
 * that, sending them cannot fail. -EBUSY: an entry is pending free. */
int evacuate_entries(uint32_t successor, bool prepare);

/* --- the successor --- */

/* A space that the successor takes over, or joins. */
struct space_facts {
    uint64_t members;
    uint64_t break_start, break_now;
    uint32_t home;     /* the future home */
    uint32_t complete; /* 1: this kernel becomes the home, and areas follow */
    uint64_t mode;     /* the retrieval strategy, as struct space's mode */
    uint64_t later;    /* as struct space's later (mlockall) */
    uint64_t marked;   /* if COMPLETE: the kernels that the directory has everywhere */
};
/* Creates space ID, unpublished, or finds it here; FACTS take effect at evacuate_commit. Any context. -ENOMEM. */
int evacuate_stage(uint64_t id, const struct space_facts *facts, struct space **space);
/* Adds areas of a staged space, in ascending order. -ENOMEM; -EPROTO: the space has not been staged. */
int evacuate_stage_areas(uint64_t id, const struct msg_space_area *areas, uint32_t count);
/* Adds marks to the directory of a staged space. -EPROTO: the space has not been staged. */
int evacuate_stage_marks(uint64_t id, const struct sharers_range *ranges, uint32_t count);
/* Sets policy NUMBER of a staged space, at once. -ENOMEM, -EPROTO. */
int evacuate_stage_policy(uint64_t id, uint64_t number, const struct policy *policy);
/* Gives the staged spaces their facts and areas, and publishes those that are new. */
void evacuate_commit(void);

/* --- any kernel --- */

/* Maps the copies in place of the frames of the kernel that is to stop. Cannot fail. Tasks only, in slices. */
void evacuate_replace(void);

/* Undoes what was prepared: the stop has been given up. */
void evacuate_discard(void);
/* Removes FROM, which has stopped, from the members of all spaces, makes TO the home of those whose home was FROM, and
 * forgets the leases of FROM. New members of spaces at home here have been added before. */
void evacuate_switch(uint32_t from, uint32_t to);
/* Returns the number of page table entries of programs and pages of files here that name memory of KERNEL, and of
 * spaces here whose home or member it is; all should be gone after evacuate_switch. */
uint64_t evacuate_audit(uint32_t kernel);

#endif
