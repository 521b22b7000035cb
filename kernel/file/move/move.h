/* Open files and descriptor tables of a kernel that is to stop go to its successor, while all programs are quiesced. A
 * file keeps its id, which nobody else in the machine has. tasks/handover/stop_kernel.md has the protocol. */
#ifndef KERNEL_FILE_MOVE_MOVE_H
#define KERNEL_FILE_MOVE_MOVE_H

#include <stdint.h>

void move_init(void);

/* The kernel that is to stop. 0, or -EBUSY: a file of it is bound to it, or in use. */
int move_check(void);
/* Lays out its files and tables at SUCCESSOR, after handover_prepare. -ENOMEM. Tasks only; waits. */
int move_files(uint32_t successor);

/* Any kernel: what was laid out is forgotten; before handover_discard. */
void move_discard(void);
/* Any kernel but FROM: files that were there are at TO, after handover_switch. */
void move_switch(uint32_t from, uint32_t to);

#endif
