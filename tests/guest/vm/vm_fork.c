/* Fork: the child is an actor of its own, with a copy of the model that must be true of its copy of the memory. The
 * region's shared objects stay the parent's too: what the child writes there the parent knows beforehand. */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/guest/harness/place.h"
#include "tests/guest/harness/tap.h"
#include "tests/guest/vm/vm_operation.h"
#include "userland/x86.h"

#define DEPTH_MOST 2
#define CHILD_OPERATIONS 12

/* What a child with these random numbers writes to shared page NUMBER. */
static uint64_t child_value(uint64_t random, int number)
{
    uint64_t state = random + (uint64_t)number;

    return (tap_random(&state) << 8 | VM_RETURN) & ~(1ull << 63);
}

static bool child_writes(struct vm_region *region, uint64_t random, int page)
{
    const struct vm_page *p = &region->pages[page];

    return p->mapped && p->shared && !p->dont_fork && (p->prot & PROT_WRITE) != 0 && vm_content(region, page) != NULL &&
           child_value(random, page) % 3 == 0;
}

/* The shared pages as the child leaves them; in the child it writes them so. */
static void child_shares(struct vm_region *region, uint64_t random, bool write)
{
    for (int page = 0; page < VM_REGION_PAGES; page++) {
        struct vm_content *content = vm_content(region, page);
        uint64_t value = child_value(random, page);

        if (!child_writes(region, random, page))
            continue;
        if (write) {
            struct vm_outcome got = vm_access(VM_WRITE, vm_word(region, page, 0), value);

            if (got.signal != 0)
                vm_fail_page(vm_number(region, page), "signal %d code %d in the child", got.signal, got.code);
        }
        vm_history(vm_number(region, page), 1, write ? "write of a child" : "what the child has written", value, 0);
        content->words[0] = value;
        content->resident = VM_RESIDENT;
    }
}

static _Noreturn void child_run(struct vm_region *region, uint64_t random)
{
    bool quiet = vm_me.quiet;

    vm_me.depth++;
    region->random = random;
    vm_model_fork(region);
    if (vm_chance(region, 2) == 0)
        vm_go(vm_chance(region, PLACE_MAX));
    vm_sweep(region);
    if (!quiet)
        child_shares(region, random, true);
    vm_me.quiet = true;
    for (int i = vm_chance(region, CHILD_OPERATIONS); i > 0; i--)
        vm_operate(region);
    vm_sweep(region);
    for (;;)
        x86_syscall1(SYS_exit_group, 0);
}

static bool has_private(const struct vm_region *region, int page)
{
    return region->pages[page].mapped && !region->pages[page].shared;
}

void vm_operation_fork(struct vm_region *region)
{
    struct vm_span all = {0, VM_REGION_PAGES};
    uint64_t random = tap_random(&region->random);
    int status = -1;
    long child, waited;

    if (vm_me.depth >= DEPTH_MOST)
        return;
    child = x86_syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0, 0);
    if (child == 0)
        child_run(region, random);
    vm_expect(region, all, "fork", 0, child < 0 ? child : 0, 0);
    vm_model_forked(region);
    /* Meanwhile: what the child has of these pages must not change, wherever they are written. */
    if (vm_chance(region, 2) == 0)
        vm_go(vm_chance(region, PLACE_MAX));
    for (int i = vm_chance(region, 12); i > 0; i--) {
        int page = vm_chance(region, VM_REGION_PAGES);

        if (has_private(region, page))
            vm_touch(region, page, vm_chance(region, 3) == 0 ? VM_READ : VM_WRITE);
    }
    do
        waited = x86_syscall(SYS_wait4, child, (long)&status, 0, 0, 0, 0);
    while (waited == -EINTR);
    vm_expect(region, (struct vm_span){0, 0}, "wait4", (uint64_t)child, waited, child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        vm_fail("the forked process %ld of region %d ends with status %#x", child, region->index, (unsigned)status);
    if (!vm_me.quiet)
        child_shares(region, random, false);
    if (vm_chance(region, 2) == 0)
        vm_sweep(region);
}
