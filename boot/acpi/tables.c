/* Finds the ACPI tables: the RSDP, then the XSDT or RSDT, then every table that it lists. A table is valid if its
 * length is plausible, all of it can be read and its bytes sum to zero; the first valid table of each name is used. */
#include "boot/acpi/internal.h"
#include "kernel/abi/errno.h"
#include "kernel/lib/string.h"

#define TABLE_LENGTH_MAX (1u << 20) /* far above any real length: bounds the work that a damaged length can cause */
#define ROOT_ENTRIES_MAX 256u

#define EBDA_SEGMENT_ADDRESS 0x40e /* the BIOS data area keeps the real-mode segment of the EBDA here */
#define EBDA_SEARCH_SIZE 1024
#define BIOS_AREA_START 0xe0000
#define BIOS_AREA_END 0x100000
#define RSDP_ALIGNMENT 16

struct rsdp {
    char signature[8];
    uint8_t checksum; /* makes the first 20 bytes sum to zero */
    char oem_id[6];
    uint8_t revision; /* 0: ACPI 1.0, which ends with the RSDT's address */
    uint32_t rsdt;
    uint32_t length; /* bytes of the whole structure */
    uint64_t xsdt;
    uint8_t extended_checksum; /* makes all bytes sum to zero */
    uint8_t reserved[3];
} __attribute__((packed));

struct table_header {
    char signature[4];
    uint32_t length; /* bytes, with this header */
    uint8_t revision;
    uint8_t checksum; /* makes all bytes sum to zero */
    char oem_id[6];
    char oem_table_id[8];
    uint32_t oem_revision;
    uint32_t creator_id;
    uint32_t creator_revision;
};

#define RSDP_OLD_SIZE 20

_Static_assert(sizeof(struct rsdp) == 36, "ACPI RSDP");
_Static_assert(sizeof(struct table_header) == 36, "ACPI table header");

static bool sums_to_zero(const uint8_t *bytes, uint32_t length)
{
    uint8_t sum = 0;

    for (uint32_t i = 0; i < length; i++)
        sum = (uint8_t)(sum + bytes[i]);
    return sum == 0;
}

/* Reads and verifies the RSDP at ADDRESS. An RSDP of ACPI 1.0 has no XSDT: its field is then 0. */
static bool read_rsdp(const struct physmem *memory, uint64_t address, struct rsdp *out)
{
    const uint8_t *bytes = memory->map(memory->context, address, RSDP_OLD_SIZE);

    if (!bytes || memcmp(bytes, "RSD PTR ", 8) != 0 || !sums_to_zero(bytes, RSDP_OLD_SIZE))
        return false;
    memset(out, 0, sizeof(*out));
    memcpy(out, bytes, RSDP_OLD_SIZE);
    if (out->revision < 2)
        return true;
    bytes = memory->map(memory->context, address, sizeof(*out));
    if (!bytes)
        return false;
    memcpy(out, bytes, sizeof(*out));
    if (out->length < sizeof(*out) || out->length > TABLE_LENGTH_MAX)
        return false;
    bytes = memory->map(memory->context, address, out->length);
    return bytes && sums_to_zero(bytes, out->length);
}

static bool search_rsdp(const struct physmem *memory, uint64_t start, uint64_t end, struct rsdp *out)
{
    for (uint64_t address = start; address < end; address += RSDP_ALIGNMENT) {
        if (read_rsdp(memory, address, out))
            return true;
    }
    return false;
}

static bool search_bios(const struct physmem *memory, struct rsdp *out)
{
    const void *bytes = memory->map(memory->context, EBDA_SEGMENT_ADDRESS, sizeof(uint16_t));

    if (bytes) {
        uint16_t segment;
        memcpy(&segment, bytes, sizeof(segment));
        uint64_t ebda = (uint64_t)segment << 4;
        if (ebda != 0 && search_rsdp(memory, ebda, ebda + EBDA_SEARCH_SIZE, out))
            return true;
    }
    return search_rsdp(memory, BIOS_AREA_START, BIOS_AREA_END, out);
}

static bool read_header(const struct physmem *memory, uint64_t address, struct table_header *header)
{
    const void *bytes = memory->map(memory->context, address, sizeof(*header));

    if (bytes)
        memcpy(header, bytes, sizeof(*header));
    return bytes != NULL;
}

/* Verifies the table with HEADER at ADDRESS and records it. */
static bool read_table(const struct physmem *memory, uint64_t address, const struct table_header *header,
                       const struct acpi_report *report, struct acpi_table *out)
{
    const uint8_t *bytes = NULL;
    const char *fault = NULL;

    if (header->length < sizeof(*header) || header->length > TABLE_LENGTH_MAX)
        fault = "bad length";
    else if (!(bytes = memory->map(memory->context, address, header->length)))
        fault = "lies outside readable memory";
    else if (!sums_to_zero(bytes, header->length))
        fault = "bad checksum";
    if (fault) {
        acpi_say(report, "%.4s at 0x%llx ignored: %s", header->signature, (unsigned long long)address, fault);
        return false;
    }
    *out = (struct acpi_table){.bytes = bytes, .length = header->length, .revision = header->revision};
    return true;
}

/* Reads an RSDT or XSDT, whose entries are ENTRY_SIZE bytes. */
static bool read_root(const struct physmem *memory, uint64_t address, const char *signature, uint32_t entry_size,
                      const struct acpi_report *report, struct acpi_table *out)
{
    struct table_header header;

    if (address == 0)
        return false;
    if (!read_header(memory, address, &header) || memcmp(header.signature, signature, 4) != 0) {
        acpi_say(report, "no %s at 0x%llx", signature, (unsigned long long)address);
        return false;
    }
    if (!read_table(memory, address, &header, report, out))
        return false;
    uint32_t body = out->length - (uint32_t)sizeof(header);
    if (body % entry_size != 0 || body / entry_size > ROOT_ENTRIES_MAX) {
        acpi_say(report, "%s ignored: bad length", signature);
        return false;
    }
    return true;
}

static void read_listed(const struct physmem *memory, uint64_t address, const struct acpi_report *report,
                        struct acpi_tables *out)
{
    const struct {
        const char *signature;
        struct acpi_table *table;
    } wanted[] = {{"APIC", &out->madt}, {"SRAT", &out->srat}, {"SLIT", &out->slit}};
    struct table_header header;

    if (!read_header(memory, address, &header)) {
        acpi_say(report, "table at 0x%llx ignored: lies outside readable memory", (unsigned long long)address);
        return;
    }
    for (uint32_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        if (memcmp(header.signature, wanted[i].signature, 4) != 0)
            continue;
        if (wanted[i].table->bytes)
            acpi_say(report, "second %s ignored", wanted[i].signature);
        else
            read_table(memory, address, &header, report, wanted[i].table);
    }
}

int acpi_find_tables(const struct physmem *memory, uint64_t rsdp_address, const struct acpi_report *report,
                     struct acpi_tables *out)
{
    struct acpi_table root;
    struct rsdp rsdp;
    uint32_t entry_size;

    memset(out, 0, sizeof(*out));
    bool found = rsdp_address != 0 && read_rsdp(memory, rsdp_address, &rsdp);
    if (rsdp_address != 0 && !found)
        acpi_say(report, "no valid RSDP at 0x%llx", (unsigned long long)rsdp_address);
    if (!found && !search_bios(memory, &rsdp)) {
        acpi_say(report, "no RSDP found");
        return -ENOENT;
    }

    if (read_root(memory, rsdp.xsdt, "XSDT", sizeof(uint64_t), report, &root))
        entry_size = sizeof(uint64_t);
    else if (read_root(memory, rsdp.rsdt, "RSDT", sizeof(uint32_t), report, &root))
        entry_size = sizeof(uint32_t);
    else
        return 0;
    for (uint32_t at = sizeof(struct table_header); at < root.length; at += entry_size) {
        uint64_t address = 0;
        memcpy(&address, root.bytes + at, entry_size);
        read_listed(memory, address, report, out);
    }
    return 0;
}

bool acpi_entries_valid(const struct acpi_table *table, uint32_t offset, const uint8_t *minimum, uint32_t count)
{
    while (offset < table->length) {
        if (table->length - offset < 2)
            return false;
        uint8_t type = table->bytes[offset];
        uint8_t length = table->bytes[offset + 1];
        if (length < 2 || length > table->length - offset)
            return false;
        if (type < count && length < minimum[type])
            return false;
        offset += length;
    }
    return true;
}

bool acpi_entry_next(const struct acpi_table *table, uint32_t *offset, struct acpi_entry *entry)
{
    if (*offset >= table->length)
        return false;
    entry->bytes = table->bytes + *offset;
    entry->type = entry->bytes[0];
    entry->length = entry->bytes[1];
    *offset += entry->length;
    return true;
}
