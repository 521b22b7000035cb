/* The files of a kernel that has died, and what it had of the files of others. kernel/machine/death.md has the
 * protocol.
 */
#ifndef KERNEL_FILE_MOVE_LOST_H
#define KERNEL_FILE_MOVE_LOST_H

#include <stdint.h>

void lost_files_init(void);
/* KERNEL has died and is fenced: nobody there polls files of this kernel any more, and the terminals of sessions there
 * hang up. Tasks only, as it may wait for other kernels; may be repeated. */
void lost_waits(uint32_t kernel);
/* While programs are quiesced, before its roles are forgotten: releases what KERNEL and its processes had of the files
 * of this kernel: opens, locks, grants of mappings. Files that nobody has open any more are closed, so the other ends
 * of pipes and sockets hang up. Returns how many opens; -ENOMEM, or an error of a kernel that was asked. Tasks only;
 * waits for the other kernels. */
int64_t lost_files(uint32_t kernel);

#endif
