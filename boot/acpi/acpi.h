/* Machine topology from ACPI: the CPUs, the node of each, the memory of each node, and the distances
 * between nodes (ACPI 6.4: 5.2.5 RSDP, 5.2.12 MADT, 5.2.16 SRAT, 5.2.17 SLIT).
 *
 * A table with a bad length, checksum or entry is reported and ignored as a whole.
 * Without a valid SRAT the machine has one node; without a valid SLIT the distances are 10 (local) and 20 (remote). */
#ifndef BOOT_ACPI_ACPI_H
#define BOOT_ACPI_ACPI_H

#include <stdbool.h>
#include <stdint.h>

#include "boot/firmware/physmem.h"
#include "kernel/abi/limits.h"

#define ACPI_MEMORY_MAX 256
#define ACPI_IOAPIC_MAX 16
#define ACPI_OVERRIDE_MAX 32

struct acpi_cpu {
    uint32_t apic_id;
    uint32_t uid;  /* ACPI processor UID */
    uint32_t node; /* dense node number */
};

struct acpi_memory {
    uint64_t base; /* physical, bytes */
    uint64_t size; /* bytes */
    uint32_t node;
};

struct acpi_ioapic {
    uint32_t address;  /* physical */
    uint32_t gsi_base; /* first global system interrupt it serves */
};

struct acpi_override { /* an ISA interrupt that is not identity-mapped, edge-triggered and active high */
    uint32_t gsi;
    uint8_t irq;
    bool active_low;
    bool level;
};

struct acpi_topology {
    uint64_t lapic_address;
    uint32_t cpu_count; /* enabled CPUs, in MADT order, each apic_id once */
    uint32_t node_count;
    uint32_t memory_count;
    uint32_t ioapic_count;
    uint32_t override_count;
    bool srat_used;
    bool slit_used;
    struct acpi_cpu cpus[CPUS_MAX];
    struct acpi_memory memory[ACPI_MEMORY_MAX]; /* enabled SRAT memory; empty without SRAT */
    struct acpi_ioapic ioapics[ACPI_IOAPIC_MAX];
    struct acpi_override overrides[ACPI_OVERRIDE_MAX];
    uint32_t domain[NODES_MAX];             /* proximity domain of each node; nodes in ascending domain order */
    uint8_t distance[NODES_MAX][NODES_MAX]; /* SLIT units: 10 is local, 255 unreachable */
};

/* Receives a line of text for each table or entry that is ignored. */
struct acpi_report {
    void *context;
    void (*line)(void *context, const char *text);
};

/* Reads the tables that the RSDP at physical address RSDP leads to; if RSDP is 0 or there is no valid RSDP there,
 * searches the EBDA and 0xe0000-0xfffff for it. *OUT is always complete and consistent on return 0. Every
 * proximity domain that an enabled SRAT entry names is a node, so a node may lack CPUs, memory, or both; a CPU that the
 * SRAT leaves out is on node 0. REPORT may be NULL.
 * -ENOENT: no valid RSDP, or no valid MADT: *OUT then has zero CPUs (the caller uses the boot CPU alone).
 * -E2BIG: more CPUs or nodes than CPUS_MAX or NODES_MAX; *OUT is then incomplete, with cpu_count not 0. */
int acpi_discover(const struct physmem *memory, uint64_t rsdp, const struct acpi_report *report,
                  struct acpi_topology *out);

#endif
