/* Open files and descriptor tables of a kernel that is to stop go to its successor, while all programs are quiesced. A
 * file keeps its id, which is unique in the machine. tasks/handover/stop_kernel.md has the protocol. */
#ifndef KERNEL_FILE_MOVE_MOVE_H
#define KERNEL_FILE_MOVE_MOVE_H

#include <stdint.h>

void move_init(void);

/* On the kernel that is to stop. 0, or -EBUSY: one of its files cannot move, or is in use. */
int move_check(void);
/* Makes copies of its files and tables at SUCCESSOR, after handover_prepare. -ENOMEM. Tasks only; waits. */
int move_files(uint32_t successor);

/* On any kernel: drops the copies, before handover_discard. */
void move_discard(void);
/* On any kernel but FROM, after handover_switch: from now on the files of FROM are at TO. */
void move_switch(uint32_t from, uint32_t to);

#endif
