/* References of address spaces to frames of any kernel. The owner of a frame, the kernel whose memory it is, counts
 * them (mm/frame/frame.h); other kernels report changes to it in batches. mm/fork/fork.md has the protocol. */
#ifndef MM_FRAME_REFERENCE_H
#define MM_FRAME_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/abi/limits.h"
#include "kernel/arch/x86_64/base/layout.h"
#include "msg/request/call.h"

/* Registers the handlers. Once. */
void reference_init(void);

/* The kernel whose memory FRAME is, or KERNELS_MAX if it belongs to no kernel. */
uint32_t frame_owner(uint64_t frame);
/* True when FRAME, from a message, is the address of a frame of a kernel, and nothing else. */
static inline bool frame_exists(uint64_t frame)
{
    return (frame & (PAGE_SIZE - 1)) == 0 && frame_owner(frame) < KERNELS_MAX;
}

/* References to be dropped, in one batch for each owner. Starts as {0}. */
struct releasing {
    struct release_batch *batches;
};
/* Drops one reference to FRAME: at once if the frame is this kernel's, else with the next batch to its owner. -ENOMEM:
 * not dropped. release_add and release_send may be called in any context and never wait. */
int release_add(struct releasing *releasing, uint64_t frame);
/* Sends the batches that release_add has gathered; does not wait for the owners' answers. */
void release_send(struct releasing *releasing);
/* Drops one reference without allocating memory. Tasks only: it waits for the owner. */
void release_one(uint64_t frame);

/* A reference to a frame of another kernel's memory that can be dropped anywhere, without memory. FRAME is whoever's
 * has it. */
struct frame_reference {
    uint64_t frame;
    struct msg_asking asking;
};
/* Drops the reference, and frees REFERENCE, which is of the heap. Any context; never waits. */
void frame_reference_drop(struct frame_reference *reference);

/* Counts one more reference for each of COUNT frames of KERNEL, another kernel, while other references keep them
 * allocated. 0, or a negative errno: then none is counted. Tasks only; waits; at most MSG_MAX bytes of FRAMES. */
int share_frames(uint32_t kernel, const uint64_t *frames, uint32_t count);

/* True when the caller's reference to FRAME is the only one. False also on an error, which only makes the caller copy
 * the page. Tasks only; waits. */
bool frame_is_sole(uint64_t frame);

#endif
