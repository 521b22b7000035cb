/* The mappings of an instance besides its image. See the header. */
#include "kernel/instance/window.h"

#include "kernel/arch/x86_64/base/layout.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/arch/x86_64/tlb.h"
#include "kernel/instance/instance.h"
#include "kernel/lib/panic.h"

extern uint8_t boot_page[]; /* linked at its physical address */

#define BOOT_PAGE_VIRTUAL DEVICE_BASE
#define RW_DATA (PAGING_WRITE | PAGING_GLOBAL | PAGING_NO_EXECUTE)

struct page_tables window_tables;
static uint64_t device_next = DEVICE_BASE + BOOT_PAGE_SIZE; /* next free address; only one CPU maps devices */

_Static_assert(DIRECT_BASE == 0xffff888000000000ull, "window_direct knows the direct map's base");

static uint64_t pool_alloc(void *context)
{
    uint64_t frame = instance.pool_next;

    (void)context;
    if (frame >= instance.pool_end)
        return 0;
    instance.pool_next += PAGE_SIZE;
    return frame;
}

void window_use_allocator(uint64_t (*alloc)(void *context))
{
    window_tables.alloc = alloc;
}

void window_init(void)
{
    const struct plan *plan = &instance.plan;
    uint64_t chunk = plan->kernels[instance.kernel].chunk;
    uint64_t chunk_end = chunk + instance.layout.size;
    uint64_t largest = cpu_features.pages_1g ? PAGING_SIZE_1G : PAGING_SIZE_2M;
    int error = 0;

    window_tables.root = instance.root;
    tlb_init(instance.root);
    window_tables.delta = DIRECT_BASE;
    window_tables.alloc = pool_alloc;
    for (uint32_t i = 0; i < plan->range_count && error == 0; i++) {
        const struct plan_range *range = &plan->ranges[i];
        uint64_t end = range->base + range->size;

        if (range->kernel != instance.kernel)
            continue;
        if (chunk < range->base || chunk >= end) {
            error = paging_map(&window_tables, DIRECT_BASE + range->base, range->base, range->size, RW_DATA, largest);
            continue;
        }
        /* the builder has mapped the chunk page by page, without the image's part in use: skip it */
        error = paging_map(&window_tables, DIRECT_BASE + range->base, range->base, chunk - range->base, RW_DATA,
                           largest);
        if (error == 0)
            error = paging_map(&window_tables, DIRECT_BASE + chunk_end, chunk_end, end - chunk_end, RW_DATA, largest);
    }
    if (error == 0)
        error = paging_prepare(&window_tables, WINDOW_BASE, PAGING_SIZE_1G);
    if (error == 0)
        error = window_map(BOOT_PAGE_VIRTUAL, (uint64_t)boot_page, BOOT_PAGE_SIZE, PAGING_WRITE);
    if (error != 0)
        panic("boot: kernel %u has no room to map its own memory", instance.kernel);
}

struct boot_page *window_boot_page(void)
{
    return (struct boot_page *)BOOT_PAGE_VIRTUAL;
}

volatile void *window_map_device(uint64_t pa, uint64_t size)
{
    uint64_t offset = pa & (PAGE_SIZE - 1);
    uint64_t va = device_next;
    uint64_t span = (offset + size + PAGE_SIZE - 1) & ~(PAGE_SIZE - 1);

    if (paging_map(&window_tables, va, pa - offset, span, RW_DATA | PAGING_UNCACHED, PAGE_SIZE) != 0)
        panic("boot: no memory to map the device at %lx", (unsigned long)pa);
    device_next += span;
    return (volatile void *)(va + offset);
}

int window_map(uint64_t va, uint64_t pa, uint64_t size, uint64_t flags)
{
    return paging_map(&window_tables, va, pa, size, flags | PAGING_GLOBAL | PAGING_NO_EXECUTE, PAGE_SIZE);
}

void window_unmap(uint64_t va, uint64_t size)
{
    for (uint64_t end = va + size; va < end; va += PAGE_SIZE) {
        uint64_t *entry = paging_entry(&window_tables, va, false);

        if (entry != NULL)
            *entry = 0;
        invlpg(va);
    }
}

const struct plan_range *volatile window_range_last;

const struct plan_range *window_range_find(uint64_t pa)
{
    const struct plan_range *range = plan_range_of(&instance.plan, pa);

    if (range != NULL)
        window_range_last = range;
    return range;
}
