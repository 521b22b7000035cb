/* Decoder for the multiboot2 information structure: a total size and a list of tags, each aligned to eight bytes. The
 * tags for memory, modules, the command line and ACPI are read, the others skipped. */
#include "boot/firmware/multiboot2.h"

#include <stdbool.h>

#include "kernel/abi/errno.h"
#include "kernel/lib/string.h"

enum {
    TAG_END = 0,
    TAG_COMMAND_LINE = 1,
    TAG_MODULE = 3,
    TAG_MEMORY_MAP = 6,
    TAG_ACPI_OLD = 14, /* holds a copy of the ACPI 1.0 RSDP */
    TAG_ACPI_NEW = 15, /* holds a copy of the ACPI 2.0 RSDP */
};

struct info_header {
    uint32_t total_size; /* bytes with this header and the end tag */
    uint32_t reserved;
};

struct tag_header {
    uint32_t type;
    uint32_t size; /* bytes with this header, without the padding behind it */
};

struct module_tag {
    struct tag_header header;
    uint32_t start; /* physical */
    uint32_t end;   /* first byte behind it; the module's own command line follows */
};

struct memory_map_tag {
    struct tag_header header;
    uint32_t entry_size; /* a multiple of eight, may grow in later versions */
    uint32_t entry_version;
};

struct memory_map_entry {
    uint64_t base;
    uint64_t length;
    uint32_t type;
    uint32_t reserved;
};

_Static_assert(sizeof(struct tag_header) == 8, "multiboot2 tag header");
_Static_assert(sizeof(struct module_tag) == 16, "multiboot2 module tag");
_Static_assert(sizeof(struct memory_map_tag) == 16, "multiboot2 memory map tag");
_Static_assert(sizeof(struct memory_map_entry) == 24, "multiboot2 memory map entry");

#define RSDP_OLD_SIZE 20
#define RSDP_NEW_SIZE 36

static int read_command_line(const uint8_t *tag, uint32_t size, struct bootinfo *out)
{
    const char *text = (const char *)tag + sizeof(struct tag_header);
    size_t room = size - sizeof(struct tag_header);
    size_t length = strnlen(text, room);

    if (length == room)
        return -EINVAL;
    if (length >= BOOT_CMDLINE_MAX)
        return -ENAMETOOLONG;
    memcpy(out->cmdline, text, length + 1);
    return 0;
}

static int read_module(const uint8_t *tag, uint32_t size, struct bootinfo *out)
{
    struct module_tag module;

    if (size < sizeof(module))
        return -EINVAL;
    memcpy(&module, tag, sizeof(module));
    if (module.end < module.start)
        return -EINVAL;
    return bootinfo_add_module(out, module.start, module.end - module.start);
}

static int read_memory_map(const uint8_t *tag, uint32_t size, struct bootinfo *out)
{
    struct memory_map_tag map;

    if (size < sizeof(map))
        return -EINVAL;
    memcpy(&map, tag, sizeof(map));
    size -= sizeof(map);
    if (map.entry_size < sizeof(struct memory_map_entry) || size % map.entry_size != 0)
        return -EINVAL;
    for (uint32_t offset = 0; offset < size; offset += map.entry_size) {
        struct memory_map_entry entry;
        memcpy(&entry, tag + sizeof(map) + offset, sizeof(entry));
        int error = bootinfo_add_range(out, entry.base, entry.length, entry.type);
        if (error)
            return error;
    }
    return 0;
}

static int read_tag(const uint8_t *tag, const struct tag_header *header, uint64_t address, bool *rsdp_new,
                    struct bootinfo *out)
{
    switch (header->type) {
    case TAG_COMMAND_LINE:
        return read_command_line(tag, header->size, out);
    case TAG_MODULE:
        return read_module(tag, header->size, out);
    case TAG_MEMORY_MAP:
        return read_memory_map(tag, header->size, out);
    case TAG_ACPI_OLD:
        if (header->size < sizeof(*header) + RSDP_OLD_SIZE)
            return -EINVAL;
        if (!*rsdp_new)
            out->rsdp = address + sizeof(*header);
        return 0;
    case TAG_ACPI_NEW:
        if (header->size < sizeof(*header) + RSDP_NEW_SIZE)
            return -EINVAL;
        out->rsdp = address + sizeof(*header);
        *rsdp_new = true;
        return 0;
    default:
        return 0;
    }
}

int multiboot2_parse(const struct physmem *memory, uint64_t info, struct bootinfo *out)
{
    struct info_header header;
    const uint8_t *bytes = memory->map(memory->context, info, sizeof(header));
    bool rsdp_new = false;

    bootinfo_reset(out);
    if (!bytes || info % 8 != 0)
        return -EINVAL;
    memcpy(&header, bytes, sizeof(header));
    bytes = memory->map(memory->context, info, header.total_size);
    if (!bytes || header.total_size < sizeof(header))
        return -EINVAL;

    uint32_t offset = sizeof(header);
    for (;;) {
        struct tag_header tag;
        if (header.total_size - offset < sizeof(tag))
            return -EINVAL;
        memcpy(&tag, bytes + offset, sizeof(tag));
        if (tag.size < sizeof(tag) || tag.size > header.total_size - offset)
            return -EINVAL;
        if (tag.type == TAG_END)
            break;
        int error = read_tag(bytes + offset, &tag, info + offset, &rsdp_new, out);
        if (error)
            return error;
        uint32_t left = header.total_size - offset - tag.size;
        uint32_t padding = (8 - tag.size % 8) % 8;
        if (padding > left)
            return -EINVAL;
        offset += tag.size + padding;
    }
    return out->range_count > 0 ? 0 : -EINVAL;
}
