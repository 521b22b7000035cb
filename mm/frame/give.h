/* Frames of other kernels, for pages of programs on a kernel that has none left. */
#ifndef MM_FRAME_GIVE_H
#define MM_FRAME_GIVE_H

#include <stdint.h>

/* Registers the handler. Once. */
void give_init(void);

/* Returns a new frame of another kernel: of the one that gave the last, or else the nearest that has one. It is zeroed
 * or, if SOURCE is not 0, a copy of that frame, to which no thread may write meanwhile. The caller has one reference,
 * to be dropped by release_one. 0: no kernel has a frame. Tasks only: it asks one kernel after the other, and waits. */
uint64_t frame_from_peer(uint64_t source);
/* The same for a frame in the memory of NODE, of the nearest kernel that has one there. */
uint64_t frame_from_node(uint32_t node, uint64_t source);
/* Returns LEAST to MOST new frames in a row (1 to 512) in the memory of NODE, *COUNT of them, contents unspecified,
 * each with one reference; aligned as those of frame_alloc_run. 0: there are none. Tasks only; waits. */
uint64_t frame_run_from_node(uint32_t node, uint32_t most, uint32_t least, uint32_t *count);

#endif
