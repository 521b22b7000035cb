/* Single frames that each CPU keeps for itself, for mm/frame only. Most pages come from and return to these without a
 * search for a block, a split or a merge, and without the lock of the blocks. Some of the frames are zeroed ahead of
 * their use, by a CPU that has nothing else to do.
 *
 * The frames that a CPU keeps are free: they are counted so, and whoever finds no free block takes them back
 * (cache_drain). A CPU keeps frames of one node, its own if this instance has memory there. */
#ifndef MM_FRAME_CACHE_H
#define MM_FRAME_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "mm/frame/buddy.h"

/* Lets the calling CPU, which is on NODE, keep frames. Once for each CPU, when all ranges have been added. */
void cache_start(uint32_t node);
/* Takes a frame of a node in SET from the calling CPU, which gets more from the free blocks if it has none. The frame
 * is in state USED and has no references; ZEROED: it is filled with zeros. 0: the CPU keeps no frames of SET, or there
 * are none. */
uint64_t cache_take(uint64_t set, bool zeroed);
/* The same for a page of a program or a file. Many in a row have consecutive frames, which other kernels fetch as one
 * run, as far as there are free blocks; the first few may be what has just been given to this CPU. */
uint64_t cache_take_page(uint64_t set, bool zeroed);
/* Gives FRAME, which lies in RANGE and has no references, to the calling CPU; ZEROED: it is filled with zeros. It goes
 * to the free blocks if the CPU keeps none of its node, and some frames do if the CPU has too many. */
void cache_give(struct range *range, uint64_t frame, bool zeroed);
/* Returns what all CPUs keep to the free blocks. True: there was something. */
bool cache_drain(void);
/* Frames that CPUs keep, of a node in SET. */
uint64_t cache_count(uint64_t set);

#endif
