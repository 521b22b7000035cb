/* Images of the kernel in files, from which kernel 0 starts another kernel: kernel/machine/update.md. */
#ifndef KERNEL_MACHINE_IMAGE_H
#define KERNEL_MACHINE_IMAGE_H

#include <stdint.h>

#include "kernel/file/wire.h"
#include "kernel/instance/image.h"

/* On kernel 0: reads the image in the open file at PLACE and checks it; *HEADER is its header. TO is NULL, or
 * gets its bytes, ROOM at most. Errors, of which the log says more: -ENOEXEC: the file is no image, or has been
 * damaged; -EPROTO: kernels of this image and of this machine do not understand one another; -ENOSPC: it does not fit
 * into ROOM bytes, with all its data; and those of read(2); -ESRCH: the file has been closed. Tasks only: waits for the
 * file. */
int image_read(const struct file_place *place, uint8_t *to, uint64_t room, struct image_header *header);

#endif
