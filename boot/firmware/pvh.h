/* The PVH start information (Xen's hvm_start_info, which QEMU's -kernel passes in EBX). */
#ifndef BOOT_FIRMWARE_PVH_H
#define BOOT_FIRMWARE_PVH_H

#include <stdint.h>

#include "boot/firmware/bootinfo.h"
#include "boot/firmware/physmem.h"

/* Decodes the structure at physical address INFO into *OUT. Errors as multiboot2_parse; a wrong magic is
 * -EINVAL, and so is version 0, which has no memory map. */
int pvh_parse(const struct physmem *memory, uint64_t info, struct bootinfo *out);

#endif
