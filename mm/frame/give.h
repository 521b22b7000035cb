/* Frames of other kernels, for pages of programs on a kernel that has none left. */
#ifndef MM_FRAME_GIVE_H
#define MM_FRAME_GIVE_H

#include <stdint.h>

/* Registers the handler. Once. */
void give_init(void);

/* A new frame of another kernel's, of the nearest that has one: zeroed, or a copy of SOURCE, which nobody writes to.
 * One reference is counted, the caller's, to be given back by release_one. 0: no kernel has one. Tasks only: it waits
 * for them, one after the other. */
uint64_t frame_from_peer(uint64_t source);
/* The same, on NODE. */
uint64_t frame_from_node(uint32_t node, uint64_t source);

#endif
