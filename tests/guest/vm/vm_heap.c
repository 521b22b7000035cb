/* The break: the heap is a region whose end moves. Nothing else of the program uses the break once the test has begun.
 */
#include <sys/syscall.h>

#include "tests/guest/vm/vm_operation.h"
#include "userland/x86.h"

static int pages_below(uint64_t bytes)
{
    return (int)((bytes + VM_PAGE - 1) / VM_PAGE);
}

void vm_operation_break(struct vm_region *region)
{
    uint64_t old = region->heap_break;
    uint64_t new = (uint64_t)vm_chance(region, (int)(VM_REGION_PAGES * VM_PAGE) + 1);
    int before = pages_below(old), after;
    long start = (long)region->base;

    switch (vm_chance(region, 8)) {
    case 0: /* not even the stack's own half is free up there: the break stays */
        vm_expect(region, (struct vm_span){0, VM_REGION_PAGES}, "brk far up", 0, x86_syscall1(SYS_brk, 0x7ffffffff000),
                  start + (long)old);
        return;
    case 1:
        vm_expect(region, (struct vm_span){0, VM_REGION_PAGES}, "brk 0", 0, x86_syscall1(SYS_brk, 0),
                  start + (long)old);
        return;
    case 2:
        new = new / VM_PAGE *VM_PAGE;
        break;
    default:
        break;
    }
    after = pages_below(new);
    vm_expect(region, (struct vm_span){0, VM_REGION_PAGES}, "brk", new, x86_syscall1(SYS_brk, start + (long)new),
              start + (long)new);
    region->heap_break = new;
    if (after > before)
        vm_model_map(region, (struct vm_span){before, after - before}, VM_PROT_RW, false, false);
    else if (after < before)
        vm_model_unmap(region, (struct vm_span){after, before - after});
}
