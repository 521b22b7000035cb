/* Local APIC and I/O APIC. See the header. The registers are reached through memory (xAPIC) or, where the CPU has
 * x2APIC, through MSR 0x800 + offset / 16. */
#include "kernel/arch/x86_64/apic.h"

#include <stddef.h>

#include "kernel/arch/x86_64/base/instructions.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/arch/x86_64/traps.h"

#define REG_TPR 0x080
#define REG_EOI 0x0b0
#define REG_SPURIOUS 0x0f0
#define REG_ICR_LOW 0x300
#define REG_ICR_HIGH 0x310
#define REG_TIMER 0x320
#define REG_LINT0 0x350
#define REG_LINT1 0x360
#define REG_TIMER_INITIAL 0x380
#define REG_TIMER_CURRENT 0x390
#define REG_TIMER_DIVIDE 0x3e0

#define MSR_X2APIC 0x800u
#define APIC_BASE_ENABLE (1ull << 11)
#define APIC_BASE_X2APIC (1ull << 10)
#define SPURIOUS_ENABLE 0x100u
#define LVT_MASKED 0x10000u
#define LVT_NMI 0x400u
#define ICR_NMI 0x400u
#define ICR_INIT 0x500u
#define ICR_STARTUP 0x600u
#define ICR_ASSERT 0x4000u
#define ICR_PENDING 0x1000u
#define TIMER_DIVIDE_16 3u
#define IOAPIC_INDEX 0
#define IOAPIC_DATA 4 /* in 32-bit words */

static volatile uint32_t *lapic; /* [i] NULL with x2APIC */
static uint64_t timer_rate;      /* [i] ticks per second */

void apic_set_registers(volatile uint32_t *registers)
{
    lapic = registers;
}

static uint32_t reg_read(uint32_t offset)
{
    if (cpu_features.x2apic)
        return (uint32_t)rdmsr(MSR_X2APIC + offset / 16);
    return lapic[offset / 4];
}

static void reg_write(uint32_t offset, uint32_t value)
{
    if (cpu_features.x2apic)
        wrmsr(MSR_X2APIC + offset / 16, value);
    else
        lapic[offset / 4] = value;
}

void apic_init_cpu(void)
{
    uint64_t base = rdmsr(MSR_APIC_BASE) | APIC_BASE_ENABLE;

    wrmsr(MSR_APIC_BASE, base);
    if (cpu_features.x2apic)
        wrmsr(MSR_APIC_BASE, base | APIC_BASE_X2APIC);
    reg_write(REG_TPR, 0);
    reg_write(REG_SPURIOUS, SPURIOUS_ENABLE | VECTOR_SPURIOUS);
    reg_write(REG_LINT0, LVT_MASKED);
    reg_write(REG_LINT1, LVT_NMI); /* an NMI button requests the wait dump */
    reg_write(REG_TIMER_DIVIDE, TIMER_DIVIDE_16);
    reg_write(REG_TIMER, LVT_MASKED | VECTOR_TIMER);
    reg_write(REG_EOI, 0);
}

void apic_end_of_interrupt(void)
{
    reg_write(REG_EOI, 0);
}

static void icr_send(uint32_t target, uint32_t command)
{
    if (cpu_features.x2apic) {
        memory_fence_instructions(); /* the MSR write does not wait for earlier stores (SDM 3A 10.12.3) */
        wrmsr(MSR_X2APIC + REG_ICR_LOW / 16, (uint64_t)target << 32 | command);
        return;
    }
    while ((lapic[REG_ICR_LOW / 4] & ICR_PENDING) != 0)
        cpu_pause();
    lapic[REG_ICR_HIGH / 4] = target << 24;
    lapic[REG_ICR_LOW / 4] = command;
}

void apic_send(uint32_t target, uint8_t vector)
{
    icr_send(target, ICR_ASSERT | vector);
}

void apic_send_init(uint32_t target)
{
    icr_send(target, ICR_INIT | ICR_ASSERT);
}

void apic_send_startup(uint32_t target, uint8_t page)
{
    icr_send(target, ICR_STARTUP | ICR_ASSERT | page);
}

void apic_send_nmi(uint32_t target)
{
    uint32_t high = cpu_features.x2apic ? 0 : lapic[REG_ICR_HIGH / 4];

    icr_send(target, ICR_NMI | ICR_ASSERT);
    if (cpu_features.x2apic)
        return;
    while ((lapic[REG_ICR_LOW / 4] & ICR_PENDING) != 0)
        cpu_pause();
    lapic[REG_ICR_HIGH / 4] = high; /* an NMI may have interrupted a send between its two writes */
}

void apic_timer_set_rate(uint64_t ticks_per_second)
{
    timer_rate = ticks_per_second;
}

void apic_timer_arm(uint64_t nanoseconds)
{
    uint64_t ticks;

    if (nanoseconds == 0) {
        reg_write(REG_TIMER_INITIAL, 0);
        return;
    }
    if (nanoseconds > 4000000000ull)
        nanoseconds = 4000000000ull; /* the handler arms a longer time again when nothing is due */
    ticks = nanoseconds * (timer_rate / 1000) / 1000000 + 1;
    if (ticks > 0xffffffffull)
        ticks = 0xffffffffull;
    reg_write(REG_TIMER, VECTOR_TIMER);
    reg_write(REG_TIMER_INITIAL, (uint32_t)ticks);
}

void apic_timer_start_raw(void)
{
    reg_write(REG_TIMER, LVT_MASKED | VECTOR_TIMER);
    reg_write(REG_TIMER_INITIAL, 0xffffffffu);
}

uint32_t apic_timer_read_raw(void)
{
    return reg_read(REG_TIMER_CURRENT);
}

static void ioapic_write(volatile uint32_t *registers, uint32_t index, uint32_t value)
{
    registers[IOAPIC_INDEX] = index;
    registers[IOAPIC_DATA] = value;
}

void ioapic_route(volatile uint32_t *registers, uint32_t gsi_base, uint32_t gsi, uint8_t vector, uint32_t target,
                  bool active_low, bool level)
{
    uint32_t entry = 0x10 + 2 * (gsi - gsi_base);

    ioapic_write(registers, entry + 1, target << 24);
    ioapic_write(registers, entry, vector | (active_low ? 1u << 13 : 0) | (level ? 1u << 15 : 0));
}
