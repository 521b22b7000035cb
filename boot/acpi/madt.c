/* The Multiple APIC Description Table (ACPI 6.4, 5.2.12): CPUs, I/O APICs, interrupt overrides. */
#include "boot/acpi/internal.h"
#include "kernel/abi/errno.h"
#include "kernel/lib/string.h"

enum {
    MADT_LAPIC = 0,
    MADT_IOAPIC = 1,
    MADT_OVERRIDE = 2,
    MADT_LAPIC_ADDRESS = 5,
    MADT_X2APIC = 9,
    MADT_TYPES = 10,
};

/* Bit 1, "online capable", marks a CPU that may be plugged in later; it is ignored. */
#define MADT_CPU_ENABLED 1u

/* Broadcast addresses: firmware fills unused entries with them. */
#define LAPIC_ID_NONE 0xffu
#define X2APIC_ID_NONE 0xffffffffu

#define OVERRIDE_POLARITY 0x3u
#define OVERRIDE_ACTIVE_LOW 0x3u
#define OVERRIDE_TRIGGER 0xcu
#define OVERRIDE_LEVEL 0xcu

#define LAPIC_ALIGNMENT 4096

struct madt_lapic {
    uint8_t type, length;
    uint8_t uid;
    uint8_t apic_id;
    uint32_t flags;
} __attribute__((packed));

struct madt_ioapic {
    uint8_t type, length;
    uint8_t id;
    uint8_t reserved;
    uint32_t address;
    uint32_t gsi_base;
} __attribute__((packed));

struct madt_override {
    uint8_t type, length;
    uint8_t bus; /* 0: ISA, the only bus defined */
    uint8_t irq;
    uint32_t gsi;
    uint16_t flags;
} __attribute__((packed));

struct madt_lapic_address {
    uint8_t type, length;
    uint16_t reserved;
    uint64_t address;
} __attribute__((packed));

struct madt_x2apic {
    uint8_t type, length;
    uint16_t reserved;
    uint32_t apic_id;
    uint32_t flags;
    uint32_t uid;
} __attribute__((packed));

#define MADT_LAPIC_FIELD 36 /* offset of the 32-bit local APIC address, behind the table header */
#define MADT_ENTRIES 44     /* offset of the first structure */

static const uint8_t minimum_length[MADT_TYPES] = {
    [MADT_LAPIC] = sizeof(struct madt_lapic),       [MADT_IOAPIC] = sizeof(struct madt_ioapic),
    [MADT_OVERRIDE] = sizeof(struct madt_override), [MADT_LAPIC_ADDRESS] = sizeof(struct madt_lapic_address),
    [MADT_X2APIC] = sizeof(struct madt_x2apic),
};

/* A CPU may have both an APIC and an x2APIC entry, or a duplicate entry: the first entry counts. */
static int add_cpu(struct acpi_topology *out, uint32_t apic_id, uint32_t uid)
{
    for (uint32_t i = 0; i < out->cpu_count; i++) {
        if (out->cpus[i].apic_id == apic_id)
            return 0;
    }
    if (out->cpu_count == CPUS_MAX)
        return -E2BIG;
    out->cpus[out->cpu_count++] = (struct acpi_cpu){.apic_id = apic_id, .uid = uid};
    return 0;
}

static int read_cpu(const struct acpi_entry *entry, struct acpi_topology *out)
{
    if (entry->type == MADT_LAPIC) {
        struct madt_lapic cpu;
        memcpy(&cpu, entry->bytes, sizeof(cpu));
        if (!(cpu.flags & MADT_CPU_ENABLED) || cpu.apic_id == LAPIC_ID_NONE)
            return 0;
        return add_cpu(out, cpu.apic_id, cpu.uid);
    }
    struct madt_x2apic cpu;
    memcpy(&cpu, entry->bytes, sizeof(cpu));
    if (!(cpu.flags & MADT_CPU_ENABLED) || cpu.apic_id == X2APIC_ID_NONE)
        return 0;
    return add_cpu(out, cpu.apic_id, cpu.uid);
}

static void read_ioapic(const struct acpi_entry *entry, const struct acpi_report *report, struct acpi_topology *out)
{
    struct madt_ioapic ioapic;

    memcpy(&ioapic, entry->bytes, sizeof(ioapic));
    if (out->ioapic_count == ACPI_IOAPIC_MAX) {
        acpi_say(report, "I/O APIC at 0x%x ignored: more than %d", ioapic.address, ACPI_IOAPIC_MAX);
        return;
    }
    out->ioapics[out->ioapic_count++] = (struct acpi_ioapic){.address = ioapic.address, .gsi_base = ioapic.gsi_base};
}

static void read_override(const struct acpi_entry *entry, const struct acpi_report *report, struct acpi_topology *out)
{
    struct madt_override override;

    memcpy(&override, entry->bytes, sizeof(override));
    if (override.bus != 0 || out->override_count == ACPI_OVERRIDE_MAX) {
        acpi_say(report, "interrupt override ignored: bus %u, irq %u", override.bus, override.irq);
        return;
    }
    out->overrides[out->override_count++] = (struct acpi_override){
        .gsi = override.gsi,
        .irq = override.irq,
        .active_low = (override.flags & OVERRIDE_POLARITY) == OVERRIDE_ACTIVE_LOW,
        .level = (override.flags & OVERRIDE_TRIGGER) == OVERRIDE_LEVEL,
    };
}

static int read_entries(const struct acpi_table *madt, const struct acpi_report *report, struct acpi_topology *out)
{
    struct acpi_entry entry;
    uint32_t offset = MADT_ENTRIES;
    int error = 0;

    while (!error && acpi_entry_next(madt, &offset, &entry)) {
        switch (entry.type) {
        case MADT_LAPIC:
        case MADT_X2APIC:
            error = read_cpu(&entry, out);
            break;
        case MADT_IOAPIC:
            read_ioapic(&entry, report, out);
            break;
        case MADT_OVERRIDE:
            read_override(&entry, report, out);
            break;
        case MADT_LAPIC_ADDRESS:
            memcpy(&out->lapic_address, entry.bytes + offsetof(struct madt_lapic_address, address),
                   sizeof(out->lapic_address));
            break;
        default:
            break;
        }
    }
    return error;
}

int acpi_read_madt(const struct acpi_table *madt, const struct acpi_report *report, struct acpi_topology *out)
{
    uint32_t lapic_address;

    if (madt->length < MADT_ENTRIES || !acpi_entries_valid(madt, MADT_ENTRIES, minimum_length, MADT_TYPES)) {
        acpi_say(report, "MADT ignored: bad entry");
        return -EINVAL;
    }
    memcpy(&lapic_address, madt->bytes + MADT_LAPIC_FIELD, sizeof(lapic_address));
    out->lapic_address = lapic_address;
    int error = read_entries(madt, report, out);
    if (error) {
        acpi_say(report, "more than %d CPUs", CPUS_MAX);
        return error;
    }
    if (out->lapic_address == 0 || out->lapic_address % LAPIC_ALIGNMENT != 0) {
        acpi_say(report, "MADT ignored: local APIC at 0x%llx", (unsigned long long)out->lapic_address);
        return -EINVAL;
    }
    if (out->cpu_count == 0) {
        acpi_say(report, "MADT ignored: no enabled CPU");
        return -EINVAL;
    }
    return 0;
}
