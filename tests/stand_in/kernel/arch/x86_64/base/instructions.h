/* The kernel's header of this path for host tests: the time stamp counter is the test's, the calling CPU is test_cpu
 * where a test has that, and there is no gauge of silence: one lasts since the counter was 0. Registers of the model
 * are written nowhere. */
#ifndef TESTS_STAND_IN_INSTRUCTIONS_H
#define TESTS_STAND_IN_INSTRUCTIONS_H

#define rdtsc_unordered rdtsc_unordered_hardware
#define gs_read gs_read_hardware
#define gs_write gs_write_hardware
#define gs_exceeds gs_exceeds_hardware
#define wrmsr wrmsr_hardware
#include_next "kernel/arch/x86_64/base/instructions.h"
#undef rdtsc_unordered
#undef gs_read
#undef gs_write
#undef gs_exceeds
#undef wrmsr

uint64_t rdtsc_unordered(void);
extern struct cpu *test_cpu __attribute__((weak));

static inline void *gs_read(size_t offset)
{
    (void)offset;
    return &test_cpu != NULL ? test_cpu : NULL;
}

static inline void gs_write(size_t offset, uint64_t value)
{
    (void)offset;
    (void)value;
}

static inline bool gs_exceeds(uint64_t value, size_t since, size_t most)
{
    (void)value;
    (void)since;
    (void)most;
    return false;
}

static inline void wrmsr(uint32_t msr, uint64_t value)
{
    (void)msr;
    (void)value;
}

#endif
