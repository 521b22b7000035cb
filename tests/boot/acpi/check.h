/* What must hold for every topology that acpi_discover returns, whatever the tables were. */
#ifndef TESTS_BOOT_ACPI_CHECK_H
#define TESTS_BOOT_ACPI_CHECK_H

#include <stddef.h>

#include "boot/acpi/acpi.h"

static inline const char *acpi_check_nodes(const struct acpi_topology *topology)
{
    for (uint32_t i = 1; i < topology->node_count; i++) {
        if (topology->domain[i] <= topology->domain[i - 1])
            return "domains are not ascending";
    }
    for (uint32_t i = 0; i < topology->node_count; i++) {
        for (uint32_t j = 0; j < topology->node_count; j++) {
            if (i == j ? topology->distance[i][j] != 10 : topology->distance[i][j] < 10)
                return "a distance is wrong";
            if (i != j && !topology->slit_used && topology->distance[i][j] != 20)
                return "a distance without SLIT is not 20";
        }
    }
    return NULL;
}

/* NULL, or what is wrong with the result of a call that returned ERROR. */
static inline const char *acpi_check(const struct acpi_topology *topology, int error)
{
    if ((error != 0) != (topology->cpu_count == 0))
        return "the CPU count does not fit the return value";
    if (topology->cpu_count > CPUS_MAX || topology->node_count == 0 || topology->node_count > NODES_MAX ||
        topology->memory_count > ACPI_MEMORY_MAX || topology->ioapic_count > ACPI_IOAPIC_MAX ||
        topology->override_count > ACPI_OVERRIDE_MAX)
        return "a count is out of range";
    if (topology->lapic_address == 0 || topology->lapic_address % 4096 != 0)
        return "the local APIC's address is not a page's";
    if (!topology->srat_used && (topology->node_count != 1 || topology->memory_count != 0))
        return "nodes without SRAT";
    if (topology->slit_used && !topology->srat_used)
        return "SLIT without SRAT";
    for (uint32_t i = 0; i < topology->cpu_count; i++) {
        if (topology->cpus[i].node >= topology->node_count)
            return "a CPU on no node";
        for (uint32_t j = 0; j < i; j++) {
            if (topology->cpus[i].apic_id == topology->cpus[j].apic_id)
                return "a CPU twice";
        }
    }
    for (uint32_t i = 0; i < topology->memory_count; i++) {
        const struct acpi_memory *memory = &topology->memory[i];
        if (memory->node >= topology->node_count || memory->size == 0 || memory->size > UINT64_MAX - memory->base)
            return "bad memory";
    }
    return acpi_check_nodes(topology);
}

#endif
