/* Access to the contents of frames. See the header. Kernel code stays on its CPU until it waits, and nothing here
 * waits, so no other code uses a CPU's window while it is open. */
#include "mm/frame/content.h"

#include "kernel/arch/x86_64/base/instructions.h"
#include "kernel/arch/x86_64/base/layout.h"
#include "kernel/arch/x86_64/cpu.h"
#include "kernel/arch/x86_64/paging.h"
#include "kernel/instance/window.h"
#include "kernel/lib/panic.h"
#include "kernel/lib/string.h"

#define TABLE_ENTRIES 512u

static uint64_t *windows; /* [i] the entries of COPY_BASE: two pages for each CPU of the instance */

_Static_assert(2 * CPUS_MAX <= TABLE_ENTRIES, "one table has the entries of all CPUs");

void frame_content_init(void)
{
    windows = paging_entry(&window_tables, COPY_BASE, true);
    if (windows == NULL)
        panic("mm: no memory for the window to copy through");
}

/* Returns where the contents of FRAME can be read, or written if WRITE, until close_frame. A CPU has a window to read
 * and one to write. */
static inline void *open_frame(uint64_t frame, bool write)
{
    uint32_t window;

    if (window_owns(frame, PAGE_SIZE))
        return window_direct(frame);
    window = 2 * cpu_index() + (write ? 1 : 0);
    windows[window] = frame | PAGING_PRESENT | (write ? PAGING_WRITE : 0) | PAGING_NO_EXECUTE;
    return (void *)(COPY_BASE + window * PAGE_SIZE);
}

static inline void close_frame(const void *bytes)
{
    uint64_t va = (uint64_t)bytes;

    if (va < COPY_BASE || va >= COPY_BASE + 2 * CPUS_MAX * PAGE_SIZE)
        return;
    windows[(va - COPY_BASE) / PAGE_SIZE] = 0;
    invlpg(va);
}

void frame_copy(uint64_t to, uint64_t from)
{
    const void *bytes = open_frame(from, false);

    memcpy(window_direct(to), bytes, PAGE_SIZE);
    close_frame(bytes);
}

void frame_copy_across(uint64_t to, uint64_t from)
{
    const void *bytes = open_frame(from, false);
    void *copy = open_frame(to, true);

    memcpy(copy, bytes, PAGE_SIZE);
    close_frame(copy);
    close_frame(bytes);
}

void frame_copy_out(uint64_t to, uint64_t from)
{
    void *bytes = open_frame(to, true);

    memcpy(bytes, window_direct(from), PAGE_SIZE);
    close_frame(bytes);
}

void frame_bytes(uint64_t frame, uint32_t offset, void *bytes, uint32_t size, bool write)
{
    uint8_t *page = open_frame(frame, write);

    if (write)
        memcpy(page + offset, bytes, size);
    else
        memcpy(bytes, page + offset, size);
    close_frame(page);
}

void frame_clear(uint64_t frame, uint32_t offset, uint32_t size)
{
    uint8_t *page = open_frame(frame, true);

    memset(page + offset, 0, size);
    close_frame(page);
}

bool frame_swap(uint64_t frame, uint32_t offset, uint32_t *expected, uint32_t value)
{
    uint8_t *page = open_frame(frame, true);
    bool swapped = __atomic_compare_exchange_n((uint32_t *)(void *)(page + offset), expected, value, false,
                                               __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);

    close_frame(page);
    return swapped;
}

void frame_zero(uint64_t frame)
{
    void *page = open_frame(frame, true);

    memset(page, 0, PAGE_SIZE);
    close_frame(page);
}
