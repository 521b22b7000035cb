/* mremap: shrinking, growing, moving, and the second mapping of shared memory.
 *
 * The kernel takes a range that lies in one area. Whether two ranges that are alike and touch are one area it may
 * decide as it likes, so there both answers are right (enum vm_whole). */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "tests/guest/vm/vm_operation.h"
#include "userland/x86.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

#define MOVE_MOST 16

static long remap(const void *old, int old_pages, int new_pages, int flags, const void *new)
{
    return x86_syscall(SYS_mremap, (long)old, old_pages * (long)VM_PAGE, new_pages * (long)VM_PAGE, flags, (long)new,
                       0);
}

/* For a range that the kernel may or may not see as one: what it returned, if that is EFAULT and may be. */
static long allow(enum vm_whole whole, long result, long expected)
{
    if (whole == VM_NOT_ONE || (whole == VM_MAYBE_ONE && result == -EFAULT))
        return -EFAULT;
    return expected;
}

/* The pages behind SPAN up to END are all free. */
static bool room_behind(const struct vm_region *region, struct vm_span span, int end)
{
    int after = span.first + span.count;

    return vm_mapped(region, (struct vm_span){after, end - after}) == 0;
}

/* More pages for shared memory than the HELD ones are for kernels that keep the pages of objects: what lies behind may
 * be there, and mapped nowhere or elsewhere, or not be there. */
static bool may_reach(struct vm_region *region, int page, int held, int count)
{
    const struct vm_page *p = &region->pages[page];

    return !p->mapped || !p->shared || vm_has(VM_OBJECT) || count <= held;
}

/* How many pages from PAGE on are in one area for sure, COUNT at most. */
static int held_from(struct vm_region *region, int page, int count)
{
    int held = count < VM_REGION_PAGES - page ? count : VM_REGION_PAGES - page;

    while (held > 1 && vm_whole(region, (struct vm_span){page, held}) != VM_ONE)
        held--;
    return held;
}

/* SPAN, cut where it stops to be in one area for sure or, one time in eight, as it is. */
static struct vm_span mostly_one(struct vm_region *region, struct vm_span span)
{
    if (vm_chance(region, 8) == 0)
        return span;
    while (span.count > 1 && vm_whole(region, span) != VM_ONE)
        span.count--;
    return span;
}

/* Shrinking gives up the tail, whatever areas are in it; the first page alone must be mapped. */
void vm_operation_shrink(struct vm_region *region)
{
    struct vm_span span = vm_pick_mapped(region, 32);
    int kept = 1 + vm_chance(region, span.count);
    char *start = vm_address(region, span.first);
    bool mapped = region->pages[span.first].mapped;
    int flags = vm_chance(region, 2) == 0 ? 0 : MREMAP_MAYMOVE;

    vm_expect(region, span, "mremap to fewer", (uint64_t)kept, remap(start, span.count, kept, flags, NULL),
              mapped ? (long)start : -EFAULT);
    if (mapped && kept < span.count)
        vm_model_unmap(region, (struct vm_span){span.first + kept, span.count - kept});
}

/* The pages of SPAN were moved to ADDRESS, outside the arena, with fresh ones behind, TOTAL in all: they come back to
 * where they were. Nobody can get in between there, for the actor owns the region. */
static void bring_back(struct vm_region *region, struct vm_span span, int total, long address)
{
    struct vm_span to = {span.first, total};
    long result;

    if (!vm_elsewhere(address, total))
        vm_fail_page(vm_number(region, span.first), "mremap of %d pages to %d returns %ld (%#lx)", span.count, total,
                     address, (unsigned long)address);
    for (int page = span.first; page < span.first + span.count; page++) {
        struct vm_outcome got = vm_access(VM_READ, vm_word(region, page, 0), 0);

        if (got.signal != SIGSEGV || got.code != SEGV_MAPERR)
            vm_fail_page(vm_number(region, page), "after mremap moved it: signal %d code %d, not SIGSEGV %d",
                         got.signal, got.code, SEGV_MAPERR);
    }
    result = remap((void *)address, total, total, MREMAP_MAYMOVE | MREMAP_FIXED, vm_address(region, span.first));
    vm_expect(region, to, "mremap back into the arena", (uint64_t)address, result,
              (long)vm_address(region, span.first));
    /* In the model: the span is as it was, and grows over whatever was behind. */
    vm_model_unmap(region, (struct vm_span){span.first + span.count, total - span.count});
    vm_model_grow(region, span, total - span.count);
}

void vm_operation_grow(struct vm_region *region)
{
    struct vm_span span = mostly_one(region, vm_pick_mapped(region, 16));
    int most = VM_REGION_PAGES - span.first - span.count;
    int total = span.count + (most > 0 ? 1 + vm_chance(region, most < 12 ? most : 12) : 0);
    int flags = vm_chance(region, 2) == 0 ? 0 : MREMAP_MAYMOVE;
    enum vm_whole whole = vm_whole(region, span);
    bool room;
    long result, expected;
    char *start = vm_address(region, span.first);

    if (total == span.count || !may_reach(region, span.first, span.count, total))
        return;
    room = room_behind(region, span, span.first + total);
    result = remap(start, span.count, total, flags, NULL);
    if (whole != VM_NOT_ONE && !room && flags != 0 && (whole == VM_ONE || result != -EFAULT)) {
        vm_history(vm_number(region, span.first), total, "mremap to more, elsewhere", (uint64_t)total, result);
        bring_back(region, span, total, result);
        return;
    }
    expected = allow(whole, result, room ? (long)start : -ENOMEM);
    vm_expect(region, (struct vm_span){span.first, total}, "mremap to more", (uint64_t)span.count, result, expected);
    if (expected == (long)start)
        vm_model_grow(region, span, total - span.count);
}

/* MREMAP_FIXED within the region. Where the kernel may refuse, nothing is at the new place: a refused call may have
 * emptied it. Of refused calls the old pages stay if they are not to be fewer, and a range of many areas that keeps its
 * size is moved by some kernels: neither is tried. */
void vm_operation_move(struct vm_region *region)
{
    struct vm_span from = mostly_one(region, vm_pick_mapped(region, MOVE_MOST));
    struct vm_span to = vm_pick(region, MOVE_MOST);
    enum vm_whole whole = vm_whole(region, from);
    bool overlap = from.first < to.first + to.count && to.first < from.first + from.count;
    char *target = vm_address(region, to.first);
    long result, expected;

    if (vm_chance(region, 2) == 0 && to.first + from.count <= VM_REGION_PAGES) {
        to.count = from.count;
        overlap = from.first < to.first + to.count && to.first < from.first + from.count;
    }
    if (!overlap && whole != VM_ONE && (to.count <= from.count || vm_mapped(region, to) > 0))
        return;
    if (!may_reach(region, from.first, from.count, to.count))
        return;
    result = remap(vm_address(region, from.first), from.count, to.count, MREMAP_MAYMOVE | MREMAP_FIXED, target);
    /* What is not mapped is told before or after the overlap. */
    if (overlap && !region->pages[from.first].mapped)
        expected = result == -EFAULT ? -EFAULT : -EINVAL;
    else
        expected = overlap ? -EINVAL : allow(whole, result, (long)target);
    vm_expect(region, from, "mremap away", (uint64_t)to.first << 16 | (uint64_t)to.count, result, expected);
    if (expected != (long)target)
        return;
    vm_history(vm_number(region, to.first), to.count, "mremap to here",
               (uint64_t)from.first << 16 | (uint64_t)from.count, result);
    vm_model_move(region, from, to);
}

/* MREMAP_DONTUNMAP within the region: private pages leave the old place empty, shared ones are in both. */
void vm_operation_leave(struct vm_region *region)
{
    struct vm_span from = vm_pick_mapped(region, MOVE_MOST), to;
    char *target;
    long result;

    from.count = held_from(region, from.first, from.count);
    to = (struct vm_span){vm_chance(region, VM_REGION_PAGES - from.count + 1), from.count};
    target = vm_address(region, to.first);
    if (!region->pages[from.first].mapped || (from.first < to.first + to.count && to.first < from.first + from.count))
        return;
    result = remap(vm_address(region, from.first), from.count, to.count,
                   MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, target);
    vm_expect(region, from, "mremap MREMAP_DONTUNMAP away", (uint64_t)to.first, result, (long)target);
    vm_history(vm_number(region, to.first), to.count, "mremap MREMAP_DONTUNMAP to here", (uint64_t)from.first, result);
    if (region->pages[from.first].shared)
        vm_model_duplicate(region, from.first, to);
    else
        vm_model_leave(region, from, to);
}

/* Old size 0: the shared memory from a page on is mapped a second time. Private memory has no second mapping. */
void vm_operation_duplicate(struct vm_region *region)
{
    struct vm_span to = vm_pick(region, 6);
    int from = to.first;
    char *target = vm_address(region, to.first);
    long result;

    for (int tries = 0; tries < 20 && !(region->pages[from].mapped && region->pages[from].shared); tries++)
        from = vm_chance(region, VM_REGION_PAGES);
    if (!region->pages[from].mapped)
        return;
    if (!region->pages[from].shared) {
        result = remap(vm_address(region, from), 0, to.count, MREMAP_MAYMOVE, NULL);
        vm_expect(region, (struct vm_span){from, 1}, "mremap of old size 0, private", 0, result, -EINVAL);
        return;
    }
    if ((from >= to.first && from < to.first + to.count) ||
        !may_reach(region, from, held_from(region, from, to.count), to.count))
        return;
    result = remap(vm_address(region, from), 0, to.count, MREMAP_MAYMOVE | MREMAP_FIXED, target);
    vm_expect(region, to, "mremap of old size 0 to here", (uint64_t)from, result, (long)target);
    vm_model_duplicate(region, from, to);
}

void vm_operation_remap_refused(struct vm_region *region)
{
    struct vm_span span = vm_pick(region, 4);
    char *start = vm_address(region, span.first);
    long result;

    switch (vm_chance(region, 5)) {
    case 0:
        vm_expect(region, span, "mremap to nothing", 0, remap(start, span.count, 0, MREMAP_MAYMOVE, NULL), -EINVAL);
        break;
    case 1:
        vm_expect(region, span, "mremap at an odd address", 0, remap(start + 8, 1, 1, 0, NULL), -EINVAL);
        break;
    case 2:
        vm_expect(region, span, "mremap with a strange flag", 0, remap(start, span.count, 1, 0x40, NULL), -EINVAL);
        break;
    case 3:
        vm_expect(region, span, "mremap MREMAP_FIXED without MREMAP_MAYMOVE", 0,
                  remap(start, span.count, 1, MREMAP_FIXED, VM_RACE_ARENA), -EINVAL);
        break;
    default: /* what is wrong first is not said where two things are */
        if (!region->pages[span.first].mapped)
            return;
        result = remap(start, span.count, 1, MREMAP_FIXED | MREMAP_MAYMOVE, VM_RACE_ARENA + 8);
        vm_expect(region, span, "mremap to an odd address", 0, result, -EINVAL);
        break;
    }
}
