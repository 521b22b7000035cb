/* Windows: the mappings of an instance besides its own memory. These are the boot page, devices, the rings it sends on,
 * the chunk of an instance that is being built, and the initramfs. All lie in the top-level slot of WINDOW_BASE. */
#ifndef KERNEL_INSTANCE_WINDOW_H
#define KERNEL_INSTANCE_WINDOW_H

#include <stddef.h>
#include <stdint.h>

#include "boot/plan/plan.h"
#include "kernel/arch/x86_64/paging.h"
#include "kernel/instance/bootpage.h"
#include "kernel/instance/instance.h"

/* The instance's kernel page tables, for mapping and for copying the upper half into programs' tables. */
extern struct page_tables window_tables;

/* Extends the page tables that the builder made: maps all of the instance's memory in the direct map, and the boot
 * page. The instance itself calls it once, before anything else; tables come from the chunk's pool. */
void window_init(void);

/* From now on takes zeroed frames for page tables from ALLOC instead of the chunk's pool. */
void window_use_allocator(uint64_t (*alloc)(void *context));

struct boot_page *window_boot_page(void);

/* Maps SIZE bytes of device registers at physical address PA, uncached. Never unmapped. Panics without memory. */
volatile void *window_map_device(uint64_t pa, uint64_t size);

/* Maps SIZE bytes at PA to the fixed address VA with FLAGS (PAGING_WRITE or 0). 0 or -ENOMEM. */
int window_map(uint64_t va, uint64_t pa, uint64_t size, uint64_t flags);
/* Removes such a mapping and flushes it on the calling CPU; no other CPU may have used it. */
void window_unmap(uint64_t va, uint64_t size);

/* plan_range_of for this instance's plan: the range that contains PA, with its owner. */
const struct plan_range *window_range_find(uint64_t pa);
extern const struct plan_range *volatile window_range_last; /* [a] the last result: lookups have locality */
static inline const struct plan_range *window_range_of(uint64_t pa)
{
    const struct plan_range *range = window_range_last;

    return range != NULL && pa - range->base < range->size ? range : window_range_find(pa);
}
/* True when all of [PA, PA + SIZE) is this instance's own memory, usable through the direct map. */
static inline bool window_owns(uint64_t pa, uint64_t size)
{
    const struct plan_range *range = window_range_of(pa);

    return range != NULL && range->kernel == instance.kernel && pa + size <= range->base + range->size;
}

static inline void *window_direct(uint64_t pa)
{
    return (void *)(0xffff888000000000ull + pa);
}
/* The physical address of what window_direct has returned. */
static inline uint64_t window_physical(const void *direct)
{
    return (uint64_t)direct - 0xffff888000000000ull;
}

#endif
