/* Random operations: which there are, and those on mappings. tests/guest/vm/vm_operation.h is the contract. */
#include "tests/guest/vm/vm_operation.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "tests/guest/harness/place.h"
#include "tests/guest/harness/tap.h"
#include "userland/x86.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define MAP_MOST 40 /* pages of one mapping */

/* What may be asked for. Execute alone is not among them: CPUs with protection keys then forbid reading. */
static const uint8_t prots[] = {PROT_READ | PROT_WRITE,
                                PROT_READ | PROT_WRITE,
                                PROT_READ | PROT_WRITE,
                                PROT_READ | PROT_WRITE,
                                PROT_READ,
                                PROT_READ,
                                PROT_NONE,
                                PROT_WRITE,
                                PROT_READ | PROT_EXEC,
                                7};

int vm_chance(struct vm_region *region, int below)
{
    return (int)(tap_random(&region->random) % (uint64_t)below);
}

static unsigned any_prot(struct vm_region *region)
{
    return prots[vm_chance(region, (int)sizeof(prots))];
}

struct vm_span vm_pick(struct vm_region *region, int most)
{
    struct vm_span span = {.count = 1 + vm_chance(region, vm_chance(region, 2) == 0 ? 3 : most)};

    if (span.count > most)
        span.count = most;
    span.first = vm_chance(region, VM_REGION_PAGES - span.count + 1);
    switch (vm_chance(region, 10)) {
    case 0:
        span.first = 0;
        break;
    case 1:
        span.first = VM_REGION_PAGES - span.count;
        break;
    default:
        break;
    }
    return span;
}

struct vm_span vm_pick_mapped(struct vm_region *region, int most)
{
    struct vm_span span = vm_pick(region, most);

    if (vm_chance(region, 8) == 0)
        return span;
    for (int tries = 0; tries < 8 && !region->pages[span.first].mapped; tries++)
        span = vm_pick(region, most);
    if (region->pages[span.first].mapped)
        span.count = vm_first_hole(region, span) - span.first;
    return span;
}

/* A word that nobody else writes. */
static uint64_t vm_value(int number)
{
    return (uint64_t)(vm_me.index | (vm_me.depth > 0 ? 0x80 : 0)) << 56 |
           (uint64_t)(atomic_load(&vm_run.batch) & 0xffff) << 40 | (uint64_t)number << 24 |
           (uint64_t)(vm_me.serial & 0xffff) << 8 | VM_RETURN;
}

void vm_expect(const struct vm_region *region, struct vm_span span, const char *what, uint64_t detail, long result,
               long expected)
{
    vm_history(vm_number(region, span.first), span.count, what, detail, result);
    if (result != expected)
        vm_fail_page(vm_number(region, span.first), "%s of %d pages, %#lx, returns %ld (%#lx), not %ld (%#lx)", what,
                     span.count, (unsigned long)detail, result, (unsigned long)result, expected,
                     (unsigned long)expected);
}

long vm_mmap(const void *address, uint64_t length, unsigned prot, int flags)
{
    return x86_syscall(SYS_mmap, (long)address, (long)length, (long)prot, flags | MAP_ANONYMOUS, -1, 0);
}

bool vm_elsewhere(long address, int pages)
{
    return address > 0 && (address & (long)(VM_PAGE - 1)) == 0 &&
           ((char *)address + (unsigned long)pages * VM_PAGE <= VM_ARENA ||
            (char *)address >= VM_ARENA + VM_HEAP * VM_REGION_PAGES * VM_PAGE);
}

/* --- accesses --- */

static void seen(struct vm_region *region, int page, int word, uint64_t value)
{
    struct vm_content *content = vm_content(region, page);
    bool doubted = (content->doubt & 1u << word) != 0;

    if (value != content->words[word] && (value != 0 || !doubted))
        vm_fail_page(vm_number(region, page), "word %d is %#lx, not %#lx", word, (unsigned long)value,
                     (unsigned long)content->words[word]);
    if (!doubted || content->words[word] == 0)
        return;
    if (value == 0) {
        for (int i = 0; i < VM_WORDS; i++) {
            if ((content->doubt & 1u << i) != 0)
                content->words[i] = 0;
        }
    }
    if (value == 0 || content->settled)
        content->doubt = 0;
}

static void touched(struct vm_content *content, enum vm_way way, int word, uint64_t value)
{
    if (VM_ACCESS_WRITES(way)) {
        content->words[word] = value;
        content->doubt &= (uint8_t) ~(1u << word);
        content->settled = true;
    }
    if (content->doubt == 0 || content->settled)
        content->resident = VM_RESIDENT;
}

static enum vm_way suitable(struct vm_region *region, int page, enum vm_way way)
{
    const struct vm_page *p = &region->pages[page];
    const struct vm_content *content = vm_content(region, page);

    if (VM_ACCESS_WRITES(way) && p->shared && vm_me.quiet)
        return VM_READ;
    /* Behind the end of its object a page may be missed before or after it is seen that it cannot be executed. */
    if (way == VM_EXECUTE && p->mapped &&
        (content == NULL ||
         ((p->prot & PROT_EXEC) != 0 && ((content->words[0] & 0xff) != VM_RETURN || content->doubt != 0))))
        return VM_READ;
    return way;
}

void vm_touch(struct vm_region *region, int page, enum vm_way way)
{
    static const char *const names[] = {"read", "write", "execute", "kernel's read", "kernel's write"};
    struct vm_span span = {page, 1};
    struct vm_content *content = vm_content(region, page);
    int word = vm_chance(region, VM_WORDS);
    struct vm_outcome expected, got;
    uint64_t value = vm_value(vm_number(region, page));

    way = suitable(region, page, way);
    if (way == VM_EXECUTE)
        word = 0;
    if (way == VM_KERNEL_WRITE)
        value = tap_random(&region->random) & VM_MASK_BITS;
    else if (way == VM_KERNEL_READ)
        value = content != NULL ? content->words[word] : 0;
    expected = vm_predict(region, page, way);
    got = vm_access(way, vm_word(region, page, word), value);
    vm_history(vm_number(region, page), 1, names[way], VM_ACCESS_WRITES(way) ? value : got.value,
               got.error != 0 ? got.error : got.signal);
    if (way == VM_KERNEL_READ && expected.error == 0 && got.error == -EAGAIN && (content->doubt & 1u << word) != 0)
        got.error = 0;
    if (got.signal != expected.signal || got.code != expected.code || got.error != expected.error)
        vm_fail_page(vm_number(region, page),
                     "%s of word %d: signal %d code %d error %ld, not signal %d code %d error %ld", names[way], word,
                     got.signal, got.code, got.error, expected.signal, expected.code, expected.error);
    if (got.signal != 0 && got.address != vm_word(region, page, word))
        vm_fail_page(vm_number(region, span.first), "%s: the signal names address %p, not %p", names[way],
                     (const void *)(uintptr_t)got.address, (void *)vm_word(region, page, word));
    /* Some kernels give the page memory before they see that it cannot be executed. */
    if (way == VM_EXECUTE && got.signal != 0 && content != NULL && content->resident == VM_ABSENT)
        content->resident = VM_UNKNOWN;
    if (got.signal != 0 || got.error != 0)
        return;
    if (way == VM_READ)
        seen(region, page, word, got.value);
    touched(content, way, word, value);
}

static void operation_touch(struct vm_region *region)
{
    static const uint8_t ways[] = {VM_READ,  VM_READ,    VM_READ,        VM_WRITE,       VM_WRITE,
                                   VM_WRITE, VM_EXECUTE, VM_KERNEL_READ, VM_KERNEL_WRITE};
    struct vm_span span = vm_pick_mapped(region, 24);
    enum vm_way way = ways[vm_chance(region, (int)sizeof(ways))];

    for (int page = span.first; page < span.first + span.count; page++)
        vm_touch(region, page, way);
}

void vm_sweep(struct vm_region *region)
{
    for (int page = 0; page < VM_REGION_PAGES; page++)
        vm_touch(region, page, VM_READ);
}

static void operation_sweep(struct vm_region *region)
{
    vm_sweep(region);
}

/* --- mappings --- */

static int share_flag(struct vm_region *region, struct vm_span *span, bool *shared)
{
    *shared = vm_chance(region, 3) == 0;
    if (*shared && span->count > VM_OBJECT_PAGES)
        span->count = VM_OBJECT_PAGES;
    return *shared ? MAP_SHARED : MAP_PRIVATE;
}

static int decorations(struct vm_region *region, bool *populated)
{
    int chosen = vm_chance(region, 6);

    *populated = chosen == 0 && vm_has(VM_POPULATE);
    return chosen == 0 ? MAP_POPULATE : chosen == 1 ? MAP_NORESERVE : 0;
}

static void operation_map_fixed(struct vm_region *region)
{
    struct vm_span span = vm_pick(region, MAP_MOST);
    unsigned prot = any_prot(region);
    bool shared, populated;
    int flags = share_flag(region, &span, &shared) | decorations(region, &populated) | MAP_FIXED;
    char *address = vm_address(region, span.first);
    /* A length that is no multiple of pages is rounded up. */
    uint64_t length = (uint64_t)span.count * VM_PAGE - (uint64_t)vm_chance(region, 2) * 100;

    vm_expect(region, span, "mmap MAP_FIXED", (uint64_t)flags << 8 | prot, vm_mmap(address, length, prot, flags),
              (long)address);
    vm_model_map(region, span, prot, shared, populated);
}

void vm_furnish(struct vm_region *region)
{
    struct vm_span span = {0, 0};

    while (span.first < VM_REGION_PAGES) {
        int rest = VM_REGION_PAGES - span.first;
        bool shared;
        int flags;
        char *address = vm_address(region, span.first);
        unsigned prot = any_prot(region);

        span.count = 1 + vm_chance(region, rest < MAP_MOST ? rest : MAP_MOST);
        flags = share_flag(region, &span, &shared) | MAP_FIXED;
        if (vm_chance(region, 6) != 0) {
            vm_expect(region, span, "mmap MAP_FIXED", (uint64_t)flags << 8 | prot,
                      vm_mmap(address, (uint64_t)span.count * VM_PAGE, prot, flags), (long)address);
            vm_model_map(region, span, prot, shared, false);
        }
        span.first += span.count;
    }
}

/* Where nothing is in the way, as often as there is such a place. */
static struct vm_span pick_free(struct vm_region *region, int most)
{
    struct vm_span span = vm_pick(region, most);

    for (int tries = 0; tries < 8 && vm_mapped(region, span) > 0; tries++)
        span = vm_pick(region, most);
    return span;
}

static void operation_map_noreplace(struct vm_region *region)
{
    struct vm_span span = pick_free(region, MAP_MOST);
    unsigned prot = any_prot(region);
    bool shared, populated;
    int flags = share_flag(region, &span, &shared) | decorations(region, &populated) | MAP_FIXED_NOREPLACE;
    char *address = vm_address(region, span.first);
    bool taken = vm_mapped(region, span) > 0;

    vm_expect(region, span, "mmap MAP_FIXED_NOREPLACE", (uint64_t)flags << 8 | prot,
              vm_mmap(address, (uint64_t)span.count * VM_PAGE, prot, flags), taken ? -EEXIST : (long)address);
    if (!taken)
        vm_model_map(region, span, prot, shared, populated);
}

/* Fresh pages at ADDRESS, where the kernel wanted them, work and are nobody else's. */
static void use_elsewhere(const struct vm_region *region, struct vm_span span, long address, unsigned prot)
{
    if (!vm_elsewhere(address, span.count))
        vm_fail_page(vm_number(region, span.first), "mmap of %d pages anywhere returns %ld (%#lx)", span.count, address,
                     (unsigned long)address);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < span.count && prot == VM_PROT_RW; i++) {
            volatile uint64_t *word = (uint64_t *)(address + (long)i * (long)VM_PAGE);
            uint64_t expected = round == 0 ? 0 : vm_value(i);

            if (*word != expected)
                vm_fail_page(vm_number(region, span.first), "page %d of a mapping anywhere has %#lx, not %#lx", i,
                             (unsigned long)*word, (unsigned long)expected);
            *word = vm_value(i);
        }
    }
}

static void unmap_elsewhere(const struct vm_region *region, struct vm_span span, long address)
{
    long result = x86_syscall3(SYS_munmap, address, (long)((uint64_t)span.count * VM_PAGE), 0);

    vm_expect(region, (struct vm_span){span.first, 0}, "munmap of a mapping anywhere", 0, result, 0);
}

static void operation_map_anywhere(struct vm_region *region)
{
    struct vm_span span = vm_pick(region, MAP_MOST);
    unsigned prot = any_prot(region);
    bool shared, populated;
    int flags = share_flag(region, &span, &shared) | decorations(region, &populated);
    long address = vm_mmap(NULL, (uint64_t)span.count * VM_PAGE, prot, flags);

    use_elsewhere(region, span, address, prot);
    unmap_elsewhere(region, span, address);
}

/* A hint is taken where the place is free. It need not be the start of a page. */
static void operation_map_hint(struct vm_region *region)
{
    struct vm_span span = pick_free(region, MAP_MOST);
    unsigned prot = any_prot(region);
    bool shared, populated;
    int flags = share_flag(region, &span, &shared) | decorations(region, &populated);
    char *address = vm_address(region, span.first);
    bool taken = vm_mapped(region, span) > 0;
    long result = vm_mmap(address + vm_chance(region, 2) * 77, (uint64_t)span.count * VM_PAGE, prot, flags);

    if (taken) {
        use_elsewhere(region, span, result, prot);
        unmap_elsewhere(region, span, result);
        return;
    }
    vm_expect(region, span, "mmap with a hint", (uint64_t)flags << 8 | prot, result, (long)address);
    vm_model_map(region, span, prot, shared, populated);
}

static void operation_unmap(struct vm_region *region)
{
    struct vm_span span = vm_pick(region, 48);
    uint64_t length = (uint64_t)span.count * VM_PAGE - (uint64_t)vm_chance(region, 2) * 100;

    vm_expect(region, span, "munmap", 0,
              x86_syscall3(SYS_munmap, (long)vm_address(region, span.first), (long)length, 0), 0);
    vm_model_unmap(region, span);
}

static void protect(struct vm_region *region, struct vm_span span, unsigned prot)
{
    long result = x86_syscall3(SYS_mprotect, (long)vm_address(region, span.first),
                               (long)((uint64_t)span.count * VM_PAGE), prot);
    int hole = vm_first_hole(region, span);

    vm_expect(region, span, "mprotect", prot, result, hole < span.first + span.count ? -ENOMEM : 0);
    if (hole == span.first + span.count)
        vm_model_protect(region, span, prot);
    else if (hole > span.first) /* what lies before the hole may have changed or not: once more without it */
        protect(region, (struct vm_span){span.first, hole - span.first}, prot);
}

static void operation_protect(struct vm_region *region)
{
    protect(region, vm_pick_mapped(region, 32), any_prot(region));
}

/* Calls that must be refused, and change nothing. */
static void operation_refused(struct vm_region *region)
{
    struct vm_span span = vm_pick(region, 8);
    char *address = vm_address(region, span.first);
    long start = (long)address, length = (long)((uint64_t)span.count * VM_PAGE);
    int fixed = MAP_PRIVATE | MAP_FIXED;

    switch (vm_chance(region, 12)) {
    case 0:
        vm_expect(region, span, "mmap of nothing", 0, vm_mmap(address, 0, 3, fixed), -EINVAL);
        break;
    case 1:
        vm_expect(region, span, "mmap at an odd address", 0, vm_mmap(address + 8, VM_PAGE, 3, fixed), -EINVAL);
        break;
    case 2:
        vm_expect(region, span, "mmap neither shared nor private", 0, vm_mmap(address, VM_PAGE, 3, MAP_FIXED), -EINVAL);
        break;
    case 3:
        vm_expect(region, span, "mmap of too much", 0, vm_mmap(address, -VM_PAGE, 3, fixed), -ENOMEM);
        break;
    case 4:
        vm_expect(region, span, "munmap of nothing", 0, x86_syscall3(SYS_munmap, start, 0, 0), -EINVAL);
        break;
    case 5:
        vm_expect(region, span, "munmap at an odd address", 0, x86_syscall3(SYS_munmap, start + 8, length, 0), -EINVAL);
        break;
    case 6:
        vm_expect(region, span, "munmap of too much", 0, x86_syscall3(SYS_munmap, start, -4096, 0), -EINVAL);
        break;
    case 7:
        vm_expect(region, span, "mprotect at an odd address", 0, x86_syscall3(SYS_mprotect, start + 8, length, 0),
                  -EINVAL);
        break;
    case 8:
        vm_expect(region, span, "mprotect of nothing", 0, x86_syscall3(SYS_mprotect, start, 0, 0), 0);
        break;
    case 9:
        vm_expect(region, span, "mprotect with a strange right", 0,
                  x86_syscall3(SYS_mprotect, start, length, 0x40000000), -EINVAL);
        break;
    case 10:
        vm_expect(region, span, "mprotect of too much", 0, x86_syscall3(SYS_mprotect, start, -4096, 1), -ENOMEM);
        break;
    default:
        vm_expect(region, span, "madvise with strange advice", 0, x86_syscall3(SYS_madvise, start, length, 999),
                  -EINVAL);
        break;
    }
}

static void operation_go(struct vm_region *region)
{
    vm_go(vm_chance(region, PLACE_MAX));
}

/* --- the choice --- */

#define ALWAYS VM_FEATURES

static const struct operation {
    void (*run)(struct vm_region *region);
    int weight;
    enum vm_feature needs; /* or ALWAYS */
    bool heap;             /* fit for the heap */
} operations[] = {
    {operation_touch, 40, ALWAYS, true},
    {operation_map_fixed, 12, ALWAYS, false},
    {operation_map_noreplace, 4, VM_NOREPLACE, false},
    {operation_map_anywhere, 3, ALWAYS, true},
    {operation_map_hint, 4, VM_HINT, false},
    {operation_unmap, 6, ALWAYS, false},
    {operation_protect, 12, ALWAYS, true},
    {operation_refused, 3, ALWAYS, true},
    {operation_sweep, 1, ALWAYS, true},
    {operation_go, 3, ALWAYS, true},
    {vm_operation_advise, 8, ALWAYS, true},
    {vm_operation_mincore, 4, VM_MINCORE, true},
    {vm_operation_msync, 1, VM_MSYNC, true},
    {vm_operation_shrink, 3, VM_MREMAP, false},
    {vm_operation_grow, 6, VM_MREMAP, false},
    {vm_operation_move, 6, VM_MREMAP, false},
    {vm_operation_duplicate, 3, VM_MREMAP, false},
    {vm_operation_leave, 3, VM_DONTUNMAP, false},
    {vm_operation_let_grow, 2, VM_GROWS, false},
    {vm_operation_remap_refused, 2, VM_MREMAP, false},
    {vm_operation_fork, 1, ALWAYS, true},
};

static bool suits(const struct operation *operation, const struct vm_region *region)
{
    return (operation->needs == ALWAYS || vm_has(operation->needs)) && (operation->heap || region->index != VM_HEAP);
}

void vm_operate(struct vm_region *region)
{
    int sum = 0, chosen;

    if (region->index == VM_HEAP && vm_chance(region, 4) == 0) {
        vm_operation_break(region);
        return;
    }
    for (size_t i = 0; i < TAP_COUNT(operations); i++)
        sum += suits(&operations[i], region) ? operations[i].weight : 0;
    chosen = vm_chance(region, sum);
    for (size_t i = 0; i < TAP_COUNT(operations); i++) {
        if (!suits(&operations[i], region))
            continue;
        chosen -= operations[i].weight;
        if (chosen < 0) {
            operations[i].run(region);
            return;
        }
    }
}
