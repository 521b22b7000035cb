/* The multiboot2 information structure (GNU multiboot2 specification 2.0, section 3.6). */
#ifndef BOOT_FIRMWARE_MULTIBOOT2_H
#define BOOT_FIRMWARE_MULTIBOOT2_H

#include <stdint.h>

#include "boot/firmware/bootinfo.h"
#include "boot/firmware/physmem.h"

#define MULTIBOOT2_LOADER_MAGIC 0x36d76289u /* in EAX at entry from a multiboot2 loader */

/* Decodes the structure at physical address INFO into *OUT.
 * -EINVAL: a tag does not fit, the total size is wrong, or the end tag or the memory map is missing. -E2BIG: too many
 * ranges or modules. -ENAMETOOLONG: the command line does not fit. *OUT is unspecified after an error. On success
 * out->rsdp points to the loader's copy of the RSDP inside the structure; of two copies the newer version is used. */
int multiboot2_parse(const struct physmem *memory, uint64_t info, struct bootinfo *out);

#endif
