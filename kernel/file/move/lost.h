/* The files of a kernel that has died, and what it had of the files of others. kernel/machine/death.md has the
 * protocol.
 */
#ifndef KERNEL_FILE_MOVE_LOST_H
#define KERNEL_FILE_MOVE_LOST_H

#include <stdint.h>

#include "msg/message.h"

/* KERNEL has died and is fenced: nobody there polls files of this kernel any more, and the terminals of sessions there
 * hang up. Tasks only, as it may wait for other kernels; may be repeated. */
void lost_waits(uint32_t kernel);
/* While programs are quiesced, in two steps, because what the second one closes may have files of other kernels, which
 * these must have counted before. The first counts which opens of this kernel's files are accounted for here or by a
 * proxy of OTHERS, which are all other kernels that run; nothing changes. 0; -ENOMEM, or an error of a kernel that was
 * asked. Tasks only; waits for the other kernels; may be repeated. */
int64_t lost_files_count(kernel_set others);
/* The second, once all kernels have counted and before the roles of LOST are forgotten: releases what LOST and their
 * processes had of the files of this kernel: opens, locks, and grants of mappings, also those that one of LOST had got
 * for another kernel. Files that nobody has open any more are closed, so the other ends of pipes and sockets hang up.
 * Returns how many opens and grants. -ENOMEM, or an error of a kernel of OTHERS that was asked: only grants, if
 * anything, are released. Tasks only; waits for the other kernels; may be repeated, from the first step on. */
int64_t lost_files_drop(kernel_set lost, kernel_set others);

#endif
