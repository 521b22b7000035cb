/* The multiboot2 information structure (GNU multiboot2 specification 2.0, section 3.6). */
#ifndef BOOT_FIRMWARE_MULTIBOOT2_H
#define BOOT_FIRMWARE_MULTIBOOT2_H

#include <stdint.h>

#include "boot/firmware/bootinfo.h"
#include "boot/firmware/physmem.h"

#define MULTIBOOT2_LOADER_MAGIC 0x36d76289u /* in EAX when a multiboot2 loader enters */

/* Decodes the structure at physical address INFO into *OUT.
 * A tag that does not fit, a wrong total size, no end tag or no memory map: -EINVAL. More ranges or modules than there
 * is room for: -E2BIG. A command line that does not fit: -ENAMETOOLONG. *OUT is unspecified after an error.
 * out->rsdp then points into the structure itself, which holds the copy; the newer of two copies is taken. */
int multiboot2_parse(const struct physmem *memory, uint64_t info, struct bootinfo *out);

#endif
