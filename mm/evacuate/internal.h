/* What the files of the evacuation share: its payloads (85 to 87 in msg/messages.def), and what the other side does. */
#ifndef MM_EVACUATE_INTERNAL_H
#define MM_EVACUATE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

struct msg_evacuate {
    uint64_t space;   /* EVACUATE_ENTRIES: its id */
    uint32_t count;   /* of what follows */
    uint32_t prepare; /* EVACUATE_ENTRIES: 1: only make room */
};

struct shared_frame { /* EVACUATE_FRAMES; answered with as many uint64_t, the copies */
    uint64_t frame, spaces;
};

struct frame_pair { /* EVACUATE_PAIRS; ascending */
    uint64_t old, new;
};

struct moved_entry { /* EVACUATE_ENTRIES */
    uint64_t page;
    uint64_t entry; /* as in the sender's page table */
};

#define FRAMES_MAX 2048u /* of one message */
#define PAIRS_MAX 4000u

/* Every page table here that names a frame of PAIRS names its copy. */
void evacuate_replace(const struct frame_pair *pairs, uint32_t count);
/* The successor: the copies, and the spaces that were staged, are in use, or (UNDO) not needed. */
void evacuate_drop_staged(bool undo);

#endif
