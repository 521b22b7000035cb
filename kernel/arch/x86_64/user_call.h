/* Instructions for code that runs in user mode: kernel/vdso. */
#ifndef KERNEL_ARCH_USER_CALL_H
#define KERNEL_ARCH_USER_CALL_H

#include <stdint.h>

/* Makes system call NUMBER and returns its result. */
static inline int64_t user_call2(uint64_t number, uint64_t a, uint64_t b)
{
    int64_t result;

    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b) : "rcx", "r11", "memory");
    return result;
}

/* Returns the limit of the segment SELECTOR, which differs from CPU to CPU. */
static inline uint32_t segment_limit(uint32_t selector)
{
    uint32_t limit;

    __asm__ volatile("lsl %1, %0" : "=r"(limit) : "r"(selector));
    return limit;
}

#endif
