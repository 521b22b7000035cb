/* Payloads of messages about frames of other kernels: mm/fork/fork.md. */
#ifndef MM_FRAME_WIRE_H
#define MM_FRAME_WIRE_H

#include <stdint.h>

/* FRAME_SOLE, and the answer to FRAME_GIVE. FRAME_SHARE and FRAME_RELEASE carry any number of physical addresses as
 * uint64_t. */
struct msg_frame {
    uint64_t frame;
};

/* FRAME_GIVE */
struct msg_frame_wanted {
    uint64_t frame; /* to be copied, or 0 */
    uint64_t nodes; /* the nodes in whose memory the new one may be: a bit for each */
};

/* FRAME_SOLE: the answer */
struct msg_frame_spaces {
    uint64_t spaces;
};

_Static_assert(sizeof(struct msg_frame) == 8, "wire format");
_Static_assert(sizeof(struct msg_frame_wanted) == 16, "wire format");
_Static_assert(sizeof(struct msg_frame_spaces) == 8, "wire format");

#endif
