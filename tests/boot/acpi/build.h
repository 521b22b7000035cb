/* Builds ACPI tables for tests, field by field from the ACPI 6.4 layouts, independently of the reader's structs. */
#ifndef TESTS_BOOT_ACPI_BUILD_H
#define TESTS_BOOT_ACPI_BUILD_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/boot/physical.h"

#define BUILD_RSDP 0x10000u
#define BUILD_TABLES 0x20000u
#define BUILD_STEP 0x10000u /* from one table to the next */

struct table {
    uint32_t length;
    uint8_t bytes[16384];
};

static inline void build_put16(uint8_t *at, uint16_t value)
{
    memcpy(at, &value, sizeof(value));
}

static inline void build_put32(uint8_t *at, uint32_t value)
{
    memcpy(at, &value, sizeof(value));
}

static inline void build_put64(uint8_t *at, uint64_t value)
{
    memcpy(at, &value, sizeof(value));
}

/* Makes the first LENGTH bytes sum to zero by way of the byte at CHECKSUM, if it is among them. */
static inline void build_sum(uint8_t *bytes, uint32_t length, uint32_t checksum)
{
    uint8_t sum = 0;

    if (checksum >= length)
        return;
    bytes[checksum] = 0;
    for (uint32_t i = 0; i < length; i++)
        sum = (uint8_t)(sum + bytes[i]);
    bytes[checksum] = (uint8_t)-sum;
}

/* Repairs the checksum of a table whose bytes were changed. */
static inline void build_repair(uint8_t *table, uint32_t length)
{
    build_sum(table, length, 9);
}

static inline void table_append(struct table *table, const void *bytes, size_t size)
{
    if (size > sizeof(table->bytes) - table->length)
        abort();
    memcpy(table->bytes + table->length, bytes, size);
    table->length += (uint32_t)size;
}

static inline struct table table_start(const char *signature, uint8_t revision, uint32_t header)
{
    struct table table = {.length = header};

    memcpy(table.bytes, signature, 4);
    table.bytes[8] = revision;
    memcpy(table.bytes + 10, "KETTLETESTED", 12);
    return table;
}

static inline struct table madt_start(uint32_t lapic)
{
    struct table table = table_start("APIC", 3, 44);

    build_put32(table.bytes + 36, lapic);
    return table;
}

static inline void madt_lapic(struct table *madt, uint32_t uid, uint32_t apic_id, uint32_t flags)
{
    uint8_t entry[8] = {0, 8, (uint8_t)uid, (uint8_t)apic_id};

    build_put32(entry + 4, flags);
    table_append(madt, entry, sizeof(entry));
}

static inline void madt_x2apic(struct table *madt, uint32_t uid, uint32_t apic_id, uint32_t flags)
{
    uint8_t entry[16] = {9, 16};

    build_put32(entry + 4, apic_id);
    build_put32(entry + 8, flags);
    build_put32(entry + 12, uid);
    table_append(madt, entry, sizeof(entry));
}

static inline void madt_ioapic(struct table *madt, uint32_t address, uint32_t gsi)
{
    uint8_t entry[12] = {1, 12};

    build_put32(entry + 4, address);
    build_put32(entry + 8, gsi);
    table_append(madt, entry, sizeof(entry));
}

static inline void madt_override(struct table *madt, uint8_t bus, uint8_t irq, uint32_t gsi, uint16_t flags)
{
    uint8_t entry[10] = {2, 10, bus, irq};

    build_put32(entry + 4, gsi);
    build_put16(entry + 8, flags);
    table_append(madt, entry, sizeof(entry));
}

static inline void madt_lapic_address(struct table *madt, uint64_t address)
{
    uint8_t entry[12] = {5, 12};

    build_put64(entry + 4, address);
    table_append(madt, entry, sizeof(entry));
}

static inline struct table srat_start(uint8_t revision)
{
    return table_start("SRAT", revision, 48);
}

static inline void srat_cpu(struct table *srat, uint32_t domain, uint32_t apic_id, uint32_t flags)
{
    uint8_t entry[16] = {0, 16, (uint8_t)domain, (uint8_t)apic_id};

    build_put32(entry + 4, flags);
    entry[9] = (uint8_t)(domain >> 8);
    entry[10] = (uint8_t)(domain >> 16);
    entry[11] = (uint8_t)(domain >> 24);
    table_append(srat, entry, sizeof(entry));
}

static inline void srat_x2apic(struct table *srat, uint32_t domain, uint32_t apic_id, uint32_t flags)
{
    uint8_t entry[24] = {2, 24};

    build_put32(entry + 4, domain);
    build_put32(entry + 8, apic_id);
    build_put32(entry + 12, flags);
    table_append(srat, entry, sizeof(entry));
}

static inline void srat_memory(struct table *srat, uint32_t domain, uint64_t base, uint64_t size, uint32_t flags)
{
    uint8_t entry[40] = {1, 40};

    build_put32(entry + 2, domain);
    build_put64(entry + 8, base);
    build_put64(entry + 16, size);
    build_put32(entry + 28, flags);
    table_append(srat, entry, sizeof(entry));
}

/* A SLIT that says it has ROWS rows and holds SIZE bytes of matrix. */
static inline struct table slit_of(uint64_t rows, const uint8_t *matrix, size_t size)
{
    struct table table = table_start("SLIT", 1, 44);

    build_put64(table.bytes + 36, rows);
    table_append(&table, matrix, size);
    return table;
}

/* Puts TABLE into memory at ADDRESS with its length and checksum. */
static inline void build_place(struct physical *physical, uint64_t address, const struct table *table)
{
    uint8_t *bytes = physical_add(physical, address, table->length);

    memcpy(bytes, table->bytes, table->length);
    build_put32(bytes + 4, table->length);
    build_repair(bytes, table->length);
}

/* Puts an RSDP (36 bytes in memory, whatever its revision), an RSDT, with revision 2 an XSDT, and those of COUNT tables
 * that are not NULL into memory. Returns the RSDP's address; it is the first piece when there was none before. */
static inline uint64_t build_machine(struct physical *physical, int revision, struct table *const *tables,
                                     uint32_t count)
{
    uint8_t *rsdp = physical_add(physical, BUILD_RSDP, 36);
    struct table rsdt = table_start("RSDT", 1, 36);
    struct table xsdt = table_start("XSDT", 1, 36);
    uint64_t address = BUILD_TABLES + 2 * BUILD_STEP;

    for (uint32_t i = 0; i < count; i++) {
        if (!tables[i])
            continue;
        uint32_t narrow = (uint32_t)address;
        table_append(&rsdt, &narrow, sizeof(narrow));
        table_append(&xsdt, &address, sizeof(address));
        build_place(physical, address, tables[i]);
        address += BUILD_STEP;
    }
    build_place(physical, BUILD_TABLES, &rsdt);
    memcpy(rsdp, "RSD PTR ", 8);
    build_put32(rsdp + 16, BUILD_TABLES);
    if (revision >= 2) {
        rsdp[15] = (uint8_t)revision;
        build_place(physical, BUILD_TABLES + BUILD_STEP, &xsdt);
        build_put32(rsdp + 20, 36);
        build_put64(rsdp + 24, BUILD_TABLES + BUILD_STEP);
    }
    build_sum(rsdp, 20, 8);
    build_sum(rsdp, 36, 32);
    return BUILD_RSDP;
}

/* Makes the first table with that name LENGTH bytes long, in memory of just that size (but a whole header). */
static inline void build_shorten(struct physical *physical, const char *signature, uint32_t length)
{
    for (uint32_t i = 0; i < physical->count; i++) {
        struct piece *piece = &physical->pieces[i];
        if (memcmp(piece->bytes, signature, 4) != 0)
            continue;
        piece->size = length < 36 ? 36 : length;
        piece->bytes = realloc(piece->bytes, piece->size);
        if (!piece->bytes)
            abort();
        build_put32(piece->bytes + 4, length);
        build_repair(piece->bytes, length);
        return;
    }
    abort();
}

/* The bytes of the first table in memory with that name. */
static inline uint8_t *build_find(struct physical *physical, const char *signature)
{
    for (uint32_t i = 0; i < physical->count; i++) {
        if (memcmp(physical->pieces[i].bytes, signature, 4) == 0)
            return physical->pieces[i].bytes;
    }
    abort();
}

#endif
