/* MAP_GROWSDOWN. What grows wants 256 free pages below itself, so it lies in a place of its region's own, outside the
 * arena, and is gone when the operation is over. */
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "tests/guest/harness/place.h"
#include "tests/guest/vm/vm_operation.h"
#include "userland/x86.h"

#define TOP 3072  /* pages of the place that are below what is mapped */
#define MOST 2040 /* pages that it grows by: 8 MiB with what is mapped */
#define TOUCHES 6

static uint64_t *word_below(const struct vm_region *region, int pages)
{
    return (uint64_t *)(VM_GROW_ARENA + (unsigned long)(region->index * VM_GROW_PAGES + TOP - pages) * VM_PAGE);
}

static void must(const struct vm_region *region, int pages, const char *what, struct vm_outcome got, int signal,
                 uint64_t value)
{
    vm_history(vm_number(region, 0), 0, what, (uint64_t)pages, got.signal != 0 ? -got.signal : 0);
    if (got.signal != signal || got.value != value)
        vm_fail_page(vm_number(region, 0), "%s %d pages below what grows: signal %d, value %#lx, not signal %d, %#lx",
                     what, pages, got.signal, (unsigned long)got.value, signal, (unsigned long)value);
}

void vm_operation_let_grow(struct vm_region *region)
{
    int pages = 1 + vm_chance(region, 8), reached = 0, depths[TOUCHES];
    char *start = (char *)word_below(region, 0), *lowest = (char *)word_below(region, MOST);
    struct vm_span none = {0, 0};

    vm_expect(region, none, "mmap MAP_GROWSDOWN", (uint64_t)pages,
              vm_mmap(start, (uint64_t)pages * VM_PAGE, VM_PROT_RW, MAP_PRIVATE | MAP_FIXED | MAP_GROWSDOWN),
              (long)start);
    for (int i = 0; i < TOUCHES; i++) {
        /* each once: a page has one value */
        depths[i] = 1 + i + TOUCHES * vm_chance(region, MOST / TOUCHES / (1 + vm_chance(region, 20)));
        if (vm_chance(region, 3) == 0)
            vm_go(vm_chance(region, PLACE_MAX));
        if (vm_chance(region, 2) == 0)
            must(region, depths[i], "read", vm_access(VM_READ, word_below(region, depths[i]), 0), 0, 0);
        must(region, depths[i], "growth", vm_access(VM_WRITE, word_below(region, depths[i]), (uint64_t)i + 1), 0, 0);
        reached = depths[i] > reached ? depths[i] : reached;
    }
    for (int i = 0; i < TOUCHES; i++)
        must(region, depths[i], "read of what has grown", vm_access(VM_READ, word_below(region, depths[i]), 0), 0,
             (uint64_t)i + 1);
    must(region, MOST + 16, "read beyond", vm_access(VM_READ, word_below(region, MOST + 16), 0), SIGSEGV, 0);
    vm_expect(region, none, "munmap of what has grown", (uint64_t)reached,
              x86_syscall3(SYS_munmap, (long)lowest, (MOST + 8) * (long)VM_PAGE, 0), 0);
}
