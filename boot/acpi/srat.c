/* The System Resource Affinity Table (ACPI 6.4, 5.2.16): which CPUs and which memory share a proximity domain. Domains
 * are arbitrary 32-bit numbers; nodes are their ranks in ascending order. */
#include "boot/acpi/internal.h"
#include "kernel/abi/errno.h"
#include "kernel/lib/string.h"

enum {
    SRAT_CPU = 0,
    SRAT_MEMORY = 1,
    SRAT_X2APIC = 2,
    SRAT_TYPES = 3,
};

#define SRAT_ENABLED 1u
#define SRAT_ENTRIES 48 /* offset of the first structure */
#define NODE_NONE UINT32_MAX

/* Before revision 2, domains have eight bits. The bytes that are now their upper part were reserved and may have any
 * value. */
#define SRAT_REVISION_WIDE_DOMAINS 2
#define SRAT_NARROW_DOMAIN 0xffu

struct srat_cpu {
    uint8_t type, length;
    uint8_t domain_low;
    uint8_t apic_id;
    uint32_t flags;
    uint8_t sapic_eid;
    uint8_t domain_high[3];
    uint32_t clock_domain;
} __attribute__((packed));

struct srat_memory {
    uint8_t type, length;
    uint32_t domain;
    uint16_t reserved;
    uint64_t base;
    uint64_t size;
    uint32_t reserved2;
    uint32_t flags;
    uint64_t reserved3;
} __attribute__((packed));

struct srat_x2apic {
    uint8_t type, length;
    uint16_t reserved;
    uint32_t domain;
    uint32_t apic_id;
    uint32_t flags;
    uint32_t clock_domain;
    uint32_t reserved2;
} __attribute__((packed));

_Static_assert(sizeof(struct srat_cpu) == 16, "SRAT processor affinity");
_Static_assert(sizeof(struct srat_memory) == 40, "SRAT memory affinity");
_Static_assert(sizeof(struct srat_x2apic) == 24, "SRAT x2APIC affinity");

static const uint8_t minimum_length[SRAT_TYPES] = {
    [SRAT_CPU] = sizeof(struct srat_cpu),
    [SRAT_MEMORY] = sizeof(struct srat_memory),
    [SRAT_X2APIC] = sizeof(struct srat_x2apic),
};

/* The common form of enabled entries of all kinds. */
struct affinity {
    bool memory;
    uint32_t domain;
    uint32_t apic_id; /* of a CPU */
    uint64_t base;    /* of memory */
    uint64_t size;
};

/* Stores the next enabled entry. Memory of size zero, which firmware uses as padding, is skipped. */
static bool next_affinity(const struct acpi_table *srat, uint32_t *offset, struct affinity *out)
{
    struct acpi_entry entry;

    while (acpi_entry_next(srat, offset, &entry)) {
        uint32_t flags = 0;
        memset(out, 0, sizeof(*out));
        if (entry.type == SRAT_CPU) {
            struct srat_cpu cpu;
            memcpy(&cpu, entry.bytes, sizeof(cpu));
            flags = cpu.flags;
            out->apic_id = cpu.apic_id;
            out->domain = cpu.domain_low | (uint32_t)cpu.domain_high[0] << 8 | (uint32_t)cpu.domain_high[1] << 16 |
                          (uint32_t)cpu.domain_high[2] << 24;
        } else if (entry.type == SRAT_X2APIC) {
            struct srat_x2apic cpu;
            memcpy(&cpu, entry.bytes, sizeof(cpu));
            flags = cpu.flags;
            out->apic_id = cpu.apic_id;
            out->domain = cpu.domain;
        } else if (entry.type == SRAT_MEMORY) {
            struct srat_memory memory;
            memcpy(&memory, entry.bytes, sizeof(memory));
            flags = memory.size > 0 ? memory.flags : 0;
            out->memory = true;
            out->domain = memory.domain;
            out->base = memory.base;
            out->size = memory.size;
        }
        if (srat->revision < SRAT_REVISION_WIDE_DOMAINS)
            out->domain &= SRAT_NARROW_DOMAIN;
        if (flags & SRAT_ENABLED)
            return true;
    }
    return false;
}

/* Inserts DOMAIN into the ascending list unless it is already there. */
static int add_domain(struct acpi_topology *out, uint32_t domain)
{
    uint32_t at = 0;

    while (at < out->node_count && out->domain[at] < domain)
        at++;
    if (at < out->node_count && out->domain[at] == domain)
        return 0;
    if (out->node_count == NODES_MAX)
        return -E2BIG;
    memmove(&out->domain[at + 1], &out->domain[at], (out->node_count - at) * sizeof(out->domain[0]));
    out->domain[at] = domain;
    out->node_count++;
    return 0;
}

static uint32_t node_of_domain(const struct acpi_topology *topology, uint32_t domain)
{
    uint32_t node = 0;

    while (node < topology->node_count && topology->domain[node] != domain)
        node++;
    return node;
}

/* Puts a CPU on its node. Entries for CPUs that the MADT does not enable are ignored. Returns NULL or a description of
 * the error. */
static const char *place_cpu(struct acpi_topology *out, uint32_t apic_id, uint32_t node)
{
    for (uint32_t i = 0; i < out->cpu_count; i++) {
        struct acpi_cpu *cpu = &out->cpus[i];
        if (cpu->apic_id != apic_id)
            continue;
        if (cpu->node != NODE_NONE && cpu->node != node)
            return "a CPU in two domains";
        cpu->node = node;
    }
    return NULL;
}

static const char *place_memory(struct acpi_topology *out, uint64_t base, uint64_t size, uint32_t node)
{
    if (size > UINT64_MAX - base)
        return "memory that wraps";
    for (uint32_t i = 0; i < out->memory_count; i++) {
        const struct acpi_memory *other = &out->memory[i];
        if (other->node != node && base < other->base + other->size && other->base < base + size)
            return "memory in two domains";
    }
    if (out->memory_count == ACPI_MEMORY_MAX)
        return "too many memory ranges";
    out->memory[out->memory_count++] = (struct acpi_memory){.base = base, .size = size, .node = node};
    return NULL;
}

int acpi_read_srat(const struct acpi_table *srat, const struct acpi_report *report, struct acpi_topology *out)
{
    const char *fault = NULL;
    struct affinity entry;

    if (srat->length < SRAT_ENTRIES || !acpi_entries_valid(srat, SRAT_ENTRIES, minimum_length, SRAT_TYPES)) {
        acpi_say(report, "SRAT ignored: bad entry");
        return -EINVAL;
    }

    out->node_count = 0;
    for (uint32_t offset = SRAT_ENTRIES; next_affinity(srat, &offset, &entry);) {
        if (add_domain(out, entry.domain)) {
            acpi_say(report, "more than %d nodes", NODES_MAX);
            return -E2BIG;
        }
    }
    if (out->node_count == 0)
        fault = "no enabled entry";

    for (uint32_t i = 0; i < out->cpu_count; i++)
        out->cpus[i].node = NODE_NONE;
    for (uint32_t offset = SRAT_ENTRIES; !fault && next_affinity(srat, &offset, &entry);) {
        uint32_t node = node_of_domain(out, entry.domain);
        if (entry.memory)
            fault = place_memory(out, entry.base, entry.size, node);
        else
            fault = place_cpu(out, entry.apic_id, node);
    }
    if (fault) {
        acpi_say(report, "SRAT ignored: %s", fault);
        return -EINVAL;
    }
    for (uint32_t i = 0; i < out->cpu_count; i++) {
        if (out->cpus[i].node != NODE_NONE)
            continue;
        acpi_say(report, "CPU with APIC id %u is not in SRAT: put on node 0", out->cpus[i].apic_id);
        out->cpus[i].node = 0;
    }
    return 0;
}
