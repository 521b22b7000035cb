/* Windows for host tests, in place of the kernel's header of this path: what the channel uses, defined by the test. */
#ifndef KERNEL_INSTANCE_WINDOW_H
#define KERNEL_INSTANCE_WINDOW_H

#include "kernel/instance/bootpage.h"
#include <stdbool.h>
#include <stdint.h>

#include "boot/plan/plan.h"
#include "kernel/arch/x86_64/paging.h"

int window_map(uint64_t va, uint64_t pa, uint64_t size, uint64_t flags);
void *window_direct(uint64_t pa);
uint64_t window_physical(const void *direct);
bool window_owns(uint64_t pa, uint64_t size);
const struct plan_range *window_range_of(uint64_t pa);

struct boot_page *window_boot_page(void);

#endif
