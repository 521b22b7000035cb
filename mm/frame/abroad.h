/* References abroad: how many of the references to a frame of this kernel other kernels have. A frame counts all of its
 * references (mm/frame/frame.h), of which some are those of this kernel's own page tables and caches, and the rest are
 * abroad; so a peer can give back only what a peer has, and never what this kernel still maps. mm/fork/fork.md,
 * "References abroad", says when a reference goes and comes. Each function takes a frame that has references; none
 * waits. */
#ifndef MM_FRAME_ABROAD_H
#define MM_FRAME_ABROAD_H

#include <stdbool.h>
#include <stdint.h>

/* This many, and from then on as many as there are: the number is not known any more before the frame is free. */
#define ABROAD_UNKNOWN 0x7fffu

/* One of FRAME's references is another kernel's from now on. */
void abroad_add(uint64_t frame);
/* One of them is this kernel's again, or is dropped. False, and nothing has changed: none is abroad, or FRAME is no
 * frame of this kernel that has references. */
bool abroad_take(uint64_t frame);
/* How many are abroad, at most ABROAD_UNKNOWN. 0 also for a frame that is not this kernel's. */
uint32_t abroad_count(uint64_t frame);
/* Sets the number, counted while programs are quiesced; what is above ABROAD_UNKNOWN becomes it. */
void abroad_set(uint64_t frame, uint32_t count);

#endif
