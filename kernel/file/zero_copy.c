/* Zero-copy data. See the header.
 *
 * Handlers run under rx_lock, so one window is enough for the instance, and it is empty while no handler runs. After
 * each use the pages are flushed from the TLB of the CPU that used them. Another CPU may have loaded an entry
 * speculatively meanwhile, so each page is also flushed before its use. */
#include "kernel/file/zero_copy.h"

#include "kernel/arch/x86_64/base/layout.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/file/wire.h"
#include "kernel/instance/window.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"
#include "mm/frame/heap.h"

/* bytes that fit into the single slot of a request, or of an answer; for more, the window is cheaper than slots */
#define DATA_SHORT (MSG_SHORT - sizeof(struct msg_file_call))
#define RESULT_SHORT (MSG_SHORT - sizeof(struct file_answer))
#define ZERO_COPY_PAGES ((FILE_CHUNK + PAGE_SIZE - 1) / PAGE_SIZE + 1)

_Static_assert(ZERO_COPY_BASE % (PAGING_SIZE_2M) + ZERO_COPY_PAGES * PAGE_SIZE <= PAGING_SIZE_2M,
               "its entries lie in one table");

static uint64_t *entries; /* [i] of ZERO_COPY_BASE */
static uint32_t used;     /* [k] rx_lock: pages */

void zero_copy_init(void)
{
    entries = paging_entry(&window_tables, ZERO_COPY_BASE, true);
    if (entries == NULL)
        panic("fs: no memory for the zero-copy window");
}

static bool is_own(const void *memory, size_t size)
{
    return (uint64_t)memory >= DIRECT_BASE && window_owns((uint64_t)memory - DIRECT_BASE, size);
}

void zero_copy_begin(struct zero_copy *zero_copy, const void *data, size_t size, void *result, size_t room)
{
    const void *memory = size > 0 ? data : result;

    if (size > 0 ? room > 0 || size <= DATA_SHORT : room <= RESULT_SHORT)
        return;
    zero_copy->size = (uint32_t)(size > 0 ? size : room);
    if (!is_own(memory, zero_copy->size)) {
        zero_copy->memory = zero_copy->size < ZERO_COPY_MIN ? heap_alloc_unset(zero_copy->size) : NULL;
        if (zero_copy->memory == NULL)
            return;
        if (size > 0)
            memcpy(zero_copy->memory, data, size);
        memory = zero_copy->memory;
    }
    zero_copy->address = (uint64_t)memory - DIRECT_BASE;
    zero_copy->how = size > 0 ? FILE_ZERO_COPY_DATA : FILE_ZERO_COPY_RESULT;
}

void zero_copy_end(struct zero_copy *zero_copy, void *result, size_t count)
{
    if (zero_copy->how == FILE_ZERO_COPY_RESULT && count > 0)
        memcpy(result, zero_copy->memory, count < zero_copy->size ? count : zero_copy->size);
    heap_free(zero_copy->memory, zero_copy->size);
}

void *zero_copy_open(uint32_t kernel, uint64_t address, size_t size, bool write)
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
            invlpg(ZERO_COPY_BASE + done);
        used++;
    }
    return (void *)(ZERO_COPY_BASE + offset);
}

void zero_copy_close(void)
{
    while (used > 0) {
        entries[--used] = 0;
        invlpg(ZERO_COPY_BASE + used * (uint64_t)PAGE_SIZE);
    }
}
