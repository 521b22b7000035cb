/* What programs need of the x86-64 that C has no words for, and system calls without the C library: the one header with
 * inline assembly. */
#ifndef USERLAND_X86_H
#define USERLAND_X86_H

#include <stdint.h>

/* A system call without the C library: returns what the kernel puts in RAX, a negative errno for an error,
 * and touches no errno. Threads that the C library knows nothing of may use it. */
static inline long x86_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static inline long x86_syscall0(long number)
{
    return x86_syscall(number, 0, 0, 0, 0, 0, 0);
}

static inline long x86_syscall1(long number, long a)
{
    return x86_syscall(number, a, 0, 0, 0, 0, 0);
}

static inline long x86_syscall3(long number, long a, long b, long c)
{
    return x86_syscall(number, a, b, c, 0, 0, 0);
}

/* clone3 of a thread, which stores 1 to *RAN and ends: there is no C for a thread that begins in the middle of a
 * function on an empty stack. Returns what the caller gets. */
static inline long x86_clone3_exit(const void *args, unsigned long size, volatile int *ran, long clone3_number,
                                   long exit_number)
{
    long result;

    __asm__ volatile("syscall\n\t"
                     "testq %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "movl $1, (%[ran])\n\t"
                     "movq %[end], %%rax\n\t"
                     "xorl %%edi, %%edi\n\t"
                     "syscall\n\t"
                     "ud2\n"
                     "1:"
                     : "=a"(result)
                     : "a"(clone3_number), "D"(args), "S"(size), [ran] "r"(ran), [end] "r"(exit_number)
                     : "rcx", "r11", "memory", "cc");
    return result;
}

/* Tells the CPU that this loop waits for another. */
static inline void x86_pause(void)
{
    __asm__ volatile("pause" ::: "memory");
}

static inline void x86_cpuid(uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    __asm__ volatile("cpuid" : "=a"(out[0]), "=b"(out[1]), "=c"(out[2]), "=d"(out[3]) : "a"(leaf), "c"(subleaf));
}

/* XCR0: which parts of the register state the kernel has turned on. Only where CPUID says OSXSAVE. */
static inline uint64_t x86_xcr0(void)
{
    uint32_t low;
    uint32_t high;

    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

/* The word at offset 0 of the thread pointer's segment, which the ABI makes the thread pointer itself. */
static inline uint64_t x86_thread_pointer(void)
{
    uint64_t value;

    __asm__ volatile("movq %%fs:0, %0" : "=r"(value));
    return value;
}

static inline uint64_t x86_gs_word(void)
{
    uint64_t value;

    __asm__ volatile("movq %%gs:0, %0" : "=r"(value));
    return value;
}

static inline uint16_t x86_x87_control(void)
{
    uint16_t value;

    __asm__ volatile("fnstcw %0" : "=m"(value));
    return value;
}

static inline uint32_t x86_sse_control(void)
{
    uint32_t value;

    __asm__ volatile("stmxcsr %0" : "=m"(value));
    return value;
}

static inline void x86_float_control(uint16_t x87, uint32_t sse)
{
    __asm__ volatile("fldcw %0\n\tldmxcsr %1" : : "m"(x87), "m"(sse));
}

static inline uintptr_t x86_stack_pointer(void)
{
    uintptr_t value;

    __asm__ volatile("movq %%rsp, %0" : "=r"(value));
    return value;
}

/* Gives the XSAVE components their values of start; without XSAVE those of SSE. AREA is 4096 zero bytes, aligned to 64,
 * but for MXCSR at offset 24. */
static inline void x86_extended_clear(uint64_t components, const void *area)
{
    if (components == 0)
        __asm__ volatile("fxrstor64 (%0)" : : "r"(area) : "memory");
    else
        __asm__ volatile("xrstor64 (%0)"
                         :
                         : "r"(area), "a"((uint32_t)components), "d"((uint32_t)(components >> 32))
                         : "memory");
}

/* The sixteen 256-bit vector registers; only where CPUID says AVX and XCR0 holds it. */

static inline void x86_vectors_load(const uint8_t bytes[32])
{
    __asm__ volatile("vmovdqu (%0), %%ymm0\n\t"
                     "vmovdqa %%ymm0, %%ymm1\n\tvmovdqa %%ymm0, %%ymm2\n\tvmovdqa %%ymm0, %%ymm3\n\t"
                     "vmovdqa %%ymm0, %%ymm4\n\tvmovdqa %%ymm0, %%ymm5\n\tvmovdqa %%ymm0, %%ymm6\n\t"
                     "vmovdqa %%ymm0, %%ymm7\n\tvmovdqa %%ymm0, %%ymm8\n\tvmovdqa %%ymm0, %%ymm9\n\t"
                     "vmovdqa %%ymm0, %%ymm10\n\tvmovdqa %%ymm0, %%ymm11\n\tvmovdqa %%ymm0, %%ymm12\n\t"
                     "vmovdqa %%ymm0, %%ymm13\n\tvmovdqa %%ymm0, %%ymm14\n\tvmovdqa %%ymm0, %%ymm15"
                     :
                     : "r"(bytes)
                     : "memory");
}

static inline void x86_vectors_store(uint8_t bytes[16][32])
{
    __asm__ volatile("vmovdqu %%ymm0, (%0)\n\tvmovdqu %%ymm1, 32(%0)\n\t"
                     "vmovdqu %%ymm2, 64(%0)\n\tvmovdqu %%ymm3, 96(%0)\n\t"
                     "vmovdqu %%ymm4, 128(%0)\n\tvmovdqu %%ymm5, 160(%0)\n\t"
                     "vmovdqu %%ymm6, 192(%0)\n\tvmovdqu %%ymm7, 224(%0)\n\t"
                     "vmovdqu %%ymm8, 256(%0)\n\tvmovdqu %%ymm9, 288(%0)\n\t"
                     "vmovdqu %%ymm10, 320(%0)\n\tvmovdqu %%ymm11, 352(%0)\n\t"
                     "vmovdqu %%ymm12, 384(%0)\n\tvmovdqu %%ymm13, 416(%0)\n\t"
                     "vmovdqu %%ymm14, 448(%0)\n\tvmovdqu %%ymm15, 480(%0)\n\tvzeroupper"
                     :
                     : "r"(bytes)
                     : "memory");
}

/* Puts them into their first state, which an XSAVE leaves out. */
static inline void x86_vectors_clear(void)
{
    __asm__ volatile("vzeroall" ::: "memory");
}

/* Instructions that a program must not survive. */

/* A fault where no frame can be stored. */
static inline void x86_lose_stack(void)
{
    __asm__ volatile("movq $0x100000, %%rsp\n\tmovb $1, (%0)" : : "r"(0ul) : "memory");
}

static inline void x86_null_read(void)
{
    char value;

    __asm__ volatile("movb (%1), %0" : "=r"(value) : "r"(0ul) : "memory");
}

static inline void x86_null_write(void)
{
    __asm__ volatile("movb $1, (%0)" : : "r"(0ul) : "memory");
}

static inline void x86_invalid_opcode(void)
{
    __asm__ volatile("ud2");
}

static inline void x86_breakpoint(void)
{
    __asm__ volatile("int3");
}

static inline void x86_halt(void)
{
    __asm__ volatile("hlt");
}

static inline void x86_interrupts_off(void)
{
    __asm__ volatile("cli");
}

static inline void x86_port_write(void)
{
    __asm__ volatile("outb %%al, $0xf4" : : "a"(0));
}

static inline void x86_page_table_read(void)
{
    uint64_t value;

    __asm__ volatile("movq %%cr3, %0" : "=r"(value));
}

static inline void x86_register_write(void)
{
    __asm__ volatile("wrmsr" : : "a"(0), "d"(0), "c"(0xc0000082));
}

static inline void x86_interrupt(void)
{
    __asm__ volatile("int $0x21");
}

static inline void x86_divide_by_zero(void)
{
    __asm__ volatile("xorl %%ecx, %%ecx; movl $1, %%eax; cltd; idivl %%ecx" : : : "eax", "ecx", "edx", "cc");
}

/* A 16-byte move from an address that is no multiple of 16. */
static inline void x86_misaligned_move(const char *bytes)
{
    __asm__ volatile("movaps (%0), %%xmm0" : : "r"(((uintptr_t)bytes & ~15ul) + 1) : "xmm0", "memory");
}

#endif
