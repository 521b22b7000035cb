/* From the firmware to instance 0: decode the boot protocol's information and the ACPI tables, compute the partition
 * plan, build instance 0 in its own memory and enter it. Runs once, on the boot CPU, in the template at its load
 * address, on the boot page tables (the first 4 GiB at their own addresses). See boot/boot.md. */
#include "boot/acpi/acpi.h"
#include "boot/firmware/bootinfo.h"
#include "boot/firmware/multiboot2.h"
#include "boot/firmware/pvh.h"
#include "boot/options/options.h"
#include "boot/plan/plan.h"
#include "kernel/arch/x86_64/base/instructions.h"
#include "kernel/arch/x86_64/base/layout.h"
#include "kernel/instance/bootpage.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/log.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"

#define MAPPED_END (4ull << 30) /* end of the memory that the boot page tables map */
#define LOW_END 0x100000ull

extern uint8_t boot_page[], trampoline[], trampoline_end[];

void boot_main(uint32_t magic, uint32_t information);
_Noreturn void boot_enter(uint64_t root, uint64_t stack);

/* These are too large for the stack. */
static struct bootinfo info;
static struct acpi_topology topology;
static struct instance facts;

static const void *map_low(void *context, uint64_t base, size_t length)
{
    (void)context;
    if (base >= MAPPED_END || length > MAPPED_END - base || base == 0)
        return NULL;
    return (const void *)base;
}

static void report_line(void *context, const char *text)
{
    (void)context;
    log_line("acpi: %s", text);
}

static uint32_t boot_apic_id(void)
{
    if (cpuid(0, 0).eax >= 0xb && cpuid(0xb, 0).ebx != 0)
        return cpuid(0xb, 0).edx;
    return cpuid(1, 0).ebx >> 24;
}

static void fill_boot_page(void)
{
    struct boot_page *page = (struct boot_page *)(void *)boot_page;
    uint8_t *target = (uint8_t *)TRAMPOLINE;

    for (uint32_t i = 0; i < facts.plan.cpu_count; i++)
        page->slots[i].apic_id = facts.plan.cpus[i].apic_id;
    page->slot_count = facts.plan.cpu_count;
    memcpy(target, trampoline, (size_t)(trampoline_end - trampoline));
}

/* Masks the two 8259 interrupt controllers; the I/O APIC delivers interrupts instead. This must precede any access to
 * the local APIC, while a request that the 8259s have already raised can still be withdrawn. */
static void silence_8259(void)
{
    outb(0x21, 0xff);
    outb(0xa1, 0xff);
}

static void compute_plan(void)
{
    char kernels[256];
    char error[128];
    struct boot_module busy[BOOT_MODULES_MAX + 1];
    struct plan_input input = {
        .topology = &topology,
        .ranges = info.ranges,
        .range_count = info.range_count,
        .busy = busy,
        .busy_count = info.module_count + 1,
        .boot_apic_id = boot_apic_id(),
        .kernels = kernels,
    };
    uint32_t most = topology.cpu_count == 0 ? 1 : topology.cpu_count;

    busy[0].base = LOW_END;
    busy[0].size = (uint64_t)image_end - KERNEL_BASE - LOW_END;
    memcpy(&busy[1], info.modules, info.module_count * sizeof(busy[0]));
    if (most > KERNELS_MAX)
        most = KERNELS_MAX;
    chunk_layout_compute(msg_channel_size(most, info.cmdline), &facts.layout);
    input.chunk_size = facts.layout.size;
    option_find(info.cmdline, "kernels", kernels, sizeof(kernels));
    if (plan_compute(&input, &facts.plan, error, sizeof(error)) != 0)
        panic("boot: kernels=%s: %s", kernels, error);
}

void boot_main(uint32_t magic, uint32_t information)
{
    struct physmem memory = {.map = map_low};
    struct acpi_report report = {.line = report_line};
    struct image_template image = {&image_header, image_start};
    uint64_t root, stack;
    int error;

    silence_8259();
    if ((cpuid(0x80000001u, 0).edx >> 20 & 1) == 0)
        panic("boot: this CPU cannot forbid execution of data (NX)");
    if (magic == MULTIBOOT2_LOADER_MAGIC)
        error = multiboot2_parse(&memory, information, &info);
    else
        error = pvh_parse(&memory, information, &info);
    if (error != 0)
        panic("boot: the boot loader's information is damaged (error %d)", error);
    error = acpi_discover(&memory, info.rsdp, &report, &topology);
    if (error != 0 && topology.cpu_count != 0)
        panic("boot: the machine is larger than this kernel's limits (error %d)", error);
    compute_plan();
    fill_boot_page();

    facts.kernels = facts.plan.kernel_count;
    facts.lapic_address = topology.lapic_address;
    facts.ioapic_count = topology.ioapic_count;
    facts.override_count = topology.override_count;
    memcpy(facts.ioapics, topology.ioapics, sizeof(facts.ioapics));
    memcpy(facts.overrides, topology.overrides, sizeof(facts.overrides));
    memcpy(facts.cmdline, info.cmdline, sizeof(facts.cmdline));
    if (info.module_count > 0)
        facts.initramfs = info.modules[0];
    if (facts.plan.kernels[0].chunk + facts.layout.size > MAPPED_END)
        panic("boot: kernel 0 has no memory below 4 GiB to start in");
    root = instance_build(&facts, 0, (uint8_t *)facts.plan.kernels[0].chunk, &image, &stack);
    boot_enter(root, stack);
}
