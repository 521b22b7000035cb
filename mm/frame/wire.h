/* Payloads of messages about frames of other kernels: mm/fork/fork.md. */
#ifndef MM_FRAME_WIRE_H
#define MM_FRAME_WIRE_H

#include <stdint.h>

/* FRAME_SOLE. FRAME_SHARE and FRAME_RELEASE carry any number of physical addresses as
 * uint64_t. */
struct msg_frame {
    uint64_t frame;
};

/* FRAME_GIVE */
struct msg_frame_wanted {
    uint64_t frame; /* to be copied, or 0 */
    uint64_t nodes; /* the nodes in whose memory the new one may be: a bit for each */
    uint32_t run;   /* 0: one frame, zeroed unless it is a copy; else at most so many in a row, contents unspecified */
    uint32_t least; /* with RUN: not fewer than so many */
};

/* FRAME_GIVE: the answer */
struct msg_frame_given {
    uint64_t frame; /* the first one */
    uint64_t count;
};

/* FRAME_SOLE: the answer */
struct msg_frame_spaces {
    uint64_t spaces;
};

_Static_assert(sizeof(struct msg_frame) == 8, "wire format");
_Static_assert(sizeof(struct msg_frame_wanted) == 24, "wire format");
_Static_assert(sizeof(struct msg_frame_given) == 16, "wire format");
_Static_assert(sizeof(struct msg_frame_spaces) == 8, "wire format");

#endif
