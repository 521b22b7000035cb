/* Lent memory. See the header.
 *
 * Messages are taken and handled under rx_lock, so one window is enough for the instance, and it is empty while no
 * handler runs. After each use the pages are flushed from the TLB of the CPU that used them. Another CPU may have
 * loaded an entry speculatively meanwhile, so each page is also flushed before its use. */
#include "msg/lend.h"

#include "kernel/arch/x86_64/base/layout.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/instance/window.h"
#include "kernel/lib/panic.h"
#include "msg/message.h"

#define LENT_PAGES (MSG_MAX / PAGE_SIZE + 1)

_Static_assert(LENT_BASE % (PAGING_SIZE_2M) + LENT_PAGES * PAGE_SIZE <= PAGING_SIZE_2M, "its entries lie in one table");

static uint64_t *entries;                            /* [i] of LENT_BASE */
static uint32_t used;                                /* [k] rx_lock: pages */
static const struct plan_range *latest[KERNELS_MAX]; /* [k] rx_lock: where the memory lent last by each kernel lies */

void lend_init(void)
{
    entries = paging_entry(&window_tables, LENT_BASE, true);
    if (entries == NULL)
        panic("msg: no memory for the window of lent memory");
}

uint64_t lend_address(const void *memory, size_t size)
{
    uint64_t address = (uint64_t)memory - DIRECT_BASE;

    return (uint64_t)memory >= DIRECT_BASE && window_owns(address, size) ? address : 0;
}

void *lend_open(uint32_t kernel, uint64_t address, size_t size, bool write)
{
    const struct plan_range *range = latest[kernel];
    uint64_t offset = address & (PAGE_SIZE - 1);
    uint64_t flags = PAGING_PRESENT | PAGING_NO_EXECUTE | (write ? PAGING_WRITE : 0);

    assert(used == 0);
    if (range == NULL || address - range->base >= range->size)
        range = latest[kernel] = window_range_of(address);
    if (size == 0 || size > MSG_MAX || range == NULL || range->kernel != kernel ||
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

void lend_close(void)
{
    while (used > 0) {
        entries[--used] = 0;
        invlpg(LENT_BASE + used * (uint64_t)PAGE_SIZE);
    }
}
