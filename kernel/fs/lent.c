/* Data that stay where they are. See the header.
 *
 * Handlers run under rx_lock, so the instance needs one window, and it is empty when none runs. Each use flushes it on
 * the CPU that used it; another CPU may have looked ahead meanwhile, so a page is flushed before its use, too. */
#include "kernel/fs/lent.h"

#include "boot/window.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/arch/x86_64/layout.h"
#include "kernel/fs/wire.h"
#include "kernel/lib/panic.h"

#define LENT_LEAST 512u /* bytes: for fewer, the window costs more than the slots */
#define LENT_PAGES ((FILE_CHUNK + PAGE_SIZE - 1) / PAGE_SIZE + 1)

_Static_assert(LENT_BASE % (PAGING_SIZE_2M) + LENT_PAGES * PAGE_SIZE <= PAGING_SIZE_2M, "its entries lie in one table");

static uint64_t *entries; /* [i] of LENT_BASE */
static uint32_t used;     /* [k] rx_lock: pages */

void lent_init(void)
{
    entries = paging_entry(&window_tables, LENT_BASE, true);
    if (entries == NULL)
        panic("fs: no memory for the window to what is lent");
}

bool lent_find(const void *memory, size_t size, uint64_t *address)
{
    *address = (uint64_t)memory - DIRECT_BASE;
    return size >= LENT_LEAST && (uint64_t)memory >= DIRECT_BASE && window_owns(*address, size);
}

void *lent_open(uint32_t kernel, uint64_t address, size_t size, bool write)
{
    const struct plan_range *range = window_range_of(address);
    uint64_t offset = address & (PAGE_SIZE - 1);
    uint64_t flags = PAGING_PRESENT | PAGING_NO_EXECUTE | (write ? PAGING_WRITE : 0);

    assert(used == 0);
    if (size == 0 || size > FILE_CHUNK || range == NULL || range->kernel != kernel ||
        size > range->size - (address - range->base))
        return NULL;
    for (uint64_t done = 0; done < offset + size; done += PAGE_SIZE) {
        entries[used] = ((address - offset + done) & PAGING_FRAME) | flags;
        if (cpu_several)
            invlpg(LENT_BASE + done);
        used++;
    }
    return (void *)(LENT_BASE + offset);
}

void lent_close(void)
{
    while (used > 0) {
        entries[--used] = 0;
        invlpg(LENT_BASE + used * (uint64_t)PAGE_SIZE);
    }
}
