/* References of address spaces to frames, wherever the frame's memory is. The owner of a frame, the kernel whose memory
 * it is, counts the spaces that have it (mm/frame/frame.h); others tell it in batches. mm/fork/fork.md has the
 * protocol. */
#ifndef MM_FRAME_REFERENCE_H
#define MM_FRAME_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

/* Registers the handlers. Once. */
void reference_init(void);

/* The kernel whose memory FRAME is, or KERNELS_MAX when it is nobody's. */
uint32_t frame_owner(uint64_t frame);

/* References to be let go of, in one batch for each owner. Starts as {0}. */
struct releasing {
    struct release_batch *batches;
};
/* Lets go of one reference to FRAME: an own one at once, a peer's with the next batch. -ENOMEM: still held. Any
 * context; never waits, as release_send. */
int release_add(struct releasing *releasing, uint64_t frame);
/* Sends what release_add has gathered. The owners' answers are not waited for. */
void release_send(struct releasing *releasing);
/* Lets go of one reference, with no memory needed. Tasks only: it waits for the owner. */
void release_one(uint64_t frame);

/* Counts one space more for each of COUNT frames of KERNEL, which other references keep allocated meanwhile. 0 or a
 * negative errno: then none is counted. Tasks only; at most MSG_MAX bytes. */
int share_frames(uint32_t kernel, const uint64_t *frames, uint32_t count);

/* True when FRAME, which one reference of the caller's keeps allocated, has no other. Tasks only. On an error of the
 * owner false: a copy is never wrong. */
bool frame_is_sole(uint64_t frame);

#endif
