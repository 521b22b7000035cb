/* Payloads about frames of other kernels: mm/fork/fork.md. */
#ifndef MM_FRAME_WIRE_H
#define MM_FRAME_WIRE_H

#include <stdint.h>

/* FRAME_SOLE; FRAME_GIVE's answer. FRAME_SHARE and FRAME_RELEASE have any number of uint64_t, the physical addresses.
 */
struct msg_frame {
    uint64_t frame;
};

/* FRAME_GIVE */
struct msg_frame_wanted {
    uint64_t frame; /* to be copied, or 0 */
    uint64_t nodes; /* where the new one may be: a bit for each */
};

/* FRAME_SOLE: the answer */
struct msg_frame_spaces {
    uint64_t spaces;
};

_Static_assert(sizeof(struct msg_frame) == 8, "wire format");
_Static_assert(sizeof(struct msg_frame_wanted) == 16, "wire format");
_Static_assert(sizeof(struct msg_frame_spaces) == 8, "wire format");

#endif
