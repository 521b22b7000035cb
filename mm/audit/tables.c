/* Checking the page tables of one kernel. See the header. */
#include "mm/audit/tables.h"

#include "kernel/abi/limits.h"
#include "kernel/instance/instance.h"
#include "mm/space/entry.h"

#define ENTRIES 512u
#define HALF 256u
#define LEAF 1
#define LARGE 2
#define ROOT 4

struct walk {
    const struct audit_world *world;
    const struct page_tables *tables;
    struct audit_report *report;
    uint64_t space;               /* id; 0: the kernel's own tables */
    const struct sharers *owners; /* of a space */
};

static uint64_t *table_at(const struct walk *walk, uint64_t frame)
{
    return (uint64_t *)(frame + walk->tables->delta);
}

static uint64_t size_at(int level)
{
    return 1ull << (PAGE_SHIFT + 9 * (level - 1));
}

/* A table has to be this kernel's memory, in use by the kernel and by no space. */
static bool table_good(const struct walk *walk, uint64_t va, uint64_t frame)
{
    if (walk->world->owner(frame, PAGE_SIZE) == walk->world->kernel && walk->world->own_use(frame))
        return true;
    audit_violation(walk->report, AUDIT_TABLE,
                    "kernel %u space %lu: the table for %lx is frame %lx, not one of its own", walk->world->kernel,
                    (unsigned long)walk->space, (unsigned long)va, (unsigned long)frame);
    return false;
}

/* The entry of a large page must have a deposited table with the same contents. */
static bool large_good(const struct walk *walk, uint64_t va, uint64_t entry)
{
    uint64_t frame = paging_deposit(walk->tables, va);

    if (frame == 0 || !table_good(walk, va, frame))
        return false;
    return paging_large_of(table_at(walk, frame)) == (space_entry_shown(entry) & ~(PAGING_ACCESSED | PAGING_DIRTY)) &&
           walk->world->owner(entry & PAGING_FRAME, PAGING_SIZE_2M) < KERNELS_MAX;
}

static void user_leaf(const struct walk *walk, uint64_t va, uint64_t entry, int level)
{
    uint64_t wrong = PAGING_GLOBAL | PAGING_UNCACHED | (level == LEAF ? PAGING_LARGE : 0);
    bool large = level == LARGE && (entry & PAGING_LARGE) != 0 && large_good(walk, va, entry);
    uint32_t owner = walk->world->owner(entry & PAGING_FRAME, PAGE_SIZE);

    if (!large &&
        (level != LEAF || (entry & wrong) != 0 || ((entry & PAGING_PRESENT) != 0 && (entry & PAGING_USER) == 0)))
        audit_violation(walk->report, AUDIT_TABLE, "kernel %u space %lu: the entry for %lx at level %d is %lx",
                        walk->world->kernel, (unsigned long)walk->space, (unsigned long)va, level,
                        (unsigned long)entry);
    else if (owner >= KERNELS_MAX)
        audit_violation(walk->report, AUDIT_MEMORY, "kernel %u space %lu: %lx maps %lx, which is no kernel's memory",
                        walk->world->kernel, (unsigned long)walk->space, (unsigned long)va,
                        (unsigned long)(entry & PAGING_FRAME));
    else if (owner != walk->world->kernel && !owners_has(walk->owners, va, owner))
        audit_violation(walk->report, AUDIT_OWNER,
                        "kernel %u space %lu: %lx maps %lx, and kernel %u's memory is not noted there",
                        walk->world->kernel, (unsigned long)walk->space, (unsigned long)va,
                        (unsigned long)(entry & PAGING_FRAME), owner);
}

/* The image must be mapped at its own addresses only and nothing else there; in the direct map, an address maps its own
 * physical memory. */
static bool own_placed(const struct audit_world *world, uint64_t va, uint64_t pa, uint64_t size)
{
    bool image = pa < world->image_end && pa + size > world->image;

    if (va - world->text_va < world->text_size)
        return false;
    if (image || (va - world->image_va) < world->image_end - world->image)
        return image && va - world->image_va == pa - world->image && pa + size <= world->image_end;
    return va < world->direct || va >= world->direct_end || va - world->direct == pa;
}

static void kernel_leaf(const struct walk *walk, uint64_t va, uint64_t entry, int level)
{
    const struct audit_world *world = walk->world;
    uint64_t size = size_at(level);
    uint64_t pa = entry & PAGING_FRAME & ~(size - 1);
    uint32_t owner = world->owner(pa, size);
    bool write = (entry & PAGING_WRITE) != 0, good;

    if ((entry & PAGING_USER) != 0 || (write && (entry & PAGING_NO_EXECUTE) == 0))
        audit_violation(walk->report, AUDIT_TABLE,
                        "kernel %u: the entry for %lx is %lx: for programs, or writable code", world->kernel,
                        (unsigned long)va, (unsigned long)entry);
    if (owner == world->kernel)
        good = own_placed(world, va, pa, size);
    else
        good = level == LEAF && world->may_map(va, pa, write);
    if (!good)
        audit_violation(walk->report, AUDIT_MEMORY, "kernel %u maps %lx (%s%d) at %lx, %s", world->kernel,
                        (unsigned long)pa, owner < KERNELS_MAX ? "memory of kernel " : "no kernel's memory ",
                        owner < KERNELS_MAX ? (int)owner : 0, (unsigned long)va, write ? "to write" : "to read");
}

#define LARGE_LEAF 64u      /* leaves that take as long as a large page: its deposited table is compared */
#define LEAVES_AT_ONCE 128u /* each asks whose the frame is, over the whole plan */

static void walk_table(const struct walk *walk, uint64_t frame, int level, uint64_t base, uint32_t first, uint32_t end)
{
    const uint64_t *table = table_at(walk, frame);
    uint32_t looked = 0;

    for (uint32_t i = first; (i = paging_next_used(table, i, end)) < end; i++) {
        uint64_t va = base + i * size_at(level), entry = table[i];

        if (level == ROOT && i >= HALF)
            va |= 0xffff000000000000ull;
        if (level > LEAF && (entry & (PAGING_PRESENT | PAGING_LARGE)) == PAGING_PRESENT) {
            if (table_good(walk, va, entry & PAGING_FRAME))
                walk_table(walk, entry & PAGING_FRAME, level - 1, va, 0, ENTRIES);
        } else {
            if (walk->space != 0)
                user_leaf(walk, va, entry, level);
            else if ((entry & PAGING_PRESENT) != 0)
                kernel_leaf(walk, va, entry, level);
            looked += level == LEAF ? 1 : LARGE_LEAF;
            if (looked >= LEAVES_AT_ONCE) {
                walk->world->pause();
                looked = 0;
            }
        }
    }
    walk->world->pause();
}

void audit_kernel_tables(const struct audit_world *world, const struct page_tables *tables, struct audit_report *report)
{
    struct walk walk = {world, tables, report, 0, NULL};
    const uint64_t *root = table_at(&walk, tables->root);

    if (!table_good(&walk, 0, tables->root))
        return;
    for (uint32_t i = 0; (i = paging_next_used(root, i, HALF)) < HALF; i++)
        audit_violation(report, AUDIT_TABLE, "kernel %u: its own tables have %lx in the lower half, entry %u",
                        world->kernel, (unsigned long)root[i], i);
    walk_table(&walk, tables->root, ROOT, 0, HALF, ENTRIES);
}

void audit_space_tables(const struct audit_world *world, const struct page_tables *tables, const struct sharers *owners,
                        uint64_t root, uint64_t space, struct audit_report *report)
{
    struct walk walk = {world, tables, report, space, owners};
    const uint64_t *own, *kernel;

    if (!table_good(&walk, 0, tables->root))
        return;
    own = table_at(&walk, tables->root);
    kernel = table_at(&walk, root);
    for (uint32_t i = HALF; i < ENTRIES; i++) {
        if ((own[i] | PAGING_ACCESSED) != (kernel[i] | PAGING_ACCESSED))
            audit_violation(report, AUDIT_TABLE, "kernel %u space %lu: upper entry %u is %lx, the kernel's is %lx",
                            world->kernel, (unsigned long)space, i, (unsigned long)own[i], (unsigned long)kernel[i]);
    }
    walk_table(&walk, tables->root, ROOT, 0, 0, HALF);
}
