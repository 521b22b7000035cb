/* The kernel's header of this path for host tests: the rings to peers lie where a process can map them. */
#ifndef TESTS_STAND_IN_LAYOUT_H
#define TESTS_STAND_IN_LAYOUT_H

#include_next "kernel/arch/x86_64/base/layout.h"

#undef RING_BASE
#define RING_BASE 0x200000000000

#endif
