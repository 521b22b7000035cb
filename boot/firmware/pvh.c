/* Decoder for the PVH start information, version 1 (with a memory map) and its backward-compatible successors. An
 * address of zero means that the item is absent. */
#include "boot/firmware/pvh.h"

#include "kernel/abi/errno.h"
#include "kernel/lib/string.h"

#define PVH_MAGIC 0x336ec578u

struct pvh_start {
    uint32_t magic;
    uint32_t version;
    uint32_t flags;
    uint32_t module_count;
    uint64_t modules; /* physical address of the module list */
    uint64_t cmdline; /* physical address of a NUL-terminated string */
    uint64_t rsdp;    /* physical address */
    uint64_t memory_map;
    uint32_t memory_map_count;
    uint32_t reserved;
};

struct pvh_module {
    uint64_t base;
    uint64_t size;
    uint64_t cmdline;
    uint64_t reserved;
};

struct pvh_memory {
    uint64_t base;
    uint64_t size;
    uint32_t type; /* as the BIOS call e820 */
    uint32_t reserved;
};

_Static_assert(sizeof(struct pvh_start) == 56, "PVH start information, version 1");
_Static_assert(sizeof(struct pvh_module) == 32, "PVH module entry");
_Static_assert(sizeof(struct pvh_memory) == 24, "PVH memory map entry");

/* The length of the string is not known in advance, so the string is mapped a byte at a time. */
static int read_command_line(const struct physmem *memory, uint64_t address, char out[BOOT_CMDLINE_MAX])
{
    if (address == 0)
        return 0;
    for (uint32_t i = 0; i < BOOT_CMDLINE_MAX; i++) {
        if (i > UINT64_MAX - address)
            return -EINVAL;
        const char *byte = memory->map(memory->context, address + i, 1);
        if (!byte)
            return -EINVAL;
        out[i] = *byte;
        if (*byte == '\0')
            return 0;
    }
    out[0] = '\0';
    return -ENAMETOOLONG;
}

static int read_modules(const struct physmem *memory, const struct pvh_start *start, struct bootinfo *out)
{
    if (start->module_count == 0)
        return 0;
    if (start->module_count > BOOT_MODULES_MAX)
        return -E2BIG;
    const uint8_t *list = memory->map(memory->context, start->modules, start->module_count * sizeof(struct pvh_module));
    if (!list)
        return -EINVAL;
    for (uint32_t i = 0; i < start->module_count; i++) {
        struct pvh_module module;
        memcpy(&module, list + i * sizeof(module), sizeof(module));
        int error = bootinfo_add_module(out, module.base, module.size);
        if (error)
            return error;
    }
    return 0;
}

static int read_memory_map(const struct physmem *memory, const struct pvh_start *start, struct bootinfo *out)
{
    if (start->memory_map_count == 0)
        return -EINVAL;
    if (start->memory_map_count > BOOT_RANGES_MAX)
        return -E2BIG;
    const uint8_t *map = memory->map(memory->context, start->memory_map,
                                     start->memory_map_count * sizeof(struct pvh_memory));
    if (!map)
        return -EINVAL;
    for (uint32_t i = 0; i < start->memory_map_count; i++) {
        struct pvh_memory entry;
        memcpy(&entry, map + i * sizeof(entry), sizeof(entry));
        int error = bootinfo_add_range(out, entry.base, entry.size, entry.type);
        if (error)
            return error;
    }
    return out->range_count > 0 ? 0 : -EINVAL;
}

int pvh_parse(const struct physmem *memory, uint64_t info, struct bootinfo *out)
{
    struct pvh_start start;
    const void *bytes = memory->map(memory->context, info, sizeof(start));

    bootinfo_reset(out);
    if (!bytes)
        return -EINVAL;
    memcpy(&start, bytes, sizeof(start));
    if (start.magic != PVH_MAGIC || start.version == 0)
        return -EINVAL;
    out->rsdp = start.rsdp;
    int error = read_command_line(memory, start.cmdline, out->cmdline);
    if (!error)
        error = read_modules(memory, &start, out);
    if (!error)
        error = read_memory_map(memory, &start, out);
    return error;
}
