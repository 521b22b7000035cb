/* Data that stay where they are. See the header.
 *
 * Handlers run under rx_lock, so the instance needs one window, and it is empty when none runs. Each use flushes it on
 * the CPU that used it; another CPU may have looked ahead meanwhile, so a page is flushed before its use, too. */
#include "kernel/file/lent.h"

#include "kernel/arch/x86_64/base/layout.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/file/wire.h"
#include "kernel/instance/window.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"

/* bytes that fit into the only slot of a request, or of an answer: for more, slots cost more than the window */
#define DATA_SHORT (MSG_SHORT - sizeof(struct msg_file_call))
#define RESULT_SHORT (MSG_SHORT - sizeof(struct file_answer))
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

static bool is_own(const void *memory, size_t size)
{
    return (uint64_t)memory >= DIRECT_BASE && window_owns((uint64_t)memory - DIRECT_BASE, size);
}

void loan_begin(struct loan *loan, const void *data, size_t size, void *result, size_t room)
{
    const void *memory = size > 0 ? data : result;

    if (size > 0 ? room > 0 || size <= DATA_SHORT : room <= RESULT_SHORT)
        return;
    loan->size = (uint32_t)(size > 0 ? size : room);
    if (!is_own(memory, loan->size)) {
        loan->memory = loan->size < LENT_SMALL ? heap_alloc_unset(loan->size) : NULL;
        if (loan->memory == NULL)
            return;
        if (size > 0)
            memcpy(loan->memory, data, size);
        memory = loan->memory;
    }
    loan->address = (uint64_t)memory - DIRECT_BASE;
    loan->how = size > 0 ? FILE_LENT_DATA : FILE_LENT_RESULT;
}

void loan_end(struct loan *loan, void *result, size_t count)
{
    if (loan->how == FILE_LENT_RESULT && count > 0)
        memcpy(result, loan->memory, count < loan->size ? count : loan->size);
    heap_free(loan->memory, loan->size);
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
