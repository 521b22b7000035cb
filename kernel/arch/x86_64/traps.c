/* The interrupt descriptor table and the SYSCALL registers (Intel SDM 3A, chapter 6; 2B, SYSCALL). */
#include "kernel/arch/x86_64/traps.h"

#include "kernel/arch/x86_64/base/instructions.h"
#include "kernel/arch/x86_64/cpu.h"

#define GATE_INTERRUPT 0x8e /* present, ring 0, interrupt gate */
#define GATE_USER 0xee      /* as above, and a program may raise it */
#define STUB_SIZE 16
#define FMASK 0x47700ull /* TF, IF, DF, NT, IOPL, AC clear on entry */

struct gate {
    uint16_t offset_low;
    uint16_t selector;
    uint8_t ist;
    uint8_t type;
    uint16_t offset_middle;
    uint32_t offset_high;
    uint32_t reserved;
};

static struct gate gates[256]; /* [i] */

extern const char trap_stubs[];
void syscall_entry(void);

void traps_init(void)
{
    for (unsigned vector = 0; vector < 256; vector++) {
        uint64_t stub = (uint64_t)trap_stubs + (uint64_t)vector * STUB_SIZE;
        struct gate *gate = &gates[vector];

        gate->offset_low = (uint16_t)stub;
        gate->offset_middle = (uint16_t)(stub >> 16);
        gate->offset_high = (uint32_t)(stub >> 32);
        gate->selector = SELECTOR_KERNEL_CODE;
        gate->type = vector == TRAP_BREAKPOINT || vector == TRAP_OVERFLOW ? GATE_USER : GATE_INTERRUPT;
    }
    gates[TRAP_NMI].ist = IST_NMI;
    gates[TRAP_DOUBLE_FAULT].ist = IST_DOUBLE_FAULT;
    gates[TRAP_MACHINE_CHECK].ist = IST_MACHINE_CHECK;
}

void traps_init_cpu(void)
{
    struct {
        uint16_t limit;
        uint64_t base;
    } __attribute__((packed)) descriptor = {sizeof(gates) - 1, (uint64_t)gates};

    load_idt(&descriptor);
    wrmsr(MSR_EFER, rdmsr(MSR_EFER) | EFER_SCE);
    wrmsr(MSR_STAR, (uint64_t)(SELECTOR_USER_BASE | 3) << 48 | (uint64_t)SELECTOR_KERNEL_CODE << 32);
    wrmsr(MSR_LSTAR, (uint64_t)syscall_entry);
    wrmsr(MSR_FMASK, FMASK);
}
