/* Declarations shared by the files of the ACPI reader; private to boot/acpi/. */
#ifndef BOOT_ACPI_INTERNAL_H
#define BOOT_ACPI_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "boot/acpi/acpi.h"
#include "boot/firmware/physmem.h"

#define ACPI_DISTANCE_LOCAL 10
#define ACPI_DISTANCE_REMOTE 20

/* A table whose length and checksum are right. */
struct acpi_table {
    const uint8_t *bytes; /* NULL: absent or ignored */
    uint32_t length;      /* bytes, with the header */
    uint8_t revision;
};

struct acpi_tables {
    struct acpi_table madt;
    struct acpi_table srat;
    struct acpi_table slit;
};

/* One structure of a table that is a list of structures, each of which begins with a type and a length byte. */
struct acpi_entry {
    const uint8_t *bytes;
    uint8_t type;
    uint8_t length; /* bytes, with the two leading ones */
};

/* Passes a line of text to REPORT, which may be NULL. */
void acpi_say(const struct acpi_report *report, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Finds the tables through the RSDP. A table that is missing or ignored has bytes NULL. -ENOENT: no valid RSDP. */
int acpi_find_tables(const struct physmem *memory, uint64_t rsdp, const struct acpi_report *report,
                     struct acpi_tables *out);

/* True when the structures from OFFSET to the end of TABLE each fit and those of type T are at least MINIMUM[T]
 * bytes long (0: any). Types from COUNT on are unknown and may have any length. */
bool acpi_entries_valid(const struct acpi_table *table, uint32_t offset, const uint8_t *minimum, uint32_t count);

/* Stores the structure at *OFFSET of a table that acpi_entries_valid has accepted and advances *OFFSET; false at the
 * end. */
bool acpi_entry_next(const struct acpi_table *table, uint32_t *offset, struct acpi_entry *entry);

/* Fill in CPUs, interrupt controllers and overrides. -EINVAL: the table is damaged (reported). -E2BIG: too many
 * CPUs. After an error the fields are unspecified. */
int acpi_read_madt(const struct acpi_table *madt, const struct acpi_report *report, struct acpi_topology *out);

/* Fills in nodes, memory and each CPU's node. -EINVAL: the table is damaged or contradicts itself (reported).
 * -E2BIG: too many nodes. After an error the fields are unspecified. */
int acpi_read_srat(const struct acpi_table *srat, const struct acpi_report *report, struct acpi_topology *out);

/* Fills in the distances of the nodes found before. -EINVAL: the table is damaged (reported); nothing changed. */
int acpi_read_slit(const struct acpi_table *slit, const struct acpi_report *report, struct acpi_topology *out);

#endif
