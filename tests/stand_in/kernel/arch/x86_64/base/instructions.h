/* The kernel's header of this path for host tests: the time stamp counter is the test's. */
#ifndef TESTS_STAND_IN_INSTRUCTIONS_H
#define TESTS_STAND_IN_INSTRUCTIONS_H

#define rdtsc_unordered rdtsc_unordered_hardware
#include_next "kernel/arch/x86_64/base/instructions.h"
#undef rdtsc_unordered

uint64_t rdtsc_unordered(void);

#endif
