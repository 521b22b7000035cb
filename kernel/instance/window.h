/* Windows: what an instance maps besides its own memory. The boot page, devices, the rings it sends on, the chunk of an
 * instance that is being built, the initramfs. All lie in the top-level slot of WINDOW_BASE. */
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

/* Extends the page tables the builder left: the whole of the instance's memory in the direct map, the boot page. Called
 * once, first of all, by the instance itself; tables come from the chunk's pool. */
void window_init(void);

/* Takes one zeroed frame for page tables from now on from ALLOC instead of the chunk's pool. */
void window_use_allocator(uint64_t (*alloc)(void *context));

struct boot_page *window_boot_page(void);

/* Maps SIZE bytes of device registers at physical address PA, uncached. Never unmapped. Panics without memory. */
volatile void *window_map_device(uint64_t pa, uint64_t size);

/* Maps SIZE bytes at PA to the fixed address VA with FLAGS (PAGING_WRITE or 0). 0 or -ENOMEM. */
int window_map(uint64_t va, uint64_t pa, uint64_t size, uint64_t flags);
/* Removes such a mapping and flushes it on the calling CPU; nothing else may have used it. */
void window_unmap(uint64_t va, uint64_t size);

/* plan_range_of for this instance's plan: whose memory is PA? */
const struct plan_range *window_range_find(uint64_t pa);
extern const struct plan_range *volatile window_range_last; /* [a] what it found last: questions come in rows */
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

#endif
