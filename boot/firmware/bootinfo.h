/* The information of the firmware's boot protocol, in one form for every entry path.
 *
 * Filled by multiboot2_parse or pvh_parse; read by the plan and by instance 0. */
#ifndef BOOT_FIRMWARE_BOOTINFO_H
#define BOOT_FIRMWARE_BOOTINFO_H

#include <stdint.h>

#define BOOT_RANGES_MAX 128
#define BOOT_MODULES_MAX 8
#define BOOT_CMDLINE_MAX 2048

enum boot_memory_kind {
    BOOT_MEMORY_USABLE = 1,  /* RAM that Kettle may use */
    BOOT_MEMORY_RESERVED = 2 /* anything else */
};

struct boot_range {
    uint64_t base; /* physical, bytes */
    uint64_t size; /* bytes, never 0, base + size does not wrap */
    enum boot_memory_kind kind;
};

struct boot_module {
    uint64_t base; /* physical, bytes */
    uint64_t size; /* bytes, base + size does not wrap */
};

struct bootinfo {
    uint64_t rsdp; /* physical address of the ACPI RSDP, or 0 when it must be searched for */
    uint32_t range_count;
    uint32_t module_count;
    struct boot_range ranges[BOOT_RANGES_MAX];    /* in the firmware's order, may overlap */
    struct boot_module modules[BOOT_MODULES_MAX]; /* the first is the initramfs */
    char cmdline[BOOT_CMDLINE_MAX];               /* NUL-terminated */
};

/* For the parsers: empties *INFO. */
void bootinfo_reset(struct bootinfo *info);

/* For the parsers: adds a range of the firmware's map, whose TYPE is that of the BIOS call e820 (1 is usable). An
 * empty range is ignored. A range that wraps is cut at the end of the address space if it is reserved, and ignored if
 * it is usable. -E2BIG: no room. */
int bootinfo_add_range(struct bootinfo *info, uint64_t base, uint64_t size, uint32_t type);

/* For the parsers: adds a module. -EINVAL: its end wraps; -E2BIG: no room. */
int bootinfo_add_module(struct bootinfo *info, uint64_t base, uint64_t size);

#endif
