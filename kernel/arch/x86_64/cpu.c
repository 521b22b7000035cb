/* CPU features, descriptor tables and FPU state (Intel SDM volume 3, chapters 3, 6, 8 and 13). */
#include "kernel/arch/x86_64/cpu.h"

#include "kernel/abi/signal.h"
#include "kernel/arch/x86_64/traps.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"

struct cpu_features cpu_features;
struct cpu *cpus[CPUS_MAX];
uint32_t cpu_total;
bool cpu_several;
bool smap_enabled;

#define FXSAVE_SIZE 512
#define XSAVE_HEADER 512 /* offset of the XSAVE header */
#define XSAVE_HEADER_SIZE 64
#define MXCSR_DEFAULT 0x1f80u
#define X87_CONTROL_DEFAULT 0x37f
#define XCR0_X87_SSE 3u
/* Components that need no supervisor support: x87, SSE, AVX, MPX, AVX-512, PKRU, AMX. */
#define XCR0_WANTED 0x602ffull

#define LEAF_HYPERVISOR 0x40000000u
#define TCG_NAME "TCGTCGTCGTCG" /* as QEMU's target/i386/cpu.c has it */

static uint32_t mxcsr_mask;

static bool is_translated(uint32_t features)
{
    struct cpuid_result name = cpuid(LEAF_HYPERVISOR, 0);

    return (features >> 31 & 1) != 0 && memcmp(&name.ebx, &TCG_NAME[0], 4) == 0 &&
           memcmp(&name.ecx, &TCG_NAME[4], 4) == 0 && memcmp(&name.edx, &TCG_NAME[8], 4) == 0;
}

void cpu_detect(void)
{
    struct cpuid_result leaf1 = cpuid(1, 0);
    struct cpuid_result leaf7 = {0};
    uint32_t most = cpuid(0, 0).eax;
    uint8_t area[FXSAVE_SIZE] __attribute__((aligned(16)));

    if (most >= 7)
        leaf7 = cpuid(7, 0);
    cpu_features.x2apic = (leaf1.ecx >> 21 & 1) != 0;
    cpu_features.smep = (leaf7.ebx >> 7 & 1) != 0;
    cpu_features.smap = (leaf7.ebx >> 20 & 1) != 0;
    cpu_features.nx = (cpuid(0x80000001u, 0).edx >> 20 & 1) != 0;
    cpu_features.pages_1g = (cpuid(0x80000001u, 0).edx >> 26 & 1) != 0;
    cpu_features.xsave = (leaf1.ecx >> 26 & 1) != 0;
    cpu_features.translated = is_translated(leaf1.ecx);
    cpu_features.fpu_size = FXSAVE_SIZE;
    if (cpu_features.xsave) {
        struct cpuid_result leaf = cpuid(0xd, 0);

        cpu_features.xcr0 = ((uint64_t)leaf.edx << 32 | leaf.eax) & XCR0_WANTED;
    }
    smap_enabled = cpu_features.smap;

    memset(area, 0, sizeof(area));
    write_cr0((read_cr0() & ~(CR0_EM | CR0_TS)) | CR0_MP | CR0_NE);
    write_cr4(read_cr4() | CR4_OSFXSR | CR4_OSXMMEXCPT);
    fxsave(area);
    memcpy(&mxcsr_mask, area + 28, sizeof(mxcsr_mask));
    if (mxcsr_mask == 0)
        mxcsr_mask = 0xffbf;
}

struct fpu_part fpu_parts[FPU_PARTS_MAX];
uint32_t fpu_part_count;

/* The enabled components behind those of FXSAVE (Intel SDM 1, 13.4; CPUID leaf 0xd). */
static void fpu_find_parts(void)
{
    for (uint32_t component = 2; component < 63 && cpu_features.xsave; component++) {
        struct cpuid_result leaf;

        if ((cpu_features.xcr0 >> component & 1) == 0)
            continue;
        leaf = cpuid(0xd, component);
        if (leaf.ebx % 8 != 0)
            panic("cpu: state component %u cannot be handled", component);
        if (fpu_part_count == FPU_PARTS_MAX)
            panic("cpu: the FPU state has too many parts");
        fpu_parts[fpu_part_count++] = (struct fpu_part){leaf.ebx, (leaf.eax + 7) & ~7u, component};
    }
}

uint64_t fpu_components_all(void)
{
    return cpu_features.xsave ? cpu_features.xcr0 : 0;
}

uint64_t fpu_components(const void *area)
{
    uint64_t components = 0;

    if (cpu_features.xsave)
        __builtin_memcpy(&components, (const uint8_t *)area + XSAVE_HEADER, sizeof(components));
    return components;
}

void fpu_set_components(void *area, uint64_t components)
{
    if (cpu_features.xsave)
        __builtin_memcpy((uint8_t *)area + XSAVE_HEADER, &components, sizeof(components));
}

static void gdt_fill(struct cpu *cpu)
{
    uint64_t tss = (uint64_t)&cpu->tss;
    uint64_t number = CPU_NUMBER(cpu->number, cpu->node);

    cpu->gdt[0] = 0;
    cpu->gdt[1] = 0;
    cpu->gdt[SELECTOR_KERNEL_CODE / 8] = 0x00af9b000000ffff;
    cpu->gdt[SELECTOR_KERNEL_DATA / 8] = 0x00cf93000000ffff;
    cpu->gdt[SELECTOR_USER_BASE / 8] = 0x00cffb000000ffff; /* 32-bit code, which SYSRET's arithmetic expects */
    cpu->gdt[SELECTOR_USER_DATA / 8] = 0x00cff3000000ffff;
    cpu->gdt[SELECTOR_USER_CODE / 8] = 0x00affb000000ffff;
    cpu->gdt[SELECTOR_TSS / 8] = (sizeof(cpu->tss) - 1) | (tss & 0xffffff) << 16 | 0x89ull << 40 |
                                 (tss >> 24 & 0xff) << 56;
    cpu->gdt[SELECTOR_TSS / 8 + 1] = tss >> 32;
    /* read-only user data segment; its limit is the number */
    cpu->gdt[SELECTOR_CPU_NUMBER / 8] = 0x0040f50000000000 | (number & 0xffff) | (number >> 16 & 15) << 48;
    cpu->tss.io_map = sizeof(cpu->tss);
    for (int i = 0; i < IST_COUNT; i++)
        cpu->tss.ist[i] = (uint64_t)cpu->ist_stacks[i] + IST_STACK_SIZE;
}

void cpu_init(struct cpu *cpu)
{
    struct {
        uint16_t limit;
        uint64_t base;
    } __attribute__((packed)) descriptor = {sizeof(cpu->gdt) - 1, (uint64_t)cpu->gdt};
    uint64_t cr4 = read_cr4() | CR4_PGE | CR4_OSFXSR | CR4_OSXMMEXCPT;

    cpu->self = cpu;
    gdt_fill(cpu);
    load_gdt(&descriptor);
    load_null_segments();
    wrmsr(MSR_GS_BASE, (uint64_t)cpu);
    wrmsr(MSR_KERNEL_GS_BASE, 0);
    wrmsr(MSR_FS_BASE, 0);
    load_task(SELECTOR_TSS);
    traps_init_cpu();

    if (cpu_features.smep)
        cr4 |= CR4_SMEP;
    if (cpu_features.smap)
        cr4 |= CR4_SMAP;
    if (cpu_features.xsave)
        cr4 |= CR4_OSXSAVE;
    write_cr0((read_cr0() & ~(CR0_EM | CR0_TS)) | CR0_MP | CR0_NE | CR0_WP);
    write_cr4(cr4);
    if (cpu_features.xsave) {
        xsetbv(cpu_features.xcr0);
        cpu_features.fpu_size = cpuid(0xd, 0).ebx;
    }
    if (fpu_part_count == 0)
        fpu_find_parts();
}

void cpu_set_kernel_stack(uint64_t top)
{
    struct cpu *cpu = cpu_self();

    cpu->kernel_stack = top;
    cpu->tss.rsp[0] = top;
}

void fpu_init_area(void *area)
{
    uint8_t *bytes = area;
    uint16_t control = X87_CONTROL_DEFAULT;
    uint32_t mxcsr = MXCSR_DEFAULT;

    memset(area, 0, cpu_features.fpu_size);
    memcpy(bytes, &control, sizeof(control));
    memcpy(bytes + 24, &mxcsr, sizeof(mxcsr));
    if (cpu_features.xsave) {
        uint64_t present = XCR0_X87_SSE;

        memcpy(bytes + XSAVE_HEADER, &present, sizeof(present));
    }
}

void fpu_reset(void)
{
    /* The components that the header does not name get their initial values, and nothing behind it is read. */
    static const struct {
        uint16_t control;
        uint8_t between[22];
        uint32_t mxcsr;
        uint8_t rest[XSAVE_HEADER - 28];
        uint64_t header[8];
    } __attribute__((aligned(64))) fresh = {X87_CONTROL_DEFAULT, {0}, MXCSR_DEFAULT, {0}, {XCR0_X87_SSE}};

    fpu_restore(&fresh);
}

void fpu_save(void *area)
{
    if (cpu_features.xsave)
        xsave(area);
    else
        fxsave(area);
}

void fpu_save_first(void *area)
{
    /* XSAVE writes the first word of its header alone, and neither instruction the end of the FXSAVE part. */
    uint32_t end = cpu_features.xsave ? XSAVE_HEADER + XSAVE_HEADER_SIZE : FXSAVE_SIZE;

    memset((uint8_t *)area + FPU_BASIC_SIZE, 0, end - FPU_BASIC_SIZE);
    fpu_save(area);
}

void fpu_restore(const void *area)
{
    if (cpu_features.xsave)
        xrstor(area);
    else
        fxrstor(area);
}

int32_t fpu_fault_code(bool simd)
{
    uint8_t area[FXSAVE_SIZE] __attribute__((aligned(16)));
    uint16_t control, status;
    uint32_t mxcsr, raised;

    fxsave(area);
    memcpy(&control, area, sizeof(control));
    memcpy(&status, area + 2, sizeof(status));
    memcpy(&mxcsr, area + 24, sizeof(mxcsr));
    raised = simd ? mxcsr & ~(mxcsr >> 7) & 0x3f : status & ~(uint32_t)control & 0x3f;
    if ((raised & 1) != 0)
        return FPE_FLTINV;
    if ((raised & 4) != 0)
        return FPE_FLTDIV;
    if ((raised & 8) != 0)
        return FPE_FLTOVF;
    if ((raised & 0x12) != 0)
        return FPE_FLTUND;
    return FPE_FLTRES;
}

bool fpu_area_valid(const void *area)
{
    const uint8_t *bytes = area;
    uint32_t mxcsr;
    uint64_t header[8];

    __builtin_memcpy(&mxcsr, bytes + 24, sizeof(mxcsr));
    if ((mxcsr & ~mxcsr_mask) != 0)
        return false;
    if (!cpu_features.xsave)
        return true;
    __builtin_memcpy(header, bytes + XSAVE_HEADER, sizeof(header));
    return (header[0] & ~cpu_features.xcr0) == 0 &&
           (header[1] | header[2] | header[3] | header[4] | header[5] | header[6] | header[7]) == 0;
}
