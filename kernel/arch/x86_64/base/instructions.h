/* Inline wrappers for the instructions that C cannot express. User mode code has its own: user_call.h.
 * Intel SDM volumes 2 and 3 say what each does. */
#ifndef KERNEL_ARCH_X86_64_BASE_INSTRUCTIONS_H
#define KERNEL_ARCH_X86_64_BASE_INSTRUCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MSR_APIC_BASE 0x1b
#define MSR_EFER 0xc0000080u
#define MSR_STAR 0xc0000081u
#define MSR_LSTAR 0xc0000082u
#define MSR_FMASK 0xc0000084u
#define MSR_FS_BASE 0xc0000100u
#define MSR_GS_BASE 0xc0000101u
#define MSR_KERNEL_GS_BASE 0xc0000102u

#define EFER_SCE (1u << 0)
#define CR0_MP (1ull << 1)
#define CR0_EM (1ull << 2)
#define CR0_TS (1ull << 3)
#define CR0_NE (1ull << 5)
#define CR0_WP (1ull << 16)
#define CR4_PGE (1ull << 7)
#define CR4_OSFXSR (1ull << 9)
#define CR4_OSXMMEXCPT (1ull << 10)
#define CR4_OSXSAVE (1ull << 18)
#define CR4_SMEP (1ull << 20)
#define CR4_SMAP (1ull << 21)

#define RFLAGS_IF (1ull << 9)

static inline void outb(uint16_t port, uint8_t value)
{
    __asm__ volatile("outb %0, %1" : : "a"(value), "Nd"(port));
}

static inline void outl(uint16_t port, uint32_t value)
{
    __asm__ volatile("outl %0, %1" : : "a"(value), "Nd"(port));
}

static inline uint32_t inl(uint16_t port)
{
    uint32_t value;
    __asm__ volatile("inl %1, %0" : "=a"(value) : "Nd"(port));
    return value;
}

static inline uint8_t inb(uint16_t port)
{
    uint8_t value;
    __asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port));
    return value;
}

static inline uint64_t rdmsr(uint32_t msr)
{
    uint32_t low, high;
    __asm__ volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(msr));
    return (uint64_t)high << 32 | low;
}

static inline void wrmsr(uint32_t msr, uint64_t value)
{
    __asm__ volatile("wrmsr" : : "c"(msr), "a"((uint32_t)value), "d"((uint32_t)(value >> 32)) : "memory");
}

static inline uint64_t rdtsc(void)
{
    uint32_t low, high;
    __asm__ volatile("lfence; rdtsc" : "=a"(low), "=d"(high) : : "memory");
    return (uint64_t)high << 32 | low;
}

/* Reads the counter without ordering: the CPU may execute it before earlier or after later instructions. */
static inline uint64_t rdtsc_unordered(void)
{
    uint64_t low, high; /* it clears the upper halves */
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return high << 32 | low;
}

struct cpuid_result {
    uint32_t eax, ebx, ecx, edx;
};

static inline struct cpuid_result cpuid(uint32_t leaf, uint32_t subleaf)
{
    struct cpuid_result r;
    __asm__ volatile("cpuid" : "=a"(r.eax), "=b"(r.ebx), "=c"(r.ecx), "=d"(r.edx) : "a"(leaf), "c"(subleaf));
    return r;
}

#define DEFINE_CONTROL_REGISTER(name)                                                                                  \
    static inline uint64_t read_##name(void)                                                                           \
    {                                                                                                                  \
        uint64_t value;                                                                                                \
        __asm__ volatile("mov %%" #name ", %0" : "=r"(value) : : "memory");                                            \
        return value;                                                                                                  \
    }                                                                                                                  \
    static inline void write_##name(uint64_t value)                                                                    \
    {                                                                                                                  \
        __asm__ volatile("mov %0, %%" #name : : "r"(value) : "memory");                                                \
    }
DEFINE_CONTROL_REGISTER(cr0)
DEFINE_CONTROL_REGISTER(cr2)
DEFINE_CONTROL_REGISTER(cr3)
DEFINE_CONTROL_REGISTER(cr4)
#undef DEFINE_CONTROL_REGISTER

static inline void invlpg(uint64_t address)
{
    __asm__ volatile("invlpg (%0)" : : "r"(address) : "memory");
}

/* Copies COUNT words; neither side has to be aligned. */
static inline void copy_words(void *to, const void *from, size_t count)
{
    __asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
}

static inline void fill_words(void *to, uint64_t word, size_t count)
{
    __asm__ volatile("rep stosq" : "+D"(to), "+c"(count) : "a"(word) : "memory");
}

static inline void cpu_pause(void)
{
    __asm__ volatile("pause" : : : "memory");
}

/* Store-load ordering between CPUs: everything before is visible before anything after is read. */
static inline void memory_fence(void)
{
    __asm__ volatile("mfence" : : : "memory");
}

/* As memory_fence, and no later instruction begins before it: a WRMSR to an x2APIC register needs this order. */
static inline void memory_fence_instructions(void)
{
    __asm__ volatile("mfence; lfence" : : : "memory");
}

static inline void interrupts_off(void)
{
    __asm__ volatile("cli" : : : "memory");
}

static inline void interrupts_on(void)
{
    __asm__ volatile("sti" : : : "memory");
}

/* Enables interrupts for one instruction, so that pending interrupts are taken. */
static inline void interrupts_window(void)
{
    __asm__ volatile("sti; nop; cli" : : : "memory");
}

static inline void cpu_stop(void)
{
    __asm__ volatile("cli; hlt" : : : "memory");
}

static inline uint64_t read_rflags(void)
{
    uint64_t value;
    __asm__ volatile("pushfq; popq %0" : "=r"(value));
    return value;
}

static inline void xsetbv(uint64_t value)
{
    __asm__ volatile("xsetbv" : : "c"(0), "a"((uint32_t)value), "d"((uint32_t)(value >> 32)));
}

static inline void xsave(void *area)
{
    __asm__ volatile("xsave64 (%0)" : : "r"(area), "a"(0xffffffffu), "d"(0xffffffffu) : "memory");
}

static inline void xrstor(const void *area)
{
    __asm__ volatile("xrstor64 (%0)" : : "r"(area), "a"(0xffffffffu), "d"(0xffffffffu) : "memory");
}

static inline void fxsave(void *area)
{
    __asm__ volatile("fxsave64 (%0)" : : "r"(area) : "memory");
}

static inline void fxrstor(const void *area)
{
    __asm__ volatile("fxrstor64 (%0)" : : "r"(area) : "memory");
}

static inline void load_gdt(const void *descriptor)
{
    __asm__ volatile("lgdt (%0)" : : "r"(descriptor) : "memory");
}

static inline void load_idt(const void *descriptor)
{
    __asm__ volatile("lidt (%0)" : : "r"(descriptor) : "memory");
}

static inline void load_task(uint16_t selector)
{
    __asm__ volatile("ltr %0" : : "r"(selector));
}

/* Loads the data segment registers with the null selector. The caller sets the FS and GS bases afterwards. */
static inline void load_null_segments(void)
{
    __asm__ volatile("mov %0, %%ds; mov %0, %%es; mov %0, %%fs; mov %0, %%gs" : : "r"(0) : "memory");
}

/* Reads an 8-byte word of the CPU's own structure; OFFSET is a constant. */
static inline void *gs_read(size_t offset)
{
    void *value;
    __asm__ volatile("movq %%gs:%a1, %0" : "=r"(value) : "ri"(offset));
    return value;
}

static inline void gs_write(size_t offset, uint64_t value)
{
    __asm__ volatile("movq %1, %%gs:%a0" : : "ri"(offset), "r"(value) : "memory");
}

/* Returns whether VALUE less the word at SINCE is greater than the word at MOST, words of the CPU's own structure. */
static inline bool gs_exceeds(uint64_t value, size_t since, size_t most)
{
    bool exceeds;
    __asm__ volatile("subq %%gs:%a2, %0; cmpq %%gs:%a3, %0" : "+r"(value), "=@cca"(exceeds) : "ri"(since), "ri"(most));
    return exceeds;
}

/* Adds VALUE to an 8-byte word of the CPU's own structure with one instruction, which no interrupt can split. */
static inline void gs_add(size_t offset, uint64_t value)
{
    __asm__ volatile("addq %1, %%gs:%a0" : : "ri"(offset), "r"(value) : "memory", "cc");
}

static inline uint64_t read_frame_pointer(void)
{
    uint64_t value;
    __asm__ volatile("movq %%rbp, %0" : "=r"(value));
    return value;
}

#endif
