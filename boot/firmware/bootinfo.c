/* Functions that fill a struct bootinfo, shared by the multiboot2 and the PVH parser. */
#include "boot/firmware/bootinfo.h"

#include "kernel/abi/errno.h"

#define E820_USABLE 1

void bootinfo_reset(struct bootinfo *info)
{
    info->rsdp = 0;
    info->range_count = 0;
    info->module_count = 0;
    info->cmdline[0] = '\0';
}

int bootinfo_add_range(struct bootinfo *info, uint64_t base, uint64_t size, uint32_t type)
{
    /* A damaged entry may only remove memory, never add it. */
    if (size > UINT64_MAX - base) {
        if (type == E820_USABLE)
            return 0;
        size = UINT64_MAX - base;
    }
    if (size == 0)
        return 0;
    if (info->range_count == BOOT_RANGES_MAX)
        return -E2BIG;
    info->ranges[info->range_count++] = (struct boot_range){
        .base = base,
        .size = size,
        .kind = type == E820_USABLE ? BOOT_MEMORY_USABLE : BOOT_MEMORY_RESERVED,
    };
    return 0;
}

int bootinfo_add_module(struct bootinfo *info, uint64_t base, uint64_t size)
{
    if (size > UINT64_MAX - base)
        return -EINVAL;
    if (info->module_count == BOOT_MODULES_MAX)
        return -E2BIG;
    info->modules[info->module_count++] = (struct boot_module){.base = base, .size = size};
    return 0;
}
