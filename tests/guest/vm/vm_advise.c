/* madvise, mincore and msync on a region. */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "tests/guest/harness/tap.h"
#include "tests/guest/vm/vm_operation.h"
#include "userland/x86.h"

#define ALWAYS VM_FEATURES

static const struct advice {
    int advice;
    enum vm_feature needs; /* or ALWAYS */
    const char *name;
} advices[] = {
    {MADV_DONTNEED, ALWAYS, "madvise MADV_DONTNEED"},
    {MADV_DONTNEED, ALWAYS, "madvise MADV_DONTNEED"},
    {MADV_DONTNEED, ALWAYS, "madvise MADV_DONTNEED"},
    {MADV_WILLNEED, VM_ADVISE_HINT, "madvise MADV_WILLNEED"},
    {MADV_NORMAL, VM_ADVISE_HINT, "madvise MADV_NORMAL"},
    {MADV_FREE, VM_ADVISE_FREE, "madvise MADV_FREE"},
    {MADV_FREE, VM_ADVISE_FREE, "madvise MADV_FREE"},
    {MADV_HUGEPAGE, VM_ADVISE_HUGE, "madvise MADV_HUGEPAGE"},
    {MADV_NOHUGEPAGE, VM_ADVISE_NOHUGE, "madvise MADV_NOHUGEPAGE"},
    {MADV_DONTFORK, VM_ADVISE_FORK, "madvise MADV_DONTFORK"},
    {MADV_DOFORK, VM_ADVISE_FORK, "madvise MADV_DOFORK"},
    {MADV_WIPEONFORK, VM_ADVISE_WIPE, "madvise MADV_WIPEONFORK"},
    {MADV_KEEPONFORK, VM_ADVISE_WIPE, "madvise MADV_KEEPONFORK"},
};

/* A heap with holes in a child is no heap to Linux: its break does not come down there. */
static bool suits(const struct vm_region *region, const struct advice *advice)
{
    if (advice->advice == MADV_DONTFORK && region->index == VM_HEAP)
        return false;
    if (advice->advice == MADV_HUGEPAGE && vm_run.resident_exact)
        return false;
    return advice->needs == ALWAYS || vm_has(advice->needs);
}

/* The first shared page of SPAN, or its end. */
static int first_shared(const struct vm_region *region, struct vm_span span)
{
    int page = span.first;

    while (page < span.first + span.count && !(region->pages[page].mapped && region->pages[page].shared))
        page++;
    return page;
}

static void flags_change(struct vm_region *region, struct vm_span span, int advice)
{
    for (int page = span.first; page < span.first + span.count; page++) {
        struct vm_page *p = &region->pages[page];

        if (!p->mapped)
            continue;
        if (advice == MADV_HUGEPAGE || advice == MADV_NOHUGEPAGE)
            p->huge = (uint8_t)advice;
        else if (advice == MADV_DONTFORK || advice == MADV_DOFORK)
            p->dont_fork = advice == MADV_DONTFORK;
        else if (advice == MADV_WIPEONFORK || advice == MADV_KEEPONFORK)
            p->wipe = advice == MADV_WIPEONFORK;
    }
    vm_model_cut(region, span);
}

static void advised(struct vm_region *region, struct vm_span span, int advice)
{
    if (advice == MADV_DONTNEED)
        vm_model_discard(region, span);
    else if (advice == MADV_FREE)
        vm_model_free(region, span);
    else
        flags_change(region, span, advice);
}

void vm_operation_advise(struct vm_region *region)
{
    const struct advice *chosen = &advices[vm_chance(region, TAP_COUNT(advices))];
    struct vm_span span = vm_pick_mapped(region, 32), done = span;
    long expected, result;
    int shared = first_shared(region, span);

    while (!suits(region, chosen))
        chosen = &advices[vm_chance(region, TAP_COUNT(advices))];
    expected = vm_mapped(region, span) < span.count ? -ENOMEM : 0; /* the rest is done */
    if ((chosen->advice == MADV_FREE || chosen->advice == MADV_WIPEONFORK) && shared < span.first + span.count) {
        /* Not for shared memory. What lies before it may have taken the advice; of a flag that would show. */
        done.count = shared - span.first;
        expected = -EINVAL;
        if (chosen->advice == MADV_WIPEONFORK && vm_mapped(region, done) > 0)
            return;
    }
    result = x86_syscall3(SYS_madvise, (long)vm_address(region, span.first), span.count * (long)VM_PAGE,
                          chosen->advice);
    vm_expect(region, span, chosen->name, 0, result, expected);
    advised(region, done, chosen->advice);
    if (chosen->advice == MADV_WILLNEED || expected != 0) {
        for (int page = span.first; page < span.first + span.count; page++) {
            if (region->pages[page].content.resident == VM_ABSENT)
                region->pages[page].content.resident = VM_UNKNOWN;
        }
    }
}

void vm_operation_mincore(struct vm_region *region)
{
    struct vm_span span = vm_pick_mapped(region, VM_REGION_PAGES);
    unsigned char there[VM_REGION_PAGES];
    long result, expected = vm_mapped(region, span) < span.count ? -ENOMEM : 0;

    if (vm_chance(region, 10) == 0) {
        result = x86_syscall3(SYS_mincore, (long)vm_address(region, span.first) + 8, (long)VM_PAGE, (long)there);
        vm_expect(region, span, "mincore at an odd address", 0, result, -EINVAL);
        return;
    }
    result = x86_syscall3(SYS_mincore, (long)vm_address(region, span.first), span.count * (long)VM_PAGE, (long)there);
    vm_expect(region, span, "mincore", 0, result, expected);
    for (int i = 0; i < span.count && expected == 0; i++) {
        const struct vm_content *content = vm_content(region, span.first + i);
        bool yes = (there[i] & 1) != 0;
        /* without objects a fork gives all shared memory frames */
        bool exact = vm_run.resident_exact && (!region->pages[span.first + i].shared || vm_has(VM_OBJECT));

        if (content != NULL &&
            ((content->resident == VM_RESIDENT && !yes) || (content->resident == VM_ABSENT && yes && exact)))
            vm_fail_page(vm_number(region, span.first + i), "mincore says that it is %s memory", yes ? "in" : "not in");
    }
}

void vm_operation_msync(struct vm_region *region)
{
    static const int good[] = {MS_SYNC, MS_ASYNC, MS_SYNC | MS_INVALIDATE, 0};
    struct vm_span span = vm_pick_mapped(region, 40);
    long start = (long)vm_address(region, span.first), length = span.count * (long)VM_PAGE;
    int flags = good[vm_chance(region, 4)];

    switch (vm_chance(region, 8)) {
    case 0:
        vm_expect(region, span, "msync MS_SYNC | MS_ASYNC", 0,
                  x86_syscall3(SYS_msync, start, length, MS_SYNC | MS_ASYNC), -EINVAL);
        break;
    case 1:
        vm_expect(region, span, "msync at an odd address", 0, x86_syscall3(SYS_msync, start + 8, length, flags),
                  -EINVAL);
        break;
    default:
        vm_expect(region, span, "msync", (uint64_t)flags, x86_syscall3(SYS_msync, start, length, flags),
                  vm_mapped(region, span) < span.count ? -ENOMEM : 0);
    }
}
